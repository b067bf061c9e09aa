/**
 * Records of what NCCL ran (libnccl-profiler-ronde.so) as rows.
 *
 * A record is of one rank. Who comes first waits for the others within the collective, so a call took what it took the last
 * rank: the least time of all records of it. A row is what many calls have in common, its time their median. See reader.h.
 */
#include "reader.h"

#include "ronde/field.h"
#include "ronde/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of a line, and of its texts together. */
enum { LINE_BYTES = 4096, TEXT_BYTES = 1024 };

/** What is read of a record. */
enum field {
    KIND,
    COLLECTIVE,
    ALGORITHM,
    PROTOCOL,
    RANKS,
    NODES,
    COMM,
    SEQ,
    BYTES,
    TIME_NS,
    COMPLETE,
    FIELDS
};
static const char *const names[FIELDS] = {"kind",  "collective", "algorithm", "protocol",
                                          "ranks", "nodes",      "comm",      "seq",
                                          "bytes", "time_ns",    "complete"};

/** A record that counts. */
struct sample {
    struct ronde_nccl_call call;
    struct ronde_nccl_choice choice;
    bool is_modelled;
    uint64_t comm, seq; /**< which call */
    double us;
    uint32_t line;
};

/** What is left out, by reason, with the first line. */
enum reason { NO_COLLECTIVE, NO_RANKS, NO_TIME, REASONS };
static const char *const reasons[REASONS] = {
    "a send, a receive, or a collective of the copy engine: not compared",
    "ranks, nodes or bytes are not said: NCCL 2.27 and newer say them",
    "no time, or not of all channels: not compared"};

struct reader {
    const struct ronde_published_request *request;
    struct ronde_published *to;
    uint32_t line, system;
    struct sample *samples;
    size_t count, capacity;
    uint32_t left_out[REASONS];
    uint32_t cut_line; /**< the last line, where a killed job has left it half written; 0 = whole */
};

static enum ronde_status refuse(const struct reader *reader, const char *what,
                                struct ronde_error *error)
{
    return ronde_fail_at(error, RONDE_BAD_INPUT, reader->line, "%.200s:%" PRIu32 ": %.200s",
                         reader->request->path, reader->line, what);
}

static uint64_t whole_of(const struct ronde_field *field)
{
    return field->kind == RONDE_FIELD_INTEGER && field->integer > 0 ? (uint64_t)field->integer : 0;
}

static const char *text_of(const struct ronde_field *field)
{
    return field->kind == RONDE_FIELD_TEXT ? field->text : "";
}

/** What NCCL has chosen; false where the model does not have it. */
static bool take_choice(const struct ronde_field *fields, struct ronde_nccl_choice *out)
{
    const bool has_algorithm = table_algorithm(text_of(&fields[ALGORITHM]), &out->algorithm);
    return table_protocol(text_of(&fields[PROTOCOL]), &out->protocol) && has_algorithm;
}

/** Why a record does not count; REASONS where it does. */
static enum reason take_sample(const struct reader *reader, const struct ronde_field *fields,
                               struct sample *out)
{
    const uint64_t ranks = whole_of(&fields[RANKS]), nodes = whole_of(&fields[NODES]);
    *out = (struct sample){.line = reader->line};
    if (!table_collective(text_of(&fields[COLLECTIVE]), &out->call.collective) ||
        out->call.collective == RONDE_SEND_RECV || fields[PROTOCOL].kind != RONDE_FIELD_TEXT)
        return NO_COLLECTIVE;
    out->call.bytes = whole_of(&fields[BYTES]);
    if (ranks == 0 || ranks > UINT32_MAX || nodes == 0 || nodes > ranks || out->call.bytes == 0)
        return NO_RANKS;
    out->us = (double)whole_of(&fields[TIME_NS]) / 1e3;
    if (!(out->us > 0) || fields[COMPLETE].kind != RONDE_FIELD_BOOLEAN ||
        fields[COMPLETE].integer == 0)
        return NO_TIME;
    out->call.ranks = (uint32_t)ranks;
    out->call.nodes = (uint32_t)nodes;
    out->is_modelled = take_choice(fields, &out->choice) && ronde_nccl_models(out->call.collective);
    out->comm = strtoull(text_of(&fields[COMM]), NULL, 16);
    out->seq = whole_of(&fields[SEQ]);
    return REASONS;
}

static enum ronde_status read_line(struct reader *reader, const char *line,
                                   struct ronde_error *error)
{
    struct ronde_field fields[FIELDS];
    char texts[TEXT_BYTES];
    struct ronde_error why = {.status = RONDE_OK};
    struct sample sample;
    for (unsigned f = 0; f < FIELDS; f++)
        fields[f] = ronde_field_null(names[f]);
    const enum ronde_status status =
        ronde_json_read(line, fields, FIELDS, texts, sizeof texts, &why);
    if (status == RONDE_BAD_INPUT)
        return refuse(reader, why.message, error);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s: %s", reader->request->path, why.message);
    if (strcmp(text_of(&fields[KIND]), "nccl_run_end") == 0)
        return RONDE_OK;
    if (strcmp(text_of(&fields[KIND]), "nccl_run") != 0)
        return refuse(reader, "not a record of RONDE_PROFILER_FILE: kind is not nccl_run", error);
    const enum reason reason = take_sample(reader, fields, &sample);
    if (reason != REASONS) {
        if (reader->left_out[reason] == 0)
            reader->left_out[reason] = reader->line;
        return RONDE_OK;
    }
    if (!ronde_mem_grow(reader->to->mem, &reader->samples, &reader->capacity, reader->count + 1,
                        sizeof *reader->samples))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the records of %s",
                          reader->request->path);
    reader->samples[reader->count++] = sample;
    return RONDE_OK;
}

