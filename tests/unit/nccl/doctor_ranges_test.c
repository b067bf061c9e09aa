/**
 * Ranges of sizes and jumps: where a range begins and ends, what its numbers are, that series are kept apart, and which rows are
 * looked at at all.
 */
#include "nccl_shipped.h"

#include "support/suite.h"
#include "support/sweep.h"

#include "ronde/doctor.h"

#include <math.h>
#include <string.h>

#define MAX_ROWS 512u

static const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};

/** A table in place, and what judges it: off by a tenth in every class. */
static struct {
    struct ronde_published table;
    struct ronde_published_row rows[MAX_ROWS];
    struct ronde_nccl_constants constants;
    struct ronde_doctor_spread spread;
    struct ronde_diagnosis found;
} made;

static void start(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    memset(&made, 0, sizeof made);
    made.table.rows = made.rows;
    made.table.mem = ronde_mem_default();
    made.table.system_count = 1;
    made.table.systems[0].machine = nccl_h100;
    made.table.systems[0].is_described = true;
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(NULL, &made.constants, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_doctor_spread_read(NULL, &made.spread, &error), RONDE_OK);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++)
            made.spread.off[p][c] = .1;
}

/** A row that took `ratio` times what the model says of Ring and Simple. */
static struct ronde_published_row *add_of(struct ronde_nccl_call call, double ratio)
{
    CU_ASSERT_FATAL(made.table.count < MAX_ROWS);
    struct ronde_published_row *row = &made.rows[made.table.count++];
    *row = (struct ronde_published_row){
        .line = (uint32_t)made.table.count + 1,
        .call = call,
        .wish = ring,
        .measured_us = ratio * ronde_nccl_execution_us(&made.constants, &nccl_h100, &call, ring)};
    return row;
}

static struct ronde_published_row *add(uint64_t bytes, double ratio)
{
    return add_of((struct ronde_nccl_call){RONDE_ALL_REDUCE, 8, 1, 229, bytes}, ratio);
}

static const struct ronde_doctor_request request = {.published = &made.table,
                                                    .constants = &made.constants,
                                                    .spread = &made.spread};

