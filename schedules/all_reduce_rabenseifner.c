/**
 * all_reduce, Rabenseifner's algorithm.
 *
 * Recursive halving: positions whose numbers differ in the highest bit swap the half of the block
 * that the other one shall keep and add up their own, then the next bit halves that half, until
 * each owns the sum of one chunk. Recursive doubling takes the same way back and gathers them. It
 * sends as little as the ring in 2 log2 N messages, so it is good for large blocks on networks where distance costs
 * little. Where N is no power of two it is folded to one first (fold.h).
 *
 *   round 0    0 -> 2: c2 c3    2 -> 0: c0 c1    1 -> 3: c2 c3    3 -> 1: c0 c1     add
 *   round 1    0 -> 1: c1       1 -> 0: c0       2 -> 3: c3       3 -> 2: c2        add
 *   round 2    0 -> 1: c0       1 -> 0: c1       2 -> 3: c2       3 -> 2: c3        keep
 *   round 3    0 -> 2: c0 c1    2 -> 0: c2 c3    1 -> 3: c0 c1    3 -> 1: c2 c3     keep
 *
 * Price (symbols in closed_form.h; M members, the largest power of two up to N; a chunk is 1/(C M)
 * of the block, rounded up to 16 bytes; w runs over M/2, M/4, .. 1, the chunks of a message):
 *   T = L + sum over p, w of 3 s(w b_p) + r(w b_p) + 2 (f(w b_p) + a)
 * The sum of the last round of halving is kept before it is sent back: both partners would else wait in
 * one step for the other's slot, and connections need two slots for it. Where N is folded, s + f + a + r of M b_p to
 * fold in and s + f + a + s to fold out are added to every piece. Exact for equal chunks, else an upper bound. N = 1: L
 * + sum of s(b_p).
 *
 * `rabenseifner_nearest` is the same between other positions: members are numbered by the reversed bits of their place, so
 * that neighbours swap the largest messages and the farthest the smallest, as in MPICH's and Open MPI's. `swing` is the same
 * between the partners of butterfly.h's third order, which on a ring or a torus (`--shape`) are nearer still: Swing of one
 * port, and the all_reduce that the authors of Bine trees take for large blocks. Chunks stay contiguous; exclusive or no
 * longer carries one program to the others.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * Rabenseifner's algorithm of allreduce; first in R. Rabenseifner, "Optimization of collective reduction
 * operations", ICCS 2004, LNCS 3036, pages 1-9. MPICH halves from the lowest bit; we go from the
 * highest as the paper does, so that chunks stay in order.
 */
#include "butterfly.h"
#include "claims.h"

/** Whether a member's first data are its own input: it stands for itself alone. */
static bool is_alone(const struct ronde_butterfly *butterfly, uint32_t member)
{
    return member >= butterfly->fold.extras;
}

/** Halves: partners swap what the other one keeps. */
static void halve(const struct ronde_butterfly *butterfly, uint32_t round,
                  struct ronde_builder *builder)
{
    const uint32_t width = ronde_butterfly_width(butterfly, round);
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < ronde_butterfly_speakers(butterfly); member++) {
        const uint32_t partner = ronde_butterfly_partner(butterfly, member, round);
        const uint32_t first = ronde_butterfly_kept(butterfly, partner, width);
        const bool is_input = round == 0 && is_alone(butterfly, member);
        const bool is_partners_input = round == 0 && is_alone(butterfly, partner);
        ronde_builder_reduction(builder, ronde_butterfly_position(butterfly, member),
                                ronde_butterfly_position(butterfly, partner),
                                ronde_chunks(is_input ? RONDE_IN : RONDE_OUT, first, width),
                                ronde_chunks(is_partners_input ? RONDE_IN : RONDE_OUT, first, width),
                                ronde_chunks(RONDE_OUT, first, width));
    }
    ronde_builder_round_end(builder);
}

/** Doubles: partners swap all they have. */
static void double_up(const struct ronde_butterfly *butterfly, uint32_t round,
                      struct ronde_builder *builder)
{
    const uint32_t width = ronde_butterfly_width(butterfly, round);
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < ronde_butterfly_speakers(butterfly); member++) {
        const struct ronde_operand chunks =
            ronde_chunks(RONDE_OUT, ronde_butterfly_kept(butterfly, member, width), width);
        const struct ronde_transfer transfer = {
            .from = ronde_butterfly_position(butterfly, member),
            .to = ronde_butterfly_position(butterfly,
                                           ronde_butterfly_partner(butterfly, member, round)),
            .source = chunks,
            .target = chunks,
            .is_apart = width == 1,
        };
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_round_end(builder);
}

