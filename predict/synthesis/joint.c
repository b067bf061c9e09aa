/* Trees that data runs up and down. See joint.h. */
#include "joint.h"

/* Trees at most, each of which has a chunk of its own: that many edges, but for many ranks not too few trees. */
#define MOST_EDGES 1024u
#define MOST_TREES 64u
#define FEW_TREES 16u

static uint32_t most_trees(uint32_t ranks)
{
    const uint32_t most = MOST_EDGES / ranks;
    return most > MOST_TREES ? MOST_TREES : most < FEW_TREES ? FEW_TREES : most;
}

enum ronde_status ronde_joint_pack(const struct ronde_joint_task *task,
                                   struct ronde_index_pool *pool, struct ronde_packing *out_packing,
                                   struct ronde_error *error)
{
    const uint32_t n = task->graph->ranks;
    struct ronde_ways *ways = ronde_pool_new(pool, 1, sizeof *ways);
    uint32_t *room = ronde_pool_new(pool, n, sizeof *room);
    struct ronde_graph_cut cut;
    if (!ways || !room || !ronde_ways_make_joint(task->graph->wiring, pool, ways) ||
        !ronde_cut_create(task->graph, pool, &cut) ||
        !ronde_cut_broadcast(task->graph, 0, pool, &cut))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for trees of %u ranks", n);
    const struct ronde_pack_task packed = {.graph = task->graph,
                                           .ways = ways,
                                           .root = 0,
                                           .cut = &cut,
                                           .rate_GBps = task->rate_GBps,
                                           .arrivals = 2 * (n - 1),
                                           .most_trees = most_trees(n),
                                           .most_height = task->most_height,
                                           .progress = task->progress};
    const enum ronde_status status = ronde_pack(&packed, pool, out_packing, error);
    for (uint32_t t = 0; status == RONDE_OK && t < out_packing->forest.tree_count; t++)
        ronde_forest_centre(&out_packing->forest, t, room);
    return status;
}
