/** Logs of nccl-tests as text. See nccl_log.h. */
#include "log_run.h"
#include "nccl/published/reader.h"

#include <math.h>
#include <string.h>

/** A line longer than this is no row; its rest is passed over. */
#define LINE_BYTES 8192

/** Largest size, as in tables. */
static const uint64_t most_bytes = (uint64_t)1 << 50;

/** A log that is read. */
struct reader {
    const struct ronde_published_request *request;
    FILE *file;
    struct ronde_published *to;
    uint32_t line;
    uint32_t system;
    size_t first;         /**< row of this run */
    uint32_t begun_line;  /**< row whose times have not come yet; 0 = none */
    struct log_row begun; /**< that row */
    struct log_columns columns;
    struct log_run run;
    char text[LINE_BYTES];
};

enum ronde_status published_log_system(const struct ronde_published_request *request,
                                       struct ronde_published *to, uint32_t *out,
                                       struct ronde_error *error)
{
    char name[RONDE_NCCL_NAME_BYTES];
    const char *slash = strrchr(request->path, '/');
    const char *from = request->system ? request->system : slash ? slash + 1 : request->path;
    const char *dot = request->system ? NULL : strrchr(from, '.');
    const size_t length = dot && dot > from ? (size_t)(dot - from) : strlen(from);
    snprintf(name, sizeof name, "%.*s", (int)length, from);
    return published_system(to, request->path, 1, name, out, error);
}

/** Colours are for terminals: "ESC [ 3 2 m". */
static void drop_colours(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\033' && from[1] == '[') {
            from += 2 + strspn(from + 2, "0123456789;");
            if (*from == '\0')
                break;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

enum ronde_status published_add_halves(struct ronde_published *to, const char *path, uint32_t line,
                                       uint32_t system, const struct log_row *row,
                                       struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (unsigned h = 0; status == RONDE_OK && h < 2; h++) {
        const struct log_half *half = &row->half[h];
        /* Nothing was moved: nccl-tests prints such rows where the size is below an element a rank. */
        if (!half->is_there || row->bytes == 0)
            continue;
        const double expected_GBps = (double)row->bytes / half->time_us / 1e3;
        if (row->bytes > most_bytes)
            return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: %llu bytes are too many",
                                 path, line, (unsigned long long)row->bytes);
        if (!(half->time_us > 0))
            return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: a time of 0", path, line);
        /* The first versions counted what a rank receives from others: (n-1)/n of the size, half of it at least. */
        if (half->rate_GBps - half->slack_GBps > expected_GBps * (1 + half->slack) ||
            half->rate_GBps + half->slack_GBps < expected_GBps * (.5 - half->slack))
            return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                                 "%s:%u: algbw %g contradicts time %g us of %llu bytes, which are "
                                 "%.4g GB/s",
                                 path, line, half->rate_GBps, half->time_us,
                                 (unsigned long long)row->bytes, expected_GBps);
        if (half->wrong > 0 && to->log.wrong_line == 0)
            to->log.wrong_line = line;
        const struct ronde_published_row measured = {.line = line,
                                                     .system = system,
                                                     .is_in_place = h == 1,
                                                     .call = {.bytes = row->bytes},
                                                     .measured_us = half->time_us};
        status = published_add(to, &measured, error);
    }
    return status;
}

enum ronde_status published_settle(const struct ronde_published_request *request,
                                   const struct log_run *run, struct ronde_published *to,
                                   size_t first, struct ronde_error *error)
{
    struct ronde_published_row of_run = {.line = 0};
    bool is_modelled = false;
    if (first == to->count)
        return RONDE_OK;
    const enum ronde_status status =
        log_run_settle(run, request, &to->log, to->rows[first].line, &of_run, &is_modelled, error);
    for (size_t r = first; status == RONDE_OK && r < to->count; r++) {
        struct ronde_published_row *row = &to->rows[r];
        const uint64_t bytes = row->call.bytes;
        row->call = of_run.call;
        row->call.bytes = bytes;
        row->wish = of_run.wish;
        published_state(row, is_modelled, false);
    }
    return status;
}

/** The rows of a run are whole: its rates and its header decide what they are of. */
static enum ronde_status end_run(struct reader *reader, struct ronde_error *error)
{
    const enum ronde_status status =
        published_settle(reader->request, &reader->run, reader->to, reader->first, error);
    if (reader->begun_line > 0 && reader->to->log.unfinished_line == 0)
        reader->to->log.unfinished_line = reader->begun_line;
    reader->first = reader->to->count;
    reader->begun_line = 0;
    reader->run.clearest_GBps = 0;
    return status;
}

