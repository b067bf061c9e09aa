/**
 * What predicting, choosing and planning need to know besides a platform and a schedule.
 */
#ifndef RONDE_PREDICT_OPTIONS_H
#define RONDE_PREDICT_OPTIONS_H

#include "ronde/cancel.h"
#include "ronde/collective.h"
#include "ronde/place.h"
#include "ronde/sim.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Schedules made for the machine (synthesize.h), as candidates. */
enum ronde_forests {
    RONDE_FORESTS_QUICK, /**< where they are quickly made and replayed */
    RONDE_FORESTS_ALL,   /**< wherever they are possible */
    RONDE_FORESTS_NONE   /**< algorithms of the registry alone */
};

/** Zeroes mean the defaults. Copied by the function that takes it; what it points to outlives them. */
struct ronde_tune_options {
    enum ronde_dtype dtype; /**< element type */
    enum ronde_op op;       /**< where something is reduced */
    uint64_t slot_bytes;    /**< of a connection's slot; 0 = the platform's, or the backend's */
    uint32_t depth;         /**< slots of a connection; 0 = the default */
    bool is_run; /**< what is chosen is run as it was compiled: no set-up for a machine is weighed */
    enum ronde_forests forests; /**< whether schedules made for the machine are weighed */
    const char *only;           /**< set-ups of this algorithm alone are weighed; NULL = of all */
    bool is_placed;             /**< the placement is asked for; else it is decided (setup.h) */
    enum ronde_placement placement; /**< where it is asked for */
    bool keeps_ranks; /**< rank r stays on host r: others may take its part in a schedule, if they sit better */
    uint64_t most_steps; /**< of all ranks, channels and pieces of what is chosen; 0 = any number */
    const char *engine; /**< of ronde_sim_job_run, replays everything; NULL or "auto" = what suits the platform */
    const char *const *cfg; /**< "key:value" for SimGrid, ends with NULL; NULL = none */
    bool puts;              /**< as a library that puts carries it: ronde_time_params.puts */
    bool native_latency;    /**< leave link latencies to SimGrid's model */
    uint64_t timeout_ns;    /**< gives up one replay after this long; 0 = the engine's default */
    const struct ronde_cancel *cancel; /**< ends a replay, or a choice, with CANCELLED; NULL = never */
    struct ronde_sim_progress progress;      /**< told how far a replay is */
    struct ronde_sim_progress plan_progress; /**< told how many sizes of a plan are done */
    const char *topology; /**< platform file or the name of a shipped one, to be priced; NULL = none */
};

#ifdef __cplusplus
}
#endif
#endif
