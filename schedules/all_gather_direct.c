/**
 * all_gather, direct.
 *
 * Every rank sends its block to all others. There is one latency on the way of every block, and
 * each port carries the least data possible, but N-1 messages have to be started one after another.
 *
 *   step 1    0 -> 1: b0    1 -> 2: b1    2 -> 3: b2    3 -> 0: b3
 *   step 2    0 -> 2: b0    1 -> 3: b1    2 -> 0: b2    3 -> 1: b3
 *   step 3    0 -> 3: b0    1 -> 0: b1    2 -> 1: b2    3 -> 2: b3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes):
 *   T = L + P (N-1) (s(b) + f(b)) + a + s(b)
 * where D slots are too few, D pieces take at least s + f + a + s. The own block is copied in a lane
 * of its own. Exact for equal pieces. N = 1: L + sum over p of s(b_p).
 *
 * Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory,
 * practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007, pages
 * 1749-1783 (bounds); the linear algorithm of Open MPI with the partners of step k shifted by k.
 */
#include "all_pairs.h"
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    ronde_builder_rotate(builder, false, true, false);
    for (uint32_t to = 1; to < request->ranks; to++) {
        struct ronde_transfer message = ronde_pairs_message(to);
        message.source = own;
        message.target = ronde_chunks(RONDE_OUT, 0, 1);
        ronde_builder_transfer(builder, &message);
    }
    ronde_builder_copy(builder, 0, RONDE_PAIRS_COPY, own, ronde_chunks(RONDE_OUT, 0, 1));
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_pairs_round_price(request, load, network, false);
}

const struct ronde_algorithm ronde_algorithm_all_gather_direct = {
    .collective = RONDE_ALL_GATHER,
    .name = "direct",
    .summary = "every block straight to all ranks; one latency",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Chan et al. 2007",
    .counts = ronde_counts_all_pairs,
};
