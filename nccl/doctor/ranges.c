/** Which sizes are slower than they should be, and whether the rate jumps. See inside.h. */
#include "inside.h"
#include "nccl/published/repeats.h"

#include <math.h>
#include <stdlib.h>

/** A row and what it should have taken. */
struct expected {
    const struct ronde_published_row *row;
    double ratio; /**< measured over predicted time */
};

/** Sizes at which links are filled: the rate there changes little from one to the next. */
static const uint64_t large_bytes = 16777216;

/** A step of the rate that no protocol and no algorithm makes at such sizes. */
static const double jump = 1.5;

/** Rows of one series beside each other, by size; out of place before in place. */
static int by_series(const void *left, const void *right)
{
    const struct ronde_published_row *const a = ((const struct expected *)left)->row;
    const struct ronde_published_row *const b = ((const struct expected *)right)->row;
    const uint64_t keys[][2] = {
        {a->call.collective, b->call.collective}, {a->call.ranks, b->call.ranks},
        {a->call.nodes, b->call.nodes},           {a->wish.algorithm, b->wish.algorithm},
        {a->wish.protocol, b->wish.protocol},     {a->call.bytes, b->call.bytes},
        {a->is_in_place, b->is_in_place},         {a->line, b->line}};
    return published_order(keys, sizeof keys / sizeof keys[0]);
}

static bool is_one_series(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    return a->call.collective == b->call.collective && a->call.ranks == b->call.ranks &&
           a->call.nodes == b->call.nodes && a->wish.algorithm == b->wish.algorithm &&
           a->wish.protocol == b->wish.protocol;
}

static double tolerance_of(const struct ronde_doctor_request *request,
                           const struct ronde_published_row *row)
{
    return exp(DOCTOR_SPREADS * doctor_off(request, &row->call));
}

/** Mean ratio of rows [from, to), which are of one size, without the least and the largest of three and more. */
static double middle_ratio(const struct expected *rows, size_t from, size_t to)
{
    double least = INFINITY, most = 0, sum = 0;
    for (size_t r = from; r < to; r++) {
        least = fmin(least, rows[r].ratio);
        most = fmax(most, rows[r].ratio);
        sum += rows[r].ratio;
    }
    return to - from > 2 ? (sum - least - most) / (double)(to - from - 2)
                         : sum / (double)(to - from);
}

/** Adds rows [from, to) to the last range or begins one; false where there is no room for it. */
static bool put(struct ronde_diagnosis *out, const struct ronde_doctor_request *request,
                const struct expected *rows, size_t from, size_t to, bool starts_series)
{
    const struct ronde_published_row *row = rows[from].row;
    const double ratio = middle_ratio(rows, from, to), tolerance = tolerance_of(request, row);
    const bool is_short = ratio > tolerance;
    struct ronde_doctor_range *range =
        out->range_count > 0 ? &out->ranges[out->range_count - 1] : NULL;
    const double rate_GBps =
        (double)row->call.bytes / row->measured_us / 1e3 * ronde_published_bus_factor(&row->call);
    if (!range || starts_series || range->is_short != is_short) {
        out->is_wrong = out->is_wrong || is_short;
        if (out->range_count == RONDE_DOCTOR_MAX_RANGES)
            return false;
        range = &out->ranges[out->range_count++];
        *range = (struct ronde_doctor_range){.call = row->call,
                                             .wish = row->wish,
                                             .least_bytes = row->call.bytes,
                                             .is_short = is_short};
    }
    range->most_bytes = row->call.bytes;
    range->sizes++;
    /* Logarithmic means: a range may cover several classes. */
    range->ratio += log(ratio);
    range->tolerance += log(tolerance);
    range->measured_GBps = rate_GBps;
    range->expected_GBps = rate_GBps * rows[from].ratio;
    return true;
}

static size_t collect(const struct ronde_doctor_request *request, struct expected *rows)
{
    size_t count = 0;
    for (size_t r = 0; r < request->published->count; r++) {
        const struct ronde_published_row *row = &request->published->rows[r];
        const double us = doctor_takes(request, row) ? doctor_predict_us(request, row, NULL, 0) : 0;
        if (us > 0)
            rows[count++] = (struct expected){row, row->measured_us / us};
    }
    qsort(rows, count, sizeof rows[0], by_series);
    return count;
}

/** Share of neighbouring large sizes between which the ratio jumps. */
static double jumps_of(const struct expected *rows, size_t count)
{
    size_t steps = 0, jumps = 0;
    for (size_t r = 1; r < count; r++) {
        const struct ronde_published_row *row = rows[r].row;
        if (!is_one_series(rows[r - 1].row, row) || rows[r - 1].row->call.bytes < large_bytes)
            continue;
        steps++;
        jumps += fabs(log(rows[r].ratio / rows[r - 1].ratio)) > log(jump);
    }
    /* Two or three sizes are no pattern. */
    return steps > 3 ? (double)jumps / (double)steps : 0;
}

enum ronde_status doctor_find_ranges(const struct ronde_doctor_request *request,
                                     struct ronde_diagnosis *out, struct ronde_error *error)
{
    const struct ronde_published *published = request->published;
    struct expected *rows = ronde_mem_new(published->mem, published->count, sizeof *rows);
    if (!rows)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", published->count);
    const size_t count = collect(request, rows);
    bool has_room = true;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && is_one_series(rows[from].row, rows[to].row) &&
                            rows[to].row->call.bytes == rows[from].row->call.bytes;)
            to++;
        /* Behind a range that was left out every size begins one, so that none is put to another series. */
        has_room = put(out, request, rows, from, to,
                       !has_room || from == 0 || !is_one_series(rows[from - 1].row, rows[from].row));
    }
    for (uint32_t r = 0; r < out->range_count; r++) {
        out->ranges[r].ratio = exp(out->ranges[r].ratio / out->ranges[r].sizes);
        out->ranges[r].tolerance = exp(out->ranges[r].tolerance / out->ranges[r].sizes);
    }
    out->jumps = jumps_of(rows, count);
    ronde_mem_free(published->mem, rows, published->count, sizeof *rows);
    return RONDE_OK;
}
