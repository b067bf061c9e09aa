/**
 * reduce_scatter, recursive halving.
 *
 * Positions whose numbers differ in the highest bit swap the half of the blocks that the other one
 * shall keep and add up their own, then the next bit halves that half, until each has the sum of
 * its own block. It sends the least data possible in log2 N messages. Where N is no power of two it
 * is folded to one first (fold.h): the even one of a pair sends all its blocks to the other, and
 * receives its own one in the end.
 *
 *   round 0    0 -> 2: b2 b3    2 -> 0: b0 b1    1 -> 3: b2 b3    3 -> 1: b0 b1
 *   round 1    0 -> 1: b1       1 -> 0: b0       2 -> 3: b3       3 -> 2: b2
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes; w runs over
 * N/2, N/4, .. 1, the chunks of a message):
 *   T = L + sum over p, w of s(w b_p) + f(w b_p) + a + r(w b_p)
 * Exact for equal chunks, else an upper bound. Where N is folded, w is the most blocks that a
 * message of its round has, s + f + a + r of N b_p to fold in and s + f + a + s of b_p to fold out are added as in
 * ronde_fold_price, and the price is an upper bound: no chain of messages is the longest in every round. N = 1: L + sum
 * of s(b_p).
 *
 * `recursive_halving_swing` halves between the partners of butterfly.h's third order, nearest first, which on a ring or a torus
 * is the least distance for the largest messages. A rank ends with the block of another one, and sends it there: a message of
 * one block more from N = 4 on. N is a power of two.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * recursive halving of reduce_scatter; D. De Sensi et al., "Bine trees: enhancing collective operations by optimizing
 * communication locality", SC 2025 (blocks in their order, and sent to their owner).
 */
#include "butterfly.h"
#include "claims.h"

/** Lane of the copy out of scratch, so that the extra's block need not wait for it. */
enum { HALVING_LANE, COPY_LANE };

/*
 * The input must stay as it is, so partial sums sit in scratch. It has room for the half that is
 * left after the first round, or for all blocks of a member that took in an extra's. Programs are
 * stored per position: the exclusive or of positions would carry one to all, but needs scratch for
 * the half that is never there.
 */
static uint32_t scratch_blocks(uint32_t ranks)
{
    return ronde_fold_of(ranks).extras > 0 ? ranks : ranks / 2;
}

/*
 * Messages are sorted by rank at both ends, and partial sums by position: an order must not turn two
 * blocks that lie in scratch together.
 */
static enum ronde_status supports(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not)
{
    const uint32_t *order = request->order;
    for (uint32_t q = 1; order && q < request->ranks; q++)
        if (q % scratch_blocks(request->ranks) != 0 && order[q] < order[q - 1])
            return ronde_fail(
                why_not, RONDE_UNSUPPORTED,
                "recursive_halving sorts blocks: rank %u follows %u at position %u of "
                "the order",
                order[q], order[q - 1], q);
    return RONDE_OK;
}

/** The blocks of members as they lie in scratch. */
static struct ronde_operand partial_sums(struct ronde_fold fold, uint32_t first, uint32_t count)
{
    struct ronde_operand sums = ronde_fold_blocks(fold, RONDE_SCRATCH, first, count);
    sums.first %= scratch_blocks(fold.members + fold.extras);
    return sums;
}

/**
 * The blocks of members in a round: in the first one, a member without an extra sends its input.
 */
static struct ronde_operand blocks_of(struct ronde_fold fold, bool is_input, uint32_t first,
                                      uint32_t count)
{
    return is_input ? ronde_fold_blocks(fold, RONDE_IN, first, count)
                    : partial_sums(fold, first, count);
}

static void halve(const struct ronde_butterfly *butterfly, uint32_t round,
                  struct ronde_builder *builder)
{
    const struct ronde_fold fold = butterfly->fold;
    const uint32_t width = ronde_butterfly_width(butterfly, round);
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < fold.members; member++) {
        const uint32_t partner = ronde_butterfly_partner(butterfly, member, round);
        const uint32_t first = ronde_butterfly_kept(butterfly, partner, width);
        const bool is_done = width == 1 && first == partner && partner >= fold.extras;
        const struct ronde_transfer transfer = {
            .from = ronde_butterfly_position(butterfly, member),
            .to = ronde_butterfly_position(butterfly, partner),
            .from_lane = HALVING_LANE,
            .to_lane = HALVING_LANE,
            .source = blocks_of(fold, round == 0 && member >= fold.extras, first, width),
            .with = blocks_of(fold, round == 0 && partner >= fold.extras, first, width),
            .target = is_done ? ronde_chunks(RONDE_OUT, 0, 1) : partial_sums(fold, first, width),
            .reduces = true,
        };
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_round_end(builder);
}

static void hand_in(struct ronde_fold fold, struct ronde_builder *builder)
{
    for (uint32_t extra = 0; extra < fold.extras; extra++) {
        const struct ronde_transfer transfer = {
            .from = 2 * extra,
            .to = 2 * extra + 1,
            .from_lane = HALVING_LANE,
            .to_lane = HALVING_LANE,
            .source = blocks_of(fold, true, 0, fold.members),
            .with = blocks_of(fold, true, 0, fold.members),
            .target = partial_sums(fold, 0, fold.members),
            .reduces = true,
        };
        ronde_builder_transfer(builder, &transfer);
    }
}

