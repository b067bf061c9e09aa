/*
 * What a grid of measured and predicted times says: errors, winners, crossovers.
 *
 * A difference within noise is no difference: it decides no winner, ends no bracket and counts for
 * no agreement. Nothing is interpolated between sizes.
 */
#include "ronde/validate.h"

#include <math.h>
#include <stddef.h>

const char *ronde_source_text(enum ronde_source source)
{
    static const char *const texts[] = {RONDE_SOURCE_LIST(RONDE_LIST_TEXT)};
    return texts[source];
}

bool ronde_validation_has(const struct ronde_validation *validation, enum ronde_source source)
{
    if (source == RONDE_SOURCE_PORTS)
        return validation->has_ports;
    if (source == RONDE_SOURCE_SIMGRID)
        return !validation->lacks_simgrid;
    return source != RONDE_SOURCE_CORES || validation->has_cores;
}

enum ronde_source ronde_validation_replay(const struct ronde_validation *validation)
{
    if (validation->has_cores)
        return RONDE_SOURCE_CORES;
    if (validation->has_ports)
        return RONDE_SOURCE_PORTS;
    return validation->lacks_simgrid ? RONDE_SOURCE_CLOSED_FORM : RONDE_SOURCE_SIMGRID;
}

size_t ronde_validation_size(const struct ronde_validation *validation)
{
    return (size_t)validation->rank_counts * validation->size_count * validation->algorithm_count;
}

struct ronde_grid_point *ronde_validation_point(const struct ronde_validation *validation,
                                                uint32_t rank_index, uint32_t size_index,
                                                uint32_t algorithm_index)
{
    const size_t row = (size_t)rank_index * validation->size_count + size_index;
    return &validation->points[row * validation->algorithm_count + algorithm_index];
}

/* Predictions closer than this are one prediction, computed in two ways. */
#define ROUNDING 1e-6

/*
 * A chosen floor, not a measured one: winners of ring and tree on two ranks changed from size to
 * size, and from run to run, by margins of 1 to 7 %. Raising it leaves fewer points decided.
 */
#define RUN_TO_RUN 0.05

/* Points of oversubscribed ranks are judged apart: their errors are of another kind. */
static bool is_in(const struct ronde_grid_point *point, enum ronde_subset subset)
{
    switch (subset) {
    case RONDE_SUBSET_ALL:
        return true;
    case RONDE_SUBSET_FITTING:
        return !point->is_oversubscribed;
    case RONDE_SUBSET_OVERSUBSCRIBED:
        return point->is_oversubscribed;
    }
    return false;
}

/* Signed relative error of a point that was measured. */
static double error_of(const struct ronde_grid_point *point, enum ronde_source source)
{
    const double measured = point->time_ns[RONDE_SOURCE_MEASURED];
    return (point->time_ns[source] - measured) / measured;
}

/* Keeps where the worst error is, so that it can be looked at. */
static void note_worst(const struct ronde_validation *validation, size_t index, double error,
                       struct ronde_errors *errors)
{
    if (errors->count > 1 && fabs(error) <= errors->worst)
        return;
    const size_t row = index / validation->algorithm_count;
    errors->worst = fabs(error);
    errors->worst_bytes = validation->points[index].bytes;
    errors->worst_ranks = validation->ranks[row / validation->size_count];
    errors->worst_algorithm = (uint32_t)(index % validation->algorithm_count);
}

struct ronde_errors ronde_validation_errors(const struct ronde_validation *validation,
                                            enum ronde_source source, enum ronde_subset subset,
                                            double *scratch)
{
    const size_t total = ronde_validation_size(validation);
    struct ronde_errors errors = {0};
    for (size_t i = 0; i < total; i++) {
        /* A point whose repetitions were all thrown away has no time, and no error. */
        if (!is_in(&validation->points[i], subset) ||
            validation->points[i].time_ns[RONDE_SOURCE_MEASURED] <= 0.0)
            continue;
        const double error = error_of(&validation->points[i], source);
        scratch[errors.count++] = error;
        note_worst(validation, i, error, &errors);
    }
    errors.bias = ronde_stats_of(scratch, errors.count).median;
    for (size_t i = 0; i < errors.count; i++)
        scratch[i] = fabs(scratch[i]);
    const struct ronde_stats stats = ronde_stats_of(scratch, errors.count);
    errors.median = stats.median;
    errors.p95 = stats.p95;
    return errors;
}

