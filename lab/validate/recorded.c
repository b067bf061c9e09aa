/* Records back into a grid: once over the file to see what it holds, once more for the times. */
#include "ronde/recorded.h"

#include "ronde/field.h"

#include "ronde/mem.h"

#include <string.h>

/* Longest line: records have some 800 bytes. */
#define LINE_BYTES 8192

/* What is asked of every line, in this order. */
enum key {
    KEY_KIND,
    KEY_ENGINE,
    KEY_COLLECTIVE,
    KEY_ALGORITHM,
    KEY_RANKS,
    KEY_BYTES,
    KEY_TIME,
    KEY_P95,
    KEYS
};

/* One record of the collective that was asked for. */
struct entry {
    enum ronde_source source;
    char algorithm[RONDE_RECORDED_NAME];
    uint32_t ranks;
    uint64_t bytes;
    double time_ns;
    double p95_ns;
    bool is_oversubscribed;
};

/* A pass over the lines of a file. */
struct reader {
    const char *path;
    enum ronde_collective collective;
    FILE *file;
    char line[LINE_BYTES];
    uint32_t number;
};

static double number_of(const struct ronde_field *field)
{
    return field->kind == RONDE_FIELD_REAL      ? field->real
           : field->kind == RONDE_FIELD_INTEGER ? (double)field->integer
                                                : 0.0;
}

/* A whole number of 1 to `most`. */
static bool is_whole(const struct ronde_field *field, int64_t most)
{
    return field->kind == RONDE_FIELD_INTEGER && field->integer > 0 && field->integer <= most;
}

/* Whether a record of a time has what makes it a point: nothing of it is taken for something else. */
static bool is_point(const struct ronde_field fields[KEYS])
{
    return fields[KEY_ALGORITHM].kind == RONDE_FIELD_TEXT &&
           strlen(fields[KEY_ALGORITHM].text) < RONDE_RECORDED_NAME &&
           is_whole(&fields[KEY_RANKS], UINT32_MAX) && is_whole(&fields[KEY_BYTES], INT64_MAX) &&
           number_of(&fields[KEY_TIME]) > 0.0 && number_of(&fields[KEY_P95]) >= 0.0;
}

/* RONDE_SOURCE_COUNT for a record that is no time of a grid, such as a score. */
static enum ronde_source source_of(const struct ronde_field fields[KEYS])
{
    if (fields[KEY_KIND].kind != RONDE_FIELD_TEXT || fields[KEY_ENGINE].kind != RONDE_FIELD_TEXT)
        return RONDE_SOURCE_COUNT;
    const char *kind = fields[KEY_KIND].text, *engine = fields[KEY_ENGINE].text;
    if (strcmp(kind, "measured") == 0)
        return RONDE_SOURCE_MEASURED;
    if (strcmp(kind, "modelled") == 0 && strcmp(engine, "closed_form") == 0)
        return RONDE_SOURCE_CLOSED_FORM;
    for (uint32_t s = RONDE_SOURCE_PORTS; s < RONDE_SOURCE_CLOSED_FORM; s++)
        if (strcmp(kind, "simulated") == 0 &&
            strcmp(engine, ronde_source_text((enum ronde_source)s)) == 0)
            return (enum ronde_source)s;
    return RONDE_SOURCE_COUNT;
}

/* A line as an entry; *out_is_ours is false where it is of another collective or kind. */
static enum ronde_status read_entry(const struct reader *reader, struct entry *out,
                                    bool *out_is_ours, struct ronde_error *error)
{
    struct ronde_field fields[KEYS] = {{.name = "kind"},       {.name = "engine"},
                                       {.name = "collective"}, {.name = "algorithm"},
                                       {.name = "ranks"},      {.name = "bytes"},
                                       {.name = "time_ns"},    {.name = "p95_ns"}};
    struct ronde_error why = {0};
    char texts[256];
    *out_is_ours = false;
    const enum ronde_status status =
        ronde_json_read(reader->line, fields, KEYS, texts, sizeof texts, &why);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s:%u: %.300s", reader->path, reader->number, why.message);
    out->source = source_of(fields);
    if (out->source == RONDE_SOURCE_COUNT || fields[KEY_COLLECTIVE].kind != RONDE_FIELD_TEXT ||
        strcmp(fields[KEY_COLLECTIVE].text, ronde_collective_text(reader->collective)) != 0)
        return RONDE_OK;
    if (!is_point(fields))
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s:%u: a time without algorithm, ranks, bytes or nanoseconds",
                          reader->path, reader->number);
    snprintf(out->algorithm, sizeof out->algorithm, "%s", fields[KEY_ALGORITHM].text);
    out->ranks = (uint32_t)fields[KEY_RANKS].integer;
    out->bytes = (uint64_t)fields[KEY_BYTES].integer;
    out->time_ns = number_of(&fields[KEY_TIME]);
    out->p95_ns = number_of(&fields[KEY_P95]);
    out->is_oversubscribed = strstr(reader->line, "\"oversubscribed\"") != NULL;
    *out_is_ours = true;
    return RONDE_OK;
}

/* Indices of an entry's algorithm, ranks and size; one past the last where it is new. */
struct place {
    uint32_t algorithm, rank, size;
};

static struct place find(const struct ronde_recorded *recorded, const struct entry *entry)
{
    const struct ronde_validation *grid = &recorded->grid;
    struct place place = {0, 0, 0};
    while (place.algorithm < grid->algorithm_count &&
           strcmp(recorded->names[place.algorithm], entry->algorithm) != 0)
        place.algorithm++;
    while (place.rank < grid->rank_counts && recorded->ranks[place.rank] != entry->ranks)
        place.rank++;
    if (place.rank < grid->rank_counts)
        while (place.size < recorded->size_counts[place.rank] &&
               recorded->sizes[place.rank][place.size] != entry->bytes)
            place.size++;
    return place;
}

