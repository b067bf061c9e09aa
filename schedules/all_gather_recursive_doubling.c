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
 * `recursive_doubling_swing` doubles between the partners of butterfly.h's third order, farthest first, which on a ring or a
 * torus is the least distance for the largest messages. So that they are blocks side by side, every rank begins with the
 * block of another one, which sends it: a message of one block more from N = 4 on. N is a power of two.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * recursive doubling of allgather. There N that are no powers of two take extra messages inside the
 * rounds; we fold as for allreduce. D. De Sensi et al., "Bine trees: enhancing collective operations by optimizing
 * communication locality", SC 2025 (blocks in their order, sent before).
 */
#include "butterfly.h"
#include "claims.h"

/** Lane of the local copies, so that no message waits for them. */
enum { DOUBLING_LANE, COPY_LANE };

/** What a member has before it swaps; its own block it need not have copied. */
static struct ronde_operand blocks_of(struct ronde_operand blocks, bool is_own)
{
    return blocks.count == 1 && is_own ? ronde_chunks(RONDE_IN, 0, 1) : blocks;
}

static void swap_blocks(const struct ronde_butterfly *butterfly, uint32_t round,
                        struct ronde_builder *builder)
{
    const uint32_t width = ronde_butterfly_width(butterfly, round);
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < ronde_butterfly_speakers(butterfly); member++) {
        const uint32_t first = ronde_butterfly_kept(butterfly, member, width);
        const uint32_t partner = ronde_butterfly_partner(butterfly, member, round);
        const struct ronde_operand blocks =
            ronde_fold_blocks(butterfly->fold, RONDE_OUT, first, width);
        const struct ronde_transfer transfer = {
            .from = ronde_butterfly_position(butterfly, member),
            .to = ronde_butterfly_position(butterfly, partner),
            .from_lane = DOUBLING_LANE,
            .to_lane = DOUBLING_LANE,
            .source = blocks_of(blocks, first == member),
            .target = blocks,
            /* What was handed over is not sent on in the step that receives it. */
            .is_apart = width == 1 && first != member,
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
        ronde_builder_message(builder, 2 * extra + is_out, 2 * extra + !is_out, DOUBLING_LANE,
                              is_out ? rest : ronde_chunks(RONDE_IN, 0, 1),
                              is_out ? rest : ronde_chunks(RONDE_OUT, 2 * extra, 1));
    }
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, RONDE_FARTHEST_FIRST);
    const struct ronde_fold fold = butterfly.fold;
    if (fold.extras == 0)
        ronde_builder_xor(builder, false, true, false);
    const uint32_t speakers = fold.extras > 0 ? request->ranks : 1;
    for (uint32_t position = 0; position < speakers; position++)
        ronde_builder_copy(builder, position, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, position, 1));
    fold_blocks(fold, false, builder);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        swap_blocks(&butterfly, round, builder);
    fold_blocks(fold, true, builder);
}

/** Every rank sends its block to the member whose chunk it is; a copy where that is itself. */
static void hand_over(const struct ronde_butterfly *butterfly, struct ronde_builder *builder)
{
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    ronde_builder_round_begin(builder);
    for (uint32_t member = 0; member < butterfly->fold.members; member++) {
        const uint32_t owner = ronde_butterfly_chunk(butterfly, member);
        if (owner != member)
            ronde_builder_message(builder, owner, member, DOUBLING_LANE, own,
                                  ronde_chunks(RONDE_OUT, owner, 1));
        else
            ronde_builder_copy(builder, member, COPY_LANE, own, ronde_chunks(RONDE_OUT, member, 1));
    }
    ronde_builder_round_end(builder);
}

static void build_swing(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, RONDE_SWING);
    hand_over(&butterfly, builder);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        swap_blocks(&butterfly, round, builder);
}

static struct ronde_cut cut_of(const struct ronde_compile_request *request)
{
    const uint32_t n = request->ranks;
    return (struct ronde_cut){.channels = ronde_compile_request_channels(request),
                              .chunks = 1,
                              .widest = ronde_is_power_of_two(n) ? n / 2 : n - 1};
}

/** `hands_over`: a message more, of one block. */
static struct ronde_price price_with(const struct ronde_compile_request *request,
                                     const struct ronde_load *load,
                                     const struct ronde_network *network, bool hands_over)
{
    const uint32_t n = request->ranks;
    const struct ronde_fold fold = ronde_fold_of(n);
    const struct ronde_cut cut = cut_of(request);
    const struct ronde_lane_shape give = {.steps = 2, .messages = 1};
    struct ronde_fold_work work = {.apart = ronde_fold_apart(fold)};
    if (n == 1)
        ronde_work_add(&work.rounds, 1, (struct ronde_lane_shape){.steps = 1});
    if (hands_over)
        ronde_work_add(&work.rounds, 1, give);
    /* The first members stand for two, so their blocks are the most. */
    for (uint32_t width = 1; width < fold.members; width *= 2)
        ronde_work_add(&work.rounds, ronde_fold_first(fold, width), give);
    if (fold.extras == 0)
        return ronde_work_price(load, network, cut, &work.rounds);
    ronde_work_add(&work.hand_in, 1, give);
    ronde_work_add(&work.hand_out, n - 1, give);
    struct ronde_price price = ronde_fold_price(load, network, cut, &work);
    price.is_exact = false;
    return price;
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return price_with(request, load, network, false);
}

/** From four ranks on some begin with another's block. */
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

/** Of a few pieces the ranks with their own block, which have a message less, are sometimes ahead. */
static bool is_exact_swing(const struct ronde_price_case *load)
{
    return is_exact(load) && (load->ranks <= 2 || load->pieces <= 1);
}

/** A rank that begins with its own block is ahead of the others, and its messages meet theirs. */
static bool shares_ports_swing(const struct ronde_price_case *load)
{
    return load->ranks > 2;
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

const struct ronde_algorithm ronde_algorithm_all_gather_recursive_doubling_swing = {
    .collective = RONDE_ALL_GATHER,
    .name = "recursive_doubling_swing",
    .summary = "the same between the partners of Swing, after a block to its place; powers of two",
    .supports = ronde_butterfly_supports_trees,
    .grid = RONDE_GRID_TORUS,
    .build = build_swing,
    .price = price_swing,
    .source = "De Sensi et al. 2024 (Swing), 2025 (Bine trees)",
    .counts = ronde_butterfly_counts_owned,
    .is_exact = is_exact_swing,
    .shares_ports = shares_ports_swing,
    .why_more = "every rank receives another one's block to begin with, and its own again",
    .why_approximate =
        "several pieces: a rank whose own block comes out has a message less, and is ahead",
};
