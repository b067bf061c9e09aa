/* ronde calibrate: measure, show, store. */
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "lab/rig/rig.h"

#include "ronde/calibrate_table.h"

#include <stddef.h>

/* Hosts of the file unless -N says otherwise: as many virtual ranks as anybody tries on one machine. */
#define DEFAULT_RANKS 64u

/* What this command alone takes. */
struct calibrate_options {
    const char *table;
    const char *alloc;
    const char *run;
    const char *rig;
    uint32_t node_ranks;
};

static const struct ronde_column columns[] = {
    {"constant", "constant", "", RONDE_CELL_PLAIN, 14, false},
    {"value", "value", "", RONDE_CELL_PLAIN, 10, false},
    {"unit", "unit", "", RONDE_CELL_PLAIN, -6, false},
    {"spread", "spread", "(%)", RONDE_CELL_PERCENT, 6, false},
    {"measured_by", "measured by", "", RONDE_CELL_PLAIN, 0, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

enum ronde_status ronde_calibration_print(const struct ronde_calibration_report *report,
                                          struct ronde_sink *sink, struct ronde_error *error)
{
    ronde_sink_say(sink, "%s; %s, %s", report->machine, report->measured_by, report->measured_on);
    ronde_sink_head(sink, &table);
    for (uint32_t i = 0; i < report->constant_count; i++) {
        const struct ronde_constant *constant = &report->constants[i];
        const struct ronde_field fields[] = {
            ronde_field_text("constant", constant->name),
            ronde_field_real("value", constant->value),
            ronde_field_text("unit", constant->unit),
            ronde_field_real("spread", constant->spread),
            ronde_field_text("measured_by", constant->how),
            ronde_field_text("machine", report->machine),
            ronde_field_text("version", RONDE_VERSION),
        };
        RONDE_TRY(ronde_sink_print(sink, &table, &RONDE_ROW(fields), error));
    }
    return RONDE_OK;
}

void ronde_calibration_warn(const struct ronde_calibration_report *report)
{
    for (uint32_t i = 0; i < report->constant_count; i++)
        if (report->constants[i].spread > RONDE_ABSURD_SPREAD)
            ronde_note("ronde: note: %s varies by %.0f%%; is this machine busy?",
                       report->constants[i].name, 100.0 * report->constants[i].spread);
    if (report->moved > 0)
        ronde_note("ronde: note: %u probes ran while a cache line took another time between "
                   "processors than the usual %.0f ns; does the host of this machine move them?",
                   report->moved, report->calibration.caches.line_ns);
}

/* What others have measured. */
static enum ronde_status
read_table(const struct calibrate_options *own, const struct ronde_options *options, uint32_t ranks,
           struct ronde_calibration_report *out_report, struct ronde_error *error)
{
    const struct ronde_grid *shape = &options->what.shape;
    struct ronde_calibrate_table given = {.path = own->table,
                                          .alloc_path = own->alloc,
                                          .run = own->run,
                                          .axis_count = shape->count,
                                          .ranks = ranks,
                                          .node_ranks = own->node_ranks};
    for (uint32_t axis = 0; axis < shape->count; axis++)
        given.shape[axis] = shape->radix[axis];
    return ronde_calibrate_from_table(&given, out_report, error);
}

/* From a table, between two hosts of a rig, or on this machine. */
static enum ronde_status measure(const struct ronde_options *options, uint32_t ranks,
                                 struct ronde_calibration_report *out_report,
                                 struct ronde_error *error)
{
    const struct ronde_calibrate_options how = ronde_calibrate_options_of(options);
    const struct calibrate_options *own = options->own;
    if (!own->table &&
        (own->alloc || own->run || own->node_ranks > 0 || options->what.shape.count > 0))
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--alloc, --run, --ppn and --shape say where the ranks of a table were: give "
            "--from-table FILE, too");
    if (own->table && own->rig)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--from-table and --rig: a machine is read or measured, not both");
    if (own->table && options->what.rank_counts == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--from-table needs the number of ranks of the machine, -N");
    if (own->table)
        return read_table(own, options, ranks, out_report, error);
    return own->rig ? ronde_calibrate_rig(own->rig, &how, ranks, out_report, error)
                    : ronde_calibrate(&how, ranks, out_report, error);
}

static enum ronde_status calibrate_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_calibration_report report;
    const uint32_t ranks = options->what.rank_counts ? options->what.ranks[0] : DEFAULT_RANKS;
    const char *missing = NULL;
    /* The table goes to stdout; --output is the platform file. */
    struct ronde_options to_stdout = *options;
    to_stdout.output.path = NULL;

    /* Said before the measurement, not after it. */
    if (options->output.json && !ronde_json_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    RONDE_TRY(measure(options, ranks, &report, error));
    RONDE_TRY(ronde_sink_open(&to_stdout, &call->sink, error));
    RONDE_TRY(ronde_calibration_print(&report, &call->sink, error));
    if (options->output.path)
        RONDE_TRY(ronde_calibration_check(&report, error));
    if (options->output.path)
        RONDE_TRY(ronde_calibration_store(&report, options->output.path, error));
    ronde_calibration_warn(&report);
    if (options->output.path)
        ronde_note("wrote %s", options->output.path);
    else
        ronde_note("not stored: -o FILE writes the platform file");
    return RONDE_OK;
}

#define OWN(member) offsetof(struct calibrate_options, member)

static const struct ronde_option own_rows[] = {
    {"from-table", 0, "FILE", ronde_take_input, OWN(table), NULL, 0, false,
     "nothing is measured: times of all_gather by ring and all_reduce by recursive_doubling (CSV), "
     "or what osu_latency prints"},
    {"alloc", 0, "FILE", ronde_take_input, OWN(alloc), NULL, 0, false,
     "with --from-table: groups that ranks were in (CSV: run, ranks, groups as 16*5 3*7)"},
    {"run", 0, "NAME", ronde_take_text, OWN(run), NULL, 0, false,
     "with --alloc: the run of that file"},
    {"ppn", 0, "COUNT", ronde_take_count, OWN(node_ranks), NULL, 1, false,
     "with --from-table: consecutive ranks of a node, which share its port"},
    {"rig", 0, "NAME", ronde_take_text, OWN(rig), NULL, 0, true,
     "hosts of a virtual cluster that tests/rig/up has made"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES(what, "ranks shape"),
    RONDE_TAKES(backend, "backend"),
    RONDE_TAKES_ROWS(RONDE_SECTION_MACHINE, own_rows, struct calibrate_options, NULL),
    RONDE_TAKES(engine, "slot depth timeout"),
    RONDE_TAKES(output, "json csv wide output"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_calibrate = {
    .name = "calibrate",
    .arguments = "",
    .summary = "measure this machine, or read what others measured, and write a platform file",
    .examples = "  ronde calibrate -o machine.xml\n  ronde calibrate -N 64 --json\n"
                "  ronde calibrate --from-table mpi.csv -N 512 --shape 8x8x8 -o cluster.xml\n",
    .uses = uses,
    .max_arguments = 0,
    .is_rare = true,
    .run = calibrate_command,
};
