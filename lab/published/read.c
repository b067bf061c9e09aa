/** Published measurements from CSV. See published.h. */
#include "reader.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Longest line, its newline and NUL included; cells of a line. */
#define LINE_BYTES 4096
#define MAX_CELLS 64u

/** Published rates are rounded, and recomputed from rounded times. */
static const double rate_tolerance = .03;

/** Columns that are needed. */
enum column {
    SYSTEM,
    COLLECTIVE,
    ALGORITHM,
    PROTOCOL,
    GPUS,
    NODES,
    BYTES,
    TIME,
    RATE,
    VERSION,
    NOTES,
    DATE, /**< this and the rest may be missing */
    GPU,
    INSIDE,
    BETWEEN,
    COLUMN_COUNT
};

static const char *const column_names[COLUMN_COUNT] = {
    "system", "collective", "algorithm", "protocol",           "gpus",
    "nodes",  "bytes",      "time_us",   "algbw_GBps",         "nccl_version",
    "notes",  "date",       "gpu",       "interconnect_intra", "interconnect_inter"};

/** Where a column that may be missing is not there. */
#define NOWHERE UINT32_MAX

/** A file that is read. */
struct reader {
    const char *path;
    const char *only; /**< the one system that is kept, or NULL */
    FILE *file;
    uint32_t line;
    char text[LINE_BYTES];
    char *cells[MAX_CELLS]; /**< of the line, unquoted */
    uint32_t cell_count;
    uint32_t at[COLUMN_COUNT]; /**< cell of a column */
    uint32_t in_place; /**< cell of the column that says so; MAX_CELLS where there is none */
    struct ronde_published *to;
};

RONDE_FORMAT(3, 4)
static enum ronde_status refuse(const struct reader *reader, struct ronde_error *error,
                                const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return ronde_fail_at(error, RONDE_BAD_INPUT, reader->line, "%s:%u: %s", reader->path,
                         reader->line, what);
}

/** Takes one cell off a line, unquoting it in place (RFC 4180); NULL where a quote is not closed. */
static char *take_cell(char **rest, bool *out_is_last)
{
    char *from = *rest, *cell = from, *to = from;
    const bool is_quoted = *from == '"';
    if (is_quoted)
        from++;
    for (;; from++) {
        if (is_quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (is_quoted && *from == '"')
            break;
        else if (*from == '\0' || (!is_quoted && *from == ','))
            break;
        *to++ = *from;
    }
    if (is_quoted && *from++ != '"')
        return NULL;
    *out_is_last = *from == '\0';
    *rest = from + 1;
    if (*from != '\0' && *from != ',')
        return NULL;
    *to = '\0';
    return cell;
}

static enum ronde_status cut_cells(struct reader *reader, struct ronde_error *error)
{
    char *rest = reader->text;
    bool is_last = false;
    reader->text[strcspn(reader->text, "\r\n")] = '\0';
    for (reader->cell_count = 0; !is_last; reader->cell_count++) {
        if (reader->cell_count == MAX_CELLS)
            return refuse(reader, error, "more than %u columns", MAX_CELLS);
        reader->cells[reader->cell_count] = take_cell(&rest, &is_last);
        if (!reader->cells[reader->cell_count])
            return refuse(reader, error, "a quote in column %u is not closed before its comma",
                          reader->cell_count + 1);
    }
    return RONDE_OK;
}

static enum ronde_status read_header(struct reader *reader, struct ronde_error *error)
{
    const enum ronde_status status = cut_cells(reader, error);
    for (unsigned c = 0; status == RONDE_OK && c < COLUMN_COUNT; c++) {
        uint32_t at = 0;
        while (at < reader->cell_count && strcmp(reader->cells[at], column_names[c]) != 0)
            at++;
        if (at == reader->cell_count && c < DATE)
            return refuse(reader, error, "no column %s", column_names[c]);
        for (uint32_t other = at + 1; other < reader->cell_count; other++)
            if (strcmp(reader->cells[other], column_names[c]) == 0)
                return refuse(reader, error, "columns %u and %u are both %s", at + 1, other + 1,
                              column_names[c]);
        reader->at[c] = at < reader->cell_count ? at : NOWHERE;
    }
    for (reader->in_place = 0; reader->in_place < reader->cell_count; reader->in_place++)
        if (strcmp(reader->cells[reader->in_place], "inplace") == 0)
            break;
    if (reader->in_place == reader->cell_count)
        reader->in_place = MAX_CELLS;
    return status;
}

static const char *cell(const struct reader *reader, enum column column)
{
    return reader->cells[reader->at[column]];
}

static enum ronde_status whole(const struct reader *reader, enum column column, uint64_t most,
                               uint64_t *out, struct ronde_error *error)
{
    const char *text = cell(reader, column);
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || *out == 0 || *out > most)
        return refuse(reader, error, "%s \"%.40s\" is not a whole number from 1 to %llu",
                      column_names[column], text, (unsigned long long)most);
    return RONDE_OK;
}

