/** Predictions of published measurements and how good they are. See published.h. */
#include "reader.h"

#include "nccl/model/setting.h"

#include "ronde/stats.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Repeats of measurements. */

int published_order(const uint64_t keys[][2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/** What the model is told of a row, in an order that puts repeats beside each other. */
static int by_call(const void *left, const void *right)
{
    const struct ronde_published_row *const a = *(const struct ronde_published_row *const *)left;
    const struct ronde_published_row *const b = *(const struct ronde_published_row *const *)right;
    const uint64_t keys[][2] = {{a->call.collective, b->call.collective},
                                {a->call.ranks, b->call.ranks},
                                {a->call.nodes, b->call.nodes},
                                {a->call.bytes, b->call.bytes},
                                {a->call.version, b->call.version},
                                {a->wish.algorithm, b->wish.algorithm},
                                {a->wish.protocol, b->wish.protocol}};
    return published_order(keys, sizeof keys / sizeof keys[0]);
}

/**
 * The 90th percentile of |row / mean of its repeats - 1|, repeats being rows of one call, version of NCCL and forced
 * setting, in place and out of place; -1 where no row has any. Sorts `rows`; `errors` has room for `count`.
 */
static double own_spread(struct ronde_published_row **rows, size_t count, double *errors)
{
    size_t known = 0;
    qsort(rows, count, sizeof rows[0], by_call);
    for (size_t from = 0, to; from < count; from = to) {
        double sum = 0;
        for (to = from; to < count && by_call(&rows[from], &rows[to]) == 0; to++)
            sum += log(rows[to]->measured_us);
        for (size_t r = from; to - from > 1 && r < to; r++) {
            const double own = log(rows[r]->measured_us);
            const double others = (sum - own) / (double)(to - from - 1);
            errors[known++] = fabs(exp(own - others) - 1);
        }
    }
    if (known == 0)
        return -1;
    (void)ronde_stats_of(errors, known); /* sorts them */
    return ronde_percentile(errors, known, 90);
}

/** Measured times that differ by no more have no winner. */
static const double least_margin = 1.1;

static const char *const state_texts[] = {
#define RONDE_TEXT(name, text) text,
    RONDE_PUBLISHED_STATE_LIST(RONDE_TEXT)
#undef RONDE_TEXT
};

const char *ronde_published_state_text(enum ronde_published_state state)
{
    return state < RONDE_PUBLISHED_STATE_COUNT ? state_texts[state] : "?";
}

/**
 * Whether there is anything of a forced algorithm to run: trees for all_reduce alone, NVLS on switches that reduce. A row that
 * was measured all the same was a ring; NVLS of other calls and of few GPUs is there, if not of NCCL's own accord.
 */
static bool can_run(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                    enum ronde_nccl_algorithm algorithm)
{
    const bool is_tree = algorithm == RONDE_NCCL_TREE || algorithm == RONDE_NCCL_NVLS_TREE;
    if (ronde_nccl_is_nvls(algorithm) &&
        (machine->generation < RONDE_NCCL_HOPPER || machine->link != RONDE_NODE_SWITCH))
        return false;
    return !is_tree || call->collective == RONDE_ALL_REDUCE;
}

/** A row's own time of NCCL, and whether the machine can make the call at all. */
static void choose(struct ronde_published *published, struct ronde_published_row *row,
                   const struct ronde_nccl_constants *constants)
{
    const struct ronde_published_system *system = &published->systems[row->system];
    struct ronde_error ignored = {0};
    if (row->state == RONDE_PUBLISHED_NOT_DESCRIBED)
        row->state = row->measured_us > 0 ? RONDE_PUBLISHED_PREDICTED : RONDE_PUBLISHED_UNMEASURED;
    if (row->state != RONDE_PUBLISHED_PREDICTED && row->state != RONDE_PUBLISHED_UNMEASURED)
        return;
    /* A log without hosts, a table without nodes: as few nodes as the ranks fit on. */
    if (row->call.nodes == 0 && system->is_described)
        row->call.nodes = (row->call.ranks - 1) / system->machine.gpus + 1;
    if (!system->is_described ||
        ronde_nccl_call_check(&system->machine, &row->call, &ignored) != RONDE_OK) {
        row->state = RONDE_PUBLISHED_NOT_DESCRIBED;
        return;
    }
    double us = ronde_nccl_choose(constants, &system->machine, &row->call, row->wish, &row->choice);
    if (!isfinite(us) && !can_run(&system->machine, &row->call, row->wish.algorithm)) {
        const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, row->wish.protocol};
        us = ronde_nccl_choose(constants, &system->machine, &row->call, ring, &row->choice);
    }
    row->nccl_us = isfinite(us) ? us : 0;
}

void ronde_published_choose(struct ronde_published *published,
                            const struct ronde_nccl_constants *constants)
{
    for (size_t r = 0; r < published->count; r++)
        choose(published, &published->rows[r], constants);
}

void ronde_published_describe(struct ronde_published *published, uint32_t system,
                              const struct ronde_nccl_machine *machine,
                              const struct ronde_nccl_constants *constants)
{
    published->systems[system].machine = *machine;
    published->systems[system].is_described = true;
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].system == system)
            choose(published, &published->rows[r], constants);
}

