/* ronde validate --published of collectives with known algorithms: measured and replayed, by algorithm. See styles.h. */
#include "cli/draw/gnuplot.h"
#include "cli/html/html.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "styles.h"

#include "ronde/collective_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- The picture ------------------------------------------------------------------------------------------------ */

/* Rows of the table: of a collective, or of one of its algorithms. */
struct part {
    size_t first, end;
};

struct picture {
    const struct ronde_collective_table *table;
    FILE *gnuplot;
    struct part panel; /* the last that was drawn */
};

static bool is_shown(const struct ronde_table_row *row)
{
    return row->predicted_ns > 0;
}

/* The rows from `first` on that are of one collective, and of one algorithm. */
static struct part next_part(const struct ronde_collective_table *table, size_t first, size_t end,
                             bool is_algorithm)
{
    const struct ronde_table_row *rows = table->rows;
    while (first < end && !is_shown(&rows[first]))
        first++;
    struct part part = {first, first};
    while (part.end < end && rows[part.end].collective == rows[first].collective &&
           (!is_algorithm || strcmp(rows[part.end].algorithm, rows[first].algorithm) == 0))
        part.end++;
    return part;
}

/* Goes to the next algorithm of a panel: from one that ends where the panel begins to the first. False behind the last. */
static bool next_series(const struct ronde_collective_table *table, const struct part *panel,
                        struct part *series)
{
    *series = next_part(table, series->end, panel->end, true);
    return series->first < series->end;
}

static unsigned count_series(const struct ronde_collective_table *table, const struct part *panel)
{
    struct part series = {.end = panel->first};
    unsigned count = 0;
    while (next_series(table, panel, &series))
        count++;
    return count;
}

/* The least that any algorithm was measured to take for a collective of this size. */
static double fastest_ns(const struct picture *picture, const struct part *panel, uint64_t bytes)
{
    double fastest = INFINITY;
    for (size_t i = panel->first; i < panel->end; i++) {
        const struct ronde_table_row *row = &picture->table->rows[i];
        if (is_shown(row) && row->bytes == bytes)
            fastest = fmin(fastest, row->measured_ns);
    }
    return fastest;
}

static void print_data(const struct picture *picture, const struct part *panel,
                       const struct part *series, bool is_measured)
{
    for (size_t i = series->first; i < series->end; i++) {
        const struct ronde_table_row *row = &picture->table->rows[i];
        if (!is_shown(row))
            continue;
        const double fastest = fastest_ns(picture, panel, row->bytes);
        const double ratio = (is_measured ? row->measured_ns : row->predicted_ns) / fastest;
        fprintf(picture->gnuplot, "%" PRIu64 " %.4g %.4g %.4g\n", row->bytes, ratio, ratio,
                ratio * (1 + (is_measured ? row->spread : 0)));
    }
    fputs("e\n", picture->gnuplot);
}

/* Both axes, with room for the key, a line per series, above what is drawn. */
static void print_axes(const struct picture *picture, const struct part *panel, unsigned series)
{
    uint64_t least = UINT64_MAX, most = 0;
    double low = 0.5, high = 2; /* at least */
    for (size_t i = panel->first; i < panel->end; i++) {
        const struct ronde_table_row *row = &picture->table->rows[i];
        if (!is_shown(row))
            continue;
        const double fastest = fastest_ns(picture, panel, row->bytes);
        least = row->bytes < least ? row->bytes : least;
        most = row->bytes > most ? row->bytes : most;
        low = fmin(low, fmin(row->measured_ns, row->predicted_ns) / fastest);
        high = fmax(high, fmax(row->measured_ns, row->predicted_ns) / fastest);
    }
    ronde_gnuplot_sizes(picture->gnuplot, least, most);
    fprintf(
        picture->gnuplot,
        "set logscale y\nset yrange [%.4g:%.4g]\nset ytics nomirror scale 0.5 (1, 2, 5, 10, 20, "
        "50, 100, 200, 500, 1000, 0.5, 0.2, 0.1)\n",
        low / 1.3, high * 1.3 * pow(high / low * 1.7, 0.08 * series));
}

/* Lines below points, in the order of the table. */
static void print_panel(const struct picture *picture, const struct part *panel)
{
    const struct ronde_table_row *rows = picture->table->rows;
    FILE *gnuplot = picture->gnuplot;
    print_axes(picture, panel, count_series(picture->table, panel));
    fprintf(gnuplot,
            "set title '%s, %u ranks' noenhanced font ',11' offset 0,-0.6\nset key top left "
            "reverse Left noenhanced samplen 1.2 spacing 1 font ',9'\nplot ",
            ronde_collective_text(rows[panel->first].collective), rows[panel->first].ranks);
    const char *comma = "";
    for (int is_measured = 0; is_measured <= 1; is_measured++) {
        struct part series = {.end = panel->first};
        for (unsigned s = 0; next_series(picture->table, panel, &series); s++) {
            fprintf(gnuplot, "%s'-' ", comma);
            if (is_measured)
                fprintf(gnuplot, "with yerrorbars pt %u ps 0.55 lc rgb '%s' notitle",
                        ronde_point_shape(s), ronde_colour(s));
            else
                fprintf(gnuplot, "with lines lw 1.8 lc rgb '%s' title '%s'", ronde_colour(s),
                        rows[series.first].algorithm);
            comma = ", ";
        }
    }
    fputc('\n', gnuplot);
    for (int is_measured = 0; is_measured <= 1; is_measured++)
        for (struct part series = {.end = panel->first};
             next_series(picture->table, panel, &series);)
            print_data(picture, panel, &series, is_measured);
}

