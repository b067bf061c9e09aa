/**
 * From trees to a schedule: messages, neighbours, and sizes that need each block once.
 */
#ifndef RONDE_SYNTHESIS_EMIT_H
#define RONDE_SYNTHESIS_EMIT_H

#include "forest.h"

#include "ronde/builder.h"
#include "ronde/synthesize.h"

/** What a schedule is made of. */
struct ronde_emission {
    enum ronde_collective collective; /**< what it computes */
    uint32_t ranks;                   /**< of it */
    uint32_t root;                    /**< of rooted collectives */
    uint32_t trees;                   /**< of each root; both forests have as many */
    const struct ronde_wiring_symmetry *
        symmetry; /**< forests have the trees of rank 0, and all ranks run one program; NULL = no */
    bool is_joint; /**< up and down are the same trees, each with a chunk of its own and any root */
    const struct ronde_forest *up;   /**< data runs to the roots, and is reduced; NULL = none */
    const struct ronde_forest *down; /**< data runs from the roots; NULL = none */
    uint32_t connections;            /**< a rank may receive by so many; 0 = any number */
};

/** What came of it. */
struct ronde_emitted {
    uint32_t height;      /**< messages on the longest way, of both forests */
    uint32_t connections; /**< that a rank receives by, at most */
};

/** Builds, finishes and proves. Errors: NO_MEMORY; UNSUPPORTED for too few connections; those of ronde_schedule_finish. */
RONDE_MUST_CHECK enum ronde_status
ronde_emit(const struct ronde_emission *emission, struct ronde_store *pool,
           struct ronde_schedule **out_schedule, struct ronde_emitted *out_emitted,
           struct ronde_error *error);

/* One schedule of the height that is asked for: routes, trees, lanes, proof. */

/** Makes it; out->bound is known. Errors: those of ronde_synthesize. */
RONDE_MUST_CHECK enum ronde_status
ronde_synthesis_once(const struct ronde_platform *platform,
                     const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                     struct ronde_schedule **out_schedule, struct ronde_synthesis *out,
                     struct ronde_error *error);

/* What is tried: trees of several heights. */

/** Schedules that are tried for a request, at most. */
#define RONDE_SYNTHESIS_TRIALS 14u

/** The bound of a request that can be met. Errors: UNSUPPORTED, BAD_ARGUMENT; those of ronde_bound_find. */
RONDE_MUST_CHECK enum ronde_status
ronde_synthesis_bound(const struct ronde_platform *platform,
                      const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                      struct ronde_bound *out_bound, struct ronde_error *error);

/** Makes all and gives each to `taker`; `known` has the bound. Errors: those of ronde_synthesis_once, but for what no torus has. */
RONDE_MUST_CHECK enum ronde_status
ronde_synthesis_try(const struct ronde_platform *platform,
                    const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                    const struct ronde_synthesis_taker *taker, const struct ronde_synthesis *known,
                    struct ronde_error *error);

#endif
