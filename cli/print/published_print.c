/* Rows, scores, crossovers and misses of published measurements. See published_print.h. */
#include "published_print.h"

#include "table.h"

#include <math.h>
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
    const double rate_GBps = (double)row->call.bytes / 1e3 * ronde_published_bus_factor(&row->call);
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
    const struct ronde_row record = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(view->sink, &record, error);
}

enum ronde_status ronde_published_print_rows(const struct ronde_published_view *view,
                                             uint32_t system, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t r = 0; status == RONDE_OK && r < view->published->count; r++) {
        const struct ronde_published_row *row = &view->published->rows[r];
        struct ronde_error room;
        if (row->system != system)
            continue;
        const char *why = ronde_published_why_of(view->published, row, &room);
        status = print_row(view, row, *why != '\0' ? why : NULL, error);
    }
    return status;
}

enum ronde_status ronde_published_print_refused(const struct ronde_published_view *view,
                                                struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t w = 0; status == RONDE_OK && w < view->published->why_count; w++) {
        const struct ronde_published_why *why = &view->published->whys[w];
        const struct ronde_published_row row = {.line = why->line, .state = RONDE_PUBLISHED_REFUSED};
        if (why->is_refused)
            status = print_row(view, &row, why->text, error);
    }
    return status;
}

void ronde_published_print_whys(const struct ronde_published_view *view)
{
    struct ronde_published_whys whys;
    FILE *file = view->sink->file;
    ronde_published_whys_of(view->published, &whys);
    if (whys.count == 0)
        return;
    fputs(view->is_markdown ? "\n### Rows that are not predicted, and words that are not "
                              "understood\n\n| rows | lines | why |\n|---|---|---|\n"
                            : "#\n# not predicted, or not understood\n",
          file);
    for (uint32_t w = 0; w < whys.count; w++) {
        const struct ronde_published_why_group *group = &whys.group[w];
        if (view->is_markdown)
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
                view->is_markdown ? "| %zu | | for other reasons |\n"
                                  : "#   %zu rows for other reasons: --json has each\n",
                whys.more);
}

static const struct ronde_column columns[] = {
    {"system", "", 24},          {"predicted", "(rows)", 9},      {"fitted", "(rows)", 6},
    {"faulty", "(rows)", 6},     {"other", "(rows)", 6},          {"median", "(error)", 8},
    {"p90", "(error)", 8},       {"closed form", "(median)", 11}, {"NCCL", "(median)", 8},
    {"its rows", "(median)", 8}, {"replayed", "(rows)", 8},       {"replay", "(median)", 8},
    {"winners", "(right)", 8},   {"repeats", "(p90)", 8},         {"falls", "(noise)", 7}};

#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

static const struct ronde_table table = {columns, COLUMN_COUNT, 2};

void ronde_published_print_head(const struct ronde_published_view *view)
{
    FILE *file = view->sink->file;
    if (!view->is_markdown) {
        fprintf(file, "# ronde %s: %s, %s: %s\n#\n", RONDE_VERSION, view->path, view->mode->title,
                view->mode->says);
        ronde_table_head(file, &table);
        return;
    }
    fprintf(file, "\n### %s\n\nPredicted from %s.\n\n", view->mode->title, view->mode->says);
    fprintf(file, "| system | predicted rows | fitted | faulty | other | median | p90 | closed "
                  "form, median | "
                  "NCCL's formula, median | ours of its rows, median | replayed rows | replay, "
                  "median | winners right | "
                  "repeats, p90 | falls "
                  "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

static struct ronde_cell percent(double error, bool is_there)
{
    struct ronde_cell cell = {"-"};
    if (is_there)
        snprintf(cell.text, sizeof cell.text, "%.1f%%", 100 * error);
    return cell;
}

void ronde_published_print_score(const struct ronde_published_view *view, const char *name,
                                 const struct ronde_published_score *score)
{
    const size_t predicted = score->count[RONDE_PUBLISHED_PREDICTED];
    struct ronde_cell winners = {"-"};
    if (score->duels > 0)
        snprintf(winners.text, sizeof winners.text, "%u/%u", score->winners, score->duels);
    const struct ronde_cell cells[COLUMN_COUNT] = {
        ronde_cell_text(name),
        ronde_cell_integer(predicted),
        ronde_cell_integer(score->count[RONDE_PUBLISHED_FITTED]),
        ronde_cell_integer(score->count[RONDE_PUBLISHED_FAULTY]),
        ronde_cell_integer(
            score->count[RONDE_PUBLISHED_SMALL] + score->count[RONDE_PUBLISHED_NOT_MODELLED] +
            score->count[RONDE_PUBLISHED_NOT_DESCRIBED] + score->count[RONDE_PUBLISHED_UNMEASURED]),
        percent(score->median, predicted > 0),
        percent(score->p90, predicted > 0),
        percent(score->closed_form_median, predicted > 0 && score->closed_form_median > 0),
        percent(score->nccl_median, predicted > 0 && score->nccl_median > 0),
        percent(score->beside_nccl_median, predicted > 0 && score->nccl_median > 0),
        ronde_cell_integer(score->replayed),
        percent(score->replayed_median, score->replayed > 0),
        winners,
        percent(score->own_spread, score->own_spread >= 0),
        percent(score->falls, true)};
    if (!view->is_markdown) {
        ronde_table_row(view->sink->file, &table, cells);
        return;
    }
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        fprintf(view->sink->file, "| %s ", cells[c].text);
    fprintf(view->sink->file, "|\n");
}

/* Crossovers of a system that are shown. */
#define CROSSOVERS 64u

static void print_crossover(const struct ronde_published_view *view, const char *system,
                            const struct ronde_published_crossover *at)
{
    fprintf(view->sink->file,
            view->is_markdown
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
        const enum ronde_status status =
            ronde_published_crossovers(view->published, s, CROSSOVERS, found, &count, error);
        if (status != RONDE_OK)
            return status;
        if (count > 0 && !is_headed)
            fputs(view->is_markdown
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
