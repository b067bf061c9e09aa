/*
 * -d all, -o all, -r all: what a run goes through is held to three nested loops, written down here a second time.
 */
#include "support/suite.h"

#include "cli/cmd/run.h"

#include <string.h>

/* What one measurement of a run is of. */
struct variant {
    enum ronde_dtype dtype;
    enum ronde_op op;
    uint32_t root;
};

#define MOST 4096u

/* Variants in the order of a run. */
struct variants {
    struct variant all[MOST];
    uint32_t count;
};

static void add(struct variants *variants, enum ronde_dtype dtype, enum ronde_op op, uint32_t root)
{
    CU_ASSERT_FATAL(variants->count < MOST);
    variants->all[variants->count++] = (struct variant){dtype, op, root};
}

/* Types slowest, roots fastest; what an operator has no meaning for is left out. */
static void expect_all(struct variants *expected, const struct ronde_options *options,
                       enum ronde_collective collective, uint32_t ranks)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(collective);
    const bool all_ops = options->what.all_ops && traits->reduces;
    const bool all_roots = options->what.all_roots && traits->has_root;
    const enum ronde_op only_op = options->what.all_ops ? RONDE_SUM : options->what.op;
    const uint32_t only_root = options->what.all_roots ? 0 : options->what.root;
    expected->count = 0;
    for (int d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (int o = 0; o < RONDE_OP_COUNT; o++) {
            const enum ronde_dtype dtype = (enum ronde_dtype)d;
            const enum ronde_op op = (enum ronde_op)o;
            if ((!options->what.all_dtypes && dtype != options->what.dtype) ||
                (!all_ops && op != only_op) || ronde_op_refusal(op, dtype))
                continue;
            for (uint32_t root = 0; root < (all_roots ? ranks : 1); root++)
                add(expected, dtype, op, all_roots ? root : only_root);
        }
}

/* What ronde_variant_next goes through, until it says that this was all. */
static void walk(struct variants *found, struct ronde_options *options,
                 enum ronde_collective collective, uint32_t ranks)
{
    found->count = 0;
    do
        add(found, options->what.dtype, options->what.op, options->what.root);
    while (ronde_variant_next(options, collective, ranks));
}

static bool is_same(const struct variants *a, const struct variants *b)
{
    bool is = a->count == b->count;
    for (uint32_t i = 0; is && i < a->count; i++)
        is = a->all[i].dtype == b->all[i].dtype && a->all[i].op == b->all[i].op &&
             a->all[i].root == b->all[i].root;
    return is;
}

/* One line of options on one collective, twice over: a run of several sizes starts again. */
static void compare(struct ronde_options *options, enum ronde_collective collective, uint32_t ranks)
{
    static struct variants expected, found;
    expect_all(&expected, options, collective, ranks);
    ronde_variant_first(options);
    for (int round = 0; round < 2; round++) {
        walk(&found, options, collective, ranks);
        CU_ASSERT_TRUE(is_same(&expected, &found));
        if (!is_same(&expected, &found))
            suite_note("%s, %u ranks, all:%s%s%s: %u variants, expected %u",
                       ronde_collective_text(collective), ranks,
                       options->what.all_dtypes ? " types" : "",
                       options->what.all_ops ? " operators" : "",
                       options->what.all_roots ? " roots" : "", found.count, expected.count);
    }
}

static void a_run_goes_through_every_variant_once(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (uint32_t flags = 0; flags < 8; flags++)
            for (uint32_t ranks = 1; ranks <= 5; ranks += 2) {
                struct ronde_options options = {.what.dtype = RONDE_INT32, .what.op = RONDE_MAX};
                options.what.all_dtypes = (flags & 1) != 0;
                options.what.all_ops = (flags & 2) != 0;
                options.what.all_roots = (flags & 4) != 0;
                options.what.root = options.what.all_roots ? 0 : ranks - 1;
                compare(&options, (enum ronde_collective)c, ranks);
            }
}

/* Bits have no meaning in floating point: with -o band, -d all is whole numbers, and the first is one of them. */
static void types_that_an_operator_has_no_meaning_for_are_left_out(void)
{
    struct ronde_options options = {.what.dtype = RONDE_FLOAT32,
                                    .what.op = RONDE_BAND,
                                    .what.all_dtypes = true};
    uint32_t count = 0;
    compare(&options, RONDE_ALL_REDUCE, 2);
    ronde_variant_first(&options);
    CU_ASSERT_NOT_EQUAL(options.what.dtype, RONDE_FLOAT32);
    do {
        CU_ASSERT_PTR_NULL(ronde_op_refusal(options.what.op, options.what.dtype));
        CU_ASSERT(options.what.dtype != RONDE_FLOAT32 && options.what.dtype != RONDE_FLOAT64);
        count++;
    } while (ronde_variant_next(&options, RONDE_ALL_REDUCE, 2));
    CU_ASSERT(count >= 2 && count < RONDE_DTYPE_COUNT);
}

/* What was not asked for stays as it was typed, whatever it is. */
static void nothing_is_touched_where_nothing_is_asked_for(void)
{
    struct ronde_options options = {.what.dtype = RONDE_FLOAT64,
                                    .what.op = RONDE_MIN,
                                    .what.root = 3};
    ronde_variant_first(&options);
    CU_ASSERT(options.what.dtype == RONDE_FLOAT64 && options.what.op == RONDE_MIN &&
              options.what.root == 3);
    CU_ASSERT_FALSE(ronde_variant_next(&options, RONDE_REDUCE, 8));
    CU_ASSERT(options.what.dtype == RONDE_FLOAT64 && options.what.op == RONDE_MIN &&
              options.what.root == 3);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_run_goes_through_every_variant_once", a_run_goes_through_every_variant_once},
        {"types_that_an_operator_has_no_meaning_for_are_left_out",
         types_that_an_operator_has_no_meaning_for_are_left_out},
        {"nothing_is_touched_where_nothing_is_asked_for",
         nothing_is_touched_where_nothing_is_asked_for},
    };
    return suite_run("run_variants", cases, sizeof cases / sizeof cases[0]);
}
