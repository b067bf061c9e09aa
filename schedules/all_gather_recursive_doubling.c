/**
 * all_gather, recursive doubling.
 *
 * In round i the positions whose numbers differ in bit i swap all blocks they have, so that blocks
 * double every round. It sends the least data possible in log2 N messages. Where N is no power of
 * two it is folded to one first (fold.h), and the member of a pair sends its extra everything in
 * the end: all_gather_bruck.c does better then.
 *
 *   round 0    0 -> 1: b0       1 -> 0: b1       2 -> 3: b2       3 -> 2: b3
 *   round 1    0 -> 2: b0 b1    2 -> 0: b2 b3    1 -> 3: b0 b1    3 -> 1: b2 b3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes; w runs over
 * 1, 2, .. N/2, the chunks of a message):
 *   T = L + sum over p, w of 2 s(w b_p) + f(w b_p) + a
 * The own block is copied in a lane of its own, which is never the longer one. Exact for equal
 * chunks, else an upper bound. Where N is folded, w is the most blocks that a message of its round
 * has, 2 s + f + a of b_p to fold in and of (N-1) b_p to fold out are added as in ronde_fold_price, and the price is an
 * upper bound: no chain of messages is the longest in every round. N = 1: L + sum of s(b_p).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * recursive doubling of allgather. There N that are no powers of two take extra messages inside the
 * rounds; we fold as for allreduce.
 */
#include "claims.h"

/** Lane of the local copies, so that no message waits for them. */
enum { DOUBLING_LANE, COPY_LANE };

/** What a member has before partners `width` apart swap; its own block it need not have copied. */
static struct ronde_operand blocks_of(struct ronde_fold fold, uint32_t member, uint32_t width)
{
    const struct ronde_operand blocks =
        ronde_fold_blocks(fold, RONDE_OUT, member & ~(width - 1), width);
    return blocks.count == 1 ? ronde_chunks(RONDE_IN, 0, 1) : blocks;
}

static void swap_blocks(struct ronde_fold fold, uint32_t width, struct ronde_builder *builder)
{
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < ronde_fold_speakers(fold); member++) {
        const struct ronde_transfer transfer = {
            .from = ronde_fold_position(fold, member),
            .to = ronde_fold_position(fold, member ^ width),
            .from_lane = DOUBLING_LANE,
            .to_lane = DOUBLING_LANE,
            .source = blocks_of(fold, member, width),
            .target = ronde_fold_blocks(fold, RONDE_OUT, member & ~(width - 1), width),
        };
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_round_end(builder);
}

/** The even one of a pair sends its block to the odd one, or receives all others from it. */
static void fold_blocks(struct ronde_fold fold, bool is_out, struct ronde_builder *builder)
{
    const uint32_t others = fold.members + fold.extras - 1;
    for (uint32_t extra = 0; extra < fold.extras; extra++) {
        const struct ronde_operand rest = ronde_chunks(RONDE_OUT, 2 * extra + 1, others);
        const struct ronde_transfer transfer = {
            .from = 2 * extra + is_out,
            .to = 2 * extra + !is_out,
            .from_lane = DOUBLING_LANE,
            .to_lane = DOUBLING_LANE,
            .source = is_out ? rest : ronde_chunks(RONDE_IN, 0, 1),
            .target = is_out ? rest : ronde_chunks(RONDE_OUT, 2 * extra, 1),
        };
        ronde_builder_transfer(builder, &transfer);
    }
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_fold fold = ronde_fold_of(request->ranks);
    if (fold.extras == 0)
        ronde_builder_xor(builder, false, true, false);
    const uint32_t speakers = fold.extras > 0 ? request->ranks : 1;
    for (uint32_t position = 0; position < speakers; position++)
        ronde_builder_copy(builder, position, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, position, 1));
    fold_blocks(fold, false, builder);
    for (uint32_t width = 1; width < fold.members; width *= 2)
        swap_blocks(fold, width, builder);
    fold_blocks(fold, true, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_fold fold = ronde_fold_of(n);
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request),
                                  .chunks = 1,
                                  .widest = fold.extras > 0 ? n - 1 : n / 2};
    const struct ronde_lane_shape give = {.steps = 2, .messages = 1};
    struct ronde_fold_work work = {.rounds = {0}};
    if (n == 1)
        ronde_work_add(&work.rounds, 1, (struct ronde_lane_shape){.steps = 1});
    /* The first members stand for two, so their blocks are the most. */
    for (uint32_t width = 1; width < fold.members; width *= 2)
        ronde_work_add(&work.rounds, ronde_fold_first(fold, width), give);
    if (fold.extras == 0)
        return ronde_work_price(load, network, cut, &work.rounds);
    ronde_work_add(&work.hand_in, 1, give);
    ronde_work_add(&work.hand_out, n - 1, give);
    struct ronde_price price = ronde_fold_price(fold, load, network, cut, &work);
    price.is_exact = false;
    return price;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const struct ronde_fold fold = ronde_fold_of(ranks);
    /* Member 0 stands among most extras: in round i its 2^i members have a block each and their extras'. */
    uint64_t sent = fold.extras > 0 ? ranks - 1 : 0;
    for (uint32_t width = 1; width < fold.members; width *= 2)
        sent += width + (fold.extras < width ? fold.extras : width);
    return ronde_counts_fold(fold, ronde_fold_rounds(fold), sent);
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 1) && ronde_is_power_of_two(load->ranks);
}

const struct ronde_algorithm ronde_algorithm_all_gather_recursive_doubling = {
    .collective = RONDE_ALL_GATHER,
    .name = "recursive_doubling",
    .summary = "pairs swap all they have in log2 N rounds; best for powers of two",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "the least for N = P; on 12 the partner sends all blocks on to the surplus rank. "
                "`bruck` has the same path for any N, and sends the least",
    .why_approximate = "N no power of two: no chain of messages is the longest in every round",
};
