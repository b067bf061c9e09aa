/* Looks at a platform the way a person would: what belongs to a node, what is above it, what is equal. */
#include "topo_view.h"

#include "ronde/mem.h"
#include "ronde/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More classes than this are no summary: the coarser ones of the round before are kept. */
#define MAX_CLASSES 48u
/* Rounds of refinement: how far away a difference is seen. */
#define MAX_ROUNDS 6u

uint32_t ronde_topo_view_other(const struct ronde_topo_view *view, uint32_t edge, uint32_t vertex)
{
    const struct ronde_edge *wire = &view->shape.edges[edge];
    return wire->a == vertex ? wire->b : wire->a;
}

const char *ronde_topo_view_name(const struct ronde_topo_view *view, uint32_t vertex)
{
    const struct ronde_vertex *place = &view->shape.vertices[vertex];
    if (place->name[0] != '\0')
        return place->name;
    return place->rate_GBps > 0 ? "bus" : "switch";
}

bool ronde_topo_view_is_low(const struct ronde_topo_view *view, uint32_t vertex)
{
    return view->level[vertex] == 0 ||
           (view->owner[vertex] != RONDE_NONE && !view->leads_out[vertex]);
}

void ronde_topo_view_GBps(double rate_GBps, char *text, size_t bytes)
{
    snprintf(text, bytes, rate_GBps < 1000 ? "%.4g GB/s" : "%.0f GB/s", rate_GBps);
}

const char *ronde_topo_view_group(const struct ronde_topo_view *view)
{
    return view->nodes.source == RONDE_NODES_ZONES ? "group" : "node";
}

void ronde_topo_view_rate(const struct ronde_edge *edge, char *text, size_t bytes)
{
    const double there = edge->rate_GBps, back = edge->back_GBps;
    char fast[32], slow[32];
    ronde_topo_view_GBps(fmax(there, back), fast, sizeof fast);
    ronde_topo_view_GBps(fmin(there, back), slow, sizeof slow);
    if (there == 0 && back == 0)
        snprintf(text, bytes, "attached");
    else if (there == back || there == 0 || back == 0)
        snprintf(text, bytes, "%s%s%s", fast,
                 edge->is_shared ? " shared" : (there == back ? "" : " one way"),
                 edge->is_fatpipe ? " per flow" : "");
    else
        snprintf(text, bytes, "%s one way, %s the other", fast, slow);
}

void ronde_topo_view_time(double ns, char *text, size_t bytes)
{
    if (ns <= 0)
        snprintf(text, bytes, "%s", "");
    else if (ns < 1000)
        snprintf(text, bytes, "%.4g ns", ns);
    else
        snprintf(text, bytes, "%.4g us", ns / 1000);
}

/* --- neighbours ---------------------------------------------------------------------------- */

/* Edges by vertex, so that each can be gone through. */
static void index_edges(struct ronde_topo_view *view)
{
    const struct ronde_shape *shape = &view->shape;
    uint32_t *first = view->first_edge;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        first[shape->edges[i].a + 1]++;
        first[shape->edges[i].b + 1]++;
    }
    for (uint32_t v = 0; v < shape->vertex_count; v++)
        first[v + 1] += first[v];
    for (uint32_t i = shape->edge_count; i > 0; i--) {
        view->edge_of[--first[shape->edges[i - 1].a + 1]] = i - 1;
        view->edge_of[--first[shape->edges[i - 1].b + 1]] = i - 1;
    }
    /* Filling from the back has turned the ends into the starts, one entry further on. */
    for (uint32_t v = 0; v < shape->vertex_count; v++)
        first[v] = first[v + 1];
    first[shape->vertex_count] = 2 * shape->edge_count;
}

/* Wires to the nearest host. `queue` has room for all vertices. */
static void find_levels(struct ronde_topo_view *view, uint32_t *queue)
{
    uint32_t end = 0;
    for (uint32_t v = 0; v < view->shape.vertex_count; v++) {
        const bool is_host = view->shape.vertices[v].host != RONDE_NONE;
        view->level[v] = is_host ? 0 : RONDE_NONE;
        if (is_host)
            queue[end++] = v;
    }
    for (uint32_t at = 0; at < end; at++)
        for (uint32_t i = view->first_edge[queue[at]]; i < view->first_edge[queue[at] + 1]; i++) {
            const uint32_t other = ronde_topo_view_other(view, view->edge_of[i], queue[at]);
            if (view->level[other] != RONDE_NONE)
                continue;
            view->level[other] = view->level[queue[at]] + 1;
            queue[end++] = other;
        }
}

/* The node of a vertex: that of all its neighbours nearer to the hosts, if it is one. Called level by level. */
static uint32_t find_owner(const struct ronde_topo_view *view, uint32_t vertex)
{
    const struct ronde_vertex *place = &view->shape.vertices[vertex];
    uint32_t owner = RONDE_NONE;
    if (!view->has_nodes)
        return RONDE_NONE;
    if (place->host != RONDE_NONE)
        return view->nodes.node_of[place->host];
    for (uint32_t i = view->first_edge[vertex]; i < view->first_edge[vertex + 1]; i++) {
        const uint32_t other = ronde_topo_view_other(view, view->edge_of[i], vertex);
        if (view->level[other] >= view->level[vertex])
            continue;
        if (view->owner[other] == RONDE_NONE || (owner != RONDE_NONE && owner != view->owner[other]))
            return RONDE_NONE;
        owner = view->owner[other];
    }
    return owner;
}