struct ronde_nccl_machine ronde_published_machine_of(const struct ronde_published *published,
                                                     const struct ronde_published_row *row)
{
    struct ronde_nccl_machine machine = published->systems[row->system].machine;
    machine.limits = row->limits ? row->limits : machine.limits;
    return machine;
}

void ronde_published_predict(struct ronde_published *published, uint32_t system,
                             const struct ronde_nccl_constants *constants)
{
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (row->system != system || !ronde_published_is_predicted(row))
            continue;
        const struct ronde_nccl_machine machine = ronde_published_machine_of(published, row);
        row->predicted_us = ronde_nccl_execution_us(constants, &machine, &row->call, row->choice);
        row->closed_form_us = ronde_published_closed_form_us(&machine, &row->call, row->choice);
    }
}

/** Rows of one point lie beside each other in this order. */
static int by_point(const void *left, const void *right)
{
    const struct ronde_published_row *const a = *(const struct ronde_published_row *const *)left;
    const struct ronde_published_row *const b = *(const struct ronde_published_row *const *)right;
    const uint64_t keys[][2] = {{a->call.collective, b->call.collective},
                                {a->call.ranks, b->call.ranks},
                                {a->call.nodes, b->call.nodes},
                                {a->call.bytes, b->call.bytes},
                                {a->line, b->line}};
    return published_order(keys, sizeof keys / sizeof keys[0]);
}

static bool is_one_point(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    return a->call.collective == b->call.collective && a->call.ranks == b->call.ranks &&
           a->call.nodes == b->call.nodes && a->call.bytes == b->call.bytes;
}

/* Runs of one call. */

int published_compare_calls(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    const uint64_t keys[][2] = {{a->call.collective, b->call.collective},
                                {a->call.ranks, b->call.ranks},
                                {a->call.nodes, b->call.nodes},
                                {a->wish.algorithm, b->wish.algorithm},
                                {a->wish.protocol, b->wish.protocol},
                                {a->call.bytes, b->call.bytes},
                                {a->is_in_place, b->is_in_place}};
    return published_order(keys, sizeof keys / sizeof keys[0]);
}

static int compare_runs(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    const uint64_t keys[][2] = {{a->system, b->system}, {a->state, b->state}};
    const int order = published_order(keys, sizeof keys / sizeof keys[0]);
    return order != 0 ? order : published_compare_calls(a, b);
}

static int by_run(const void *left, const void *right)
{
    const struct ronde_published_row *const a = left, *const b = right;
    const int order = compare_runs(a, b);
    if (order != 0)
        return order;
    return a->measured_us != b->measured_us ? (a->measured_us < b->measured_us ? -1 : 1)
                                            : (a->line > b->line) - (a->line < b->line);
}

void ronde_published_keep_best(struct ronde_published *published)
{
    struct ronde_published_row *rows = published->rows;
    size_t kept = 0;
    qsort(rows, published->count, sizeof *rows, by_run);
    for (size_t r = 0; r < published->count; r++) {
        if (r == 0 || compare_runs(&rows[kept - 1], &rows[r]) != 0) {
            rows[kept++] = rows[r];
            continue;
        }
        const double times = rows[r].measured_us / rows[kept - 1].measured_us;
        if (times > published->again.most) {
            published->again.most = times;
            published->again.line = rows[r].line;
        }
    }
    published->again.rows += published->count - kept;
    published->count = kept;
}

