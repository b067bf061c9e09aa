/* The figures of all algorithms, written down without looking at the schedules. */
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

/* One step adds the last chunk and sends it back, each waiting for the other's slot: two are needed. */
static struct figures rabenseifner_all_reduce(uint32_t n)
{
    const struct fold fold = fold_of(n);
    return (struct figures){
        .messages = (uint64_t)fold.members * 2 * fold.bits + 2 * fold.extras,
        .most_sent = 2 * (fold.members - 1) + (fold.extras > 0 ? fold.members : 0),
        .critical_path = 2 * fold.bits + (fold.extras > 0 ? 2 : 0),
        .min_depth = n > 1 ? 2 : 1,
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

static struct figures binomial_broadcast(uint32_t n)
{
    struct figures figures = {
        .messages = n - 1, .most_sent = figures_log2_up(n), .min_depth = 1};
    /* the deepest position is the one below n with the most bits */
    for (uint32_t p = 0; p < n; p++) {
        const uint32_t hops = (uint32_t)__builtin_popcount(p);
        figures.critical_path = hops > figures.critical_path ? hops : figures.critical_path;
    }
    return figures;
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
