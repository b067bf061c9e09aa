/* Rows, scores, crossovers and misses of published measurements. See results.h. */
#include "results.h"

#include "ronde/stats.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Misses that a document shows. */
#define WORST 10u

/* A prediction beside what was measured; NAN where there is none. */
static double error_of(double us, const struct ronde_published_row *row)
{
    return row->state <= RONDE_PUBLISHED_FITTED && us > 0 ? us / row->measured_us - 1 : NAN;
}

static double or_none(double us, const struct ronde_published_row *row)
{
    return ronde_published_is_predicted(row) && us > 0 ? us : NAN;
}

/* The fastest of the forced algorithms; NULL where fewer than two were. */
static const char *winner_text(double margin, enum ronde_nccl_algorithm winner)
{
    return margin > 0 ? ronde_nccl_algorithm_text(winner) : NULL;
}

/* A row as a record; one that was refused has a line and a reason. */
static enum ronde_status print_row(const struct ronde_published_view *view,
                                   const struct ronde_published_row *row, const char *why,
                                   struct ronde_error *error)
{
    const bool is_refused = row->state == RONDE_PUBLISHED_REFUSED;
    const bool is_predicted = ronde_published_is_predicted(row);
    const bool is_measured = row->measured_us > 0;
    const struct ronde_nccl_band band =
        is_predicted ? ronde_nccl_band_of(view->bands,
                                          &view->published->systems[row->system].machine, &row->call)
                     : (struct ronde_nccl_band){NAN, NAN};
    const double rate_GBps = (double)row->call.bytes / 1e3 *
                             ronde_collective_bus_factor(row->call.collective, row->call.ranks);
    const struct ronde_field fields[] = {
        ronde_field_text("mode", view->mode->title),
        ronde_field_text("system", is_refused ? NULL : view->published->systems[row->system].name),
        ronde_field_integer("line", row->line),
        ronde_field_text("state", ronde_published_state_text(row->state)),
        ronde_field_text("collective", is_refused || row->state == RONDE_PUBLISHED_NOT_MODELLED
                                           ? NULL
                                           : ronde_collective_text(row->call.collective)),
        ronde_field_integer("ranks", row->call.ranks),
        ronde_field_integer("nodes", row->call.nodes),
        ronde_field_integer("bytes", row->call.bytes),
        ronde_field_boolean("in_place", row->is_in_place),
        ronde_field_text("forced_algorithm", ronde_nccl_algorithm_text(row->wish.algorithm)),
        ronde_field_text("forced_protocol", ronde_nccl_protocol_text(row->wish.protocol)),
        ronde_field_text("algorithm",
                         is_predicted ? ronde_nccl_algorithm_text(row->choice.algorithm) : NULL),
        ronde_field_text("protocol",
                         is_predicted ? ronde_nccl_protocol_text(row->choice.protocol) : NULL),
        ronde_field_real("measured_us", is_measured ? row->measured_us : NAN),
        ronde_field_real("predicted_us", or_none(row->predicted_us, row)),
        ronde_field_real("low_us", or_none(row->predicted_us * band.low, row)),
        ronde_field_real("high_us", or_none(row->predicted_us * band.high, row)),
        ronde_field_real("closed_form_us", or_none(row->closed_form_us, row)),
        ronde_field_real("nccl_us", or_none(row->nccl_us, row)),
        ronde_field_real("replayed_us", or_none(row->replayed_us, row)),
        ronde_field_real("error", error_of(row->predicted_us, row)),
        ronde_field_real("closed_form_error", error_of(row->closed_form_us, row)),
        ronde_field_real("nccl_error", error_of(row->nccl_us, row)),
        ronde_field_real("replayed_error", error_of(row->replayed_us, row)),
        ronde_field_real("busbw_GBps",
                         is_predicted && is_measured ? rate_GBps / row->measured_us : NAN),
        ronde_field_real("predicted_busbw_GBps", is_predicted ? rate_GBps / row->predicted_us : NAN),
        ronde_field_text("winner", winner_text(row->margin, row->winner)),
        ronde_field_text("predicted_winner", winner_text(row->margin, row->predicted_winner)),
        ronde_field_real("margin", row->margin > 0 ? row->margin : NAN),
        ronde_field_text("why", why)};
    return ronde_sink_row(view->sink, &RONDE_ROW(fields), error);
}

