/**
 * The replay of one channel in progress, as symmetric_walk.c (times) and symmetric_traffic.c (what links carry) see it.
 */
#ifndef RONDE_SIM_SYMMETRIC_RUN_H
#define RONDE_SIM_SYMMETRIC_RUN_H

#include "symmetric_fold.h"
#include "symmetric_kernels.h"
#include "symmetric_plan.h"

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
    uint32_t from; /**< whose bytes; NONE = free */
    uint32_t send; /**< the connection they flow on, or NONE */
    bool reduces;
    double *delay_ns;
    double *flow_ns;
};

/** Quotes kept: a ring needs one while it reduces and one while it gathers; lanes take turns. */
#define RONDE_SIM_QUOTES 8u

/** The replay of a channel. */
struct ronde_sim_run {
    struct ronde_sim_walk *walk;
    const struct ronde_sim_ways *ways;
    const struct ronde_mem *mem;
    uint32_t channel; /**< which */
    const struct ronde_program *program;
    const struct ronde_sim_kernels *kernels;
    struct ronde_quotient *quotient;
    struct ronde_sim_fold fold;
    struct ronde_sim_plan plan;
    size_t count; /**< of folded positions */
    struct ronde_sim_traffic *traffic;
    double *numbers; /**< memory of flows and bytes */
    size_t number_count;
    struct ronde_sim_watch *watches;
    size_t watch_count;
    struct ronde_sim_source *sources;
    uint32_t source_count; /**< reserved */
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

/** Frees what was made. */
void ronde_sim_traffic_free(struct ronde_sim_run *run);

#endif
