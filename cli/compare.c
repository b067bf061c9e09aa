/*
 * Comparison: per number of ranks all schedules are loaded together, per size they are measured in
 * turns.
 *
 * Order of work for one number of ranks: compile, predict every point, load, then size by size
 * check and measure. Predictions never see a measurement and measurements never see a prediction.
 */
#include "compare.h"

#include "crew.h"
#include "predict.h"
#include "report.h"
#include "table.h"
#include "trial.h"

#include "ronde/hw.h"

/* About 0.2 s a point, five repetitions at least. */
static const struct ronde_effort effort = {1, 5, RONDE_MAX_SAMPLES, 2e8};

/* On a rig a run takes milliseconds and its spread is what the network makes it. */
static const struct ronde_crew_effort rig_effort = {9, 2};

/*
 * Sizes up to this are also compared with host, which is slow; larger ones run the same steps for
 * more pieces.
 */
#define CHECKED_BYTES ((uint64_t)1 << 20)

/* What a point is, then a time and its error per prediction, then labels. */
#define POINT_COLUMNS 5u
#define COLUMNS (POINT_COLUMNS + 2 * RONDE_SOURCE_COUNT - 1)

static const struct ronde_column point_columns[POINT_COLUMNS] = {
    {"ranks", "", 6},         {"size", "(B)", 6},  {"algorithm", "", 18},
    {"measured", "(us)", 10}, {"p95", "(us)", 10},
};

static const struct ronde_column source_columns[RONDE_SOURCE_COUNT] = {
    [RONDE_SOURCE_PORTS] = {"ports", "(us)", 10},
    [RONDE_SOURCE_CORES] = {"cores", "(us)", 10},
    [RONDE_SOURCE_SIMGRID] = {"simgrid", "(us)", 10},
    [RONDE_SOURCE_CLOSED_FORM] = {"closed form", "(us)", 11},
};

/* Lays out the columns a grid has; returns how many. */
static uint32_t list_columns(const struct ronde_validation *grid, struct ronde_column *out)
{
    uint32_t count = 0;
    for (; count < POINT_COLUMNS; count++)
        out[count] = point_columns[count];
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++) {
        if (!ronde_validation_has(grid, (enum ronde_source)s))
            continue;
        out[count++] = source_columns[s];
        out[count++] = (struct ronde_column){"error", "", 8};
    }
    out[count++] = (struct ronde_column){"labels", "", 0};
    return count;
}

/* The times of a point, as records. */
struct triple {
    struct ronde_record records[RONDE_SOURCE_COUNT];
};

/* Everything that belongs to one number of ranks. */
struct lineup {
    struct ronde_comparison *comparison;
    uint32_t rank_index;
    struct triple *triples;                      /* per size, per algorithm */
    struct ronde_target target;                  /* of this machine, */
    struct ronde_crew *crew;                     /* or the hosts of a rig */
    struct ronde_crew_job jobs[RONDE_MAX_NAMES]; /* what those run */
    struct ronde_request requests[RONDE_MAX_NAMES];
    struct ronde_schedule *schedules[RONDE_MAX_NAMES];
    struct ronde_trial trials[RONDE_MAX_NAMES];
    struct ronde_memory memory;
};

/*
 * The sweep ends at the largest size even where the factor steps over it: crossovers sit at the
 * ends.
 */
static enum ronde_status list_sizes(struct ronde_comparison *comparison, struct ronde_error *error)
{
    const struct ronde_options *options = comparison->options;
    uint32_t count = 0;
    for (uint64_t bytes = options->min_bytes; count < RONDE_MAX_SIZES;) {
        comparison->sizes[count++] = bytes;
        if (bytes == options->max_bytes)
            break;
        bytes = ronde_options_next_size(options, bytes);
        bytes = bytes ? bytes : options->max_bytes;
    }
    if (comparison->sizes[count - 1] != options->max_bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "more than %u sizes", RONDE_MAX_SIZES);
    comparison->grid.size_count = count;
    return RONDE_OK;
}

