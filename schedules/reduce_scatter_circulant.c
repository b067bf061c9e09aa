/**
 * reduce_scatter, circulant graph.
 *
 * Every position keeps partial sums of blocks, first its own and those that follow round the circle. In a round it sends
 * the farther half of them as far ahead as it keeps blocks itself, and adds what comes to its nearer half, so that blocks
 * halve until its own is left. It sends the least data possible in ceil(log2 N) messages, for any N, where
 * reduce_scatter_recursive_halving.c has to fold: all_gather_bruck.c backwards.
 *
 *   round 0    0 -> 2: b2 b3    1 -> 3: b3 b0    2 -> 0: b0 b1    3 -> 1: b1 b2     add
 *   round 1    0 -> 1: b1       1 -> 2: b2       2 -> 3: b3       3 -> 0: b0        add
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes; w runs over floor(N/2),
 * floor(ceil(N/2)/2), .. 1, which add up to N-1: the chunks of a message):
 *   T = L + sum over p, w of s(w b_p) + f(w b_p) + a + r(w b_p)
 * For odd N above 5 one block is copied into scratch in a lane of its own, which is never the longer one. Exact for equal
 * chunks, else an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: J. L. Traeff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv:2410.14234, 2024; after
 * M. Bernaschi, G. Iannello, M. Lauria, "Efficient implementation of reduce-scatter in MPI", Journal of Systems
 * Architecture 49(3), 2003, pages 89-108. There blocks are rotated first; we add into scratch where they belong.
 */
#include "claims.h"

/** Lane of the local copy, so that the first round does not wait for it. */
enum { ROUND_LANE, COPY_LANE };

/** Blocks a position keeps of `kept`: the nearer half. */
static uint32_t nearer_half(uint32_t kept)
{
    return kept - kept / 2;
}

/*
 * Messages are sorted by rank at both ends, and partial sums by position: an order must not turn two blocks that travel
 * together, which from 4 positions on any two neighbours do.
 */
static enum ronde_status supports(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not)
{
    const uint32_t *order = request->order;
    for (uint32_t q = 1; order && request->ranks > 3 && q < request->ranks; q++)
        if (order[q] < order[q - 1])
            return ronde_fail(
                why_not, RONDE_UNSUPPORTED,
                "circulant sorts blocks: rank %u follows %u at position %u of the order", order[q],
                order[q - 1], q);
    return RONDE_OK;
}

/** Of `kept` blocks the farther half goes to the position that keeps the first of them; `is_input`: nothing is added yet. */
static void halve(uint32_t kept, bool is_input, bool is_sent_as_input, struct ronde_builder *builder)
{
    const uint32_t first = nearer_half(kept), count = kept / 2;
    const struct ronde_operand sums = ronde_chunks(RONDE_SCRATCH, first, count);
    const struct ronde_operand input = ronde_chunks(RONDE_IN, first, count);
    const struct ronde_transfer transfer = {
        .from = 0,
        .to = first,
        .from_lane = ROUND_LANE,
        .to_lane = ROUND_LANE,
        .source = is_sent_as_input ? input : sums,
        .with = is_input ? input : sums,
        .target = first == 1 ? ronde_chunks(RONDE_OUT, 0, 1) : sums,
        .reduces = true,
    };
    ronde_builder_transfer(builder, &transfer);
}

/* The middle one of an odd number of blocks is neither sent nor added to at first: its next message finds it in scratch. */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks, left = nearer_half(n);
    if (n == 1) {
        ronde_builder_copy(builder, 0, ROUND_LANE, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        return;
    }
    ronde_builder_rotate(builder, true, false, true);
    ronde_builder_scratch(builder, n);
    const bool is_odd = n % 2 != 0, is_alone = is_odd && left / 2 == 1;
    if (is_odd && !is_alone)
        ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, left - 1, 1),
                           ronde_chunks(RONDE_SCRATCH, left - 1, 1));
    for (uint32_t kept = n; kept > 1; kept = nearer_half(kept))
        halve(kept, kept == n, kept == n || (kept == left && is_alone), builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request),
                                  .chunks = 1,
                                  .widest = n / 2};
    struct ronde_lane_work work = {0};
    if (n == 1)
        ronde_work_add(&work, 1, (struct ronde_lane_shape){.steps = 1});
    for (uint32_t kept = n; kept > 1; kept = nearer_half(kept))
        ronde_work_add(&work, kept / 2,
                       (struct ronde_lane_shape){.steps = 1, .reducing = 1, .messages = 1});
    return ronde_work_price(load, network, cut, &work);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_rounds(ranks, ronde_log2_ceil(ranks), ranks - 1);
}

const struct ronde_algorithm ronde_algorithm_reduce_scatter_circulant = {
    .collective = RONDE_REDUCE_SCATTER,
    .name = "circulant",
    .summary = "blocks halve every round, for any number of ranks",
    .supports = supports,
    .build = build,
    .price = price,
    .source = "Traeff 2024; Bernaschi, Iannello, Lauria 2003",
    .counts = counts_of,
};
