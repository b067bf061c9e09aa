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

bool log_run_host(struct log_run *run, const char *name, size_t length)
{
    const uint64_t hash = nccl_hash(name, name + length);
    for (uint32_t h = 0; h < run->hosts; h++)
        if (run->host[h] == hash)
            return true;
    if (run->hosts == LOG_MAX_HOSTS)
        return false;
    run->host[run->hosts++] = hash;
    return true;
}

/** Forgets who took part, and takes the settings of the command line. */
static void reset(struct log_run *run)
{
    run->ranks = run->told_ranks = run->per_process = run->processes = run->hosts = 0;
    run->has_table = run->has_rows = false;
    memset(run->group_ranks, 0, sizeof run->group_ranks);
    memset(run->device_ranks, 0, sizeof run->device_ranks);
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

/** "#  Rank  0 Group  0 Pid   7 on  host device  0 [0x07] GPU": group and process came later. */
static enum ronde_status read_rank(struct log_run *run, struct ronde_log_facts *facts,
                                   const char *path, uint32_t line, const char *text,
                                   struct ronde_error *error)
{
    unsigned rank = 0, group = 0, device = 0;
    const char *at = strstr(text, "Rank "), *host = at ? strstr(at, " on ") : NULL;
    const char *on = host ? strstr(host + 3, " device ") : NULL;
    if (!on || sscanf(at, "Rank %7u", &rank) != 1)
        return RONDE_OK;
    host += 4;
    host += strspn(host, " ");
    if (rank == 0 && run->ranks > 0 && facts->separate_line == 0)
        facts->separate_line = line;
    const char *grouped = strstr(at, "Group ");
    if (grouped && grouped < host)
        (void)sscanf(grouped, "Group %7u", &group);
    /* Groups do the same beside each other: the log is of one of them. */
    run->group_ranks[group > 0]++;
    if (group > 0) {
        run->ranks = run->group_ranks[0];
        return RONDE_OK;
    }
    if (rank >= run->ranks)
        run->ranks = rank + 1;
    if (sscanf(on, " device %7u", &device) == 1 && device < LOG_MAX_DEVICES)
        run->device_ranks[device]++;
    if (!log_run_host(run, host, strcspn(host, " ")))
        return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: more than %u hosts", path, line,
                             LOG_MAX_HOSTS);
    const char *model = strstr(host, "] ");
    if (model && facts->gpu[0] == '\0')
        snprintf(facts->gpu, sizeof facts->gpu, "%.*s", (int)strcspn(model + 2, "\r\n"), model + 2);
    return RONDE_OK;
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
    const bool has_nothing = !run->has_table || (run->ranks == 1 && !run->has_rows);
    if (run->per_process > 0 && has_nothing && facts->separate_line == 0)
        facts->separate_line = line;
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
    if (test) {
        run->is_test_sure = strstr(text, starting) != NULL;
        run->test = test;
    }
    if (nranks && sscanf(nranks, " nranks %7u", &told) == 1 && told > run->told_ranks)
        run->told_ranks = told;
    read_settings(run, facts, text);
    read_version(run, text);
    read_troubles(facts, line, text);
    return read_rank(run, facts, path, line, text, error);
}

/* Logs of nccl-tests as text. */

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

/** A row whose times did not come. */
static void note_unfinished(struct reader *reader)
{
    if (reader->begun_line > 0 && reader->to->log.unfinished_line == 0)
        reader->to->log.unfinished_line = reader->begun_line;
}

/** The rows of a run are whole: its rates and its header decide what they are of. */
static enum ronde_status end_run(struct reader *reader, struct ronde_error *error)
{
    const enum ronde_status status =
        published_settle(reader->request, &reader->run, reader->to, reader->first, error);
    note_unfinished(reader);
    reader->first = reader->to->count;
    reader->begun_line = 0;
    reader->run.clearest_GBps = 0;
    return status;
}

static enum ronde_status take_row(struct reader *reader, uint32_t line, const struct log_row *row,
                                  struct ronde_error *error)
{
    if (line != reader->begun_line)
        note_unfinished(reader);
    reader->begun_line = 0;
    log_run_row(&reader->run, row);
    return published_add_halves(reader->to, reader->request->path, line, reader->system, row, error);
}

/** A row that cannot be read costs itself; where the whole log has no other, it is the reason. */
static enum ronde_status leave_out(struct reader *reader, const char *why)
{
    struct ronde_log_facts *facts = &reader->to->log;
    if (facts->unread_count++ == 0) {
        facts->unread_line = reader->line;
        snprintf(facts->unread, sizeof facts->unread, "%s", why);
    }
    return RONDE_OK;
}

static enum ronde_status read_line(struct reader *reader, struct ronde_error *error)
{
    char why[160];
    drop_colours(reader->text);
    enum ronde_status status = RONDE_OK;
    const bool is_header = strstr(reader->text, "algbw") != NULL;
    if (is_header || begins_run(reader->text))
        status = end_run(reader, error);
    if (status == RONDE_OK && log_columns_read(reader->text, &reader->columns)) {
        reader->run.has_table = true;
        return RONDE_OK;
    }
    if (status == RONDE_OK)
        status = take_line(&reader->run, &reader->to->log, reader->request->path, reader->line,
                           reader->text, error);
    if (status != RONDE_OK)
        return status;
    struct log_row row = reader->begun;
    const enum log_kind kind =
        log_row_read(reader->text, &reader->columns, reader->begun_line > 0, &row, why, sizeof why);
    if (kind == LOG_MALFORMED)
        return leave_out(reader, why);
    if (kind == LOG_ROW)
        return take_row(reader, reader->line, &row, error);
    if (kind == LOG_END)
        return take_row(reader, reader->begun_line, &row, error);
    if (kind == LOG_BEGIN) {
        note_unfinished(reader);
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
    if (status == RONDE_OK)
        status = read_lines(reader, error);
    ronde_mem_free(out->mem, reader, 1, sizeof *reader);
    if (status == RONDE_OK && out->count == 0 && out->log.unread_line > 0)
        return ronde_fail_at(error, RONDE_BAD_INPUT, out->log.unread_line, "%s:%u: %s",
                             request->path, out->log.unread_line, out->log.unread);
    if (status == RONDE_OK && out->count == 0 && out->log.failure_line == 0 &&
        out->log.unfinished_line == 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: no row: neither a table with a column system, nor a log of "
                          "nccl-tests with its lines \"size count type ... time algbw busbw\"",
                          request->path);
    return status;
}