static void find_owners(struct ronde_topo_view *view)
{
    uint32_t deepest = 0;
    for (uint32_t v = 0; v < view->shape.vertex_count; v++)
        if (view->level[v] != RONDE_NONE && view->level[v] > deepest)
            deepest = view->level[v];
    for (uint32_t level = 0; level <= deepest; level++)
        for (uint32_t v = 0; v < view->shape.vertex_count; v++)
            if (view->level[v] == level)
                view->owner[v] = find_owner(view, v);
    for (uint32_t v = 0; v < view->shape.vertex_count; v++)
        if (view->level[v] == RONDE_NONE)
            view->owner[v] = RONDE_NONE;
}

/* What a node's switch needs to lead out: a wire to elsewhere, or to a switch that leads out. */
static bool leads_out(const struct ronde_topo_view *view, uint32_t vertex)
{
    for (uint32_t i = view->first_edge[vertex]; i < view->first_edge[vertex + 1]; i++) {
        const uint32_t other = ronde_topo_view_other(view, view->edge_of[i], vertex);
        if (view->owner[other] != view->owner[vertex] || view->leads_out[other])
            return true;
    }
    return false;
}

/* Hosts do not count: what only hosts join to the outside is no way there. */
static void find_ways_out(struct ronde_topo_view *view)
{
    bool changed = view->has_nodes;
    while (changed) {
        changed = false;
        for (uint32_t v = 0; v < view->shape.vertex_count; v++) {
            if (view->level[v] == 0 || view->owner[v] == RONDE_NONE || view->leads_out[v])
                continue;
            view->leads_out[v] = leads_out(view, v);
            changed |= view->leads_out[v];
        }
    }
}

/* --- what is equal ------------------------------------------------------------------------- */

static uint64_t stir(uint64_t bits)
{
    return ronde_mix64(bits + RONDE_MIX_STEP);
}

static uint64_t stir_double(uint64_t seed, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return stir(seed ^ bits);
}

double ronde_topo_view_use(const struct ronde_topo_view *view, const struct ronde_edge *edge)
{
    const double there = view->use && edge->link != RONDE_NONE ? view->use[edge->link] : 0;
    const double back = view->use && edge->back != RONDE_NONE ? view->use[edge->back] : 0;
    return fmax(there, back);
}

bool ronde_topo_view_is_faulty(const struct ronde_topo_view *view, const struct ronde_edge *edge)
{
    return (edge->link != RONDE_NONE &&
            ronde_platform_link(view->platform, edge->link)->is_degraded) ||
           (edge->back != RONDE_NONE && ronde_platform_link(view->platform, edge->back)->is_degraded);
}

/* A wire as seen from one of its ends; of two that are alike one may be twice as busy. */
static uint64_t colour_edge(const struct ronde_topo_view *view, const struct ronde_edge *edge,
                            bool is_from_a)
{
    const double use = round(5 * ronde_topo_view_use(view, edge));
    uint64_t colour = stir_double(1, is_from_a ? edge->rate_GBps : edge->back_GBps);
    colour = stir_double(colour, is_from_a ? edge->back_GBps : edge->rate_GBps);
    colour = stir_double(colour, edge->latency_ns);
    colour = use > 0 ? stir_double(colour, use) : colour;
    return stir(colour + (edge->is_shared ? 2 : 0) + (edge->is_fatpipe ? 4 : 0) +
                (ronde_topo_view_is_faulty(view, edge) ? 8 : 0));
}

static uint64_t first_colour(const struct ronde_topo_view *view, uint32_t vertex)
{
    const struct ronde_vertex *place = &view->shape.vertices[vertex];
    const uint64_t kind = (place->host != RONDE_NONE ? 1u : 0u) + (place->is_opaque ? 2u : 0u) +
                          (view->owner[vertex] != RONDE_NONE ? 4u : 0u);
    return stir_double(stir(kind), place->rate_GBps);
}

/* One round: a vertex is what it was and what it is joined to, in any order. */
static void refine(const struct ronde_topo_view *view, const uint64_t *colours,
                   uint64_t *out_colours)
{
    for (uint32_t v = 0; v < view->shape.vertex_count; v++) {
        uint64_t sum = 0;
        for (uint32_t i = view->first_edge[v]; i < view->first_edge[v + 1]; i++) {
            const struct ronde_edge *edge = &view->shape.edges[view->edge_of[i]];
            const uint32_t other = ronde_topo_view_other(view, view->edge_of[i], v);
            sum += stir(colour_edge(view, edge, edge->a == v) ^ colours[other]);
        }
        out_colours[v] = stir(colours[v] ^ stir(sum));
    }
}