/** The least of times by algorithm; count where none is there. */
static unsigned least(const double times[RONDE_NCCL_ALGORITHM_COUNT], unsigned except)
{
    unsigned best = RONDE_NCCL_ALGORITHM_COUNT;
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
        if (a != except && isfinite(times[a]) &&
            (best == RONDE_NCCL_ALGORITHM_COUNT || times[a] < times[best]))
            best = a;
    return best;
}

/** How far the second lies behind the best; 0 without a second. */
static double margin_of(const double times[RONDE_NCCL_ALGORITHM_COUNT], unsigned best)
{
    const unsigned second = least(times, best);
    return second < RONDE_NCCL_ALGORITHM_COUNT ? times[second] / times[best] : 0;
}

/** The fastest algorithm of a point, each with the best of its protocols that were measured. */
static void score_point(struct ronde_published_row *const *rows, size_t count,
                        struct ronde_published_score *score)
{
    double measured[RONDE_NCCL_ALGORITHM_COUNT], predicted[RONDE_NCCL_ALGORITHM_COUNT];
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
        measured[a] = predicted[a] = INFINITY;
    for (size_t r = 0; r < count; r++) {
        const unsigned a = rows[r]->wish.algorithm;
        if (a == RONDE_NCCL_ALGORITHM_COUNT)
            continue;
        measured[a] = fmin(measured[a], rows[r]->measured_us);
        predicted[a] = fmin(predicted[a], rows[r]->predicted_us);
    }
    const unsigned best = least(measured, RONDE_NCCL_ALGORITHM_COUNT);
    const unsigned expected = least(predicted, RONDE_NCCL_ALGORITHM_COUNT);
    const double margin = margin_of(measured, best);
    for (size_t r = 0; margin > 0 && r < count; r++) {
        rows[r]->winner = (enum ronde_nccl_algorithm)best;
        rows[r]->predicted_winner = (enum ronde_nccl_algorithm)expected;
        rows[r]->margin = margin;
        rows[r]->predicted_margin = margin_of(predicted, expected);
    }
    if (margin < least_margin)
        return;
    score->duels++;
    score->winners += expected == best;
}

/** Room for a score: a system's predicted rows, and errors of them. */
struct room {
    struct ronde_published_row **rows;
    double *errors;
    size_t count;
};

/** A column of a row, us. */
static double us_of(const struct ronde_published_row *row, size_t column)
{
    return *(const double *)((const char *)row + column);
}

/** Median |error| of one column, of the rows that have another. */
static double median_where(const struct room *room, size_t column, size_t where)
{
    size_t known = 0;
    for (size_t r = 0; r < room->count; r++)
        if (us_of(room->rows[r], where) > 0)
            room->errors[known++] =
                fabs(us_of(room->rows[r], column) / room->rows[r]->measured_us - 1);
    return ronde_stats_of(room->errors, known).median;
}

/** The same of the rows that have it. */
static double median_of(const struct room *room, size_t column)
{
    return median_where(room, column, column);
}

/** The class of a size. */
static unsigned size_of(uint64_t bytes)
{
    static const uint64_t bounds[RONDE_PUBLISHED_SIZES - 1] = {65536, 4194304, 67108864};
    unsigned size = 0;
    while (size + 1 < RONDE_PUBLISHED_SIZES && bytes > bounds[size])
        size++;
    return size;
}

/** Median |error| of one column by class of sizes. */
static void medians_by_size(const struct room *room, size_t column,
                            double out[RONDE_PUBLISHED_SIZES])
{
    for (unsigned size = 0; size < RONDE_PUBLISHED_SIZES; size++) {
        size_t known = 0;
        for (size_t r = 0; r < room->count; r++)
            if (size_of(room->rows[r]->call.bytes) == size && us_of(room->rows[r], column) > 0)
                room->errors[known++] =
                    fabs(us_of(room->rows[r], column) / room->rows[r]->measured_us - 1);
        out[size] = known > 0 ? ronde_stats_of(room->errors, known).median : -1;
    }
}

