/* Collectives that others have measured, beside their replay. See ronde/collective_table.h. */
#include "ronde/collective_table.h"

#include "lab/measure/collective_rows.h"
#include "ronde/mem.h"
#include "ronde/setup.h"
#include "ronde/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An algorithm this much slower than the fastest is as good. */
#define AS_FAST 1.05
/* Sizes are divided into blocks of elements; those of these tables are of 32 bits. */
#define ELEMENT RONDE_INT32

bool ronde_collective_table_is(const char *path)
{
    return collective_rows_are(path);
}

static bool is_ours(const struct collective_row *row)
{
    struct ronde_error why;
    return row->is_known && !row->is_left_out && row->bytes >= 1 &&
           ronde_parse_carried(row->collective, row->algorithm, &why) != NULL;
}

static enum ronde_status take(const struct collective_row *from, void *context,
                              struct ronde_error *error)
{
    struct ronde_collective_table *to = context;
    if (!ronde_mem_grow(NULL, &to->rows, &to->room, to->count + 1, sizeof *to->rows))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", to->count + 1);
    struct ronde_table_row *row = &to->rows[to->count++];
    *row = (struct ronde_table_row){.collective = from->collective,
                                    .ranks = from->ranks,
                                    .node_ranks = from->node_ranks,
                                    .bytes = (uint64_t)from->bytes,
                                    .source = from->source,
                                    .measured_ns = from->ns,
                                    .spread = from->spread,
                                    .state = RONDE_TABLE_UNKNOWN};
    if (is_ours(from)) {
        memcpy(row->algorithm, from->algorithm, sizeof row->algorithm);
        row->state = RONDE_TABLE_PREDICTED;
    }
    return RONDE_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const struct ronde_table_row *left = a, *right = b;
    if (left->collective != right->collective)
        return left->collective < right->collective ? -1 : 1;
    const int names = strcmp(left->algorithm, right->algorithm);
    if (names != 0)
        return names;
    if (left->ranks != right->ranks)
        return left->ranks < right->ranks ? -1 : 1;
    if (left->node_ranks != right->node_ranks)
        return left->node_ranks < right->node_ranks ? -1 : 1;
    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

enum ronde_status ronde_collective_table_read(const char *path, const char *meanings,
                                              struct ronde_collective_table *out_table,
                                              struct ronde_error *error)
{
    struct collective_meanings known = {.count = 0};
    enum ronde_status status = RONDE_OK;
    *out_table = (struct ronde_collective_table){.count = 0};
    if (meanings)
        status = collective_meanings_read(meanings, &known, error);
    RONDE_THEN(status, collective_rows_read(path, &known, take, out_table, error));
    free(known.items);
    if (out_table->count > 1)
        qsort(out_table->rows, out_table->count, sizeof *out_table->rows, compare_rows);
    return status;
}

void ronde_collective_table_close(struct ronde_collective_table *table)
{
    ronde_mem_free(NULL, table->rows, table->room, sizeof *table->rows);
    *table = (struct ronde_collective_table){.count = 0};
}

/* Rows of one algorithm on so many ranks share a schedule. */
static size_t end_of_schedule(const struct ronde_collective_table *table, size_t first)
{
    const struct ronde_table_row *row = &table->rows[first];
    size_t end = first + 1;
    while (end < table->count && table->rows[end].collective == row->collective &&
           table->rows[end].ranks == row->ranks && table->rows[end].node_ranks == row->node_ranks &&
           table->rows[end].state == row->state &&
           strcmp(table->rows[end].algorithm, row->algorithm) == 0)
        end++;
    return end;
}

/* What a calibration from a table comes from. */
static bool is_fitted(const struct ronde_platform *platform, const struct ronde_table_row *row)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    if (!strstr(facts->measured_by, "--from-table"))
        return false;
    return (facts->time.sums_in_place && row->collective == RONDE_REDUCE_SCATTER &&
            strcmp(row->algorithm, "ring") == 0) ||
           (row->collective == RONDE_ALL_GATHER && strcmp(row->algorithm, "ring") == 0) ||
           (row->collective == RONDE_ALL_REDUCE && strcmp(row->algorithm, "recursive_doubling") == 0);
}

static enum ronde_status predict_row(struct ronde_forecast *forecast, const char *engine,
                                     struct ronde_table_row *row, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    struct ronde_error why = {RONDE_OK, 0, ""};
    ronde_forecast_set_count(forecast, ronde_collective_count(row->collective, row->ranks,
                                                              row->bytes, ELEMENT));
    const enum ronde_status status =
        ronde_forecast_replay(forecast, engine ? engine : "auto", &prediction, &why);
    if (status == RONDE_NO_MEMORY || status == RONDE_CANCELLED)
        return ronde_fail(error, status, "%s", why.message);
    if (status == RONDE_OK) {
        row->predicted_ns = prediction.time_ns;
        row->engine = prediction.engine;
    } else {
        row->state = RONDE_TABLE_REFUSED;
    }
    return RONDE_OK;
}

