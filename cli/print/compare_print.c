/* Points of a comparison as rows of times and errors, or as records. */
#include "cli/html/html.h"
#include "printer.h"
#include "report.h"
#include "results.h"

#include <math.h>
#include <string.h>

/* What a point is, then a time and its error per prediction, then labels. */
#define POINT_COLUMNS 5u
#define COLUMNS (POINT_COLUMNS + 2 * (RONDE_SOURCE_COUNT - 1) + 1)

static const struct ronde_column point_columns[POINT_COLUMNS] = {
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"bytes", "size", "(B)", RONDE_CELL_SIZE, 5, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},
    {"measured_ns", "measured", "(us)", RONDE_CELL_NS, 8, false},
    {"p95_ns", "p95", "(us)", RONDE_CELL_NS, 8, true},
};

static const struct ronde_column source_columns[RONDE_SOURCE_COUNT][2] = {
    [RONDE_SOURCE_PORTS] = {{"ports_ns", "ports", "(us)", RONDE_CELL_NS, 8, true},
                            {"ports_error", "ports", "error", RONDE_CELL_ERROR, 8, false}},
    [RONDE_SOURCE_CORES] = {{"cores_ns", "cores", "(us)", RONDE_CELL_NS, 8, true},
                            {"cores_error", "cores", "error", RONDE_CELL_ERROR, 8, false}},
    [RONDE_SOURCE_SIMGRID] = {{"simgrid_ns", "simgrid", "(us)", RONDE_CELL_NS, 8, true},
                              {"simgrid_error", "simgrid", "error", RONDE_CELL_ERROR, 8, false}},
    [RONDE_SOURCE_CLOSED_FORM] = {{"formula_ns", "formula", "(us)", RONDE_CELL_NS, 8, true},
                                  {"formula_error", "formula", "error", RONDE_CELL_ERROR, 8, false}},
};

static const struct ronde_column labels_column = {"labels",         "labels", "",
                                                  RONDE_CELL_PLAIN, 0,        false};

/* The table of the predictions a grid has; its columns are the caller's. */
static struct ronde_table table_of(const struct ronde_validation *grid,
                                   struct ronde_column columns[COLUMNS])
{
    uint32_t count = POINT_COLUMNS;
    memcpy(columns, point_columns, sizeof point_columns);
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++)
        for (uint32_t c = 0; c < 2 && ronde_validation_has(grid, (enum ronde_source)s); c++)
            columns[count++] = source_columns[s][c];
    columns[count++] = labels_column;
    return (struct ronde_table){columns, count};
}

/* Of a measurement: whether ranks took turns, and whether processors were as far apart as the constants say. */
static const char *labels_text(const struct ronde_grid_point *point,
                               const struct ronde_record *record)
{
    if (ronde_record_has_label(record, "moved"))
        return point->is_oversubscribed ? "oversubscribed, moved" : "moved";
    return point->is_oversubscribed ? "oversubscribed" : "";
}

/* Signed: negative is predicted too fast. */
static double error_of(const struct ronde_grid_point *point, uint32_t source)
{
    const double measured = point->time_ns[RONDE_SOURCE_MEASURED];
    return measured > 0.0 ? point->time_ns[source] / measured - 1.0 : NAN;
}

static enum ronde_status print_row(struct ronde_sink *sink, const struct ronde_validation *grid,
                                   const struct ronde_record *records,
                                   const struct ronde_grid_point *point, struct ronde_error *error)
{
    const struct ronde_record *record = &records[RONDE_SOURCE_MEASURED];
    struct ronde_column columns[COLUMNS];
    const struct ronde_table table = table_of(grid, columns);
    struct ronde_field fields[COLUMNS];
    size_t count = 0;
    fields[count++] = ronde_field_integer("ranks", record->ranks);
    fields[count++] = ronde_field_integer("bytes", point->bytes);
    fields[count++] = ronde_field_text("algorithm", record->algorithm);
    fields[count++] = ronde_field_real("measured_ns", record->time_ns > 0.0 ? record->time_ns : NAN);
    fields[count++] = ronde_field_real("p95_ns", record->p95_ns);
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++) {
        fields[count++] = ronde_field_real(source_columns[s][0].key, point->time_ns[s]);
        fields[count++] = ronde_field_real(source_columns[s][1].key, error_of(point, s));
    }
    fields[count++] = ronde_field_text("labels", labels_text(point, record));
    const struct ronde_row row = {fields, count};
    return ronde_sink_print(sink, &table, &row, error);
}

