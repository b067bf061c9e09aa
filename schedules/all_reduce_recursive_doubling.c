/**
 * all_reduce, recursive doubling.
 *
 * In round i the positions whose numbers differ in bit i swap their whole sums and add them up, so
 * that after log2 N rounds everyone has everything. It has the fewest latencies of all, and sends
 * the whole block every time. N must be a power of two.
 *
 *   round 0    0 <-> 1    2 <-> 3
 *   round 1    0 <-> 2    1 <-> 3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; d = log2 N):
 *   T = L + sum over p of s(b_p) + d (f(b_p) + a + r(b_p))
 * One lane does everything, so pieces do not overlap. Exact for equal chunks, else an upper bound.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * recursive doubling of allreduce. All ranks add the same pairs of partial sums, so all get the
 * same bits. There other N are folded to a power of two first; we do not do that yet.
 */
#include "catalogue.h"
#include "closed_form.h"

enum ronde_status ronde_all_reduce_recursive_doubling_supports(const struct ronde_request *request,
                                                               struct ronde_error *why_not)
{
    const uint32_t n = request->ranks;
    if ((n & (n - 1)) != 0)
        return ronde_fail(why_not, RONDE_UNSUPPORTED,
                          "recursive_doubling needs a power of two, %u ranks are none", n);
    return RONDE_OK;
}

static struct ronde_transfer half(uint32_t from, uint32_t to, struct ronde_operand sum)
{
    const struct ronde_transfer transfer = {
        .from = from,
        .to = to,
        .source = sum,
        .with = sum,
        .target = ronde_chunks(RONDE_OUT, 0, 1),
        .reduces = true,
    };
    return transfer;
}

void ronde_all_reduce_recursive_doubling_build(const struct ronde_request *request,
                                               struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    struct ronde_operand sum = ronde_chunks(RONDE_IN, 0, 1);
    if (n == 1)
        ronde_builder_copy(builder, 0, 0, sum, ronde_chunks(RONDE_OUT, 0, 1));
    for (uint32_t bit = 1; bit < n; bit *= 2) {
        ronde_builder_round_begin(builder);
        for (uint32_t position = 0; position < n; position++) {
            const struct ronde_transfer transfer = half(position, position ^ bit, sum);
            ronde_builder_transfer(builder, &transfer);
        }
        ronde_builder_round_end(builder);
        sum = ronde_chunks(RONDE_OUT, 0, 1);
    }
}

struct ronde_price ronde_all_reduce_recursive_doubling_price(const struct ronde_request *request,
                                                             const struct ronde_load *load,
                                                             const struct ronde_network *network)
{
    const uint32_t rounds = ronde_log2_ceil(request->ranks);
    const struct ronde_cut cut = {.channels = ronde_request_channels(request), .chunks = 1};
    const struct ronde_lane_shape shape = {.steps = 1, .reducing = rounds, .messages = rounds};
    return ronde_lane_price(load, network, cut, shape);
}
