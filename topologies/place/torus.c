/*
 * Tori: recognised by the neighbours of each host, and walked so that every hop is to a neighbour.
 */
#include "rings.h"

#include <math.h>
#include <string.h>

/* The host a vertex belongs to: itself, or the only host of a router. */
static bool find_owners(const struct ronde_shape *shape, uint32_t hosts, uint32_t *owner)
{
    for (uint32_t i = 0; i < shape->vertex_count; i++)
        owner[i] = i < hosts ? i : RONDE_NONE;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        const struct ronde_edge *edge = &shape->edges[i];
        if (edge->a >= hosts || edge->b < hosts)
            continue;
        if (owner[edge->b] != RONDE_NONE && owner[edge->b] != edge->a)
            return false;
        owner[edge->b] = edge->a;
    }
    for (uint32_t i = 0; i < shape->vertex_count; i++)
        if (owner[i] == RONDE_NONE)
            return false;
    return true;
}

/* The neighbours of host 0; more than a torus of so many axes has are not kept. */
struct neighbours {
    uint32_t count;
    uint32_t hosts[2 * RONDE_MAX_AXES];
};

static struct neighbours neighbours_of_0(const struct ronde_shape *shape, const uint32_t *owner)
{
    struct neighbours found = {0};
    for (uint32_t i = 0; i < shape->edge_count && found.count < 2 * RONDE_MAX_AXES; i++) {
        const uint32_t a = owner[shape->edges[i].a], b = owner[shape->edges[i].b];
        if (a != b && (a == 0 || b == 0))
            found.hosts[found.count++] = a == 0 ? b : a;
    }
    return found;
}

static bool holds(const struct neighbours *neighbours, uint64_t host)
{
    for (uint32_t i = 0; i < neighbours->count; i++)
        if (neighbours->hosts[i] == host)
            return true;
    return false;
}

/* Whether an axis of this stride and radix wraps there, with another axis or nothing behind it. */
static bool is_axis(const struct neighbours *neighbours, uint32_t stride, uint32_t radix,
                    uint32_t hosts)
{
    const uint64_t next = (uint64_t)stride * radix;
    return holds(neighbours, (uint64_t)stride * (radix - 1)) &&
           (next == hosts || holds(neighbours, next));
}

/*
 * Axis by axis from the neighbours of host 0: those of an axis of radix d and stride s are s and s (d - 1), and the next
 * axis begins at s d. Radix 3 is tried before 2, whose step and next axis look like the step and wrap of 3. What does not
 * fit in the end is no torus, and is_joined says so.
 */
static struct ronde_torus guess_axes(const struct neighbours *neighbours, uint32_t hosts)
{
    static const struct ronde_torus none = {0};
    struct ronde_torus torus = {0};
    uint32_t stride = 1;
    while (stride < hosts && torus.axes < RONDE_MAX_AXES) {
        const bool is_three = is_axis(neighbours, stride, 3, hosts);
        uint32_t radix = is_three ? 3 : 2;
        while (!is_axis(neighbours, stride, radix, hosts) && (uint64_t)stride * radix < hosts)
            radix++;
        if (!holds(neighbours, stride) || hosts % ((uint64_t)stride * radix) != 0)
            return none;
        torus.radix[torus.axes++] = radix;
        stride *= radix;
    }
    return stride == hosts ? torus : none;
}

/* Whether two hosts differ by one step on one axis. */
static bool is_step(const struct ronde_torus *torus, uint32_t a, uint32_t b)
{
    uint32_t steps = 0;
    for (uint32_t axis = 0; axis < torus->axes; axis++) {
        const uint32_t radix = torus->radix[axis];
        const uint32_t away = (a % radix + radix - b % radix) % radix;
        if (away != 0 && away != 1 && away != radix - 1)
            return false;
        steps += away != 0;
        a /= radix;
        b /= radix;
    }
    return steps == 1;
}

/* Every wire is a step, and there are as many as a torus has. */
static bool is_joined(const struct ronde_torus *torus, const struct ronde_shape *shape,
                      const uint32_t *owner, uint32_t hosts)
{
    uint64_t twice = 0, expected = 0;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        const uint32_t a = owner[shape->edges[i].a], b = owner[shape->edges[i].b];
        if (a != b && !is_step(torus, a, b))
            return false;
        /* Parallel wires are next to one another, and count once. */
        const bool is_again = i > 0 && shape->edges[i - 1].a == shape->edges[i].a &&
                              shape->edges[i - 1].b == shape->edges[i].b;
        twice += a != b && !is_again ? 2 : 0;
    }
    for (uint32_t axis = 0; axis < torus->axes; axis++)
        expected += (uint64_t)hosts * (torus->radix[axis] > 2 ? 2 : 1);
    return torus->axes > 1 && twice == expected;
}

static double slowest_wire(const struct ronde_shape *shape)
{
    double slowest = INFINITY;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        const struct ronde_edge *edge = &shape->edges[i];
        const double rate = fmax(edge->rate_GBps, edge->back_GBps);
        slowest = rate > 0 ? fmin(slowest, rate) : slowest;
    }
    return slowest;
}