/* A row of times, or as many records. */
static enum ronde_status print_point(struct ronde_sink *sink, const struct ronde_validation *grid,
                                     const struct ronde_record *records,
                                     const struct ronde_grid_point *point, struct ronde_error *error)
{
    if (ronde_sink_is_table(sink)) {
        ronde_progress_end();
        return print_row(sink, grid, records, point, error);
    }
    for (uint32_t s = 0; s < RONDE_SOURCE_COUNT; s++)
        if (ronde_validation_has(grid, (enum ronde_source)s))
            RONDE_TRY(ronde_sink_record(sink, &records[s], error));
    return RONDE_OK;
}

/* For people, and for programs beside them. */
static enum ronde_status show_point(void *context, const struct ronde_validation *grid,
                                    const struct ronde_grid_point *point,
                                    const struct ronde_record *records, struct ronde_error *error)
{
    const struct ronde_comparison_printer *printer = context;
    const enum ronde_status status = print_point(printer->sink, grid, records, point, error);
    /* A table has times alone: curves and data of a page are of records. */
    for (uint32_t s = 0; ronde_sink_is_table(printer->sink) && s < RONDE_SOURCE_COUNT; s++)
        if (printer->sink->html && ronde_validation_has(grid, (enum ronde_source)s)) {
            struct ronde_record_row row;
            ronde_record_layout(&records[s], &row);
            ronde_html_row(printer->sink->html, &row.row);
        }
    return status == RONDE_OK && printer->records
               ? print_point(printer->records, grid, records, point, error)
               : status;
}

enum ronde_status ronde_comparison_show(struct ronde_comparison *comparison,
                                        struct ronde_comparison_printer *printer,
                                        struct ronde_error *error)
{
    const struct ronde_point_sink points = {show_point, printer};
    struct ronde_column columns[COLUMNS];
    const struct ronde_table table = table_of(&comparison->grid, columns);
    ronde_sink_head(printer->sink, &table);
    return ronde_comparison_run(comparison, &points, error);
}

/* Scores as comment lines under a table, and as JSON rows. */

static void print_scores(const struct ronde_validation *validation, FILE *file)
{
    if (validation->algorithm_count < 2)
        return;
    fprintf(file, "# score, all pairs of algorithms\n");
    for (uint32_t source = RONDE_SOURCE_MEASURED + 1; source < RONDE_SOURCE_COUNT; source++) {
        if (!ronde_validation_has(validation, (enum ronde_source)source))
            continue;
        const struct ronde_score score = ronde_score_all(validation, (enum ronde_source)source);
        fprintf(file,
                "#   %-11s  same winner at %zu of %zu decided sizes; crossovers within a factor of "
                "%.1f: %zu of %zu\n",
                ronde_source_text((enum ronde_source)source), score.winners.agreed,
                score.winners.decided, RONDE_CLOSE_FACTOR, score.close, score.crossings);
    }
}

/* A size or a factor that may be missing. */
static struct ronde_field present(const char *name, double value)
{
    return value > 0.0 ? ronde_field_real(name, value) : ronde_field_null(name);
}

/* One score, of a pair or a sum, which has neither ranks nor names. */
struct entry {
    enum ronde_source source;
    uint32_t ranks; /* 0 = a sum */
    const char *first, *second;
    struct ronde_score score;
};

