/* ronde validate: measured, replayed and priced side by side. */
#include "cli/draw/gnuplot.h"
#include "cli/draw/plot.h"
#include "cli/options/default_grid.h"
#include "cli/options/lab_options.h"
#include "cli/print/compare_print.h"
#include "cli/print/report.h"
#include "cli/print/score_print.h"
#include "commands.h"
#include "lab/rig/rig_measurer.h"
#include "published.h"
#include "ronde/recorded.h"

#include "ronde/sim.h"

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_platform *platform;
    struct ronde_rig_measurer rig;
    struct ronde_measurer measurer; /* of the rig, where there is one */
    struct ronde_comparison comparison;
    struct ronde_sink sink;
    struct ronde_sink records; /* beside what is printed */
};

/* Where the measurements and the constants come from. */
static void print_head(const struct session *session)
{
    const struct ronde_options *options = session->options;
    const struct ronde_platform_facts *facts = ronde_platform_facts(session->platform);
    FILE *file = session->sink.file;
    fprintf(file, "# ronde %s: %s on %s, backend %s\n", RONDE_VERSION,
            ronde_collective_text(session->comparison.grid.collective), session->comparison.machine,
            options->rig ? "ucx" : options->backend);
    if (options->rig)
        fprintf(file, "# between the hosts of rig %s\n", options->rig);
    fprintf(file, "# predicted from %s%s%s\n#\n", ronde_platform_path(session->platform),
            facts->measured_by[0] ? ": " : "", facts->measured_by);
}

/* What is missing is said before half a minute of measuring. */
static enum ronde_status check_components(const struct ronde_options *options,
                                          struct ronde_error *error)
{
    const char *text = NULL;
    if (!ronde_sim_simgrid_available(&text))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", text);
    if (!options->plot)
        return RONDE_OK;
    if (!ronde_plot_available(&text))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", text);
    FILE *plot = fopen(options->plot, "w");
    if (!plot)
        return ronde_fail(error, RONDE_IO, "%s: cannot be written", options->plot);
    fclose(plot);
    return RONDE_OK;
}

/* Measured rows appear as they are done; the summary needs all of them. */
static enum ronde_status compare(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_validation *grid = &session->comparison.grid;
    const bool is_table = ronde_sink_is_table(&session->sink);
    struct ronde_comparison_printer printer = {.sink = &session->sink,
                                               .records = session->records.file ? &session->records
                                                                                : NULL};
    if (is_table)
        print_head(session);
    enum ronde_status status = ronde_comparison_show(&session->comparison, &printer, error);
    if (status == RONDE_OK && is_table && options->rig)
        fprintf(session->sink.file,
                "#\n# %u repetitions, and %u that other processes disturbed (more than 0.3 core)\n",
                session->rig.tally.kept, session->rig.tally.discarded);
    if (status == RONDE_OK && is_table)
        status = ronde_summary_print(grid, session->sink.file, error);
    if (status == RONDE_OK)
        status = ronde_score_rows(grid, &session->sink, error);
    if (status == RONDE_OK && printer.records)
        status = ronde_score_rows(grid, printer.records, error);
    if (status == RONDE_OK && options->plot)
        status = ronde_plot_validation(grid, options->plot, error);
    if (status == RONDE_OK && options->plot)
        ronde_note("wrote %s", options->plot);
    return status;
}

/* Records beside whatever is printed. */
static enum ronde_status open_records(struct session *session, struct ronde_error *error)
{
    struct ronde_options as_records = *session->options;
    if (!as_records.records)
        return RONDE_OK;
    as_records.output = as_records.records;
    as_records.json = true;
    as_records.csv = false;
    return ronde_sink_open(&as_records, &session->records, error);
}

/* The grid, measured on this machine or between the hosts of a rig. */
static enum ronde_status open_comparison(struct session *session, struct ronde_error *error)
{
    struct ronde_compare_options how;
    const enum ronde_status status =
        ronde_compare_options_of(session->options, session->platform, &how, error);
    if (status != RONDE_OK)
        return status;
    session->rig.rig = session->options->rig;
    session->measurer = ronde_rig_measurer(&session->rig);
    how.measurer = session->options->rig ? &session->measurer : NULL;
    return ronde_comparison_open(&how, &session->comparison, error);
}

/* What an earlier run has measured: summed up, and drawn again where that is asked for. */
static enum ronde_status sum_up(const struct ronde_options *options, struct ronde_error *error)
{
    struct ronde_sink sink = {0};
    struct ronde_recorded recorded = {.grid = {.points = NULL}};
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--from: of which collective is missing");
    if (options->json || options->csv || options->records)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--from prints no records: it reads them");
    enum ronde_status status = ronde_parse_collective(options->arguments[0], &collective, error);
    if (status == RONDE_OK)
        status = ronde_recorded_read(options->from, collective, &recorded, error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, error);
    if (status == RONDE_OK) {
        fprintf(sink.file, "# ronde %s: %s from %s\n", RONDE_VERSION,
                ronde_collective_text(collective), options->from);
        status = ronde_summary_print(&recorded.grid, sink.file, error);
    }
    if (status == RONDE_OK && options->plot)
        status = ronde_plot_validation(&recorded.grid, options->plot, error);
    if (sink.file && ronde_sink_close(&sink, error) != RONDE_OK && status == RONDE_OK)
        status = error->status;
    ronde_recorded_close(&recorded);
    return status;
}

int ronde_cmd_validate(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_options own = *options;
    struct session session = {.options = &own};
    if (options->published)
        return ronde_validate_published(options);
    if (options->from)
        return sum_up(options, &error) == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
    enum ronde_status status = check_components(options, &error);
    if (status == RONDE_OK)
        status = ronde_open_platform(options, &session.platform, &error);
    if (status == RONDE_OK)
        status = ronde_default_grid(session.platform, true, &own, &error);
    if (status == RONDE_OK)
        status = open_comparison(&session, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(&own, &session.sink, &error);
    if (status == RONDE_OK)
        status = open_records(&session, &error);
    if (status == RONDE_OK)
        status = compare(&session, &error);
    if (session.records.file && ronde_sink_close(&session.records, &error) != RONDE_OK)
        status = error.status;
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK)
        status = error.status;
    const bool is_wrong = session.comparison.wrong > 0;
    ronde_comparison_close(&session.comparison);
    ronde_platform_destroy(session.platform);
    if (status != RONDE_OK)
        return ronde_report(&error);
    if (is_wrong)
        ronde_note("ronde: results differ from host");
    return is_wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
}
