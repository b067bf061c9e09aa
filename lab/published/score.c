/** Predictions of published measurements and how good they are. See published.h. */
#include "ronde/published.h"

#include "ronde/stats.h"

#include <math.h>
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

/** A row's own time of NCCL, and whether the machine can make the call at all. */
static void choose(struct ronde_published *published, struct ronde_published_row *row,
                   const struct ronde_nccl_constants *constants)
{
    const struct ronde_published_system *system = &published->systems[row->system];
    struct ronde_error ignored = {0};
    if (row->state == RONDE_PUBLISHED_NOT_DESCRIBED)
        row->state = RONDE_PUBLISHED_PREDICTED;
    if (row->state != RONDE_PUBLISHED_PREDICTED)
        return;
    /* A log without hosts: as few nodes as the ranks fit on. */
    if (row->call.nodes == 0 && system->is_described)
        row->call.nodes = (row->call.ranks - 1) / system->machine.gpus + 1;
    if (!system->is_described ||
        ronde_nccl_call_check(&system->machine, &row->call, &ignored) != RONDE_OK) {
        row->state = RONDE_PUBLISHED_NOT_DESCRIBED;
        return;
    }
    const double us =
        ronde_nccl_choose(constants, &system->machine, &row->call, row->wish, &row->choice);
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
        if (row->system == system && row->state <= RONDE_PUBLISHED_FITTED)
            row->predicted_us =
                ronde_nccl_execution_us(constants, &published->systems[system].machine, &row->call,
                                        row->choice);
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
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
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
    const unsigned second = least(measured, best);
    if (second == RONDE_NCCL_ALGORITHM_COUNT || measured[second] < measured[best] * least_margin)
        return;
    score->duels++;
    score->winners += least(predicted, RONDE_NCCL_ALGORITHM_COUNT) == best;
}

/** Room for a score: a system's predicted rows, and errors of them. */
struct room {
    struct ronde_published_row **rows;
    double *errors;
    size_t count;
};

static void score_rows(const struct room *room, struct ronde_published_score *score)
{
    size_t known = 0;
    for (size_t r = 0; r < room->count; r++)
        room->errors[r] = fabs(room->rows[r]->predicted_us / room->rows[r]->measured_us - 1);
    const struct ronde_stats all = ronde_stats_of(room->errors, room->count);
    score->median = all.median;
    score->p90 = ronde_percentile(room->errors, room->count, 90);
    for (size_t r = 0; r < room->count; r++)
        if (room->rows[r]->nccl_us > 0)
            room->errors[known++] = fabs(room->rows[r]->nccl_us / room->rows[r]->measured_us - 1);
    score->nccl_median = ronde_stats_of(room->errors, known).median;
    qsort(room->rows, room->count, sizeof room->rows[0], by_point);
    for (size_t from = 0, to; from < room->count; from = to) {
        for (to = from + 1; to < room->count && is_one_point(room->rows[from], room->rows[to]);)
            to++;
        score_point(room->rows + from, to - from, score);
    }
}

enum ronde_status ronde_published_score_of(const struct ronde_published *published, uint32_t system,
                                           struct ronde_published_score *out,
                                           struct ronde_error *error)
{
    const struct ronde_mem *mem = published->mem;
    struct room room = {.rows = ronde_mem_new(mem, published->count, sizeof(void *)),
                        .errors = ronde_mem_new(mem, published->count, sizeof(double))};
    *out = (struct ronde_published_score){.median = 0};
    if (room.rows && room.errors) {
        for (size_t r = 0; r < published->count; r++) {
            if (published->rows[r].system != system)
                continue;
            out->count[published->rows[r].state]++;
            if (published->rows[r].state == RONDE_PUBLISHED_PREDICTED)
                room.rows[room.count++] = &published->rows[r];
        }
        out->falls = ronde_published_falls(published, system);
        if (room.count > 0)
            score_rows(&room, out);
    }
    const bool is_done = room.rows && room.errors;
    ronde_mem_free(mem, room.rows, published->count, sizeof(void *));
    ronde_mem_free(mem, room.errors, published->count, sizeof(double));
    return is_done
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu errors", published->count);
}
