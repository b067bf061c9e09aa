/*
 * Comparison: per number of ranks all schedules are loaded together, per size they are measured in turns.
 *
 * Order of work for one number of ranks: compile, predict every point, load, then size by size check and measure.
 * Predictions never see a measurement and measurements never see a prediction.
 */
#include "compare.h"

#include "ronde/distance.h"
#include "ronde/hw.h"
#include "ronde/measurer.h"
#include "ronde/mem.h"
#include "ronde/setup.h"

/* The measurer of a comparison on this machine: a backend as the time model has it. */

/** A backend and what is loaded on it. */
struct local_measurer {
    const char *backend;                                         /**< its name */
    struct ronde_target target;                                  /**< open while a job is */
    struct ronde_benchmark benchmarks[RONDE_MEASURED_SCHEDULES]; /**< of the job */
    uint32_t count;                                              /**< how many */
    struct ronde_memory memory;                                  /**< shared by them */
    struct ronde_distance *distance; /**< between processors; NULL where none is known */
    bool has_moved; /**< the last point was measured at another distance than the constants */
};

/* Schedules of a comparison on one of this machine's backends, in turns on the same buffers. */

/* Runs of a point, whatever its window. */
#define LEAST_REPETITIONS 5u

/* How long a job waits, in all, for processors to be as far from each other as when the constants were measured. */
#define PATIENCE_NS 4e10

/* Buffers for the largest size. */
static enum ronde_status make_memory(struct local_measurer *local, uint64_t max_count,
                                     struct ronde_error *error)
{
    struct ronde_input_range shape = local->benchmarks[0].shape;
    shape.count = max_count;
    const enum ronde_status status = ronde_memory_create(&shape, &local->memory, error);
    local->memory.near = &local->target.bind;
    return status;
}

/* Only where the constants say what distance they hold for; without threads there is none. */
static enum ronde_status watch_processors(struct local_measurer *local, double line_ns,
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
    struct local_measurer *local = self;
    enum ronde_status status = ronde_target_open_modelled(local->backend, &local->target, error);
    local->count = job->count;
    for (uint32_t i = 0; status == RONDE_OK && i < job->count; i++)
        status = ronde_benchmark_open(&local->target, job->schedules[i], &job->options,
                                      &local->benchmarks[i], error);
    /* The time model has no stores that bypass the caches. */
    for (uint32_t i = 0; status == RONDE_OK && i < job->count; i++)
        local->benchmarks[i].launch.stream_from_bytes = UINT64_MAX;
    RONDE_THEN(status, watch_processors(local, job->line_ns, error));
    return status == RONDE_OK ? make_memory(local, job->max_count, error) : status;
}

static enum ronde_status check_point(void *self, uint32_t schedule, uint64_t count,
                                     uint64_t out_wrong[2], struct ronde_error *error)
{
    struct local_measurer *local = self;
    return ronde_benchmark_check(&local->benchmarks[schedule], &local->memory, count, out_wrong,
                                 error);
}

static enum ronde_status measure(void *self, uint64_t count, double window_ns,
                                 struct ronde_stats *out_stats, struct ronde_error *error)
{
    struct local_measurer *local = self;
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
    const struct local_measurer *local = self;
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
    struct local_measurer *local = self;
    for (uint32_t i = 0; i < local->count; i++)
        ronde_benchmark_close(&local->benchmarks[i]);
    local->count = 0;
    ronde_distance_close(local->distance);
    local->distance = NULL;
    ronde_memory_destroy(&local->memory);
    ronde_target_close(&local->target);
}

/* The functions; *local outlives them, starts with its backend's name and zeroes, and is not moved. */
static struct ronde_measurer local_measurer(struct local_measurer *local)
{
    return (struct ronde_measurer){.self = local,
                                   .open = open_job,
                                   .check = check_point,
                                   .measure = measure,
                                   .describe = describe,
                                   .close = close_job};
}

/* Time for a point where none is asked for, ns. */
#define WINDOW_NS 2e8

/*
 * Sizes up to this are also compared with host, which is slow; larger ones run the same steps for more pieces.
 */
#define CHECKED_BYTES ((uint64_t)1 << 20)

/* The times of a point, as records. */
struct point_records {
    struct ronde_record of[RONDE_SOURCE_COUNT];
};

