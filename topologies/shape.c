/*
 * From places and links to a graph: the second half of finding a shape.
 *
 * shape_meet.c has found which ends of links are one place. Here each such class becomes a vertex, each link in use
 * an edge with both halves of a cable together, and a link that all at a place share becomes the capacity of its
 * vertex. Then what only the file's way of writing made is taken out again: two one-way links against each other are
 * one wire; a nameless place at which two equal wires meet is no place; a medium that only two places touch is a wire
 * they share.
 */
#include "ronde/shape.h"

#include "shape_meet.h"

#include <math.h>
#include <stdlib.h>

/* What is being made. */
struct making {
    struct ronde_meet meet;
    struct ronde_shape *shape;
    uint32_t *vertex_of; /* per element: vertex of its class (at the root), or NONE */
};

static struct ronde_vertex *push_vertex(struct making *making)
{
    struct ronde_shape *shape = making->shape;
    if (!ronde_mem_grow(making->meet.mem, &shape->vertices, &shape->vertex_capacity,
                        (size_t)shape->vertex_count + 1, sizeof *shape->vertices))
        return NULL;
    return &shape->vertices[shape->vertex_count++];
}

/* The vertex of an element's class, made where there is none yet; NONE when there is no memory. */
static uint32_t vertex_at(struct making *making, uint32_t element)
{
    struct ronde_meet *meet = &making->meet;
    const uint32_t root = ronde_meet_find(meet, element);
    if (making->vertex_of[root] != RONDE_NONE)
        return making->vertex_of[root];
    struct ronde_vertex *vertex = push_vertex(making);
    if (!vertex)
        return RONDE_NONE;
    const uint32_t point =
        meet->solid[root] != RONDE_NONE ? meet->solid[root] : meet->zone_point[root];
    *vertex = (struct ronde_vertex){.name = "", .host = RONDE_NONE, .link = RONDE_NONE};
    if (point != RONDE_NONE) {
        const struct ronde_netpoint *named =
            RONDE_AT(meet->platform->points, struct ronde_netpoint, point);
        vertex->name = named->name;
        vertex->is_opaque = named->inner != RONDE_NONE &&
                            RONDE_AT(meet->platform->zones, struct ronde_zone, named->inner)->kind ==
                                RONDE_ZONE_FOREIGN;
    }
    making->vertex_of[root] = making->shape->vertex_count - 1;
    return making->vertex_of[root];
}

/* The same wire from its other end. */
static struct ronde_edge turned(struct ronde_edge edge)
{
    const struct ronde_edge given = edge;
    edge.a = given.b;
    edge.b = given.a;
    edge.rate_GBps = given.back_GBps;
    edge.back_GBps = given.rate_GBps;
    edge.link = given.back;
    edge.back = given.link;
    return edge;
}

/* Smaller vertex first; false when there is no memory. A wire from a place to itself is dropped. */
static bool push_edge(struct making *making, uint32_t from, uint32_t to, struct ronde_edge edge)
{
    struct ronde_shape *shape = making->shape;
    edge.a = vertex_at(making, from);
    edge.b = vertex_at(making, to);
    if (edge.a == RONDE_NONE || edge.b == RONDE_NONE)
        return false;
    if (edge.a == edge.b)
        return true;
    if (edge.a > edge.b) {
        edge = turned(edge);
        edge.rate_GBps = edge.is_shared ? edge.back_GBps : edge.rate_GBps;
    }
    if (!ronde_mem_grow(making->meet.mem, &shape->edges, &shape->edge_capacity,
                        (size_t)shape->edge_count + 1, sizeof edge))
        return false;
    shape->edges[shape->edge_count++] = edge;
    return true;
}

/* A link of a file becomes an edge, both halves of a cable together, or the capacity of a place. */
static bool add_link(struct making *making, uint32_t index)
{
    const struct ronde_platform *platform = making->meet.platform;
    const struct ronde_link *link = RONDE_AT(platform->links, struct ronde_link, index);
    const uint32_t reverse = *RONDE_AT(platform->reverses, uint32_t, index);
    const uint32_t tail = ronde_meet_tail(&making->meet, index);
    if (making->meet.is_bus[index]) {
        const uint32_t vertex = vertex_at(making, tail);
        if (vertex == RONDE_NONE)
            return false;
        making->shape->vertices[vertex].rate_GBps = link->rate_GBps;
        making->shape->vertices[vertex].latency_ns = link->latency_ns;
        making->shape->vertices[vertex].link = index;
        making->shape->vertices[vertex].is_fatpipe = link->is_fatpipe;
        return true;
    }
    struct ronde_edge edge = {.rate_GBps = link->rate_GBps,
                              .latency_ns = link->latency_ns,
                              .link = index,
                              .back = reverse != index ? reverse : RONDE_NONE,
                              .is_fatpipe = link->is_fatpipe};
    if (reverse != index)
        edge.back_GBps = RONDE_AT(platform->links, struct ronde_link, reverse)->rate_GBps;
    return push_edge(making, tail, ronde_meet_head(&making->meet, index), edge);
}