/* First pass: what there is. */
static enum ronde_status note_entry(struct ronde_recorded *recorded, const struct entry *entry,
                                    const struct reader *reader, struct ronde_error *error)
{
    struct ronde_validation *grid = &recorded->grid;
    const struct place place = find(recorded, entry);
    if (place.algorithm == RONDE_RECORDED_ALGORITHMS || place.rank == RONDE_RECORDED_RANKS ||
        place.size == RONDE_MAX_SIZES)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s:%u: more than %u algorithms, %u numbers of ranks or %u sizes",
                          reader->path, reader->number, RONDE_RECORDED_ALGORITHMS,
                          RONDE_RECORDED_RANKS, RONDE_MAX_SIZES);
    if (place.algorithm == grid->algorithm_count)
        memcpy(recorded->names[grid->algorithm_count++], entry->algorithm, RONDE_RECORDED_NAME);
    if (place.rank == grid->rank_counts)
        recorded->ranks[grid->rank_counts++] = entry->ranks;
    if (place.size == recorded->size_counts[place.rank])
        recorded->sizes[place.rank][recorded->size_counts[place.rank]++] = entry->bytes;
    grid->has_ports |= entry->source == RONDE_SOURCE_PORTS;
    grid->has_cores |= entry->source == RONDE_SOURCE_CORES;
    grid->lacks_simgrid &= entry->source != RONDE_SOURCE_SIMGRID;
    return RONDE_OK;
}

/* Second pass: the times. */
static void take_entry(struct ronde_recorded *recorded, const struct entry *entry)
{
    const struct place place = find(recorded, entry);
    struct ronde_grid_point *point =
        ronde_validation_point(&recorded->grid, place.rank, place.size, place.algorithm);
    point->bytes = entry->bytes;
    point->time_ns[entry->source] = entry->time_ns;
    if (entry->source != RONDE_SOURCE_MEASURED)
        return;
    point->measured.median = entry->time_ns;
    point->measured.p95 = entry->p95_ns;
    point->is_oversubscribed = entry->is_oversubscribed;
}

/* All lines, noted or, once there is room for points, taken. */
static enum ronde_status pass(struct reader *reader, struct ronde_recorded *recorded,
                              struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    rewind(reader->file);
    for (reader->number = 1;
         status == RONDE_OK && fgets(reader->line, sizeof reader->line, reader->file);
         reader->number++) {
        struct entry entry;
        bool is_ours = false;
        status = read_entry(reader, &entry, &is_ours, error);
        if (status != RONDE_OK || !is_ours)
            continue;
        if (recorded->grid.points)
            take_entry(recorded, &entry);
        else
            status = note_entry(recorded, &entry, reader, error);
    }
    return status;
}

/* Every algorithm measured at as many sizes, whatever the number of ranks. */
static enum ronde_status make_points(struct ronde_recorded *recorded, const struct reader *reader,
                                     struct ronde_error *error)
{
    struct ronde_validation *grid = &recorded->grid;
    if (grid->rank_counts == 0)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: no times of %s", reader->path,
                          ronde_collective_text(reader->collective));
    grid->size_count = recorded->size_counts[0];
    for (uint32_t r = 1; r < grid->rank_counts; r++)
        if (recorded->size_counts[r] != grid->size_count)
            return ronde_fail(error, RONDE_BAD_INPUT, "%s: %u sizes of %u ranks, %u of %u",
                              reader->path, grid->size_count, recorded->ranks[0],
                              recorded->size_counts[r], recorded->ranks[r]);
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        recorded->algorithms[a] = recorded->names[a];
    grid->algorithms = recorded->algorithms;
    grid->ranks = recorded->ranks;
    grid->points =
        ronde_mem_new(ronde_mem_default(), ronde_validation_size(grid), sizeof *grid->points);
    return grid->points ? RONDE_OK
                        : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu points",
                                     ronde_validation_size(grid));
}

static enum ronde_status check_points(const struct ronde_recorded *recorded,
                                      const struct reader *reader, struct ronde_error *error)
{
    const size_t total = ronde_validation_size(&recorded->grid);
    size_t holes = 0;
    for (size_t i = 0; i < total; i++)
        holes += recorded->grid.points[i].bytes == 0;
    return holes == 0 ? RONDE_OK
                      : ronde_fail(error, RONDE_BAD_INPUT, "%s: %zu of %zu points are missing",
                                   reader->path, holes, total);
}

enum ronde_status ronde_recorded_read(const char *path, enum ronde_collective collective,
                                      struct ronde_recorded *out, struct ronde_error *error)
{
    struct reader reader = {.path = path, .collective = collective, .file = fopen(path, "r")};
    *out = (struct ronde_recorded){.grid = {.collective = collective, .lacks_simgrid = true}};
    if (!reader.file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
    enum ronde_status status = pass(&reader, out, error);
    RONDE_THEN(status, make_points(out, &reader, error));
    RONDE_THEN(status, pass(&reader, out, error));
    RONDE_THEN(status, check_points(out, &reader, error));
    fclose(reader.file);
    if (status != RONDE_OK)
        ronde_recorded_close(out);
    return status;
}

void ronde_recorded_close(struct ronde_recorded *recorded)
{
    ronde_mem_free(ronde_mem_default(), recorded->grid.points,
                   ronde_validation_size(&recorded->grid), sizeof *recorded->grid.points);
    recorded->grid.points = NULL;
}
