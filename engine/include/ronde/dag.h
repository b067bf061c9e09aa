/**
 * The time model as a graph: a schedule and a launch become operations with delays, bytes and predecessors.
 *
 * One operation per (rank, channel, lane, step, piece). An operation starts when all predecessor edges are satisfied;
 * it then takes delay_ns, then its bytes flow from src to dst; it is over when the last byte has left. Through a
 * `message` edge the successor may start alpha later than that. Closed forms, the DAG price, `flat` and `simgrid` all
 * mean this model (architecture section 6; LogGP: Alexandrov et al., SPAA 1995).
 */
#ifndef RONDE_DAG_H
#define RONDE_DAG_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most points of a time that depends on bytes. */
#define RONDE_MAX_SIZED 16u

/**
 * A time that depends on the bytes of a message: straight lines between points, the first point's time below it, the
 * last line prolonged beyond (its time alone where there is one point). Protocols that change with the size (eager,
 * rendezvous) make it no line through all sizes: parameterised LogP, Kielmann et al., IPDPS 2000.
 */
struct ronde_sized_ns {
    uint32_t count;                /**< points; 0 = no time at any size */
    double bytes[RONDE_MAX_SIZED]; /**< ascending */
    double ns[RONDE_MAX_SIZED];    /**< there, at least 0 */
};

/** The time at a size, at least 0. */
RONDE_API double ronde_sized_ns_at(const struct ronde_sized_ns *sized, double bytes);

/** Machine constants that are not links. 0 in a rate means unlimited. */
struct ronde_time_params {
    double alpha_ns;   /**< added to the latency of the route of every message */
    double step_ns;    /**< cost of executing a step */
    double launch_ns;  /**< cost of starting a run, added once */
    double gamma_GBps; /**< rate at which a reducing step combines its bytes */
    double copy_GBps; /**< rate at which a step that moves bytes stages them: send, receive, copy, and reduce too, beside gamma_GBps */
    double lane_GBps; /**< most one message's flow can use */
    struct ronde_sized_ns
        send; /**< what sending a message costs its step beyond step_ns: LogGP's o of the sender */
    struct ronde_sized_ns receive; /**< what receiving one costs its step: LogGP's o of the receiver */
    struct ronde_sized_ns combine; /**< what reducing costs beyond gamma_GBps */
    struct ronde_sized_ns
        fresh; /**< what memory costs that a run allocates for itself: ronde_time_launch_ns */
    uint32_t sums_in_place; /**< 1: no run copies its input, see there */
    bool puts; /**< messages are put into memory that the network knows, as over RDMA: ronde_time_sized_ns, ronde_time_launch_ns */
    bool multicasts; /**< switches copy what is stored to several ranks and add what is loaded from several: ronde_dag_group */
};

/**
 * What the size of its message costs a step: sending, receiving and combining together. Where chunks lie apart in memory the
 * message goes through a buffer, as in MPI's derived data types, which is a message to oneself: a send and a receive more,
 * and a byte costs as much as a sum. Where they wrap around the end of a buffer that turns with the rank, libraries turn the
 * buffer (Bruck et al., IEEE TPDS 1997, local rotations), which costs the bytes alone, and so does a copy. A library that puts
 * does so into memory of its own, where its peers know the place, or into the user's, where they are told in every call: what
 * goes into the output as it comes costs the ends of a message of no bytes besides, which is under way while others are.
 */
RONDE_API double ronde_time_sized_ns(const struct ronde_time_params *params,
                                     const struct ronde_schedule *schedule,
                                     const struct ronde_step *step, double bytes);

/** Whether an operand wraps around the end of a buffer that turns with the rank, at one of the positions at least. */
RONDE_API bool ronde_step_wraps(const struct ronde_schedule *schedule,
                                const struct ronde_step *step, uint8_t buffer);

/** Whether any time depends on bytes. */
RONDE_API bool ronde_time_is_sized(const struct ronde_time_params *params);

/** What is launched, for pricing: like ronde_launch without memory. */
struct ronde_load {
    uint64_t count;         /**< elements of a block */
    enum ronde_dtype dtype; /**< element type */
    uint64_t slot_bytes;    /**< 0 = one piece */
    uint32_t depth;         /**< 0 = max(8, proof.min_depth) */
};

