/** Published measurements from CSV. See published.h. */
#include "reader.h"

#include "engine/text/refuse.h"

#include "ronde/csv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Published rates are rounded, and recomputed from rounded times. */
static const double rate_tolerance = .03;

/** GPUs that one node may have at most. */
static const uint32_t most_gpus_of_a_node = 16;

/** Columns; those from ALGORITHM on may be missing. */
enum column {
    SYSTEM,
    COLLECTIVE,
    GPUS,
    BYTES,
    ALGORITHM,
    PROTOCOL,
    NODES,
    TIME,
    RATE,
    BUS_RATE,
    VERSION,
    NOTES,
    DATE,
    GPU,
    INSIDE,
    BETWEEN,
    IN_PLACE,
    COLUMN_COUNT
};

static const char *const column_names[COLUMN_COUNT] = {"system",
                                                       "collective",
                                                       "gpus",
                                                       "bytes",
                                                       "algorithm",
                                                       "protocol",
                                                       "nodes",
                                                       "time_us",
                                                       "algbw_GBps",
                                                       "busbw_GBps",
                                                       "nccl_version",
                                                       "notes",
                                                       "date",
                                                       "gpu",
                                                       "interconnect_intra",
                                                       "interconnect_inter",
                                                       "inplace"};

/** Where a column that may be missing is not there. */
#define NOWHERE UINT32_MAX

/** A table that is read. */
struct reader {
    struct ronde_csv csv;
    const char *only;          /**< the one system that is kept, or NULL */
    uint32_t at[COLUMN_COUNT]; /**< cell of a column */
    struct ronde_published *to;
    struct ronde_error *wrong; /**< with the row: who refuses it returns false */
};

/** Refuses the row: "path:line: what". */
RONDE_FORMAT(2, 3) static bool refuse(const struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)ronde_refuse_line(reader->wrong, reader->csv.path, reader->csv.line, format, arguments);
    va_end(arguments);
    return false;
}

/** The cell of a column's name; NOWHERE where there is none. Refuses two. */
static enum ronde_status find_column(const struct ronde_csv *csv, const char *name, bool is_exact,
                                     uint32_t *out, struct ronde_error *error)
{
    *out = NOWHERE;
    for (uint32_t at = 0; at < csv->cell_count; at++) {
        if (!(is_exact ? strcmp(csv->cells[at], name) == 0 : table_heading(csv->cells[at], name)))
            continue;
        if (*out != NOWHERE)
            return ronde_csv_refuse(csv, error, "columns %u and %u are both %s", *out + 1, at + 1,
                                    name);
        *out = at;
    }
    return RONDE_OK;
}

static enum ronde_status read_header(struct reader *reader, struct ronde_error *error)
{
    const struct ronde_csv *csv = &reader->csv;
    for (unsigned c = 0; c < COLUMN_COUNT; c++) {
        RONDE_TRY(find_column(csv, column_names[c], true, &reader->at[c], error));
        if (reader->at[c] == NOWHERE)
            RONDE_TRY(find_column(csv, column_names[c], false, &reader->at[c], error));
        if (reader->at[c] == NOWHERE && c < ALGORITHM)
            return ronde_csv_refuse(csv, error,
                                    "no column %s; a table's first line names its columns, system, "
                                    "collective, gpus, bytes and others",
                                    column_names[c]);
    }
    return RONDE_OK;
}

/** A row's cell; "" where it has none. */
static char *cell(const struct reader *reader, enum column column)
{
    static char none[] = "";
    const uint32_t at = reader->at[column];
    return at < reader->csv.cell_count ? reader->csv.cells[at] : none;
}

static bool whole(const struct reader *reader, enum column column, uint64_t most, uint64_t *out)
{
    const char *text = cell(reader, column);
    if (!table_whole(text, out) || *out == 0 || *out > most)
        return refuse(reader, "%s \"%.40s\" is not a whole number from 1 to %llu",
                      column_names[column], text, (unsigned long long)most);
    return true;
}

