/**
 * Replays of workloads on a platform: when everything of a step happens, what is waited for, what other algorithms give.
 *
 * All collectives and messages are one graph of operations, so that those which are under way at one moment share links as
 * the engine has it. What a rank computes takes the time the workload says, whatever is sent meanwhile.
 */
#ifndef RONDE_WORKLOAD_SIM_H
#define RONDE_WORKLOAD_SIM_H

#include "ronde/cancel.h"
#include "ronde/topologies.h"
#include "ronde/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A kind of calls, for what says how long one takes. */
struct ronde_workload_ask {
    enum ronde_collective collective; /**< what */
    const uint32_t *hosts;            /**< of the ranks of a group, `ranks` entries */
    uint32_t ranks;                   /**< at least 2 */
    uint64_t bytes;                   /**< size column; 0 for a barrier */
};

/**
 * Says how long a call takes from its last rank's coming on, and by which algorithm (a text that outlives the result).
 * Errors: its own, which end the simulation.
 */
typedef enum ronde_status (*ronde_workload_time)(void *context, const struct ronde_workload_ask *ask,
                                                 double *out_ns, const char **out_algorithm,
                                                 struct ronde_error *error);

/** How to replay. Zeroes mean the defaults, but for the platform. */
struct ronde_workload_sim {
    const struct ronde_platform *platform; /**< where; rank r is on host r */
    const char *engine;                    /**< auto (NULL), flat, simgrid, maxmin or flat_fifo */
    const char *algorithm; /**< of collectives that name none; NULL or "auto" = the fastest (docs/guide/workloads.md) */
    uint32_t alternatives; /**< kinds of calls for which other algorithms are tried in the step */
    uint64_t most_steps; /**< of all calls together, up to which each that names no algorithm runs by the fastest; 0 = 4 Mi */
    double time_limit_s; /**< of one replay; 0 = 600 */
    const struct ronde_cancel *cancel; /**< ends it with CANCELLED; NULL = never */
    /**
     * Instead of schedules: a call waits for its last rank and takes what this says, whatever else is under way; it puts
     * nothing on links. NULL = schedules. Then neither algorithm nor alternatives.
     */
    ronde_workload_time time;
    void *time_context; /**< passed to it */
};

/** What calls of one kind come to: one family of groups, one collective, one size. */
struct ronde_workload_call {
    const char *family;               /**< name of the groups; the workload's */
    enum ronde_collective collective; /**< what */
    uint64_t bytes;                   /**< size column */
    uint32_t ranks;                   /**< of a group */
    uint32_t count;                   /**< calls of all groups */
    const char *algorithm;            /**< by which it ran; NULL where nothing moves */
    double alone_ns;                  /**< of one on the first group's hosts, with nothing else */
    double planned_ns; /**< of one that names no algorithm: by the fastest alone, as planned; else 0 */
    bool is_short;     /**< that has too many steps for so many calls */
    double mean_ns; /**< of one in the step, from its last rank's coming to its last rank's end */
    double path_ns; /**< of the critical path that runs through it */
    bool is_tried;  /**< other algorithms were */
    const char *better; /**< the one of them that shortens the step most; NULL = none does */
    double better_ns;   /**< the step by it */
};

/** What a rank does during the step, in time that adds up to the step's. */
struct ronde_workload_rank {
    double compute_ns; /**< computes */
    double exposed_ns; /**< computes nothing and takes part in a collective or a message under way */
    double idle_ns;    /**< neither */
};

/** What families are waited for. The last one is of messages. */
struct ronde_workload_family {
    const char *name;  /**< of groups; "messages" for sends and receives */
    double exposed_ns; /**< of a rank, mean over all; where several are under way, each its share */
    double path_ns;    /**< of the critical path */
};

/** A replayed step. */
struct ronde_workload_result {
    double time_ns;                         /**< end of the last item */
    const char *engine;                     /**< that replayed it */
    bool is_contention_free;                /**< as in ronde_sim_result */
    uint32_t ops;                           /**< operations of the graph */
    double path_compute_ns;                 /**< of the critical path in calculations */
    char busiest_link[64];                  /**< link with the largest utilisation, or "" */
    double busiest_utilisation;             /**< 0..1 */
    struct ronde_workload_rank mean;        /**< over all ranks */
    struct ronde_workload_rank worst;       /**< of the rank that is exposed longest */
    uint32_t worst_rank;                    /**< which that is */
    struct ronde_workload_family *families; /**< of the workload, then messages */
    uint32_t family_count;                  /**< how many */
    struct ronde_workload_call *calls;      /**< most of the critical path first */
    uint32_t call_count;                    /**< how many */
    double *start_ns;                       /**< per item of the workload */
    double *end_ns;                         /**< per item */
    uint32_t work_count;                    /**< entries of both */
    struct ronde_store store;               /**< its memory */
};

/**
 * Replays a workload. Ranks come to the collectives of a group one after another, as on a communicator; what a cpu of a
 * rank computes follows in the order it becomes ready in a replay without contention. The caller frees *out_result in every
 * case; its texts are the workload's. Errors: BAD_INPUT naming the item where ends of messages or parts of collectives
 * do not match or nothing can go on; BAD_INPUT for more ranks than hosts; UNSUPPORTED for graphs that are too large;
 * those of ronde_compile and of the engine.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_simulate(const struct ronde_workload *workload,
                        const struct ronde_workload_sim *options, const struct ronde_mem *mem,
                        struct ronde_workload_result *out_result, struct ronde_error *error);

/**
 * The workload without collectives, for formats that have none: each becomes the messages and calculations of the schedule
 * that ronde_workload_simulate would replay, with the launch in front and tags and cpus of its own. Items have no names. Owner:
 * the caller. Errors: as ronde_workload_simulate, without a replay; UNSUPPORTED beyond the most items, and where a receive
 * of any tag could take messages of a collective.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_expand(const struct ronde_workload *workload,
                      const struct ronde_workload_sim *options, const struct ronde_mem *mem,
                      struct ronde_workload **out_workload, struct ronde_error *error);

/** Frees it; zeroes are allowed. */
RONDE_API void ronde_workload_result_free(struct ronde_workload_result *result);

#ifdef __cplusplus
}
#endif
#endif