/* Every name and number before anything is measured. */
static enum ronde_status check_requests(const struct ronde_comparison *comparison,
                                        struct ronde_error *error)
{
    const struct ronde_options *options = comparison->options;
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        const struct ronde_algorithm *algorithm =
            ronde_parse_algorithm(comparison->grid.collective, options->algorithms[a], error);
        if (!algorithm)
            return RONDE_BAD_ARGUMENT;
        for (uint32_t r = 0; r < options->rank_counts; r++) {
            struct ronde_request request;
            enum ronde_status status = ronde_request_of(options, comparison->grid.collective,
                                                        options->ranks[r], &request, error);
            if (status != RONDE_OK)
                return status;
            request.algorithm = algorithm->name;
            status = algorithm->supports(&request, error);
            if (status != RONDE_OK)
                return status;
        }
    }
    return RONDE_OK;
}

enum ronde_status
ronde_comparison_open(const struct ronde_options *options, struct ronde_platform *platform,
                      struct ronde_comparison *out_comparison, struct ronde_error *error)
{
    struct ronde_comparison comparison = {.options = options, .platform = platform};
    struct ronde_validation *grid = &comparison.grid;
    enum ronde_status status = RONDE_OK;
    if (options->argument_count == 0 || options->rank_counts == 0 || options->algorithm_count == 0)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "a collective, -a and -N are needed, e.g. all_reduce -a ring,tree -N 2,4");
    status = ronde_parse_collective(options->arguments[0], &grid->collective, error);
    if (status == RONDE_OK)
        status = list_sizes(&comparison, error);
    if (status == RONDE_OK)
        status = check_requests(&comparison, error);
    if (status != RONDE_OK)
        return status;
    grid->has_ports = options->rig != NULL;
    grid->has_cores = options->rig == NULL && ronde_platform_has_caches(platform);
    grid->algorithms = options->algorithms;
    grid->algorithm_count = options->algorithm_count;
    grid->ranks = options->ranks;
    grid->rank_counts = options->rank_counts;
    grid->points =
        ronde_mem_new(ronde_mem_default(), ronde_validation_size(grid), sizeof *grid->points);
    if (!grid->points)
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
    const struct ronde_comparison *comparison = lineup->comparison;
    return ronde_record_count(comparison->grid.collective,
                              comparison->grid.ranks[lineup->rank_index], bytes,
                              comparison->options->dtype);
}

/* Buffers for the largest size. */
static enum ronde_status make_memory(struct lineup *lineup, struct ronde_error *error)
{
    const uint64_t largest = lineup->comparison->options->max_bytes;
    struct ronde_shape shape = lineup->trials[0].shape;
    shape.count = count_of(lineup, largest);
    enum ronde_status status = ronde_memory_create(&shape, &lineup->memory, error);
    lineup->memory.near = &lineup->target.bind;
    return status;
}

/* Compiles what will run at this number of ranks. */
static enum ronde_status compile_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; status == RONDE_OK && a < comparison->grid.algorithm_count; a++) {
        status = ronde_request_of(comparison->options, comparison->grid.collective,
                                  comparison->grid.ranks[lineup->rank_index], &lineup->requests[a],
                                  error);
        lineup->requests[a].algorithm = comparison->grid.algorithms[a];
        if (status == RONDE_OK)
            status = ronde_request_compile(&lineup->requests[a], &lineup->schedules[a], error);
    }
    return status;
}

/* All predictions of one point. */
static enum ronde_status predict(const struct lineup *lineup, uint32_t algorithm, uint64_t count,
                                 struct triple *out, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    struct ronde_forecast forecast =
        ronde_forecast_of(comparison->platform, lineup->schedules[algorithm],
                          &lineup->requests[algorithm], comparison->options);
    forecast.load.count = count;
    enum ronde_status status = ronde_forecast_check(&forecast, error);
    if (status == RONDE_OK && comparison->grid.has_ports)
        status = ronde_forecast_replay(&forecast, "ports", &out->records[RONDE_SOURCE_PORTS], NULL,
                                       error);
    if (status == RONDE_OK && comparison->grid.has_cores)
        status = ronde_forecast_replay(&forecast, "cores", &out->records[RONDE_SOURCE_CORES], NULL,
                                       error);
    if (status == RONDE_OK)
        status = ronde_forecast_replay(&forecast, "simgrid", &out->records[RONDE_SOURCE_SIMGRID],
                                       NULL, error);
    if (status == RONDE_OK)
        status =
            ronde_forecast_closed_form(&forecast, &out->records[RONDE_SOURCE_CLOSED_FORM], error);
    return status;
}

