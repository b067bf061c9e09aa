/**
 * The picture of a plan.
 */
#ifndef RONDE_CLI_DRAW_PLAN_PLOT_H
#define RONDE_CLI_DRAW_PLAN_PLOT_H

#include "ronde/plan.h"

/** Draws the times of all candidates over the size. Errors: as ronde_gnuplot_open. */
RONDE_MUST_CHECK enum ronde_status ronde_plan_plot(const struct ronde_plan *plan, const char *path,
                                                   struct ronde_error *error);

#endif
