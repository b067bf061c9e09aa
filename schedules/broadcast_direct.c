/**
 * broadcast, direct.
 *
 * The root sends the whole block to every other rank, one after another. There is one latency on the way of every byte,
 * but all of them leave through the root's port. Where ranks read the root's memory in place that port is the memory
 * they share: no rank reads what another has just written, so all copies are written past the caches, and ranks of one
 * core read a piece while it is in theirs.
 *
 *   0 -> 1, then 0 -> 2, then 0 -> 3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block):
 *   T = L + (N-1) (s(b) + f(b)) + a + s(b) + (P-1) (N-1) (s(b) + f(b))
 * unless D slots are too few: every D pieces take at least s + f + a + s, and the rest of P - 1 at
 * the pace above. Exact for equal pieces, since no port ever carries two messages. N = 1: L + sum
 * over p of s(b_p).
 *
 * Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory,
 * practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007, pages
 * 1749-1783 (bounds); the linear algorithm of Open MPI.
 */
#include "all_pairs.h"
#include "claims.h"

/** Lane of the root's local copy, so that no message waits for it. */
enum { SEND_LANE, COPY_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t position = 1; position < request->ranks; position++) {
        ronde_builder_message(builder, 0, position, SEND_LANE, input, output);
    }
    ronde_builder_copy(builder, 0, COPY_LANE, input, output);
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

const struct ronde_algorithm ronde_algorithm_broadcast_direct = {
    .collective = RONDE_BROADCAST,
    .name = "direct",
    .summary = "the root sends the whole block to everyone; one latency",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Chan et al. 2007",
    .counts = counts_of,
    .why_more = "the root sends it to every rank, N-1 blocks, on a path of one message. Meant for "
                "ranks that read the root's memory where it lies",
};