static enum ronde_status read_lines(struct reader *reader, FILE *file, struct ronde_error *error)
{
    char line[LINE_BYTES];
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && fgets(line, sizeof line, file)) {
        const size_t bytes = strlen(line);
        reader->line++;
        if (bytes == 0 || bytes == sizeof line - 1)
            return refuse(reader, "longer than a record, or with a NUL", error);
        if (line[bytes - 1] != '\n')
            reader->cut_line = reader->line;
        else if (line[strspn(line, " \t\r\n")] != '\0')
            status = read_line(reader, line, error);
    }
    return status == RONDE_OK && ferror(file)
               ? ronde_fail(error, RONDE_IO, "%s: cannot be read", reader->request->path)
               : status;
}

/** What makes a row first, then the call, then its ranks by time. */
static int compare(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    const uint64_t keys[][2] = {{(uint64_t)a->call.collective, (uint64_t)b->call.collective},
                                {a->call.nodes, b->call.nodes},
                                {a->call.ranks, b->call.ranks},
                                {(uint64_t)a->choice.algorithm, (uint64_t)b->choice.algorithm},
                                {(uint64_t)a->choice.protocol, (uint64_t)b->choice.protocol},
                                {a->is_modelled, b->is_modelled},
                                {a->call.bytes, b->call.bytes},
                                {a->comm, b->comm},
                                {a->seq, b->seq}};
    const int order = published_order(keys, sizeof keys / sizeof keys[0]);
    return order != 0 ? order : a->us < b->us ? -1 : a->us > b->us;
}

static bool is_one_row(const struct sample *a, const struct sample *b)
{
    return a->call.collective == b->call.collective && a->call.nodes == b->call.nodes &&
           a->call.ranks == b->call.ranks && a->choice.algorithm == b->choice.algorithm &&
           a->choice.protocol == b->choice.protocol && a->is_modelled == b->is_modelled &&
           a->call.bytes == b->call.bytes;
}

/** A row of the samples from `first` on; returns the first of the next. `times` has room for all. */
static enum ronde_status add_row(struct reader *reader, size_t first, double *times,
                                 size_t *out_next, struct ronde_error *error)
{
    const struct sample *samples = reader->samples;
    struct ronde_published_row row = {.line = samples[first].line,
                                      .system = reader->system,
                                      .call = samples[first].call,
                                      .wish = samples[first].choice};
    size_t calls = 0, at = first;
    for (; at < reader->count && is_one_row(&samples[first], &samples[at]); at++) {
        if (at == first || samples[at].comm != samples[at - 1].comm ||
            samples[at].seq != samples[at - 1].seq)
            times[calls++] = samples[at].us;
        if (samples[at].line < row.line)
            row.line = samples[at].line;
    }
    row.measured_us = ronde_stats_of(times, calls).median;
    *out_next = at;
    published_state(&row, samples[first].is_modelled, false);
    return published_add(reader->to, &row, error);
}

static int by_line(const void *left, const void *right)
{
    const struct ronde_published_row *a = left, *b = right;
    return a->line < b->line ? -1 : a->line > b->line;
}

/** What is said of lines that are left out, in their order. */
static enum ronde_status note_left_out(struct reader *reader, struct ronde_error *error)
{
    for (uint32_t done = 0;;) {
        unsigned next = REASONS;
        for (unsigned r = 0; r < REASONS; r++)
            if (reader->left_out[r] > done &&
                (next == REASONS || reader->left_out[r] < reader->left_out[next]))
                next = r;
        if (next == REASONS)
            break;
        done = reader->left_out[next];
        RONDE_TRY(published_note(reader->to, done, true, reasons[next], error));
    }
    return RONDE_OK;
}

static enum ronde_status make_rows(struct reader *reader, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    double *times = ronde_mem_new(reader->to->mem, reader->count, sizeof *times);
    if (!times)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu records", reader->count);
    if (reader->count > 0)
        qsort(reader->samples, reader->count, sizeof *reader->samples, compare);
    for (size_t first = 0; status == RONDE_OK && first < reader->count;)
        status = add_row(reader, first, times, &first, error);
    ronde_mem_free(reader->to->mem, times, reader->count, sizeof *times);
    if (status == RONDE_OK && reader->to->count > 0)
        qsort(reader->to->rows, reader->to->count, sizeof *reader->to->rows, by_line);
    return status;
}

enum ronde_status published_read_runs(const struct ronde_published_request *request, FILE *file,
                                      struct ronde_published *out, struct ronde_error *error)
{
    struct reader reader = {.request = request, .to = out};
    enum ronde_status status = published_log_system(request, out, &reader.system, error);
    RONDE_THEN(status, read_lines(&reader, file, error));
    RONDE_THEN(status, note_left_out(&reader, error));
    if (status == RONDE_OK && reader.cut_line > 0)
        status = published_note(out, reader.cut_line, true, "the last line is cut off", error);
    if (status == RONDE_OK && reader.count == 0)
        status = ronde_fail(error, RONDE_BAD_INPUT,
                            "%.200s: no record of a collective with ranks, nodes and a time",
                            request->path);
    RONDE_THEN(status, make_rows(&reader, error));
    ronde_mem_free(out->mem, reader.samples, reader.capacity, sizeof *reader.samples);
    return status;
}
