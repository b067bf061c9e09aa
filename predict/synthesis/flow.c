/* Maximum flow by Dinic's algorithm. See machine_graph.h. */
#include "machine_graph.h"

#include <string.h>

#define NONE UINT32_MAX

bool ronde_flow_create(struct ronde_max_flow *flow, struct ronde_store *pool, uint32_t vertices,
                       uint32_t arcs)
{
    const size_t room = 2 * (size_t)arcs, count = vertices;
    *flow = (struct ronde_max_flow){.vertex_count = vertices, .arc_room = (uint32_t)room};
    flow->to = ronde_store_new(pool, room, sizeof *flow->to);
    flow->capacity = ronde_store_new(pool, room, sizeof *flow->capacity);
    flow->left = ronde_store_new(pool, room, sizeof *flow->left);
    flow->leaving = ronde_store_new(pool, room, sizeof *flow->leaving);
    flow->first = ronde_store_new(pool, count + 1, sizeof *flow->first);
    flow->level = ronde_store_new(pool, count, sizeof *flow->level);
    flow->next = ronde_store_new(pool, count, sizeof *flow->next);
    flow->queue = ronde_store_new(pool, count + 1, sizeof *flow->queue);
    flow->is_source = ronde_store_new(pool, count, sizeof *flow->is_source);
    flow->starts = ronde_store_new(pool, count, sizeof *flow->starts);
    return !pool->is_short;
}

uint32_t ronde_flow_arc(struct ronde_max_flow *flow, uint32_t from, uint32_t to, int64_t capacity)
{
    const uint32_t arc = flow->arc_count;
    flow->to[arc] = to;
    flow->to[arc + 1] = from;
    flow->capacity[arc] = capacity;
    flow->capacity[arc + 1] = 0;
    flow->arc_count += 2;
    flow->is_sealed = false;
    return arc;
}

/* Groups the arcs by their tails. */
static void seal(struct ronde_max_flow *flow)
{
    memset(flow->first, 0, ((size_t)flow->vertex_count + 1) * sizeof *flow->first);
    for (uint32_t a = 0; a < flow->arc_count; a++)
        flow->first[flow->to[a ^ 1]]++;
    for (uint32_t v = 1; v <= flow->vertex_count; v++)
        flow->first[v] += flow->first[v - 1];
    for (uint32_t a = flow->arc_count; a-- > 0;)
        flow->leaving[--flow->first[flow->to[a ^ 1]]] = a;
    flow->is_sealed = true;
}

/* Levels of all that can be reached from the vertices in the queue. */
static void spread(struct ronde_max_flow *flow, uint32_t end)
{
    uint32_t begin = 0;
    while (begin < end) {
        const uint32_t from = flow->queue[begin++];
        for (uint32_t i = flow->first[from]; i < flow->first[from + 1]; i++) {
            const uint32_t to = flow->to[flow->leaving[i]];
            if (flow->left[flow->leaving[i]] <= 0 || flow->level[to] != NONE)
                continue;
            flow->level[to] = flow->level[from] + 1;
            flow->queue[end++] = to;
        }
    }
}

/* Levels of all that can be reached; whether the sink can. */
static bool find_levels(struct ronde_max_flow *flow, uint32_t source, uint32_t sink)
{
    memset(flow->level, 0xff, flow->vertex_count * sizeof *flow->level);
    flow->level[source] = 0;
    flow->queue[0] = source;
    spread(flow, 1);
    return flow->level[sink] != NONE;
}

/* The next arc of a vertex that leads a level further; NONE if there is none. */
static uint32_t advance(struct ronde_max_flow *flow, uint32_t from)
{
    for (; flow->next[from] < flow->first[from + 1]; flow->next[from]++) {
        const uint32_t arc = flow->leaving[flow->next[from]];
        if (flow->left[arc] > 0 && flow->level[flow->to[arc]] == flow->level[from] + 1)
            return arc;
    }
    return NONE;
}

/* Sends what the path in `queue` can carry, at most `limit`. */
static int64_t augment(struct ronde_max_flow *flow, uint32_t length, int64_t limit)
{
    int64_t amount = limit;
    for (uint32_t i = 0; i < length; i++)
        if (flow->left[flow->queue[i]] < amount)
            amount = flow->left[flow->queue[i]];
    for (uint32_t i = 0; i < length; i++) {
        flow->left[flow->queue[i]] -= amount;
        flow->left[flow->queue[i] ^ 1] += amount;
    }
    return amount;
}

/* Finds the next arc of a vertex that leads on; NONE if there is none. */
typedef uint32_t (*next_arc)(struct ronde_max_flow *flow, uint32_t at);

