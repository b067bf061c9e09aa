/** Lines of a log around its tables. See log_run.h. */
#define _POSIX_C_SOURCE 200809L

#include "log_run.h"

#include "nccl/published/reader.h"
#include "said.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Programs of nccl-tests. */
static const struct log_test tests[] = {
    {"all_reduce", RONDE_ALL_REDUCE},
    {"all_gather", RONDE_ALL_GATHER},
    {"reduce_scatter", RONDE_REDUCE_SCATTER},
    {"broadcast", RONDE_BROADCAST},
    {"alltoall", RONDE_ALL_TO_ALL},
    {"alltoallv", RONDE_ALL_TO_ALL},
    {"sendrecv", RONDE_SEND_RECV},
    {"hypercube", RONDE_ALL_GATHER},
    {"scatter", RONDE_SCATTER},
    {"gather", RONDE_GATHER},
    {"reduce", RONDE_REDUCE},
};

static const char *const via_marks[] = {
#define RONDE_TEXT(name, text, what) text,
    RONDE_LOG_VIA_LIST(RONDE_TEXT)
#undef RONDE_TEXT
};

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

const struct log_test *log_test_of_program(const char *text)
{
    const struct log_test *found = NULL;
    for (const char *at = strstr(text, "_perf"); at; at = strstr(at + 1, "_perf")) {
        const char *from = at;
        while (from > text && is_lower(from[-1]))
            from--;
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
            if (strlen(tests[i].name) == (size_t)(at - from) &&
                memcmp(tests[i].name, from, (size_t)(at - from)) == 0)
                found = &tests[i];
    }
    return found;
}

uint32_t log_run_version(uint32_t code)
{
    const uint32_t unit = code < 10000 ? 1000 : 10000;
    return 100 * (code / unit) + code % unit / 100;
}

/** Forgets who took part, and takes the settings of the command line. */
static void reset(struct log_run *run)
{
    run->ranks = run->told_ranks = run->per_process = run->processes = run->hosts = 0;
    run->has_table = run->has_rows = false;
    memset(run->group_ranks, 0, sizeof run->group_ranks);
    memset(run->device_ranks, 0, sizeof run->device_ranks);
    memset(run->is_placed, 0, sizeof run->is_placed);
    run->placed = run->torn[0] = run->torn[1] = 0;
    run->is_renumbered = run->has_groups = false;
    run->forced = run->command;
    run->clearest_GBps = 0;
}

/** Quotes and what ends a sentence do not belong to a value. */
static void copy_value(char *out, size_t bytes, const char *value, size_t length)
{
    while (length > 0 && strchr("\"'", value[0])) {
        value++;
        length--;
    }
    while (length > 0 && strchr("\"'.,;", value[length - 1]))
        length--;
    snprintf(out, bytes, "%.*s", (int)length, value);
}

/** Puts "NAME=value" among the settings, in place of an earlier value. */
static void note_setting(struct ronde_log_facts *facts, const char *name, size_t length,
                         const char *value)
{
    char entry[192];
    const size_t room = sizeof facts->settings;
    const int bytes = snprintf(entry, sizeof entry, "%.*s=%s ", (int)length, name, value);
    for (char *at = facts->settings; (at = strstr(at, name)) != NULL; at++) {
        if (strncmp(at, entry, length + 1) != 0 || (at != facts->settings && at[-1] != ' '))
            continue;
        const char *end = strchr(at, ' ');
        memmove(at, end + 1, strlen(end + 1) + 1);
        break;
    }
    const size_t used = strlen(facts->settings);
    if (bytes > 0 && (size_t)bytes < sizeof entry && used + (size_t)bytes < room)
        memcpy(facts->settings + used, entry, (size_t)bytes + 1);
}

void log_run_setting(struct ronde_log_facts *facts, struct log_forced *forced, const char *name,
                     size_t name_length, const char *value, size_t value_length)
{
    char kept[LOG_VALUE_BYTES], bare[LOG_VALUE_BYTES];
    copy_value(kept, sizeof kept, value, value_length);
    snprintf(bare, sizeof bare, "%.*s", (int)name_length, name);
    note_setting(facts, bare, strlen(bare), kept);
    if (forced && strcmp(bare, "NCCL_ALGO") == 0)
        memcpy(forced->algorithm, kept, sizeof kept);
    if (forced && strcmp(bare, "NCCL_PROTO") == 0)
        memcpy(forced->protocol, kept, sizeof kept);
}

