/* Records of NCCL's own costs, as libnccl-tuner-ronde.so writes them, beside our copy of its formula. See
 * nccl_tuner.h. */
#include "engine/text/refuse.h"
#include "nccl/model/setting.h"
#include "nccl/published/reader.h"

#include "ronde/field.h"
#include "ronde/nccl_tuner.h"
#include "ronde/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of a line, and of a name of a cost. */
enum { LINE_BYTES = 4096, NAME_BYTES = 32 };

/** Fields before the costs. */
enum field { KIND, COLLECTIVE, RANKS, NODES, BYTES, PIPE_OPS, REGISTERED, INTERFACE, HEAD };
static const char *const head[HEAD] = {"kind",  "collective", "ranks",      "nodes",
                                       "bytes", "pipe_ops",   "registered", "interface"};

/** Algorithms that the model does not have: by Simple, and PAT by nothing else either. */
static const char *const others[] = {"CollNetDirect/Simple", "CollNetChain/Simple", "PAT/Simple",
                                     "NVLS/LL128", "NVLSTree/LL128"};
enum { OTHERS = sizeof others / sizeof others[0], FIELDS = HEAD + RONDE_NCCL_CHOICES + OTHERS };

/** A version of NCCL that asks for a version of the interface. */
static const uint32_t versions[] = {[3] = 222, [4] = 227, [5] = 229, [6] = 230};

/** What a file is read with. */
struct reader {
    const char *path;
    uint32_t line;
    struct ronde_nccl_tables *to;
};

RONDE_FORMAT(3, 4)
static enum ronde_status refuse(const struct reader *reader, struct ronde_error *error,
                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status =
        ronde_refuse_line(error, reader->path, reader->line, format, arguments);
    va_end(arguments);
    return status;
}

/** A cost of NCCL's; NAN for none. JSON writes whole numbers without a point. */
static double cost_of(const struct ronde_field *field)
{
    if (field->kind == RONDE_FIELD_REAL)
        return field->real >= 0 && isfinite(field->real) ? field->real : NAN;
    return field->kind == RONDE_FIELD_INTEGER ? (double)field->integer : NAN;
}

static bool take_whole(const struct ronde_field *field, uint64_t low, uint64_t high, uint64_t *out)
{
    *out = (uint64_t)field->integer;
    return field->kind == RONDE_FIELD_INTEGER && field->integer >= 0 && *out >= low && *out <= high;
}

static bool take_collective(const struct ronde_field *field, enum ronde_collective *out)
{
    return field->kind == RONDE_FIELD_TEXT && ronde_collective_parse(field->text, out) &&
           ronde_nccl_models(*out);
}

static enum ronde_status take_fields(const struct reader *reader, const struct ronde_field *fields,
                                     struct ronde_nccl_table *out, struct ronde_error *error)
{
    uint64_t ranks, nodes, pipe_ops, interface;
    *out = (struct ronde_nccl_table){.line = reader->line, .other_us = NAN};
    if (fields[KIND].kind != RONDE_FIELD_TEXT || strcmp(fields[KIND].text, "nccl_table") != 0)
        return refuse(reader, error, "not a record of RONDE_TUNER_RECORD: kind is not nccl_table");
    if (!take_collective(&fields[COLLECTIVE], &out->call.collective))
        return refuse(reader, error, "collective is none that NCCL's tuner is asked for");
    if (!take_whole(&fields[RANKS], 2, UINT32_MAX, &ranks) ||
        !take_whole(&fields[NODES], 1, ranks, &nodes) ||
        !take_whole(&fields[BYTES], 0, UINT64_MAX, &out->call.bytes) ||
        !take_whole(&fields[PIPE_OPS], 0, UINT32_MAX, &pipe_ops) ||
        !take_whole(&fields[INTERFACE], 3, 6, &interface) ||
        fields[REGISTERED].kind != RONDE_FIELD_BOOLEAN)
        return refuse(reader, error,
                      "ranks, nodes, bytes, pipe_ops, interface and registered are missing or out "
                      "of range");
    out->call.ranks = (uint32_t)ranks;
    out->call.nodes = (uint32_t)nodes;
    out->call.version = versions[interface];
    out->pipe_ops = (uint32_t)pipe_ops;
    out->is_registered = fields[REGISTERED].integer != 0;
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++)
        out->us[c] = cost_of(&fields[HEAD + c]);
    for (uint32_t i = 0; i < OTHERS; i++)
        out->other_us = fmin(out->other_us, cost_of(&fields[HEAD + RONDE_NCCL_CHOICES + i]));
    return RONDE_OK;
}

