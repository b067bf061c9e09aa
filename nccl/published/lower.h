/**
 * Numbers that lower the loss of measured rows: what fits of all machines and of one have in common. The method (lower.c)
 * is apart from what is fitted with it and from which start (fit.c), so that either can change alone.
 */
#ifndef RONDE_NCCL_PUBLISHED_LOWER_H
#define RONDE_NCCL_PUBLISHED_LOWER_H

#include "ronde/published.h"

/** Numbers of a fit at most. */
#define PUBLISHED_MOST_KNOBS 64u

/** One number that is fitted. */
struct published_knob {
    double *value;
    double start;
    double spread; /**< logarithmic distance from the start that costs a weight */
    double most;   /**< it stays below */
    unsigned kin;  /**< knobs of one number other than 0 lie alike from their starts */
};

/** Rows that count with their weights, and what changes. */
struct published_fit {
    const struct ronde_published *published;
    const struct ronde_nccl_constants *constants; /**< knobs' values are in there */
    enum ronde_published_state state;             /**< rows that count */
    double start_weight;
    double weight[RONDE_PUBLISHED_MAX_SYSTEMS]; /**< of a row; 0 = the system does not count */
    size_t stride[RONDE_PUBLISHED_MAX_SYSTEMS]; /**< every so manieth row of the system counts */
    struct published_knob knobs[PUBLISHED_MOST_KNOBS];
    size_t count;
};

/** Lowers the loss from where the knobs are. */
void published_lower(const struct published_fit *fit);

#endif
