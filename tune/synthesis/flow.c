/* Maximum flow by Dinic's algorithm. See flow.h. */
#include "flow.h"

#include <string.h>

#define NONE UINT32_MAX

bool ronde_flow_create(struct ronde_max_flow *flow, struct ronde_index_pool *pool,
                       uint32_t vertices, uint32_t arcs)
{
    const size_t room = 2 * (size_t)arcs, count = vertices;
    *flow = (struct ronde_max_flow){.vertex_count = vertices, .arc_room = (uint32_t)room};
    flow->to = ronde_pool_new(pool, room, sizeof *flow->to);
    flow->capacity = ronde_pool_new(pool, room, sizeof *flow->capacity);
    flow->left = ronde_pool_new(pool, room, sizeof *flow->left);
    flow->leaving = ronde_pool_new(pool, room, sizeof *flow->leaving);
    flow->first = ronde_pool_new(pool, count + 1, sizeof *flow->first);
    flow->level = ronde_pool_new(pool, count, sizeof *flow->level);
    flow->next = ronde_pool_new(pool, count, sizeof *flow->next);
    flow->queue = ronde_pool_new(pool, count + 1, sizeof *flow->queue);
    return flow->to && flow->capacity && flow->left && flow->leaving && flow->first &&
           flow->level && flow->next && flow->queue;
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

/* Levels of all that can be reached; whether the sink can. */
static bool find_levels(struct ronde_max_flow *flow, uint32_t source, uint32_t sink)
{
    uint32_t begin = 0, end = 0;
    memset(flow->level, 0xff, flow->vertex_count * sizeof *flow->level);
    flow->level[source] = 0;
    flow->queue[end++] = source;
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

/* A blocking flow along the levels. */
static int64_t block(struct ronde_max_flow *flow, uint32_t source, uint32_t sink, int64_t limit)
{
    int64_t total = 0;
    memcpy(flow->next, flow->first, flow->vertex_count * sizeof *flow->next);
    while (total < limit) {
        uint32_t length = 0, at = source;
        while (at != sink) {
            const uint32_t arc = advance(flow, at);
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

bool ronde_flow_is_inside(const struct ronde_max_flow *flow, uint32_t vertex)
{
    return flow->level[vertex] != NONE;
}
