/* How well predictions name winners and crossovers. See score.h. */
#include "ronde/score.h"
#include "ronde/relative.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Logarithm of how many times slower the first algorithm is; not finite where a time is missing. */
static double lag(const struct ronde_duel *duel, size_t index)
{
    return log(duel->first_ns[index] / duel->second_ns[index]);
}

double ronde_duel_crossover_bytes(const struct ronde_duel *duel,
                                  const struct ronde_crossover *bracket)
{
    for (size_t i = 0; i + 1 < duel->count; i++) {
        const double here = lag(duel, i), next = lag(duel, i + 1);
        const bool is_inside =
            duel->bytes[i] >= bracket->below_bytes && duel->bytes[i + 1] <= bracket->above_bytes;
        const bool turns = bracket->first_wins_above ? here > 0 && next <= 0 : here < 0 && next >= 0;
        if (!is_inside || !turns || !isfinite(here) || !isfinite(next))
            continue;
        const double from = log((double)duel->bytes[i]), to = log((double)duel->bytes[i + 1]);
        return exp(from + (to - from) * here / (here - next));
    }
    return 0.0;
}

/* The larger of two sizes over the smaller. */
static double factor_of(double a, double b)
{
    return a > 0.0 && b > 0.0 ? fmax(a / b, b / a) : 0.0;
}

struct ronde_crossing ronde_duel_crossing(const struct ronde_duel *measured,
                                          const struct ronde_crossover *at,
                                          const struct ronde_duel *predicted)
{
    struct ronde_crossover others[RONDE_MAX_SIZES];
    const size_t count = ronde_duel_crossovers(predicted, others, RONDE_MAX_SIZES);
    struct ronde_crossing crossing = {.measured_bytes = ronde_duel_crossover_bytes(measured, at)};
    for (size_t i = 0; i < count; i++) {
        const double bytes = ronde_duel_crossover_bytes(predicted, &others[i]);
        const double factor = factor_of(crossing.measured_bytes, bytes);
        if (others[i].first_wins_above != at->first_wins_above || factor == 0.0 ||
            (crossing.factor > 0.0 && factor >= crossing.factor))
            continue;
        crossing.predicted_bytes = bytes;
        crossing.factor = factor;
    }
    return crossing;
}

struct ronde_score ronde_score_pair(const struct ronde_validation *validation,
                                    enum ronde_source source, uint32_t rank_index,
                                    const uint32_t pair[2])
{
    struct ronde_duel_buffers measured_buffers, predicted_buffers;
    const struct ronde_duel measured = ronde_validation_duel(validation, RONDE_SOURCE_MEASURED,
                                                             rank_index, pair, &measured_buffers);
    const struct ronde_duel predicted =
        ronde_validation_duel(validation, source, rank_index, pair, &predicted_buffers);
    struct ronde_crossover found[RONDE_MAX_SIZES];
    struct ronde_score score = {
        .winners = ronde_validation_agreement(validation, source, rank_index, pair[0], pair[1]),
        .crossings = ronde_duel_crossovers(&measured, found, RONDE_MAX_SIZES),
    };
    for (size_t i = 0; i < score.crossings; i++) {
        const struct ronde_crossing crossing = ronde_duel_crossing(&measured, &found[i], &predicted);
        score.close += crossing.factor > 0.0 && crossing.factor <= RONDE_CLOSE_FACTOR;
        if (i == 0)
            score.first = crossing;
    }
    return score;
}

struct ronde_score ronde_score_all(const struct ronde_validation *validation,
                                   enum ronde_source source)
{
    struct ronde_score all = {.crossings = 0};
    for (uint32_t r = 0; r < validation->rank_counts; r++)
        for (uint32_t a = 0; a < validation->algorithm_count; a++)
            for (uint32_t b = a + 1; b < validation->algorithm_count; b++) {
                const uint32_t pair[2] = {a, b};
                const struct ronde_score one = ronde_score_pair(validation, source, r, pair);
                all.winners.decided += one.winners.decided;
                all.winners.agreed += one.winners.agreed;
                all.crossings += one.crossings;
                all.close += one.close;
            }
    return all;
}

/* Times relative to one algorithm. */

/* Who takes at most so many times as long as the fastest counts as the fastest: the floor of what is noise. */
#define TIED 1.05

uint32_t ronde_relative_base(const struct ronde_validation *grid)
{
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        if (strcmp(grid->algorithms[a], "ring") == 0)
            return a;
    return 0;
}

