/* How well predictions name winners and crossovers. See score.h. */
#include "ronde/score.h"

#include <math.h>

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
