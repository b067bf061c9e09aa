/**
 * A grid of measured and predicted times as a picture of characters, for terminals: what plot.h draws as SVG, by letters.
 */
#ifndef RONDE_CLI_DRAW_CHART_H
#define RONDE_CLI_DRAW_CHART_H

#include "ronde/validate.h"
#include "screen.h"

#include "ronde/status.h"

/**
 * Prints a panel for each of `count` numbers of ranks (indices into the grid), beside each other where the screen is wide
 * enough: times relative to the base's (relative.h) over the size, a capital letter where an algorithm was measured and
 * the small one where the replay puts it; the base is the line at 1. A tenth of the points may lie further off than the
 * edges, and are drawn there. Errors: NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_chart_print(const struct ronde_validation *grid, const uint32_t *rank_indices, uint32_t count,
                  const struct ronde_screen *screen, struct ronde_error *error);

#endif