static bool add_links(struct making *making)
{
    const struct ronde_platform *platform = making->meet.platform;
    for (uint32_t i = 0; i < platform->links.count; i++) {
        const uint32_t reverse = *RONDE_AT(platform->reverses, uint32_t, i);
        const bool is_used = making->meet.is_used[i] || making->meet.is_used[reverse];
        const bool is_out = platform->is_out && platform->is_out[i] && platform->is_out[reverse];
        if (reverse >= i && is_used && !is_out && !add_link(making, i))
            return false;
    }
    for (uint32_t i = 0; i < making->meet.touches.count; i++) {
        const struct ronde_meeting touch = *RONDE_AT(making->meet.touches, struct ronde_meeting, i);
        if (!push_edge(making, touch.a, touch.b,
                       (struct ronde_edge){.link = RONDE_NONE, .back = RONDE_NONE}))
            return false;
    }
    return true;
}

/* Hosts are numbered as everywhere else. */
static bool add_hosts(struct making *making)
{
    const struct ronde_platform *platform = making->meet.platform;
    for (uint32_t i = 0; i < platform->hosts.count; i++) {
        const uint32_t vertex = vertex_at(making, *RONDE_AT(platform->hosts, uint32_t, i));
        if (vertex == RONDE_NONE)
            return false;
        making->shape->vertices[vertex].host = i;
    }
    return true;
}

/* Links before touches, faster ones first. */
static int compare_edges(const void *left, const void *right)
{
    const struct ronde_edge *a = left, *b = right;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    const double a_GBps = fmax(a->rate_GBps, a->back_GBps);
    const double b_GBps = fmax(b->rate_GBps, b->back_GBps);
    return (a_GBps < b_GBps) - (a_GBps > b_GBps);
}

/*
 * Two one-way links that run against each other are one wire; a touch beside a wire adds nothing.
 */
static bool absorb(struct ronde_edge *edge, const struct ronde_edge *next)
{
    if (edge->a != next->a || edge->b != next->b)
        return false;
    if (next->rate_GBps == 0 && next->back_GBps == 0)
        return true;
    if (edge->rate_GBps > 0 && edge->back_GBps == 0 && next->rate_GBps == 0) {
        edge->back_GBps = next->back_GBps;
        edge->back = next->back;
        return true;
    }
    if (edge->back_GBps > 0 && edge->rate_GBps == 0 && next->back_GBps == 0) {
        edge->rate_GBps = next->rate_GBps;
        edge->link = next->link;
        return true;
    }
    return false;
}

/* Sorts the edges and merges what belongs together. */
static void tidy(struct ronde_shape *shape)
{
    uint32_t kept = 0;
    if (shape->edge_count > 0)
        qsort(shape->edges, shape->edge_count, sizeof *shape->edges, compare_edges);
    for (uint32_t i = 0; i < shape->edge_count; i++)
        if (shape->edges[i].a != shape->edges[i].b &&
            (kept == 0 || !absorb(&shape->edges[kept - 1], &shape->edges[i])))
            shape->edges[kept++] = shape->edges[i];
    shape->edge_count = kept;
}

/* The two edges of a vertex, as far as it has them. */
struct degree {
    uint32_t count;
    uint32_t edges[2];
};

static void count_edge(struct degree *degree, uint32_t edge)
{
    if (degree->count < 2)
        degree->edges[degree->count] = edge;
    degree->count++;
}

static uint32_t other_end(const struct ronde_edge *edge, uint32_t vertex)
{
    return edge->a == vertex ? edge->b : edge->a;
}

static double rate_from(const struct ronde_edge *edge, uint32_t vertex)
{
    return edge->a == vertex ? edge->rate_GBps : edge->back_GBps;
}

/* What a place without a name that only two wires meet at comes to: one wire, if it holds none of them back. */
static bool join_wires(const struct ronde_vertex *place, const struct ronde_edge *left,
                       const struct ronde_edge *right, uint32_t vertex, struct ronde_edge *out)
{
    const uint32_t from = other_end(left, vertex), to = other_end(right, vertex);
    const bool touch = left->rate_GBps + left->back_GBps + right->rate_GBps + right->back_GBps == 0;
    *out = (struct ronde_edge){.a = from, .b = to};
    if (place->rate_GBps > 0) {
        /* A medium that two places touch. */
        out->rate_GBps = out->back_GBps = place->rate_GBps;
        out->latency_ns = place->latency_ns;
        out->link = out->back = place->link;
        out->is_shared = !place->is_fatpipe;
        out->is_fatpipe = place->is_fatpipe;
        return touch;
    }
    /* Two wires in series. */
    out->rate_GBps = rate_from(left, from);
    out->back_GBps = rate_from(right, to);
    out->latency_ns = left->latency_ns + right->latency_ns;
    out->link = left->a == from ? left->link : left->back;
    out->back = right->a == to ? right->link : right->back;
    out->is_shared = left->is_shared;
    out->is_fatpipe = left->is_fatpipe;
    return !touch && out->rate_GBps == rate_from(right, vertex) &&
           out->back_GBps == rate_from(left, vertex) && left->is_shared == right->is_shared &&
           left->is_fatpipe == right->is_fatpipe;
}