static enum ronde_status print_entry(const struct ronde_validation *validation,
                                     const struct entry *entry, struct ronde_sink *sink,
                                     struct ronde_error *error)
{
    const struct ronde_score *score = &entry->score;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "score"),
        ronde_field_text("source", ronde_source_text(entry->source)),
        ronde_field_text("collective", ronde_collective_text(validation->collective)),
        ronde_field_integer_if("ranks", entry->ranks > 0, entry->ranks),
        ronde_field_text("first", entry->first),
        ronde_field_text("second", entry->second),
        ronde_field_integer("winners_decided", score->winners.decided),
        ronde_field_integer("winners_agreed", score->winners.agreed),
        ronde_field_integer("crossovers", score->crossings),
        ronde_field_integer("crossovers_close", score->close),
        present("crossover_measured_bytes", score->first.measured_bytes),
        present("crossover_predicted_bytes", score->first.predicted_bytes),
        present("crossover_factor", score->first.factor),
    };
    return ronde_sink_row(sink, &RONDE_ROW(fields), error);
}

/* All pairs at all numbers of ranks, then their sum. */
static enum ronde_status print_source(const struct ronde_validation *validation,
                                      enum ronde_source source, struct ronde_sink *sink,
                                      struct ronde_error *error)
{
    const struct entry sum = {.source = source, .score = ronde_score_all(validation, source)};
    enum ronde_status status = RONDE_OK;
    for (uint32_t r = 0; r < validation->rank_counts; r++)
        for (uint32_t a = 0; a < validation->algorithm_count; a++)
            for (uint32_t b = a + 1; status == RONDE_OK && b < validation->algorithm_count; b++) {
                const uint32_t pair[2] = {a, b};
                const struct entry one = {source, validation->ranks[r], validation->algorithms[a],
                                          validation->algorithms[b],
                                          ronde_score_pair(validation, source, r, pair)};
                status = print_entry(validation, &one, sink, error);
            }
    return status == RONDE_OK ? print_entry(validation, &sum, sink, error) : status;
}

enum ronde_status ronde_score_rows(const struct ronde_validation *validation,
                                   struct ronde_sink *sink, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (!sink->json || validation->algorithm_count < 2)
        return RONDE_OK;
    for (uint32_t source = RONDE_SOURCE_MEASURED + 1; source < RONDE_SOURCE_COUNT; source++)
        if (status == RONDE_OK && ronde_validation_has(validation, (enum ronde_source)source))
            status = print_source(validation, (enum ronde_source)source, sink, error);
    return status;
}

/* What a filled grid says, in words: errors, winners, crossovers, and one honest paragraph. */

/* An error in percent, six characters wide, or seven with its sign. */
static struct ronde_cell percent_of(double error, bool is_signed)
{
    const double percent = 100.0 * error;
    const int decimals = fabs(percent) < 999.95 ? 1 : 0;
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, is_signed ? "%+6.*f%%" : "%5.*f%%", decimals, percent);
    return cell;
}

/* Engines one after another, each over all points and then those of oversubscribed ranks. */
static void print_errors(const struct ronde_validation *grid, FILE *file, double *scratch)
{
    static const struct {
        enum ronde_subset subset;
        const char *text;
    } subsets[] = {{RONDE_SUBSET_ALL, "all points"},
                   {RONDE_SUBSET_FITTING, "ranks <= cores"},
                   {RONDE_SUBSET_OVERSUBSCRIBED, "oversubscribed"}};
    fprintf(file, "# errors, |predicted - measured| / measured\n"
                  "#   engine      of             points median    p95  worst    bias  worst: "
                  "algorithm, ranks, size\n");
    for (uint32_t source = RONDE_SOURCE_MEASURED + 1; source < RONDE_SOURCE_COUNT; source++)
        for (size_t i = 0; i < sizeof subsets / sizeof subsets[0]; i++) {
            const struct ronde_errors errors =
                ronde_validation_errors(grid, (enum ronde_source)source, subsets[i].subset, scratch);
            if (errors.count == 0 || !ronde_validation_has(grid, (enum ronde_source)source))
                continue;
            fprintf(file, "#   %-11s %-14s %6zu %s %s %s %s  %s %u %s\n",
                    ronde_source_text((enum ronde_source)source), subsets[i].text, errors.count,
                    percent_of(errors.median, false).text, percent_of(errors.p95, false).text,
                    percent_of(errors.worst, false).text, percent_of(errors.bias, true).text,
                    grid->algorithms[errors.worst_algorithm], errors.worst_ranks,
                    ronde_cell_size(errors.worst_bytes).text);
        }
}