static void score_rows(const struct room *room, struct ronde_published_score *score)
{
    medians_by_size(room, offsetof(struct ronde_published_row, predicted_us), score->size_median);
    medians_by_size(room, offsetof(struct ronde_published_row, nccl_us), score->size_nccl_median);
    score->nccl_median = median_of(room, offsetof(struct ronde_published_row, nccl_us));
    score->beside_nccl_median =
        median_where(room, offsetof(struct ronde_published_row, predicted_us),
                     offsetof(struct ronde_published_row, nccl_us));
    score->closed_form_median =
        median_of(room, offsetof(struct ronde_published_row, closed_form_us));
    score->replayed_median = median_of(room, offsetof(struct ronde_published_row, replayed_us));
    for (size_t r = 0; r < room->count; r++)
        score->replayed += room->rows[r]->replayed_us > 0;
    score->median = median_of(room, offsetof(struct ronde_published_row, predicted_us));
    /* Those of the predictions are sorted now. */
    score->p90 = ronde_percentile(room->errors, room->count, 90);
    score->own_spread = own_spread(room->rows, room->count, room->errors);
    qsort(room->rows, room->count, sizeof room->rows[0], by_point);
    for (size_t from = 0, to; from < room->count; from = to) {
        for (to = from + 1; to < room->count && is_one_point(room->rows[from], room->rows[to]);)
            to++;
        score_point(room->rows + from, to - from, score);
    }
}

static bool open_room(const struct ronde_published *published, struct room *room)
{
    *room = (struct room){.rows = ronde_mem_new(published->mem, published->count, sizeof(void *)),
                          .errors = ronde_mem_new(published->mem, published->count, sizeof(double))};
    return room->rows && room->errors;
}

static void close_room(const struct ronde_published *published, struct room *room)
{
    ronde_mem_free(published->mem, room->rows, published->count, sizeof(void *));
    ronde_mem_free(published->mem, room->errors, published->count, sizeof(double));
}

/** What a row counts as: a time of a wrong result may be the time of anything, so it is a fault's. */
static enum ronde_published_state counted_as(const struct ronde_published_row *row)
{
    return row->is_wrong && row->state == RONDE_PUBLISHED_PREDICTED ? RONDE_PUBLISHED_FAULTY
                                                                    : row->state;
}

static void take_rows(const struct ronde_published *published, uint32_t system, struct room *room)
{
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (row->system == system && counted_as(row) == RONDE_PUBLISHED_PREDICTED)
            room->rows[room->count++] = row;
    }
}

enum ronde_status ronde_published_score_of(const struct ronde_published *published, uint32_t system,
                                           struct ronde_published_score *out,
                                           struct ronde_error *error)
{
    struct room room;
    *out = (struct ronde_published_score){.own_spread = -1};
    const bool is_done = open_room(published, &room);
    for (size_t r = 0; is_done && r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (row->system != system)
            continue;
        out->count[counted_as(row)]++;
        row->winner = row->predicted_winner = RONDE_NCCL_ALGORITHM_COUNT;
        row->margin = row->predicted_margin = 0;
    }
    if (is_done) {
        out->falls = ronde_published_falls(published, system);
        take_rows(published, system, &room);
        if (room.count > 0)
            score_rows(&room, out);
    }
    close_room(published, &room);
    return is_done
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu errors", published->count);
}

/** Whether two rows differ in size alone. */
static bool is_one_series(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    return a->call.collective == b->call.collective && a->call.ranks == b->call.ranks &&
           a->call.nodes == b->call.nodes;
}

/** Goes up the sizes of every series and notes where a clear winner is not the one before. */
static size_t find_crossovers(const struct room *room, bool is_predicted, size_t capacity,
                              struct ronde_published_crossover *out, size_t count)
{
    const struct ronde_published_row *last = NULL;
    for (size_t r = 0; r < room->count; r++) {
        const struct ronde_published_row *row = room->rows[r];
        const enum ronde_nccl_algorithm best = is_predicted ? row->predicted_winner : row->winner;
        if ((is_predicted ? row->predicted_margin : row->margin) < least_margin)
            continue;
        const enum ronde_nccl_algorithm before = !last || !is_one_series(last, row) ? best
                                                 : is_predicted ? last->predicted_winner
                                                                : last->winner;
        if (before != best && count++ < capacity)
            out[count - 1] = (struct ronde_published_crossover){row->call, last->call.bytes, before,
                                                                best, is_predicted};
        last = row;
    }
    return count;
}

