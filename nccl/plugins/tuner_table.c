/**
 * Reading the file of RONDE_TUNER_FILE, whoever has written it. See plugin_words.h.
 *
 * A line is at most LINE_BYTES long, a number is digits with a point (the application's locale may have a comma), and the
 * last line is "end", so that a file that was cut off is refused.
 */
#define _GNU_SOURCE
#include "plugin_words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };

/** A larger file is none of ours. */
static const int64_t most_bytes = (int64_t)1 << 30;

/** What a file is read with. */
struct reader {
    const char *path;
    char *reason;
    uint64_t ranks, nodes; /**< of the context */
    uint32_t line;
    bool has_head, has_end;
    struct tuner_table *table;
    struct tuner_shape *into[2]; /**< where rows of the shape that is read go; NULL, NULL = it is skipped */
    uint32_t last_nodes;         /**< of the last shape with as many ranks a node */
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct reader *reader, const char *format,
                                                         ...)
{
    char what[TUNER_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(reader->reason, TUNER_REASON_BYTES, "%.100s:%u: %s", reader->path, reader->line, what);
    return false;
}

/** The next word of a line; false at its end. */
static bool take_word(char **at, char **out, size_t *out_bytes)
{
    *at += strspn(*at, " \t");
    *out = *at;
    *out_bytes = strcspn(*at, " \t");
    *at += *out_bytes;
    return *out_bytes > 0;
}

/** A whole number from 1 on. */
static bool take_whole(char **at, uint64_t *out)
{
    char *word;
    size_t bytes;
    *out = 0;
    if (!take_word(at, &word, &bytes) || bytes > 18)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        *out = 10 * *out + (uint64_t)(word[i] - '0');
    }
    return *out > 0;
}

/** A number above 0, or - for none, which is 0. */
static bool take_positive(char **at, float *out)
{
    char *word;
    size_t bytes;
    double value = 0;
    *out = 0;
    if (!take_word(at, &word, &bytes) || bytes > 24)
        return false;
    if (bytes == 1 && *word == '-')
        return true;
    if (*word == '.' || plugin_decimal(word, &value) != bytes)
        return false;
    *out = (float)value;
    return value > 1e-6 && value < 1e12;
}

static bool read_head(struct reader *reader, const char *line)
{
    if (strcmp(line, "ronde-tuner 1") != 0)
        return refuse(reader, "not a ronde-tuner file of version 1; write it with ronde plan "
                              "--style nccl --to nccl-tuner");
    reader->has_head = true;
    return true;
}

static bool read_columns(struct reader *reader, char *at)
{
    struct tuner_table *table = reader->table;
    char *word;
    size_t bytes;
    if (table->columns > 0)
        return refuse(reader, "columns a second time");
    while (take_word(&at, &word, &bytes)) {
        int *algorithm = &table->algorithm[table->columns], *protocol;
        if (table->columns == TUNER_COLUMNS)
            return refuse(reader, "more than %d columns", TUNER_COLUMNS);
        protocol = &table->protocol[table->columns];
        if (!plugin_choice_parse(word, bytes, algorithm, protocol) ||
            tuner_table_column(table, *algorithm, *protocol) >= 0)
            return refuse(reader, "column \"%.*s\" is not one of NCCL's, or there twice",
                          (int)(bytes < 40 ? bytes : 40), word);
        table->columns++;
    }
    return table->columns > 0 || refuse(reader, "no columns");
}

/** Where the rows of a shape go: nowhere unless it has as many ranks a node and no other is as near. */
static bool read_shape(struct reader *reader, char *at)
{
    uint64_t nodes, ranks;
    struct tuner_table *table = reader->table;
    reader->into[0] = reader->into[1] = NULL;
    if (!take_whole(&at, &nodes) || !take_whole(&at, &ranks) || at[strspn(at, " \t")] != '\0' ||
        nodes > UINT32_MAX || ranks % nodes != 0)
        return refuse(reader, "expected: shape NODES RANKS, equally many on each node");
    if (table->columns == 0)
        return refuse(reader, "a shape before the columns");
    if (ranks / nodes != reader->ranks / reader->nodes)
        return true;
    if (nodes <= reader->last_nodes)
        return refuse(reader, "shapes of as many ranks a node do not ascend");
    reader->last_nodes = (uint32_t)nodes;
    /* One node is unlike several: it stands for itself alone. */
    if (nodes == 1 && reader->nodes > 1)
        return true;
    if (nodes <= reader->nodes)
        reader->into[0] = &table->below;
    if (nodes >= reader->nodes && table->above.nodes == 0)
        reader->into[1] = &table->above;
    for (int i = 0; i < 2; i++)
        if (reader->into[i]) {
            for (int c = 0; c < ABI_COLLECTIVES; c++)
                reader->into[i]->of[c].count = 0;
            reader->into[i]->nodes = (uint32_t)nodes;
        }
    return true;
}

static bool read_times(struct reader *reader, struct tuner_times *times, char *at)
{
    uint64_t bytes;
    if (times->count == TUNER_SIZES)
        return refuse(reader, "more than %d sizes", TUNER_SIZES);
    if (!take_whole(&at, &bytes) || (times->count > 0 && times->bytes[times->count - 1] >= bytes))
        return refuse(reader, "sizes are to be whole numbers that ascend");
    if (!take_positive(&at, &times->sure[times->count]) || times->sure[times->count] < 1)
        return refuse(reader,
                      "expected behind the size by how much a choice has to be better, 1 or "
                      "more");
    for (int c = 0; c < reader->table->columns; c++)
        if (!take_positive(&at, &times->us[times->count][c]))
            return refuse(reader, "expected %d times in us, or - for none", reader->table->columns);
    if (at[strspn(at, " \t")] != '\0')
        return refuse(reader, "more times than columns");
    times->bytes[times->count++] = bytes;
    return true;
}

