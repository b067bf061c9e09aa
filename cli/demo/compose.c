/*
 * Mean, argmax and softmax of data that is spread over ranks. Ranks' own work between collectives is
 * plain loops here; what is expected is computed from all data at once, by other loops.
 */
#include "compose.h"

#include <math.h>

/* Elements of a rank in these examples. */
#define ELEMENTS 3u

/*
 * Sums of exponentials are added up in another order by the reference. No other example rounds.
 */
#define SOFTMAX_RELATIVE_ERROR 1e-12

/* What these examples run on: doubles in, doubles out. */
struct pair {
    struct ronde_sheet in;
    struct ronde_sheet out;
};

static enum ronde_status open_pair(const struct ronde_show *show, uint32_t in, uint32_t out,
                                   struct pair *pair, struct ronde_error *error)
{
    const uint32_t ranks = ronde_show_ranks(show);
    const enum ronde_status status = ronde_sheet_create(ranks, in, RONDE_FLOAT64, &pair->in, error);
    return status == RONDE_OK ? ronde_sheet_create(ranks, out, RONDE_FLOAT64, &pair->out, error)
                              : status;
}

static void close_pair(struct pair *pair)
{
    ronde_sheet_destroy(&pair->in);
    ronde_sheet_destroy(&pair->out);
}

/* A collective from `in` to `out`, which have a block per rank or one, as it asks. */
static enum ronde_status run(const struct ronde_show *show, enum ronde_collective collective,
                             enum ronde_op op, const struct pair *pair, struct ronde_error *error)
{
    const struct ronde_stage_call act = {.collective = collective,
                                         .op = op,
                                         .dtype = RONDE_FLOAT64,
                                         .ranks = pair->in.ranks,
                                         .count = pair->in.count,
                                         .in = pair->in.data,
                                         .out = pair->out.data};
    return ronde_act_run(show->target, &act, error);
}

static double tens(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)ranks, (void)i;
    return 10.0 * (rank + 1);
}

static double nothing(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)ranks, (void)rank, (void)i;
    return 0.0;
}

/* (10 + 20 + ... + 10 n) / n. */
static double mean_of_tens(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)rank, (void)i;
    return 5.0 * (ranks + 1);
}

/* Twice: with a division after the sum, and with the operator that divides by itself. */
static enum ronde_status show_mean(struct ronde_show *show, struct ronde_error *error)
{
    struct pair pair = {{0}, {0}};
    enum ronde_status status = open_pair(show, 1, 1, &pair, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_fill(&pair.in, tens);
    ronde_sheet_print(&pair.in, "before", show->file);
    status = run(show, RONDE_ALL_REDUCE, RONDE_SUM, &pair, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_print(&pair.out, "sum", show->file);
    for (uint32_t rank = 0; rank < pair.out.ranks; rank++)
        ronde_sheet_set(&pair.out, rank, 0, ronde_sheet_get(&pair.out, rank, 0) / pair.out.ranks);
    ronde_sheet_print(&pair.out, "/ N", show->file);
    ronde_show_verdict(show, "all_reduce (sum), then a division",
                       ronde_sheet_wrong(&pair.out, mean_of_tens) == 0);
    /* Nothing of the first way may be left to be taken for the second's result. */
    ronde_sheet_fill(&pair.out, nothing);
    status = run(show, RONDE_ALL_REDUCE, RONDE_AVG, &pair, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_print(&pair.out, "avg", show->file);
    ronde_show_verdict(show, "all_reduce (avg)", ronde_sheet_wrong(&pair.out, mean_of_tens) == 0);
out:
    close_pair(&pair);
    return status;
}

/* Numbers in no order, the same on every machine; some occur twice. */
static double scores(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)ranks;
    return (rank * 37 + i * 23 + rank * rank * 11 + 5) % 97;
}

/* The first place of a rank's largest value. */
static uint32_t place_of_largest(const struct ronde_sheet *sheet, uint32_t rank)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < sheet->count; i++)
        if (ronde_sheet_get(sheet, rank, i) > ronde_sheet_get(sheet, rank, best))
            best = i;
    return best;
}

