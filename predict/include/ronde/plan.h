/**
 * A plan: for each size the algorithm to take, the next best, and why; and the sizes where one takes over from another.
 */
#ifndef RONDE_PLAN_H
#define RONDE_PLAN_H

#include "ronde/selector.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sizes of a plan, at most. */
#define RONDE_PLAN_SIZES 64u

/** One size. */
struct ronde_plan_row {
    uint64_t bytes;                 /**< size column */
    struct ronde_decision decision; /**< winner and runner-up */
    struct ronde_quote *quotes;     /**< of all candidates; the plan's */
    double latency_ns; /**< what the winner takes for one element: of its time what is no bytes */
    double sent_bytes; /**< by the winner's busiest rank: what its port carries */
};

/** Where the winner changes. */
struct ronde_plan_change {
    uint64_t bytes; /**< from which on, to 6 % or an element, the one above is cheaper than the one below */
    uint32_t below; /**< candidate that wins the row below */
    uint32_t above; /**< candidate that wins the row above */
};

/** The whole of it. */
struct ronde_plan {
    struct ronde_selector *selector;                    /**< who decides; outlives it */
    struct ronde_plan_row rows[RONDE_PLAN_SIZES];       /**< by size */
    uint32_t row_count;                                 /**< how many */
    struct ronde_plan_change changes[RONDE_PLAN_SIZES]; /**< between rows whose winners differ */
    uint32_t change_count;                              /**< how many */
    struct ronde_plan_facts {
        double sent_blocks; /**< by the busiest rank */
        double latency_ns;  /**< of one element */
        bool is_known;      /**< asked for: when it first wins */
    } * facts;              /**< per candidate */
};

/**
 * Plans `count` sizes in bytes, ascending, as nccl-tests counts them; the row of each has as many whole elements as fit,
 * at least one. The caller frees *out_plan in every case. Errors: BAD_ARGUMENT for more than RONDE_PLAN_SIZES sizes;
 * NO_MEMORY; those of ronde_selector_decide.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_plan_make(struct ronde_selector *selector, const uint64_t *sizes, uint32_t count,
                struct ronde_plan *out_plan, struct ronde_error *error);

/**
 * Gives all algorithms their times, not the best two alone: for pictures. Winners and changes stay what they are. Errors: NO_MEMORY;
 * those of ronde_choice_settle.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_plan_settle(struct ronde_plan *plan,
                                                               struct ronde_error *error);

/** Frees what a plan holds; a zeroed one is allowed. */
RONDE_API void ronde_plan_free(struct ronde_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