enum ronde_status ronde_published_print_rows(const struct ronde_published_view *view,
                                             uint32_t system, struct ronde_error *error)
{
    for (size_t r = 0; r < view->published->count; r++) {
        const struct ronde_published_row *row = &view->published->rows[r];
        struct ronde_error room;
        if (row->system != system)
            continue;
        const char *why = ronde_published_why_of(view->published, row, &room);
        RONDE_TRY(print_row(view, row, *why != '\0' ? why : NULL, error));
    }
    return RONDE_OK;
}

enum ronde_status ronde_published_print_refused(const struct ronde_published_view *view,
                                                struct ronde_error *error)
{
    for (size_t w = 0; w < view->published->why_count; w++) {
        const struct ronde_published_why *why = &view->published->whys[w];
        const struct ronde_published_row row = {.line = why->line, .state = RONDE_PUBLISHED_REFUSED};
        if (why->is_refused)
            RONDE_TRY(print_row(view, &row, why->text, error));
    }
    return RONDE_OK;
}

void ronde_published_print_whys(const struct ronde_published_view *view)
{
    struct ronde_published_whys whys;
    FILE *file = view->sink->file;
    ronde_published_whys_of(view->published, &whys);
    if (whys.count == 0)
        return;
    fputs(view->sink->is_markdown ? "\n### Rows that are not predicted, and words that are not "
                                    "understood\n\n| rows | lines | why |\n|---|---|---|\n"
                                  : "#\n# not predicted, or not understood\n",
          file);
    for (uint32_t w = 0; w < whys.count; w++) {
        const struct ronde_published_why_group *group = &whys.group[w];
        if (view->sink->is_markdown)
            fprintf(file, "| %zu | %u to %u | %s |\n", group->rows, group->first_line,
                    group->last_line, group->text);
        else if (group->rows == 1)
            fprintf(file, "#   %s:%u: %s\n", view->path, group->first_line, group->text);
        else
            fprintf(file, "#   %s:%u: %s; %zu rows, the last in line %u\n", view->path,
                    group->first_line, group->text, group->rows, group->last_line);
    }
    if (whys.more > 0)
        fprintf(file,
                view->sink->is_markdown ? "| %zu | | for other reasons |\n"
                                        : "#   %zu rows for other reasons: --json has each\n",
                whys.more);
}

static const struct ronde_column columns[] = {
    {"system", "system", "", RONDE_CELL_PLAIN, 24, false},
    {"predicted", "predicted", "rows", RONDE_CELL_PLAIN, 9, false},
    {"fitted", "fitted", "rows", RONDE_CELL_PLAIN, 6, true},
    {"faulty", "faulty", "rows", RONDE_CELL_PLAIN, 6, true},
    {"other", "other", "rows", RONDE_CELL_PLAIN, 6, true},
    {"median", "median", "(%)", RONDE_CELL_PERCENT, 6, false},
    {"p90", "p90", "(%)", RONDE_CELL_PERCENT, 6, false},
    {"closed_form_median", "closed form", "median (%)", RONDE_CELL_PERCENT, 11, false},
    {"nccl_median", "NCCL's", "median (%)", RONDE_CELL_PERCENT, 10, false},
    {"beside_nccl_median", "of its rows", "median (%)", RONDE_CELL_PERCENT, 11, true},
    {"replayed", "replayed", "rows", RONDE_CELL_PLAIN, 8, true},
    {"replayed_median", "replay", "median (%)", RONDE_CELL_PERCENT, 10, true},
    {"winners", "winners", "right", RONDE_CELL_PLAIN, 7, false},
    {"own_spread", "repeats", "p90 (%)", RONDE_CELL_PERCENT, 7, true},
    {"falls", "falls", "(%)", RONDE_CELL_PERCENT, 6, true}};
static const struct ronde_table table = RONDE_TABLE(columns);

void ronde_published_print_head(const struct ronde_published_view *view)
{
    FILE *file = view->sink->file;
    if (view->sink->is_markdown) {
        fprintf(file, "\n### %s\n\nPredicted from %s.\n\n", view->mode->title, view->mode->says);
    } else {
        fprintf(file, "# ronde %s: %s, %s\n", RONDE_VERSION, view->path, view->mode->title);
        ronde_sink_say(view->sink, "from %s", view->mode->says);
        fputs("#\n", file);
    }
    ronde_sink_head(view->sink, &table);
}