static enum ronde_status add(const struct reader *reader, const struct ronde_nccl_table *table,
                             struct ronde_error *error)
{
    struct ronde_nccl_tables *to = reader->to;
    if (!ronde_mem_grow(to->mem, &to->tables, &to->capacity, to->count + 1, sizeof *to->tables))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the records of %s", reader->path);
    to->tables[to->count++] = *table;
    return RONDE_OK;
}

static enum ronde_status read_line(const struct reader *reader, const char *line,
                                   struct ronde_error *error)
{
    char names[RONDE_NCCL_CHOICES][NAME_BYTES], texts[256];
    struct ronde_field fields[FIELDS];
    struct ronde_nccl_table table;
    struct ronde_error why = {.status = RONDE_OK};
    for (uint32_t f = 0; f < HEAD; f++)
        fields[f] = ronde_field_null(head[f]);
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++) {
        snprintf(names[c], NAME_BYTES, "%s/%s",
                 ronde_nccl_algorithm_text(ronde_nccl_choice_at(c).algorithm),
                 ronde_nccl_protocol_text(ronde_nccl_choice_at(c).protocol));
        fields[HEAD + c] = ronde_field_null(names[c]);
    }
    for (uint32_t i = 0; i < OTHERS; i++)
        fields[HEAD + RONDE_NCCL_CHOICES + i] = ronde_field_null(others[i]);
    enum ronde_status status = ronde_json_read(line, fields, FIELDS, texts, sizeof texts, &why);
    if (status == RONDE_BAD_INPUT)
        return refuse(reader, error, "%.200s", why.message);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s: %s", reader->path, why.message);
    status = take_fields(reader, fields, &table, error);
    return status == RONDE_OK ? add(reader, &table, error) : status;
}

/** Order of what makes a call; lines do not matter. */
static int compare(const void *left, const void *right)
{
    const struct ronde_nccl_table *a = left, *b = right;
    const uint64_t keys[][2] = {{(uint64_t)a->call.collective, (uint64_t)b->call.collective},
                                {a->call.nodes, b->call.nodes},
                                {a->call.ranks, b->call.ranks},
                                {a->call.version, b->call.version},
                                {a->call.bytes, b->call.bytes},
                                {a->pipe_ops, b->pipe_ops},
                                {a->is_registered, b->is_registered}};
    return published_order(keys, sizeof keys / sizeof keys[0]);
}

/** NCCL's costs are floats that are printed in full, so that equal ones are equal. */
static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool are_equal(const struct ronde_nccl_table *a, const struct ronde_nccl_table *b)
{
    bool is_equal = is_same(a->other_us, b->other_us);
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++)
        is_equal = is_equal && is_same(a->us[c], b->us[c]);
    return is_equal;
}

/** Every rank may have recorded the same call: one of them stays. */
static enum ronde_status unite(struct reader *reader, struct ronde_error *error)
{
    struct ronde_nccl_tables *to = reader->to;
    size_t kept = 0;
    qsort(to->tables, to->count, sizeof *to->tables, compare);
    for (size_t i = 0; i < to->count; i++) {
        struct ronde_nccl_table *table = &to->tables[i],
                                *last = &to->tables[kept > 0 ? kept - 1 : 0];
        if (kept == 0 || compare(last, table) != 0) {
            to->tables[kept++] = *table;
            continue;
        }
        reader->line = table->line > last->line ? table->line : last->line;
        if (!are_equal(last, table))
            return refuse(reader, error,
                          "NCCL's costs are not those that line %" PRIu32 " has of the same call: "
                          "records of two machines or settings; record them in files of their own",
                          table->line < last->line ? table->line : last->line);
    }
    to->count = kept;
    return RONDE_OK;
}