enum ronde_status ronde_torus_find(const struct ronde_platform *platform,
                                   const struct ronde_mem *mem, struct ronde_torus *out_torus,
                                   struct ronde_error *error)
{
    struct ronde_shape shape;
    const uint32_t hosts = ronde_platform_facts(platform)->hosts;
    enum ronde_status status = ronde_shape_of(platform, mem, &shape, error);
    if (status != RONDE_OK)
        return status;
    *out_torus = (struct ronde_torus){0};
    uint32_t *owner = ronde_mem_new(mem, shape.vertex_count, sizeof *owner);
    if (!owner)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to look for a torus");
    /* Fewer wires than hosts make no torus, and most other machines end here. */
    if (owner && shape.edge_count >= hosts && find_owners(&shape, hosts, owner)) {
        const struct neighbours neighbours = neighbours_of_0(&shape, owner);
        *out_torus = guess_axes(&neighbours, hosts);
        if (!is_joined(out_torus, &shape, owner, hosts))
            *out_torus = (struct ronde_torus){0};
        out_torus->rate_GBps = slowest_wire(&shape);
    }
    ronde_mem_free(mem, owner, shape.vertex_count, sizeof *owner);
    ronde_shape_free(&shape, mem);
    return status;
}

/* A closed walk: offsets of hosts. */
struct walk {
    uint32_t *at;
    uint32_t count;
};

/*
 * The product of two closed walks: all of `inner` at each stop of `outer`. Going round forwards ends one stop before the
 * start, going round backwards one behind it, so the turns must cancel modulo the stops of `inner`: as many each way
 * where `outer` is even; else, both odd, `inner.count` more forwards than backwards.
 */
static void combine(struct walk outer, struct walk inner, uint32_t *out)
{
    const uint32_t surplus = outer.count % 2 == 0 ? 0 : inner.count;
    const uint32_t forwards = (outer.count + surplus) / 2;
    uint32_t at = 0, written = 0;
    for (uint32_t i = 0; i < outer.count; i++) {
        /* Turns alternate while there are any left of both kinds. */
        const bool is_forwards = i < 2 * (outer.count - forwards) ? i % 2 == 0 : true;
        for (uint32_t k = 0; k < inner.count; k++) {
            const uint32_t step = is_forwards ? k : inner.count - k;
            out[written++] = outer.at[i] + inner.at[(at + step) % inner.count];
        }
        at = (at + (is_forwards ? inner.count - 1 : 1)) % inner.count;
    }
}

/* Whether `outer` can be gone round with `inner` at each stop. */
static bool can_be_outer(uint32_t outer, uint32_t inner)
{
    return outer % 2 == 0 || inner == 1 || (inner % 2 == 1 && outer >= inner);
}

/* Multiplies a walk by one along an axis; `room` holds the result before it is copied back. */
static void extend(struct walk *walk, uint32_t stride, uint32_t radix, uint32_t *room)
{
    /* The axis lies behind the walk: both together are no longer than the torus. */
    struct walk line = {walk->at + walk->count, radix};
    for (uint32_t i = 0; i < radix; i++)
        line.at[i] = i * stride;
    if (can_be_outer(radix, walk->count))
        combine(line, *walk, room);
    else
        combine(*walk, line, room);
    walk->count *= radix;
    memcpy(walk->at, room, walk->count * sizeof *room);
}

void ronde_torus_ring(const struct ronde_torus *torus, uint32_t channel, uint32_t *room,
                      uint32_t *out_hosts)
{
    struct walk walk = {out_hosts, torus->radix[channel / 2 % torus->axes]};
    for (uint32_t k = 0; k < torus->axes; k++) {
        const uint32_t axis = (channel / 2 + k) % torus->axes;
        uint32_t stride = 1;
        for (uint32_t faster = 0; faster < axis; faster++)
            stride *= torus->radix[faster];
        if (k > 0)
            extend(&walk, stride, torus->radix[axis], room);
        for (uint32_t i = 0; k == 0 && i < walk.count; i++)
            walk.at[i] = i * stride;
    }
    for (uint32_t i = 1; channel % 2 == 1 && i < walk.count - i; i++) {
        const uint32_t swapped = walk.at[i];
        walk.at[i] = walk.at[walk.count - i];
        walk.at[walk.count - i] = swapped;
    }
}

uint32_t ronde_torus_way(const struct ronde_torus *torus, uint32_t from, uint32_t to)
{
    uint32_t way = 0;
    for (uint32_t axis = 0; axis < torus->axes; axis++) {
        const uint32_t radix = torus->radix[axis];
        const uint32_t away = (to % radix + radix - from % radix) % radix;
        if (away != 0)
            way = 2 * axis + (away == 1 ? 0 : 1);
        from /= radix;
        to /= radix;
    }
    return way;
}
