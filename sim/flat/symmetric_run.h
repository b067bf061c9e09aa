/**
 * The replay of one channel in progress, as symmetric_walk.c (times) and symmetric_traffic.c (what links carry) see it.
 */
#ifndef RONDE_SIM_SYMMETRIC_RUN_H
#define RONDE_SIM_SYMMETRIC_RUN_H

#include "symmetric.h"

#include "ronde/quotient.h"

#include <stddef.h>

/* Which positions do not differ, and in what the others do: the costs of one channel's routes per position. */

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
    double *release_ns;            /**< per folded position, or NULL */
};

/**
 * Folds a channel; `may_fold` is false where all positions differ in bytes. False when there is no
 * memory.
 */
bool ronde_sim_fold_make(const struct ronde_sim_ways *ways, uint32_t channel, bool may_fold,
                         struct ronde_store *store, struct ronde_sim_fold *out_fold);

/* Which vectors a symmetric replay keeps, and for how long: times of an operation until its last successor has read
 * them, bytes until the last operation that moves them. */

/** The vectors of a quotient: slots of a pool. */
struct ronde_sim_plan {
    uint32_t op_count; /**< entries of what follows */
    uint32_t *slot_of; /**< per operation, of its finish times */
    bool *is_last;     /**< per operation: no other follows it */
    uint32_t *bytes_from; /**< where chunks are unequal: the operation that first sent what this one moves, */
    uint32_t *bytes_shift; /**< at which offset, */
    uint32_t *bytes_slot;  /**< and, of such a first one, the slot of its bytes */
    uint32_t slot_count;   /**< of the pool */
};

/** Makes a plan in a store; false when there is no memory. */
bool ronde_sim_plan_make(const struct ronde_quotient *quotient, const struct ronde_sim_group *group,
                         struct ronde_store *store, struct ronde_sim_plan *out_plan);

/* The loops over positions in which a symmetric replay spends its time. Every version performs the same operations
 * in the same order on each element, so all give the same bits; they differ in how many elements an instruction
 * takes. Vectors must not overlap. */

/** Costs of a step per byte, infinite where it has none. */
struct ronde_sim_costs {
    double step_ns;
    double gamma_GBps;
    double copy_GBps;
};

/** One version of the loops. */
struct ronde_sim_kernels {
    /** out = max(out, in) */
    void (*max)(double *out, const double *in, size_t count);
    /** out = max(out, in + plus), the same for all */
    void (*max_plus)(double *out, const double *in, double plus, size_t count);
    /** out = max(out, in + plus) */
    void (*max_plus_each)(double *out, const double *in, const double *plus, size_t count);
    /** out = (out + delay) + flow */
    void (*finish)(double *out, double delay_ns, double flow_ns, size_t count);
    /** out = (out + delay) + flow, with flows of their own */
    void (*finish_each)(double *out, double delay_ns, const double *flow_ns, size_t count);
    /** out = (out + delay) + flow, each with its own */
    void (*finish_pair)(double *out, const double *delay_ns, const double *flow_ns, size_t count);
    /** out = (out + (step + (bytes / gamma + bytes / copy))) + bytes / rate */
    void (*finish_bytes)(double *out, const double *bytes, const double *rate_GBps,
                         const struct ronde_sim_costs *costs, size_t count);
    /** out = step + (bytes / gamma + bytes / copy) */
    void (*delay)(double *out, const double *bytes, const struct ronde_sim_costs *costs,
                  size_t count);
    /** out = bytes / rate, with bytes of their own */
    void (*flow_bytes)(double *out, const double *bytes, double rate_GBps, size_t count);
    /** out = bytes / rate */
    void (*flow)(double *out, double bytes, const double *rate_GBps, size_t count);
    /** the largest element, at least 0 */
    double (*most)(const double *in, size_t count);
};

/** The best version for this processor. */
const struct ronde_sim_kernels *ronde_sim_kernels_here(void);

/** One predecessor of the operation at hand. */
struct ronde_sim_source {
    const double *times;
    struct ronde_sim_shift shift;
    const struct ronde_sim_way *way; /**< of a message; NULL = no alpha */
};