enum ronde_status ronde_published_crossovers(const struct ronde_published *published,
                                             uint32_t system, size_t capacity,
                                             struct ronde_published_crossover *out,
                                             size_t *out_count, struct ronde_error *error)
{
    struct room room;
    *out_count = 0;
    const bool is_done = open_room(published, &room);
    if (is_done) {
        take_rows(published, system, &room);
        if (room.count > 0)
            qsort(room.rows, room.count, sizeof room.rows[0], by_point);
        *out_count = find_crossovers(&room, false, capacity, out, 0);
        *out_count = find_crossovers(&room, true, capacity, out, *out_count);
    }
    close_room(published, &room);
    return is_done ? RONDE_OK
                   : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", published->count);
}

/* Rows of a table that are not predicted, and why. */

enum ronde_status published_note(struct ronde_published *to, uint32_t line, bool is_refused,
                                 const char *text, struct ronde_error *error)
{
    if (!ronde_mem_grow(to->mem, &to->whys, &to->why_capacity, to->why_count + 1, sizeof *to->whys))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu remarks", to->why_count + 1);
    struct ronde_published_why *why = &to->whys[to->why_count++];
    *why = (struct ronde_published_why){.line = line, .is_refused = is_refused};
    strncpy(why->text, text, sizeof why->text - 1);
    return RONDE_OK;
}

static int by_line(const void *key, const void *of)
{
    const uint32_t line = *(const uint32_t *)key;
    const struct ronde_published_why *why = of;
    return line < why->line ? -1 : line > why->line;
}

/** Why a row with wrong results is not scored. */
static const char wrong_text[] =
    "results are wrong (#wrong): scores and anchors leave out such times";

const char *ronde_published_why_of(const struct ronde_published *published,
                                   const struct ronde_published_row *row, struct ronde_error *room)
{
    const struct ronde_published_system *system = &published->systems[row->system];
    const bool is_lacking = row->state == RONDE_PUBLISHED_NOT_DESCRIBED;
    if (counted_as(row) != row->state)
        return wrong_text;
    *room = (struct ronde_error){.status = RONDE_OK};
    if (is_lacking && !system->is_described)
        ronde_fail(room, RONDE_BAD_INPUT, "no machine of system %s is described", system->name);
    if (is_lacking && system->is_described &&
        ronde_nccl_call_check(&system->machine, &row->call, room) != RONDE_OK)
        return room->message;
    if (room->status != RONDE_OK || published->why_count == 0)
        return room->message;
    const struct ronde_published_why *found =
        bsearch(&row->line, published->whys, published->why_count, sizeof *published->whys, by_line);
    return found ? found->text : "";
}

/** Adds a line to those of the same words, or to the last where there is no room for more words. */
static void gather(struct ronde_published_whys *to, uint32_t line, const char *text)
{
    uint32_t at = 0;
    while (at < to->count && strcmp(to->group[at].text, text) != 0)
        at++;
    if (at == RONDE_PUBLISHED_MAX_WHYS) {
        to->more++;
        return;
    }
    struct ronde_published_why_group *group = &to->group[at];
    if (at == to->count) {
        to->count++;
        *group = (struct ronde_published_why_group){.first_line = line};
        (void)snprintf(group->text, sizeof group->text, "%s", text);
    }
    group->last_line = line;
    group->rows++;
}

void ronde_published_whys_of(const struct ronde_published *published,
                             struct ronde_published_whys *out)
{
    *out = (struct ronde_published_whys){.count = 0};
    for (size_t w = 0; w < published->why_count; w++)
        gather(out, published->whys[w].line, published->whys[w].text);
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_error room;
        const struct ronde_published_row *row = &published->rows[r];
        if (row->state == RONDE_PUBLISHED_NOT_DESCRIBED || counted_as(row) != row->state)
            gather(out, row->line, ronde_published_why_of(published, row, &room));
    }
}