/* The next of the collectives that have something to show. */
static void print_next_panel(void *context, FILE *gnuplot, uint32_t number)
{
    struct picture *picture = context;
    (void)number;
    picture->gnuplot = gnuplot;
    picture->panel = next_part(picture->table, picture->panel.end, picture->table->count, false);
    print_panel(picture, &picture->panel);
}

/*
 * Draws a panel per collective: over the size, each algorithm's time as a multiple of the fastest that was measured there;
 * measured as points, with a bar up to the 90th percentile of their repeats, predicted as lines. Where lines cross, the replay
 * changes its choice; where points do, the machine did. `name` stands above. Errors: UNAVAILABLE (no gnuplot); IO.
 */
static enum ronde_status plot(const struct ronde_collective_table *table, const char *name,
                              const char *path, struct ronde_error *error)
{
    static const struct ronde_key_entry key[] = {{"measured, to the 90th percentile of its repeats",
                                                  "lw 0 dt 1", 7, "#444444", "white"},
                                                 {"predicted", "lw 1.8 dt 1", 0, "", "#444444"}};
    struct picture picture = {.table = table};
    struct ronde_figure figure = {
        .path = path,
        .name = name,
        .settings = ": times the fastest measured, over size (bytes)' noenhanced font ',13'\n"
                    "set logscale x 2\nset grid lc rgb '#e4e4e4'\nset border 3\n",
        .key_top = 44,
        .key = key,
        .key_count = sizeof key / sizeof key[0],
        .print = print_next_panel,
        .context = &picture};
    struct part panel = next_part(table, 0, table->count, false);

    for (; panel.first < panel.end; figure.panels++)
        panel = next_part(table, panel.end, table->count, false);
    if (figure.panels > 0)
        return ronde_figure_draw(&figure, error);
    ronde_note("ronde: nothing was predicted, so %s has no picture", path);
    return RONDE_OK;
}

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

static const char *path_of(const struct session *session)
{
    return ronde_validate_own(session->options)->published;
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
    size_t end;
    for (size_t first = 0; first < table->count; first = end) {
        const struct ronde_table_row *row = &table->rows[first];
        for (end = first; end < table->count && table->rows[end].collective == row->collective &&
                          strcmp(table->rows[end].algorithm, row->algorithm) == 0;)
            end++;
        RONDE_TRY(ronde_collective_table_score(table, first, end, &score, error));
        if (score.rows > 0)
            RONDE_TRY(print_score(session, ronde_collective_text(row->collective), row->algorithm,
                                  &score, error));
    }
    RONDE_TRY(ronde_collective_table_score(table, 0, table->count, &score, error));
    answer(session, &score);
    return print_score(session, "all", "", &score, error);
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
        ronde_sink_say(session->sink, "%zu rows are of other numbers of ranks than %u, or of a node",
                       counts[RONDE_TABLE_OTHER], ronde_platform_facts(session->platform)->hosts);
    if (counts[RONDE_TABLE_UNKNOWN] > 0)
        ronde_sink_say(
            session->sink,
            "%zu rows are of algorithms that are not ronde's, faulty, in segments, or of GPUs",
            counts[RONDE_TABLE_UNKNOWN]);
    if (counts[RONDE_TABLE_REFUSED] > 0)
        ronde_sink_say(session->sink, "%zu rows could not be replayed; --json shows them",
                       counts[RONDE_TABLE_REFUSED]);
}

/* Every row: as a record, or of a table on the page of --html alone. */
static enum ronde_status print_rows(struct session *session, struct ronde_error *error)
{
    for (size_t i = 0; i < session->table.count; i++)
        RONDE_TRY(print_row(session, &session->table.rows[i], error));
    return RONDE_OK;
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

enum ronde_status ronde_validate_collectives(struct ronde_invocation *call,
                                             struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct session session = {.options = options, .sink = &call->sink};
    const struct ronde_tune_options how = ronde_tune_options_of(options);

    if (!options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--published %s is of collectives with named algorithms: --topo FILE "
                          "says on what machine (ronde calibrate --from-table makes one)",
                          path_of(&session));
    RONDE_TRY(ronde_takes_only(options,
                               "published meanings datatype op slot depth timeout topo without "
                               "degrade nodes nics fabric json csv wide output plot html",
                               "--published takes all calls of its table, and measures nothing",
                               error));
    enum ronde_status status = ronde_plot_check(options->output.plot, error);
    RONDE_THEN(status, ronde_open_platform(options, &call->platform, error));
    session.platform = call->platform;
    RONDE_THEN(status,
               ronde_collective_table_read(path_of(&session), ronde_validate_own(options)->meanings,
                                           &session.table, error));
    RONDE_THEN(status, ronde_collective_table_predict(&session.table, session.platform, &how,
                                                      options->engine.name, show_progress, error));
    ronde_progress_end();
    if (status == RONDE_OK && options->output.plot)
        status = plot(&session.table, path_of(&session), options->output.plot, error);
    RONDE_THEN(status, ronde_sink_open(options, session.sink, error));
    RONDE_THEN(status, show(&session, error));
    ronde_collective_table_close(&session.table);
    return status;
}