/* Replaces two wires and the place between them by one. Its vertex is left without edges. */
static void contract(struct ronde_shape *shape, struct degree *degrees, uint32_t vertex)
{
    const struct ronde_vertex *place = &shape->vertices[vertex];
    const struct degree *degree = &degrees[vertex];
    struct ronde_edge edge;
    if (place->name[0] != '\0' || degree->count != 2)
        return;
    struct ronde_edge *first = &shape->edges[degree->edges[0]];
    struct ronde_edge *second = &shape->edges[degree->edges[1]];
    if (!join_wires(place, first, second, vertex, &edge) || edge.a == edge.b)
        return;
    for (uint32_t i = 0; i < 2; i++)
        if (degrees[edge.b].edges[i] == degree->edges[1])
            degrees[edge.b].edges[i] = degree->edges[0];
    *first = edge.a > edge.b ? turned(edge) : edge;
    second->a = second->b; /* from a place to itself: tidy drops it */
}

/* Drops the vertices without edges that are no hosts; `number` has room for all. */
static void compact(struct ronde_shape *shape, uint32_t *number, const struct degree *degrees)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shape->vertex_count; i++) {
        number[i] = kept;
        if (degrees[i].count > 0 || shape->vertices[i].host != RONDE_NONE)
            shape->vertices[kept++] = shape->vertices[i];
    }
    shape->vertex_count = kept;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        shape->edges[i].a = number[shape->edges[i].a];
        shape->edges[i].b = number[shape->edges[i].b];
    }
}

static void count_edges(const struct ronde_shape *shape, struct degree *degrees)
{
    for (uint32_t i = 0; i < shape->vertex_count; i++)
        degrees[i].count = 0;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        count_edge(&degrees[shape->edges[i].a], i);
        count_edge(&degrees[shape->edges[i].b], i);
    }
}

/* Contracts media between two places and wires in series. */
static bool simplify(struct ronde_shape *shape, const struct ronde_mem *mem)
{
    const uint32_t count = shape->vertex_count;
    struct ronde_store store = {.mem = mem};
    struct degree *degrees = ronde_store_new(&store, count, sizeof *degrees);
    uint32_t *number = ronde_store_new(&store, count, sizeof *number);
    const bool has_room = !store.is_short;
    if (has_room) {
        count_edges(shape, degrees);
        for (uint32_t i = 0; i < count; i++)
            contract(shape, degrees, i);
        tidy(shape);
        count_edges(shape, degrees);
        compact(shape, number, degrees);
    }
    ronde_store_clear(&store);
    return has_room;
}

static bool make(struct making *making)
{
    for (uint32_t i = 0; i < making->meet.element_count; i++)
        making->vertex_of[i] = RONDE_NONE;
    if (!add_hosts(making) || !add_links(making))
        return false;
    tidy(making->shape);
    return simplify(making->shape, making->meet.mem);
}

enum ronde_status ronde_shape_of(const struct ronde_platform *platform, const struct ronde_mem *mem,
                                 struct ronde_shape *out_shape, struct ronde_error *error)
{
    struct ronde_shape shape = {.vertices = NULL};
    struct making making = {.shape = &shape};
    bool ok = ronde_meet_create(platform, mem, &making.meet) == RONDE_OK;
    making.vertex_of = ronde_mem_new(mem, making.meet.element_count, sizeof *making.vertex_of);
    ok = ok && making.vertex_of && make(&making);
    ronde_mem_free(mem, making.vertex_of, making.meet.element_count, sizeof *making.vertex_of);
    ronde_meet_free(&making.meet);
    if (!ok) {
        ronde_shape_free(&shape, mem);
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for its shape",
                          ronde_platform_path(platform));
    }
    *out_shape = shape;
    return RONDE_OK;
}

void ronde_shape_free(struct ronde_shape *shape, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, shape->vertices, shape->vertex_capacity, sizeof *shape->vertices);
    ronde_mem_free(mem, shape->edges, shape->edge_capacity, sizeof *shape->edges);
    *shape = (struct ronde_shape){.vertices = NULL};
}