static enum ronde_status take_row(struct reader *reader, uint32_t line, const struct log_row *row,
                                  struct ronde_error *error)
{
    if (reader->begun_line > 0 && line != reader->begun_line && reader->to->log.unfinished_line == 0)
        reader->to->log.unfinished_line = reader->begun_line;
    reader->begun_line = 0;
    log_run_row(&reader->run, row);
    return published_add_halves(reader->to, reader->request->path, line, reader->system, row, error);
}

static enum ronde_status read_line(struct reader *reader, struct ronde_error *error)
{
    char why[160];
    drop_colours(reader->text);
    enum ronde_status status = RONDE_OK;
    const bool is_header = strstr(reader->text, "algbw") != NULL;
    if (is_header || log_run_begins(reader->text))
        status = end_run(reader, error);
    if (status == RONDE_OK && log_columns_read(reader->text, &reader->columns)) {
        reader->run.has_table = true;
        return RONDE_OK;
    }
    if (status == RONDE_OK)
        status = log_run_line(&reader->run, &reader->to->log, reader->request->path, reader->line,
                              reader->text, error);
    if (status != RONDE_OK)
        return status;
    struct log_row row = reader->begun;
    const enum log_kind kind =
        log_row_read(reader->text, &reader->columns, reader->begun_line > 0, &row, why, sizeof why);
    if (kind == LOG_MALFORMED)
        return ronde_fail_at(error, RONDE_BAD_INPUT, reader->line, "%s:%u: %s",
                             reader->request->path, reader->line, why);
    if (kind == LOG_ROW)
        return take_row(reader, reader->line, &row, error);
    if (kind == LOG_END)
        return take_row(reader, reader->begun_line, &row, error);
    if (kind == LOG_BEGIN) {
        if (reader->begun_line > 0 && reader->to->log.unfinished_line == 0)
            reader->to->log.unfinished_line = reader->begun_line;
        reader->begun = row;
        reader->begun_line = reader->line;
    }
    return RONDE_OK;
}

/** What does not fit the buffer is passed over. */
static void pass_rest(FILE *file)
{
    for (int c = getc(file); c != EOF && c != '\n';)
        c = getc(file);
}

/** A run that is killed leaves its last line as far as it had come: rows above it are as good as they were. */
static enum ronde_status leave_cut(struct reader *reader, struct ronde_error *error)
{
    if (reader->to->log.unfinished_line == 0)
        reader->to->log.unfinished_line = reader->line;
    reader->begun_line = 0;
    *error = (struct ronde_error){.status = RONDE_OK};
    return RONDE_OK;
}

static enum ronde_status read_lines(struct reader *reader, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && fgets(reader->text, sizeof reader->text, reader->file)) {
        reader->line++;
        const bool has_end = strchr(reader->text, '\n') != NULL, is_last = feof(reader->file) != 0;
        if (!has_end && !is_last)
            pass_rest(reader->file);
        status = read_line(reader, error);
        if (status == RONDE_BAD_INPUT && !has_end && is_last)
            status = leave_cut(reader, error);
    }
    if (status == RONDE_OK && ferror(reader->file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", reader->request->path);
    return status == RONDE_OK ? end_run(reader, error) : status;
}

enum ronde_status published_read_log(const struct ronde_published_request *request, FILE *file,
                                     struct ronde_published *out, struct ronde_error *error)
{
    struct reader *reader = ronde_mem_new(out->mem, 1, sizeof *reader);
    if (!reader)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to read %s", request->path);
    reader->request = request;
    reader->file = file;
    reader->to = out;
    reader->columns = log_columns_default();
    out->log.is_log = true;
    enum ronde_status status = published_log_system(request, out, &reader->system, error);
    if (status == RONDE_OK)
        status = read_lines(reader, error);
    ronde_mem_free(out->mem, reader, 1, sizeof *reader);
    if (status == RONDE_OK && out->count == 0 && out->log.failure_line == 0 &&
        out->log.unfinished_line == 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: no row: neither a table with a column system, nor a log of "
                          "nccl-tests with its lines \"size count type ... time algbw busbw\"",
                          request->path);
    return status;
}
