/* The figures of all algorithms: formulas of the papers, where chains depend on N counted out. */
#include "figures.h"

#include <string.h>

uint32_t figures_log2_up(uint32_t n)
{
    uint32_t exponent = 0;
    while ((1u << exponent) < n)
        exponent++;
    return exponent;
}

/* The fold to a power of two: 2^bits members, `extras` ranks that hand in and get back. */
struct fold {
    uint32_t members;
    uint32_t bits;
    uint32_t extras;
};

static struct fold fold_of(uint32_t n)
{
    struct fold fold = {.members = 1};
    for (; 2 * fold.members <= n; fold.bits++)
        fold.members *= 2;
    fold.extras = n - fold.members;
    return fold;
}

/*
 * Longest chain of swaps that change one bit each, with handing in before and out after: a chain that
 * has both needs two members with extras that differ in every bit.
 */
static uint32_t folded_chain(struct fold fold)
{
    const uint32_t folds = fold.extras == 0 ? 0 : 1 + (2 * fold.extras > fold.members);
    return fold.bits + folds;
}

/* Everyone sends the same, one message after another. */
static struct figures lockstep(uint32_t n, uint32_t rounds, uint64_t sent, uint32_t min_depth)
{
    return (struct figures){.messages = (uint64_t)n * rounds,
                            .most_sent = sent,
                            .critical_path = rounds,
                            .min_depth = min_depth};
}

/* --- rings ---------------------------------------------------------------------------------- */

/* What is received is sent on in one step, so a ring of several messages needs two slots. */
static uint32_t ring_depth(uint32_t messages)
{
    return messages > 1 ? 2 : 1;
}

static struct figures ring_once(uint32_t n)
{
    return lockstep(n, n - 1, n - 1, ring_depth(n - 1));
}

static struct figures ring_twice(uint32_t n)
{
    return lockstep(n, 2 * (n - 1), 2 * (n - 1), ring_depth(2 * (n - 1)));
}

static uint32_t divisor_below(uint32_t n, uint32_t limit)
{
    uint32_t divisor = 1;
    for (uint32_t d = 1; d <= limit && d <= n; d++)
        divisor = n % d == 0 ? d : divisor;
    return divisor;
}

static struct figures torus(uint32_t n)
{
    uint32_t root = 1;
    while ((root + 1) * (root + 1) <= n)
        root++;
    const uint32_t rows = divisor_below(n, root);
    return lockstep(n, 2 * (rows - 1 + n / rows - 1), 2 * (n - 1), n > 1 ? 2 : 1);
}

static struct figures hierarchical_all_reduce(uint32_t n)
{
    const uint32_t local = divisor_below(n, 8), nodes = n / local;
    return lockstep(n, 2 * (local - 1 + nodes - 1), 2 * (n - 1), local > 2 || nodes > 1 ? 2 : 1);
}

static struct figures hierarchical_all_gather(uint32_t n)
{
    const uint32_t local = divisor_below(n, 8), nodes = n / local;
    return lockstep(n, local - 1 + nodes - 1, n - 1, local > 2 || nodes > 2 ? 2 : 1);
}

/* A direct phase is one message in a row; only the ring of nodes turns round in one step. */
static struct figures hierarchical_direct(uint32_t n)
{
    const uint32_t local = divisor_below(n, 8), nodes = n / local;
    struct figures figures =
        lockstep(n, 2 * (local - 1 + nodes - 1), 2 * (n - 1), nodes > 1 ? 2 : 1);
    figures.critical_path = (local > 1 ? 2 : 0) + 2 * (nodes - 1);
    return figures;
}

/* What one of two channels moves; an inner rank sends up once and down twice. */
static struct figures hierarchical_trees(uint32_t n, uint32_t phases_in_a_row, uint32_t min_depth)
{
    const uint32_t local = divisor_below(n, 8), nodes = n / local;
    return (struct figures){
        .messages = 2ull * (n * (local - 1) + local * (nodes - 1)),
        .most_sent = 2 * (local - 1) + (nodes > 3 ? 3 : nodes - 1),
        .critical_path = phases_in_a_row + 2 * figures_log2_up(nodes),
        .min_depth = min_depth,
    };
}

