/* ronde compile: the text of a schedule. */
#include "commands.h"
#include "given.h"
#include "report.h"

#include "ronde/text.h"

/* The canonical text; reading it back gives the same schedule. */
static enum ronde_status print_schedule(const struct ronde_schedule *schedule, FILE *file,
                                        struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    char *text = NULL;
    size_t bytes = 0;
    const enum ronde_status status = ronde_schedule_print(schedule, mem, &text, &bytes, error);
    if (status != RONDE_OK)
        return status;
    const bool is_short = fwrite(text, 1, bytes, file) != bytes;
    ronde_mem_free(mem, text, bytes + 1, 1);
    return is_short ? ronde_fail(error, RONDE_IO, "schedule could not be written") : RONDE_OK;
}

int ronde_cmd_compile(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_schedule *schedule = NULL;
    struct ronde_sink sink = {0};
    enum ronde_status status = ronde_given_or_compiled(options, &schedule, &error);
    /* Opened last, so that a refused request leaves an existing file alone. */
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, &error);
    if (status == RONDE_OK)
        status = print_schedule(schedule, sink.file, &error);
    if (status == RONDE_OK)
        status = ronde_sink_close(&sink, &error);
    ronde_schedule_destroy(schedule);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
