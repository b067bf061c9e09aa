/** Measured times as text files. See measured.h. */
#define _POSIX_C_SOURCE 200809L

#include "ronde/measured.h"

#include "ronde/data_files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Longest line, its newline and NUL included. */
#define LINE_BYTES 2048u

static const char version[] = "ronde measured times 1";

/** Between words. */
static const char blanks[] = " \t";

/** Header lines that a file has. */
enum header { BACKEND, MACHINE, DATE, CORES, BYTES, HEADER_COUNT };

static const char *const header_names[HEADER_COUNT] = {"backend", "machine", "date", "cores",
                                                       "bytes"};

/** A file that is read. */
struct reader {
    const char *path;
    FILE *file;
    uint32_t line;             /**< number of the line in `text`, from 1 */
    char text[LINE_BYTES];     /**< without its newline */
    bool has_version;          /**< the first line was read */
    bool has[HEADER_COUNT];    /**< header lines that were read */
    struct ronde_measured *to; /**< what they say */
    const struct ronde_mem *mem;
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

/** A whole number from `low` to `high`, nothing after it. */
static bool parse_whole(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0 && *out >= low && *out <= high;
}

/** A time in microseconds: finite, not negative. */
static bool parse_time(const char *text, double *out)
{
    char *end = NULL;
    if ((text[0] < '0' || text[0] > '9') && text[0] != '.')
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out) && *out >= 0.0;
}

static enum ronde_status keep_text(const struct reader *reader, const char *name, const char *value,
                                   char *out, size_t bytes, struct ronde_error *error)
{
    if (*value == '\0' || strlen(value) >= bytes)
        return refuse(reader, error, "%s is to have 1 to %zu characters", name, bytes - 1);
    memcpy(out, value, strlen(value) + 1);
    return RONDE_OK;
}

static enum ronde_status read_cores(const struct reader *reader, const char *value,
                                    struct ronde_error *error)
{
    uint64_t cores = 0;
    if (!parse_whole(value, 1, UINT32_MAX, &cores))
        return refuse(reader, error, "cores \"%.40s\" is not a whole number above 0", value);
    reader->to->cores = (uint32_t)cores;
    return RONDE_OK;
}

static enum ronde_status read_bytes(const struct reader *reader, char *value,
                                    struct ronde_error *error)
{
    struct ronde_measured *table = reader->to;
    char *rest = NULL;
    for (char *word = strtok_r(value, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest)) {
        const uint32_t k = table->size_count;
        if (k == RONDE_MEASURED_MAX_SIZES)
            return refuse(reader, error, "more than %u sizes", RONDE_MEASURED_MAX_SIZES);
        if (!parse_whole(word, 1, UINT64_MAX, &table->bytes[k]))
            return refuse(reader, error, "size \"%.40s\" is not a whole number of bytes", word);
        if (k > 0 && table->bytes[k] <= table->bytes[k - 1])
            return refuse(reader, error, "size %s does not ascend", word);
        table->size_count++;
    }
    return table->size_count > 0 ? RONDE_OK : refuse(reader, error, "bytes without a size");
}

/** A line before the rows, without its first word. */
static enum ronde_status read_header(struct reader *reader, enum header header, char *value,
                                     struct ronde_error *error)
{
    struct ronde_measured *table = reader->to;
    if (reader->has[header])
        return refuse(reader, error, "a second line of %s", header_names[header]);
    reader->has[header] = true;
    value += strspn(value, blanks);
    switch (header) {
    case BACKEND:
        return keep_text(reader, "backend", value, table->backend, sizeof table->backend, error);
    case MACHINE:
        return keep_text(reader, "machine", value, table->machine, sizeof table->machine, error);
    case DATE:
        return keep_text(reader, "date", value, table->date, sizeof table->date, error);
    case CORES:
        return read_cores(reader, value, error);
    case BYTES:
        return read_bytes(reader, value, error);
    case HEADER_COUNT:
        break;
    }
    return RONDE_OK;
}