static enum ronde_status positive(const struct reader *reader, enum column column, double *out,
                                  struct ronde_error *error)
{
    const char *text = cell(reader, column);
    char *end = NULL;
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*out) || *out <= 0)
        return refuse(reader, error, "%s \"%.40s\" is not a number above 0", column_names[column],
                      text);
    return RONDE_OK;
}

/** The forced algorithm and protocol. Returns false for one that NCCL does not have (MSCCL-*). */
static bool take_wish(const struct reader *reader, struct ronde_nccl_choice *out)
{
    unsigned a = 0, p = 0;
    while (a < RONDE_NCCL_ALGORITHM_COUNT &&
           strcmp(cell(reader, ALGORITHM),
                  ronde_nccl_algorithm_text((enum ronde_nccl_algorithm)a)) != 0)
        a++;
    while (p < RONDE_NCCL_PROTOCOL_COUNT &&
           strcmp(cell(reader, PROTOCOL), ronde_nccl_protocol_text((enum ronde_nccl_protocol)p)) != 0)
        p++;
    *out = (struct ronde_nccl_choice){(enum ronde_nccl_algorithm)a, (enum ronde_nccl_protocol)p};
    return (a < RONDE_NCCL_ALGORITHM_COUNT || strcmp(cell(reader, ALGORITHM), "auto") == 0) &&
           (p < RONDE_NCCL_PROTOCOL_COUNT || strcmp(cell(reader, PROTOCOL), "auto") == 0);
}

/** One or two digits of a version; false where there are none or more. */
static bool take_digits(const char **text, uint32_t *out)
{
    const size_t digits = strspn(*text, "0123456789");
    *out = 0;
    for (size_t i = 0; i < digits && i < 2; i++)
        *out = *out * 10 + (uint32_t)((*text)[i] - '0');
    *text += digits;
    return digits == 1 || digits == 2;
}

/** The version that is to be expected at the row's date, YYYY or YYYY-MM...; 0 without one. */
static uint32_t version_by_date(const struct reader *reader)
{
    unsigned year = 0, month = 0;
    if (reader->at[DATE] == NOWHERE || sscanf(cell(reader, DATE), "%4u-%2u", &year, &month) < 1 ||
        year < 2000)
        return 0;
    return ronde_nccl_version_at(year, month > 0 && month <= 12 ? month : 7);
}

/** "2.29.2", "2.29.2+cuda13.1" and "RCCL 2.22.3" as 229, 229 and 222; what its date says where it is not stated. */
static enum ronde_status take_version(const struct reader *reader, uint32_t *out,
                                      struct ronde_error *error)
{
    uint32_t major = 0, minor = 0;
    const char *at = cell(reader, VERSION);
    *out = version_by_date(reader);
    if (*at == '\0')
        return RONDE_OK;
    if (strncmp(at, "NCCL ", 5) == 0 || strncmp(at, "RCCL ", 5) == 0)
        at += 5;
    if (!take_digits(&at, &major) || *at++ != '.' || !take_digits(&at, &minor) ||
        (*at != '\0' && !strchr(".+- ", *at)))
        return refuse(reader, error, "nccl_version \"%.40s\" is not MAJOR.MINOR.PATCH",
                      cell(reader, VERSION));
    *out = 100 * major + minor;
    return RONDE_OK;
}