const char *ronde_log_setting(const struct ronde_log_facts *facts, const char *variable,
                              char *out_value, uint32_t bytes)
{
    const size_t length = strlen(variable);
    for (const char *at = facts->settings; (at = strstr(at, variable)) != NULL; at++)
        if (at[length] == '=' && (at == facts->settings || at[-1] == ' ')) {
            snprintf(out_value, bytes, "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
            return out_value;
        }
    return NULL;
}

void ronde_log_facts_join(struct ronde_log_facts *to, const struct ronde_log_facts *from)
{
    const size_t used = strlen(to->settings);
    if (!to->is_log) {
        *to = *from;
        return;
    }
    snprintf(to->settings + used, sizeof to->settings - used, "%s%s", used > 0 ? " " : "",
             from->settings);
    for (unsigned v = 0; v < RONDE_LOG_VIA_COUNT; v++)
        to->via[v] += from->via[v];
}

/** "NCCL_X=v", of a command line or a shell, and "NCCL_X set by environment to v", of NCCL's log. */
static void read_settings(struct log_run *run, struct ronde_log_facts *facts, const char *text)
{
    static const char said[] = " set by environment to ";
    const bool is_command = log_test_of_program(text) && !strchr(text, '#');
    if (is_command)
        run->command = run->shell;
    for (const char *at = strstr(text, "NCCL_"); at; at = strstr(at + 1, "NCCL_")) {
        const size_t name = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const char *value = at + name + 1;
        if (strncmp(at + name, said, sizeof said - 1) == 0) {
            value = at + name + sizeof said - 1;
            log_run_setting(facts, &run->forced, at, name, value, strcspn(value, " \t\r\n"));
        } else if (at[name] == '=') {
            const size_t length = strcspn(value, " \t\r\n");
            log_run_setting(facts, &run->command, at, name, value, length);
            if (!is_command)
                log_run_setting(facts, &run->shell, at, name, value, length);
        }
    }
}

/** Versions: of the library, or of what the tests were compiled with. */
static void read_version(struct log_run *run, const char *text)
{
    static const char *const marks[] = {"NCCL version ", "compiled with NCCL ", "RCCL version : "};
    unsigned major = 0, minor = 0, code = 0;
    const char *library = strstr(text, "nccl-library=");
    if (library && sscanf(library, "nccl-library=%9u", &code) == 1)
        run->version = log_run_version(code);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(text, marks[i]);
        if (at && sscanf(at + strlen(marks[i]), "%2u.%2u", &major, &minor) == 2)
            run->version = 100 * major + minor;
    }
}

/** Failures, wrong results, and the ways NCCL's log names. */
static void read_troubles(struct ronde_log_facts *facts, uint32_t line, const char *text)
{
    const char *out_of_bounds = strstr(text, "Out of bounds values");
    double wrong = 0;
    if (out_of_bounds && facts->wrong_line == 0 && (out_of_bounds = strchr(out_of_bounds, ':')) &&
        sscanf(out_of_bounds, ": %lf", &wrong) == 1 && wrong > 0)
        facts->wrong_line = line;
    if (facts->failure_line == 0 &&
        (strstr(text, "Test NCCL failure") || strstr(text, "Test CUDA failure") ||
         strstr(text, "Test failure"))) {
        facts->failure_line = line;
        snprintf(facts->failure, sizeof facts->failure, "%.*s", (int)strcspn(text, "\r\n"), text);
    }
    for (unsigned v = 0; v < RONDE_LOG_VIA_COUNT; v++)
        if (strstr(text, via_marks[v])) {
            facts->via[v]++;
            break;
        }
}

static bool is_begin(const char *text)
{
    return strstr(text, "nThread ") && strstr(text, "nGpus ");
}

static const struct log_test *test_of_line(const char *text)
{
    return strstr(text, "concluded") ? NULL : log_test_of_program(text);
}

/** Whether a line is of the next run: names its versions, its program or its processes. */
static bool begins_run(const char *text)
{
    return is_begin(text) || strstr(text, "nccl-tests version") || test_of_line(text);
}

