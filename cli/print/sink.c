/* Where results go: a table for people, CSV or JSON Lines, on the screen or in a file. */
#include "cli/cmd/common.h"

#include "cli/draw/screen.h"

#include <string.h>

enum ronde_status ronde_sink_open(const struct ronde_options *options, struct ronde_sink *out_sink,
                                  struct ronde_error *error)
{
    const char *missing = NULL;
    /* Said before any work is done, not after it. */
    if (options->json && !ronde_json_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    FILE *file = stdout;
    if (options->output && strcmp(options->output, "-") != 0)
        file = fopen(options->output, "w");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be written", options->output);
    *out_sink = (struct ronde_sink){.file = file,
                                    .json = options->json,
                                    .csv = options->csv,
                                    .width = options->wide ? 0 : ronde_screen_terminal(file)};
    return RONDE_OK;
}

bool ronde_sink_is_table(const struct ronde_sink *sink)
{
    return !sink->json && !sink->csv;
}

enum ronde_status ronde_sink_row(struct ronde_sink *sink, const struct ronde_row *row,
                                 struct ronde_error *error)
{
    if (sink->json)
        return ronde_json_print(row, sink->file, error);
    if (sink->csv && !sink->is_headed)
        ronde_csv_print_header(row, sink->file);
    sink->is_headed = true;
    if (sink->csv)
        ronde_csv_print(row, sink->file);
    return RONDE_OK;
}

enum ronde_status ronde_sink_record(struct ronde_sink *sink, const struct ronde_record *record,
                                    struct ronde_error *error)
{
    struct ronde_record_row row;
    ronde_record_layout(record, &row);
    return ronde_sink_row(sink, &row.row, error);
}

enum ronde_status ronde_sink_close(struct ronde_sink *sink, struct ronde_error *error)
{
    FILE *file = sink->file;
    sink->file = NULL;
    if (!file)
        return RONDE_OK;
    const bool failed = fflush(file) != 0 || ferror(file);
    const bool close_failed = file != stdout && fclose(file) != 0;
    if (failed || close_failed)
        return ronde_fail(error, RONDE_DEVICE, "results could not be written: is the disk full?");
    return RONDE_OK;
}
