/**
 * reduce_scatter, direct.
 *
 * Every rank sends every block straight to its owner, which adds up what it receives. There is one
 * latency on the way of every block, and each port carries the least data possible, but N-1
 * messages have to be started one after another.
 *
 *   step 1    0 -> 1: b1    1 -> 2: b2    2 -> 3: b3    3 -> 0: b0
 *   step 2    0 -> 2: b2    1 -> 3: b3    2 -> 0: b0    3 -> 1: b1
 *   step 3    0 -> 3: b3    1 -> 0: b0    2 -> 1: b1    3 -> 2: b2
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes):
 *   T = L + a + max(s + f + (N-1) r, (N-1) (s + f) + r) + (P-1) (N-1) max(s + f, r)      of b
 * where D slots are too few, D pieces take at least s + f + a + r. Exact for equal pieces. N = 1: L
 * + sum over p of s(b_p).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * pairwise exchange of reduce_scatter. There a receive belongs to every send; we let sends run ahead.
 */
#include "all_pairs.h"
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand sum = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_rotate(builder, true, false, false);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, RONDE_PAIRS_COPY, ronde_chunks(RONDE_IN, 0, 1), sum);
    for (uint32_t to = 1; to < request->ranks; to++) {
        struct ronde_transfer message = ronde_pairs_message(to);
        message.source = ronde_chunks(RONDE_IN, to, 1);
        message.with = to == 1 ? message.source : sum;
        message.target = sum;
        message.reduces = true;
        ronde_builder_transfer(builder, &message);
    }
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_pairs_round_price(request, load, network, true);
}

const struct ronde_algorithm ronde_algorithm_reduce_scatter_direct = {
    .collective = RONDE_REDUCE_SCATTER,
    .name = "direct",
    .summary = "every block straight to its owner; one latency",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = ronde_counts_all_pairs,
};
