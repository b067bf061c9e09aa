/** Which positions pair up where the ranks are no power of two. */
#include "fold.h"

struct ronde_fold ronde_fold_of(uint32_t ranks)
{
    const uint32_t members = 1u << ronde_log2_floor(ranks);
    return (struct ronde_fold){.members = members, .extras = ranks - members};
}

uint32_t ronde_fold_position(struct ronde_fold fold, uint32_t member)
{
    return member < fold.extras ? 2 * member + 1 : member + fold.extras;
}

uint32_t ronde_fold_first(struct ronde_fold fold, uint32_t member)
{
    return member < fold.extras ? 2 * member : member + fold.extras;
}

struct ronde_operand ronde_fold_blocks(struct ronde_fold fold, enum ronde_buffer buffer,
                                       uint32_t first, uint32_t count)
{
    const uint32_t block = ronde_fold_first(fold, first);
    return ronde_chunks(buffer, block, ronde_fold_first(fold, first + count) - block);
}

uint32_t ronde_fold_speakers(struct ronde_fold fold)
{
    return fold.extras > 0 ? fold.members : 1;
}

uint32_t ronde_fold_apart(struct ronde_fold fold)
{
    return fold.extras == 0 ? 0 : ronde_log2_floor(fold.members) - ronde_log2_ceil(fold.extras);
}

/** What a piece takes in a fold. */
struct times {
    double first_ns;  /**< alone */
    double period_ns; /**< behind another */
};

static struct times times_of(const struct ronde_network *network, const struct ronde_fold_work *work,
                             const struct ronde_pieces *pieces, bool is_last, uint32_t flows)
{
    const double rounds_ns = ronde_work_ns(&work->rounds, network, pieces, is_last, flows);
    const double in_ns = ronde_work_ns(&work->hand_in, network, pieces, is_last, flows);
    const double out_ns = ronde_work_ns(&work->hand_out, network, pieces, is_last, flows);
    const double both_ns =
        in_ns + rounds_ns + out_ns - work->apart * ronde_network_alpha_ns(network);
    return (struct times){
        .first_ns = ronde_longer_ns(rounds_ns + ronde_longer_ns(in_ns, out_ns), both_ns),
        .period_ns = ronde_longer_ns(both_ns, rounds_ns + (in_ns + out_ns) / 2),
    };
}

struct ronde_price ronde_fold_price(const struct ronde_load *load,
                                    const struct ronde_network *network, struct ronde_cut cut,
                                    const struct ronde_fold_work *work)
{
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    struct ronde_price price = {.is_exact = true};
    if (pieces.count == 0)
        return price;
    const struct times full = times_of(network, work, &pieces, false, cut.channels);
    const struct times last = times_of(network, work, &pieces, true, cut.channels);
    price.time_ns = network->time.launch_ns +
                    (pieces.count == 1 ? last.first_ns
                                       : full.first_ns + last.period_ns +
                                             (double)(pieces.count - 2) * full.period_ns);
    price.is_exact = pieces.is_even && ronde_is_unshared(network, pieces.bytes, cut.channels);
    return price;
}

struct ronde_cut ronde_fold_cut(struct ronde_fold fold, const struct ronde_compile_request *request)
{
    return (struct ronde_cut){
        .channels = ronde_compile_request_channels(request),
        .chunks = fold.members,
        .widest = fold.extras > 0 ? fold.members : fold.members / 2,
    };
}
