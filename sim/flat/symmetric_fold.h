/**
 * Which positions do not differ, and in what the others do: the costs of one channel's routes per
 * position.
 */
#ifndef RONDE_SIM_SYMMETRIC_FOLD_H
#define RONDE_SIM_SYMMETRIC_FOLD_H

#include "symmetric.h"

/** What sending to one offset costs, per folded position. */
struct ronde_sim_way {
    double *latency_ns;   /**< of the message, alpha included */
    double *rate_GBps;    /**< of a lone flow; infinite where nothing limits it */
    bool is_latency_even; /**< the same at every position */
    bool is_rate_even;    /**< likewise */
};

/** One channel, folded. */
struct ronde_sim_fold {
    struct ronde_sim_group full;   /**< all positions */
    struct ronde_sim_group folded; /**< one of each kind */
    uint32_t *of;                  /**< per position, its folded one */
    struct ronde_sim_way *each;    /**< per offset of the ways */
    double *costs;                 /**< memory of their latencies and rates */
    size_t cost_count;
    double *release_ns; /**< per folded position, or NULL */
};

/**
 * Folds a channel; `may_fold` is false where all positions differ in bytes. False when there is no
 * memory.
 */
bool ronde_sim_fold_make(const struct ronde_sim_ways *ways, uint32_t channel, bool may_fold,
                         struct ronde_sim_fold *out_fold);

/** Frees what a fold holds. */
void ronde_sim_fold_free(const struct ronde_sim_ways *ways, struct ronde_sim_fold *fold);

#endif
