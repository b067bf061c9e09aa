/**
 * reduce, Rabenseifner's algorithm.
 *
 * Recursive halving: positions whose numbers differ in the highest bit swap the half of the block
 * that the other one shall keep and add up their own, then the next bit halves that half, until
 * each owns the sum of one chunk. A binomial tree gathers the chunks at the root. It sends about
 * the block twice in 2 log2 N messages and adds as little as possible, so it is good for large
 * blocks.
 *
 *   round 0    0 -> 2: c2 c3    2 -> 0: c0 c1    1 -> 3: c2 c3    3 -> 1: c0 c1     add
 *   round 1    0 -> 1: c1       1 -> 0: c0       2 -> 3: c3       3 -> 2: c2        add
 *   gather     1 -> 0: c1       3 -> 2: c3       then 2 -> 0: c2 c3
 *
 * Where N is no power of two, the first 2(N-M) positions pair up before: the odd one sends its block to the even one
 * and is done; M members, the largest power of two below N, are left.
 *
 * Price (symbols in closed_form.h; a chunk is 1/(C M) of the block, rounded up to 16 bytes; w runs
 * over M/2, M/4, .. 1):
 *   T = L + sum over p, w of [s(w b_p) + f(w b_p) + a + r(w b_p)] + [s + f + a + s of w b_p] - s(b_p)
 * and where N is folded, r(M b_p) in every piece and s + f + a of M b once: while the members work on a piece, the next
 * one is folded in. One step adds the last chunk and sends it on, hence - s; with one slot (D = 1) it waits r(b_p) for
 * its partner to do so. Exact for equal chunks; with one slot from the second piece on an upper bound. N = 1: L + sum
 * over p of s(b_p).
 *
 * `rabenseifner_swing` is the same between the partners of butterfly.h's third order, nearest first.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, section 4.5, Rabenseifner's algorithm of reduce.
 */
#include "butterfly.h"
#include "claims.h"

/** Position of a member. Unlike fold.h's, the even one of a pair stays: the root is one of them. */
static uint32_t position_of(struct ronde_fold fold, uint32_t member)
{
    return member < fold.extras ? 2 * member : member + fold.extras;
}

/** Where a member keeps its sums: only the root has an output. */
static enum ronde_buffer sums_of(uint32_t member)
{
    return member == 0 ? RONDE_OUT : RONDE_SCRATCH;
}

static void fold_blocks(struct ronde_fold fold, struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, fold.members);
    for (uint32_t member = 0; member < fold.extras; member++) {
        ronde_builder_reduction(builder, position_of(fold, member) + 1, position_of(fold, member),
                                input, input, ronde_chunks(sums_of(member), 0, fold.members));
    }
}

/** What a member has of some chunks when halving has come to `width`: input, or sums. */
static struct ronde_operand held_by(struct ronde_fold fold, uint32_t member, uint32_t first,
                                    uint32_t width)
{
    const bool is_input = width == fold.members / 2 && member >= fold.extras;
    return ronde_chunks(is_input ? RONDE_IN : sums_of(member), first, width);
}

/** Halves: partners swap what the other one keeps. */
static void halve(const struct ronde_butterfly *butterfly, uint32_t round,
                  struct ronde_builder *builder)
{
    const struct ronde_fold fold = butterfly->fold;
    const uint32_t width = ronde_butterfly_width(butterfly, round);
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < fold.members; member++) {
        const uint32_t partner = ronde_butterfly_partner(butterfly, member, round);
        const uint32_t first = ronde_butterfly_kept(butterfly, partner, width);
        ronde_builder_reduction(builder, position_of(fold, member), position_of(fold, partner),
                                held_by(fold, member, first, width),
                                held_by(fold, partner, first, width),
                                ronde_chunks(sums_of(partner), first, width));
    }
    ronde_builder_round_end(builder);
}

/** Members that the round brings into the tree from member 0 send back the chunks they have collected. */
static void gather(const struct ronde_butterfly *butterfly, uint32_t round,
                   struct ronde_builder *builder)
{
    const struct ronde_fold fold = butterfly->fold;
    const uint32_t width = ronde_butterfly_width(butterfly, round);
    for (uint32_t child = 1; child < fold.members; child++) {
        const uint32_t parent = ronde_butterfly_partner(butterfly, child, round);
        const uint32_t first = ronde_butterfly_kept(butterfly, child, width);
        if (ronde_butterfly_joins(butterfly, child, false) == round)
            ronde_builder_message(builder, position_of(fold, child), position_of(fold, parent), 0,
                                  ronde_chunks(sums_of(child), first, width),
                                  ronde_chunks(sums_of(parent), first, width));
    }
}

