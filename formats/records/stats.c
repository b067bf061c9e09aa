/* Order statistics of samples. */
#include "ronde/stats.h"

#include <math.h>
#include <stdlib.h>

/* Ascending; samples are never NaN. */
static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double ronde_percentile(const double *sorted, size_t count, double percent)
{
    if (count == 0)
        return 0.0;
    const double rank = ceil(percent / 100.0 * (double)count);
    const size_t index = rank < 1.0 ? 0 : (size_t)rank - 1;
    return sorted[index < count ? index : count - 1];
}

static double middle(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

/* From one sample to the next, before they are sorted; as many differences as fit decide. */
static double scatter_of(const double *samples, size_t count, size_t things)
{
    double differences[RONDE_MAX_SAMPLES];
    if (count <= things)
        return 0.0;
    const size_t pairs = count - things < RONDE_MAX_SAMPLES ? count - things : RONDE_MAX_SAMPLES;
    for (size_t i = 0; i < pairs; i++)
        differences[i] = fabs(samples[i + things] - samples[i]);
    qsort(differences, pairs, sizeof differences[0], by_value);
    return middle(differences, pairs) / 0.954;
}

struct ronde_stats ronde_stats_of(double *samples, size_t count)
{
    return ronde_stats_of_turns(samples, count, 1);
}

struct ronde_stats ronde_stats_of_turns(double *samples, size_t count, size_t things)
{
    struct ronde_stats stats = {0};
    if (count == 0)
        return stats;
    stats.scatter = scatter_of(samples, count, things);
    qsort(samples, count, sizeof samples[0], by_value);
    const double quartiles =
        ronde_percentile(samples, count, 75.0) - ronde_percentile(samples, count, 25.0);
    stats.median = middle(samples, count);
    for (size_t i = 0; i < count; i++)
        stats.mean += samples[i] / (double)count;
    stats.min = samples[0];
    stats.p95 = ronde_percentile(samples, count, 95.0);
    stats.notch = 1.57 * quartiles / sqrt((double)count);
    stats.count = count;
    return stats;
}

double ronde_stats_spread(const struct ronde_stats *stats)
{
    return stats->median > 0.0 ? (stats->p95 - stats->median) / stats->median : 0.0;
}
