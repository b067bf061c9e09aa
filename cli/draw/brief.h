/**
 * A comparison in short, for people who see it for the first time: one table, where lines cross, what to trust.
 */
#ifndef RONDE_CLI_DRAW_BRIEF_H
#define RONDE_CLI_DRAW_BRIEF_H

#include "cli/print/results.h"
#include "screen.h"

#include "ronde/status.h"
#include "ronde/validate.h"

/** Numbers of ranks that are shown. */
#define RONDE_BRIEF_RANKS 2u

/**
 * Which numbers of ranks are shown, by index: the most that have a core each, and the most of all; where these are the same
 * one, the fewest and the most. Returns how many.
 */
uint32_t ronde_brief_ranks(const struct ronde_validation *grid, uint32_t out[RONDE_BRIEF_RANKS]);

/**
 * Prints measured times and how far off the replay is, algorithms beside each other, a row a size; the numbers of ranks
 * beside each other where the screen is wide enough. The fastest is marked where it is so by more than noise (5 %).
 */
void ronde_brief_times(const struct ronde_validation *grid, const uint32_t *rank_indices,
                       uint32_t count, const struct ronde_screen *screen);

/** Prints measured crossovers of all pairs and numbers of ranks beside predicted ones, a row each, `most` of them. */
void ronde_brief_crossovers(const struct ronde_validation *grid, uint32_t most,
                            const struct ronde_screen *screen);

/**
 * Prints three sentences: how far off the replay is, how often it names the faster algorithm, and how far to trust either.
 * `unsure`: constants of the calibration whose measurements varied by more than their value. Errors: NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_brief_trust(const struct ronde_validation *grid, uint32_t cores, uint32_t unsure,
                  const struct ronde_screen *screen, struct ronde_error *error);

/* A grid of measured and predicted times as a picture of characters, for terminals: what plot.c draws as SVG, by
 * letters. */

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
