/* Rows of a table of collectives, one at a time. See collective_rows.h. */
#include "collective_rows.h"

#include "ronde/csv.h"
#include "ronde/schedules.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column {
    COLLECTIVE,
    MEANING,
    ALGORITHM,
    RANKS,
    BYTES,
    MEDIAN,
    TIME,
    P10,
    P90,
    NOTES,
    RANKS_A_NODE,
    MEMORY,
    SYSTEM,
    RUN,
    LIBRARY,
    COLUMN_COUNT
};

static const char *const column_names[COLUMN_COUNT] = {
    "collective",  "algorithm_meaning", "algorithm", "ranks", "bytes",  "time_us_median", "time_us",
    "time_us_p10", "time_us_p90",       "notes",     "ppn",   "memory", "system",         "run",
    "library"};

struct table {
    struct ronde_csv csv;
    const struct collective_meanings *meanings; /* NULL = none */
    uint32_t at[COLUMN_COUNT];                  /* cell of a column; UINT32_MAX = none */
};

static const char *cell(const struct table *table, enum column column)
{
    const uint32_t at = table->at[column];
    return at < table->csv.cell_count ? table->csv.cells[at] : "";
}

bool collective_number(const char *text, double least, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out >= least && *out <= 1e18;
}

/* Rows that a replay of whole blocks between nodes says nothing of. */
static bool is_left_out(const struct table *table)
{
    const char *notes = cell(table, NOTES), *memory = cell(table, MEMORY);
    return strstr(notes, "FAULTY") || strstr(notes, "segments of") ||
           (*memory != '\0' && strcmp(memory, "host") != 0);
}

/* FNV-1a over texts and their ends. */
static uint64_t mix(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++ != '\0');
    return hash;
}

/* What the meanings say of a row's algorithm; "" where they say nothing. */
static const char *look_up(const struct table *table, enum ronde_collective collective)
{
    const struct collective_meanings *meanings = table->meanings;
    const char *algorithm = cell(table, ALGORITHM);
    for (size_t i = 0; meanings && i < meanings->count; i++)
        if (meanings->items[i].collective == collective &&
            strcmp(meanings->items[i].algorithm, algorithm) == 0)
            return meanings->items[i].meaning;
    return "";
}

static enum ronde_status take_row(const struct table *table, struct collective_row *row,
                                  struct ronde_error *error)
{
    const struct ronde_csv *csv = &table->csv;
    const char *time = cell(table, MEDIAN), *algorithm = cell(table, MEANING);
    double ranks, node_ranks, us, p10, p90;
    *row = (struct collective_row){.line = csv->line};
    if (*time == '\0')
        time = cell(table, TIME);
    /* A table that says what its algorithms mean knows of those that mean nothing here. */
    if (table->at[MEANING] == UINT32_MAX)
        algorithm = cell(table, ALGORITHM);
    if (!collective_number(cell(table, RANKS), 1, &ranks) || ranks > RONDE_MAX_RANKS ||
        ranks != floor(ranks))
        return ronde_csv_refuse(csv, error, "ranks \"%.40s\" is not a whole number from 1 to %u",
                                cell(table, RANKS), RONDE_MAX_RANKS);
    if (!collective_number(cell(table, BYTES), 0, &row->bytes))
        return ronde_csv_refuse(csv, error, "bytes \"%.40s\" is not a number of at least 0",
                                cell(table, BYTES));
    if (!collective_number(time, 1e-6, &us))
        return ronde_csv_refuse(csv, error,
                                "the time \"%.40s\" is not a number of microseconds above 0", time);
    if (*cell(table, RANKS_A_NODE) == '\0')
        node_ranks = 1;
    else if (!collective_number(cell(table, RANKS_A_NODE), 1, &node_ranks) || node_ranks > ranks ||
             node_ranks != floor(node_ranks))
        return ronde_csv_refuse(csv, error, "ppn \"%.40s\" is not a whole number from 1 to %.0f",
                                cell(table, RANKS_A_NODE), ranks);
    row->ranks = (uint32_t)ranks;
    row->node_ranks = (uint32_t)node_ranks;
    row->ns = us * 1e3;
    row->is_left_out = is_left_out(table);
    row->source = 0xcbf29ce484222325u;
    for (unsigned column = SYSTEM; column <= LIBRARY; column++)
        row->source = mix(row->source, cell(table, (enum column)column));
    row->is_known = ronde_collective_parse(cell(table, COLLECTIVE), &row->collective);
    if (row->is_known && *algorithm == '\0')
        algorithm = look_up(table, row->collective);
    row->is_known = row->is_known && strlen(algorithm) < sizeof row->algorithm;
    if (row->is_known)
        memcpy(row->algorithm, algorithm, strlen(algorithm) + 1);
    row->quiet_ns = row->ns;
    if (collective_number(cell(table, P10), 1e-6, &p10) && p10 < us)
        row->quiet_ns = p10 * 1e3;
    if (collective_number(cell(table, P90), us, &p90))
        row->spread = p90 / us - 1;
    return RONDE_OK;
}