/* Everything that belongs to one number of ranks. */
struct lineup {
    struct ronde_comparison *comparison;
    uint32_t rank_index;
    struct point_records *records; /* per size, per algorithm */
    struct local_measurer local;
    struct ronde_measurer measurer;
    struct ronde_candidate candidates[RONDE_MEASURED_SCHEDULES];
};

/* What is asked of one number of ranks. */
static struct ronde_compile_request request_of(const struct ronde_compare_options *options,
                                               uint32_t rank_index, uint32_t algorithm)
{
    struct ronde_compile_request request = options->request;
    request.ranks = options->ranks[rank_index];
    request.algorithm = options->algorithms[algorithm];
    return request;
}

/* Every name and number before anything is measured. */
static enum ronde_status check_requests(const struct ronde_compare_options *options,
                                        struct ronde_error *error)
{
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        const struct ronde_algorithm *algorithm =
            ronde_parse_algorithm(options->request.collective, options->algorithms[a], error);
        if (!algorithm)
            return RONDE_BAD_ARGUMENT;
        for (uint32_t r = 0; r < options->rank_counts; r++) {
            const struct ronde_compile_request request = request_of(options, r, a);
            RONDE_TRY(algorithm->supports(&request, error));
        }
    }
    return RONDE_OK;
}

static enum ronde_status check(const struct ronde_compare_options *options,
                               struct ronde_error *error)
{
    if (options->rank_counts == 0 || options->algorithm_count == 0 || options->size_count == 0 ||
        options->algorithm_count > RONDE_MEASURED_SCHEDULES || options->size_count > RONDE_MAX_SIZES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a comparison of %u numbers of ranks, %u algorithms (at most %u) and %u "
                          "sizes (at most %u)",
                          options->rank_counts, options->algorithm_count, RONDE_MEASURED_SCHEDULES,
                          options->size_count, RONDE_MAX_SIZES);
    return check_requests(options, error);
}

enum ronde_status ronde_comparison_open(const struct ronde_compare_options *options,
                                        struct ronde_comparison *out_comparison,
                                        struct ronde_error *error)
{
    struct ronde_comparison comparison = {.options = *options};
    const char *why_not = NULL;
    const bool is_network = options->measurer && options->measurer->is_network;
    RONDE_TRY(check(options, error));
    comparison.grid =
        (struct ronde_validation){.collective = options->request.collective,
                                  .algorithms = options->algorithms,
                                  .algorithm_count = options->algorithm_count,
                                  .ranks = options->ranks,
                                  .rank_counts = options->rank_counts,
                                  .size_count = options->size_count,
                                  .has_ports = is_network,
                                  .has_cores = !is_network &&
                                               ronde_platform_has_caches(options->forecast.platform),
                                  .lacks_simgrid = !ronde_sim_simgrid_available(&why_not)};
    if (options->window_ns <= 0.0)
        comparison.options.window_ns = WINDOW_NS;
    comparison.grid.points =
        ronde_mem_new(ronde_mem_default(), ronde_validation_size(&comparison.grid),
                      sizeof *comparison.grid.points);
    if (!comparison.grid.points)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the points of a comparison");
    ronde_machine_line(options->backend, ronde_usable_cores(), comparison.machine,
                       sizeof comparison.machine);
    *out_comparison = comparison;
    return RONDE_OK;
}

void ronde_comparison_close(struct ronde_comparison *comparison)
{
    struct ronde_validation *grid = &comparison->grid;
    ronde_mem_free(ronde_mem_default(), grid->points, ronde_validation_size(grid),
                   sizeof *grid->points);
    grid->points = NULL;
}

/* Elements of a block at this number of ranks. */
static uint64_t count_of(const struct lineup *lineup, uint64_t bytes)
{
    const struct ronde_compare_options *options = &lineup->comparison->options;
    return ronde_record_count(options->request.collective, options->ranks[lineup->rank_index],
                              bytes, options->benchmark.dtype);
}

/* Compiles what will run at this number of ranks. */
static enum ronde_status compile_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_compare_options *options = &lineup->comparison->options;
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        /* What is measured sits where it sits, and what is predicted does what is measured. */
        const struct ronde_setup setup = {.platform = options->forecast.platform,
                                          .request = request_of(options, lineup->rank_index, a),
                                          .is_placed = true,
                                          .placement = RONDE_PLACE_FILE};
        RONDE_TRY(ronde_candidate_open(&setup, ronde_mem_default(), &lineup->candidates[a], error));
    }
    return RONDE_OK;
}