static struct figures hierarchical_tree(uint32_t n)
{
    const uint32_t local = divisor_below(n, 8);
    return n == local ? hierarchical_all_reduce(n)
                      : hierarchical_trees(n, 2 * (local - 1), local > 2 ? 2 : 1);
}

static struct figures hierarchical_direct_tree(uint32_t n)
{
    const uint32_t local = divisor_below(n, 8);
    return n == local ? hierarchical_direct(n) : hierarchical_trees(n, local > 1 ? 2 : 0, 1);
}

/* --- powers of two, and what is folded to them ---------------------------------------------- */

static struct figures doubling_all_reduce(uint32_t n)
{
    const struct fold fold = fold_of(n);
    return (struct figures){
        .messages = (uint64_t)fold.members * fold.bits + 2 * fold.extras,
        .most_sent = fold.bits + (fold.extras > 0),
        .critical_path = folded_chain(fold),
        .min_depth = 1,
    };
}

static struct figures rabenseifner_all_reduce(uint32_t n)
{
    const struct fold fold = fold_of(n);
    return (struct figures){
        .messages = (uint64_t)fold.members * 2 * fold.bits + 2 * fold.extras,
        .most_sent = 2 * (fold.members - 1) + (fold.extras > 0 ? fold.members : 0),
        .critical_path = 2 * fold.bits + (fold.extras > 0 ? 2 : 0),
        .min_depth = 1,
    };
}

static struct figures halving_reduce_scatter(uint32_t n)
{
    const struct fold fold = fold_of(n);
    return (struct figures){
        .messages = (uint64_t)fold.members * fold.bits + 2 * fold.extras,
        .most_sent = fold.extras > 0 ? n : n - 1,
        .critical_path = folded_chain(fold),
        .min_depth = 1,
    };
}

/* Member 0 stands among most extras: in round i its 2^i members have a block each and their extras'. */
static struct figures doubling_all_gather(uint32_t n)
{
    const struct fold fold = fold_of(n);
    uint64_t sent = fold.extras > 0 ? n - 1 : 0;
    for (uint32_t width = 1; width < fold.members; width *= 2)
        sent += width + (fold.extras < width ? fold.extras : width);
    return (struct figures){
        .messages = (uint64_t)fold.members * fold.bits + 2 * fold.extras,
        .most_sent = sent,
        .critical_path = folded_chain(fold),
        .min_depth = 1,
    };
}

static struct figures bruck_all_gather(uint32_t n)
{
    return lockstep(n, figures_log2_up(n), n - 1, 1);
}

/* --- all pairs ------------------------------------------------------------------------------ */

static struct figures direct_once(uint32_t n)
{
    struct figures figures = lockstep(n, n - 1, n - 1, 1);
    figures.critical_path = n > 1 ? 1 : 0;
    return figures;
}

static struct figures direct_twice(uint32_t n)
{
    struct figures figures = lockstep(n, 2 * (n - 1), 2 * (n - 1), 1);
    figures.critical_path = n > 1 ? 2 : 0;
    return figures;
}

/* --- trees ---------------------------------------------------------------------------------- */

static struct figures binary_tree(uint32_t n)
{
    return (struct figures){
        .messages = 2 * (n - 1),
        .most_sent = n > 3 ? 3 : n - 1,
        .critical_path = 2 * figures_log2_up(n),
        .min_depth = 1,
    };
}

/* Positions are as deep in a binomial tree as they have bits. */
static uint32_t binomial_depth(uint32_t n)
{
    uint32_t depth = 0;
    for (uint32_t p = 0; p < n; p++) {
        const uint32_t bits = (uint32_t)__builtin_popcount(p);
        depth = bits > depth ? bits : depth;
    }
    return depth;
}

