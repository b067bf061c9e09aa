/* ronde calibrate: measure, show, store. */
#include "cli/options/lab_options.h"
#include "cli/print/calibration_print.h"
#include "cli/print/report.h"
#include "commands.h"
#include "common.h"
#include "lab/rig/calibrate_rig.h"

/* Hosts of the file unless -N says otherwise: as many virtual ranks as anybody tries on one machine. */
#define DEFAULT_RANKS 64u

void ronde_calibration_print(const struct ronde_calibration_report *report, FILE *file)
{
    fprintf(file, "# %s; %s, %s\n", report->machine, report->measured_by, report->measured_on);
    fprintf(file, "#%12s  %10s  %-5s  %8s  %s\n", "constant", "value", "unit", "spread",
            "measured by");
    for (uint32_t i = 0; i < report->constant_count; i++) {
        const struct ronde_constant *constant = &report->constants[i];
        char spread[16] = "-";
        if (constant->spread > 0.0)
            snprintf(spread, sizeof spread, "%.1f%%", 100.0 * constant->spread);
        fprintf(file, "%13s  %10.6g  %-5s  %8s  %s\n", constant->name, constant->value,
                constant->unit[0] ? constant->unit : "-", spread, constant->how);
    }
}

/* The same constants for programs. */
static enum ronde_status print_rows(const struct ronde_calibration_report *report,
                                    struct ronde_sink *sink, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < report->constant_count; i++) {
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
        const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
        status = ronde_sink_row(sink, &row, error);
    }
    return status;
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

/* The table goes to stdout; --output is the platform file. */
static enum ronde_status print_report(const struct ronde_calibration_report *report,
                                      const struct ronde_options *options, struct ronde_error *error)
{
    struct ronde_options to_stdout = *options;
    struct ronde_sink sink = {0};
    to_stdout.output = NULL;
    enum ronde_status status = ronde_sink_open(&to_stdout, &sink, error);
    if (status != RONDE_OK)
        return status;
    if (ronde_sink_is_table(&sink))
        ronde_calibration_print(report, sink.file);
    else
        status = print_rows(report, &sink, error);
    if (status == RONDE_OK)
        status = ronde_sink_close(&sink, error);
    return status;
}

/* Between two hosts of a rig, or on this machine. */
static enum ronde_status measure(const struct ronde_options *options, uint32_t ranks,
                                 struct ronde_calibration_report *out_report,
                                 struct ronde_error *error)
{
    const struct ronde_calibrate_options how = ronde_calibrate_options_of(options);
    return options->rig ? ronde_calibrate_rig(options->rig, &how.benchmark, ranks, out_report, error)
                        : ronde_calibrate(&how, ranks, out_report, error);
}

int ronde_cmd_calibrate(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_calibration_report report;
    const uint32_t ranks = options->rank_counts ? options->ranks[0] : DEFAULT_RANKS;
    const char *missing = NULL;
    enum ronde_status status = RONDE_OK;
    /* Said before the measurement, not after it. */
    if (options->json && !ronde_json_available(&missing))
        status = ronde_fail(&error, RONDE_UNAVAILABLE, "%s", missing);
    if (status == RONDE_OK)
        status = measure(options, ranks, &report, &error);
    if (status == RONDE_OK)
        status = print_report(&report, options, &error);
    if (status == RONDE_OK && options->output)
        status = ronde_calibration_check(&report, &error);
    if (status == RONDE_OK && options->output)
        status = ronde_calibration_store(&report, options->output, &error);
    if (status != RONDE_OK)
        return ronde_report(&error);
    ronde_calibration_warn(&report);
    if (options->output)
        ronde_note("wrote %s", options->output);
    else
        ronde_note("not stored: -o FILE writes the platform file");
    return RONDE_EXIT_OK;
}