/* NAN where there are no rows that it is of. */
static double where(double error, bool is_there)
{
    return is_there ? error : NAN;
}

enum ronde_status
ronde_published_print_score(const struct ronde_published_view *view, const char *name,
                            const struct ronde_published_score *score, struct ronde_error *error)
{
    const size_t predicted = score->count[RONDE_PUBLISHED_PREDICTED];
    const bool has_nccl = predicted > 0 && score->nccl_median > 0;
    char winners[32];
    snprintf(winners, sizeof winners, "%u/%u", score->winners, score->duels);
    const struct ronde_field fields[] = {
        ronde_field_text("system", name),
        ronde_field_integer("predicted", predicted),
        ronde_field_integer("fitted", score->count[RONDE_PUBLISHED_FITTED]),
        ronde_field_integer("faulty", score->count[RONDE_PUBLISHED_FAULTY]),
        ronde_field_integer("other", score->count[RONDE_PUBLISHED_SMALL] +
                                         score->count[RONDE_PUBLISHED_NOT_MODELLED] +
                                         score->count[RONDE_PUBLISHED_NOT_DESCRIBED] +
                                         score->count[RONDE_PUBLISHED_UNMEASURED]),
        ronde_field_real("median", where(score->median, predicted > 0)),
        ronde_field_real("p90", where(score->p90, predicted > 0)),
        ronde_field_real("closed_form_median", where(score->closed_form_median,
                                                     predicted > 0 && score->closed_form_median > 0)),
        ronde_field_real("nccl_median", where(score->nccl_median, has_nccl)),
        ronde_field_real("beside_nccl_median", where(score->beside_nccl_median, has_nccl)),
        ronde_field_integer("replayed", score->replayed),
        ronde_field_real("replayed_median", where(score->replayed_median, score->replayed > 0)),
        ronde_field_text("winners", score->duels > 0 ? winners : NULL),
        ronde_field_real("own_spread", where(score->own_spread, score->own_spread >= 0)),
        ronde_field_real("falls", score->falls)};
    return ronde_sink_print(view->sink, &table, &RONDE_ROW(fields), error);
}

/* Median over systems of one number of their scores, those left out that have none. */
static double median_over(const struct ronde_published_score *scores, uint32_t count, size_t column,
                          uint32_t *out_systems)
{
    double values[RONDE_PUBLISHED_MAX_SYSTEMS];
    *out_systems = 0;
    for (uint32_t s = 0; s < count; s++) {
        const double value = *(const double *)((const char *)&scores[s] + column);
        if (scores[s].count[RONDE_PUBLISHED_PREDICTED] > 0 && value >= 0)
            values[(*out_systems)++] = value;
    }
    return ronde_stats_of(values, *out_systems).median;
}

/* Systems of which fewer say nothing of the others. */
#define FEWEST_SYSTEMS 3u

void ronde_published_print_summary(const struct ronde_published_view *view, const char *lead,
                                   const struct ronde_published_score *scores, uint32_t count)
{
    static const char *const sizes[RONDE_PUBLISHED_SIZES] = {"up to 64 KiB", "to 4 MiB",
                                                             "to 64 MiB", "above"};
    const char *mark = view->sink->is_markdown ? "" : "# ";
    FILE *file = view->sink->file;
    uint32_t systems = 0;
    const double median =
        median_over(scores, count, offsetof(struct ronde_published_score, median), &systems);
    const double p90 =
        median_over(scores, count, offsetof(struct ronde_published_score, p90), &systems);
    if (systems < FEWEST_SYSTEMS)
        return;
    fprintf(file, "%s\n%s%sMedians over %u systems: median %.1f%%, p90 %.1f%%.", mark, mark, lead,
            systems, 100 * median, 100 * p90);
    for (unsigned size = 0; size < RONDE_PUBLISHED_SIZES; size++) {
        const size_t at = size * sizeof(double);
        const double own =
            median_over(scores, count, offsetof(struct ronde_published_score, size_median) + at,
                        &systems);
        const double nccl =
            median_over(scores, count,
                        offsetof(struct ronde_published_score, size_nccl_median) + at, &systems);
        fprintf(file, "%s %s %.1f%% (NCCL's formula %.1f%%)",
                size > 0 ? "," : " By size:", sizes[size], 100 * own, 100 * nccl);
    }
    fputs(".\n", file);
}

