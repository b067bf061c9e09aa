/**
 * The examples of the tour: inputs and results as formulas of (ranks, rank, element).
 */
#ifndef RONDE_CLI_EXAMPLES_H
#define RONDE_CLI_EXAMPLES_H

#include "stage.h"

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

/** All examples, in the cheatsheet's order; *out_count entries. */
const struct ronde_example *ronde_examples(uint32_t *out_count);

#endif