static struct figures one_way(uint32_t n, uint64_t sent, uint32_t path)
{
    return (struct figures){.messages = n - 1,
                            .most_sent = n > 1 ? sent : 0,
                            .critical_path = path,
                            .min_depth = 1};
}

static struct figures binomial_broadcast(uint32_t n)
{
    return one_way(n, figures_log2_up(n), binomial_depth(n));
}

static struct figures binomial_reduce(uint32_t n)
{
    return one_way(n, 1, binomial_depth(n));
}

static struct figures binomial_scatter(uint32_t n)
{
    return one_way(n, n - 1, binomial_depth(n));
}

/* The largest subtree below the root: that of the highest power of two, or the full one before it. */
static struct figures binomial_gather(uint32_t n)
{
    uint32_t top = 1;
    while (2 * top < n)
        top *= 2;
    return one_way(n, n - top > top / 2 ? n - top : top / 2, binomial_depth(n));
}

static struct figures chain(uint32_t n)
{
    return one_way(n, 1, n - 1);
}

static struct figures double_tree_broadcast(uint32_t n)
{
    return one_way(n, n > 3 ? 2 : 1, figures_log2_up(n));
}

static struct figures double_tree_reduce(uint32_t n)
{
    return one_way(n, 1, figures_log2_up(n));
}

static struct figures root_to_all(uint32_t n)
{
    return one_way(n, n - 1, n > 1 ? 1 : 0);
}

static struct figures all_to_root(uint32_t n)
{
    return one_way(n, 1, n > 1 ? 1 : 0);
}

static struct figures barrier_tree(uint32_t n)
{
    struct figures figures = binary_tree(n);
    figures.most_sent = 0;
    return figures;
}

/* --- two phases ----------------------------------------------------------------------------- */

/* Halving as above, then a binomial gather, in which one half of the chunks goes in one message. */
static struct figures rabenseifner_reduce(uint32_t n)
{
    const struct fold fold = fold_of(n);
    return (struct figures){
        .messages = (uint64_t)fold.members * fold.bits + fold.members - 1 + fold.extras,
        .most_sent = fold.members - 1 + fold.members / 2,
        .critical_path = 2 * fold.bits + (fold.extras > 0),
        .min_depth = 1,
    };
}

/* A binomial scatter, then Bruck's rounds, of which the root only sends. */
static struct figures scatter_allgather(uint32_t n)
{
    uint32_t chains[128] = {0}, longest = 0;
    for (uint32_t p = 0; p < n; p++)
        chains[p] = (uint32_t)__builtin_popcount(p);
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        uint32_t before[128];
        memcpy(before, chains, sizeof before);
        for (uint32_t p = 1; p < n; p++) {
            const uint32_t sender = (p + distance) % n;
            chains[p] = before[sender] + 1 > chains[p] ? before[sender] + 1 : chains[p];
        }
    }
    for (uint32_t p = 0; p < n; p++)
        longest = chains[p] > longest ? chains[p] : longest;
    return (struct figures){
        .messages = (uint64_t)(n - 1) * (1 + figures_log2_up(n)),
        .most_sent = 2 * (n - 1),
        .critical_path = longest,
        .min_depth = 1,
    };
}

/* --- all_to_all, barrier, send_recv --------------------------------------------------------- */

static struct figures pairwise(uint32_t n)
{
    return lockstep(n, n - 1, n - 1, 1);
}

/* The block for the rank i places on travels once for every bit of i. */
static struct figures bruck_all_to_all(uint32_t n)
{
    uint64_t sent = 0;
    for (uint32_t i = 0; i < n; i++)
        sent += (uint64_t)__builtin_popcount(i);
    return lockstep(n, figures_log2_up(n), sent, 1);
}

static struct figures hierarchical_all_to_all(uint32_t n)
{
    const uint32_t local = divisor_below(n, 8), nodes = n / local;
    return lockstep(n, local - 1 + nodes - 1,
                    (uint64_t)(local - 1) * nodes + (uint64_t)(nodes - 1) * local, 1);
}