/** "# nThread 1 nGpus 8 minBytes ...": twice without a table between them, processes do not know each other. */
static void begin(struct log_run *run, struct ronde_log_facts *facts, uint32_t line,
                  const char *text)
{
    unsigned threads = 0, gpus = 0;
    const bool has_nothing = run->has_table ? run->ranks == 1 && !run->has_rows : run->ranks > 0;
    if (run->per_process > 0 && has_nothing && facts->separate_line == 0)
        facts->separate_line = line;
    /* A version that names its test does so in every run. */
    if (run->is_test_sure && !run->is_test_new)
        run->test = NULL;
    reset(run);
    if (sscanf(strstr(text, "nThread "), "nThread %5u nGpus %5u", &threads, &gpus) == 2)
        run->per_process = threads * gpus;
}

/** Takes what a line that is no row says. `facts` collect what holds for the whole log. Errors: BAD_INPUT. */
static enum ronde_status take_line(struct log_run *run, struct ronde_log_facts *facts,
                                   const char *path, uint32_t line, const char *text,
                                   struct ronde_error *error)
{
    static const char starting[] = "Collective test starting:";
    const struct log_test *test = test_of_line(text);
    const char *nranks = strstr(text, " nranks ");
    unsigned told = 0;
    if (is_begin(text))
        begin(run, facts, line, text);
    if (!test && strstr(text, starting))
        log_leave_out(facts, line, "the name of a test that is not whole");
    if (test) {
        run->is_test_sure = strstr(text, starting) != NULL;
        run->test = test;
        run->is_test_new = true;
    }
    if (nranks && sscanf(nranks, " nranks %7u", &told) == 1 && told > run->told_ranks)
        run->told_ranks = told;
    read_settings(run, facts, text);
    read_version(run, text);
    read_troubles(facts, line, text);
    return log_run_rank(run, facts, path, line, text, error);
}

/* Logs of nccl-tests as text. */

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
    char text[LOG_LINE_BYTES];
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

enum ronde_status published_add_halves(struct ronde_published *to, uint32_t line, uint32_t system,
                                       const struct log_row *row, struct ronde_error *error)
{
    for (unsigned h = 0; h < 2; h++) {
        const struct log_half *half = &row->half[h];
        /* Nothing was moved: nccl-tests prints such rows where the size is below an element a rank. */
        if (!half->is_there || row->bytes == 0)
            continue;
        if (half->wrong > 0 && to->log.wrong_line == 0)
            to->log.wrong_line = line;
        const struct ronde_published_row measured = {.line = line,
                                                     .system = system,
                                                     .is_in_place = h == 1,
                                                     .is_wrong = half->wrong > 0,
                                                     .call = {.bytes = row->bytes},
                                                     .measured_us = half->time_us};
        RONDE_TRY(published_add(to, &measured, error));
    }
    return RONDE_OK;
}

enum ronde_status published_settle(const struct ronde_published_request *request,
                                   const struct log_run *run, struct ronde_published *to,
                                   size_t first, struct ronde_error *error)
{
    struct ronde_published_row of_run = {.line = 0};
    char why[RONDE_PUBLISHED_WHY_BYTES];
    bool is_modelled = false;
    if (first == to->count)
        return RONDE_OK;
    RONDE_TRY(
        log_run_settle(run, request, &to->log, to->rows[first].line, &of_run, &is_modelled, error));
    for (size_t r = first; r < to->count; r++) {
        struct ronde_published_row *row = &to->rows[r];
        const uint64_t bytes = row->call.bytes;
        row->call = of_run.call;
        row->call.bytes = bytes;
        row->wish = of_run.wish;
        published_state(row, is_modelled, false);
        /* In place and out of place are of one line. */
        if (is_modelled || (r > first && row[-1].line == row->line))
            continue;
        log_run_why(run, row->call.ranks, why, sizeof why);
        RONDE_TRY(published_note(to, row->line, false, why, error));
    }
    return RONDE_OK;
}

/** A row whose times did not come. */
static void note_unfinished(struct reader *reader)
{
    if (reader->begun_line > 0 && reader->to->log.unfinished_line == 0)
        reader->to->log.unfinished_line = reader->begun_line;
}

