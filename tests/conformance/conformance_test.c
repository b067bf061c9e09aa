/*
 * Every algorithm on every backend that is here: the outputs are what the collective defines, nothing else changes, and
 * all backends give the same bits in every interleaving.
 *
 * Small integers are compared with the collective written as plain loops. Bits are compared with host run in order. The
 * sample is random with a fixed seed; RONDE_TEST_SCALE is its size in percent.
 */
#include "conformance/sample.h"
#include "support/emulated_gpu.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/hw.h"
#include "ronde/schedules.h"
#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Launches drawn for all schedules together at 100 percent, in equal parts. */
#define LAUNCHES 40000u

/* And of each schedule that was written by hand. */
#define LAUNCHES_OF_A_FILE 300u

/* Below this percentage the sample is too small to meet all pairs. */
#define PERCENT_FOR_PAIRS 40u

/* All images of a launch; a few launches may be larger, so that default slots are filled too. */
#define USUAL_BYTES (256u << 10)
#define LARGE_BYTES (4u << 20)
#define LARGE_ONE_IN 16u

/* After so many failures the cause is clear. */
#define FAILURES_SHOWN 10u

#define BACKENDS_MAX 8u
#define RANKS_MAX 33u

static const uint32_t rank_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33};

/* A backend that probe found. */
struct bench {
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
    uint64_t random;
    uint64_t launches;
    uint64_t too_large;
    uint64_t planned; /* schedules there will be */
    uint64_t visited; /* requests so far */
    uint64_t schedules;
    uint64_t unsupported;
    uint64_t uneven;                            /* launches with blocks of different lengths */
    uint64_t uneven_runs[RONDE_PROTOCOL_COUNT]; /* of these, by how messages travelled */
    uint64_t refused;                           /* such launches of schedules that have no v-form */
    uint32_t failures;
} state;

static uint64_t percentage(void)
{
    return suite_number("RONDE_TEST_SCALE", 100);
}