/**
 * What a run costs before its first step: launch_ns, and memory that a library allocates and touches first in every call. Each
 * of these costs `fresh` of its size, of the rank that they cost most:
 *   what the longest message that is added to something is received into;
 *   a copy of the input, where sums are made elsewhere than in an output that has room for all, or else what lies in scratch;
 *   libraries that make such sums where they received one operand copy nothing (sums_in_place);
 *   a buffer that turns with the rank (Bruck), in the other order.
 * A library that puts has told the network of its memory once and keeps it: it costs nothing in a call.
 */
RONDE_API double ronde_time_launch_ns(const struct ronde_time_params *params,
                                      const struct ronde_schedule *schedule,
                                      const struct ronde_load *load);

/**
 * What a run takes at least where times depend on sizes: a lane receives its messages one after another, each as long as its bytes
 * take at lane_GBps and the receiver beside them, whoever sends. Graphs have messages flow when their senders are ready.
 */
RONDE_API double ronde_time_least_ns(const struct ronde_time_params *params,
                                     const struct ronde_schedule *schedule,
                                     const struct ronde_load *load);

/** One operation. */
struct ronde_dag_op {
    uint32_t src;   /**< rank that executes it */
    uint32_t dst;   /**< rank its bytes flow to; src when it sends nothing */
    uint64_t bytes; /**< of its message; 0 when it sends nothing or an empty piece */
    uint64_t touched_bytes; /**< bytes it reads and writes, for shared-memory hosts (staged messages twice) */
    double delay_ns; /**< before the flow: step_ns + stage_ns + what the sizes of its messages cost */
    double stage_ns; /**< the part of delay_ns that moves bytes: reduction and staging, alone on its core */
    uint32_t first_edge; /**< into edges: predecessors */
    uint32_t edge_count; /**< predecessors */
};

/** A predecessor of an operation. */
struct ronde_dag_edge {
    uint32_t op; /**< the predecessor */
    bool is_message; /**< the successor consumes its message: alpha (route latency + alpha_ns) lies between */
    bool is_credit; /**< it is the receive that frees the slot the successor sends into */
};

/** The step an operation comes from. */
struct ronde_dag_origin {
    uint32_t channel;      /**< channel */
    uint32_t lane;         /**< lane of the rank's program */
    uint32_t step;         /**< within the lane */
    uint32_t piece;        /**< piece */
    uint32_t send;         /**< connection of the rank's program it sends on; RONDE_NONE = none */
    enum ronde_step_op op; /**< what it does */
};

/**
 * Messages that a switch makes one of: NVLink SHARP (PTX ISA 8.1, multimem). A *store* is a run of sends of one operand,
 * one after another in a lane, none but the first with dependencies; the switch copies it (multimem.st). A *load* is a
 * run of receives that reduce into one operand, likewise; the switch adds what it fetches from the ranks
 * (multimem.ld_reduce). Either is one instruction of one rank: a store is the first send of its run, a load the last
 * receive, which waits for all others. Its bytes flow once through every link between the switch and a rank of the
 * group, that rank included: its own copy and operand pass the switch, too. The other operations of the run, and those
 * of other ranks that belong to it, take no time and move nothing; their messages say that data is there.
 */
struct ronde_dag_group {
    uint32_t rank;         /**< which stores or loads */
    uint32_t first_member; /**< into members: the other ranks */
    uint32_t member_count; /**< at least 2; 0 where the switch has no part in the run, for its ranks load what is stored */
    bool is_load; /**< else it stores */
};

/**
 * Which positions and channels of a schedule with a program per position do the same. Position p does what p modulo
 * `positions` does, by the same steps with peers as far away; a channel does what channel_of says, with ranks of its own.
 */
struct ronde_dag_turn {
    uint32_t positions;         /**< divides the schedule's ranks */
    const uint32_t *channel_of; /**< per channel, the first that does the same */
};

/** A graph of operations in a topological order (predecessors first). */
struct ronde_dag {
    uint32_t ranks;                   /**< processes */
    uint32_t op_count;                /**< operations */
    struct ronde_dag_op *ops;         /**< in topological order */
    uint32_t edge_count;              /**< edges */
    struct ronde_dag_edge *edges;     /**< grouped by successor */
    struct ronde_dag_origin *origins; /**< op_count entries, or NULL where names were not
                                           requested */
    uint32_t *group_of; /**< per operation, the group whose bytes it moves, RONDE_NONE = its own; NULL = no groups */
    uint32_t group_count;           /**< entries of groups */
    struct ronde_dag_group *groups; /**< or NULL */
    uint32_t member_count;          /**< entries of members */
    uint32_t *members;              /**< ranks, or NULL */
    double launch_ns;               /**< added to the end time */
    double busy_ns; /**< what the sizes of messages cost the rank that they cost most, where several of its lanes have some: it has one processor */
    double least_ns;  /**< ronde_time_least_ns */
    double alpha_ns;  /**< params.alpha_ns: a replay adds it to each route's latency */
    double lane_GBps; /**< params.lane_GBps: cap of each flow in a replay; 0 = none */
    bool is_turned; /**< edges come from what stands for a sender (ronde_dag_create_turned), whose message goes elsewhere */
};