static struct figures dissemination(uint32_t n)
{
    return lockstep(n, figures_log2_up(n), 0, 1);
}

static struct figures shift(uint32_t n)
{
    return lockstep(n, n > 1 ? 1 : 0, n > 1 ? 1 : 0, 1);
}

/* --- the table ------------------------------------------------------------------------------ */

static const struct {
    enum ronde_collective collective;
    const char *name;
    struct figures (*figures_of)(uint32_t n);
} rows[] = {
    {RONDE_ALL_REDUCE, "ring", ring_twice},
    {RONDE_ALL_REDUCE, "tree", binary_tree},
    {RONDE_ALL_REDUCE, "double_tree", binary_tree},
    {RONDE_ALL_REDUCE, "recursive_doubling", doubling_all_reduce},
    {RONDE_ALL_REDUCE, "rabenseifner", rabenseifner_all_reduce},
    {RONDE_ALL_REDUCE, "hierarchical", hierarchical_all_reduce},
    {RONDE_ALL_REDUCE, "hierarchical_direct", hierarchical_direct},
    {RONDE_ALL_REDUCE, "hierarchical_tree", hierarchical_tree},
    {RONDE_ALL_REDUCE, "hierarchical_direct_tree", hierarchical_direct_tree},
    {RONDE_ALL_REDUCE, "torus", torus},
    {RONDE_ALL_REDUCE, "direct", direct_twice},
    {RONDE_ALL_REDUCE, "direct_one_step", direct_once},
    {RONDE_REDUCE_SCATTER, "ring", ring_once},
    {RONDE_REDUCE_SCATTER, "recursive_halving", halving_reduce_scatter},
    {RONDE_REDUCE_SCATTER, "direct", direct_once},
    {RONDE_ALL_GATHER, "ring", ring_once},
    {RONDE_ALL_GATHER, "recursive_doubling", doubling_all_gather},
    {RONDE_ALL_GATHER, "bruck", bruck_all_gather},
    {RONDE_ALL_GATHER, "direct", direct_once},
    {RONDE_ALL_GATHER, "hierarchical", hierarchical_all_gather},
    {RONDE_BROADCAST, "binomial", binomial_broadcast},
    {RONDE_BROADCAST, "chain", chain},
    {RONDE_BROADCAST, "double_tree", double_tree_broadcast},
    {RONDE_BROADCAST, "scatter_allgather", scatter_allgather},
    {RONDE_BROADCAST, "direct", root_to_all},
    {RONDE_REDUCE, "binomial", binomial_reduce},
    {RONDE_REDUCE, "chain", chain},
    {RONDE_REDUCE, "double_tree", double_tree_reduce},
    {RONDE_REDUCE, "rabenseifner", rabenseifner_reduce},
    {RONDE_SCATTER, "binomial", binomial_scatter},
    {RONDE_SCATTER, "direct", root_to_all},
    {RONDE_GATHER, "binomial", binomial_gather},
    {RONDE_GATHER, "direct", all_to_root},
    {RONDE_ALL_TO_ALL, "pairwise", pairwise},
    {RONDE_ALL_TO_ALL, "direct", direct_once},
    {RONDE_ALL_TO_ALL, "bruck", bruck_all_to_all},
    {RONDE_ALL_TO_ALL, "hierarchical", hierarchical_all_to_all},
    {RONDE_BARRIER, "dissemination", dissemination},
    {RONDE_BARRIER, "tree", barrier_tree},
    {RONDE_SEND_RECV, "direct", shift},
};

bool figures_find(const struct ronde_algorithm *algorithm, uint32_t n, struct figures *out_figures)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].collective == algorithm->collective &&
            strcmp(rows[i].name, algorithm->name) == 0) {
            *out_figures = rows[i].figures_of(n);
            return true;
        }
    return false;
}
