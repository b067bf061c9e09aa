/* What the counts of algorithms have in common. See claims.h. */
#include "claims.h"

struct ronde_algorithm_counts ronde_counts_rounds(uint32_t ranks, uint32_t rounds, uint64_t sent)
{
    return (struct ronde_algorithm_counts){.messages = (uint64_t)ranks * rounds,
                                           .sent_chunks = sent,
                                           .critical_path = rounds,
                                           .min_depth = 1};
}

struct ronde_algorithm_counts ronde_counts_passes(uint32_t ranks, uint32_t messages)
{
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, messages, messages);
    counts.min_depth = messages > 1 ? 2 : 1;
    return counts;
}

struct ronde_algorithm_counts ronde_counts_ring(uint32_t ranks)
{
    return ronde_counts_passes(ranks, ranks - 1);
}

static struct ronde_algorithm_counts all_pairs(uint32_t ranks, uint32_t phases)
{
    const uint32_t messages = phases * (ranks - 1);
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, messages, messages);
    counts.critical_path = ranks > 1 ? phases : 0;
    return counts;
}

struct ronde_algorithm_counts ronde_counts_all_pairs(uint32_t ranks)
{
    return all_pairs(ranks, 1);
}

struct ronde_algorithm_counts ronde_counts_all_pairs_twice(uint32_t ranks)
{
    return all_pairs(ranks, 2);
}

struct ronde_algorithm_counts ronde_counts_pairs_of_nodes(uint32_t ranks, uint32_t times)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    struct ronde_algorithm_counts counts =
        ronde_counts_rounds(ranks, times * (local - 1 + nodes - 1), times * (ranks - 1));
    counts.critical_path = times * ((local > 1 ? 1u : 0u) + (nodes > 1 ? 1u : 0u));
    return counts;
}

struct ronde_algorithm_counts ronde_counts_one_way(uint32_t ranks, uint64_t sent, uint32_t path)
{
    return (struct ronde_algorithm_counts){.messages = ranks - 1,
                                           .sent_chunks = ranks > 1 ? sent : 0,
                                           .critical_path = path,
                                           .min_depth = 1};
}

struct ronde_algorithm_counts ronde_counts_binary_tree(uint32_t ranks)
{
    return (struct ronde_algorithm_counts){.messages = 2 * (uint64_t)(ranks - 1),
                                           .sent_chunks = ranks > 3 ? 3 : ranks - 1,
                                           .critical_path = 2 * ronde_log2_ceil(ranks),
                                           .min_depth = 1};
}

uint32_t ronde_fold_rounds(struct ronde_fold fold)
{
    return ronde_log2_floor(fold.members);
}

/*
 * A chain of swaps that change one bit each, with folding in before and out after: one that has
 * both needs two members with extras that differ in every bit.
 */
struct ronde_algorithm_counts ronde_counts_fold(struct ronde_fold fold, uint32_t rounds,
                                                uint64_t sent)
{
    const uint32_t folds = fold.extras == 0 ? 0 : 1 + (2 * fold.extras > fold.members);
    return (struct ronde_algorithm_counts){
        .messages = (uint64_t)fold.members * rounds + 2 * fold.extras,
        .sent_chunks = sent,
        .critical_path = rounds + folds,
        .min_depth = 1,
    };
}

bool ronde_fold_shares_ports(const struct ronde_price_case *load)
{
    return !ronde_is_power_of_two(load->ranks);
}

uint32_t ronde_counts_local(uint32_t ranks)
{
    uint32_t local = 1;
    for (uint32_t divisor = 2; divisor <= 8; divisor++)
        local = ranks % divisor == 0 ? divisor : local;
    return local;
}
