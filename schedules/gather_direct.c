/**
 * gather, direct.
 *
 * Every rank sends the root its block, and the root receives them, one after another. Nothing
 * travels twice and no rank needs memory for the blocks of others, so it is best for large blocks;
 * all flows share the root's port.
 *
 *   1 -> 0: b1    2 -> 0: b2    3 -> 0: b3       at once; received from 1 to 3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block):
 *   T = L + s(b) + g(b) + a + (N-1) s(b) + (P-1) max((N-1) s(b), s(b) + f(b), C (N-1) b / port_GBps)
 * where all flows share the root's port: g = b / min(lane, port / (C (N-1))). Where D slots are too
 * few, D pieces take at least s + f + a + s. Exact for equal pieces where flows do not slow one
 * another down (N = 2, or lanes slower than their share), else fill and steady state. N = 1: L +
 * sum over p of s(b_p).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, the linear algorithm they measure against.
 */
#include "all_pairs.h"
#include "claims.h"

/** Lane of the root's local copy, so that it delays no message. */
enum { RECEIVE_LANE, COPY_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    for (uint32_t position = 1; position < request->ranks; position++) {
        ronde_builder_message(builder, position, 0, RECEIVE_LANE, input,
                              ronde_chunks(RONDE_OUT, position, 1));
    }
    ronde_builder_copy(builder, 0, COPY_LANE, input, ronde_chunks(RONDE_OUT, 0, 1));
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_pairs_at_once_price(request, load, network, request->ranks - 1);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, 1, ranks > 1);
}

const struct ronde_algorithm ronde_algorithm_gather_direct = {
    .collective = RONDE_GATHER,
    .name = "direct",
    .summary = "everyone sends the root their block; best for large blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = ronde_pairs_at_once_is_exact,
};
