/* ronde validate: measured, replayed and priced side by side. */
#include "cli/draw/gnuplot.h"
#include "cli/html/html.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "lab/rig/rig.h"
#include "ronde/collective_table.h"
#include "ronde/nccl_tuner.h"
#include "ronde/output_file.h"
#include "ronde/recorded.h"
#include "styles.h"

#include "ronde/sim.h"

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_platform *platform;
    struct ronde_rig_measurer rig;
    struct ronde_measurer measurer; /* of the rig, where there is one */
    struct ronde_comparison comparison;
    struct ronde_sink *sink;
    struct ronde_sink records; /* beside what is printed */
};

/* Where the measurements and the constants come from. */
static void print_head(const struct session *session)
{
    const struct ronde_options *options = session->options;
    const struct ronde_platform_facts *facts = ronde_platform_facts(session->platform);
    FILE *file = session->sink->file;
    const char *text = NULL;
    fprintf(file, "# ronde %s: %s on %s, backend %s\n", RONDE_VERSION,
            ronde_collective_text(session->comparison.grid.collective), session->comparison.machine,
            ronde_validate_own(options)->rig ? "ucx" : options->backend.name);
    if (ronde_validate_own(options)->rig)
        fprintf(file, "# between the hosts of rig %s\n", ronde_validate_own(options)->rig);
    fprintf(file, "# predicted from %s%s%s\n", ronde_platform_path(session->platform),
            facts->measured_by[0] ? ": " : "", facts->measured_by);
    if (!ronde_sim_simgrid_available(&text))
        fprintf(file, "# not replayed by SimGrid: %s; compared with %s\n", text,
                ronde_source_text(ronde_validation_replay(&session->comparison.grid)));
    fprintf(file, "#\n");
}

/* What is missing is said before half a minute of measuring. */
static enum ronde_status check_components(const struct ronde_options *options,
                                          struct ronde_error *error)
{
    struct ronde_output_file plot;
    enum ronde_status status = ronde_plot_check(options->output.plot, error);
    if (!options->output.plot || status != RONDE_OK)
        return status;
    RONDE_TRY(ronde_output_file_open(options->output.plot, &plot, error));
    /* It only shows that it can be written. */
    status = ronde_output_file_close(&plot, RONDE_CANCELLED, error);
    return status == RONDE_CANCELLED ? RONDE_OK : status;
}

/* Measured rows appear as they are done; the summary needs all of them. */
static enum ronde_status compare(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_validation *grid = &session->comparison.grid;
    const bool is_table = ronde_sink_is_table(session->sink);
    struct ronde_comparison_printer printer = {.sink = session->sink,
                                               .records = session->records.file ? &session->records
                                                                                : NULL};
    if (is_table)
        print_head(session);
    RONDE_TRY(ronde_comparison_show(&session->comparison, &printer, error));
    if (is_table && ronde_validate_own(options)->rig)
        fprintf(
            session->sink->file,
            "#\n# %u repetitions, and %u that others disturbed (processes more than 0.3 core, the "
            "host of this machine more than 0.02)\n",
            session->rig.tally.kept, session->rig.tally.discarded);
    if (is_table)
        RONDE_TRY(ronde_summary_print(grid, session->sink->file, error));
    RONDE_TRY(ronde_score_rows(grid, session->sink, error));
    RONDE_TRY(ronde_answer_validation(session->sink->html, grid, error));
    if (printer.records)
        RONDE_TRY(ronde_score_rows(grid, printer.records, error));
    if (options->output.plot)
        RONDE_TRY(ronde_plot_validation(grid, options->output.plot, error));
    if (options->output.plot)
        ronde_note("wrote %s", options->output.plot);
    return RONDE_OK;
}

/* Records beside whatever is printed. */
static enum ronde_status open_records(struct session *session, struct ronde_error *error)
{
    struct ronde_options as_records = *session->options;
    if (!ronde_validate_own(session->options)->records)
        return RONDE_OK;
    as_records.output.path = ronde_validate_own(session->options)->records;
    as_records.output.json = true;
    as_records.output.csv = false;
    as_records.output.html = NULL;
    return ronde_sink_open(&as_records, &session->records, error);
}

/* The grid, measured on this machine or between the hosts of a rig. */
static enum ronde_status open_comparison(struct session *session, struct ronde_error *error)
{
    struct ronde_compare_options how;
    RONDE_TRY(ronde_compare_options_of(session->options, session->platform, &how, error));
    session->rig.rig = ronde_validate_own(session->options)->rig;
    session->measurer = ronde_rig_measurer(&session->rig);
    how.measurer = ronde_validate_own(session->options)->rig ? &session->measurer : NULL;
    return ronde_comparison_open(&how, &session->comparison, error);
}

/* What an earlier run has measured: summed up, and drawn again where that is asked for. */
static enum ronde_status sum_up(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_recorded recorded = {.grid = {.points = NULL}};
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;

    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--from: of which collective is missing");
    if (options->output.json || options->output.csv || ronde_validate_own(options)->records)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--from prints no records: it reads them");
    RONDE_TRY(ronde_takes_only(options, "from wide output plot html",
                               "--from sums up what its file has, and measures nothing", error));
    enum ronde_status status = ronde_parse_collective(options->arguments[0], &collective, error);
    RONDE_THEN(status,
               ronde_recorded_read(ronde_validate_own(options)->from, collective, &recorded, error));
    RONDE_THEN(status, ronde_sink_open(options, &call->sink, error));
    if (status == RONDE_OK) {
        fprintf(call->sink.file, "# ronde %s: %s from %s\n", RONDE_VERSION,
                ronde_collective_text(collective), ronde_validate_own(options)->from);
        status = ronde_summary_print(&recorded.grid, call->sink.file, error);
        ronde_html_grid(call->sink.html, &recorded.grid);
    }
    RONDE_THEN(status, ronde_answer_validation(call->sink.html, &recorded.grid, error));
    if (status == RONDE_OK && options->output.plot)
        status = ronde_plot_validation(&recorded.grid, options->output.plot, error);
    ronde_recorded_close(&recorded);
    return status;
}

