/**
 * The parts of a symmetric replay: where positions send (symmetric_ways.c), the recurrence of one channel
 * (symmetric_walk.c), and the certificate over all of them (symmetric.c).
 */
#ifndef RONDE_SIM_SYMMETRIC_H
#define RONDE_SIM_SYMMETRIC_H

#include "certificate.h"
#include "sim/routes.h"
#include "symmetric_group.h"

#include "ronde/quotient.h"

/** Where the positions of a symmetric schedule send: offsets and routes. */
struct ronde_sim_ways {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options;
    const struct ronde_mem *mem;
    uint32_t *offsets; /**< distinct ones, in the order of the connections */
    uint32_t offset_count;
    uint32_t *lane_first; /**< per lane, its first entry of lane_ways; one more entry than lanes */
    uint32_t *lane_ways;  /**< per lane, indices of the offsets it sends to */
    uint32_t *way_of;     /**< per connection of the program, index of its offset */
    uint32_t *route_of;   /**< per channel, offset and position: route */
    size_t route_of_count;
    uint32_t connection_count; /**< of the program */
    uint32_t lane_count;       /**< likewise */
    struct ronde_sim_routes routes;
    bool is_borrowed; /**< a memo's */
};

/** Ways that are kept from replay to replay. */
struct ronde_sim_memo {
    const struct ronde_schedule *schedule; /**< whose */
    const struct ronde_mem *mem;
    bool is_known; /**< there are ways; what follows says for what */
    const struct ronde_platform *platform;
    const uint32_t *host_of;
    double alpha_ns;
    double lane_GBps;
    struct ronde_sim_ways ways;
};

/** Frees what a memo keeps. */
void ronde_sim_memo_clear(struct ronde_sim_memo *memo);

/**
 * Finds the routes of a job, or takes those of its options' memo, which then keeps them. Errors: those of routes; UNSUPPORTED
 * beyond 2^22 of them. Free in every case.
 */
enum ronde_status ronde_sim_ways_make(struct ronde_sim_ways *ways, struct ronde_error *error);

/** Frees what ways hold. */
void ronde_sim_ways_free(struct ronde_sim_ways *ways);

/** The routes of one offset on a channel, per position. */
static inline const uint32_t *ronde_sim_ways_at(const struct ronde_sim_ways *ways, uint32_t channel,
                                                uint32_t way)
{
    const size_t row = (size_t)channel * ways->offset_count + way;
    return ways->route_of + row * ways->job->schedule->ranks;
}

/**
 * Exempts every link that cannot be overloaded whatever the timing: a lane has one flow at a time, so a link's worst is
 * the sum over all lanes of the largest rate among the lane's routes through it. False when there is no memory.
 */
bool ronde_sim_ways_exempt(const struct ronde_sim_ways *ways, struct ronde_certificate *certificate);

/**
 * A replay on hosts that nothing tells apart, where all positions' times are one: no route but one is looked up and no
 * vector kept, so that ranks that all send to all others cost no more than one of them. Errors: UNSUPPORTED where hosts,
 * chunks or releases differ or a backbone may be full, and the general replay is to be taken; else as that.
 */
enum ronde_status ronde_sim_alike(const struct ronde_sim_job *job,
                                  const struct ronde_sim_options *options,
                                  const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                  struct ronde_error *error);

/**
 * ronde_sim_symmetric for who has no use for times that are not certified: it ends at the first link that is overloaded, and
 * then only is_contention_free counts, which is false. Errors: also UNSUPPORTED where flows would have to be watched on links
 * more than `most_watched` times.
 */
enum ronde_status ronde_sim_symmetric_if_free(const struct ronde_sim_job *job,
                                              const struct ronde_sim_options *options,
                                              const struct ronde_mem *mem, uint64_t most_watched,
                                              struct ronde_sim_result *out_result,
                                              struct ronde_error *error);

/** One flow of the quotient's that crosses a link that must be watched. */
struct ronde_sim_watch {
    uint32_t position; /**< folded */
    uint32_t link;
};

/** The replay of one channel. */
struct ronde_sim_walk {
    const struct ronde_sim_ways *ways;
    struct ronde_certificate *certificate;
    bool is_sweep;         /**< flows are put instead of recorded */
    bool may_stop;         /**< at the first link that is overloaded */
    uint64_t most_watched; /**< flows on links that may be watched */
    double end_ns;         /**< found: the latest finish */
    double launch_ns;      /**< found: the run's */
};

/** Replays one channel. Errors: those of ronde_quotient_create; NO_MEMORY. */
enum ronde_status ronde_sim_walk_channel(struct ronde_sim_walk *walk, uint32_t channel,
                                         struct ronde_error *error);

#endif