/* Crossovers of a system that are shown. */
#define CROSSOVERS 64u

static void print_crossover(const struct ronde_published_view *view, const char *system,
                            const struct ronde_published_crossover *at)
{
    fprintf(view->sink->file,
            view->sink->is_markdown
                ? "| %s | %s, %u ranks on %u node%s | %s | %s to %s | %s .. %s |\n"
                : "#   %s: %s, %u ranks on %u node%s, %s: %s to %s between %s and %s\n",
            system, ronde_collective_text(at->call.collective), at->call.ranks, at->call.nodes,
            at->call.nodes > 1 ? "s" : "", at->is_predicted ? "predicted" : "measured",
            ronde_nccl_algorithm_text(at->from), ronde_nccl_algorithm_text(at->to),
            ronde_cell_size(at->below_bytes).text, ronde_cell_size(at->call.bytes).text);
}

enum ronde_status ronde_published_print_crossovers(const struct ronde_published_view *view,
                                                   struct ronde_error *error)
{
    bool is_headed = false;
    for (uint32_t s = 0; s < view->published->system_count; s++) {
        struct ronde_published_crossover found[CROSSOVERS];
        size_t count = 0;
        RONDE_TRY(ronde_published_crossovers(view->published, s, CROSSOVERS, found, &count, error));
        if (count > 0 && !is_headed)
            fputs(view->sink->is_markdown
                      ? "\n### Crossovers\n\nWhere the fastest of the forced algorithms changes, "
                        "points within 10 % left out.\n\n| system | call | | from, to | sizes "
                        "|\n|---|---|---|---|---|\n"
                      : "#\n# crossovers of forced algorithms, points within 10 % left out\n",
                  view->sink->file);
        is_headed = is_headed || count > 0;
        for (size_t c = 0; c < count && c < CROSSOVERS; c++)
            print_crossover(view, view->published->systems[s].name, &found[c]);
    }
    return RONDE_OK;
}

static int by_miss(const void *left, const void *right)
{
    const struct ronde_published_row *const a = *(const struct ronde_published_row *const *)left;
    const struct ronde_published_row *const b = *(const struct ronde_published_row *const *)right;
    const double misses[] = {fabs(log(a->predicted_us / a->measured_us)),
                             fabs(log(b->predicted_us / b->measured_us))};
    return misses[0] < misses[1] ? 1 : misses[0] > misses[1] ? -1 : 0;
}

enum ronde_status ronde_published_print_worst(const struct ronde_published_view *view,
                                              struct ronde_error *error)
{
    const struct ronde_published *published = view->published;
    const struct ronde_published_row **rows =
        ronde_mem_new(published->mem, published->count, sizeof *rows);
    size_t count = 0;
    FILE *file = view->sink->file;
    if (!rows)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", published->count);
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].state == RONDE_PUBLISHED_PREDICTED)
            rows[count++] = &published->rows[r];
    qsort(rows, count, sizeof *rows, by_miss);
    fprintf(file, "\n### The worst ten misses (nominal)\n\n| system | line | call | forced | as | "
                  "measured us | predicted us | ratio |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < count && r < WORST; r++) {
        const struct ronde_published_row *row = rows[r];
        fprintf(
            file,
            "| %s | %u | %s, %u ranks on %u node%s, %s | %s/%s | %s/%s | %.1f | %.1f | %.2f |\n",
            published->systems[row->system].name, row->line,
            ronde_collective_text(row->call.collective), row->call.ranks, row->call.nodes,
            row->call.nodes > 1 ? "s" : "", ronde_cell_size(row->call.bytes).text,
            ronde_nccl_algorithm_text(row->wish.algorithm),
            ronde_nccl_protocol_text(row->wish.protocol),
            ronde_nccl_algorithm_text(row->choice.algorithm),
            ronde_nccl_protocol_text(row->choice.protocol), row->measured_us, row->predicted_us,
            row->predicted_us / row->measured_us);
    }
    ronde_mem_free(published->mem, rows, published->count, sizeof *rows);
    return RONDE_OK;
}
