/* Schedules of a comparison on one of this machine's backends, in turns on the same buffers. */
#include "local_measurer.h"

#include "ronde/mem.h"

/* Runs of a point, whatever its window. */
#define LEAST_REPETITIONS 5u

/* How long a job waits, in all, for processors to be as far from each other as when the constants were measured. */
#define PATIENCE_NS 4e10

/* Buffers for the largest size. */
static enum ronde_status make_memory(struct ronde_local_measurer *local, uint64_t max_count,
                                     struct ronde_error *error)
{
    struct ronde_input_range shape = local->benchmarks[0].shape;
    shape.count = max_count;
    const enum ronde_status status = ronde_memory_create(&shape, &local->memory, error);
    local->memory.near = &local->target.bind;
    return status;
}

/* Only where the constants say what distance they hold for; without threads there is none. */
static enum ronde_status watch_processors(struct ronde_local_measurer *local, double line_ns,
                                          struct ronde_error *error)
{
    struct ronde_error none = {0};
    if (line_ns <= 0 || local->target.machine.devices > 0)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_distance_open(ronde_mem_default(), &local->distance, &none);
    ronde_distance_keep(local->distance, line_ns, PATIENCE_NS);
    return status == RONDE_OK || status == RONDE_UNAVAILABLE
               ? RONDE_OK
               : ronde_fail(error, status, "%s", none.message);
}

static enum ronde_status open_job(void *self, const struct ronde_measurer_job *job,
                                  struct ronde_error *error)
{
    struct ronde_local_measurer *local = self;
    enum ronde_status status = ronde_target_open_modelled(local->backend, &local->target, error);
    local->count = job->count;
    for (uint32_t i = 0; status == RONDE_OK && i < job->count; i++)
        status = ronde_benchmark_open(&local->target, job->schedules[i], &job->options,
                                      &local->benchmarks[i], error);
    /* The time model has no stores that bypass the caches. */
    for (uint32_t i = 0; status == RONDE_OK && i < job->count; i++)
        local->benchmarks[i].launch.stream_from_bytes = UINT64_MAX;
    if (status == RONDE_OK)
        status = watch_processors(local, job->line_ns, error);
    return status == RONDE_OK ? make_memory(local, job->max_count, error) : status;
}

static enum ronde_status check(void *self, uint32_t schedule, uint64_t count, uint64_t out_wrong[2],
                               struct ronde_error *error)
{
    struct ronde_local_measurer *local = self;
    return ronde_benchmark_check(&local->benchmarks[schedule], &local->memory, count, out_wrong,
                                 error);
}

static enum ronde_status measure(void *self, uint64_t count, double window_ns,
                                 struct ronde_stats *out_stats, struct ronde_error *error)
{
    struct ronde_local_measurer *local = self;
    const struct ronde_effort effort = {1, LEAST_REPETITIONS, RONDE_MAX_SAMPLES, window_ns};
    for (uint32_t i = 0; i < local->count; i++)
        ronde_benchmark_aim(&local->benchmarks[i], &local->memory, count, false);
    ronde_memory_fill(&local->memory, &local->benchmarks[0].shape, RONDE_PATTERN_ANY);
    const uint32_t missed = ronde_distance_missed(local->distance);
    enum ronde_status status;
    do {
        ronde_distance_await(local->distance);
        status =
            ronde_benchmarks_measure(local->benchmarks, local->count, &effort, out_stats, error);
    } while (status == RONDE_OK && !ronde_distance_held(local->distance));
    local->has_moved = ronde_distance_missed(local->distance) > missed;
    return status;
}

static void describe(const void *self, struct ronde_record *record)
{
    const struct ronde_local_measurer *local = self;
    const uint32_t devices = local->target.machine.devices;
    record->engine = local->target.backend->name;
    if (ronde_target_is_oversubscribed(&local->target, record->ranks))
        ronde_record_label(record, "oversubscribed");
    if (devices > 0 && record->ranks > devices)
        ronde_record_label(record, "virtual_ranks");
    if (local->has_moved)
        ronde_record_label(record, "moved");
}

static void close_job(void *self)
{
    struct ronde_local_measurer *local = self;
    for (uint32_t i = 0; i < local->count; i++)
        ronde_benchmark_close(&local->benchmarks[i]);
    local->count = 0;
    ronde_distance_close(local->distance);
    local->distance = NULL;
    ronde_memory_destroy(&local->memory);
    ronde_target_close(&local->target);
}

struct ronde_measurer ronde_local_measurer(struct ronde_local_measurer *local)
{
    return (struct ronde_measurer){.self = local,
                                   .open = open_job,
                                   .check = check,
                                   .measure = measure,
                                   .describe = describe,
                                   .close = close_job};
}