static void fold_whole_blocks(struct ronde_fold fold, bool is_out, struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, fold.members);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, fold.members);
    for (uint32_t extra = 0; extra < fold.extras; extra++) {
        const struct ronde_transfer transfer = {
            .from = 2 * extra + is_out,
            .to = 2 * extra + !is_out,
            .source = is_out ? output : input,
            .with = input,
            .target = output,
            .reduces = !is_out,
        };
        ronde_builder_transfer(builder, &transfer);
    }
}

static void build_with(const struct ronde_compile_request *request,
                       enum ronde_butterfly_order order, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, order);
    const struct ronde_fold fold = butterfly.fold;
    ronde_builder_chunks(builder, fold.members);
    if (ronde_butterfly_speakers(&butterfly) == 1 && request->ranks > 1)
        ronde_builder_xor(builder, true, true, false);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    fold_whole_blocks(fold, false, builder);
    for (uint32_t round = 0; round < butterfly.rounds; round++)
        halve(&butterfly, round, builder);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        double_up(&butterfly, round, builder);
    fold_whole_blocks(fold, true, builder);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with(request, RONDE_FARTHEST_FIRST, builder);
}

static void build_nearest(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with(request, RONDE_NEAREST_FIRST, builder);
}

static void build_swing(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with(request, RONDE_SWING, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const struct ronde_fold fold = ronde_fold_of(request->ranks);
    const struct ronde_cut cut = ronde_fold_cut(fold, request);
    struct ronde_lane_work work = {0};
    if (fold.extras > 0)
        ronde_work_add(&work, fold.members,
                       (struct ronde_lane_shape){.steps = 3, .reducing = 1, .messages = 2});
    for (uint32_t width = fold.members / 2; width > 0; width /= 2)
        ronde_work_add(&work, width,
                       (struct ronde_lane_shape){.steps = 3, .reducing = 1, .messages = 2});
    if (request->ranks == 1)
        ronde_work_add(&work, 1, (struct ronde_lane_shape){.steps = 1});
    return ronde_work_price(load, network, cut, &work);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const struct ronde_fold fold = ronde_fold_of(ranks);
    const uint32_t rounds = 2 * ronde_fold_rounds(fold);
    struct ronde_algorithm_counts counts =
        ronde_counts_fold(fold, rounds,
                          2 * (fold.members - 1) + (fold.extras > 0 ? fold.members : 0));
    counts.critical_path = rounds + (fold.extras > 0 ? 2 : 0);
    return counts;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_rabenseifner = {
    .collective = RONDE_ALL_REDUCE,
    .name = "rabenseifner",
    .summary =
        "halves the block to one chunk each, doubles it back; least data in 2 log2 N messages",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .shares_ports = ronde_fold_shares_ports,
    .why_more = "2 (P-1)/P blocks, the least, for N = P; a block more otherwise (2.75 on 12), and "
                "the messages there and back",
};

const struct ronde_algorithm ronde_algorithm_all_reduce_rabenseifner_nearest = {
    .collective = RONDE_ALL_REDUCE,
    .name = "rabenseifner_nearest",
    .summary = "the same, nearest ranks first: MPICH's and Open MPI's; the largest messages go the "
               "shortest way",
    .supports = ronde_butterfly_supports,
    .build = build_nearest,
    .price = price,
    .source = "Rabenseifner 2004; MPICH",
    .counts = counts_of,
    .shares_ports = ronde_fold_shares_ports,
    .why_more = "2 (P-1)/P blocks, the least, for N = P; a block more otherwise (2.75 on 12), and "
                "the messages there and back",
};

const struct ronde_algorithm ronde_algorithm_all_reduce_rabenseifner_swing = {
    .collective = RONDE_ALL_REDUCE,
    .name = "rabenseifner_swing",
    .summary = "the same between the partners of Swing: the least distance on a ring or a torus",
    .supports = ronde_butterfly_supports,
    .grid = RONDE_GRID_TORUS,
    .build = build_swing,
    .price = price,
    .source = "De Sensi et al. 2024 (Swing), 2025 (Bine trees)",
    .counts = counts_of,
    .shares_ports = ronde_fold_shares_ports,
    .why_more = "2 (P-1)/P blocks, the least, for N = P; a block more otherwise (2.75 on 12), and "
                "the messages there and back",
};
