/**
 * The algorithms: one file each, one registry table.
 */
#ifndef RONDE_SCHEDULES_H
#define RONDE_SCHEDULES_H

#include "ronde/builder.h"
#include "ronde/price.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One algorithm of one collective. */
struct ronde_algorithm {
    enum ronde_collective collective; /**< what it computes */
    const char *name;                 /**< on the command line */
    const char *summary;              /**< one line for `ronde list` */
    /** Whether it can serve a request (any ranks, root and channels in range). Errors: UNSUPPORTED with a reason. */
    enum ronde_status (*supports)(const struct ronde_request *request, struct ronde_error *why_not);
    /** States the facts; a request that `supports` accepted. */
    void (*build)(const struct ronde_request *request, struct ronde_builder *builder);
    /** Closed-form price of a load with `channels` channels; the formula and its source stand in the file. */
    struct ronde_price (*price)(const struct ronde_request *request, const struct ronde_load *load,
                                const struct ronde_network *network);
};

/** All algorithms; *out_count entries. */
RONDE_API const struct ronde_algorithm *ronde_algorithms(uint32_t *out_count);

/** The algorithm of a name, or NULL with an error that lists the names of the collective (BAD_ARGUMENT). */
RONDE_API const struct ronde_algorithm *
ronde_algorithm_find(enum ronde_collective collective, const char *name, struct ronde_error *error);

/**
 * Compiles a request: finds the algorithm, asks supports, builds, finishes. Errors: BAD_ARGUMENT (unknown name, ranks
 * outside 1 .. RONDE_MAX_RANKS, root >= ranks), UNSUPPORTED, NO_MEMORY, REJECTED. out_proof may be NULL.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_compile(const struct ronde_request *request, const struct ronde_mem *mem,
              struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
              struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