static void build_with(const struct ronde_compile_request *request,
                       enum ronde_butterfly_order order, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, order);
    ronde_builder_chunks(builder, butterfly.fold.members);
    ronde_builder_scratch(builder, butterfly.fold.members);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    fold_blocks(butterfly.fold, builder);
    for (uint32_t round = 0; round < butterfly.rounds; round++)
        halve(&butterfly, round, builder);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        gather(&butterfly, round, builder);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with(request, RONDE_FARTHEST_FIRST, builder);
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
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_lane_shape fold_message = {.steps = 1, .messages = 1};
    struct ronde_lane_work fill = {0}, work = {0};
    if (fold.extras > 0) {
        ronde_work_add(&fill, fold.members, fold_message);
        ronde_work_add(&work, fold.members, (struct ronde_lane_shape){.reducing = 1});
    }
    for (uint32_t width = fold.members / 2; width > 1; width /= 2)
        ronde_work_add(&work, width,
                       (struct ronde_lane_shape){.steps = 3, .reducing = 1, .messages = 2});
    /*
     * The turning point, or the copy of a lone rank. With a single slot, what is sent on waits
     * until the partner has received what it was sent before.
     */
    const uint32_t waits = pieces.depth == 1 ? 2 : 1;
    const struct ronde_lane_shape turn = {.steps = 2, .reducing = waits, .messages = 2};
    const struct ronde_lane_shape copy = {.steps = 1};
    ronde_work_add(&work, 1, request->ranks == 1 ? copy : turn);
    struct ronde_price price = ronde_work_price(load, network, cut, &work);
    if (pieces.count > 0)
        price.time_ns += ronde_work_ns(&fill, network, &pieces, pieces.count == 1, cut.channels);
    /* A root that folds alone delays its partner anyway; so does the next piece. */
    const bool waits_anyway = pieces.depth == 1 && (fold.extras == 1 || pieces.count > 1);
    price.is_exact = price.is_exact && (request->ranks <= 2 || !waits_anyway);
    return price;
}

/** Between swing's partners a folded one waits less where there is one slot. */
static struct ronde_price price_swing(const struct ronde_compile_request *request,
                                      const struct ronde_load *load,
                                      const struct ronde_network *network)
{
    const struct ronde_fold fold = ronde_fold_of(request->ranks);
    const uint32_t depth = ronde_cut_load(load, ronde_fold_cut(fold, request)).depth;
    struct ronde_price swing = price(request, load, network);
    swing.is_exact = swing.is_exact && (fold.extras == 0 || depth > 1);
    return swing;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const struct ronde_fold fold = ronde_fold_of(ranks);
    const uint32_t rounds = ronde_fold_rounds(fold);
    /* Halving, then a binomial gather, in which one half of the chunks goes in one message. */
    return (struct ronde_algorithm_counts){.messages = (uint64_t)fold.members * rounds +
                                                       fold.members - 1 + fold.extras,
                                           .sent_chunks = fold.members - 1 + fold.members / 2,
                                           .critical_path = 2 * rounds + (fold.extras > 0),
                                           .min_depth = 1};
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 1) && (load->ranks <= 2 || load->depth > 1);
}

const struct ronde_algorithm ronde_algorithm_reduce_rabenseifner = {
    .collective = RONDE_REDUCE,
    .name = "rabenseifner",
    .summary = "halves the block to one chunk each and gathers them; for large blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .shares_ports = ronde_fold_shares_ports,
    .why_more = "reduce_scatter, then gather at the root: the root receives 2 (P-1)/P blocks, and, "
                "where N is no power of two, the whole block of its partner",
    .why_approximate = "one slot, several pieces",
};

const struct ronde_algorithm ronde_algorithm_reduce_rabenseifner_swing = {
    .collective = RONDE_REDUCE,
    .name = "rabenseifner_swing",
    .summary = "the same between the partners of Swing: the least distance on a ring or a torus",
    .supports = ronde_butterfly_supports,
    .grid = RONDE_GRID_TORUS,
    .build = build_swing,
    .price = price_swing,
    .source = "De Sensi et al. 2024 (Swing), 2025 (Bine trees)",
    .counts = counts_of,
    .is_exact = is_exact,
    .shares_ports = ronde_fold_shares_ports,
    .why_more = "reduce_scatter, then gather at the root: the root receives 2 (P-1)/P blocks, and, "
                "where N is no power of two, the whole block of its partner",
    .why_approximate = "one slot, several pieces",
};