/*
 * All predictions of this number of ranks come before anything is loaded: a replay forks, and
 * after a fork every page
 * of the buffers would fault once more, in the middle of what is measured.
 */
static enum ronde_status predict_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    const struct ronde_validation *grid = &comparison->grid;
    enum ronde_status status = RONDE_OK;
    for (uint32_t s = 0; status == RONDE_OK && s < grid->size_count; s++) {
        ronde_progress("replaying %u ranks, size %u of %u", grid->ranks[lineup->rank_index], s + 1,
                       grid->size_count);
        for (uint32_t a = 0; status == RONDE_OK && a < grid->algorithm_count; a++)
            status = predict(lineup, a, count_of(lineup, comparison->sizes[s]),
                             &lineup->triples[s * grid->algorithm_count + a], error);
    }
    return status;
}

/* A process in every host of the rig. */
static enum ronde_status open_crew(struct lineup *lineup, const struct ronde_options *options,
                                   struct ronde_error *error)
{
    const struct ronde_validation *grid = &lineup->comparison->grid;
    const uint64_t largest = lineup->comparison->options->max_bytes;
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        lineup->jobs[a] = (struct ronde_crew_job){
            .schedule = lineup->schedules[a],
            .max_count = count_of(lineup, largest),
        };
    const struct ronde_crew_plan plan = {.rig = options->rig,
                                         .ranks = grid->ranks[lineup->rank_index],
                                         .options = options,
                                         .jobs = lineup->jobs,
                                         .job_count = grid->algorithm_count};
    return ronde_crew_open(&plan, &lineup->crew, error);
}

/* All algorithms at once, so that they can be measured in turns. */
static enum ronde_status load_all(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    struct ronde_options used = *comparison->options;
    enum ronde_status status =
        used.rig ? RONDE_OK : ronde_target_open_modelled(used.backend, &lineup->target, error);
    /* Measured with the pieces that the constants were measured with, unless told otherwise. */
    if (used.slot_bytes == 0)
        used.slot_bytes = ronde_platform_facts(comparison->platform)->slot_bytes;
    /* The time model stages every message; what it predicts is what is measured. */
    used.protocol = RONDE_PROTOCOL_STAGED;
    if (used.rig)
        return open_crew(lineup, &used, error);
    for (uint32_t a = 0; status == RONDE_OK && a < comparison->grid.algorithm_count; a++)
        status = ronde_trial_open(&lineup->target, lineup->schedules[a], &used, &lineup->trials[a],
                                  error);
    /* Nor has it stores that go past the caches. */
    for (uint32_t a = 0; status == RONDE_OK && a < comparison->grid.algorithm_count; a++)
        lineup->trials[a].launch.stream_from_bytes = UINT64_MAX;
    return status == RONDE_OK ? make_memory(lineup, error) : status;
}

/* The order matters: see predict_all. */
static enum ronde_status open_lineup(struct lineup *lineup, struct ronde_error *error)
{
    const struct ronde_validation *grid = &lineup->comparison->grid;
    lineup->triples =
        ronde_mem_new(ronde_mem_default(), (size_t)grid->size_count * grid->algorithm_count,
                      sizeof *lineup->triples);
    if (!lineup->triples)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the records of a comparison");
    enum ronde_status status = compile_all(lineup, error);
    if (status == RONDE_OK)
        status = predict_all(lineup, error);
    return status == RONDE_OK ? load_all(lineup, error) : status;
}