/** The times of a row, one per size. */
static enum ronde_status read_times(const struct reader *reader, char **rest,
                                    struct ronde_measured_row *row, struct ronde_error *error)
{
    const uint32_t sizes = reader->to->size_count;
    uint32_t count = 0;
    for (char *word = strtok_r(NULL, blanks, rest); word; word = strtok_r(NULL, blanks, rest)) {
        if (count == sizes)
            return refuse(reader, error, "more times than the %u sizes", sizes);
        if (!parse_time(word, &row->time_us[count++]))
            return refuse(reader, error, "time \"%.40s\" is not a number of microseconds", word);
    }
    return count == sizes ? RONDE_OK : refuse(reader, error, "%u times for %u sizes", count, sizes);
}

static bool is_same(const struct ronde_measured_row *a, const struct ronde_measured_row *b)
{
    return a->collective == b->collective && a->ranks == b->ranks && a->algorithm == b->algorithm;
}

static enum ronde_status add_row(const struct reader *reader, const struct ronde_measured_row *row,
                                 struct ronde_error *error)
{
    struct ronde_measured *table = reader->to;
    void *block = table->rows;
    for (uint32_t i = 0; i < table->row_count; i++)
        if (is_same(&table->rows[i], row))
            return refuse(reader, error, "a second row of %s %s on %u ranks",
                          ronde_collective_text(row->collective), row->algorithm, row->ranks);
    if (table->row_count == RONDE_MEASURED_MAX_ROWS)
        return refuse(reader, error, "more than %u rows", RONDE_MEASURED_MAX_ROWS);
    if (!ronde_mem_grow(reader->mem, &block, &table->capacity, (size_t)table->row_count + 1,
                        sizeof *row))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u rows of %s",
                          table->row_count + 1, reader->path);
    table->rows = block;
    table->rows[table->row_count++] = *row;
    return RONDE_OK;
}

/** The registry's name of an algorithm; NULL where this build lacks it. */
static const char *name_of(enum ronde_collective collective, const char *text)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        if (all[i]->collective == collective && strcmp(all[i]->name, text) == 0)
            return all[i]->name;
    return NULL;
}

/** A row. Names that another version of ronde knows are counted and left out: a table outlives the build that wrote it. */
static enum ronde_status read_row(struct reader *reader, const char *collective, char **rest,
                                  struct ronde_error *error)
{
    struct ronde_measured_row row = {.ranks = 0};
    uint64_t ranks = 0;
    for (int h = 0; h < HEADER_COUNT; h++)
        if (!reader->has[h])
            return refuse(reader, error, "a row before the line of %s", header_names[h]);
    const char *algorithm = strtok_r(NULL, blanks, rest);
    const char *number = strtok_r(NULL, blanks, rest);
    if (!algorithm || !number)
        return refuse(reader, error, "a row is a collective, an algorithm, ranks and times");
    if (!parse_whole(number, 1, UINT32_MAX, &ranks))
        return refuse(reader, error, "ranks \"%.40s\" is not a whole number above 0", number);
    row.ranks = (uint32_t)ranks;
    const enum ronde_status status = read_times(reader, rest, &row, error);
    if (status != RONDE_OK)
        return status;
    if (ronde_collective_parse(collective, &row.collective))
        row.algorithm = name_of(row.collective, algorithm);
    if (row.algorithm)
        return add_row(reader, &row, error);
    reader->to->unknown_rows++;
    return RONDE_OK;
}

/** One line that is neither empty nor a remark. */
static enum ronde_status read_line(struct reader *reader, struct ronde_error *error)
{
    char *rest = NULL;
    if (!reader->has_version && strcmp(reader->text, version) != 0)
        return refuse(reader, error, "the first line is not \"%s\"", version);
    if (!reader->has_version) {
        reader->has_version = true;
        return RONDE_OK;
    }
    const char *word = strtok_r(reader->text, blanks, &rest);
    if (!word)
        return RONDE_OK;
    for (int h = 0; h < HEADER_COUNT; h++)
        if (strcmp(word, header_names[h]) == 0)
            return read_header(reader, (enum header)h, rest, error);
    return read_row(reader, word, &rest, error);
}

