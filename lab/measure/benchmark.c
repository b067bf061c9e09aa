/*
 * Benchmarks: load once, run many times in turns, compare with host, and host with the definition.
 *
 * What is timed is a run on buffers that were filled and touched before, of a program that was
 * loaded before. What is checked is a run of its own on known inputs: timed runs in place feed on
 * their own results, whose values nobody can foretell.
 */
#include "reference.h"

#include "ronde/benchmark.h"
#include "ronde/device_lines.h"
#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/values.h"

#include <string.h>

/* More backends than any build has; names beyond would only miss a suggestion. */
#define MAX_BACKENDS 16u

/* After this long a run is given up where the options do not say. */
#define DEFAULT_TIMEOUT_NS UINT64_C(60000000000)

/* By name, with the nearest one in the error. */
static const struct ronde_backend *find_backend(const char *name, struct ronde_error *error)
{
    const char *names[MAX_BACKENDS];
    uint32_t total = 0;
    uint32_t count = 0;
    const struct ronde_executor *all = ronde_executors(&total);
    for (uint32_t i = 0; i < total && count < MAX_BACKENDS; i++)
        if (all[i].ranks != RONDE_RANKS_PROCESSES)
            names[count++] = all[i].name;
    const char *nearest = ronde_nearest(name, names, count);
    if (nearest && strcmp(nearest, name) != 0) {
        ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown backend \"%s\"; did you mean %s?", name,
                   nearest);
        return NULL;
    }
    return ronde_backend_find(name, error);
}

/* A backend that has no row, such as a test's, or a communicator, does what backends do. */
bool ronde_target_moves_data(const struct ronde_target *target)
{
    const struct ronde_executor *executor = ronde_executor_find(target->backend->name);
    return !executor || executor->moves_data;
}

/* Opens a target on a machine as it is, or as the time model has it. */
static enum ronde_status open_target(const char *name, bool is_modelled, bool is_unbound,
                                     struct ronde_target *out_target, struct ronde_error *error)
{
    struct ronde_target target = {.backend = find_backend(name, error)};
    if (!target.backend)
        return RONDE_BAD_ARGUMENT;
    if (is_modelled && !ronde_target_moves_data(&target))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "backend %s moves no data: its times say nothing about a machine", name);
    enum ronde_status status = target.backend->probe(&target.machine, error);
    if (is_modelled)
        target.machine.alone_bytes = 0;
    target.machine.is_unbound = is_unbound;
    if (target.machine.devices > 0)
        target.machine.lines_up_to_bytes = ronde_device_lines_up_to_bytes(&target.machine);
    const bool is_bound = !is_unbound && target.backend == &ronde_backend_cpu;
    if (status == RONDE_OK && is_bound)
        status = ronde_bind_open(ronde_mem_default(), &target.bind, error);
    /* To look at the machine takes longer than most runs: the backend uses the list that buffers are touched by. */
    target.machine.bind = is_bound ? &target.bind : NULL;
    RONDE_THEN(status,
               target.backend->open(&target.machine, ronde_mem_default(), &target.self, error));
    target.machine.bind = NULL;
    if (status == RONDE_OK)
        *out_target = target;
    else if (target.bind.mem)
        ronde_bind_close(&target.bind);
    return status;
}

enum ronde_status ronde_target_open(const char *name, bool is_unbound,
                                    struct ronde_target *out_target, struct ronde_error *error)
{
    return open_target(name, false, is_unbound, out_target, error);
}

enum ronde_status ronde_target_open_modelled(const char *name, struct ronde_target *out_target,
                                             struct ronde_error *error)
{
    return open_target(name, true, false, out_target, error);
}

void ronde_target_close(struct ronde_target *target)
{
    if (target->backend)
        target->backend->close(target->self);
    if (target->bind.mem)
        ronde_bind_close(&target->bind);
    *target = (struct ronde_target){0};
}

bool ronde_target_is_oversubscribed(const struct ronde_target *target, uint32_t ranks)
{
    return target->machine.cores > 0 && ranks > target->machine.cores;
}

