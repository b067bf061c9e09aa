/**
 * Pictures of a sweep.
 */
#ifndef RONDE_CLI_DRAW_SWEEP_PLOT_H
#define RONDE_CLI_DRAW_SWEEP_PLOT_H

#include "ronde/sweep.h"

/** Draws time (above) and busbw (below) over size, a column of panels per number of ranks. Errors: UNAVAILABLE, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_plot(const struct ronde_sweep *sweep,
                                                    const char *path, struct ronde_error *error);

/** Draws the fastest algorithm of each (ranks, size) as a coloured field. Errors: UNAVAILABLE, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_map(const struct ronde_sweep *sweep,
                                                   const char *path, struct ronde_error *error);

#endif