/** Numbers of a row, and whether they agree with one another. */
static enum ronde_status take_numbers(const struct reader *reader, struct ronde_published_row *row,
                                      struct ronde_error *error)
{
    uint64_t gpus = 0, nodes = 0;
    double rate = 0;
    enum ronde_status status = whole(reader, GPUS, 1u << 20, &gpus, error);
    if (status == RONDE_OK)
        status = whole(reader, NODES, gpus, &nodes, error);
    if (status == RONDE_OK)
        status = whole(reader, BYTES, (uint64_t)1 << 50, &row->call.bytes, error);
    if (status == RONDE_OK)
        status = positive(reader, TIME, &row->measured_us, error);
    if (status == RONDE_OK)
        status = positive(reader, RATE, &rate, error);
    if (status == RONDE_OK)
        status = take_version(reader, &row->call.version, error);
    if (status != RONDE_OK)
        return status;
    row->call.ranks = (uint32_t)gpus;
    row->call.nodes = (uint32_t)nodes;
    if (gpus % nodes != 0)
        return refuse(reader, error, "%u gpus are not equally many on %u nodes", row->call.ranks,
                      row->call.nodes);
    const double expected = (double)row->call.bytes / row->measured_us / 1e3;
    if (fabs(rate / expected - 1) > rate_tolerance)
        return refuse(reader, error,
                      "algbw_GBps %g contradicts time_us %g of %llu bytes, which are %.4g GB/s",
                      rate, row->measured_us, (unsigned long long)row->call.bytes, expected);
    return RONDE_OK;
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
    const uint32_t gpus = row->call.ranks / row->call.nodes;
    char *const kept[] = {said->gpu, said->inside, said->between};
    for (unsigned c = GPU; c <= BETWEEN; c++)
        if (reader->at[c] != NOWHERE)
            keep_longer(kept[c - GPU], sizeof said->gpu, cell(reader, (enum column)c));
    keep_longer(said->notes, sizeof said->notes, cell(reader, NOTES));
    said->gpus = gpus > said->gpus ? gpus : said->gpus;
}

static enum ronde_status read_row(struct reader *reader, struct ronde_error *error)
{
    struct ronde_published *to = reader->to;
    struct ronde_published_row row = {.line = reader->line};
    enum ronde_status status = cut_cells(reader, error);
    for (unsigned c = 0; status == RONDE_OK && c < COLUMN_COUNT; c++)
        if (reader->at[c] != NOWHERE && reader->at[c] >= reader->cell_count)
            return refuse(reader, error, "%u columns, and no %s", reader->cell_count,
                          column_names[c]);
    if (status == RONDE_OK)
        status = take_numbers(reader, &row, error);
    if (status != RONDE_OK || (reader->only && strcmp(reader->only, cell(reader, SYSTEM)) != 0))
        return status;
    status =
        published_system(to, reader->path, reader->line, cell(reader, SYSTEM), &row.system, error);
    if (status != RONDE_OK)
        return status;
    keep_said(reader, &row);
    const bool is_modelled =
        take_wish(reader, &row.wish) &&
        ronde_collective_parse(cell(reader, COLLECTIVE), &row.call.collective) &&
        ronde_nccl_models(row.call.collective);
    row.is_in_place =
        reader->in_place < reader->cell_count && strcmp(reader->cells[reader->in_place], "1") == 0;
    published_state(&row, is_modelled, strncmp(cell(reader, NOTES), "FAULTY", 6) == 0);
    return published_add(to, &row, error);
}

static enum ronde_status read_lines(struct reader *reader, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && fgets(reader->text, sizeof reader->text, reader->file)) {
        reader->line++;
        /* Without a newline it is the last line, or too long, or a zero byte hides the rest of it. */
        if (!strchr(reader->text, '\n') && !feof(reader->file))
            return refuse(reader, error, "longer than %u bytes, or has a zero byte", LINE_BYTES - 2);
        if (reader->line == 1)
            status = read_header(reader, error);
        else if (reader->text[strspn(reader->text, " \t\r\n")] != '\0')
            status = read_row(reader, error);
    }
    if (status == RONDE_OK && ferror(reader->file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", reader->path);
    if (status == RONDE_OK && reader->to->count == 0)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: no row%s%s", reader->path,
                          reader->only ? " of system " : "", reader->only ? reader->only : "");
    return status;
}

enum ronde_status published_read_table(const struct ronde_published_request *request, FILE *file,
                                       struct ronde_published *out, struct ronde_error *error)
{
    struct reader reader = {.path = request->path, .only = request->system, .file = file, .to = out};
    return read_lines(&reader, error);
}
