/**
 * Samples of a measurement and what is said of them. Pure functions: no clock, no printing.
 */
#ifndef RONDE_STATS_H
#define RONDE_STATS_H

#include "ronde/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most samples of one point where a window of a fraction of a second decides, and differences that scatter looks at. */
#define RONDE_MAX_SAMPLES 1000u

/** What a set of samples says. Zeroed for an empty set. */
struct ronde_stats {
    double median;  /**< middle; mean of the middle two */
    double mean;    /**< arithmetic mean, what nccl-tests prints */
    double min;     /**< smallest */
    double p95;     /**< nearest-rank 95th percentile */
    double notch;   /**< half-width of the median's confidence interval, see ronde_stats_of */
    double scatter; /**< standard deviation from one sample to the next: slow drifts are not in it */
    size_t count;   /**< samples */
};

/**
 * Sorts the samples, which come in the order in which they were taken, and describes them; results have their unit.
 * notch = 1.57 * (q3 - q1) / sqrt(n): two medians further apart than the sum of their notches differ at about the 5 %
 * level (McGill, Tukey, Larsen: Variations of Box Plots, 1978). scatter is the median of |x[i + 1] - x[i]| over 0.954,
 * what that is of a normal distribution's deviation.
 */
RONDE_API struct ronde_stats ronde_stats_of(double *samples, size_t count);

/** The same of things that are sampled in turns, `things` at a time: scatter is that of each from one of its samples to the next. */
RONDE_API struct ronde_stats ronde_stats_of_turns(double *samples, size_t count, size_t things);

/** Nearest-rank percentile (0 < percent <= 100) of sorted samples; 0 for none. */
RONDE_API double ronde_percentile(const double *sorted, size_t count, double percent);

/** (p95 - median) / median; 0 when the median is 0. */
RONDE_API double ronde_stats_spread(const struct ronde_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