/** A member that stood for two passes one block on and keeps the other. */
static void hand_out(struct ronde_fold fold, struct ronde_builder *builder)
{
    for (uint32_t extra = 0; extra < fold.extras; extra++) {
        ronde_builder_message(builder, 2 * extra + 1, 2 * extra, HALVING_LANE,
                              ronde_chunks(RONDE_SCRATCH, 2 * extra, 1),
                              ronde_chunks(RONDE_OUT, 0, 1));
        ronde_builder_copy(builder, 2 * extra + 1, COPY_LANE,
                           ronde_chunks(RONDE_SCRATCH, 2 * extra + 1, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    }
}

/** Who has another's block sends it there: in swing's order alone. */
static void hand_over(const struct ronde_butterfly *butterfly, struct ronde_builder *builder)
{
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < butterfly->fold.members; member++) {
        const uint32_t owner = ronde_butterfly_chunk(butterfly, member);
        const struct ronde_transfer transfer = {
            .from = member,
            .to = owner,
            .from_lane = HALVING_LANE,
            .to_lane = HALVING_LANE,
            .source = partial_sums(butterfly->fold, owner, 1),
            .target = ronde_chunks(RONDE_OUT, 0, 1),
            .is_apart = true,
        };
        if (owner != member)
            ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_round_end(builder);
}

static void build_with(const struct ronde_compile_request *request,
                       enum ronde_butterfly_order order, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, order);
    if (request->ranks == 1) {
        ronde_builder_copy(builder, 0, HALVING_LANE, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        return;
    }
    ronde_builder_scratch(builder, scratch_blocks(request->ranks));
    hand_in(butterfly.fold, builder);
    for (uint32_t round = 0; round < butterfly.rounds; round++)
        halve(&butterfly, round, builder);
    hand_over(&butterfly, builder);
    hand_out(butterfly.fold, builder);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with(request, RONDE_FARTHEST_FIRST, builder);
}

static void build_swing(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with(request, RONDE_SWING, builder);
}

static struct ronde_cut cut_of(const struct ronde_compile_request *request)
{
    return (struct ronde_cut){.channels = ronde_compile_request_channels(request),
                              .chunks = 1,
                              .widest = scratch_blocks(request->ranks)};
}

/** `hands_over`: a message more, of one block. */
static struct ronde_price price_with(const struct ronde_compile_request *request,
                                     const struct ronde_load *load,
                                     const struct ronde_network *network, bool hands_over)
{
    const struct ronde_fold fold = ronde_fold_of(request->ranks);
    const struct ronde_cut cut = cut_of(request);
    const struct ronde_lane_shape swap = {.steps = 1, .reducing = 1, .messages = 1};
    const struct ronde_lane_shape give = {.steps = 2, .messages = 1};
    struct ronde_fold_work work = {.apart = ronde_fold_apart(fold)};
    if (request->ranks == 1)
        ronde_work_add(&work.rounds, 1, (struct ronde_lane_shape){.steps = 1});
    /* The first members stand for two, so their blocks are the most. */
    for (uint32_t width = fold.members / 2; width > 0; width /= 2)
        ronde_work_add(&work.rounds, ronde_fold_first(fold, width), swap);
    if (hands_over)
        ronde_work_add(&work.rounds, 1, give);
    if (fold.extras == 0)
        return ronde_work_price(load, network, cut, &work.rounds);
    ronde_work_add(&work.hand_in, request->ranks, swap);
    ronde_work_add(&work.hand_out, 1, give);
    struct ronde_price price = ronde_fold_price(load, network, cut, &work);
    price.is_exact = false;
    return price;
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return price_with(request, load, network, false);
}

/** From four ranks on some have another's block. */
static struct ronde_price price_swing(const struct ronde_compile_request *request,
                                      const struct ronde_load *load,
                                      const struct ronde_network *network)
{
    const bool hands_over = request->ranks > 2;
    struct ronde_price swing = price_with(request, load, network, hands_over);
    swing.is_exact =
        swing.is_exact && (!hands_over || ronde_cut_load(load, cut_of(request)).count <= 1);
    return swing;
}

/** Powers of two, in an order that turns no blocks. */
static enum ronde_status supports_swing(const struct ronde_compile_request *request,
                                        struct ronde_error *why_not)
{
    RONDE_TRY(ronde_butterfly_supports_trees(request, why_not));
    return supports(request, why_not);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const struct ronde_fold fold = ronde_fold_of(ranks);
    return ronde_counts_fold(fold, ronde_fold_rounds(fold), fold.extras > 0 ? ranks : ranks - 1);
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 1) && ronde_is_power_of_two(load->ranks);
}

/** Of a few pieces the ranks with their own block, which have a message less, are sometimes ahead. */
static bool is_exact_swing(const struct ronde_price_case *load)
{
    return is_exact(load) && (load->ranks <= 2 || load->pieces <= 1);
}

const struct ronde_algorithm ronde_algorithm_reduce_scatter_recursive_halving = {
    .collective = RONDE_REDUCE_SCATTER,
    .name = "recursive_halving",
    .summary = "halves the blocks to one's own; least data in log2 N messages",
    .supports = supports,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "the least for N = P; on 12 the partner takes in another rank's 12 blocks",
    .why_approximate = "N no power of two: no chain of messages is the longest in every round",
};

const struct ronde_algorithm ronde_algorithm_reduce_scatter_recursive_halving_swing = {
    .collective = RONDE_REDUCE_SCATTER,
    .name = "recursive_halving_swing",
    .summary = "the same between the partners of Swing, and a block to its owner; powers of two",
    .supports = supports_swing,
    .grid = RONDE_GRID_TORUS,
    .build = build_swing,
    .price = price_swing,
    .source = "De Sensi et al. 2024 (Swing), 2025 (Bine trees)",
    .counts = ronde_butterfly_counts_owned,
    .is_exact = is_exact_swing,
    .why_more = "a rank sends the sum of another one's block on to it",
    .why_approximate =
        "several pieces: a rank whose own block comes out has a message less, and is ahead",
};
