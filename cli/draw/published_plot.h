/** Pictures of published measurements: measured and predicted bus bandwidth over size. */
#ifndef RONDE_CLI_DRAW_PUBLISHED_PLOT_H
#define RONDE_CLI_DRAW_PUBLISHED_PLOT_H

#include "ronde/published.h"

#include <stdio.h>

/**
 * Draws every system that has predicted rows: a panel per collective with a curve per number of ranks, and one per
 * setting where algorithms were forced. Measured are points (the median of what agrees in size, ranks and setting),
 * predicted lines. `path` is an SVG of one system, or with `is_folder` a folder, which gets <system>.svg of each. Into
 * `document`, unless NULL, goes a reference to each in Markdown. Errors: UNAVAILABLE (no gnuplot); NO_MEMORY; IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_published_plot(const struct ronde_published *published,
                                                        const char *path, bool is_folder,
                                                        FILE *document, struct ronde_error *error);

#endif