/** A number; 0 where nothing is written. A rate may be printed as 0, by rounding. */
static bool positive(const struct reader *reader, enum column column, double *out)
{
    char *text = cell(reader, column), *end = NULL;
    char *comma = strchr(text, ',');
    *out = 0;
    if (*text == '\0')
        return true;
    /* Where semicolons separate cells, the point is a comma. */
    if (comma && reader->csv.separator == ';')
        *comma = '.';
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*out) || *out < 0 || (*out <= 0 && column == TIME))
        return refuse(reader, "%s \"%.40s\" is not a number above 0", column_names[column], text);
    return true;
}

/** A remark on a row that is taken all the same. */
RONDE_FORMAT(2, 3)
static bool remark(const struct reader *reader, const char *format, ...)
{
    char text[RONDE_PUBLISHED_WHY_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return published_note(reader->to, reader->csv.line, false, text, reader->wrong) == RONDE_OK;
}

/** What is forced and what is called; says so where the model has none of it. */
static bool take_words(const struct reader *reader, struct ronde_published_row *row,
                       bool *out_is_modelled)
{
    const bool has_algorithm = table_algorithm(cell(reader, ALGORITHM), &row->wish.algorithm);
    const bool has_protocol = table_protocol(cell(reader, PROTOCOL), &row->wish.protocol);
    const bool is_known = table_collective(cell(reader, COLLECTIVE), &row->call.collective);
    *out_is_modelled =
        has_algorithm && has_protocol && is_known && ronde_nccl_models(row->call.collective);
    if (!is_known || !ronde_nccl_models(row->call.collective))
        return remark(reader, "collective \"%.40s\" is not %s", cell(reader, COLLECTIVE),
                      is_known ? "modelled" : "known");
    if (!has_algorithm)
        return remark(reader, "algorithm \"%.40s\" is none that is modelled",
                      cell(reader, ALGORITHM));
    return has_protocol ||
           remark(reader, "protocol \"%.40s\" is none of NCCL's", cell(reader, PROTOCOL));
}

/** The version that is to be expected at the row's date, YYYY or YYYY-MM...; 0 without one. */
static uint32_t version_by_date(const struct reader *reader)
{
    unsigned year = 0, month = 0;
    if (sscanf(cell(reader, DATE), "%4u-%2u", &year, &month) < 1 || year < 2000)
        return 0;
    return ronde_nccl_version_at(year, month > 0 && month <= 12 ? month : 7);
}

/** What is stated, or what the date says; a statement that is not understood is remarked on. */
static bool take_version(const struct reader *reader, uint32_t *out)
{
    const char *text = cell(reader, VERSION);
    if (table_version(text, out))
        return true;
    *out = version_by_date(reader);
    return *text == '\0' || remark(reader, "nccl_version \"%.40s\" is not understood: taken as %s",
                                   text, *out > 0 ? "that of its date" : "new");
}

/** Refuses a rate that its row's time and size do not come to. */
static bool agree(const struct reader *reader, enum column column, double rate, double expected,
                  const struct ronde_published_row *row)
{
    const char *text = cell(reader, column);
    const double rounding = fmax(rate_tolerance * expected, table_rounding(text));
    return *text == '\0' || fabs(rate - expected) <= rounding ||
           refuse(reader, "%s %g contradicts time_us %g of %llu bytes, which are %.4g GB/s",
                  column_names[column], rate, row->measured_us, (unsigned long long)row->call.bytes,
                  expected);
}

/** Measured time: as it stands, or by a rate; 0 where a row has neither. */
static bool take_time(const struct reader *reader, struct ronde_published_row *row)
{
    double rate = 0, bus_rate = 0;
    const double bytes = (double)row->call.bytes;
    if (!positive(reader, TIME, &row->measured_us) || !positive(reader, RATE, &rate) ||
        !positive(reader, BUS_RATE, &bus_rate))
        return false;
    const double factor = ronde_collective_bus_factor(row->call.collective, row->call.ranks);
    if (row->measured_us > 0) {
        const double expected = bytes / row->measured_us / 1e3;
        /* The factor is that of the collective, which may be none that is known. */
        return agree(reader, RATE, rate, expected, row) &&
               (!(factor > 0) || agree(reader, BUS_RATE, bus_rate, expected * factor, row));
    }
    row->measured_us = rate > 0                     ? bytes / 1e3 / rate
                       : bus_rate > 0 && factor > 0 ? bytes / 1e3 / bus_rate * factor
                                                    : 0;
    return true;
}

/** Numbers of a row, and whether they agree with one another. A row without nodes lies on as few as its ranks fit on. */
static bool take_numbers(const struct reader *reader, struct ronde_published_row *row)
{
    uint64_t gpus = 0, nodes = 0;
    if (!whole(reader, GPUS, 1u << 20, &gpus) ||
        (*cell(reader, NODES) != '\0' && !whole(reader, NODES, gpus, &nodes)) ||
        !whole(reader, BYTES, (uint64_t)1 << 50, &row->call.bytes))
        return false;
    row->call.ranks = (uint32_t)gpus;
    row->call.nodes = (uint32_t)nodes;
    if (nodes > 0 && gpus % nodes != 0)
        return refuse(reader, "%u gpus are not equally many on %u nodes", row->call.ranks,
                      row->call.nodes);
    return take_time(reader, row) && take_version(reader, &row->call.version);
}

/** The longest that rows of a system say; any of them may leave something out. */
static void keep_longer(char *kept, size_t bytes, const char *said)
{
    if (strlen(said) > strlen(kept))
        snprintf(kept, bytes, "%s", said);
}

static void keep_said(const struct reader *reader, const struct ronde_published_row *row)
{
    struct ronde_published_said *said = &reader->to->systems[row->system].said;
    const uint32_t nodes = row->call.nodes > 0 ? row->call.nodes : 1;
    const uint32_t gpus = row->call.ranks / nodes;
    char *const kept[] = {said->gpu, said->inside, said->between};
    for (unsigned c = GPU; c <= BETWEEN; c++)
        keep_longer(kept[c - GPU], sizeof said->gpu, cell(reader, (enum column)c));
    keep_longer(said->notes, sizeof said->notes, cell(reader, NOTES));
    /* Where no nodes are stated, more ranks than a node has say nothing. */
    if (row->call.nodes > 0 || gpus <= most_gpus_of_a_node)
        said->gpus = gpus > said->gpus ? gpus : said->gpus;
}

static bool says_yes(const char *text)
{
    return strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0;
}

static bool read_row(const struct reader *reader)
{
    const struct ronde_csv *csv = &reader->csv;
    struct ronde_published *to = reader->to;
    struct ronde_published_row row = {.line = csv->line};
    bool is_modelled = false;
    for (unsigned c = 0; c < COLUMN_COUNT; c++)
        if (reader->at[c] != NOWHERE && reader->at[c] >= csv->cell_count)
            return refuse(reader, "%u columns, and no %s", csv->cell_count, column_names[c]);
    if (reader->only && strcmp(reader->only, cell(reader, SYSTEM)) != 0)
        return true;
    if (!take_words(reader, &row, &is_modelled) || !take_numbers(reader, &row) ||
        published_system(to, csv->path, csv->line, cell(reader, SYSTEM), &row.system,
                         reader->wrong) != RONDE_OK)
        return false;
    keep_said(reader, &row);
    row.is_in_place = says_yes(cell(reader, IN_PLACE));
    published_state(&row, is_modelled, strstr(cell(reader, NOTES), "FAULTY") != NULL);
    return published_add(to, &row, reader->wrong) == RONDE_OK;
}

/** Keeps what is wrong with a line, without its place, and goes on; the first of all is kept as a whole. */
static enum ronde_status leave_out(struct reader *reader, const struct ronde_error *wrong,
                                   struct ronde_error *first, struct ronde_error *error)
{
    const size_t place = (size_t)snprintf(NULL, 0, "%s:%u: ", reader->csv.path, wrong->line);
    if (wrong->status != RONDE_BAD_INPUT) {
        *error = *wrong;
        return wrong->status;
    }
    if (first->status == RONDE_OK)
        *first = *wrong;
    return published_note(reader->to, wrong->line, true,
                          place < strlen(wrong->message) ? wrong->message + place : wrong->message,
                          error);
}

static enum ronde_status read_rows(struct reader *reader, struct ronde_error *first,
                                   struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (bool is_end = false; status == RONDE_OK;) {
        struct ronde_error wrong = {.status = RONDE_OK};
        reader->wrong = &wrong;
        status = ronde_csv_next(&reader->csv, &is_end, &wrong);
        if (is_end && status == RONDE_OK)
            break;
        if (status != RONDE_OK || !read_row(reader))
            status = leave_out(reader, &wrong, first, error);
    }
    return status;
}

enum ronde_status published_read_table(const struct ronde_published_request *request, FILE *file,
                                       struct ronde_published *out, struct ronde_error *error)
{
    struct reader reader = {.csv = {.path = request->path, .file = file},
                            .only = request->system,
                            .to = out};
    struct ronde_error first = {.status = RONDE_OK};
    bool is_end = false;
    out->is_table = true;
    RONDE_TRY(ronde_csv_next(&reader.csv, &is_end, error));
    if (!is_end)
        RONDE_TRY(read_header(&reader, error));
    if (!is_end)
        RONDE_TRY(read_rows(&reader, &first, error));
    if (out->count > 0)
        return RONDE_OK;
    if (first.status != RONDE_OK)
        return ronde_fail_at(error, first.status, first.line, "%s", first.message);
    return ronde_fail(error, RONDE_BAD_INPUT, "%s: no row%s%s", request->path,
                      request->system ? " of system " : "", request->system ? request->system : "");
}

/* Rows and systems of a table that is being read. */

enum ronde_status published_system(struct ronde_published *to, const char *path, uint32_t line,
                                   const char *name, uint32_t *out, struct ronde_error *error)
{
    for (*out = 0; *out < to->system_count; ++*out)
        if (strcmp(to->systems[*out].name, name) == 0)
            return RONDE_OK;
    if (to->system_count == RONDE_PUBLISHED_MAX_SYSTEMS)
        return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: more than %u systems", path,
                             line, RONDE_PUBLISHED_MAX_SYSTEMS);
    if (*name == '\0' || strlen(name) >= RONDE_NCCL_NAME_BYTES || strchr(name, '/'))
        return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                             "%s:%u: \"%.40s\" is no name of a system", path, line, name);
    memcpy(to->systems[to->system_count++].name, name, strlen(name) + 1);
    return RONDE_OK;
}

void published_state(struct ronde_published_row *row, bool is_modelled, bool is_faulty)
{
    row->state = is_faulty                                       ? RONDE_PUBLISHED_FAULTY
                 : !is_modelled                                  ? RONDE_PUBLISHED_NOT_MODELLED
                 : !(row->measured_us > 0)                       ? RONDE_PUBLISHED_UNMEASURED
                 : row->call.bytes < RONDE_PUBLISHED_LEAST_BYTES ? RONDE_PUBLISHED_SMALL
                                                                 : RONDE_PUBLISHED_PREDICTED;
}

enum ronde_status published_add(struct ronde_published *to, const struct ronde_published_row *row,
                                struct ronde_error *error)
{
    if (!ronde_mem_grow(to->mem, &to->rows, &to->capacity, to->count + 1, sizeof *to->rows))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", to->count + 1);
    to->rows[to->count++] = *row;
    return RONDE_OK;
}
