/**
 * Why a replay took as long as it did: what its critical path is made of, which links were busy, what held it up.
 *
 * The critical path runs back from the last step to end: from a step to the message or the step of its own rank that it
 * waited for longest. Where a freed slot came later still, the difference is time waited for a slot.
 */
#ifndef RONDE_WHY_H
#define RONDE_WHY_H

#include "ronde/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What time on the critical path goes into: enumerator, name in records, as people read it. */
#define RONDE_WHY_PART_LIST(X)                                                                     \
    X(LATENCY, "latency", "latency")                /* alpha and the latency of routes */          \
    X(BANDWIDTH, "bandwidth", "bandwidth")          /* messages, as long as they take alone */     \
    X(REDUCTION, "reduction", "reduction")          /* combining and staging bytes */              \
    X(OVERHEAD, "overhead", "steps and launch")     /* executing steps, and the launch */          \
    X(SLOT, "slot_wait", "waiting for a slot")      /* until the receiver has freed one */         \
    X(SHARING, "share_wait", "waiting for others")  /* messages slower than alone, cores taken */  \
    X(LATE, "late_wait", "waiting for a late rank") /* that starts after the others */

/** Kind of a part. */
enum ronde_why_part {
#define RONDE_ENUMERATOR(name, key, text) RONDE_WHY_##name,
    RONDE_WHY_PART_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_WHY_PART_COUNT /**< number of parts */
};

/** Links that are named. */
#define RONDE_WHY_LINKS 5u

/** A finished replay. */
struct ronde_replay {
    const struct ronde_platform *platform;   /**< where */
    const struct ronde_dag *dag;             /**< what ran */
    const struct ronde_sim_options *options; /**< with the start and finish times the engine left */
    uint32_t ranks; /**< the run is over with the last step of a rank below this; 0 = of all */
};

/** The answer. Parts add up to time_ns. */
struct ronde_why {
    double time_ns;                       /**< end of the run, launch included */
    double part_ns[RONDE_WHY_PART_COUNT]; /**< of the critical path */
    enum ronde_why_part largest;          /**< the part that takes most of it */
    uint32_t blamed;         /**< links, or where it is not theirs ranks, that it falls to */
    double share_of_largest; /**< fraction of it that falls to the following, which has most of it */
    uint32_t bottleneck_link; /**< bandwidth, sharing: link that takes most of it; else or without any RONDE_NONE */
    uint32_t bottleneck_rank; /**< rank whose steps and messages take most of it; RONDE_NONE of no steps */
    uint32_t path_steps;                 /**< steps on the critical path */
    uint32_t path_messages;              /**< messages on it */
    uint32_t link_count;                 /**< entries of the following */
    uint32_t links[RONDE_WHY_LINKS];     /**< busiest first; among equals the first of the file */
    double utilisation[RONDE_WHY_LINKS]; /**< bytes carried / (capacity * time), 0..1 */
};

/**
 * Explains a replay. out_on_path, if not NULL, gets op_count entries: whether the critical path runs through it.
 * Errors: BAD_ARGUMENT without times; those of ronde_platform_route; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_why_find(const struct ronde_replay *replay, const struct ronde_mem *mem, bool *out_on_path,
               struct ronde_why *out_why, struct ronde_error *error);

/**
 * How busy a replay keeps each link: bytes carried / (capacity * time), 0..1, an entry per link of the platform. Errors: as above.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_why_links(const struct ronde_replay *replay, const struct ronde_mem *mem, double *out_use,
                struct ronde_error *error);

/** Key of a part in records, e.g. "share_wait"; "?" if out of range. */
RONDE_API const char *ronde_why_part_key(enum ronde_why_part part);

/** A part as people read it, e.g. "sharing"; "?" if out of range. */
RONDE_API const char *ronde_why_part_text(enum ronde_why_part part);

#ifdef __cplusplus
}
#endif
#endif