static int compare_colours(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Sorts a copy and keeps one of each; returns how many. */
static uint32_t distinct(const uint64_t *colours, uint32_t count, uint64_t *out_sorted)
{
    uint32_t kept = 0;
    memcpy(out_sorted, colours, count * sizeof *colours);
    qsort(out_sorted, count, sizeof *out_sorted, compare_colours);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || out_sorted[kept - 1] != out_sorted[i])
            out_sorted[kept++] = out_sorted[i];
    return kept;
}

/* Refines until nothing new is told apart, or so much that it is no summary. `room` holds three of vertex_count. */
static void find_classes(struct ronde_topo_view *view, uint64_t *room)
{
    const uint32_t count = view->shape.vertex_count;
    uint64_t *now = room, *next = room + count, *sorted = room + 2 * (size_t)count;
    for (uint32_t v = 0; v < count; v++)
        now[v] = first_colour(view, v);
    uint32_t classes = distinct(now, count, sorted);
    for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
        refine(view, now, next);
        const uint32_t finer = distinct(next, count, sorted);
        if (finer == classes || finer > MAX_CLASSES)
            break;
        uint64_t *swapped = now;
        now = next;
        next = swapped;
        classes = finer;
    }
    view->class_count = distinct(now, count, sorted);
    for (uint32_t v = 0; v < count; v++) {
        const uint64_t *found =
            bsearch(&now[v], sorted, view->class_count, sizeof *sorted, compare_colours);
        view->class_of[v] = (uint32_t)(found - sorted);
    }
}

/* Nodes are equal where they have equal parts, as many of each. `sums` has an entry per node. */
static void compare_nodes(struct ronde_topo_view *view, uint64_t *sums)
{
    memset(sums, 0, view->nodes.count * sizeof *sums);
    for (uint32_t v = 0; v < view->shape.vertex_count; v++)
        if (view->owner[v] != RONDE_NONE)
            sums[view->owner[v]] += stir(view->class_of[v]);
    for (uint32_t node = 0; node < view->nodes.count; node++) {
        uint32_t first = 0;
        while (first < node && (view->node_class[first] != first || sums[first] != sums[node]))
            first++;
        view->node_class[node] = first;
    }
}

/* --- opening ------------------------------------------------------------------------------- */

static bool reserve(struct ronde_topo_view *view)
{
    const size_t vertices = view->shape.vertex_count, edges = view->shape.edge_count;
    view->numbers = 4 * vertices + 1 + 2 * edges + view->nodes.count;
    view->owner = ronde_mem_new(ronde_mem_default(), view->numbers, sizeof *view->owner);
    view->leads_out = ronde_mem_new(ronde_mem_default(), vertices, sizeof *view->leads_out);
    if (!view->owner || !view->leads_out)
        return false;
    view->level = view->owner + vertices;
    view->class_of = view->level + vertices;
    view->first_edge = view->class_of + vertices;
    view->edge_of = view->first_edge + vertices + 1;
    view->node_class = view->edge_of + 2 * edges;
    return true;
}

static enum ronde_status look(struct ronde_topo_view *view, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const size_t count = 3 * (size_t)view->shape.vertex_count + view->nodes.count;
    uint64_t *room = ronde_mem_new(mem, count, sizeof *room);
    uint32_t *queue = ronde_mem_new(mem, view->shape.vertex_count, sizeof *queue);
    const bool has_room = room && queue && reserve(view);
    if (has_room) {
        view->has_nodes = view->nodes.source != RONDE_NODES_SINGLE;
        index_edges(view);
        find_levels(view, queue);
        find_owners(view);
        find_ways_out(view);
        find_classes(view, room);
        compare_nodes(view, room);
    }
    ronde_mem_free(mem, room, count, sizeof *room);
    ronde_mem_free(mem, queue, view->shape.vertex_count, sizeof *queue);
    return has_room ? RONDE_OK
                    : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a picture of %u places",
                                 view->shape.vertex_count);
}

enum ronde_status ronde_topo_view_open(const struct ronde_platform *platform, const double *use,
                                       struct ronde_topo_view *out_view, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    *out_view = (struct ronde_topo_view){.platform = platform, .use = use};
    RONDE_TRY(ronde_shape_of(platform, mem, &out_view->shape, error));
    RONDE_TRY(ronde_nodes_find(platform, mem, &out_view->nodes, error));
    if (out_view->nodes.source == RONDE_NODES_SINGLE)
        RONDE_TRY(ronde_torus_find(platform, mem, &out_view->torus, error));
    return look(out_view, error);
}

void ronde_topo_view_close(struct ronde_topo_view *view)
{
    const struct ronde_mem *mem = ronde_mem_default();
    ronde_mem_free(mem, view->owner, view->numbers, sizeof *view->owner);
    ronde_mem_free(mem, view->leads_out, view->shape.vertex_count, sizeof *view->leads_out);
    ronde_nodes_free(&view->nodes, mem);
    ronde_shape_free(&view->shape, mem);
}
