/*
 * Every algorithm on every backend that is here: the outputs are what the collective defines, nothing else changes, and
 * all backends give the same bits in every interleaving.
 *
 * Small integers are compared with the collective written as plain loops. Bits are compared with host run in order. The
 * sample is random with a fixed seed; RONDE_TEST_SCALE is its size in percent.
 */
#include "conformance/trial.h"
#include "conformance/walk.h"
#include "support/emulated_gpu.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/executors.h"
#include "ronde/schedules.h"
#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Launches drawn for all schedules together at 100 percent, in equal parts. */
#define LAUNCHES 40000u

/* And of each schedule that was written by hand. */
#define LAUNCHES_OF_A_FILE 300u

/* Below this percentage of all launches the sample is too small to meet all pairs. */
#define PERCENT_FOR_PAIRS 40u

/* After so many failures the cause is clear. */
#define FAILURES_SHOWN 10u

#define BACKENDS_MAX 8u

/* A backend that probe found. */
struct bench {
    const struct ronde_executor *executor; /* its row; NULL for the emulated device, which has none */
    const struct ronde_backend *backend;
    void *self;
    void *program;
    uint64_t slot_bytes; /* its default */
    uint64_t runs;
};

/* What the test goes through. */
static struct state {
    struct bench benches[BACKENDS_MAX];
    uint32_t bench_count;
    struct trial_runner runner;
    uint64_t launches;
    uint64_t too_large;
    uint64_t planned; /* schedules there will be */
    uint64_t visited; /* requests so far */
    uint64_t schedules;
    uint64_t unsupported;
    uint64_t uneven;                            /* launches with blocks of different lengths */
    uint64_t uneven_runs[RONDE_PROTOCOL_COUNT]; /* of these, by how messages travelled */
    uint32_t failures;
} state;

static uint64_t percentage(void)
{
    return suite_number("RONDE_TEST_SCALE", 100);
}

/* One schedule in so many is tried. */
static uint64_t stride(void)
{
    return suite_number("RONDE_TEST_STRIDE", 1);
}

/* Says so and returns false where the sample is too small to meet all pairs. */
static bool sample_is_large(void)
{
    const bool large = percentage() / stride() >= PERCENT_FOR_PAIRS;
    if (!large)
        suite_skip("RONDE_TEST_SCALE / RONDE_TEST_STRIDE below %u", PERCENT_FOR_PAIRS);
    return large;
}

static void open_backend(const struct ronde_executor *executor, const struct ronde_backend *backend)
{
    struct ronde_machine machine;
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(state.bench_count < BACKENDS_MAX);
    struct bench *bench = &state.benches[state.bench_count];
    if (backend->probe(&machine, &error) != RONDE_OK) {
        suite_note("not run on %s: %s", backend->name, error.message);
        return;
    }
    bench->executor = executor;
    bench->backend = backend;
    bench->slot_bytes = machine.default_slot_bytes;
    /* Counts are small here, and threads are to meet. */
    machine.alone_bytes = 0;
    CU_ASSERT_FATAL(backend->open(&machine, ronde_mem_default(), &bench->self, &error) == RONDE_OK);
    state.bench_count++;
}

/* The one backend that is compared with host, if RONDE_TEST_BACKEND names one; then it has to be here. */
static const char *wanted_backend(void)
{
    return getenv("RONDE_TEST_BACKEND");
}

/* Those there are, and what a GPU executes on a GPU made of this process. */
static void open_backends(void)
{
    uint32_t count;
    const char *wanted = wanted_backend();
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        const bool is_here = executors[e].ranks != RONDE_RANKS_PROCESSES;
        if (is_here && (e == 0 || !wanted || strcmp(executors[e].name, wanted) == 0))
            open_backend(&executors[e], executors[e].backend);
    }
    if (!wanted || strcmp(emulated_backend.name, wanted) == 0)
        open_backend(NULL, &emulated_backend);
    CU_ASSERT_FATAL(!wanted || state.bench_count == 2);
}

static void close_backends(void)
{
    for (uint32_t b = 0; b < state.bench_count; b++) {
        suite_note("%s: %llu runs", state.benches[b].backend->name,
                   (unsigned long long)state.benches[b].runs);
        state.benches[b].backend->close(state.benches[b].self);
    }
}

static void fail(const struct trial *trial, const struct bench *bench, const char *wrong)
{
    char text[512];
    CU_FAIL("a launch went wrong");
    trial_describe(trial, bench->backend->name, wrong, text, sizeof text);
    if (state.failures++ < FAILURES_SHOWN)
        suite_note("%s", text);
}