static bool read_row(struct reader *reader, char *word, size_t bytes, char *at)
{
    int c = 0;
    while (c < ABI_COLLECTIVES && (strlen(plugin_collective(c)) != bytes ||
                                   memcmp(plugin_collective(c), word, bytes) != 0))
        c++;
    if (c == ABI_COLLECTIVES)
        return refuse(reader, "\"%.*s\" is neither a collective, shape nor end",
                      (int)(bytes < 40 ? bytes : 40), word);
    if (reader->last_nodes == 0 && reader->table->columns == 0)
        return refuse(reader, "a row before any shape");
    for (int i = 0; i < 2; i++)
        if (reader->into[i] && !read_times(reader, &reader->into[i]->of[c], at))
            return false;
    return true;
}

static bool read_line(struct reader *reader, char *line)
{
    char *at = line, *word;
    size_t bytes;
    if (reader->has_end)
        return refuse(reader, "something behind the end");
    if (!reader->has_head)
        return read_head(reader, line);
    if (!take_word(&at, &word, &bytes) || *word == '#')
        return true;
    if (bytes == 3 && memcmp(word, "end", bytes) == 0) {
        reader->has_end = true;
        return true;
    }
    if (bytes == 7 && memcmp(word, "columns", bytes) == 0)
        return read_columns(reader, at);
    if (bytes == 5 && memcmp(word, "shape", bytes) == 0)
        return read_shape(reader, at);
    return read_row(reader, word, bytes, at);
}

static bool read_lines(struct reader *reader, FILE *file)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        const size_t bytes = strlen(line);
        reader->line++;
        /* A line without its end is too long, has a NUL in it, or is the last of a file that was cut off. */
        if (bytes == 0 || line[bytes - 1] != '\n')
            return refuse(reader, "a line of more than %d bytes, with a NUL, or cut off",
                          LINE_BYTES - 2);
        line[bytes - 1] = '\0';
        if (bytes > 1 && line[bytes - 2] == '\r')
            line[bytes - 2] = '\0';
        if (!read_line(reader, line))
            return false;
    }
    if (ferror(file))
        return refuse(reader, "cannot be read");
    return reader->has_end || refuse(reader, "no line \"end\": the file was cut off");
}

/** A regular file: a pipe or a device would hold up the application. */
static FILE *open_regular(struct reader *reader)
{
    struct stat facts;
    const int handle = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = NULL;
    if (handle < 0) {
        refuse(reader, "%s", strerror(errno));
        return NULL;
    }
    if (fstat(handle, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > most_bytes)
        refuse(reader, "not a regular file of at most 1 GiB");
    else
        file = fdopen(handle, "r");
    if (!file)
        close(handle);
    return file;
}

bool tuner_table_read(const char *path, uint64_t ranks, uint64_t nodes, struct tuner_table *out,
                      char out_reason[TUNER_REASON_BYTES])
{
    struct reader reader = {
        .path = path, .reason = out_reason, .ranks = ranks, .nodes = nodes, .table = out};
    memset(out, 0, sizeof *out);
    snprintf(out_reason, TUNER_REASON_BYTES, "%.100s: no memory to read it", path);
    /* Unequal numbers of ranks a node are no shape of the file's, and one rank communicates with nobody. */
    if (nodes == 0 || ranks < 2 || ranks % nodes != 0)
        return true;
    FILE *file = open_regular(&reader);
    if (!file)
        return false;
    const bool is_read = read_lines(&reader, file);
    fclose(file);
    out->is_known = is_read && out->below.nodes > 0 && out->above.nodes > 0;
    return is_read;
}

/** At the sizes of one shape that enclose `bytes`; no size beyond the file's has an answer. */
static float least_of_shape(const struct tuner_times *times, uint64_t bytes, int from, int to)
{
    uint32_t low = 0, high = times->count;
    if (times->count == 0 || bytes < times->bytes[0] || bytes > times->bytes[times->count - 1])
        return 0;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (times->bytes[middle] <= bytes)
            low = middle;
        else
            high = middle;
    }
    const uint32_t last = times->bytes[low] == bytes ? low : low + 1;
    float least = 0;
    for (uint32_t i = low; i <= last; i++) {
        const float was = times->us[i][from], is = times->us[i][to];
        if (!(was > 0) || !(is > 0))
            return 0;
        const float gain = was / is / times->sure[i];
        least = i == low || gain < least ? gain : least;
    }
    return least;
}

float tuner_table_gain(const struct tuner_table *table, enum abi_collective collective,
                       uint64_t bytes, int from, int to)
{
    const float below = least_of_shape(&table->below.of[collective], bytes, from, to);
    if (table->below.nodes == table->above.nodes || !(below > 0))
        return below;
    const float above = least_of_shape(&table->above.of[collective], bytes, from, to);
    return above < below ? above : below;
}

int tuner_table_column(const struct tuner_table *table, int algorithm, int protocol)
{
    for (int c = 0; c < table->columns; c++)
        if (table->algorithm[c] == algorithm && table->protocol[c] == protocol)
            return c;
    return -1;
}
