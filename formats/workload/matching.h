/**
 * Which items of a workload belong together: parts of one collective, the two ends of a message; and in which order a rank
 * comes to them.
 */
#ifndef RONDE_FORMATS_WORKLOAD_MATCHING_H
#define RONDE_FORMATS_WORKLOAD_MATCHING_H

#include "ronde/workload.h"

/** One operation of a group, made of an item of each of its ranks. */
struct workload_instance {
    uint32_t group;  /**< whose */
    uint32_t first;  /**< into parts: items by their rank's place in the group */
    uint32_t joined; /**< parts found so far */
};

/** What was found. */
struct workload_matching {
    uint32_t *sequence; /**< all items, those before an item of the same rank first, else as in the file */
    uint32_t *partner;     /**< per item: of a receive its send; else RONDE_NONE */
    uint32_t *instance_of; /**< per item: of a collective its instance; else RONDE_NONE */
    uint32_t *previous; /**< per item: of a collective the one before it in its group and rank, or RONDE_NONE */
    uint32_t work_count;                 /**< entries of those */
    struct workload_instance *instances; /**< all collectives */
    uint32_t instance_count;             /**< how many */
    uint32_t *parts;                     /**< items of all instances */
    uint32_t part_count;                 /**< how many */
    const struct ronde_mem *mem;         /**< whose memory */
};

/**
 * Matches everything. The caller frees *out_matching in every case. Errors: BAD_INPUT naming the item for dependencies in a
 * circle, messages that nobody sends or receives, ranks of a group that do not do the same; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_match(const struct ronde_workload *workload, const struct ronde_mem *mem,
                     struct workload_matching *out_matching, struct ronde_error *error);

/** Frees it; zeroes are allowed. */
RONDE_API void ronde_workload_matching_free(struct workload_matching *matching);

/* The items of a workload, rank by rank. */

/**
 * Sorts items by rank and leaves those of a rank in their order: rank r has items[first[r]] .. items[first[r + 1] - 1].
 * `first` has ranks + 1 entries and comes zeroed, `items` has one per item.
 */
RONDE_API void ronde_workload_sort_by_rank(const struct ronde_workload *workload, uint32_t *first,
                                           uint32_t *items);

#endif
