/** Measured times as text files. See measured.h. */
#define _POSIX_C_SOURCE 200809L

#include "engine/text/refuse.h"

#include "ronde/data_files.h"
#include "ronde/measured.h"
#include "ronde/output_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Measured times: where tables are, which rows speak for a launch, and what lies between their sizes. */

/** A variable that names something; NULL where it is not set or empty, which is the same. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/** A folder and the name of a table in it. */
static bool join(char *out_path, size_t bytes, const char *folder, const char *below,
                 const char *backend)
{
    const int length = snprintf(out_path, bytes, "%s%s/%s.txt", folder, below, backend);
    return length > 0 && (size_t)length < bytes;
}

bool ronde_measured_path(uint32_t place, const char *backend, char *out_path, size_t bytes)
{
    const char *const named = variable("RONDE_TUNE_DIR");
    const char *const config = variable("XDG_CONFIG_HOME");
    const char *const home = variable("HOME");
    char folder[RONDE_PATH_BYTES];
    if (place == RONDE_MEASURED_NAMED)
        return named && join(out_path, bytes, named, "", backend);
    if (place == RONDE_MEASURED_USER && config)
        return join(out_path, bytes, config, "/ronde/tune", backend);
    if (place == RONDE_MEASURED_USER)
        return home && join(out_path, bytes, home, "/.config/ronde/tune", backend);
    return place < RONDE_MEASURED_PLACES &&
           ronde_data_folder(RONDE_DATA_TABLES,
                             (enum ronde_data_place)(place - RONDE_MEASURED_SHIPPED), folder,
                             sizeof folder) &&
           join(out_path, bytes, folder, "", backend);
}

/** Reads the table at a path if there is a file. */
static enum ronde_status read_if_there(const char *path, const char *backend,
                                       const struct ronde_mem *mem,
                                       struct ronde_measured **out_table, struct ronde_error *error)
{
    *out_table = NULL;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return RONDE_OK;
    enum ronde_status status = ronde_measured_read(path, mem, out_table, error);
    if (status == RONDE_OK && strcmp((*out_table)->backend, backend) != 0) {
        status = ronde_fail(error, RONDE_BAD_INPUT, "%s: times of %s in the place of %s", path,
                            (*out_table)->backend, backend);
        ronde_measured_destroy(*out_table, mem);
        *out_table = NULL;
    }
    return status;
}

enum ronde_status
ronde_measured_find(const char *backend, enum ronde_collective collective, uint32_t ranks,
                    uint32_t cores, const struct ronde_mem *mem, struct ronde_measured **out_table,
                    struct ronde_measured_view *out_view, struct ronde_error *error)
{
    char left_out[RONDE_LEFT_OUT_BYTES] = "";
    *out_table = NULL;
    *out_view = (struct ronde_measured_view){.table = NULL};
    for (uint32_t place = 0; place < RONDE_MEASURED_PLACES; place++) {
        char path[RONDE_PATH_BYTES];
        if (!ronde_measured_path(place, backend, path, sizeof path))
            continue;
        struct ronde_measured *table = NULL;
        struct ronde_error why = {0};
        const enum ronde_status status = read_if_there(path, backend, mem, &table, &why);
        if (status == RONDE_NO_MEMORY || (status != RONDE_OK && place == RONDE_MEASURED_NAMED))
            return ronde_fail_at(error, status, why.line, "%s", why.message);
        if (status != RONDE_OK && left_out[0] == '\0')
            snprintf(left_out, sizeof left_out, "%.255s", why.message);
        if (table && ronde_measured_look(table, collective, ranks, cores, out_view)) {
            *out_table = table;
            break;
        }
        ronde_measured_destroy(table, mem);
    }
    memcpy(out_view->left_out, left_out, sizeof left_out);
    return RONDE_OK;
}

void ronde_measured_say(const char *left_out, char *io_words, size_t bytes)
{
    const size_t length = strlen(io_words);
    if (left_out[0])
        snprintf(io_words + length, bytes - length, "; a table is left out: %s", left_out);
}

/** How far apart two numbers of ranks are: as factors, since twice as many are one round more. */
static double distance(uint32_t a, uint32_t b)
{
    return fabs(log2((double)a) - log2((double)b));
}

bool ronde_measured_look(const struct ronde_measured *table, enum ronde_collective collective,
                         uint32_t ranks, uint32_t cores, struct ronde_measured_view *out_view)
{
    uint32_t nearest = 0;
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct ronde_measured_row *row = &table->rows[i];
        const bool is_alike = (row->ranks > table->cores) == (ranks > cores);
        if (row->collective != collective || !is_alike)
            continue;
        if (nearest == 0 || distance(row->ranks, ranks) < distance(nearest, ranks))
            nearest = row->ranks;
    }
    if (nearest > 0)
        *out_view = (struct ronde_measured_view){.table = table, .ranks = nearest};
    return nearest > 0;
}

static const struct ronde_measured_row *find_row(const struct ronde_measured_view *view,
                                                 const struct ronde_candidate *candidate)
{
    for (uint32_t i = 0; candidate->algorithm && i < view->table->row_count; i++) {
        const struct ronde_measured_row *row = &view->table->rows[i];
        if (row->collective == candidate->request.collective && row->ranks == view->ranks &&
            strcmp(row->algorithm, candidate->algorithm->name) == 0)
            return row;
    }
    return NULL;
}