static enum ronde_status read_lines(struct reader *reader, FILE *file, struct ronde_error *error)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        const size_t bytes = strlen(line);
        reader->line++;
        if (bytes == sizeof line - 1 || bytes == 0)
            return refuse(reader, error, "longer than %d bytes, or with a NUL: not a record",
                          LINE_BYTES);
        if (line[strspn(line, " \t\r\n")] != '\0')
            RONDE_TRY(read_line(reader, line, error));
    }
    if (ferror(file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", reader->path);
    if (reader->to->count == 0)
        return refuse(reader, error, "no record of RONDE_TUNER_RECORD");
    return unite(reader, error);
}

bool ronde_nccl_tables_is(const char *path)
{
    char line[LINE_BYTES] = "";
    FILE *file = fopen(path, "r");
    const bool has_line = file && fgets(line, sizeof line, file);
    if (file)
        (void)fclose(file);
    return has_line && line[0] == '{' && strstr(line, "\"nccl_table\"");
}

enum ronde_status ronde_nccl_tables_read(const char *path, const struct ronde_mem *mem,
                                         struct ronde_nccl_tables *out, struct ronde_error *error)
{
    struct reader reader = {.path = path, .to = out};
    *out = (struct ronde_nccl_tables){.mem = mem};
    FILE *file = fopen(path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    const enum ronde_status status = read_lines(&reader, file, error);
    fclose(file);
    return status;
}

void ronde_nccl_tables_close(struct ronde_nccl_tables *tables)
{
    if (tables->mem)
        ronde_mem_free(tables->mem, tables->tables, tables->capacity, sizeof *tables->tables);
    *tables = (struct ronde_nccl_tables){.mem = tables->mem};
}

/* NCCL's own costs beside our copy of its formula (model/tuner.c). */

void ronde_nccl_tables_model(const struct ronde_nccl_constants *constants,
                             const struct ronde_nccl_machine *machine,
                             const struct ronde_nccl_table *table, double out_us[RONDE_NCCL_CHOICES])
{
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++) {
        out_us[c] =
            ronde_nccl_tuner_us(constants, machine, &table->call, ronde_nccl_choice_at(c), false);
    }
}

/** The least of a call's costs: what is taken; RONDE_NCCL_CHOICES = none. */
static uint32_t taken_of(const double us[RONDE_NCCL_CHOICES])
{
    uint32_t taken = RONDE_NCCL_CHOICES;
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++)
        if (isfinite(us[c]) && (taken == RONDE_NCCL_CHOICES || us[c] < us[taken]))
            taken = c;
    return taken;
}

size_t ronde_nccl_tables_group(const struct ronde_nccl_tables *tables, size_t first)
{
    const struct ronde_nccl_call *call = &tables->tables[first].call;
    size_t end = first;
    for (; end < tables->count; end++) {
        const struct ronde_nccl_call *other = &tables->tables[end].call;
        if (other->collective != call->collective || other->ranks != call->ranks ||
            other->nodes != call->nodes)
            break;
    }
    return end;
}

/** Adds a call's costs to a score; errors relative to NCCL's go to `off`, of which it returns the new number. */
static size_t add_call(const struct ronde_nccl_table *table, const double model[RONDE_NCCL_CHOICES],
                       double *off, size_t count, struct ronde_nccl_tables_score *score)
{
    const uint32_t taken = taken_of(table->us);
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++) {
        const bool has = isfinite(table->us[c]), have = isfinite(model[c]);
        score->lacking += has && !have;
        score->excess += have && !has;
        if (has && have && table->us[c] > 0)
            off[count++] = fabs(model[c] / table->us[c] - 1);
    }
    score->calls++;
    if (taken == RONDE_NCCL_CHOICES || table->other_us < table->us[taken])
        score->elsewhere++;
    else
        score->same += taken == taken_of(model);
    return count;
}

enum ronde_status ronde_nccl_tables_score(const struct ronde_nccl_tables *tables, size_t first,
                                          size_t end, const struct ronde_nccl_constants *constants,
                                          const struct ronde_nccl_machine *machine,
                                          struct ronde_nccl_tables_score *out,
                                          struct ronde_error *error)
{
    const size_t room = (end - first) * RONDE_NCCL_CHOICES;
    double *off = ronde_mem_new(tables->mem, room, sizeof *off);
    struct ronde_nccl_tables_score score = {.calls = 0};
    if (!off)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to score %zu records", end - first);
    for (size_t i = first; i < end; i++) {
        double model[RONDE_NCCL_CHOICES];
        if (tables->tables[i].pipe_ops > 1 || tables->tables[i].is_registered)
            continue;
        ronde_nccl_tables_model(constants, machine, &tables->tables[i], model);
        score.costs = add_call(&tables->tables[i], model, off, score.costs, &score);
    }
    const struct ronde_stats stats = ronde_stats_of(off, score.costs);
    score.median = stats.median;
    score.worst = score.costs > 0 ? off[score.costs - 1] : 0;
    ronde_mem_free(tables->mem, off, room, sizeof *off);
    *out = score;
    return RONDE_OK;
}