static enum ronde_status read_header(struct table *table, struct ronde_error *error)
{
    static const enum column needed[][2] = {{COLLECTIVE, COLLECTIVE},
                                            {MEANING, ALGORITHM},
                                            {RANKS, RANKS},
                                            {BYTES, BYTES},
                                            {MEDIAN, TIME}};
    for (unsigned c = 0; c < COLUMN_COUNT; c++) {
        table->at[c] = UINT32_MAX;
        for (uint32_t at = 0; at < table->csv.cell_count; at++)
            if (strcmp(table->csv.cells[at], column_names[c]) == 0)
                table->at[c] = at;
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (table->at[needed[i][0]] == UINT32_MAX && table->at[needed[i][1]] == UINT32_MAX)
            return ronde_csv_refuse(&table->csv, error,
                                    "no column %s; a table's first line names its columns: "
                                    "collective, algorithm, ranks, bytes, time_us",
                                    column_names[needed[i][1]]);
    return RONDE_OK;
}

/* ---- Meanings --------------------------------------------------------------------------------------------------- */

enum meaning_column { OF_COLLECTIVE, THEIRS, OURS, MEANING_COLUMNS };

static enum ronde_status read_meaning_head(struct ronde_csv *csv,
                                           uint32_t at[static MEANING_COLUMNS],
                                           struct ronde_error *error)
{
    static const char *const names[MEANING_COLUMNS] = {"collective", "algorithm", "ronde_algorithm"};
    bool is_end = false;
    RONDE_TRY(ronde_csv_next(csv, &is_end, error));
    for (unsigned c = 0; c < MEANING_COLUMNS; c++) {
        for (at[c] = 0; at[c] < csv->cell_count && strcmp(csv->cells[at[c]], names[c]) != 0;)
            at[c]++;
        if (is_end || at[c] == csv->cell_count)
            return ronde_csv_refuse(csv, error,
                                    "no column %s; the first line is "
                                    "collective,algorithm,ronde_algorithm",
                                    names[c]);
    }
    return RONDE_OK;
}

static enum ronde_status take_meaning(const struct ronde_csv *csv,
                                      const uint32_t at[static MEANING_COLUMNS],
                                      struct collective_meaning *out, struct ronde_error *error)
{
    const char *cells[MEANING_COLUMNS];
    struct ronde_error why = {0};
    for (unsigned c = 0; c < MEANING_COLUMNS; c++)
        cells[c] = at[c] < csv->cell_count ? csv->cells[at[c]] : "";
    if (!ronde_collective_parse(cells[OF_COLLECTIVE], &out->collective))
        return ronde_csv_refuse(csv, error, "\"%.40s\" is no collective", cells[OF_COLLECTIVE]);
    if (!ronde_parse_carried(out->collective, cells[OURS], &why))
        return ronde_csv_refuse(csv, error, "%s", why.message);
    if (*cells[THEIRS] == '\0' || strlen(cells[THEIRS]) >= sizeof out->algorithm)
        return ronde_csv_refuse(csv, error, "the name \"%.40s\" has not 1 to %zu bytes",
                                cells[THEIRS], sizeof out->algorithm - 1);
    memcpy(out->algorithm, cells[THEIRS], strlen(cells[THEIRS]) + 1);
    memcpy(out->meaning, cells[OURS], strlen(cells[OURS]) + 1);
    return RONDE_OK;
}

enum ronde_status collective_meanings_read(const char *path, struct collective_meanings *out,
                                           struct ronde_error *error)
{
    struct ronde_csv csv = {.path = path, .file = fopen(path, "r")};
    uint32_t at[MEANING_COLUMNS] = {0};
    bool is_end = false;
    *out = (struct collective_meanings){.count = 0};
    if (!csv.file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
    enum ronde_status status = read_meaning_head(&csv, at, error);
    while (status == RONDE_OK) {
        status = ronde_csv_next(&csv, &is_end, error);
        if (status != RONDE_OK || is_end)
            break;
        struct collective_meaning *items =
            realloc(out->items, (out->count + 1) * sizeof *out->items);
        if (!items) {
            status = ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for its lines", path);
            break;
        }
        out->items = items;
        status = take_meaning(&csv, at, &out->items[out->count++], error);
    }
    fclose(csv.file);
    return status;
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

enum ronde_status collective_rows_read(const char *path, const struct collective_meanings *meanings,
                                       collective_row_taker take, void *context,
                                       struct ronde_error *error)
{
    struct table table = {.csv = {.path = path, .file = fopen(path, "r")}, .meanings = meanings};
    struct collective_row row;
    bool is_end = false;
    if (!table.csv.file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
    enum ronde_status status = ronde_csv_next(&table.csv, &is_end, error);
    if (status == RONDE_OK && is_end)
        status = ronde_fail(error, RONDE_BAD_INPUT, "%s: is empty", path);
    RONDE_THEN(status, read_header(&table, error));
    while (status == RONDE_OK) {
        status = ronde_csv_next(&table.csv, &is_end, error);
        if (status != RONDE_OK || is_end)
            break;
        status = take_row(&table, &row, error);
        RONDE_THEN(status, take(&row, context, error));
    }
    fclose(table.csv.file);
    return status;
}

bool collective_rows_are(const char *path)
{
    struct table table = {.csv = {.path = path, .file = fopen(path, "r")}};
    struct ronde_error error;
    bool is_end = true;
    if (!table.csv.file)
        return false;
    const bool is_table = ronde_csv_next(&table.csv, &is_end, &error) == RONDE_OK && !is_end &&
                          read_header(&table, &error) == RONDE_OK;
    fclose(table.csv.file);
    return is_table && table.at[RANKS] != UINT32_MAX &&
           (table.at[MEDIAN] != UINT32_MAX || table.at[MEANING] != UINT32_MAX);
}