static enum ronde_status predict_rows(struct ronde_table_row *rows, size_t count,
                                      const struct ronde_platform *platform,
                                      const struct ronde_tune_options *options, const char *engine,
                                      struct ronde_error *error)
{
    struct ronde_error why = {RONDE_OK, 0, ""};
    struct ronde_tune_options how = *options;
    how.puts = ronde_name_puts(rows->algorithm);
    const struct ronde_setup setup = {
        .platform = platform,
        .request = {.collective = rows->collective,
                    .algorithm = ronde_parse_carried(rows->collective, rows->algorithm, &why)->name,
                    .ranks = rows->ranks},
        .is_placed = options->is_placed,
        .placement = options->placement};
    struct ronde_candidate candidate = {.own = NULL};
    enum ronde_status status = ronde_candidate_open(&setup, ronde_mem_default(), &candidate, &why);
    if (status == RONDE_NO_MEMORY)
        return ronde_fail(error, status, "%s", why.message);
    if (status != RONDE_OK) {
        for (size_t i = 0; i < count; i++)
            rows[i].state = RONDE_TABLE_REFUSED;
        return RONDE_OK;
    }
    struct ronde_forecast forecast = ronde_candidate_forecast(&candidate, platform, &how);
    forecast.load.dtype = ELEMENT;
    for (size_t i = 0; i < count && status == RONDE_OK; i++)
        status = predict_row(&forecast, engine, &rows[i], error);
    ronde_candidate_close(&candidate, ronde_mem_default());
    return status;
}

enum ronde_status ronde_collective_table_predict(struct ronde_collective_table *table,
                                                 const struct ronde_platform *platform,
                                                 const struct ronde_tune_options *options,
                                                 const char *engine, ronde_table_progress progress,
                                                 struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const uint32_t hosts = facts->hosts, node_hosts = facts->node_hosts > 1 ? facts->node_hosts : 1;
    size_t end = 0;
    for (size_t first = 0; first < table->count; first = end) {
        struct ronde_table_row *rows = &table->rows[first];
        end = end_of_schedule(table, first);
        if (progress)
            progress(first, table->count);
        if (rows->state != RONDE_TABLE_PREDICTED)
            continue;
        for (size_t i = 0; i < end - first; i++)
            rows[i].state = rows[i].ranks != hosts || rows[i].node_ranks != node_hosts
                                ? RONDE_TABLE_OTHER
                            : is_fitted(platform, &rows[i]) ? RONDE_TABLE_FITTED
                                                            : RONDE_TABLE_PREDICTED;
        if (rows->state != RONDE_TABLE_OTHER)
            RONDE_TRY(predict_rows(rows, end - first, platform, options, engine, error));
    }
    return RONDE_OK;
}

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

enum ronde_status
ronde_collective_table_score(const struct ronde_collective_table *table, size_t first, size_t end,
                             struct ronde_table_score *out_score, struct ronde_error *error)
{
    double *off = calloc(2 * (end - first) + 1, sizeof *off), *lean = off + (end - first);
    size_t count = 0;
    *out_score = (struct ronde_table_score){.rows = 0};
    if (!off)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to score %zu rows", end - first);
    for (size_t i = first; i < end; i++) {
        const struct ronde_table_row *row = &table->rows[i];
        if (row->state != RONDE_TABLE_PREDICTED)
            continue;
        lean[count] = row->predicted_ns / row->measured_ns - 1;
        off[count] = fabs(lean[count]);
        count++;
    }
    qsort(off, count, sizeof *off, by_value);
    qsort(lean, count, sizeof *lean, by_value);
    *out_score = (struct ronde_table_score){.rows = count,
                                            .median = ronde_percentile(off, count, 50),
                                            .p90 = ronde_percentile(off, count, 90),
                                            .lean = ronde_percentile(lean, count, 50)};
    free(off);
    return RONDE_OK;
}

static bool is_replayed(const struct ronde_table_row *row)
{
    return row->state == RONDE_TABLE_PREDICTED || row->state == RONDE_TABLE_FITTED;
}

static bool is_same_point(const struct ronde_table_row *a, const struct ronde_table_row *b)
{
    return a->collective == b->collective && a->ranks == b->ranks &&
           a->node_ranks == b->node_ranks && a->bytes == b->bytes && a->source == b->source;
}

struct ronde_table_winners ronde_collective_table_winners(const struct ronde_collective_table *table)
{
    struct ronde_table_winners winners = {.points = 0};
    double lost = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct ronde_table_row *best = &table->rows[i], *named = best;
        bool is_first = is_replayed(best);
        bool has_others = false;
        for (size_t k = 0; k < table->count && is_first; k++) {
            const struct ronde_table_row *other = &table->rows[k];
            if (!is_replayed(other) || !is_same_point(other, &table->rows[i]))
                continue;
            is_first = k >= i;
            has_others |= strcmp(other->algorithm, table->rows[i].algorithm) != 0;
            best = other->measured_ns < best->measured_ns ? other : best;
            named = other->predicted_ns < named->predicted_ns ? other : named;
        }
        if (!is_first || !has_others)
            continue;
        winners.points++;
        winners.right += named->measured_ns <= AS_FAST * best->measured_ns;
        lost += named->measured_ns / best->measured_ns - 1;
    }
    winners.lost = winners.points > 0 ? lost / (double)winners.points : 0;
    return winners;
}
