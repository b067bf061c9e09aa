/* ronde validate --published of collectives with known algorithms: measured and replayed, by algorithm. See styles.h. */
#include "ronde/collective_table.h"

#include "cli/draw/gnuplot.h"
#include "cli/html/html.h"
#include "cli/options/requests.h"
#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "common.h"
#include "styles.h"

#include <math.h>
#include <string.h>

static const struct ronde_column score_columns[] = {
    {"collective", "collective", "", RONDE_CELL_PLAIN, -14, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, -24, false},
    {"rows", "rows", "", RONDE_CELL_PLAIN, 6, false},
    {"median", "median", "(%)", RONDE_CELL_PERCENT, 7, false},
    {"p90", "p90", "(%)", RONDE_CELL_PERCENT, 7, false},
    {"lean", "lean", "(%)", RONDE_CELL_PERCENT, 7, false},
};
static const struct ronde_table score_table = RONDE_TABLE(score_columns);

static const char *const state_texts[RONDE_TABLE_STATE_COUNT] = {"predicted", "fitted", "other",
                                                                 "unknown", "refused"};

struct session {
    const struct ronde_options *options;
    struct ronde_platform *platform;
    struct ronde_collective_table table;
    struct ronde_sink *sink;
};

static const struct ronde_validate_options *own_of(const struct session *session)
{
    return session->options->own;
}

static const char *path_of(const struct session *session)
{
    return own_of(session)->published;
}

static void show_progress(size_t done, size_t count)
{
    const double rows = (double)count;
    ronde_progress_part((double)done / rows, (double)(done + 1) / rows, "replaying row %zu of %zu",
                        done + 1, count);
}

static enum ronde_status print_row(struct session *session, const struct ronde_table_row *row,
                                   struct ronde_error *error)
{
    const bool is_replayed = row->predicted_ns > 0;
    const struct ronde_field fields[] = {
        ronde_field_text("collective", ronde_collective_text(row->collective)),
        ronde_field_text("algorithm", row->algorithm),
        ronde_field_integer("ranks", row->ranks),
        ronde_field_integer("bytes", row->bytes),
        ronde_field_real("measured_us", row->measured_ns / 1e3),
        ronde_field_real("time_us", is_replayed ? row->predicted_ns / 1e3 : NAN),
        ronde_field_real("error", is_replayed ? row->predicted_ns / row->measured_ns - 1 : NAN),
        ronde_field_text("state", state_texts[row->state]),
        ronde_field_text("engine", row->engine),
        ronde_field_text("kind", "simulated"),
    };
    return ronde_sink_row(session->sink, &RONDE_ROW(fields), error);
}

static enum ronde_status print_score(struct session *session, const char *collective,
                                     const char *algorithm, const struct ronde_table_score *score,
                                     struct ronde_error *error)
{
    const struct ronde_field fields[] = {
        ronde_field_text("collective", collective), ronde_field_text("algorithm", algorithm),
        ronde_field_integer("rows", score->rows),   ronde_field_real("median", score->median),
        ronde_field_real("p90", score->p90),        ronde_field_real("lean", score->lean),
    };
    return ronde_sink_print(session->sink, &score_table, &RONDE_ROW(fields), error);
}

/* The top of the page of --html. */
static void answer(const struct session *session, const struct ronde_table_score *score)
{
    const struct ronde_table_winners winners = ronde_collective_table_winners(&session->table);
    const char *machine = ronde_platform_facts(session->platform)->name;
    if (score->rows == 0) {
        ronde_html_answer(session->sink->html, "No row of %s could be replayed on %s.",
                          path_of(session), machine);
        return;
    }
    ronde_html_answer(session->sink->html,
                      "Collectives replayed on %s: off by %.1f %% in the median of %zu rows.",
                      machine, 100 * score->median, score->rows);
    ronde_html_sure(
        session->sink->html,
        "Measurements are others'; a replay in ten is off by more than %.0f %%. The "
        "algorithm named as fastest is within 5 %% of the fastest at %zu of %zu points.",
        100 * score->p90, winners.right, winners.points);
}