/** The rows of a run are whole: its rates and its header decide what they are of. What nothing tells that of is left out. */
static enum ronde_status end_run(struct reader *reader, struct ronde_error *error)
{
    struct ronde_published *to = reader->to;
    enum ronde_status status =
        published_settle(reader->request, &reader->run, to, reader->first, error);
    if (status == RONDE_BAD_INPUT) {
        const size_t path = strlen(reader->request->path) + 1;
        for (; to->count > reader->first; to->count--)
            log_leave_out(&to->log, error->line, strchr(error->message + path, ' ') + 1);
        *error = (struct ronde_error){.status = status = RONDE_OK};
    }
    note_unfinished(reader);
    reader->first = to->count;
    reader->begun_line = 0;
    reader->run.clearest_GBps = 0;
    return status;
}

/** A row that is begun when another is: times that come later may be of either. */
static void leave_begun(struct reader *reader)
{
    if (reader->begun_line > 0)
        log_leave_out(&reader->to->log, reader->begun_line,
                      "a row without times, which others do not follow");
    reader->begun_line = 0;
}

static enum ronde_status take_row(struct reader *reader, uint32_t line, const struct log_row *row,
                                  struct ronde_error *error)
{
    if (row->halves < reader->columns.halves)
        log_leave_out(&reader->to->log, line, "a row with half of its times: they end early");
    reader->begun_line = 0;
    log_run_row(&reader->run, row);
    return published_add_halves(reader->to, line, reader->system, row, error);
}

/** One line, or what is one by itself on a line of several. */
static enum ronde_status read_piece(struct reader *reader, char *text, struct ronde_error *error)
{
    char why[RONDE_LOG_TEXT_BYTES];
    if (strstr(text, "algbw") || begins_run(text))
        RONDE_TRY(end_run(reader, error));
    if (log_columns_read(text, &reader->columns)) {
        reader->run.has_table = true;
        return RONDE_OK;
    }
    RONDE_TRY(take_line(&reader->run, &reader->to->log, reader->request->path, reader->line, text,
                        error));
    struct log_row row = reader->begun;
    const enum log_kind kind =
        log_row_read(text, &reader->columns, reader->begun_line > 0, &row, why, sizeof why);
    if (kind == LOG_ROW)
        leave_begun(reader);
    if (kind == LOG_ROW || kind == LOG_END)
        return take_row(reader, kind == LOG_ROW ? reader->line : reader->begun_line, &row, error);
    const bool is_other = reader->begun_line > 0 && row.bytes != reader->begun.bytes;
    if (kind == LOG_MALFORMED)
        log_leave_out(&reader->to->log, reader->line, why);
    if (kind == LOG_BEGIN) {
        reader->begun = row;
        reader->begun_line = reader->line;
    }
    if (kind == LOG_MALFORMED || (kind == LOG_BEGIN && is_other))
        leave_begun(reader);
    return RONDE_OK;
}

/** Writers that share a stream leave out ends of lines, and launchers and terminals put their own into them. */
static enum ronde_status read_line(struct reader *reader, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    char *text = reader->text;
    const struct nccl_cursor line = {text, text + strlen(text)};
    text[nccl_drop_tags(&line, true, text)] = '\0';
    for (char *next; status == RONDE_OK && text; text = next) {
        next = log_row_split(text);
        const char first = next ? *next : '\0';
        if (next)
            *next = '\0';
        status = read_piece(reader, text, error);
        if (next)
            *next = first;
    }
    return status;
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
    if (reader->to->log.unread_line == reader->line) {
        reader->to->log.unread_line = 0;
        reader->to->log.unread_count = 0;
    }
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
        const bool is_unread = reader->to->log.unread_line == reader->line;
        if ((status == RONDE_BAD_INPUT || is_unread) && !has_end && is_last)
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
    RONDE_THEN(status, read_lines(reader, error));
    ronde_mem_free(out->mem, reader, 1, sizeof *reader);
    const bool is_empty =
        out->count == 0 && out->log.failure_line == 0 && out->log.separate_line == 0;
    if (status == RONDE_OK && is_empty && out->log.unread_line > 0)
        return ronde_fail_at(error, RONDE_BAD_INPUT, out->log.unread_line, "%s:%u: %s",
                             request->path, out->log.unread_line, out->log.unread);
    if (status == RONDE_OK && is_empty && out->log.unfinished_line == 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: no row: neither a table with a column system, nor a log of "
                          "nccl-tests with its lines \"size count type ... time algbw busbw\"",
                          request->path);
    return status;
}