/* Every rank's largest value, as a sheet of one value each. */
static void take_largest(const struct ronde_sheet *from, const struct ronde_sheet *to)
{
    for (uint32_t rank = 0; rank < from->ranks; rank++)
        ronde_sheet_set(to, rank, 0, ronde_sheet_get(from, rank, place_of_largest(from, rank)));
}

/*
 * What each rank concludes from everybody's largest value and the largest of all: who has it. The
 * lowest of those that do, so that all conclude the same; N where nobody has it, which is wrong.
 */
static void conclude_owner(const struct ronde_sheet *gathered, const struct ronde_sheet *largest,
                           const struct ronde_sheet *owner)
{
    for (uint32_t rank = 0; rank < gathered->ranks; rank++) {
        uint32_t first = 0;
        while (first < gathered->ranks &&
               ronde_sheet_get(gathered, rank, first) != ronde_sheet_get(largest, rank, 0))
            first++;
        ronde_sheet_set(owner, rank, 0, first);
    }
}

/* By looking at all values in order, which no rank can. */
static bool is_argmax(const struct ronde_sheet *values, const struct ronde_sheet *largest,
                      const struct ronde_sheet *owner)
{
    double best = -1.0;
    uint32_t best_rank = 0, wrong = 0;
    for (uint32_t rank = 0; rank < values->ranks; rank++)
        for (uint32_t i = 0; i < values->count; i++)
            if (ronde_sheet_get(values, rank, i) > best) {
                best = ronde_sheet_get(values, rank, i);
                best_rank = rank;
            }
    for (uint32_t rank = 0; rank < values->ranks; rank++)
        wrong += ronde_sheet_get(largest, rank, 0) != best ||
                 ronde_sheet_get(owner, rank, 0) != best_rank;
    return wrong == 0;
}

