/**
 * The trees of a synthesised schedule as a picture: one root's, side by side, level below level.
 */
#ifndef RONDE_CLI_DRAW_FOREST_SVG_H
#define RONDE_CLI_DRAW_FOREST_SVG_H

#include "ronde/ir.h"
#include "ronde/topologies.h"

#include <stdio.h>

/**
 * Draws the trees by which the data of `root` comes down (the first few of them): ranks by the names of their hosts,
 * messages as wide as the slowest link on their way is fast. Errors: NO_MEMORY; UNSUPPORTED for what is no all_gather and
 * no broadcast, and for more than RONDE_FOREST_SVG_RANKS ranks; those of ronde_platform_route.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_forest_svg(const struct ronde_schedule *schedule, const struct ronde_platform *platform,
                 uint32_t root, FILE *file, struct ronde_error *error);

/** Ranks that a picture has room for. */
#define RONDE_FOREST_SVG_RANKS 256u

#endif