struct ronde_benchmark ronde_benchmark_describe(const struct ronde_target *target,
                                                const struct ronde_schedule *schedule,
                                                const struct ronde_benchmark_options *options)
{
    struct ronde_benchmark benchmark = {.target = target, .schedule = schedule};
    benchmark.shape = (struct ronde_input_range){.collective = schedule->collective,
                                                 .ranks = schedule->ranks,
                                                 .root = schedule->root,
                                                 .dtype = options->dtype,
                                                 .op = options->op};
    benchmark.launch = (struct ronde_launch){.dtype = options->dtype,
                                             .op = options->op,
                                             .slot_bytes = options->slot_bytes,
                                             .depth = options->depth,
                                             .protocol = options->protocol,
                                             .seed = options->seed,
                                             .timeout_ns = options->timeout_ns ? options->timeout_ns
                                                                               : DEFAULT_TIMEOUT_NS};
    return benchmark;
}

enum ronde_status
ronde_benchmark_open(const struct ronde_target *target, const struct ronde_schedule *schedule,
                     const struct ronde_benchmark_options *options,
                     struct ronde_benchmark *out_benchmark, struct ronde_error *error)
{
    struct ronde_benchmark benchmark = ronde_benchmark_describe(target, schedule, options);
    RONDE_TRY(target->backend->load(target->self, schedule, &benchmark.program, error));
    *out_benchmark = benchmark;
    return RONDE_OK;
}

void ronde_benchmark_close(struct ronde_benchmark *benchmark)
{
    if (benchmark->target)
        benchmark->target->backend->unload(benchmark->program);
    *benchmark = (struct ronde_benchmark){0};
}

void ronde_benchmark_aim(struct ronde_benchmark *benchmark, struct ronde_memory *memory,
                         uint64_t count, bool in_place)
{
    benchmark->memory = memory;
    benchmark->shape.count = count;
    benchmark->launch.count = count;
    benchmark->launch.in = memory->in;
    benchmark->launch.out = memory->out;
    benchmark->launch.factors = memory->factors;
    ronde_memory_view(memory, &benchmark->shape, in_place);
}

enum ronde_status ronde_benchmark_run(struct ronde_benchmark *benchmark, double *out_ns,
                                      struct ronde_error *error)
{
    const struct ronde_backend *backend = benchmark->target->backend;
    struct ronde_result result = {0};
    void *run = NULL;
    const double start_ns = ronde_clock_ns();
    enum ronde_status status = backend->run(benchmark->program, &benchmark->launch, &run, error);
    RONDE_THEN(status, backend->wait(run, &result, error));
    /* A backend without a clock of its own (host) is timed from outside. */
    if (status == RONDE_OK)
        *out_ns = result.is_virtual ? ronde_clock_ns() - start_ns : result.elapsed_ns;
    benchmark->protocol = result.protocol;
    return status;
}

enum ronde_status ronde_benchmark_check(struct ronde_benchmark *benchmark,
                                        struct ronde_memory *memory, uint64_t count,
                                        uint64_t *out_wrong, struct ronde_error *error)
{
    struct ronde_reference reference;
    double unused_ns = 0.0;
    if (!ronde_target_moves_data(benchmark->target))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "backend %s moves no data: there is no result to check",
                          benchmark->target->backend->name);
    ronde_benchmark_aim(benchmark, memory, count, false);
    enum ronde_status status = ronde_reference_open(benchmark, &reference, error);
    for (int in_place = 0; status == RONDE_OK && in_place < 2; in_place++) {
        out_wrong[in_place] = 0;
        if (!ronde_benchmark_has_placement(benchmark, in_place != 0))
            continue;
        ronde_benchmark_aim(benchmark, memory, count, in_place != 0);
        ronde_memory_fill(memory, &benchmark->shape, ronde_reference_pattern(benchmark));
        status = ronde_benchmark_run(benchmark, &unused_ns, error);
        RONDE_THEN(status, ronde_reference_wrong(&reference, &out_wrong[in_place], error));
    }
    ronde_reference_close(&reference);
    return status;
}

/* Samples of one benchmark on its way through the turns. */
struct series {
    double *samples;
    uint32_t count;
    double total_ns;
};

/*
 * A turn is a burst. Each loaded program may keep threads of its own, which go to sleep a while
 * after it has run and
 * have to be woken when it runs again; both would be charged to the neighbours in the round. So a
 * burst of short runs
 * begins with unmeasured ones until the others' threads are asleep; a long run drowns that by
 * itself. A run with few messages uses few slots of a connection: until all have had their turn, some lie where the
 * neighbours have left them.
 */