static enum ronde_status show_argmax(struct ronde_show *show, struct ronde_error *error)
{
    struct ronde_sheet values = {0};
    struct pair maximum = {{0}, {0}}, all = {{0}, {0}};
    const uint32_t ranks = ronde_show_ranks(show);
    enum ronde_status status = ronde_sheet_create(ranks, ELEMENTS, RONDE_FLOAT64, &values, error);
    if (status == RONDE_OK)
        status = open_pair(show, 1, 1, &maximum, error);
    if (status == RONDE_OK)
        status = open_pair(show, 1, ranks, &all, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_fill(&values, scores);
    ronde_sheet_print(&values, "before", show->file);
    take_largest(&values, &maximum.in);
    take_largest(&values, &all.in);
    ronde_sheet_print(&maximum.in, "own max", show->file);
    status = run(show, RONDE_ALL_REDUCE, RONDE_MAX, &maximum, error);
    if (status == RONDE_OK)
        status = run(show, RONDE_ALL_GATHER, RONDE_SUM, &all, error);
    if (status != RONDE_OK)
        goto out;
    /* The gathered inputs have done their work; the sheet has the shape of the answer. */
    conclude_owner(&all.out, &maximum.out, &all.in);
    ronde_sheet_print(&maximum.out, "max", show->file);
    ronde_sheet_print(&all.in, "of rank", show->file);
    ronde_show_verdict(show, "all_reduce (max), then all_gather to find who has it",
                       is_argmax(&values, &maximum.out, &all.in));
out:
    close_pair(&all);
    close_pair(&maximum);
    ronde_sheet_destroy(&values);
    return status;
}

/* Half steps, large enough to show that the largest is taken away first: exp(1000) overflows. */
static double logits(uint32_t ranks, uint32_t rank, uint32_t i)
{
    return 1000.0 + scores(ranks, rank, i) / 32.0;
}

/* Replaces values by exp(value - largest) and leaves every rank's sum. */
static void exponentiate(const struct ronde_sheet *values, const struct ronde_sheet *largest,
                         const struct ronde_sheet *sums)
{
    for (uint32_t rank = 0; rank < values->ranks; rank++) {
        double sum = 0.0;
        for (uint32_t i = 0; i < values->count; i++) {
            const double power =
                exp(ronde_sheet_get(values, rank, i) - ronde_sheet_get(largest, rank, 0));
            ronde_sheet_set(values, rank, i, power);
            sum += power;
        }
        ronde_sheet_set(sums, rank, 0, sum);
    }
}

static void divide(const struct ronde_sheet *values, const struct ronde_sheet *divisors)
{
    for (uint32_t rank = 0; rank < values->ranks; rank++)
        for (uint32_t i = 0; i < values->count; i++)
            ronde_sheet_set(values, rank, i,
                            ronde_sheet_get(values, rank, i) / ronde_sheet_get(divisors, rank, 0));
}

/* Against the definition, by comparing every pair: p_a = 1 / sum over b of exp(x_b - x_a). */
static bool is_softmax(const struct ronde_sheet *result)
{
    const uint32_t ranks = result->ranks, total = ranks * result->count;
    uint32_t wrong = 0;
    for (uint32_t a = 0; a < total; a++) {
        double sum = 0.0;
        for (uint32_t b = 0; b < total; b++)
            sum += exp(logits(ranks, b / result->count, b % result->count) -
                       logits(ranks, a / result->count, a % result->count));
        const double got = ronde_sheet_get(result, a / result->count, a % result->count);
        wrong += !(fabs(got * sum - 1.0) <= SOFTMAX_RELATIVE_ERROR);
    }
    return wrong == 0;
}

static enum ronde_status show_softmax(struct ronde_show *show, struct ronde_error *error)
{
    struct ronde_sheet values = {0};
    struct pair pair = {{0}, {0}};
    enum ronde_status status =
        ronde_sheet_create(ronde_show_ranks(show), ELEMENTS, RONDE_FLOAT64, &values, error);
    if (status == RONDE_OK)
        status = open_pair(show, 1, 1, &pair, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_fill(&values, logits);
    ronde_sheet_print(&values, "before", show->file);
    take_largest(&values, &pair.in);
    status = run(show, RONDE_ALL_REDUCE, RONDE_MAX, &pair, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_print(&pair.out, "max", show->file);
    exponentiate(&values, &pair.out, &pair.in);
    ronde_sheet_print(&values, "exp", show->file);
    status = run(show, RONDE_ALL_REDUCE, RONDE_SUM, &pair, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_print(&pair.out, "sum", show->file);
    divide(&values, &pair.out);
    ronde_sheet_print(&values, "after", show->file);
    ronde_show_verdict(show, "all_reduce (max), exp, all_reduce (sum), a division",
                       is_softmax(&values));
out:
    close_pair(&pair);
    ronde_sheet_destroy(&values);
    return status;
}

static const struct ronde_composition compositions[] = {
    {"mean", "distributed mean", show_mean},
    {"argmax", "distributed argmax", show_argmax},
    {"softmax", "distributed softmax", show_softmax},
    {"ring", "all_reduce from send_recv alone, in a ring", ronde_compose_ring},
    {"halves", "all_reduce as reduce_scatter, then all_gather", ronde_compose_halves},
    {"groups", "groups: even ranks, odd ranks and all of them, at once", ronde_compose_groups},
};

const struct ronde_composition *ronde_compositions(uint32_t *out_count)
{
    *out_count = (uint32_t)(sizeof compositions / sizeof compositions[0]);
    return compositions;
}

enum ronde_status ronde_composition_show(const struct ronde_composition *composition,
                                         struct ronde_show *show, struct ronde_error *error)
{
    fprintf(show->file, "%s\n", composition->title);
    const enum ronde_status status = composition->run(show, error);
    fputc('\n', show->file);
    return status;
}
