/** The order of measurements by what they are of, and how far those that the model cannot tell apart lie from each other. */
#ifndef RONDE_NCCL_PUBLISHED_REPEATS_H
#define RONDE_NCCL_PUBLISHED_REPEATS_H

#include "ronde/published.h"

/** What qsort asks for two rows whose keys are pairs, the first that differs deciding. */
int published_order(const uint64_t keys[][2], size_t count);

/**
 * The 90th percentile of |row / mean of its repeats - 1|, repeats being rows of one call, version of NCCL and forced
 * setting, in place and out of place; -1 where no row has any. Sorts `rows`; `errors` has room for `count`.
 */
double published_own_spread(struct ronde_published_row **rows, size_t count, double *errors);

#endif
