/** Measured times: where tables are, which rows speak for a launch, and what lies between their sizes. See measured.h. */
#define _POSIX_C_SOURCE 200809L

#include "ronde/measured.h"

#include "ronde/data_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    *out_table = NULL;
    *out_view = (struct ronde_measured_view){.table = NULL};
    for (uint32_t place = 0; place < RONDE_MEASURED_PLACES; place++) {
        char path[RONDE_PATH_BYTES];
        if (!ronde_measured_path(place, backend, path, sizeof path))
            continue;
        struct ronde_measured *table = NULL;
        const enum ronde_status status = read_if_there(path, backend, mem, &table, error);
        if (status != RONDE_OK)
            return status;
        if (table && ronde_measured_look(table, collective, ranks, cores, out_view)) {
            *out_table = table;
            return RONDE_OK;
        }
        ronde_measured_destroy(table, mem);
    }
    return RONDE_OK;
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
        *out_view = (struct ronde_measured_view){table, nearest};
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
