/**
 * Log-log plots of a validation as SVG, drawn by gnuplot.
 */
#ifndef RONDE_CLI_PLOT_H
#define RONDE_CLI_PLOT_H

#include "validate.h"

/**
 * Draws one panel per number of ranks, time over size: measured as points and lines, simulated
 * dashed, closed form
 * dotted, one colour per algorithm. Errors: UNAVAILABLE (no gnuplot; names the package); IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_plot_validation(const struct ronde_validation *validation,
                                                         const char *path,
                                                         struct ronde_error *error);

#endif