double ronde_relative_time(const struct ronde_validation *grid, enum ronde_source source,
                           uint32_t rank_index, uint32_t size_index, uint32_t algorithm)
{
    const uint32_t base = ronde_relative_base(grid);
    const double own_ns =
        ronde_validation_point(grid, rank_index, size_index, algorithm)->time_ns[source];
    const double base_ns =
        ronde_validation_point(grid, rank_index, size_index, base)->time_ns[source];
    return own_ns > 0.0 && base_ns > 0.0 ? own_ns / base_ns : 0.0;
}

double ronde_relative_error(const struct ronde_validation *grid, enum ronde_source source,
                            uint32_t rank_index, uint32_t size_index, uint32_t algorithm)
{
    const struct ronde_grid_point *point =
        ronde_validation_point(grid, rank_index, size_index, algorithm);
    const double measured_ns = point->time_ns[RONDE_SOURCE_MEASURED];
    return measured_ns > 0.0 ? point->time_ns[source] / measured_ns - 1.0 : (double)NAN;
}

/* Whether nobody is clearly faster at a size. */
static bool is_fastest(const struct ronde_validation *grid, uint32_t rank_index, uint64_t bytes,
                       uint32_t algorithm)
{
    for (uint32_t s = 0; s < grid->size_count; s++) {
        const double own_ns =
            ronde_validation_point(grid, rank_index, s, algorithm)->time_ns[RONDE_SOURCE_MEASURED];
        if (ronde_validation_point(grid, rank_index, s, algorithm)->bytes != bytes)
            continue;
        for (uint32_t a = 0; a < grid->algorithm_count; a++) {
            const double ns =
                ronde_validation_point(grid, rank_index, s, a)->time_ns[RONDE_SOURCE_MEASURED];
            if (ns > 0.0 && own_ns > TIED * ns)
                return false;
        }
    }
    return true;
}

/* The relative time where two lines meet, on the straight line between two sizes in logarithms. */
static double height_at(const struct ronde_validation *grid, uint32_t rank_index,
                        uint32_t algorithm, double bytes)
{
    for (uint32_t s = 0; s + 1 < grid->size_count; s++) {
        const double from = (double)ronde_validation_point(grid, rank_index, s, algorithm)->bytes;
        const double to = (double)ronde_validation_point(grid, rank_index, s + 1, algorithm)->bytes;
        const double low =
            ronde_relative_time(grid, RONDE_SOURCE_MEASURED, rank_index, s, algorithm);
        const double high =
            ronde_relative_time(grid, RONDE_SOURCE_MEASURED, rank_index, s + 1, algorithm);
        if (bytes < from || bytes > to || low <= 0.0 || high <= 0.0)
            continue;
        return low * pow(high / low, log(bytes / from) / log(to / from));
    }
    return 1.0;
}

static bool is_worth_a_mark(const struct ronde_validation *grid, uint32_t rank_index,
                            const struct ronde_mark *mark)
{
    const uint32_t base = ronde_relative_base(grid);
    const uint32_t above = mark->pair[mark->where.first_wins_above ? 0 : 1];
    const uint32_t below = mark->pair[mark->where.first_wins_above ? 1 : 0];
    if (mark->bytes <= 0.0)
        return false;
    return mark->pair[0] == base || mark->pair[1] == base ||
           (is_fastest(grid, rank_index, mark->where.below_bytes, below) &&
            is_fastest(grid, rank_index, mark->where.above_bytes, above));
}

static int by_size(const void *left, const void *right)
{
    const double a = ((const struct ronde_mark *)left)->bytes;
    const double b = ((const struct ronde_mark *)right)->bytes;
    return (a > b) - (a < b);
}

uint32_t ronde_relative_marks(const struct ronde_validation *grid, uint32_t rank_index,
                              struct ronde_mark out[RONDE_MAX_MARKS])
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        for (uint32_t b = a + 1; b < grid->algorithm_count; b++) {
            const uint32_t pair[2] = {a, b};
            struct ronde_crossover found[RONDE_MAX_SIZES];
            struct ronde_duel_buffers buffers;
            const struct ronde_duel duel =
                ronde_validation_duel(grid, RONDE_SOURCE_MEASURED, rank_index, pair, &buffers);
            const size_t crossings = ronde_duel_crossovers(&duel, found, RONDE_MAX_SIZES);
            for (size_t i = 0; i < crossings && count < RONDE_MAX_MARKS; i++) {
                struct ronde_mark mark = {{a, b},
                                          found[i],
                                          ronde_duel_crossover_bytes(&duel, &found[i]),
                                          1};
                if (!is_worth_a_mark(grid, rank_index, &mark))
                    continue;
                mark.height = height_at(grid, rank_index, a, mark.bytes);
                out[count++] = mark;
            }
        }
    qsort(out, count, sizeof *out, by_size);
    return count;
}