/* Works at any stage of opening: what was not reached is zero. */
static void close_lineup(struct lineup *lineup)
{
    for (uint32_t a = 0; a < RONDE_MAX_NAMES; a++) {
        ronde_trial_close(&lineup->trials[a]);
    }
    ronde_crew_close(lineup->crew);
    for (uint32_t a = 0; a < RONDE_MAX_NAMES; a++)
        ronde_schedule_destroy(lineup->schedules[a]);
    ronde_memory_destroy(&lineup->memory);
    ronde_target_close(&lineup->target);
    const struct ronde_validation *grid = &lineup->comparison->grid;
    ronde_mem_free(ronde_mem_default(), lineup->triples,
                   (size_t)grid->size_count * grid->algorithm_count, sizeof *lineup->triples);
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
        const struct ronde_crew_run run = {.job = a, .count = count_of(lineup, bytes)};
        status = lineup->crew ? ronde_crew_check(lineup->crew, &run, found, error)
                              : ronde_trial_check(&lineup->trials[a], &lineup->memory, run.count,
                                                  found, error);
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
    const struct ronde_options *options = lineup->comparison->options;
    const struct ronde_load load = {count, options->dtype,
                                    ronde_forecast_slot(lineup->comparison->platform, options),
                                    options->depth};
    struct ronde_record record = ronde_record_of(lineup->schedules[algorithm], &load);
    record.kind = RONDE_RECORD_MEASURED;
    record.engine = lineup->crew ? "ucx" : lineup->target.backend->name;
    record.op = options->op;
    record.machine = lineup->comparison->machine;
    record.time_ns = stats->median;
    record.min_ns = stats->min;
    record.p95_ns = stats->p95;
    record.reps = stats->count;
    record.wrong = wrong;
    if (!lineup->crew && ronde_target_is_crowded(&lineup->target, record.ranks))
        ronde_record_label(&record, "oversubscribed");
    if (lineup->crew)
        ronde_record_label(&record, "rig");
    if (lineup->target.machine.devices > 0 && record.ranks > lineup->target.machine.devices)
        ronde_record_label(&record, "virtual_ranks");
    return record;
}

/* From records to the grid that the summary reads. */
static void note_point(struct ronde_point *point, const struct triple *triple,
                       const struct ronde_stats *stats)
{
    const struct ronde_record *record = &triple->records[RONDE_SOURCE_MEASURED];
    point->bytes =
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype);
    point->measured = *stats;
    for (uint32_t s = 0; s < RONDE_SOURCE_COUNT; s++)
        point->time_ns[s] = triple->records[s].time_ns;
    point->is_oversubscribed = ronde_record_has_label(record, "oversubscribed");
}

/* Signed: negative is predicted too fast. */
static struct ronde_cell error_cell(const struct ronde_point *point, enum ronde_source source)
{
    const double measured = point->time_ns[RONDE_SOURCE_MEASURED];
    return measured > 0.0 ? ronde_cell_error(point->time_ns[source] / measured - 1.0)
                          : ronde_cell_text("");
}

static void print_row(FILE *file, const struct ronde_validation *grid, const struct triple *triple,
                      const struct ronde_point *point)
{
    const struct ronde_record *record = &triple->records[RONDE_SOURCE_MEASURED];
    struct ronde_column columns[COLUMNS];
    struct ronde_cell cells[COLUMNS];
    uint32_t count = 0;
    cells[count++] = ronde_cell_integer(record->ranks);
    cells[count++] = ronde_cell_size(point->bytes);
    cells[count++] = ronde_cell_text(record->algorithm);
    cells[count++] = ronde_cell_us(record->time_ns);
    cells[count++] = ronde_cell_us(record->p95_ns);
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++) {
        if (!ronde_validation_has(grid, (enum ronde_source)s))
            continue;
        cells[count++] = ronde_cell_us(point->time_ns[s]);
        cells[count++] = error_cell(point, (enum ronde_source)s);
    }
    cells[count++] = ronde_cell_text(point->is_oversubscribed ? "oversubscribed" : "");
    ronde_table_row(file, columns, list_columns(grid, columns), cells);
}

