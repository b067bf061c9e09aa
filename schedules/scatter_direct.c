/**
 * scatter, direct and direct_parallel.
 *
 * The root sends each rank its block, one after another. Nothing travels twice and no rank needs
 * memory for the blocks of others, so it is best for large blocks; its N-1 sends are the root's
 * alone. In parallel each of them has a lane of its own: where the root has a link to each rank, all
 * links are busy.
 *
 *   0 -> 1: b1, then 0 -> 2: b2, then 0 -> 3: b3; in parallel all at once
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block):
 *   T = L + (N-1) (s(b) + f(b)) + a + s(b) + (P-1) (N-1) (s(b) + f(b))
 * unless D slots are too few: every D pieces take at least s + f + a + s, and the rest of P - 1 at
 * the pace above. Exact for equal pieces, since no port ever carries two messages. N = 1: L + sum
 * over p of s(b_p). In parallel, where all flows share the root's port:
 *   T = L + s(b) + g(b) + a + s(b) + (P-1) max(s(b) + f(b), C (N-1) b / port_GBps),
 *   g = b / min(lane, port / (C (N-1)))
 * exact for equal pieces where flows do not slow one another down, else fill and steady state.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, the linear algorithm they measure against.
 */
#include "all_pairs.h"
#include "claims.h"

/** Lane of the root's local copy, so that no message waits for it. */
enum { SEND_LANE, COPY_LANE };

static void build_parallel(const struct ronde_compile_request *request,
                           struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t position = 1; position < n; position++) {
        const struct ronde_transfer message = {
            .from = 0,
            .to = position,
            .from_lane = ronde_pairs_own_send(position),
            .to_lane = 0,
            .source = ronde_chunks(RONDE_IN, position, 1),
            .target = output,
        };
        ronde_builder_transfer(builder, &message);
    }
    ronde_builder_copy(builder, 0, n - 1, ronde_chunks(RONDE_IN, 0, 1), output);
}

static struct ronde_price price_parallel(const struct ronde_compile_request *request,
                                         const struct ronde_load *load,
                                         const struct ronde_network *network)
{
    return ronde_pairs_at_once_price(request, load, network, 1);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t position = 1; position < request->ranks; position++) {
        ronde_builder_message(builder, 0, position, SEND_LANE, ronde_chunks(RONDE_IN, position, 1),
                              output);
    }
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1), output);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_pairs_root_price(request, load, network);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, ranks - 1, ranks > 1);
}

const struct ronde_algorithm ronde_algorithm_scatter_direct = {
    .collective = RONDE_SCATTER,
    .name = "direct",
    .summary = "the root sends everyone their block; best for large blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
};

const struct ronde_algorithm ronde_algorithm_scatter_direct_parallel = {
    .collective = RONDE_SCATTER,
    .name = "direct_parallel",
    .summary = "the root sends all blocks at once; best where it has a link to each rank",
    .supports = ronde_supports_any,
    .build = build_parallel,
    .price = price_parallel,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = ronde_pairs_at_once_is_exact,
};
