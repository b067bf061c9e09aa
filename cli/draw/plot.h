/**
 * The picture of a validation as SVG, drawn by gnuplot: who wins, by how much, and where lines cross.
 */
#ifndef RONDE_CLI_DRAW_PLOT_H
#define RONDE_CLI_DRAW_PLOT_H

#include "ronde/validate.h"

/**
 * Draws a column per number of ranks. Above, each algorithm's time relative to the base's (relative.h), measured as solid
 * lines with points and predicted as dashed ones, by the replay that knows most of the machine; crossovers are marked, each
 * on a bar between the measured sizes it lies between. A grid of one algorithm has its time there instead. Below, the
 * prediction's error over the size with a band of 10 %. Errors: UNAVAILABLE (no gnuplot; names the package); IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_plot_validation(const struct ronde_validation *validation,
                                                         const char *path,
                                                         struct ronde_error *error);

#endif