/* Measured here, or between the hosts of a rig. */
static enum ronde_status measure(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_options own = *call->options;
    struct session session = {.options = &own, .sink = &call->sink};

    enum ronde_status status = ronde_takes_none(&own, "system meanings fit auto-topo replay",
                                                "--published is missing", error);
    RONDE_THEN(status, check_components(&own, error));
    RONDE_THEN(status, ronde_open_platform(&own, &call->platform, error));
    session.platform = call->platform;
    RONDE_THEN(status, ronde_default_grid(session.platform, true, &own, error));
    RONDE_THEN(status, open_comparison(&session, error));
    RONDE_THEN(status, ronde_sink_open(&own, session.sink, error));
    RONDE_THEN(status, open_records(&session, error));
    RONDE_THEN(status, compare(&session, error));
    const enum ronde_status kept = session.records.rows > 0 ? RONDE_OK : status;
    const enum ronde_status closed = ronde_sink_close(&session.records, kept, error);
    status = status == RONDE_OK ? closed : status;
    status = ronde_sink_close(session.sink, status, error);
    if (status == RONDE_OK && session.comparison.wrong > 0) {
        ronde_note("ronde: results differ from host");
        call->code = RONDE_EXIT_NO;
    }
    ronde_comparison_close(&session.comparison);
    return status;
}

static enum ronde_status validate_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    const char *published = ronde_validate_own(options)->published;
    const bool is_table = published && ronde_collective_table_is(published);
    const bool is_costs = published && !is_table && ronde_nccl_tables_is(published);

    if ((!published || is_table || is_costs) && ronde_refuse_anchor(options, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (is_table)
        return ronde_validate_collectives(call, error);
    if (is_costs)
        return ronde_validate_nccl_tables(call, error);
    if (published)
        return ronde_validate_published(call, error);
    return ronde_validate_own(options)->from ? sum_up(call, error) : measure(call, error);
}

#define OWN(member) offsetof(struct ronde_validate_options, member)

static const struct ronde_option own_rows[] = {
    {"published", 0, "FILE", ronde_take_input, OWN(published), NULL, 0, false,
     "times of NCCL, a table (CSV) or a log of nccl-tests (text, JSON), beside the model of NCCL; "
     "or "
     "of collectives with named algorithms (CSV), beside their replay on --topo; or NCCL's own "
     "costs (RONDE_TUNER_RECORD), beside our copy of its formula; nothing is measured"},
    {"system", 0, "NAME", ronde_take_text, OWN(system), NULL, 0, false,
     "with --published: only this system of the table, or the one that a log is of; --topo is its "
     "description, or a folder of descriptions"},
    {"meanings", 0, "FILE", ronde_take_input, OWN(meanings), NULL, 0, true,
     "with --published: what a table's own names of algorithms are here (CSV: collective, "
     "algorithm, "
     "ronde_algorithm), as docs/examples/mpi-meanings.csv for Bine trees"},
    {"fit", 0, "MODE", ronde_take_text, OWN(fit),
     "nominal leave-one-out anchored constants spread bands", 0, true,
     "with --published: nominal (default), leave-one-out, anchored (that, and three numbers of its "
     "own from a collective on its smallest number of nodes); constants prints those fitted "
     "to all, spread and bands how far off leave-one-out is"},
    {"auto-topo", 0, NULL, ronde_take_switch, OWN(auto_topo), NULL, 0, true,
     "with --published: machines are those that the table's own columns describe"},
    {"replay", 0, NULL, ronde_take_switch, OWN(replay), NULL, 0, true,
     "with --published: replay rings and trees of large calls on the links of their machines, too"},
    {"from", 0, "FILE", ronde_take_input, OWN(from), NULL, 0, false,
     "sum up and draw these records of an earlier run; nothing is measured"},
    {"rig", 0, "NAME", ronde_take_text, OWN(rig), NULL, 0, true,
     "hosts of a virtual cluster that tests/rig/up has made"},
    {"records", 0, "FILE", ronde_take_text, OWN(records), NULL, 0, true,
     "write records there, whatever else is printed"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_AS(several, what, NULL),
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, own_rows, struct ronde_validate_options, NULL),
    RONDE_TAKES(what, "datatype op root shape pairs channels anchor"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(backend, "backend iters warmup_iters"),
    RONDE_TAKES(engine, "slot depth timeout"),
    RONDE_TAKES(output, "json csv wide output plot html markdown"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_validate = {
    .name = "validate",
    .arguments = "[COLLECTIVE]",
    .summary = "measured, replayed and priced side by side",
    .examples =
        "  ronde validate all_reduce -a ring,tree -N 2,4 --topo machine.xml\n"
        "  ronde validate all_reduce -a ring,tree,double_tree -N 2,4,8 -e 64M --topo machine.xml"
        " --plot validate.svg\n"
        "  ronde validate all_reduce --from docs/results/cpu-validate.jsonl --plot again.svg\n"
        "  ronde validate --published nccl.csv --system Alps-GH200 --fit anchored\n",
    .uses = uses,
    .max_arguments = 1,
    .run = validate_command,
};
