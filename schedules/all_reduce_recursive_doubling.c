/**
 * all_reduce, recursive doubling.
 *
 * In round i the positions whose numbers differ in bit i swap their whole sums and add them up, so that after log2 N
 * rounds each has the whole sum. It has the fewest latencies of all, and sends the whole block every time. Where N is
 * no power of two it is folded to one first (fold.h), which costs two messages more in a row.
 *
 *   round 0    0 <-> 1    2 <-> 3
 *   round 1    0 <-> 2    1 <-> 3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; d = floor(log2 N)):
 *   T = L + sum over p of s(b_p) + d (f(b_p) + a + r(b_p))
 * One lane does everything, so pieces do not overlap. Exact for equal chunks, else an upper bound.
 * Where N is folded, f + a + r to fold in and f + a + s to fold out are added where a chain has them: see
 * ronde_fold_price; for one piece or where more than half of the members stand for two exact, else an upper bound.
 *
 * `recursive_doubling_swing` is the same between the partners of butterfly.h's third order, the farthest first, which on a
 * ring or a torus (`--shape`) are nearer; from the nearest on, as Swing has it, ranks would add different pairs.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * recursive doubling of allreduce. All ranks add the same pairs of partial sums, so all get the
 * same bits.
 */
#include "butterfly.h"
#include "claims.h"

/** Where a member's sum is when a round begins: without an extra, at first in its input. */
static struct ronde_operand sum_of(const struct ronde_butterfly *butterfly, uint32_t member,
                                   uint32_t round)
{
    const bool is_input = round + 1 == butterfly->rounds && member >= butterfly->fold.extras;
    return ronde_chunks(is_input ? RONDE_IN : RONDE_OUT, 0, 1);
}

static void hand_in(struct ronde_fold fold, struct ronde_builder *builder)
{
    for (uint32_t extra = 0; extra < fold.extras; extra++) {
        ronde_builder_reduction(builder, 2 * extra, 2 * extra + 1, ronde_chunks(RONDE_IN, 0, 1),
                                ronde_chunks(RONDE_IN, 0, 1), ronde_chunks(RONDE_OUT, 0, 1));
    }
}

static void swap_sums(const struct ronde_butterfly *butterfly, uint32_t round,
                      struct ronde_builder *builder)
{
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < ronde_butterfly_speakers(butterfly); member++) {
        const uint32_t partner = ronde_butterfly_partner(butterfly, member, round);
        ronde_builder_reduction(builder, ronde_butterfly_position(butterfly, member),
                                ronde_butterfly_position(butterfly, partner),
                                sum_of(butterfly, member, round), sum_of(butterfly, partner, round),
                                ronde_chunks(RONDE_OUT, 0, 1));
    }
    ronde_builder_round_end(builder);
}

static void hand_out(struct ronde_fold fold, struct ronde_builder *builder)
{
    for (uint32_t extra = 0; extra < fold.extras; extra++) {
        ronde_builder_message(builder, 2 * extra + 1, 2 * extra, 0, ronde_chunks(RONDE_OUT, 0, 1),
                              ronde_chunks(RONDE_OUT, 0, 1));
    }
}

static void build_with(const struct ronde_compile_request *request,
                       enum ronde_butterfly_order order, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, order);
    if (ronde_butterfly_speakers(&butterfly) == 1 && request->ranks > 1)
        ronde_builder_xor(builder, false, false, false);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    hand_in(butterfly.fold, builder);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        swap_sums(&butterfly, round, builder);
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

static struct ronde_price price_with(const struct ronde_compile_request *request,
                                     const struct ronde_load *load,
                                     const struct ronde_network *network, uint32_t apart)
{
    const uint32_t rounds = ronde_log2_floor(request->ranks);
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    const struct ronde_lane_shape swaps = {.steps = 1, .reducing = rounds, .messages = rounds};
    if (ronde_is_power_of_two(request->ranks))
        return ronde_lane_price(load, network, cut, swaps);
    struct ronde_fold_work work = {.apart = apart};
    /* Folding in is fused with the first send, folding out with the last receive. */
    ronde_work_add(&work.rounds, 1, swaps);
    ronde_work_add(&work.hand_in, 1, (struct ronde_lane_shape){.reducing = 1, .messages = 1});
    ronde_work_add(&work.hand_out, 1, (struct ronde_lane_shape){.steps = 1, .messages = 1});
    return ronde_fold_price(load, network, cut, &work);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const struct ronde_fold fold = ronde_fold_of(request->ranks);
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    struct ronde_price price = price_with(request, load, network, ronde_fold_apart(fold));
    const bool is_one_piece = ronde_cut_load(load, cut).count <= 1;
    price.is_exact =
        price.is_exact && (is_one_piece || fold.extras == 0 || 2 * fold.extras > fold.members);
    return price;
}

static struct ronde_price price_swing(const struct ronde_compile_request *request,
                                      const struct ronde_load *load,
                                      const struct ronde_network *network)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, RONDE_SWING);
    struct ronde_price price = price_with(request, load, network, ronde_butterfly_apart(&butterfly));
    price.is_exact = price.is_exact && butterfly.fold.extras == 0;
    return price;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const struct ronde_fold fold = ronde_fold_of(ranks);
    const uint32_t rounds = ronde_fold_rounds(fold);
    return ronde_counts_fold(fold, rounds, rounds + (fold.extras > 0));
}

static bool is_exact(const struct ronde_price_case *load)
{
    const struct ronde_fold fold = ronde_fold_of(load->ranks);
    const bool is_folded_in_part = fold.extras > 0 && 2 * fold.extras <= fold.members;
    return ronde_flows_fit(load, 1) && (load->pieces <= 1 || !is_folded_in_part);
}

static bool is_exact_swing(const struct ronde_price_case *load)
{
    return is_exact(load) && ronde_is_power_of_two(load->ranks);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_recursive_doubling = {
    .collective = RONDE_ALL_REDUCE,
    .name = "recursive_doubling",
    .summary = "pairs swap whole sums in log2 N rounds; best for the smallest blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .shares_ports = ronde_fold_shares_ports,
    .why_more =
        "the whole block in each of floor(log2 N) rounds, and one round more of surplus ranks",
    .why_approximate =
        "N no power of two and several pieces: whether a chain of messages starts and ends at a "
        "surplus rank and crosses every round depends on which ranks pair up",
};

const struct ronde_algorithm ronde_algorithm_all_reduce_recursive_doubling_swing = {
    .collective = RONDE_ALL_REDUCE,
    .name = "recursive_doubling_swing",
    .summary = "the same between the partners of Swing: less distance on a ring or a torus",
    .supports = ronde_butterfly_supports,
    .grid = RONDE_GRID_TORUS,
    .build = build_swing,
    .price = price_swing,
    .source = "De Sensi et al. 2024 (Swing), 2025 (Bine trees)",
    .counts = counts_of,
    .is_exact = is_exact_swing,
    .shares_ports = ronde_fold_shares_ports,
    .why_more =
        "the whole block in each of floor(log2 N) rounds, and one round more of surplus ranks",
    .why_approximate = "N no power of two: whether a chain of messages starts and ends at a "
                       "surplus rank and crosses "
                       "every round depends on which ranks pair up",
};
