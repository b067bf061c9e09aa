/** Which sizes are slower than they should be, and whether the rate jumps. See doctor_parts.h. */
#include "doctor_parts.h"
#include "nccl/model/words.h"
#include "nccl/published/reader.h"

#include "ronde/data_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far the model is off by itself. */

/** Upper bounds of the classes: latency, middle sizes, bandwidth that is approached, bandwidth that is reached. */
static const uint64_t bounds[RONDE_DOCTOR_SIZES] = {65536, 4194304, 134217728, UINT64_MAX};

/** No class is known better than this: a log is one run. */
static const double least_off = .05;

/** Where no system tells. */
static const double guessed_off = .5;

/** A system that is slower than this on the whole of a class is another machine than its description's. */
static const double most_off = 1.6;

/** Longest line, its newline and NUL included. */
#define LINE_BYTES 256

static struct ronde_doctor_spread guessed(void)
{
    struct ronde_doctor_spread spread;
    memset(&spread, 0, sizeof spread);
    memcpy(spread.most_bytes, bounds, sizeof bounds);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++)
            spread.off[p][c] = guessed_off;
    return spread;
}

/** "PLACE CLASS OFF SYSTEMS", places and classes counted from 0. */
static bool take_line(const char *line, struct ronde_doctor_spread *to)
{
    unsigned place = 0, size = 0, systems = 0;
    double off = 0;
    char more = '\0';
    /* Four digits at most: what a longer number says beyond them is "more". */
    if (strpbrk(line, "+-") ||
        sscanf(line, "%4u %4u %lf %4u %c", &place, &size, &off, &systems, &more) != 4 ||
        place >= RONDE_DOCTOR_PLACES || size >= RONDE_DOCTOR_SIZES || !(off >= least_off) ||
        off > 10)
        return false;
    to->off[place][size] = off;
    to->systems[place][size] = systems;
    return true;
}

static enum ronde_status read_lines(FILE *file, const char *path, struct ronde_doctor_spread *to,
                                    struct ronde_error *error)
{
    char text[LINE_BYTES];
    for (uint32_t line = 1; fgets(text, sizeof text, file); line++) {
        if (!strchr(text, '\n') && !feof(file))
            return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: longer than %u bytes", path,
                                 line, LINE_BYTES - 2);
        text[strcspn(text, "#")] = '\0';
        if (text[strspn(text, " \t\r\n")] != '\0' && !take_line(text, to))
            return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                                 "%s:%u: not PLACE CLASS OFF SYSTEMS: 0 or 1, 0 to %u, %g to 10, a "
                                 "number",
                                 path, line, RONDE_DOCTOR_SIZES - 1, least_off);
    }
    return ferror(file) ? ronde_fail(error, RONDE_IO, "%s: cannot be read", path) : RONDE_OK;
}

enum ronde_status ronde_doctor_spread_read(const char *folder, struct ronde_doctor_spread *out,
                                           struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    *out = guessed();
    RONDE_TRY(ronde_nccl_shipped_file(folder, "spread", path, error));
    FILE *file = fopen(path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    const enum ronde_status status = read_lines(file, path, out, error);
    fclose(file);
    return status;
}

/** Mean log(measured / predicted) of a system in a class; false where it has no row there. */
static bool mean_of(const struct ronde_published *published, uint32_t system, unsigned place,
                    unsigned size, const struct ronde_doctor_spread *classes, double *out)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system != system || row->state != RONDE_PUBLISHED_PREDICTED ||
            (row->call.nodes > 1) != (place == 1) ||
            doctor_size_class(classes, row->call.bytes) != size)
            continue;
        sum += log(row->measured_us / row->predicted_us);
        count++;
    }
    *out = count > 0 ? sum / (double)count : 0;
    return count > 0;
}