int ronde_duel_winner(const struct ronde_duel *duel, size_t index)
{
    const double lead = duel->second_ns[index] - duel->first_ns[index];
    const double noise = duel->noise_ns ? duel->noise_ns[index] : 0.0;
    if (fabs(lead) <= noise || duel->first_ns[index] <= 0.0 || duel->second_ns[index] <= 0.0)
        return 0;
    return lead > 0.0 ? -1 : 1;
}

/* How much slower the loser is, relative to the winner. */
static double margin_at(const struct ronde_duel *duel, size_t index)
{
    const double a = duel->first_ns[index], b = duel->second_ns[index];
    const double winner = a < b ? a : b;
    return winner > 0.0 ? fabs(a - b) / winner : 0.0;
}

size_t ronde_duel_crossovers(const struct ronde_duel *duel, struct ronde_crossover *out,
                             size_t capacity)
{
    size_t found = 0, last = 0;
    int winner = 0;
    for (size_t i = 0; i < duel->count; i++) {
        const int now = ronde_duel_winner(duel, i);
        if (now == 0)
            continue;
        if (winner != 0 && now != winner) {
            if (found < capacity)
                out[found] = (struct ronde_crossover){
                    .below_bytes = duel->bytes[last],
                    .above_bytes = duel->bytes[i],
                    .below_margin = margin_at(duel, last),
                    .above_margin = margin_at(duel, i),
                    .first_wins_above = now < 0,
                };
            found++;
        }
        winner = now;
        last = i;
    }
    return found;
}

/*
 * The medians' own uncertainty, and a floor for what differs between two runs of the whole
 * program but not within one
 * (where buffers lie, which core a thread begins on).
 */
static double measured_noise_ns(const struct ronde_grid_point *first,
                                const struct ronde_grid_point *second)
{
    const double floor_ns = RUN_TO_RUN * fmin(first->measured.median, second->measured.median);
    return fmax(first->measured.notch + second->measured.notch, floor_ns);
}

struct ronde_duel ronde_validation_duel(const struct ronde_validation *validation,
                                        enum ronde_source source, uint32_t rank_index,
                                        const uint32_t pair[2], struct ronde_duel_buffers *buffers)
{
    const size_t count =
        validation->size_count < RONDE_MAX_SIZES ? validation->size_count : RONDE_MAX_SIZES;
    for (uint32_t s = 0; s < count; s++) {
        const struct ronde_grid_point *first =
            ronde_validation_point(validation, rank_index, s, pair[0]);
        const struct ronde_grid_point *second =
            ronde_validation_point(validation, rank_index, s, pair[1]);
        buffers->bytes[s] = first->bytes;
        buffers->first_ns[s] = first->time_ns[source];
        buffers->second_ns[s] = second->time_ns[source];
        buffers->noise_ns[s] = source == RONDE_SOURCE_MEASURED ? measured_noise_ns(first, second)
                                                               : ROUNDING * first->time_ns[source];
    }
    return (struct ronde_duel){buffers->bytes, buffers->first_ns, buffers->second_ns,
                               buffers->noise_ns, count};
}

struct ronde_agreement ronde_validation_agreement(const struct ronde_validation *validation,
                                                  enum ronde_source source, uint32_t rank_index,
                                                  uint32_t first, uint32_t second)
{
    const uint32_t pair[2] = {first, second};
    struct ronde_duel_buffers measured_buffers, predicted_buffers;
    const struct ronde_duel measured = ronde_validation_duel(validation, RONDE_SOURCE_MEASURED,
                                                             rank_index, pair, &measured_buffers);
    const struct ronde_duel predicted =
        ronde_validation_duel(validation, source, rank_index, pair, &predicted_buffers);
    struct ronde_agreement agreement = {0, 0};
    for (size_t i = 0; i < measured.count; i++) {
        const int winner = ronde_duel_winner(&measured, i);
        agreement.decided += winner != 0;
        agreement.agreed += winner != 0 && ronde_duel_winner(&predicted, i) == winner;
    }
    return agreement;
}