/* Runs a trial on a loaded backend into `into`, freshly filled. Returns whether it ran. */
static bool run_on(struct bench *bench, const struct trial *trial, uint64_t seed,
                   struct buffers *into)
{
    struct ronde_launch launch = trial_launch(trial, into, into == &trial->expected);
    struct ronde_result result;
    struct ronde_error error = {0};
    void *run;
    launch.seed = seed;
    bench->runs++;
    enum ronde_status status = bench->backend->run(bench->program, &launch, &run, &error);
    if (status == RONDE_OK)
        status = bench->backend->wait(run, &result, &error);
    if (status != RONDE_OK) {
        fail(trial, bench, error.message);
        return false;
    }
    if (bench->executor) {
        CU_ASSERT_EQUAL(result.is_virtual, !bench->executor->has_clock);
    }
    if (buffers_vary(&trial->shape))
        state.uneven_runs[result.protocol]++;
    return true;
}

static void compare(struct bench *bench, const struct trial *trial, const struct buffers *expected)
{
    char text[256];
    const bool differs = buffers_differ(&trial->actual, expected, text, sizeof text);
    CU_ASSERT(!differs);
    if (differs)
        fail(trial, bench, text);
}

/* Of what moves no data it is expected that all memory is as it was. */
static void run_still(struct bench *bench, struct trial *trial)
{
    struct buffers untouched;
    CU_ASSERT_FATAL(buffers_create(&trial->shape, &untouched));
    if (run_on(bench, trial, 0, &trial->actual))
        compare(bench, trial, &untouched);
    buffers_destroy(&untouched);
}

/* Small integers: the definition says what comes out. Bits: host in order does (benches[0] is host). */
static bool make_expected(struct trial *trial)
{
    if (trial->shape.data == BUFFERS_BITS)
        return run_on(&state.benches[0], trial, 0, &trial->expected);
    return buffers_expect(&trial->expected);
}

static void run_trial(struct trial *trial)
{
    CU_ASSERT_FATAL(buffers_create(&trial->shape, &trial->actual));
    CU_ASSERT_FATAL(buffers_create(&trial->shape, &trial->expected));
    if (make_expected(trial)) {
        for (uint32_t b = 0; b < state.bench_count; b++) {
            struct bench *bench = &state.benches[b];
            if (bench->executor && !bench->executor->moves_data)
                run_still(bench, trial);
            else if (run_on(bench, trial, buffers_draw(&state.runner.random), &trial->actual))
                compare(bench, trial, &trial->expected);
        }
        state.launches++;
        state.uneven += buffers_vary(&trial->shape);
        if (trial->is_as_drawn)
            sample_met(&trial->sample);
    }
    buffers_destroy(&trial->actual);
    buffers_destroy(&trial->expected);
}

