/** Curves of published measurements. See published_series.h. */
#include "ronde/published_series.h"

#include "ronde/stats.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/** Numbers of ranks that are told apart before some are chosen. */
#define MOST_PLACES 64u

/** Sizes that make a curve. */
#define LEAST_SIZES 3u

/** Ranks on nodes. */
struct place {
    uint32_t ranks, nodes;
};

static bool is_of(const struct ronde_series *series, const struct ronde_published_row *row)
{
    return row->system == series->system && row->state <= RONDE_PUBLISHED_FITTED &&
           row->call.collective == series->call.collective &&
           row->call.ranks == series->call.ranks && row->call.nodes == series->call.nodes &&
           row->is_in_place == series->is_in_place &&
           row->wish.algorithm == series->wish.algorithm &&
           (series->is_forced || row->wish.protocol == series->wish.protocol);
}

/** Median of one column at a size, or its least; 0 where no row has it. */
static double column_at(const struct ronde_published *published, const struct ronde_series *series,
                        uint64_t bytes, size_t column, double *room)
{
    size_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        const double us = *(const double *)((const char *)row + column);
        if (row->call.bytes == bytes && us > 0 && is_of(series, row))
            room[count++] = us;
    }
    const struct ronde_stats stats = ronde_stats_of(room, count);
    return series->is_forced ? stats.min : stats.median;
}

bool ronde_series_next(const struct ronde_published *published, const struct ronde_series *series,
                       uint64_t after_bytes, double *room, struct ronde_series_point *out)
{
    uint64_t bytes = UINT64_MAX;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->call.bytes > after_bytes && row->call.bytes < bytes && is_of(series, row))
            bytes = row->call.bytes;
    }
    if (bytes == UINT64_MAX)
        return false;
    *out = (struct ronde_series_point){
        .bytes = bytes,
        .measured_us = column_at(published, series, bytes,
                                 offsetof(struct ronde_published_row, measured_us), room),
        .predicted_us = column_at(published, series, bytes,
                                  offsetof(struct ronde_published_row, predicted_us), room),
        .nccl_us = column_at(published, series, bytes,
                             offsetof(struct ronde_published_row, nccl_us), room)};
    return true;
}

/** Sizes that a curve has. */
static uint32_t sizes_of(const struct ronde_published *published, const struct ronde_series *series)
{
    uint32_t sizes = 0;
    for (uint64_t bytes = 0, next; bytes != UINT64_MAX; bytes = next) {
        next = UINT64_MAX;
        for (size_t r = 0; r < published->count; r++) {
            const struct ronde_published_row *row = &published->rows[r];
            if (row->call.bytes > bytes && row->call.bytes < next && is_of(series, row))
                next = row->call.bytes;
        }
        sizes += next != UINT64_MAX;
    }
    return sizes;
}

/** The setting of a place that has the most sizes, NCCL's own choice before forced ones, out of place before in place. */
static uint32_t choose_setting(const struct ronde_published *published, struct ronde_series *series)
{
    uint32_t most = 0;
    struct ronde_series tried = *series;
    for (int in_place = 0; in_place < 2; in_place++)
        for (unsigned a = 0; a <= RONDE_NCCL_ALGORITHM_COUNT; a++)
            for (unsigned p = 0; p <= RONDE_NCCL_PROTOCOL_COUNT; p++) {
                tried.wish = (struct ronde_nccl_choice){RONDE_NCCL_ALGORITHM_COUNT - a,
                                                        RONDE_NCCL_PROTOCOL_COUNT - p};
                tried.is_in_place = in_place;
                const uint32_t sizes = sizes_of(published, &tried);
                if (sizes <= most)
                    continue;
                most = sizes;
                *series = tried;
            }
    return most;
}

static int by_ranks(const void *left, const void *right)
{
    const struct place *const a = left, *const b = right;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    return a->nodes < b->nodes ? -1 : a->nodes > b->nodes;
}

/** Adds a place that is not there yet; where all are taken, the new least or largest stands for the one before. */
static void keep_place(struct place *places, uint32_t *count, struct place place)
{
    uint32_t least = 0, largest = 0;
    for (uint32_t p = 0; p < *count; p++) {
        if (by_ranks(&places[p], &place) == 0)
            return;
        least = by_ranks(&places[p], &places[least]) < 0 ? p : least;
        largest = by_ranks(&places[p], &places[largest]) > 0 ? p : largest;
    }
    if (*count < MOST_PLACES)
        places[(*count)++] = place;
    else if (by_ranks(&place, &places[least]) < 0)
        places[least] = place;
    else if (by_ranks(&place, &places[largest]) > 0)
        places[largest] = place;
}

/** Where a collective was measured, in ascending order. */
static uint32_t find_places(const struct ronde_published *published, uint32_t system,
                            enum ronde_collective collective, struct place out[MOST_PLACES])
{
    uint32_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system == system && row->state <= RONDE_PUBLISHED_FITTED &&
            row->call.collective == collective)
            keep_place(out, &count, (struct place){row->call.ranks, row->call.nodes});
    }
    qsort(out, count, sizeof out[0], by_ranks);
    return count;
}

/** Numbers of ranks, the least and the largest among them. */
static void fill_places(const struct ronde_published *published, uint32_t system,
                        enum ronde_collective collective, struct ronde_panel *panel)
{
    struct place places[MOST_PLACES];
    const uint32_t count = find_places(published, system, collective, places);
    const uint32_t shown = count < RONDE_SERIES_MAX ? count : RONDE_SERIES_MAX;
    *panel = (struct ronde_panel){.count = 0};
    for (uint32_t s = 0; s < shown; s++) {
        const uint32_t p = shown > 1 ? s * (count - 1) / (shown - 1) : 0;
        struct ronde_series series = {.system = system,
                                      .call = {.collective = collective,
                                               .ranks = places[p].ranks,
                                               .nodes = places[p].nodes}};
        if (choose_setting(published, &series) >= LEAST_SIZES)
            panel->series[panel->count++] = series;
    }
}

/** The forced algorithms of one place, where there are two. */
static void fill_forced(const struct ronde_published *published, const struct ronde_series *of,
                        struct ronde_panel *panel)
{
    *panel = (struct ronde_panel){.is_forced = true};
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++) {
        struct ronde_series series = *of;
        series.wish = (struct ronde_nccl_choice){a, RONDE_NCCL_PROTOCOL_COUNT};
        series.is_forced = true;
        if (sizes_of(published, &series) >= LEAST_SIZES)
            panel->series[panel->count++] = series;
    }
}

uint32_t ronde_published_panels(const struct ronde_published *published, uint32_t system,
                                struct ronde_panel out[RONDE_PANELS_MAX])
{
    uint32_t count = 0;
    static const enum ronde_collective order[] = {RONDE_ALL_REDUCE, RONDE_ALL_GATHER,
                                                  RONDE_REDUCE_SCATTER, RONDE_BROADCAST,
                                                  RONDE_REDUCE};
    for (size_t c = 0; c < sizeof order / sizeof order[0]; c++) {
        struct ronde_panel panel, forced = {.count = 0};
        fill_places(published, system, order[c], &panel);
        /* The largest place at which algorithms were compared. */
        for (uint32_t s = panel.count; s-- > 0 && forced.count < 2;)
            fill_forced(published, &panel.series[s], &forced);
        if (panel.count > 0 && count < RONDE_PANELS_MAX)
            out[count++] = panel;
        if (forced.count >= 2 && count < RONDE_PANELS_MAX)
            out[count++] = forced;
    }
    return count;
}