void ronde_doctor_spread_of(const struct ronde_published *published, struct ronde_doctor_spread *out)
{
    *out = guessed();
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
            double squares = 0;
            uint32_t systems = 0;
            for (uint32_t s = 0; s < published->system_count; s++) {
                double mean = 0;
                /* A system whose own table contradicts itself says nothing of the model. */
                if (ronde_published_falls(published, s) > RONDE_PUBLISHED_MOST_FALLS ||
                    !mean_of(published, s, p, c, out, &mean) || mean > log(most_off))
                    continue;
                squares += mean * mean;
                systems++;
            }
            out->systems[p][c] = systems;
            if (systems > 1)
                out->off[p][c] = fmax(least_off, sqrt(squares / systems));
        }
}

/** A row and what it should have taken. */
struct expected {
    const struct ronde_published_row *row;
    double ratio; /**< measured over predicted time */
};

/** Sizes at which links are filled: the rate there changes little from one to the next. */
static const uint64_t large_bytes = 16777216;

/** A step of the rate that no protocol and no algorithm makes at such sizes. */
static const double jump = 1.5;

/** Less than this is never far, however well the model knows a class. */
static const double least_far = 2.5;

/** So many times is always far: of the published systems that come out fine the worst is 9.8 times too slow (ABCI-V100, 32 MiB on 4 nodes). */
static const double most_far = 12;

/** The same of one place, in or out, where the other may hide it: of these systems the worst is 14.8 (eX3-A100PCIe-2node, 1 MiB). */
static const double most_far_alone = 15, far_spreads_alone = 7.5;

/** Rows of one series beside each other, by size; out of place before in place. */
static int by_series(const void *left, const void *right)
{
    const struct ronde_published_row *const a = ((const struct expected *)left)->row;
    const struct ronde_published_row *const b = ((const struct expected *)right)->row;
    const int order = published_compare_calls(a, b);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static bool is_one_series(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    return a->call.collective == b->call.collective && a->call.ranks == b->call.ranks &&
           a->call.nodes == b->call.nodes && a->wish.algorithm == b->wish.algorithm &&
           a->wish.protocol == b->wish.protocol;
}

/** From this ratio on times are no error of the model's. */
static double far_of(const struct ronde_doctor_request *request,
                     const struct ronde_published_row *row)
{
    return fmin(most_far,
                fmax(least_far, exp(DOCTOR_FAR_SPREADS * doctor_off(request, &row->call))));
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

/** How many times too slow a size is that is so beyond any error of the model, in both places together or in one; 0 where it is not. */
static double far_ratio(const struct ronde_doctor_request *request, const struct expected *rows,
                        size_t from, size_t to)
{
    const struct ronde_published_row *row = rows[from].row;
    size_t in_place = from;
    while (in_place < to && !rows[in_place].row->is_in_place)
        in_place++;
    const double all = middle_ratio(rows, from, to);
    const double one = fmax(in_place > from ? middle_ratio(rows, from, in_place) : 0,
                            in_place < to ? middle_ratio(rows, in_place, to) : 0);
    const double far_alone =
        row->call.nodes > 1
            ? most_far_alone
            : fmax(least_far, exp(far_spreads_alone * doctor_off(request, &row->call)));
    return one > far_alone ? one : all > far_of(request, row) ? all : 0;
}

/** Adds rows [from, to) to the last range or begins one; false where there is no room for it. */
static bool put(struct ronde_diagnosis *out, const struct ronde_doctor_request *request,
                const struct expected *rows, size_t from, size_t to, bool starts_series)
{
    const struct ronde_published_row *row = rows[from].row;
    const double ratio = middle_ratio(rows, from, to),
                 tolerance = ronde_doctor_tolerance(request->spread, &row->call);
    const double far = far_ratio(request, rows, from, to);
    const bool is_short = ratio > tolerance || far > 0;
    if (far > out->far) {
        out->far = far;
        out->far_bytes = row->call.bytes;
    }
    if (ratio * far_of(request, row) < 1 && (out->fast <= 0 || ratio < out->fast)) {
        out->fast = ratio;
        out->fast_call = row->call;
    }
    struct ronde_doctor_range *range =
        out->range_count > 0 ? &out->ranges[out->range_count - 1] : NULL;
    const double rate_GBps = (double)row->call.bytes / row->measured_us / 1e3 *
                             ronde_collective_bus_factor(row->call.collective, row->call.ranks);
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