/* Every backend must refuse what the shape asks for, with a reason. */
static void expect_refusal(struct trial_runner *runner, struct trial *trial, const char *part)
{
    (void)runner;
    CU_ASSERT_FATAL(buffers_create(&trial->shape, &trial->actual));
    const struct ronde_launch launch = buffers_launch(&trial->actual);
    for (uint32_t b = 0; b < state.bench_count; b++) {
        const struct bench *bench = &state.benches[b];
        struct ronde_error error = {0};
        const enum ronde_status status =
            bench->backend->supports(bench->self, trial->schedule, &launch, &error);
        CU_ASSERT_EQUAL(status, RONDE_UNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
        if (status != RONDE_UNSUPPORTED)
            fail(trial, bench, "not refused");
    }
    buffers_destroy(&trial->actual);
}

/* Draws a launch of a schedule and runs it everywhere. */
static void sample_schedule(const struct ronde_schedule *schedule)
{
    struct trial trial;
    trial_draw(&state.runner, schedule, &trial);
    if (trial.is_too_large)
        state.too_large++;
    else
        run_trial(&trial);
}

static void try_schedule(const struct ronde_schedule *schedule, uint64_t launches)
{
    state.schedules++;
    for (uint32_t b = 0; b < state.bench_count; b++) {
        struct bench *bench = &state.benches[b];
        struct ronde_error error = {0};
        const enum ronde_status status =
            bench->backend->load(bench->self, schedule, &bench->program, &error);
        if (status != RONDE_OK)
            suite_note("%s: %s", bench->backend->name, error.message);
        CU_ASSERT_FATAL(status == RONDE_OK);
    }
    for (uint64_t k = 0; k < launches && state.failures < FAILURES_SHOWN; k++)
        sample_schedule(schedule);
    for (uint32_t b = 0; b < state.bench_count; b++)
        state.benches[b].backend->unload(state.benches[b].program);
}

static void count_request(const struct walk *walk, const struct ronde_algorithm *algorithm,
                          const struct ronde_compile_request *request)
{
    (void)walk;
    state.planned += algorithm->supports(request, NULL) == RONDE_OK;
}

static void try_request(const struct walk *walk, const struct ronde_algorithm *algorithm,
                        const struct ronde_compile_request *request)
{
    struct ronde_error error = {0};
    (void)walk;
    /* A sanitizer of GPUs takes seconds for what takes milliseconds: every so-many-th has to do. */
    if (state.visited++ % stride() != 0)
        return;
    if (algorithm->supports(request, &error) != RONDE_OK) {
        /* A refusal without a reason is no refusal. */
        CU_ASSERT(error.message[0] != '\0');
        state.unsupported++;
        return;
    }
    struct ronde_schedule *schedule;
    const enum ronde_status status =
        ronde_compile(request, ronde_mem_default(), NULL, &schedule, &error);
    CU_ASSERT(status == RONDE_OK);
    if (status != RONDE_OK) {
        suite_note("%s %s ranks %u channels %u root %u: %s",
                   ronde_collective_text(request->collective), request->algorithm, request->ranks,
                   request->channels, request->root, error.message);
        return;
    }
    try_schedule(schedule, percentage() * LAUNCHES / 100 / state.planned + 1);
    ronde_schedule_destroy(schedule);
}

/* What no algorithm asks for: messages passed on unread, peers by number, tags, runs between each other. */
static void try_file(const char *path, void *context)
{
    char *text = files_read(path);
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    (void)context;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(ronde_schedule_read(text, strlen(text), path, ronde_mem_default(), NULL,
                                        &schedule, &error),
                    RONDE_OK);
    if (schedule)
        try_schedule(schedule, percentage() * LAUNCHES_OF_A_FILE / 100 + 1);
    else
        suite_note("%s", error.message);
    ronde_schedule_destroy(schedule);
    free(text);
}

static void backends_give_what_collectives_define(void)
{
    memset(&state, 0, sizeof state);
    open_backends();
    CU_ASSERT_FATAL(state.bench_count > 0);
    CU_ASSERT_STRING_EQUAL(state.benches[0].backend->name, "host");
    state.runner.expect_refusal = expect_refusal;
    state.runner.slot_bytes = state.benches[0].slot_bytes;
    walk_requests(&(struct walk){.visit = count_request});
    walk_requests(&(struct walk){.visit = try_request});
    CU_ASSERT(files_walk("tests/data/schedules", ".ronde", try_file, NULL) > 0);
    suite_note(
        "%llu schedules, %llu refused with a reason; %llu launches, %llu left out as too large",
        (unsigned long long)state.schedules, (unsigned long long)state.unsupported,
        (unsigned long long)state.launches, (unsigned long long)state.too_large);
    suite_note("%llu launches with blocks of different lengths, %llu refused for want of a v-form",
               (unsigned long long)state.uneven, (unsigned long long)state.runner.refused);
    CU_ASSERT(state.uneven > 0 && state.runner.refused > 0);
    suite_note("of their runs %llu were staged, %llu pulled, %llu pushed",
               (unsigned long long)state.uneven_runs[RONDE_PROTOCOL_STAGED],
               (unsigned long long)state.uneven_runs[RONDE_PROTOCOL_PULL],
               (unsigned long long)state.uneven_runs[RONDE_PROTOCOL_PUSH]);
    CU_ASSERT(wanted_backend() || state.uneven_runs[RONDE_PROTOCOL_PULL] > state.uneven / 2);
    CU_ASSERT(wanted_backend() || state.uneven_runs[RONDE_PROTOCOL_PUSH] > state.uneven / 4);
    close_backends();
}

/* Of bool avg and premul_sum, of six floating types three bitwise operators. */
static void operators_that_a_type_lacks_are_refused_everywhere(void)
{
    uint32_t refused = 0;
    for (uint32_t d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (uint32_t o = 0; o < RONDE_OP_COUNT; o++) {
            CU_ASSERT(!state.runner.is_refused[d][o] ||
                      !reference_is_defined((enum ronde_dtype)d, (enum ronde_op)o));
            refused += state.runner.is_refused[d][o];
        }
    if (sample_is_large())
        CU_ASSERT_EQUAL(refused, 2 + 6 * 3);
}

static void sample_covers_all_pairs(void)
{
    uint32_t missing;
    const uint32_t pairs = sample_pairs(&missing);
    suite_note("%u of %u pairs of values met", pairs - missing, pairs);
    if (sample_is_large())
        CU_ASSERT_EQUAL(missing, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"backends_give_what_collectives_define", backends_give_what_collectives_define},
        {"operators_that_a_type_lacks_are_refused_everywhere",
         operators_that_a_type_lacks_are_refused_everywhere},
        {"sample_covers_all_pairs", sample_covers_all_pairs},
    };
    return suite_run("conformance", cases, sizeof cases / sizeof cases[0]);
}