/* Crossovers that are named; more are counted. */
#define MAX_CROSSOVERS 4u

/* Bytes of a line on two algorithms: what is before the crossovers, and those that are named. */
#define DUEL_BYTES 1200u

/* Brackets: nothing between two measured sizes was measured. Where the lines meet is said beside them. */
static void write_crossovers(const struct ronde_duel *duel, const char *first, const char *second,
                             char *text, size_t bytes)
{
    struct ronde_crossover found[MAX_CROSSOVERS];
    const size_t count = ronde_duel_crossovers(duel, found, MAX_CROSSOVERS);
    size_t at = 0;
    int winner = 0;
    for (size_t i = 0; winner == 0 && i < duel->count; i++)
        winner = ronde_duel_winner(duel, i);
    if (count == 0 && winner == 0)
        snprintf(text, bytes, "no difference beyond noise");
    else if (count == 0)
        snprintf(text, bytes, "none: %.40s is faster wherever they differ",
                 winner < 0 ? first : second);
    for (size_t i = 0; i < count && i < MAX_CROSSOVERS; i++)
        at += (size_t)snprintf(text + at, bytes - at,
                               "%sbetween %s and %s, near %s, then %.40s (by %.0f%% before, "
                               "%.0f%% after)",
                               i ? "; " : "", ronde_cell_size(found[i].below_bytes).text,
                               ronde_cell_size(found[i].above_bytes).text,
                               ronde_cell_about(ronde_duel_crossover_bytes(duel, &found[i])).text,
                               found[i].first_wins_above ? first : second,
                               100.0 * found[i].below_margin, 100.0 * found[i].above_margin);
    if (count > MAX_CROSSOVERS)
        snprintf(text + at, bytes - at, "; %zu more", count - MAX_CROSSOVERS);
}

/* Two algorithms at one number of ranks. */
static void print_duel(const struct ronde_validation *grid, FILE *file, uint32_t rank_index,
                       const uint32_t pair[2])
{
    const char *first = grid->algorithms[pair[0]], *second = grid->algorithms[pair[1]];
    fprintf(file, "# %s or %s, %u ranks%s\n", first, second, grid->ranks[rank_index],
            ronde_validation_point(grid, rank_index, 0, 0)->is_oversubscribed ? " (oversubscribed)"
                                                                              : "");
    for (uint32_t source = 0; source < RONDE_SOURCE_COUNT; source++) {
        if (!ronde_validation_has(grid, (enum ronde_source)source))
            continue;
        struct ronde_duel_buffers buffers;
        const struct ronde_duel duel =
            ronde_validation_duel(grid, (enum ronde_source)source, rank_index, pair, &buffers);
        char text[DUEL_BYTES] = "", score_text[120] = "";
        if (source != RONDE_SOURCE_MEASURED) {
            const struct ronde_score score =
                ronde_score_pair(grid, (enum ronde_source)source, rank_index, pair);
            const int used =
                snprintf(score_text, sizeof score_text, "same winner at %zu of %zu decided sizes; ",
                         score.winners.agreed, score.winners.decided);
            if (score.first.factor > 0.0)
                snprintf(score_text + used, sizeof score_text - (size_t)used,
                         "off by a factor of %.2f: ", score.first.factor);
        }
        write_crossovers(&duel, first, second, text, sizeof text);
        ronde_sink_say(&(struct ronde_sink){.file = file}, "  %-11s  %scrossover %s",
                       ronde_source_text((enum ronde_source)source), score_text, text);
    }
}

static void print_duels(const struct ronde_validation *grid, FILE *file)
{
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t a = 0; a < grid->algorithm_count; a++)
            for (uint32_t b = a + 1; b < grid->algorithm_count; b++)
                print_duel(grid, file, r, (const uint32_t[]){a, b});
}

