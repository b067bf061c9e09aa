/*
 * Comparison: per number of ranks all schedules are loaded together, per size they are measured in turns.
 *
 * Order of work for one number of ranks: compile, predict every point, load, then size by size check and measure.
 * Predictions never see a measurement and measurements never see a prediction.
 */
#include "compare.h"

#include "lab/measure/local_measurer.h"

#include "ronde/hw.h"
#include "ronde/mem.h"
#include "ronde/setup.h"

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
    struct ronde_local_measurer local;
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
            const enum ronde_status status = algorithm->supports(&request, error);
            if (status != RONDE_OK)
                return status;
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
    const bool is_network = options->measurer && options->measurer->is_network;
    const enum ronde_status status = check(options, error);
    if (status != RONDE_OK)
        return status;
    comparison.grid =
        (struct ronde_validation){.collective = options->request.collective,
                                  .algorithms = options->algorithms,
                                  .algorithm_count = options->algorithm_count,
                                  .ranks = options->ranks,
                                  .rank_counts = options->rank_counts,
                                  .size_count = options->size_count,
                                  .has_ports = is_network,
                                  .has_cores = !is_network && ronde_platform_has_caches(
                                                                  options->forecast.platform)};
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
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; status == RONDE_OK && a < options->algorithm_count; a++) {
        /* What is measured sits where it sits, and what is predicted does what is measured. */
        const struct ronde_setup setup = {.platform = options->forecast.platform,
                                          .request = request_of(options, lineup->rank_index, a),
                                          .is_placed = true,
                                          .placement = RONDE_PLACE_FILE};
        status = ronde_candidate_open(&setup, ronde_mem_default(), &lineup->candidates[a], error);
    }
    return status;
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
    enum ronde_status status = ronde_forecast_check(&forecast, error);
    if (status == RONDE_OK && comparison->grid.has_ports)
        status = ronde_record_replay(&forecast, "ports", &out->of[RONDE_SOURCE_PORTS], NULL, error);
    if (status == RONDE_OK && comparison->grid.has_cores)
        status = ronde_record_replay(&forecast, "cores", &out->of[RONDE_SOURCE_CORES], NULL, error);
    if (status == RONDE_OK)
        status =
            ronde_record_replay(&forecast, "simgrid", &out->of[RONDE_SOURCE_SIMGRID], NULL, error);
    if (status == RONDE_OK)
        status = ronde_record_closed_form(&forecast, &out->of[RONDE_SOURCE_CLOSED_FORM], error);
    return status;
}

/*
 * All predictions of this number of ranks come before anything is loaded: a replay forks, and after a fork every page of
 * the buffers would fault once more, in the middle of what is measured.
 */
static enum ronde_status predict_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    const struct ronde_validation *grid = &comparison->grid;
    enum ronde_status status = RONDE_OK;
    for (uint32_t s = 0; status == RONDE_OK && s < grid->size_count; s++) {
        ronde_reporter_say(&comparison->options.reporter, "replaying %u ranks, size %u of %u",
                           grid->ranks[lineup->rank_index], s + 1, grid->size_count);
        for (uint32_t a = 0; status == RONDE_OK && a < grid->algorithm_count; a++)
            status = predict(lineup, a, count_of(lineup, comparison->options.sizes[s]),
                             &lineup->records[s * grid->algorithm_count + a], error);
    }
    return status;
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
    lineup->local = (struct ronde_local_measurer){.backend = options->backend};
    lineup->measurer = options->measurer ? *options->measurer : ronde_local_measurer(&lineup->local);
    lineup->records =
        ronde_mem_new(ronde_mem_default(), (size_t)options->size_count * options->algorithm_count,
                      sizeof *lineup->records);
    if (!lineup->records)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the records of a comparison");
    enum ronde_status status = compile_all(lineup, error);
    if (status == RONDE_OK)
        status = predict_all(lineup, error);
    return status == RONDE_OK ? load_all(lineup, error) : status;
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
    enum ronde_status status = check_size(lineup, bytes, wrong, error);
    if (status == RONDE_OK)
        status = lineup->measurer.measure(lineup->measurer.self, count,
                                          comparison->options.window_ns, stats, error);
    for (uint32_t a = 0; status == RONDE_OK && a < grid->algorithm_count; a++) {
        struct point_records *records = &lineup->records[size_index * grid->algorithm_count + a];
        struct ronde_grid_point *point =
            ronde_validation_point(grid, lineup->rank_index, size_index, a);
        records->of[RONDE_SOURCE_MEASURED] = measured_record(lineup, a, count, &stats[a], wrong[a]);
        note_point(point, records, &stats[a]);
        status = sink->on_point(sink->context, grid, point, records->of, error);
    }
    return status;
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
            ronde_reporter_say(reporter, "measuring %u ranks, size %u of %u", grid->ranks[r], s + 1,
                               grid->size_count);
            status = run_size(&lineup, s, sink, error);
        }
        close_lineup(&lineup);
    }
    ronde_reporter_end(reporter);
    return status;
}