/**
 * Builds the graph of a load. Memory: 48 bytes an operation and 8 an edge, steps * channels * pieces operations;
 * 4 more an operation while it runs. A load of no elements gives a graph of no operations that takes no time, launch
 * included, as a run of it returns at once.
 * Errors: NO_MEMORY; UNSUPPORTED beyond 2^32 - 2 operations or edges; BAD_ARGUMENT for a depth below the minimum.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_dag_create(const struct ronde_schedule *schedule, const struct ronde_load *load,
                 const struct ronde_time_params *params, const struct ronde_mem *mem,
                 struct ronde_dag **out_dag, struct ronde_error *error);

/** As ronde_dag_create, with origins: 24 bytes more an operation. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_dag_create_named(const struct ronde_schedule *schedule, const struct ronde_load *load,
                       const struct ronde_time_params *params, const struct ronde_mem *mem,
                       struct ronde_dag **out_dag, struct ronde_error *error);

/** Whether a schedule's programs allow turning it by so many positions: those that lie as far apart are alike. */
RONDE_API bool ronde_dag_turns(const struct ronde_schedule *schedule, uint32_t positions);

/** Whether all chunks of all channels are equally long. */
RONDE_API bool ronde_dag_is_even(const struct ronde_schedule *schedule,
                                 const struct ronde_load *load);

/**
 * The operations of the first `positions` of those channels that stand for others, with destinations where they are; edges come
 * from operations that stand for the predecessor; with origins. The schedule turns so (ronde_dag_turns), and chunks are equal.
 * Errors: as ronde_dag_create; UNSUPPORTED where switches copy or add.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_dag_create_turned(const struct ronde_schedule *schedule, const struct ronde_load *load,
                        const struct ronde_time_params *params, const struct ronde_dag_turn *turn,
                        const struct ronde_mem *mem, struct ronde_dag **out_dag,
                        struct ronde_error *error);

/** Frees a graph; NULL is allowed. */
RONDE_API void ronde_dag_destroy(struct ronde_dag *dag, const struct ronde_mem *mem);

/** The end of a run whose last operation ends at `end_ns`: no rank is done before its processor and its lanes, and launch is added. */
static inline double ronde_dag_end_ns(const struct ronde_dag *dag, double end_ns)
{
    const double busy_ns = dag->busy_ns > dag->least_ns ? dag->busy_ns : dag->least_ns;
    return (end_ns > busy_ns ? end_ns : busy_ns) + dag->launch_ns;
}

/** Latency and rate between two ranks. */
struct ronde_path {
    double latency_ns; /**< the alpha of a message: route latency + params.alpha_ns */
    double rate_GBps;  /**< of a lone flow; 0 = unlimited */
};

/** What a longest path goes by, and where its times are kept. */
struct ronde_dag_timing {
    const struct ronde_path *paths; /**< the paths messages take */
    const uint32_t *path_of;  /**< per operation, index into paths; NULL = all take the first */
    const double *release_ns; /**< per rank, before which none of its operations starts; NULL = 0 */
    double *out_start_ns;     /**< per operation, when its delay began, or NULL */
    double *out_finish_ns; /**< per operation; what the recurrence works on, so it must not be NULL */
};

/**
 * The longest path: the end of the run, launch included, when no two flows ever share anything.
 *
 * Max-plus recurrence, linear time.
 */
RONDE_API double ronde_dag_longest_path(const struct ronde_dag *dag,
                                        const struct ronde_dag_timing *timing);

/**
 * The part of that recurrence for operations first .. end - 1; those before must be done. Returns the latest finish
 * among them, 0 if there are none, without launch. A caller that does more with each operation goes block by block.
 */
RONDE_API double ronde_dag_advance(const struct ronde_dag *dag,
                                   const struct ronde_dag_timing *timing, uint32_t first,
                                   uint32_t end);

#ifdef __cplusplus
}
#endif
#endif