/** What was found out about sending to one offset. */
struct ronde_sim_traffic {
    double *flow_ns;    /**< per position, of flow_bytes; NULL where rates are even */
    double flow_bytes;  /**< of the message that was last sent; flows are kept for the next */
    uint64_t messages;  /**< of every position */
    double even_bytes;  /**< sent by every position */
    double *bytes;      /**< sent, per position; NULL where chunks are equal */
    size_t first_watch; /**< into watches */
    size_t watch_count;
};

/**
 * Delays and flows of unequal chunks, for their first sender: those of others are an offset away.
 */
struct ronde_sim_quote {
    uint32_t from;         /**< whose bytes; NONE = free */
    uint32_t send;         /**< the connection they flow on, or NONE */
    enum ronde_step_op op; /**< what is done with them */
    uint8_t apart;         /**< flags: at which ends their chunks lie apart */
    bool is_single;        /**< they are one chunk */
    bool is_output;        /**< they are written to the output */
    double *delay_ns;
    double *flow_ns;
};

/** Quotes kept: a ring needs one while it reduces and one while it gathers; lanes take turns. */
#define RONDE_SIM_QUOTES 8u

/** The replay of a channel. */
struct ronde_sim_run {
    struct ronde_sim_walk *walk;
    const struct ronde_sim_ways *ways;
    struct ronde_store store; /**< of all that follows but the quotient */
    uint32_t channel;         /**< which */
    const struct ronde_program *program;
    const struct ronde_sim_kernels *kernels;
    bool is_sized; /**< times depend on the bytes of messages */
    struct ronde_quotient *quotient;
    struct ronde_sim_fold fold;
    struct ronde_sim_plan plan;
    size_t count; /**< of folded positions */
    struct ronde_sim_traffic *traffic;
    double *numbers; /**< memory of flows and bytes */
    struct ronde_sim_watch *watches;
    size_t watch_count;
    struct ronde_sim_source *sources;
    struct ronde_sim_quote quotes[RONDE_SIM_QUOTES];
    double *quoted; /**< memory of the quotes, where chunks are unequal */
    uint32_t next_quote;
    double *pool;
};

/** A vector of the pool. */
static inline double *ronde_sim_slot(const struct ronde_sim_run *run, uint32_t slot)
{
    return run->pool + slot * run->count;
}

/** The connection an operation sends on, or NONE. */
static inline uint32_t ronde_sim_send_of(const struct ronde_sim_run *run, uint32_t op)
{
    const struct ronde_dag_origin *origin = &run->quotient->dag->origins[op];
    return run->program->steps[run->program->lane_first[origin->lane] + origin->step].send;
}

/** Where a run of positions finds its elements in a shifted vector. */
static inline uint32_t ronde_sim_shifted(const struct ronde_sim_run *run,
                                         const struct ronde_sim_shift *shift, uint32_t p)
{
    return shift->offset == 0 ? p : ronde_sim_group_add(&run->fold.folded, p, shift->offset);
}

/** Positions of a tile from p on that one loop can take. */
static inline uint32_t ronde_sim_run_length(const struct ronde_sim_shift *shift, uint32_t p,
                                            uint32_t end)
{
    const uint32_t together = ronde_sim_shift_run(shift, p);
    return together < end - p ? together : end - p;
}

/** Where an operation finds its bytes when positions differ: those of another, from an offset on. */
struct ronde_sim_parcel {
    const double *bytes;
    struct ronde_sim_shift shift;
};

/** The parcel of an operation. */
static inline struct ronde_sim_parcel ronde_sim_parcel_of(const struct ronde_sim_run *run,
                                                          uint32_t index)
{
    const struct ronde_sim_plan *plan = &run->plan;
    return (struct ronde_sim_parcel){ronde_sim_slot(run, plan->bytes_slot[plan->bytes_from[index]]),
                                     ronde_sim_group_shift(&run->fold.folded,
                                                           plan->bytes_shift[index])};
}

/** Makes room for what is sent, and lists the links to watch. False when there is no memory. */
bool ronde_sim_traffic_make(struct ronde_sim_run *run);

/** Counts what an operation sends, and records it in the certificate. */
void ronde_sim_traffic_count(struct ronde_sim_run *run, uint32_t index);

/** Adds to the certificate what every link carried, once all operations have been counted. */
void ronde_sim_traffic_carry(const struct ronde_sim_run *run);

#endif