/* All predictions of one point. */
static enum ronde_status predict(const struct lineup *lineup, uint32_t algorithm, uint64_t count,
                                 struct point_records *out, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    struct ronde_forecast forecast = comparison->options.forecast;
    forecast.schedule = lineup->candidates[algorithm].schedule;
    forecast.request = lineup->candidates[algorithm].request;
    forecast.load.count = count;
    RONDE_TRY(ronde_forecast_check(&forecast, error));
    if (comparison->grid.has_ports)
        RONDE_TRY(ronde_record_replay(&forecast, "ports", &out->of[RONDE_SOURCE_PORTS], NULL, error));
    if (comparison->grid.has_cores)
        RONDE_TRY(ronde_record_replay(&forecast, "cores", &out->of[RONDE_SOURCE_CORES], NULL, error));
    if (!comparison->grid.lacks_simgrid)
        RONDE_TRY(
            ronde_record_replay(&forecast, "simgrid", &out->of[RONDE_SOURCE_SIMGRID], NULL, error));
    return ronde_record_closed_form(&forecast, &out->of[RONDE_SOURCE_CLOSED_FORM], error);
}

/* Of all numbers of ranks and sizes, replays and measurements as halves: which take longer is not known. */
static double share_of(const struct ronde_comparison *comparison, uint32_t rank_index,
                       bool is_measured, uint32_t size_index)
{
    const struct ronde_validation *grid = &comparison->grid;
    const double half = (is_measured ? 1.0 : 0.0) + (double)size_index / grid->size_count;
    return ((double)rank_index + half / 2) / grid->rank_counts;
}

/*
 * All predictions of this number of ranks come before anything is loaded: a replay forks, and after a fork every page of
 * the buffers would fault once more, in the middle of what is measured.
 */
static enum ronde_status predict_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    const struct ronde_validation *grid = &comparison->grid;
    for (uint32_t s = 0; s < grid->size_count; s++) {
        ronde_reporter_say(&comparison->options.reporter,
                           share_of(comparison, lineup->rank_index, false, s),
                           "replaying %u ranks, size %u of %u", grid->ranks[lineup->rank_index],
                           s + 1, grid->size_count);
        for (uint32_t a = 0; a < grid->algorithm_count; a++)
            RONDE_TRY(predict(lineup, a, count_of(lineup, comparison->options.sizes[s]),
                              &lineup->records[s * grid->algorithm_count + a], error));
    }
    return RONDE_OK;
}

/* All algorithms at once, so that they can be measured in turns. */
static enum ronde_status load_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_compare_options *options = &lineup->comparison->options;
    const struct ronde_schedule *schedules[RONDE_MEASURED_SCHEDULES] = {NULL};
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        schedules[a] = lineup->candidates[a].schedule;
    struct ronde_measurer_job job = {
        .schedules = schedules,
        .count = options->algorithm_count,
        .max_count = count_of(lineup, options->sizes[options->size_count - 1]),
        .options = options->benchmark,
        .line_ns = ronde_platform_facts(options->forecast.platform)->caches.line_ns};
    /* Measured with the pieces that the constants were measured with, unless told otherwise. */
    job.options.slot_bytes = options->forecast.load.slot_bytes;
    /* The time model stages every message; what it predicts is what is measured. */
    job.options.protocol = RONDE_PROTOCOL_STAGED;
    return lineup->measurer.open(lineup->measurer.self, &job, error);
}

/* The order matters: see predict_all. */
static enum ronde_status open_lineup(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_compare_options *options = &lineup->comparison->options;
    lineup->local = (struct local_measurer){.backend = options->backend};
    lineup->measurer = options->measurer ? *options->measurer : local_measurer(&lineup->local);
    lineup->records =
        ronde_mem_new(ronde_mem_default(), (size_t)options->size_count * options->algorithm_count,
                      sizeof *lineup->records);
    if (!lineup->records)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the records of a comparison");
    RONDE_TRY(compile_all(lineup, error));
    RONDE_TRY(predict_all(lineup, error));
    return load_all(lineup, error);
}

/* Works at any stage of opening: what was not reached is zero. */
static void close_lineup(struct lineup *lineup)
{
    const struct ronde_compare_options *options = &lineup->comparison->options;
    lineup->measurer.close(lineup->measurer.self);
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        ronde_candidate_close(&lineup->candidates[a], ronde_mem_default());
    ronde_mem_free(ronde_mem_default(), lineup->records,
                   (size_t)options->size_count * options->algorithm_count, sizeof *lineup->records);
}