static void open_backend(const struct ronde_backend *backend)
{
    struct ronde_machine machine;
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(state.bench_count < BACKENDS_MAX);
    struct bench *bench = &state.benches[state.bench_count];
    if (backend->probe(&machine, &error) != RONDE_OK) {
        suite_note("not run on %s: %s", backend->name, error.message);
        return;
    }
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
    const struct ronde_backend *const *backends = ronde_backends(&count);
    for (uint32_t b = 0; b < count; b++)
        if (b == 0 || !wanted || strcmp(backends[b]->name, wanted) == 0)
            open_backend(backends[b]);
    if (!wanted || strcmp(emulated_backend.name, wanted) == 0)
        open_backend(&emulated_backend);
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

/* One launch of one schedule. */
struct trial {
    const struct ronde_schedule *schedule;
    struct sample sample;
    struct buffers_shape shape;
    bool is_as_drawn; /* nothing the sample asks for was left out */
    struct buffers actual;
    struct buffers expected;
};

static void fail(const struct trial *trial, const struct bench *bench, const char *text)
{
    const struct buffers_shape *shape = &trial->shape;
    CU_FAIL("a launch went wrong");
    if (state.failures++ < FAILURES_SHOWN)
        suite_note("%s: %s %s ranks %u channels %u%s root %u count %llu %s %s%s blocks %u depth %u "
                   "slot %u protocol %u stream %u level %u: %s",
                   bench->backend->name, ronde_collective_text(shape->collective),
                   trial->schedule->algorithm, shape->ranks, trial->schedule->channel_count,
                   trial->schedule->channels[0].order ? " ordered" : "", shape->root,
                   (unsigned long long)shape->count, ronde_dtype_text(shape->dtype),
                   ronde_op_text(shape->op), shape->in_place ? " in place" : "",
                   (unsigned)shape->blocks, trial->sample.at[SAMPLE_DEPTH],
                   trial->sample.at[SAMPLE_SLOT], trial->sample.at[SAMPLE_PROTOCOL],
                   trial->sample.at[SAMPLE_STREAM], trial->sample.at[SAMPLE_LEVEL], text);
}

/* Runs a trial on a loaded backend into `into`, freshly filled. Returns whether it ran. */
static bool run_on(struct bench *bench, const struct trial *trial, uint64_t seed,
                   struct buffers *into)
{
    buffers_fill(into);
    const bool is_least = trial->sample.at[SAMPLE_DEPTH] == 0;
    struct ronde_launch launch = buffers_launch(into);
    launch.slot_bytes = trial->sample.at[SAMPLE_SLOT] == 0 ? 64 : 0;
    launch.depth = is_least ? trial->schedule->proof.min_depth : 0;
    /* What is expected is computed by the plainest means there is. */
    static const enum ronde_protocol protocols[] = {RONDE_PROTOCOL_STAGED, RONDE_PROTOCOL_PULL,
                                                    RONDE_PROTOCOL_PUSH};
    const bool is_plain = into == &trial->expected;
    launch.protocol = protocols[is_plain ? 0 : trial->sample.at[SAMPLE_PROTOCOL]];
    launch.stream_from_bytes = is_plain || trial->sample.at[SAMPLE_STREAM] == 0 ? UINT64_MAX : 1;
    const enum ronde_level level =
        (enum ronde_level)(RONDE_LEVEL_PLAIN + trial->sample.at[SAMPLE_LEVEL]);
    launch.level = is_plain || !ronde_level_is_here(level) ? RONDE_LEVEL_PLAIN : level;
    launch.seed = seed;
    launch.timeout_ns = UINT64_C(60000000000);
    struct ronde_result result;
    struct ronde_error error = {0};
    void *run;
    bench->runs++;
    enum ronde_status status = bench->backend->run(bench->program, &launch, &run, &error);
    if (status == RONDE_OK)
        status = bench->backend->wait(run, &result, &error);
    if (status != RONDE_OK)
        fail(trial, bench, error.message);
    else if (buffers_vary(&trial->shape))
        state.uneven_runs[result.protocol]++;
    return status == RONDE_OK;
}

static void compare(struct bench *bench, const struct trial *trial)
{
    char text[256];
    const bool differs = buffers_differ(&trial->actual, &trial->expected, text, sizeof text);
    CU_ASSERT(!differs);
    if (differs)
        fail(trial, bench, text);
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
            const uint64_t seed = buffers_draw(&state.random);
            if (run_on(&state.benches[b], trial, seed, &trial->actual))
                compare(&state.benches[b], trial);
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
static void expect_refusal(struct trial *trial, const char *part)
{
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

/* Whether tables of a shape hold blocks of different lengths, and not only might. */
static bool has_short_block(const struct buffers_shape *shape)
{
    struct buffers buffers;
    CU_ASSERT_FATAL(buffers_create(shape, &buffers));
    bool has = false;
    const size_t blocks = ronde_collective_in_blocks(shape->collective, shape->ranks) +
                          ronde_collective_out_blocks(shape->collective, shape->ranks);
    for (size_t k = 0; buffers.counts && k < blocks * shape->ranks; k++)
        has = has || buffers.counts[k] != shape->count;
    buffers_destroy(&buffers);
    return has;
}

/* Replaces what a sample asks for and the collective or the schedule does not have. */
static void settle_shape(struct trial *trial)
{
    struct buffers_shape *shape = &trial->shape;
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const struct buffers_shape drawn = *shape;
    const bool has_data = ronde_collective_in_blocks(shape->collective, shape->ranks) > 0;
    shape->in_place = shape->in_place && traits->has_in_place;
    if (!traits->reduces)
        shape->op = RONDE_SUM;
    if (!has_data)
        shape->blocks = BUFFERS_ADJACENT;
    if (buffers_vary(shape) && trial->schedule->v_form == RONDE_V_NONE) {
        if (shape->count > 0 && shape->count < 100 && has_short_block(shape)) {
            expect_refusal(trial, "blocks differ in length");
            state.refused++;
        }
        shape->blocks = BUFFERS_SEPARATE;
    }
    trial->is_as_drawn = traits->reduces && shape->blocks == drawn.blocks;
}

/* Draws a launch of a schedule and runs it everywhere. */
static void sample_schedule(const struct ronde_schedule *schedule)
{
    struct trial trial = {.schedule = schedule, .sample = sample_draw(&state.random)};
    const struct sample *sample = &trial.sample;
    const uint64_t slot_bytes = sample->at[SAMPLE_SLOT] == 0 ? 64 : state.benches[0].slot_bytes;
    trial.shape = (struct buffers_shape){
        .collective = schedule->collective,
        .ranks = schedule->ranks,
        .root = schedule->root,
        .count = sample_count(sample, schedule, slot_bytes),
        .dtype = (enum ronde_dtype)sample->at[SAMPLE_DTYPE],
        .op = (enum ronde_op)sample->at[SAMPLE_OP],
        .in_place = sample->at[SAMPLE_PLACE] == 1,
        .blocks = (enum buffers_blocks)sample->at[SAMPLE_BLOCKS],
        .data = (enum buffers_data)sample->at[SAMPLE_DATA],
        .seed = buffers_draw(&state.random),
    };
    settle_shape(&trial);
    const bool may_be_large = buffers_draw(&state.random) % LARGE_ONE_IN == 0;
    if (buffers_bytes(&trial.shape) > (may_be_large ? LARGE_BYTES : USUAL_BYTES)) {
        state.too_large++;
        return;
    }
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

/* What is done with every request there is. */
typedef void (*visitor)(const struct ronde_algorithm *algorithm,
                        const struct ronde_request *request);

static void count_request(const struct ronde_algorithm *algorithm,
                          const struct ronde_request *request)
{
    state.planned += algorithm->supports(request, NULL) == RONDE_OK;
}

static void try_request(const struct ronde_algorithm *algorithm, const struct ronde_request *request)
{
    struct ronde_error error = {0};
    /* A sanitizer of GPUs takes seconds for what takes milliseconds: every so-many-th has to do. */
    const uint64_t stride = suite_number("RONDE_TEST_STRIDE", 1);
    if (stride > 1 && state.visited++ % stride != 0)
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

/* An order far from the identity: ranks by threes, then the rest. Rooted collectives keep their root's place. */
static void fill_order(uint32_t ranks, uint32_t *order)
{
    uint32_t filled = 0;
    for (uint32_t start = 0; start < 3; start++)
        for (uint32_t rank = (start + 1) % 3; rank < ranks; rank += 3)
            order[filled++] = rank;
}

/* Channels 1 and 2, and 2 again in another order where no root asks for a place of its own. */
static void visit_root(const struct ronde_algorithm *algorithm, uint32_t ranks, uint32_t root,
                       visitor visit)
{
    uint32_t order[RANKS_MAX];
    struct ronde_request request = {.collective = algorithm->collective,
                                    .algorithm = algorithm->name,
                                    .ranks = ranks,
                                    .root = root};
    for (request.channels = 1; request.channels <= 2; request.channels++)
        visit(algorithm, &request);
    if (ronde_collective_traits(algorithm->collective)->has_root)
        return;
    fill_order(ranks, order);
    request.order = order;
    request.channels = 2;
    visit(algorithm, &request);
}

/* All ranks and roots of an algorithm. */
static void visit_algorithm(const struct ronde_algorithm *algorithm, visitor visit)
{
    const bool has_root = ronde_collective_traits(algorithm->collective)->has_root;
    for (size_t r = 0; r < sizeof rank_values / sizeof rank_values[0]; r++) {
        const uint32_t ranks = rank_values[r];
        const uint32_t roots[3] = {0, ranks / 2, ranks - 1};
        for (uint32_t k = 0; k < (has_root ? 3u : 1u); k++)
            if (k == 0 || roots[k] != roots[k - 1])
                visit_root(algorithm, ranks, roots[k], visit);
    }
}

static void backends_give_what_collectives_define(void)
{
    memset(&state, 0, sizeof state);
    open_backends();
    CU_ASSERT_FATAL(state.bench_count > 0);
    CU_ASSERT_STRING_EQUAL(state.benches[0].backend->name, "host");
    uint32_t count;
    const struct ronde_algorithm *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        visit_algorithm(&algorithms[a], count_request);
    for (uint32_t a = 0; a < count; a++)
        visit_algorithm(&algorithms[a], try_request);
    CU_ASSERT(files_walk("tests/data/schedules", ".ronde", try_file, NULL) > 0);
    suite_note(
        "%llu schedules, %llu refused with a reason; %llu launches, %llu left out as too large",
        (unsigned long long)state.schedules, (unsigned long long)state.unsupported,
        (unsigned long long)state.launches, (unsigned long long)state.too_large);
    suite_note("%llu launches with blocks of different lengths, %llu refused for want of a v-form",
               (unsigned long long)state.uneven, (unsigned long long)state.refused);
    CU_ASSERT(state.uneven > 0 && state.refused > 0);
    suite_note("of their runs %llu were staged, %llu pulled, %llu pushed",
               (unsigned long long)state.uneven_runs[RONDE_PROTOCOL_STAGED],
               (unsigned long long)state.uneven_runs[RONDE_PROTOCOL_PULL],
               (unsigned long long)state.uneven_runs[RONDE_PROTOCOL_PUSH]);
    CU_ASSERT(wanted_backend() || state.uneven_runs[RONDE_PROTOCOL_PULL] > state.uneven / 2);
    CU_ASSERT(wanted_backend() || state.uneven_runs[RONDE_PROTOCOL_PUSH] > state.uneven / 4);
    close_backends();
}

static void sample_covers_all_pairs(void)
{
    uint32_t missing;
    const uint32_t pairs = sample_pairs(&missing);
    suite_note("%u of %u pairs of values met", pairs - missing, pairs);
    if (percentage() < PERCENT_FOR_PAIRS) {
        suite_skip("RONDE_TEST_SCALE below %u", PERCENT_FOR_PAIRS);
        return;
    }
    CU_ASSERT_EQUAL(missing, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"backends_give_what_collectives_define", backends_give_what_collectives_define},
        {"sample_covers_all_pairs", sample_covers_all_pairs},
    };
    return suite_run("conformance", cases, sizeof cases / sizeof cases[0]);
}