/* Errors and scores; between them `duels`, or NULL. */
static enum ronde_status sum_up(const struct ronde_validation *grid,
                                void (*duels)(const struct ronde_validation *grid, FILE *file),
                                FILE *file, struct ronde_error *error)
{
    const size_t total = ronde_validation_size(grid);
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    fputs("#\n", file);
    print_errors(grid, file, scratch);
    if (duels)
        duels(grid, file);
    print_scores(grid, file);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    return RONDE_OK;
}

enum ronde_status ronde_summary_errors(const struct ronde_validation *grid, FILE *file,
                                       struct ronde_error *error)
{
    return sum_up(grid, NULL, file, error);
}

enum ronde_status ronde_summary_print(const struct ronde_validation *grid, FILE *file,
                                      struct ronde_error *error)
{
    return sum_up(grid, print_duels, file, error);
}

/* One paragraph that says how far predictions are off here, and what takes the time. Every figure is from the grid. */

/* Errors of both predictions over a subset. */
struct verdict {
    struct ronde_errors replay;
    struct ronde_errors closed_form;
};

/* The replay and the closed form over one subset. */
static struct verdict judge(const struct ronde_validation *grid, enum ronde_subset subset,
                            double *scratch)
{
    struct verdict verdict;
    verdict.replay = ronde_validation_errors(grid, ronde_validation_replay(grid), subset, scratch);
    verdict.closed_form = ronde_validation_errors(grid, RONDE_SOURCE_CLOSED_FORM, subset, scratch);
    return verdict;
}

/* Says nothing about a subset nobody measured. */
static void print_subset(FILE *file, const char *where, const struct verdict *verdict)
{
    if (verdict->replay.count == 0)
        return;
    fprintf(file,
            "%s the replay is off by %.0f%% in the median and %.0f%% at worst (%zu points, "
            "usually too %s), the closed form by %.0f%% and %.0f%%. ",
            where, 100.0 * verdict->replay.median, 100.0 * verdict->replay.worst,
            verdict->replay.count, verdict->replay.bias < 0.0 ? "fast" : "slow",
            100.0 * verdict->closed_form.median, 100.0 * verdict->closed_form.worst);
}

/* Winners over all rank counts and rivals of the first algorithm. */
static struct ronde_agreement agree(const struct ronde_validation *grid, enum ronde_source source)
{
    struct ronde_agreement sum = {0, 0};
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t a = 1; a < grid->algorithm_count; a++) {
            const struct ronde_agreement one = ronde_validation_agreement(grid, source, r, 0, a);
            sum.decided += one.decided;
            sum.agreed += one.agreed;
        }
    return sum;
}

/* Ties are left out: naming the winner of a tie is no merit. */
static void print_winners(FILE *file, const struct ronde_validation *grid)
{
    const struct ronde_agreement replay = agree(grid, ronde_validation_replay(grid));
    const struct ronde_agreement closed = agree(grid, RONDE_SOURCE_CLOSED_FORM);
    fprintf(file,
            "Where two algorithms differ by more than the noise, the replay names the faster one "
            "at %zu of %zu points, the closed form at %zu. ",
            replay.agreed, replay.decided, closed.agreed);
}

/*
 * How the time of the smallest and largest point of the first algorithm splits, by the model's
 * constants.
 */
static void print_small(FILE *file, const struct ronde_comparison *comparison)
{
    const struct ronde_validation *grid = &comparison->grid;
    const struct ronde_time_params *time =
        &ronde_platform_facts(comparison->options.forecast.platform)->time;
    const uint32_t last = grid->rank_counts - 1;
    const struct ronde_grid_point *few = ronde_validation_point(grid, 0, 0, 0);
    const struct ronde_grid_point *many = ronde_validation_point(grid, last, 0, 0);
    fprintf(
        file,
        "Small blocks cost the start of a run and then messages one after another: at %s bytes the "
        "start (%.2f us) is %.0f%% of the %s's %.2f us on %u ranks and %.0f%% of its %.2f us "
        "on %u. ",
        ronde_cell_size(few->bytes).text, time->launch_ns / 1e3,
        100.0 * time->launch_ns / few->measured.median, grid->algorithms[0],
        few->measured.median / 1e3, grid->ranks[0], 100.0 * time->launch_ns / many->measured.median,
        many->measured.median / 1e3, grid->ranks[last]);
}

