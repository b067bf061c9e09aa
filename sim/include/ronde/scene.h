/**
 * Scenes: several graphs on one platform at the same time.
 *
 * Each part brings its own ranks, which sit on hosts of its choice; parts that share hosts or links
 * contend for them, as engines model it. A scene is one graph like any other, and every engine
 * replays it.
 */
#ifndef RONDE_SCENE_H
#define RONDE_SCENE_H

#include "ronde/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What takes part. */
struct ronde_scene_part {
    const struct ronde_dag *dag; /**< its graph */
    const uint32_t *hosts; /**< per rank of the graph, index of its host; NULL = rank r on host r */
};

/** A rank that is late or slow. */
struct ronde_straggler {
    uint32_t rank;   /**< of the scene: ranks of a part follow those of the parts before it */
    double delay_ns; /**< none of its steps starts earlier */
    double slow_down; /**< its steps, reductions and copies take that many times as long; 1 = as ever */
};

/** Where a part went. */
struct ronde_scene_place {
    uint32_t first_rank; /**< rank 0 of the part */
    uint32_t ranks;      /**< its ranks */
    uint32_t first_op;   /**< its first operation */
    uint32_t op_count;   /**< its operations */
    double launch_ns;    /**< its own launch */
};

/** Graphs side by side. */
struct ronde_scene {
    struct ronde_dag dag; /**< all of them; alpha, lane rate and launch are those of the first */
    uint32_t *host_of;    /**< per rank */
    double *release_ns;   /**< per rank */
    uint32_t part_count;  /**< parts */
    struct ronde_scene_place *places; /**< per part */
    struct ronde_store store;         /**< its memory */
};

/**
 * Puts parts side by side. Origins are kept if a part has any; operations of a part without are nops to them.
 * Owner: the caller destroys *out_scene. Errors: BAD_ARGUMENT for a straggler beyond the ranks, a negative delay or a
 * slow-down that is not positive; UNSUPPORTED beyond 2^32 - 2 operations or edges; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scene_create(const struct ronde_scene_part *parts, uint32_t part_count,
                   const struct ronde_straggler *stragglers, uint32_t straggler_count,
                   const struct ronde_mem *mem, struct ronde_scene **out_scene,
                   struct ronde_error *error);

/** Frees a scene; NULL is allowed. */
RONDE_API void ronde_scene_destroy(struct ronde_scene *scene);

/** When a part was over, its launch included. */
RONDE_API double ronde_scene_end_ns(const struct ronde_scene *scene, const double *finish_ns,
                                    uint32_t part);

/**
 * Background traffic as a graph of two ranks: `repeats` messages of `bytes` from rank 0 to rank 1, each when the one
 * before has left. Owner: the caller, by ronde_dag_destroy. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scene_flow(uint64_t bytes, uint32_t repeats, const struct ronde_mem *mem,
                 struct ronde_dag **out_dag, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
