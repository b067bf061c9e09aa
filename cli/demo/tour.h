/**
 * The tour: every collective before and after, on small numbers, run and checked.
 */
#ifndef RONDE_CLI_TOUR_H
#define RONDE_CLI_TOUR_H

#include "cli/options/options.h"

#include "ronde/benchmark.h"

/** Ranks of an example unless told otherwise: the smallest number with inner nodes, leaves and a way round. */
#define RONDE_TOUR_RANKS 4u
/** Most ranks of an example; more are for run, which does not print every value. */
#define RONDE_TOUR_MAX_RANKS 64u

/** A value of a rank. */
typedef double (*ronde_value)(uint32_t ranks, uint32_t rank, uint32_t index);

/** One example of one collective, root 0 where there is one, in int32. */
struct ronde_example {
    enum ronde_collective collective; /**< what is shown */
    enum ronde_op op;    /**< where something is reduced; premul_sum scales rank r by r+1 */
    uint32_t ranks;      /**< the number it is best shown on; 0 = any */
    uint32_t count;      /**< elements of a block */
    const char *title;   /**< one line */
    ronde_value input;   /**< what ranks hold */
    ronde_value result;  /**< what they shall hold; a barrier: when they leave, in seconds */
    const char *meaning; /**< one line */
    bool is_paired;      /**< send_recv: even ranks to the next one, instead of all */
};

/** examples.c: all examples, in the cheatsheet's order; *out_count entries. */
const struct ronde_example *ronde_examples(uint32_t *out_count);

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

#endif