/** nccl-tests' size: the larger of a rank's two buffers. */
static double bytes_of(const struct ronde_candidate *candidate, const struct ronde_load *load)
{
    const struct ronde_compile_request *request = &candidate->request;
    const uint32_t in = ronde_collective_in_blocks(request->collective, request->ranks);
    const uint32_t out = ronde_collective_out_blocks(request->collective, request->ranks);
    return (double)load->count * ronde_dtype_bytes(load->dtype) * (in > out ? in : out);
}

/** The time of a row at a size, us. */
static double time_at(const struct ronde_measured *table, const struct ronde_measured_row *row,
                      double bytes)
{
    const uint32_t last = table->size_count - 1;
    uint32_t right = 0;
    while (right <= last && (double)table->bytes[right] < bytes)
        right++;
    if (right == 0 || (right <= last && (double)table->bytes[right] <= bytes))
        return row->time_us[right];
    if (right > last)
        return row->time_us[last] * bytes / (double)table->bytes[last];
    const double left_bytes = (double)table->bytes[right - 1];
    const double part = log2(bytes / left_bytes) / log2((double)table->bytes[right] / left_bytes);
    return row->time_us[right - 1] * pow(row->time_us[right] / row->time_us[right - 1], part);
}

static enum ronde_status price(const void *self, struct ronde_candidate *candidate,
                               const struct ronde_load *load, const struct ronde_mem *mem,
                               struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_measured_view *view = self;
    const struct ronde_measured_row *row = find_row(view, candidate);
    (void)mem;
    (void)error;
    const double time_us =
        row ? time_at(view->table, row, bytes_of(candidate, load)) : (double)INFINITY;
    /* A size that was not measured has time 0, and what is interpolated from it none. */
    *out_quote = (struct ronde_quote){.time_ns = time_us > 0 ? time_us * 1e3 : (double)INFINITY,
                                      .engine = "measured"};
    return RONDE_OK;
}

struct ronde_pricer ronde_measured_pricer(const struct ronde_measured_view *view)
{
    return (struct ronde_pricer){.self = view, .price = price};
}

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
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status =
        ronde_refuse_line(error, reader->path, reader->line, format, arguments);
    va_end(arguments);
    return status;
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
    char *const texts[] = {table->backend, table->machine, table->date};
    const size_t bytes[] = {sizeof table->backend, sizeof table->machine, sizeof table->date};
    if (reader->has[header])
        return refuse(reader, error, "a second line of %s", header_names[header]);
    reader->has[header] = true;
    value += strspn(value, blanks);
    if (header == CORES)
        return read_cores(reader, value, error);
    if (header == BYTES)
        return read_bytes(reader, value, error);
    if (*value == '\0' || strlen(value) >= bytes[header])
        return refuse(reader, error, "%s is to have 1 to %zu characters", header_names[header],
                      bytes[header] - 1);
    memcpy(texts[header], value, strlen(value) + 1);
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

static enum ronde_status add_row(const struct reader *reader, const struct ronde_measured_row *row,
                                 struct ronde_error *error)
{
    struct ronde_measured *table = reader->to;
    for (uint32_t i = 0; i < table->row_count; i++)
        if (table->rows[i].collective == row->collective && table->rows[i].ranks == row->ranks &&
            table->rows[i].algorithm == row->algorithm)
            return refuse(reader, error, "a second row of %s %s on %u ranks",
                          ronde_collective_text(row->collective), row->algorithm, row->ranks);
    if (table->row_count == RONDE_MEASURED_MAX_ROWS)
        return refuse(reader, error, "more than %u rows", RONDE_MEASURED_MAX_ROWS);
    if (!ronde_mem_grow(reader->mem, &table->rows, &table->capacity, (size_t)table->row_count + 1,
                        sizeof *row))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u rows of %s",
                          table->row_count + 1, reader->path);
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
    RONDE_TRY(read_times(reader, rest, &row, error));
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
    while (fgets(reader->text, sizeof reader->text, reader->file)) {
        const size_t length = strcspn(reader->text, "\n");
        reader->line++;
        /* The last number of a file that was cut off is a number, too. */
        if (reader->text[length] == '\0')
            return refuse(
                reader, error,
                "a line without its end: cut off, of %u bytes or more, or with a zero byte",
                LINE_BYTES - 1);
        reader->text[length] = '\0';
        if (reader->text[0] != '\0' && reader->text[0] != '#')
            RONDE_TRY(read_line(reader, error));
    }
    if (ferror(reader->file))
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", reader->path);
    for (int h = 0; h < HEADER_COUNT; h++)
        if (!reader->has[h])
            return refuse(reader, error, "ends without a line of %s", header_names[h]);
    return RONDE_OK;
}

enum ronde_status ronde_measured_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_measured **out_table, struct ronde_error *error)
{
    struct reader reader = {.path = path, .mem = mem};
    struct stat info;
    *out_table = NULL;
    /* Who opens a pipe waits for its writer. */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: is no plain file", path);
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
    struct ronde_output_file output;
    make_folders(path);
    const enum ronde_status status = ronde_output_file_open(path, &output, error);
    if (status != RONDE_OK)
        return status;
    print_table(table, output.file);
    return ronde_output_file_close(&output, status, error);
}