/* Compares with host where that is quick. */
static enum ronde_status check_size(struct lineup *lineup, uint64_t bytes, uint64_t *wrong,
                                    struct ronde_error *error)
{
    struct ronde_comparison *comparison = lineup->comparison;
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; status == RONDE_OK && a < comparison->grid.algorithm_count; a++) {
        uint64_t found[2] = {0, 0};
        wrong[a] = RONDE_NOT_CHECKED;
        if (bytes > CHECKED_BYTES)
            continue;
        status =
            lineup->measurer.check(lineup->measurer.self, a, count_of(lineup, bytes), found, error);
        wrong[a] = found[0];
        comparison->wrong += found[0] + found[1];
    }
    return status;
}

/* The measurement as a record of its own. */
static struct ronde_record measured_record(const struct lineup *lineup, uint32_t algorithm,
                                           uint64_t count, const struct ronde_stats *stats,
                                           uint64_t wrong)
{
    const struct ronde_compare_options *options = &lineup->comparison->options;
    const struct ronde_load load = {count, options->benchmark.dtype,
                                    options->forecast.load.slot_bytes, options->benchmark.depth};
    struct ronde_record record = ronde_record_of(lineup->candidates[algorithm].schedule, &load);
    record.kind = RONDE_RECORD_MEASURED;
    record.op = options->benchmark.op;
    record.machine = lineup->comparison->machine;
    record.time_ns = stats->median;
    record.min_ns = stats->min;
    record.p95_ns = stats->p95;
    record.reps = stats->count;
    record.wrong = wrong;
    lineup->measurer.describe(lineup->measurer.self, &record);
    return record;
}

/* From records to the grid that the summary reads. */
static void note_point(struct ronde_grid_point *point, const struct point_records *records,
                       const struct ronde_stats *stats)
{
    const struct ronde_record *record = &records->of[RONDE_SOURCE_MEASURED];
    point->bytes =
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype);
    point->measured = *stats;
    for (uint32_t s = 0; s < RONDE_SOURCE_COUNT; s++)
        point->time_ns[s] = records->of[s].time_ns;
    point->is_oversubscribed = ronde_record_has_label(record, "oversubscribed");
}

/* One size: checked first, then measured in turns, then told. */
static enum ronde_status run_size(struct lineup *lineup, uint32_t size_index,
                                  const struct ronde_point_sink *sink, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    const struct ronde_validation *grid = &comparison->grid;
    const uint64_t bytes = comparison->options.sizes[size_index];
    const uint64_t count = count_of(lineup, bytes);
    struct ronde_stats stats[RONDE_MEASURED_SCHEDULES];
    uint64_t wrong[RONDE_MEASURED_SCHEDULES];
    RONDE_TRY(check_size(lineup, bytes, wrong, error));
    RONDE_TRY(lineup->measurer.measure(lineup->measurer.self, count, comparison->options.window_ns,
                                       stats, error));
    for (uint32_t a = 0; a < grid->algorithm_count; a++) {
        struct point_records *records = &lineup->records[size_index * grid->algorithm_count + a];
        struct ronde_grid_point *point =
            ronde_validation_point(grid, lineup->rank_index, size_index, a);
        records->of[RONDE_SOURCE_MEASURED] = measured_record(lineup, a, count, &stats[a], wrong[a]);
        note_point(point, records, &stats[a]);
        RONDE_TRY(sink->on_point(sink->context, grid, point, records->of, error));
    }
    return RONDE_OK;
}

enum ronde_status ronde_comparison_run(struct ronde_comparison *comparison,
                                       const struct ronde_point_sink *sink,
                                       struct ronde_error *error)
{
    const struct ronde_validation *grid = &comparison->grid;
    const struct ronde_reporter *reporter = &comparison->options.reporter;
    enum ronde_status status = RONDE_OK;
    for (uint32_t r = 0; status == RONDE_OK && r < grid->rank_counts; r++) {
        struct lineup lineup = {.comparison = comparison, .rank_index = r};
        status = open_lineup(&lineup, error);
        for (uint32_t s = 0; status == RONDE_OK && s < grid->size_count; s++) {
            ronde_reporter_say(reporter, share_of(comparison, r, true, s),
                               "measuring %u ranks, size %u of %u", grid->ranks[r], s + 1,
                               grid->size_count);
            status = run_size(&lineup, s, sink, error);
        }
        close_lineup(&lineup);
    }
    ronde_reporter_end(reporter);
    return status;
}
