/** Predictions of published measurements and how good they are. See published.h. */
#include "repeats.h"

#include "ronde/stats.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

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
    const bool is_nvls = algorithm == RONDE_NCCL_NVLS || algorithm == RONDE_NCCL_NVLS_TREE;
    if (is_nvls && (machine->generation < RONDE_NCCL_HOPPER || machine->link != RONDE_NCCL_SWITCH))
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

void ronde_published_predict(struct ronde_published *published, uint32_t system,
                             const struct ronde_nccl_constants *constants)
{
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (row->system != system || !ronde_published_is_predicted(row))
            continue;
        const struct ronde_nccl_machine *machine = &published->systems[system].machine;
        row->predicted_us = ronde_nccl_execution_us(constants, machine, &row->call, row->choice);
        row->closed_form_us = ronde_published_closed_form_us(machine, &row->call, row->choice);
    }
}

double ronde_published_bus_factor(const struct ronde_nccl_call *call)
{
    const double n = call->ranks;
    if (call->collective == RONDE_ALL_REDUCE)
        return 2 * (n - 1) / n;
    return call->collective == RONDE_BROADCAST || call->collective == RONDE_REDUCE ||
                   call->collective == RONDE_SEND_RECV
               ? 1
               : (n - 1) / n;
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

static void score_rows(const struct room *room, struct ronde_published_score *score)
{
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
    score->own_spread = published_own_spread(room->rows, room->count, room->errors);
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

static void take_rows(const struct ronde_published *published, uint32_t system, struct room *room)
{
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (row->system == system && row->state == RONDE_PUBLISHED_PREDICTED)
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
        out->count[row->state]++;
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