/*
 * Large blocks: how the time per byte changes with the size. The model follows it by its copy curve, which knows how
 * much memory a core works on, but not what the caches happen to hold.
 */
static void print_large(FILE *file, const struct ronde_comparison *comparison)
{
    const struct ronde_validation *grid = &comparison->grid;
    const uint32_t last_rank = grid->rank_counts - 1, last = grid->size_count - 1;
    uint32_t best = 0;
    double best_ns = 0.0;
    for (uint32_t s = 0; s <= last; s++) {
        const struct ronde_grid_point *point = ronde_validation_point(grid, last_rank, s, 0);
        const double per_byte = point->measured.median / (double)point->bytes;
        if (s == 0 || per_byte < best_ns) {
            best = s;
            best_ns = per_byte;
        }
    }
    const struct ronde_grid_point *top = ronde_validation_point(grid, last_rank, last, 0);
    const double top_ns = top->measured.median / (double)top->bytes;
    fprintf(file,
            "Large blocks cost copies and sums: on %u ranks the %s takes least time per byte at %s "
            "bytes and %.1f times as much at %s; the model follows it by a copy rate per working "
            "set, measured by "
            "streams. ",
            grid->ranks[last_rank], grid->algorithms[0],
            ronde_cell_size(ronde_validation_point(grid, last_rank, best, 0)->bytes).text,
            top_ns / best_ns, ronde_cell_size(top->bytes).text);
}

/* A point whose 95th percentile is so far above its median was disturbed. */
#define DISTURBED_SPREAD 0.5

/* With more disturbed points than this share, something else was using the machine. */
#define BUSY_SHARE 0.1

size_t ronde_disturbed_points(const struct ronde_validation *grid, bool *out_is_busy)
{
    const size_t total = ronde_validation_size(grid);
    size_t disturbed = 0;
    for (size_t i = 0; i < total; i++)
        disturbed += ronde_stats_spread(&grid->points[i].measured) > DISTURBED_SPREAD;
    *out_is_busy = (double)disturbed > BUSY_SHARE * (double)total;
    return disturbed;
}

/* Says which points others disturbed: their errors are not the model's alone. */
static void print_noise(FILE *file, const struct ronde_validation *grid)
{
    bool is_busy;
    const size_t disturbed = ronde_disturbed_points(grid, &is_busy);
    fprintf(file,
            "%zu of %zu points were disturbed (95th percentile more than half above the "
            "median)%s. ",
            disturbed, ronde_validation_size(grid),
            is_busy ? ": this machine was busy, so part of the errors is not the model's" : "");
}

/* The sentence that keeps these figures from being quoted for real clusters. */
static void print_sharing(FILE *file, const struct ronde_comparison *comparison)
{
    const uint32_t cores = ronde_platform_facts(comparison->options.forecast.platform)->shared.cores;
    fprintf(file,
            "This machine has %u usable core%s; with more ranks than that they take turns "
            "(labelled oversubscribed), and such times say nothing about a machine with a core "
            "per rank.\n",
            cores, cores == 1 ? "" : "s");
}

enum ronde_status ronde_paragraph_print(const struct ronde_comparison *comparison, FILE *file,
                                        struct ronde_error *error)
{
    const struct ronde_validation *grid = &comparison->grid;
    const size_t total = ronde_validation_size(grid);
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    const struct verdict fitting = judge(grid, RONDE_SUBSET_FITTING, scratch);
    const struct verdict oversubscribed = judge(grid, RONDE_SUBSET_OVERSUBSCRIBED, scratch);
    print_subset(file, "With a core for every rank", &fitting);
    print_subset(file, "With more ranks than cores", &oversubscribed);
    print_winners(file, grid);
    print_small(file, comparison);
    print_large(file, comparison);
    print_noise(file, grid);
    print_sharing(file, comparison);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    return RONDE_OK;
}
