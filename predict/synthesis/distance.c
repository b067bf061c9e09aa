/* Shortest ways by label correction (Bellman, Ford, Moore), with a queue. See distance.h. */
#include "distance.h"

#include <math.h>

bool ronde_distances_create(struct ronde_distances *distances, const struct ronde_graph *graph,
                            struct ronde_index_pool *pool)
{
    const uint32_t places = graph->place_count;
    *distances = (struct ronde_distances){
        .graph = graph,
        .first = ronde_pool_new(pool, (size_t)places + 1, sizeof *distances->first),
        .arcs = ronde_pool_new(pool, graph->arc_count, sizeof *distances->arcs),
        .length = ronde_pool_new(pool, graph->arc_count, sizeof *distances->length),
        .to = ronde_pool_new(pool, places, sizeof *distances->to),
        .queue = ronde_pool_new(pool, places, sizeof *distances->queue),
        .is_queued = ronde_pool_new(pool, places, sizeof *distances->is_queued),
    };
    if (!distances->first || !distances->arcs || !distances->length || !distances->to ||
        !distances->queue || !distances->is_queued)
        return false;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        distances->first[graph->arcs[a].from]++;
    for (uint32_t p = 1; p <= places; p++)
        distances->first[p] += distances->first[p - 1];
    for (uint32_t a = graph->arc_count; a-- > 0;)
        distances->arcs[--distances->first[graph->arcs[a].from]] = a;
    return true;
}

void ronde_distances_from(struct ronde_distances *distances, uint32_t source)
{
    const struct ronde_graph *graph = distances->graph;
    const uint32_t places = graph->place_count;
    uint32_t begin = 0, end = 1 % places, waiting = 1;
    for (uint32_t p = 0; p < places; p++)
        distances->to[p] = INFINITY;
    distances->to[source] = 0;
    distances->queue[0] = source;
    while (waiting > 0) {
        const uint32_t from = distances->queue[begin];
        begin = begin + 1 < places ? begin + 1 : 0;
        waiting--;
        distances->is_queued[from] = false;
        for (uint32_t i = distances->first[from]; i < distances->first[from + 1]; i++) {
            const struct ronde_arc *arc = &graph->arcs[distances->arcs[i]];
            const double to = distances->to[from] + distances->length[distances->arcs[i]];
            if (to >= distances->to[arc->to])
                continue;
            distances->to[arc->to] = to;
            if (distances->is_queued[arc->to])
                continue;
            distances->is_queued[arc->to] = true;
            distances->queue[end] = arc->to;
            end = end + 1 < places ? end + 1 : 0;
            waiting++;
        }
    }
}
