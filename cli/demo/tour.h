/**
 * The tour: every collective before and after, on small numbers, run and checked.
 */
#ifndef RONDE_CLI_TOUR_H
#define RONDE_CLI_TOUR_H

#include "stage.h"

/** Ranks of an example unless told otherwise: the smallest number with inner nodes, leaves and a way round. */
#define RONDE_TOUR_RANKS 4u
/** Most ranks of an example; more are for run, which does not print every value. */
#define RONDE_TOUR_MAX_RANKS 64u

/** A show under way. */
struct ronde_show {
    const struct ronde_target *target; /**< what runs the examples */
    FILE *file;                        /**< where they are printed */
    uint32_t ranks;                    /**< N; 0 = as each example likes it, mostly 4 */
    uint32_t runs;  /**< examples so far, one for each algorithm that serves it */
    uint32_t wrong; /**< results so far that differ from the example's */
};

/**
 * Runs the examples of a collective, or of all for RONDE_COLLECTIVE_COUNT, with each algorithm that
 * serves them, and prints what every rank holds before and after. Errors: those of compiling and
 * running; UNSUPPORTED for one collective that no algorithm serves.
 */
RONDE_MUST_CHECK enum ronde_status ronde_tour(struct ronde_show *show, enum ronde_collective only,
                                              struct ronde_error *error);

/** Ranks of a show's compositions. */
uint32_t ronde_show_ranks(const struct ronde_show *show);

/** Prints how a composition came out, and counts it where it is wrong. */
void ronde_show_verdict(struct ronde_show *show, const char *what, bool is_right);

#endif