/* All that flows from a vertex to the sink along the arcs that `next` finds, until there is no way left. */
static int64_t drain(struct ronde_max_flow *flow, next_arc next, uint32_t start, uint32_t sink,
                     int64_t limit)
{
    int64_t total = 0;
    while (total < limit) {
        uint32_t length = 0, at = start;
        while (at != sink) {
            const uint32_t arc = next(flow, at);
            if (arc == NONE && length == 0)
                return total;
            if (arc == NONE) {
                at = flow->to[flow->queue[--length] ^ 1];
                flow->next[at]++;
            } else {
                flow->queue[length++] = arc;
                at = flow->to[arc];
            }
        }
        total += augment(flow, length, limit - total);
    }
    return total;
}

/* A blocking flow along the levels. */
static int64_t block(struct ronde_max_flow *flow, uint32_t source, uint32_t sink, int64_t limit)
{
    memcpy(flow->next, flow->first, flow->vertex_count * sizeof *flow->next);
    return drain(flow, advance, source, sink, limit);
}

int64_t ronde_flow_run(struct ronde_max_flow *flow, uint32_t source, uint32_t sink, int64_t limit)
{
    int64_t total = 0;
    if (!flow->is_sealed)
        seal(flow);
    memcpy(flow->left, flow->capacity, flow->arc_count * sizeof *flow->left);
    while (total < limit && find_levels(flow, source, sink))
        total += block(flow, source, sink, limit - total);
    return total;
}

/* ---- A flow that grows ------------------------------------------------------------------------------------------- */

void ronde_flow_begin(struct ronde_max_flow *flow)
{
    if (!flow->is_sealed)
        seal(flow);
    memcpy(flow->left, flow->capacity, flow->arc_count * sizeof *flow->left);
    memset(flow->is_source, 0, flow->vertex_count * sizeof *flow->is_source);
}

void ronde_flow_source(struct ronde_max_flow *flow, uint32_t vertex)
{
    flow->is_source[vertex] = true;
}

/*
 * Levels from the sink backwards, up to that of the sources which are nearest; these go to `starts`. Returns how many they
 * are.
 */
static uint32_t find_starts(struct ronde_max_flow *flow, uint32_t sink)
{
    uint32_t begin = 0, end = 0, starts = 0, farthest = NONE;
    memset(flow->level, 0xff, flow->vertex_count * sizeof *flow->level);
    flow->level[sink] = 0;
    flow->queue[end++] = sink;
    while (begin < end && flow->level[flow->queue[begin]] < farthest) {
        const uint32_t to = flow->queue[begin++];
        flow->next[to] = flow->first[to];
        for (uint32_t i = flow->first[to]; i < flow->first[to + 1]; i++) {
            const uint32_t arc = flow->leaving[i] ^ 1u, from = flow->to[flow->leaving[i]];
            if (flow->left[arc] <= 0 || flow->level[from] != NONE)
                continue;
            flow->level[from] = flow->level[to] + 1;
            if (flow->is_source[from]) {
                flow->next[from] = flow->first[from];
                flow->starts[starts++] = from;
                farthest = flow->level[from];
            } else {
                flow->queue[end++] = from;
            }
        }
    }
    return starts;
}

/* The next arc of a vertex that leads a level nearer to the sink; NONE if there is none. */
static uint32_t approach(struct ronde_max_flow *flow, uint32_t from)
{
    for (; flow->next[from] < flow->first[from + 1]; flow->next[from]++) {
        const uint32_t arc = flow->leaving[flow->next[from]], to = flow->to[arc];
        if (flow->left[arc] > 0 && flow->level[to] != NONE &&
            flow->level[to] + 1 == flow->level[from])
            return arc;
    }
    return NONE;
}

int64_t ronde_flow_grow(struct ronde_max_flow *flow, uint32_t sink, int64_t limit)
{
    int64_t total = 0;
    while (total < limit) {
        const uint32_t starts = find_starts(flow, sink);
        if (starts == 0)
            break;
        for (uint32_t i = 0; i < starts && total < limit; i++)
            total += drain(flow, approach, flow->starts[i], sink, limit - total);
    }
    return total;
}

void ronde_flow_reach(struct ronde_max_flow *flow)
{
    uint32_t end = 0;
    memset(flow->level, 0xff, flow->vertex_count * sizeof *flow->level);
    for (uint32_t v = 0; v < flow->vertex_count; v++)
        if (flow->is_source[v]) {
            flow->level[v] = 0;
            flow->queue[end++] = v;
        }
    spread(flow, end);
}

bool ronde_flow_is_inside(const struct ronde_max_flow *flow, uint32_t vertex)
{
    return flow->level[vertex] != NONE;
}