static const struct ronde_diagnosis *find(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_doctor(&request, &made.found, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return &made.found;
}

/* exp(1.64 * 0.1) = 1.178 is what a size may be slower: what lies above begins a range, and the next that does not another. */
static void ranges_change_at_the_tolerance(void)
{
    static const double ratios[] = {1, .5, 1.177, 1.179, 3, 2, 1.1, 1};
    static const struct {
        uint32_t first, last;
        bool is_short;
    } expected[] = {{0, 2, false}, {3, 5, true}, {6, 7, false}};
    start();
    for (unsigned i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        add((uint64_t)1024 << i, ratios[i]);
    const struct ronde_diagnosis *found = find();
    CU_ASSERT_EQUAL_FATAL(found->range_count, 3);
    for (uint32_t r = 0; r < 3; r++) {
        const struct ronde_doctor_range *range = &found->ranges[r];
        CU_ASSERT_EQUAL(range->least_bytes, (uint64_t)1024 << expected[r].first);
        CU_ASSERT_EQUAL(range->most_bytes, (uint64_t)1024 << expected[r].last);
        CU_ASSERT_EQUAL(range->sizes, expected[r].last - expected[r].first + 1);
        CU_ASSERT_EQUAL(range->is_short, expected[r].is_short);
        CU_ASSERT_DOUBLE_EQUAL(range->tolerance, exp(.164), 1e-9);
    }
    CU_ASSERT_DOUBLE_EQUAL(found->ranges[0].ratio, cbrt(1 * .5 * 1.177), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(found->ranges[1].ratio, cbrt(1.179 * 3 * 2), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(found->ranges[2].ratio, sqrt(1.1), 1e-9);
}

/* exp(7.2 * 0.1) = 2.05 and 2.5 at least: no machine takes less than 1 / 2.5 of its time, whatever the model is off by. */
static void no_machine_is_faster_than_it_can_be(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    start();
    add(1 << 20, 1);
    add(1 << 28, .41);
    CU_ASSERT_EQUAL(find()->fast, 0);
    add(1 << 29, .39);
    add(1 << 30, .01);
    CU_ASSERT_EQUAL(ronde_doctor(&request, &made.found, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(made.found.fast_call.bytes, 1 << 30);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(error.message, "1073741824 B of all_reduce by 8 ranks are measured at 0.01 of"));
}

/* The bus bandwidth at a range's largest size, measured and as it should be: 2 * 7 / 8 of bytes over time. */
static void rates_are_of_the_largest_size(void)
{
    start();
    add(1 << 20, 2);
    const struct ronde_published_row *row = add(1 << 22, 3);
    const struct ronde_diagnosis *found = find();
    CU_ASSERT_EQUAL_FATAL(found->range_count, 1);
    const double GBps = (1 << 22) / row->measured_us / 1e3 * 1.75;
    CU_ASSERT_DOUBLE_EQUAL(found->ranges[0].measured_GBps, GBps, 1e-9 * GBps);
    CU_ASSERT_DOUBLE_EQUAL(found->ranges[0].expected_GBps, 3 * GBps, 1e-9 * GBps);
}

/* Of two runs of a size the mean counts, of three and more that without the least and the largest. */
static void runs_of_a_size_are_one(void)
{
    static const struct {
        uint32_t count;
        double ratios[5], middle;
    } rows[] = {{1, {2}, 2},
                {2, {1, 3}, 2},
                {3, {1, 1.5, 90}, 1.5},
                {4, {.001, 1, 2, 90}, 1.5},
                {5, {1, 1, 1, 7, 7}, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        for (uint32_t r = 0; r < rows[i].count; r++)
            add(1 << 20, rows[i].ratios[r])->is_in_place = r % 2;
        const struct ronde_diagnosis *found = find();
        CU_ASSERT_EQUAL_FATAL(found->range_count, 1);
        CU_ASSERT_EQUAL(found->ranges[0].sizes, 1);
        CU_ASSERT_DOUBLE_EQUAL(found->ranges[0].ratio, rows[i].middle, 1e-9);
        CU_ASSERT_EQUAL(found->rows[1], rows[i].count);
    }
}

/* Rows of a series may come in any order; each series has its own ranges, though all are alike. */
static void series_are_kept_apart(void)
{
    start();
    for (unsigned i = 4; i-- > 0;)
        for (uint32_t ranks = 8; ranks >= 2; ranks /= 2)
            add_of((struct ronde_nccl_call){RONDE_ALL_REDUCE, ranks, 1, 229, (uint64_t)1024 << i},
                   1);
    add_of((struct ronde_nccl_call){RONDE_ALL_GATHER, 8, 1, 229, 4096}, 1);
    add_of((struct ronde_nccl_call){RONDE_ALL_REDUCE, 8, 2, 229, 4096}, 1);
    add(1 << 20, 1)->wish.protocol = RONDE_NCCL_LL;
    const struct ronde_diagnosis *found = find();
    CU_ASSERT_EQUAL_FATAL(found->range_count, 6);
    uint32_t sizes = 0;
    for (uint32_t r = 0; r < found->range_count; r++) {
        const struct ronde_doctor_range *range = &found->ranges[r];
        sizes += range->sizes;
        for (uint32_t s = 0; s < r; s++) {
            const struct ronde_doctor_range *other = &found->ranges[s];
            CU_ASSERT(range->call.collective != other->call.collective ||
                      range->call.ranks != other->call.ranks ||
                      range->call.nodes != other->call.nodes ||
                      range->wish.protocol != other->wish.protocol);
        }
    }
    CU_ASSERT_EQUAL(sizes, 15);
}

/* A range beyond the last there is room for is left out whole: nothing of it is put to another series. */
static void ranges_beyond_the_last_are_left_out(void)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_ALL_GATHER,
                                                        RONDE_REDUCE_SCATTER, RONDE_BROADCAST,
                                                        RONDE_REDUCE};
    start();
    for (unsigned c = 0; c < sizeof collectives / sizeof collectives[0]; c++)
        for (uint32_t ranks = 2; ranks <= 8; ranks++)
            for (unsigned p = 0; p < 2; p++)
                for (unsigned i = 0; i < 3; i++)
                    add_of((struct ronde_nccl_call){collectives[c], ranks, 1, 229,
                                                    (uint64_t)1024 << i},
                           1)
                        ->wish.protocol = p ? RONDE_NCCL_SIMPLE : RONDE_NCCL_LL;
    CU_ASSERT_FATAL(made.table.count / 3 > RONDE_DOCTOR_MAX_RANGES);
    const struct ronde_diagnosis *found = find();
    CU_ASSERT_EQUAL(found->range_count, RONDE_DOCTOR_MAX_RANGES);
    for (uint32_t r = 0; r < found->range_count; r++)
        CU_ASSERT(found->ranges[r].sizes <= 3);
}

/* Of large sizes every second is twice as slow: all steps are jumps. Small sizes and slow slopes are none. */
static void jumps_are_steps_of_large_sizes(void)
{
    static const struct {
        unsigned first, last; /**< sizes 1 KiB << i */
        double odd, jumps;
    } rows[] = {{14, 20, 2, 1}, {14, 20, 1.49, 0}, {14, 20, .5, 1},
                {0, 13, 3, 0},  {14, 17, 2, 0},    {14, 18, 2, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        for (unsigned s = rows[i].first; s <= rows[i].last; s++)
            add((uint64_t)1024 << s, s % 2 ? rows[i].odd : 1);
        const struct ronde_diagnosis *found = find();
        CU_ASSERT_DOUBLE_EQUAL(found->jumps, rows[i].jumps, 1e-12);
        if (rows[i].jumps > RONDE_DOCTOR_MOST_JUMPS)
            CU_ASSERT(found->is_wrong);
    }
}

/* One fall in the middle of many sizes is two jumps of eight steps. */
static void jumps_are_a_share_of_steps(void)
{
    start();
    for (unsigned s = 14; s <= 22; s++)
        add((uint64_t)1024 << s, s == 18 ? 2 : 1);
    CU_ASSERT_DOUBLE_EQUAL(find()->jumps, .25, 1e-12);
}

/* FAULTY rows are judged alone, where asked for; the others without them; small ones never. */
static void faulty_rows_are_judged_alone(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_doctor_request faulty = request;
    faulty.is_faulty = true;
    start();
    add(1 << 20, 1);
    add(1 << 20, 9)->state = RONDE_PUBLISHED_FAULTY;
    add(1 << 21, 9)->state = RONDE_PUBLISHED_FAULTY;
    add(1 << 22, 1)->state = RONDE_PUBLISHED_FITTED;
    add(512, 9)->state = RONDE_PUBLISHED_FAULTY;
    for (unsigned s = RONDE_PUBLISHED_SMALL; s < RONDE_PUBLISHED_STATE_COUNT; s++)
        add(1 << 20, 5)->state = (enum ronde_published_state)s;
    CU_ASSERT_EQUAL(find()->rows[1], 2);
    CU_ASSERT_DOUBLE_EQUAL(made.found.off[1], 0, 1e-9);
    CU_ASSERT_EQUAL(ronde_doctor(&faulty, &made.found, &error), RONDE_OK);
    CU_ASSERT_EQUAL(made.found.rows[1], 2);
    CU_ASSERT_DOUBLE_EQUAL(made.found.off[1], log(9), 1e-9);
    CU_ASSERT(made.found.is_wrong);
}

/* Why nothing can be said: what is not modelled, what the machine cannot make, and rows too small. */
static void what_cannot_be_judged_says_why(void)
{
    static const struct {
        struct ronde_nccl_call call;
        const char *says;
    } rows[] = {{{RONDE_ALL_TO_ALL, 8, 1, 229, 1 << 20},
                 "no row of at least 1 KiB that the model has"},
                {{RONDE_ALL_REDUCE, 16, 1, 229, 1 << 20}, "16"},
                {{RONDE_ALL_REDUCE, 8, 1, 229, 512}, "no row of at least 1 KiB"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {.status = RONDE_OK};
        start();
        struct ronde_published_row *row = add(1 << 20, 1);
        row->call = rows[i].call;
        row->state = rows[i].call.collective == RONDE_ALL_TO_ALL ? RONDE_PUBLISHED_NOT_MODELLED
                     : rows[i].call.bytes < 1024                 ? RONDE_PUBLISHED_SMALL
                                                                 : RONDE_PUBLISHED_PREDICTED;
        const enum ronde_status status = ronde_doctor(&request, &made.found, &error);
        CU_ASSERT(status == RONDE_UNSUPPORTED || status == RONDE_BAD_INPUT ||
                  status == RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].says));
        if (!strstr(error.message, rows[i].says))
            suite_note("%s", error.message);
        CU_ASSERT_EQUAL(made.found.range_count, 0);
    }
}

/* A slower machine is never healthier, and from where no error of the model's reaches not at all. */
static void probability_follows_the_slowdown(void)
{
    double healthy = 1;
    for (double ratio = 1; ratio < 20; ratio *= 1.25) {
        start();
        for (unsigned s = 0; s < 20; s += 2)
            add((uint64_t)1024 << s, ratio);
        const struct ronde_diagnosis *found = find();
        /* But for what a fault that fits exactly takes from it. */
        CU_ASSERT(found->healthy <= healthy + 1e-5);
        CU_ASSERT((found->healthy > 0) == (found->far <= 0) && found->healthy < 1);
        healthy = found->healthy;
    }
    CU_ASSERT(healthy < .01);
}

static enum ronde_status judge(const void *context, const struct ronde_mem *mem,
                               struct ronde_error *error)
{
    struct ronde_diagnosis found;
    (void)context;
    made.table.mem = mem;
    const enum ronde_status status = ronde_doctor(&request, &found, error);
    made.table.mem = ronde_mem_default();
    return status;
}

static void memory_may_run_out(void)
{
    const struct sweep sweep = {"doctor", judge, NULL};
    start();
    for (unsigned s = 0; s < 20; s += 5)
        add((uint64_t)1024 << s, 1);
    CU_ASSERT_EQUAL(sweep_run(&sweep), 1);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"ranges_change_at_the_tolerance", ranges_change_at_the_tolerance},
        {"no_machine_is_faster_than_it_can_be", no_machine_is_faster_than_it_can_be},
        {"rates_are_of_the_largest_size", rates_are_of_the_largest_size},
        {"runs_of_a_size_are_one", runs_of_a_size_are_one},
        {"series_are_kept_apart", series_are_kept_apart},
        {"ranges_beyond_the_last_are_left_out", ranges_beyond_the_last_are_left_out},
        {"jumps_are_steps_of_large_sizes", jumps_are_steps_of_large_sizes},
        {"jumps_are_a_share_of_steps", jumps_are_a_share_of_steps},
        {"faulty_rows_are_judged_alone", faulty_rows_are_judged_alone},
        {"what_cannot_be_judged_says_why", what_cannot_be_judged_says_why},
        {"probability_follows_the_slowdown", probability_follows_the_slowdown},
        {"memory_may_run_out", memory_may_run_out},
    };
    return suite_run("doctor_ranges", cases, sizeof cases / sizeof cases[0]);
}