/* A row of times, or as many records. */
static enum ronde_status print_point(struct ronde_sink *sink, const struct ronde_validation *grid,
                                     const struct triple *triple, const struct ronde_point *point,
                                     struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (ronde_sink_is_table(sink)) {
        ronde_progress_end();
        print_row(sink->file, grid, triple, point);
    }
    for (uint32_t s = 0; status == RONDE_OK && s < RONDE_SOURCE_COUNT; s++)
        if (!ronde_sink_is_table(sink) && ronde_validation_has(grid, (enum ronde_source)s))
            status = ronde_sink_record(sink, &triple->records[s], error);
    return status;
}

/* For people, and for programs beside them. */
static enum ronde_status tell_point(const struct lineup *lineup, struct ronde_sink *sink,
                                    const struct triple *triple, const struct ronde_point *point,
                                    struct ronde_error *error)
{
    const struct ronde_comparison *comparison = lineup->comparison;
    const enum ronde_status status = print_point(sink, &comparison->grid, triple, point, error);
    return status == RONDE_OK && comparison->records
               ? print_point(comparison->records, &comparison->grid, triple, point, error)
               : status;
}

/* All algorithms at one size, in turns. */
static enum ronde_status measure_size(struct lineup *lineup, uint64_t count,
                                      struct ronde_stats *out_stats, struct ronde_error *error)
{
    const uint32_t algorithms = lineup->comparison->grid.algorithm_count;
    struct ronde_crew_run runs[RONDE_MAX_NAMES];
    for (uint32_t a = 0; a < algorithms; a++) {
        runs[a] = (struct ronde_crew_run){.job = a, .count = count};
        if (!lineup->crew)
            ronde_trial_aim(&lineup->trials[a], &lineup->memory, count, false);
    }
    if (lineup->crew)
        return ronde_crew_measure(lineup->crew, runs, algorithms, &rig_effort, out_stats,
                                  &lineup->comparison->tally, error);
    ronde_memory_fill(&lineup->memory, &lineup->trials[0].shape, RONDE_PATTERN_ANY);
    return ronde_trials_measure(lineup->trials, algorithms, &effort, out_stats, error);
}

/* One size: checked first, then measured in turns, then printed. */
static enum ronde_status run_size(struct lineup *lineup, uint32_t size_index,
                                  struct ronde_sink *sink, struct ronde_error *error)
{
    struct ronde_comparison *comparison = lineup->comparison;
    const struct ronde_validation *grid = &comparison->grid;
    const uint64_t count = count_of(lineup, comparison->sizes[size_index]);
    struct ronde_stats stats[RONDE_MAX_NAMES];
    uint64_t wrong[RONDE_MAX_NAMES];
    enum ronde_status status = check_size(lineup, comparison->sizes[size_index], wrong, error);
    if (status == RONDE_OK)
        status = measure_size(lineup, count, stats, error);
    for (uint32_t a = 0; status == RONDE_OK && a < grid->algorithm_count; a++) {
        struct triple *triple = &lineup->triples[size_index * grid->algorithm_count + a];
        struct ronde_point *point = ronde_validation_point(grid, lineup->rank_index, size_index, a);
        triple->records[RONDE_SOURCE_MEASURED] =
            measured_record(lineup, a, count, &stats[a], wrong[a]);
        note_point(point, triple, &stats[a]);
        status = tell_point(lineup, sink, triple, point, error);
    }
    return status;
}

enum ronde_status ronde_comparison_run(struct ronde_comparison *comparison, struct ronde_sink *sink,
                                       struct ronde_error *error)
{
    const struct ronde_validation *grid = &comparison->grid;
    enum ronde_status status = RONDE_OK;
    struct ronde_column columns[COLUMNS];
    if (ronde_sink_is_table(sink))
        ronde_table_head(sink->file, columns, list_columns(grid, columns));
    for (uint32_t r = 0; status == RONDE_OK && r < grid->rank_counts; r++) {
        struct lineup lineup = {.comparison = comparison, .rank_index = r};
        status = open_lineup(&lineup, error);
        for (uint32_t s = 0; status == RONDE_OK && s < grid->size_count; s++) {
            ronde_progress("measuring %u ranks, size %u of %u", grid->ranks[r], s + 1,
                           grid->size_count);
            status = run_size(&lineup, s, sink, error);
        }
        close_lineup(&lineup);
    }
    ronde_progress_end();
    return status;
}
