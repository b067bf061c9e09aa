/* The readers of tables that machines are made of, on arbitrary bytes. See target.h. */
#include "fuzz/target.h"

#include "ronde/calibrate_table.h"
#include "ronde/collective_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void expect_reason(enum ronde_status status, const struct ronde_error *error,
                          struct fuzz_verdict *verdict)
{
    if (status != RONDE_OK &&
        ((status != RONDE_BAD_INPUT && status != RONDE_UNSUPPORTED) || error->message[0] == '\0'))
        fuzz_complain(verdict, "'%s' with \"%s\"", ronde_status_text(status), error->message);
}

/* What a table became is a platform file that can be read. */
static void write_and_read(const struct ronde_calibration_report *report,
                           struct fuzz_verdict *verdict)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return;
    enum ronde_status status = ronde_platform_write(&report->calibration, file, &error);
    fclose(file);
    if (status == RONDE_OK && ronde_topologies_available(&(const char *){NULL}))
        status = ronde_platform_parse("table", text, bytes, ronde_mem_default(), &platform, &error);
    if (status != RONDE_OK)
        fuzz_complain(verdict, "a table's machine is not written or read: %s", error.message);
    ronde_platform_destroy(platform);
    free(text);
    verdict->runs++;
}

void fuzz_calibration(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    static struct ronde_calibration_report report;
    char path[64];
    const int file = memfd_create("table", 0);
    struct ronde_error error = {0};
    struct ronde_collective_table table;
    memset(out_verdict, 0, sizeof *out_verdict);
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const struct ronde_calibrate_table given = {.path = path,
                                                .ranks = 64,
                                                .shape = {4, 16},
                                                .axis_count = bytes % 2 ? 2 : 0};
    enum ronde_status status = ronde_calibrate_from_table(&given, &report, &error);
    out_verdict->is_accepted = status == RONDE_OK;
    expect_reason(status, &error, out_verdict);
    if (status == RONDE_OK)
        write_and_read(&report, out_verdict);
    error = (struct ronde_error){0};
    status = ronde_collective_table_read(path, bytes % 3 ? NULL : path, &table, &error);
    expect_reason(status, &error, out_verdict);
    ronde_collective_table_close(&table);
    close(file);
}
