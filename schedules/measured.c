/** Measured times: which rows speak for a launch, and what lies between their sizes. See measured.h. */
#include "ronde/measured.h"

#include "measured_times.h"

#include <math.h>
#include <string.h>

static const struct ronde_measured *const tables[] = {&ronde_measured_cpu, &ronde_measured_proc};

const struct ronde_measured *ronde_measured_find(const char *backend)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(tables[i]->backend, backend) == 0)
            return tables[i];
    return NULL;
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
    const struct ronde_request *request = &candidate->request;
    const uint32_t in = ronde_collective_in_blocks(request->collective, request->ranks);
    const uint32_t out = ronde_collective_out_blocks(request->collective, request->ranks);
    return (double)load->count * ronde_dtype_bytes(load->dtype) * (in > out ? in : out);
}

/** The time of a row at a size, us. */
static double time_at(const struct ronde_measured *table, const struct ronde_measured_row *row,
                      double bytes)
{
    const uint32_t last = RONDE_MEASURED_SIZES - 1;
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

static enum ronde_status price(const void *self, const struct ronde_candidate *candidate,
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
    *out_quote =
        (struct ronde_quote){time_us > 0 ? time_us * 1e3 : (double)INFINITY, "measured", false};
    return RONDE_OK;
}

struct ronde_pricer ronde_measured_pricer(const struct ronde_measured_view *view)
{
    return (struct ronde_pricer){.self = view, .price = price};
}