static enum ronde_status read_lines(struct reader *reader, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && fgets(reader->text, sizeof reader->text, reader->file)) {
        const size_t length = strcspn(reader->text, "\n");
        reader->line++;
        /* Without a newline it is the last line, or too long, or has a NUL in it. */
        if (reader->text[length] == '\0' && !feof(reader->file))
            return refuse(reader, error, "a line of %u bytes or more, or a zero byte",
                          LINE_BYTES - 1);
        reader->text[length] = '\0';
        if (reader->text[0] != '\0' && reader->text[0] != '#')
            status = read_line(reader, error);
    }
    if (status == RONDE_OK && ferror(reader->file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", reader->path);
    for (int h = 0; status == RONDE_OK && h < HEADER_COUNT; h++)
        if (!reader->has[h])
            status = refuse(reader, error, "ends without a line of %s", header_names[h]);
    return status;
}

enum ronde_status ronde_measured_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_measured **out_table, struct ronde_error *error)
{
    struct reader reader = {.path = path, .mem = mem};
    *out_table = NULL;
    reader.file = fopen(path, "r");
    if (!reader.file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    reader.to = ronde_mem_new(mem, 1, sizeof *reader.to);
    const enum ronde_status status =
        reader.to ? read_lines(&reader, error)
                  : ronde_fail(error, RONDE_NO_MEMORY, "no memory for the times of %s", path);
    fclose(reader.file);
    if (status == RONDE_OK)
        *out_table = reader.to;
    else
        ronde_measured_destroy(reader.to, mem);
    return status;
}

void ronde_measured_destroy(struct ronde_measured *table, const struct ronde_mem *mem)
{
    if (!table)
        return;
    ronde_mem_free(mem, table->rows, table->capacity, sizeof *table->rows);
    ronde_mem_free(mem, table, 1, sizeof *table);
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

/** Makes the folders of a path that are missing; what cannot be made shows when the file is opened. */
static void make_folders(const char *path)
{
    char folder[RONDE_PATH_BYTES];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        if ((size_t)(slash - path) >= sizeof folder)
            return;
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
        (void)mkdir(folder, 0777);
    }
}

static void print_table(const struct ronde_measured *table, FILE *file)
{
    fprintf(file,
            "%s\n"
            "# Times of algorithms on one machine, for `auto` (docs/guide/choosing.md). "
            "`ronde tune --backend %s` measures yours.\n"
            "# Rows: collective, algorithm, ranks, then a time per size in microseconds, out of "
            "place; 0 = not measured.\n"
            "backend %s\nmachine %s\ndate %s\ncores %u\nbytes",
            version, table->backend, table->backend, table->machine, table->date, table->cores);
    for (uint32_t k = 0; k < table->size_count; k++)
        fprintf(file, " %" PRIu64, table->bytes[k]);
    fputs("\n\n", file);
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct ronde_measured_row *row = &table->rows[i];
        fprintf(file, "%s %s %u", ronde_collective_text(row->collective), row->algorithm,
                row->ranks);
        for (uint32_t k = 0; k < table->size_count; k++)
            fprintf(file, " %.4g", row->time_us[k]);
        fputc('\n', file);
    }
}

enum ronde_status ronde_measured_write(const struct ronde_measured *table, const char *path,
                                       struct ronde_error *error)
{
    char draft[RONDE_PATH_BYTES];
    if ((size_t)snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid()) >= sizeof draft)
        return ronde_fail(error, RONDE_IO, "%s: path too long", path);
    make_folders(path);
    FILE *file = fopen(draft, "w");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    print_table(table, file);
    const bool is_written = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    const bool is_closed = fclose(file) == 0;
    if (is_written && is_closed && rename(draft, path) == 0)
        return RONDE_OK;
    const int why = errno;
    (void)unlink(draft);
    return ronde_fail(error, is_written && is_closed ? RONDE_IO : RONDE_DEVICE, "%s: %s", path,
                      strerror(why));
}
