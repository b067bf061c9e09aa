/* ronde validate: measured, replayed and priced side by side. */
#include "commands.h"
#include "compare.h"
#include "gnuplot.h"
#include "plot.h"
#include "report.h"
#include "score.h"

#include "ronde/sim.h"

/* Where the measurements and the constants come from. */
static void print_head(const struct ronde_comparison *comparison, FILE *file)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(comparison->platform);
    fprintf(file, "# ronde %s: %s on %s, backend %s\n", RONDE_VERSION,
            ronde_collective_text(comparison->grid.collective), comparison->machine,
            comparison->options->rig ? "ucx" : comparison->options->backend);
    if (comparison->options->rig)
        fprintf(file, "# between the hosts of rig %s\n", comparison->options->rig);
    fprintf(file, "# predicted from %s%s%s\n#\n", ronde_platform_path(comparison->platform),
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
static enum ronde_status compare(struct ronde_comparison *comparison, struct ronde_sink *sink,
                                 struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(sink);
    if (is_table)
        print_head(comparison, sink->file);
    enum ronde_status status = ronde_comparison_run(comparison, sink, error);
    if (status == RONDE_OK && is_table && comparison->options->rig)
        fprintf(sink->file,
                "#\n# %u repetitions, and %u that other processes disturbed (more than 0.3 core)\n",
                comparison->tally.kept, comparison->tally.discarded);
    if (status == RONDE_OK && is_table)
        status = ronde_summary_print(&comparison->grid, sink->file, error);
    if (status == RONDE_OK)
        status = ronde_score_rows(&comparison->grid, sink, error);
    if (status == RONDE_OK && comparison->records)
        status = ronde_score_rows(&comparison->grid, comparison->records, error);
    if (status == RONDE_OK && comparison->options->plot)
        status = ronde_plot_validation(&comparison->grid, comparison->options->plot, error);
    if (status == RONDE_OK && comparison->options->plot)
        ronde_note("wrote %s", comparison->options->plot);
    return status;
}

/* Records beside whatever is printed. */
static enum ronde_status open_records(const struct ronde_options *options, struct ronde_sink *sink,
                                      struct ronde_comparison *comparison, struct ronde_error *error)
{
    struct ronde_options as_records = *options;
    if (!options->records)
        return RONDE_OK;
    as_records.output = options->records;
    as_records.json = true;
    as_records.csv = false;
    comparison->records = sink;
    return ronde_sink_open(&as_records, sink, error);
}

int ronde_cmd_validate(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct ronde_comparison comparison = {0};
    struct ronde_sink sink = {0}, records = {0};
    enum ronde_status status = check_components(options, &error);
    if (status == RONDE_OK)
        status = ronde_open_platform(options, &platform, &error);
    if (status == RONDE_OK)
        status = ronde_comparison_open(options, platform, &comparison, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, &error);
    if (status == RONDE_OK)
        status = open_records(options, &records, &comparison, &error);
    if (status == RONDE_OK)
        status = compare(&comparison, &sink, &error);
    if (records.file && ronde_sink_close(&records, &error) != RONDE_OK)
        status = error.status;
    if (sink.file && ronde_sink_close(&sink, &error) != RONDE_OK)
        status = error.status;
    const bool is_wrong = comparison.wrong > 0;
    ronde_comparison_close(&comparison);
    ronde_platform_destroy(platform);
    if (status != RONDE_OK)
        return ronde_report(&error);
    if (is_wrong)
        ronde_note("ronde: results differ from host");
    return is_wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
}
