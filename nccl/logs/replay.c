/*
 * The schedule that NCCL runs over its rings and trees. See ronde/nccl_graph.h.
 *
 * Rings are an algorithm of ours with the log's orders, a channel a ring. Trees differ from one another in shape, so
 * no algorithm has them: they are stated message by message, each tree moving a chunk of its own in lanes of its own,
 * up as in schedules/all_reduce_nccl_tree.c and down from the last child to the first, since NCCL's chain through a
 * node comes first among the children. Ranks are listed parents before children, and stated in that order downwards,
 * against it upwards.
 */
#include "ronde/nccl_graph.h"
#include "ronde/schedules.h"

#include <inttypes.h>
#include <stdio.h>

/* --- rings ----------------------------------------------------------------------------------- */

/* The algorithm whose messages go round as NCCL's; NULL where NCCL has none. */
static const char *ring_algorithm(enum ronde_collective collective)
{
    switch (collective) {
    case RONDE_ALL_REDUCE:
    case RONDE_ALL_GATHER:
    case RONDE_REDUCE_SCATTER:
        return "ring";
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
        return "chain";
    default:
        return NULL;
    }
}

/* From the root on, in the direction of the messages; a reduce's come to the root, so backwards from there. */
static void fill_order(const struct ronde_nccl_graph *graph, uint32_t ring,
                       const struct ronde_nccl_request *request, uint32_t *order)
{
    const uint32_t *next = graph->next + (size_t)ring * graph->ranks;
    const bool is_backward = request->collective == RONDE_REDUCE;
    uint32_t rank = request->root;
    for (uint32_t i = 0; i < graph->ranks; i++) {
        order[is_backward ? (graph->ranks - i) % graph->ranks : i] = rank;
        rank = next[rank];
    }
}

static enum ronde_status
replay_rings(const struct ronde_nccl_graph *graph, const struct ronde_nccl_request *request,
             const struct ronde_mem *mem, struct ronde_schedule **out_schedule,
             struct ronde_error *error)
{
    const char *algorithm = ring_algorithm(request->collective);
    const size_t count = (size_t)graph->rings * graph->ranks;
    if (!algorithm)
        return ronde_fail(error, RONDE_UNSUPPORTED, "NCCL runs no %s over rings",
                          ronde_collective_text(request->collective));
    if (graph->rings == 0)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "the log states no rings: NCCL_DEBUG_SUBSYS=INIT,GRAPH prints them");
    uint32_t *orders = ronde_mem_new(mem, count, sizeof *orders);
    if (!orders)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %" PRIu32 " rings", graph->rings);
    for (uint32_t ring = 0; ring < graph->rings; ring++)
        fill_order(graph, ring, request, orders + (size_t)ring * graph->ranks);
    const struct ronde_compile_request compiled = {.collective = request->collective,
                                                   .algorithm = algorithm,
                                                   .ranks = graph->ranks,
                                                   .root = request->root,
                                                   .channels = graph->rings,
                                                   .channel_orders = orders};
    const enum ronde_status status = ronde_compile(&compiled, mem, NULL, out_schedule, error);
    ronde_mem_free(mem, orders, count, sizeof *orders);
    return status;
}

/* --- trees ----------------------------------------------------------------------------------- */

/* Children without the gaps between them. */
struct children {
    uint32_t count;
    uint32_t at[RONDE_NCCL_MOST_CHILDREN];
};

/* One tree while it is stated; every rank has lanes of its own for each. */
struct tree_builder {
    const struct ronde_nccl_branch *tree;
    struct ronde_builder *builder;
    uint32_t *lane;  /* per rank: its first lane of this tree */
    uint32_t *walk;  /* ranks, parents before children */
    uint32_t number; /* of the tree, and the chunk that it moves */
};

static struct children children_of(const struct ronde_nccl_branch *branch)
{
    struct children children = {.count = 0};
    for (unsigned d = 0; d < RONDE_NCCL_MOST_CHILDREN; d++)
        if (branch->down[d] != RONDE_NONE)
            children.at[children.count++] = branch->down[d];
    return children;
}

/* As in schedules/all_reduce_nccl_tree.c: a child sends into a lane of its own, the last of which passes the sum on. */
static uint32_t sum_lane(const struct children *children)
{
    return children->count > 0 ? children->count - 1 : 0;
}

/* Down has lanes of its own but at the root, which turns the sum round within its lane. */
static uint32_t down_lane(const struct tree_builder *tree, uint32_t rank,
                          const struct children *children)
{
    return tree->lane[rank] + sum_lane(children) + (tree->tree[rank].up != RONDE_NONE);
}

static void state_up(const struct tree_builder *tree, uint32_t rank)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, tree->number, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, tree->number, 1);
    const struct children children = children_of(&tree->tree[rank]);
    for (uint32_t i = 0; i < children.count; i++) {
        const uint32_t child = children.at[i];
        const struct children under = children_of(&tree->tree[child]);
        const struct ronde_transfer up = {
            .from = child,
            .to = rank,
            .from_lane = tree->lane[child] + sum_lane(&under),
            .to_lane = tree->lane[rank] + i,
            .source = under.count == 0 ? input : output,
            .with = i == 0 ? input : output,
            .target = output,
            .reduces = true,
        };
        ronde_builder_transfer(tree->builder, &up);
    }
}