#define BURST_SETTLE_NS 1e6
#define SHORT_RUN_NS 1e6
#define SHORT_SETTLE_RUNS 8u
#define BURST_NS 5e6
#define BURST_RUNS 50u
#define LONG_RUN_NS 5e6

/* Both conditions, unless the most is reached: few long runs, many short ones. */
static bool is_enough(const struct series *series, const struct ronde_effort *effort)
{
    return series->count >= effort->max_reps ||
           (series->count >= effort->min_reps && series->total_ns >= effort->window_ns);
}

/* Unmeasured runs: at least `count`, and for `least_ns`. */
static enum ronde_status settle(struct ronde_benchmark *benchmark, uint32_t count, double least_ns,
                                struct ronde_error *error)
{
    double total_ns = 0.0;
    for (uint32_t i = 0; i < count || total_ns < least_ns; i++) {
        double elapsed_ns = 0.0;
        RONDE_TRY(ronde_benchmark_run(benchmark, &elapsed_ns, error));
        /* A run of nothing may take less than a tick of the clock. */
        total_ns += elapsed_ns > 10.0 ? elapsed_ns : 10.0;
    }
    return RONDE_OK;
}

/* Runs of one benchmark in a row. */
static enum ronde_status burst(struct ronde_benchmark *benchmark, const struct ronde_effort *effort,
                               struct series *series, bool is_alone, struct ronde_error *error)
{
    const double mean_ns = series->count ? series->total_ns / series->count : 0.0;
    double spent_ns = 0.0;
    if (!is_alone && mean_ns < LONG_RUN_NS)
        RONDE_TRY(settle(benchmark, mean_ns < SHORT_RUN_NS ? SHORT_SETTLE_RUNS : 1, BURST_SETTLE_NS,
                         error));
    for (uint32_t i = 0; i < BURST_RUNS && spent_ns < BURST_NS; i++) {
        double elapsed_ns = 0.0;
        if (is_enough(series, effort))
            break;
        RONDE_TRY(ronde_benchmark_run(benchmark, &elapsed_ns, error));
        series->samples[series->count++] = elapsed_ns;
        series->total_ns += elapsed_ns;
        spent_ns += elapsed_ns;
    }
    return RONDE_OK;
}

/* Turns until every benchmark has enough. */
static enum ronde_status take_turns(struct ronde_benchmark *benchmarks, uint32_t count,
                                    const struct ronde_effort *effort, struct series *series,
                                    struct ronde_error *error)
{
    for (uint32_t running = count; running > 0;) {
        running = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (is_enough(&series[i], effort))
                continue;
            running++;
            RONDE_TRY(burst(&benchmarks[i], effort, &series[i], count == 1, error));
        }
    }
    return RONDE_OK;
}

enum ronde_status ronde_benchmarks_measure(struct ronde_benchmark *benchmarks, uint32_t count,
                                           const struct ronde_effort *effort,
                                           struct ronde_stats *out_stats, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const size_t total = (size_t)count * effort->max_reps;
    double *samples = ronde_mem_new(mem, total, sizeof *samples);
    struct series *series = ronde_mem_new(mem, count, sizeof *series);
    enum ronde_status status = RONDE_OK;
    if (!samples || !series) {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu samples", total);
        goto out;
    }
    for (uint32_t i = 0; i < count; i++)
        series[i].samples = samples + (size_t)i * effort->max_reps;
    for (uint32_t i = 0; status == RONDE_OK && i < count; i++)
        status = settle(&benchmarks[i], effort->warmups, 0.0, error);
    RONDE_THEN(status, take_turns(benchmarks, count, effort, series, error));
    for (uint32_t i = 0; status == RONDE_OK && i < count; i++)
        out_stats[i] = ronde_stats_of(series[i].samples, series[i].count);
out:
    ronde_mem_free(mem, series, count, sizeof *series);
    ronde_mem_free(mem, samples, total, sizeof *samples);
    return status;
}

/* What a benchmark is of: whether it is the specification itself, and which placements there are. */

bool ronde_benchmark_has_placement(const struct ronde_benchmark *benchmark, bool in_place)
{
    return ronde_schedule_has_form(benchmark->schedule, in_place);
}
