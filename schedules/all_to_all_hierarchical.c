/**
 * all_to_all, hierarchical.
 *
 * Ranks are nodes x local ones. First the ranks of a node exchange blocks so that each has all that
 * its node sends to ranks of its own local number; then it sends every other node's rank of that
 * number one message. A message between nodes carries the blocks of a whole node, so that there are
 * local times fewer of them, and each rank exchanges messages with one rank per node only.
 *
 *   nodes (0 1) (2 3):   0 -> 1: b1 b3      1 -> 0: b0 b2      2 -> 3: b1 b3      3 -> 2: b0 b2
 *   rank 0 now has the blocks of 0 and 1 for 0 and 2:
 *                        0 -> 2: (0 1) b2   2 -> 0: (2 3) b0   1 -> 3: (0 1) b3   3 -> 1: (2 3) b1
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 * With one node or one rank a node it is pairwise.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/C of a block):
 *   T = L + sum over p of (q-1) (2 s(K b_p) + f(K b_p) + a) + (K-1) (2 s(q b_p) + f(q b_p) + a)
 * A node's own blocks are copied in a lane of their own, which is never the longer one. Exact for
 * equal chunks. K = 1 or q = 1: that of all_to_all_pairwise.c.
 *
 * Source: J. L. Traeff, A. Rougier, "MPI collectives and datatypes for hierarchical all-to-all
 * communication", EuroMPI/Asia 2014, pages 27-32.
 */
#include "axes.h"
#include "claims.h"

/** Lane of the local copies, so that the rounds do not wait for them. */
enum { ROUND_LANE, COPY_LANE };

/** The two digits of a position. */
struct grid {
    uint32_t nodes;
    uint32_t local;
};

static struct grid grid_of(const struct ronde_compile_request *request)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    return (struct grid){.nodes = axes.radix[1], .local = axes.radix[0]};
}

static bool is_flat(struct grid grid)
{
    return grid.nodes == 1 || grid.local == 1;
}

/** Rank at a position. */
static uint32_t rank_at(const struct ronde_compile_request *request, uint32_t position)
{
    return request->order ? request->order[position] : position;
}

/* Messages are sorted by rank at both ends, so an order must not turn two blocks of one round. */
static enum ronde_status supports(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not)
{
    RONDE_TRY(ronde_axes_supports_nodes(request, why_not));
    if (!request->order)
        return RONDE_OK;
    const struct grid grid = grid_of(request);
    for (uint32_t p = 1; p < request->ranks && !is_flat(grid); p++) {
        const bool is_behind = p % grid.local > 0 && rank_at(request, p) < rank_at(request, p - 1);
        const bool is_below =
            p >= grid.local && rank_at(request, p) < rank_at(request, p - grid.local);
        if (is_behind || is_below)
            return ronde_fail(
                why_not, RONDE_UNSUPPORTED,
                "hierarchical sorts blocks by rank: rank %u at position %u of the order "
                "is below one before it in its node or of its local number",
                rank_at(request, p), p);
    }
    return RONDE_OK;
}

static void send_blocks(struct ronde_builder *builder, uint32_t offset, struct ronde_operand source,
                        struct ronde_operand target)
{
    ronde_builder_message(builder, 0, offset, ROUND_LANE, source, target);
}

/** One level only: every block straight to where it belongs. */
static void exchange_flat(struct grid grid, struct ronde_builder *builder)
{
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_rotate(builder, true, true, false);
    for (uint32_t offset = 1; offset < grid.nodes * grid.local; offset++)
        send_blocks(builder, offset, ronde_chunks(RONDE_IN, offset, 1), own);
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1), own);
}

/** Blocks for a local number on all nodes; in scratch, those from a local rank to all nodes. */
static struct ronde_operand rail(struct grid grid, enum ronde_buffer buffer, uint32_t local)
{
    return ronde_chunk_runs(buffer, local, grid.nodes, 1, grid.local);
}

/* Block (m, j) of scratch is the one from local rank j of this node to node m. */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct grid grid = grid_of(request);
    const uint32_t radices[] = {grid.nodes, grid.local};
    if (is_flat(grid)) {
        exchange_flat(grid, builder);
        return;
    }
    const struct ronde_operand own_node = ronde_chunks(RONDE_OUT, 0, grid.local);
    ronde_builder_rotate(builder, true, true, true);
    ronde_builder_rotate_shape(builder, radices, 2);
    ronde_builder_scratch(builder, request->ranks);
    ronde_builder_copy(builder, 0, COPY_LANE, rail(grid, RONDE_IN, 0), rail(grid, RONDE_SCRATCH, 0));
    for (uint32_t local = 1; local < grid.local; local++)
        send_blocks(builder, local, rail(grid, RONDE_IN, local), rail(grid, RONDE_SCRATCH, 0));
    for (uint32_t node = 1; node < grid.nodes; node++) {
        const uint32_t first = node * grid.local;
        send_blocks(builder, first, ronde_chunks(RONDE_SCRATCH, first, grid.local), own_node);
    }
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_SCRATCH, 0, grid.local), own_node);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const struct grid grid = grid_of(request);
    struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (is_flat(grid))
        return ronde_algorithm_all_to_all_pairwise.price(request, load, network);
    struct ronde_lane_work work = {0};
    const struct ronde_lane_shape inside = {.steps = 2 * (grid.local - 1),
                                            .messages = grid.local - 1};
    const struct ronde_lane_shape across = {.steps = 2 * (grid.nodes - 1),
                                            .messages = grid.nodes - 1};
    ronde_work_add(&work, grid.nodes, inside);
    ronde_work_add(&work, grid.local, across);
    cut.widest = grid.nodes > grid.local ? grid.nodes : grid.local;
    return ronde_work_price(load, network, cut, &work);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return ronde_counts_rounds(ranks, local - 1 + nodes - 1,
                               (uint64_t)(local - 1) * nodes + (uint64_t)(nodes - 1) * local);
}

const struct ronde_algorithm ronde_algorithm_all_to_all_hierarchical = {
    .collective = RONDE_ALL_TO_ALL,
    .name = "hierarchical",
    .summary = "inside nodes first, then one message per pair of nodes and local rank",
    .supports = supports,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Traeff, Rougier 2014",
    .counts = counts_of,
    .why_more =
        "a block for another node goes through a rank of its own node first, so that one message "
        "per pair of nodes and rank carries the blocks of a whole node. On 12 ranks (two nodes of "
        "six, the default) 16 blocks instead of 11; on 8, one node, it is `pairwise`",
};