/* From the last child to the first: the chain of a rank's own node is NCCL's first. */
static void state_down(const struct tree_builder *tree, uint32_t rank)
{
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, tree->number, 1);
    const struct children children = children_of(&tree->tree[rank]);
    for (uint32_t i = 0; i < children.count; i++) {
        const uint32_t child = children.at[children.count - 1 - i];
        const struct children under = children_of(&tree->tree[child]);
        const struct ronde_transfer down = {
            .from = rank,
            .to = child,
            .from_lane = down_lane(tree, rank, &children) + i,
            .to_lane = down_lane(tree, child, &under),
            .source = output,
            .target = output,
        };
        ronde_builder_transfer(tree->builder, &down);
    }
}

/* Parents before children: each rank's children behind those that are listed. */
static void list_ranks(const struct tree_builder *tree, uint32_t ranks)
{
    uint32_t listed = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (tree->tree[rank].up == RONDE_NONE)
            tree->walk[listed++] = rank;
    for (uint32_t i = 0; i < listed && listed < ranks; i++) {
        const struct children children = children_of(&tree->tree[tree->walk[i]]);
        for (uint32_t c = 0; c < children.count; c++)
            tree->walk[listed++] = children.at[c];
    }
}

/* The lanes that this tree took are behind those of the next. */
static void pass_lanes(const struct tree_builder *tree, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct children children = children_of(&tree->tree[rank]);
        const uint32_t down = children.count > 0 ? children.count : 1;
        tree->lane[rank] = down_lane(tree, rank, &children) +
                           (tree->tree[rank].up == RONDE_NONE && ranks > 1 ? children.count : down);
    }
}

static void state_trees(const struct ronde_nccl_graph *graph, struct tree_builder *tree)
{
    for (uint32_t number = 0; number < graph->trees; number++) {
        tree->tree = graph->branch + (size_t)number * graph->ranks;
        tree->number = number;
        if (graph->ranks == 1)
            ronde_builder_copy(tree->builder, 0, number, ronde_chunks(RONDE_IN, number, 1),
                               ronde_chunks(RONDE_OUT, number, 1));
        list_ranks(tree, graph->ranks);
        for (uint32_t i = graph->ranks; i-- > 0;)
            state_up(tree, tree->walk[i]);
        for (uint32_t i = 0; i < graph->ranks; i++)
            state_down(tree, tree->walk[i]);
        pass_lanes(tree, graph->ranks);
    }
}

static enum ronde_status fail_treeless(const struct ronde_nccl_graph *graph,
                                       struct ronde_error *error)
{
    char more[128] = "";
    if (graph->treeless[0])
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s", graph->treeless);
    if (graph->repeated_line > 0)
        snprintf(more, sizeof more,
                 "; line %" PRIu32
                 " stands for others that Ray left out: RAY_DEDUP_LOGS=0 keeps them",
                 graph->repeated_line);
    else if (graph->unread_line > 0)
        snprintf(more, sizeof more, "; line %" PRIu32 " cannot be read", graph->unread_line);
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "the log does not state the trees of all %" PRIu32
                      " ranks: each prints its own line \"Trees [0] ...\"%s",
                      graph->ranks, more);
}

static enum ronde_status
replay_trees(const struct ronde_nccl_graph *graph, const struct ronde_nccl_request *request,
             const struct ronde_mem *mem, struct ronde_schedule **out_schedule,
             struct ronde_error *error)
{
    const struct ronde_compile_request compiled = {.collective = request->collective,
                                                   .algorithm = "nccl_tree",
                                                   .ranks = graph->ranks};
    struct tree_builder tree = {.builder = NULL};
    if (request->collective != RONDE_ALL_REDUCE)
        return ronde_fail(error, RONDE_UNSUPPORTED, "NCCL runs no %s over trees, only all_reduce",
                          ronde_collective_text(request->collective));
    if (graph->trees == 0)
        return fail_treeless(graph, error);
    RONDE_TRY(ronde_builder_create(&compiled, mem, &tree.builder, error));
    tree.lane = ronde_mem_new(mem, graph->ranks, sizeof *tree.lane);
    tree.walk = ronde_mem_new(mem, graph->ranks, sizeof *tree.walk);
    if (tree.lane && tree.walk) {
        ronde_builder_chunks(tree.builder, graph->trees);
        state_trees(graph, &tree);
    } else {
        ronde_builder_fail(tree.builder, RONDE_NO_MEMORY,
                           "no memory for trees of %" PRIu32 " ranks", graph->ranks);
    }
    ronde_mem_free(mem, tree.lane, graph->ranks, sizeof *tree.lane);
    ronde_mem_free(mem, tree.walk, graph->ranks, sizeof *tree.walk);
    return ronde_schedule_finish(tree.builder, NULL, out_schedule, error);
}

enum ronde_status
ronde_nccl_graph_schedule(const struct ronde_nccl_graph *graph,
                          const struct ronde_nccl_request *request, const struct ronde_mem *mem,
                          struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    *out_schedule = NULL;
    if (request->root >= graph->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "root %" PRIu32 " is not below the log's %" PRIu32 " ranks",
                          request->root, graph->ranks);
    return request->is_tree ? replay_trees(graph, request, mem, out_schedule, error)
                            : replay_rings(graph, request, mem, out_schedule, error);
}