/* A line for each algorithm, and one for all. */
static enum ronde_status print_scores(struct session *session, struct ronde_error *error)
{
    const struct ronde_collective_table *table = &session->table;
    struct ronde_table_score score;
    enum ronde_status status = RONDE_OK;
    size_t end;
    for (size_t first = 0; first < table->count && status == RONDE_OK; first = end) {
        const struct ronde_table_row *row = &table->rows[first];
        for (end = first; end < table->count && table->rows[end].collective == row->collective &&
                          strcmp(table->rows[end].algorithm, row->algorithm) == 0;)
            end++;
        status = ronde_collective_table_score(table, first, end, &score, error);
        if (status == RONDE_OK && score.rows > 0)
            status = print_score(session, ronde_collective_text(row->collective), row->algorithm,
                                 &score, error);
    }
    if (status == RONDE_OK)
        status = ronde_collective_table_score(table, 0, table->count, &score, error);
    if (status == RONDE_OK)
        answer(session, &score);
    return status == RONDE_OK ? print_score(session, "all", "", &score, error) : status;
}

static void print_left_out(const struct session *session)
{
    size_t counts[RONDE_TABLE_STATE_COUNT] = {0};
    for (size_t i = 0; i < session->table.count; i++)
        counts[session->table.rows[i].state]++;
    const struct ronde_table_winners winners = ronde_collective_table_winners(&session->table);
    if (winners.points > 0)
        ronde_sink_say(
            session->sink,
            "among a library's algorithms the one named as fastest is within 5 %% of the "
            "fastest at %zu of %zu points (%.0f %%); it takes %.0f %% longer in the mean",
            winners.right, winners.points, 100.0 * (double)winners.right / (double)winners.points,
            100.0 * winners.lost);
    if (counts[RONDE_TABLE_FITTED] > 0)
        ronde_sink_say(session->sink,
                       "%zu rows of the algorithms that the machine's constants come from are not "
                       "counted",
                       counts[RONDE_TABLE_FITTED]);
    if (counts[RONDE_TABLE_OTHER] > 0)
        ronde_sink_say(session->sink, "%zu rows are of other numbers of ranks than %u",
                       counts[RONDE_TABLE_OTHER], ronde_platform_facts(session->platform)->hosts);
    if (counts[RONDE_TABLE_UNKNOWN] > 0)
        ronde_sink_say(
            session->sink,
            "%zu rows are of algorithms that are not ronde's, faulty, in segments, of several "
            "ranks a node, or of GPUs",
            counts[RONDE_TABLE_UNKNOWN]);
    if (counts[RONDE_TABLE_REFUSED] > 0)
        ronde_sink_say(session->sink, "%zu rows could not be replayed; --json shows them",
                       counts[RONDE_TABLE_REFUSED]);
}

/* Every row: as a record, or of a table on the page of --html alone. */
static enum ronde_status print_rows(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0; i < session->table.count && status == RONDE_OK; i++)
        status = print_row(session, &session->table.rows[i], error);
    return status;
}

static enum ronde_status show(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (ronde_sink_is_table(session->sink)) {
        ronde_sink_say(session->sink, "ronde %s: %s replayed on %s (%s)", RONDE_VERSION,
                       path_of(session), ronde_platform_facts(session->platform)->name,
                       ronde_platform_path(session->platform));
        ronde_sink_say(session->sink, "simulated; %s",
                       ronde_platform_facts(session->platform)->measured_by);
        ronde_sink_head(session->sink, &score_table);
        status = print_scores(session, error);
        if (status == RONDE_OK)
            print_left_out(session);
        return status == RONDE_OK && session->sink->html ? print_rows(session, error) : status;
    }
    return print_rows(session, error);
}

enum ronde_status ronde_validate_collectives(struct ronde_call *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct session session = {.options = options, .sink = &call->sink};
    const struct ronde_tune_options how = ronde_tune_options_of(options);

    if (!options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--published %s is of collectives with named algorithms: --topo FILE "
                          "says on what machine (ronde calibrate --from-table makes one)",
                          path_of(&session));
    enum ronde_status status = ronde_plot_check(options->output.plot, error);
    if (status == RONDE_OK)
        status = ronde_open_platform(options, &call->platform, error);
    session.platform = call->platform;
    if (status == RONDE_OK)
        status = ronde_collective_table_read(path_of(&session), own_of(&session)->meanings,
                                             &session.table, error);
    if (status == RONDE_OK)
        status = ronde_collective_table_predict(&session.table, session.platform, &how,
                                                options->engine.name, show_progress, error);
    ronde_progress_end();
    if (status == RONDE_OK && options->output.plot)
        status =
            ronde_collective_plot(&session.table, path_of(&session), options->output.plot, error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, session.sink, error);
    if (status == RONDE_OK)
        status = show(&session, error);
    ronde_collective_table_close(&session.table);
    return status;
}
