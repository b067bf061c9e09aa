/**
 * The parts of a symmetric replay: where positions send (symmetric_ways.c), the recurrence of one channel
 * (symmetric_walk.c), and the certificate over all of them (symmetric.c).
 */
#ifndef RONDE_SIM_SYMMETRIC_H
#define RONDE_SIM_SYMMETRIC_H

#include "certificate.h"
#include "sim/routes.h"

#include "ronde/ir.h"
#include "ronde/quotient.h"

/* The positions of a symmetric schedule as a group of digit vectors, and what is left of them when positions that
 * do not differ are taken as one. A rotation by digits has the digits of its shape; an exclusive or is a digit of
 * radix 2 per bit. Folding takes every digit modulo a period that divides its radix, so folding and adding commute. */

/** Most digits: a bit each of a position under exclusive or. */
#define RONDE_SIM_DIGITS 32u

/** Positions as digits, the fastest first. */
struct ronde_sim_group {
    uint32_t count;                   /**< positions: the product of the radices */
    uint32_t digits;                  /**< used entries of the following */
    uint32_t radix[RONDE_SIM_DIGITS]; /**< of each digit */
    uint32_t place[RONDE_SIM_DIGITS]; /**< what one step of the digit adds to the position */
};

/** An offset, prepared for whole vectors: it moves positions in runs that stay together. */
struct ronde_sim_shift {
    uint32_t offset;
    uint32_t block; /**< positions come in blocks of so many, */
    uint32_t cut;   /**< of which so many, the first, form one run and the rest another */
};

/** The group of a symmetric schedule. */
struct ronde_sim_group ronde_sim_group_of(const struct ronde_schedule *schedule);

/** The group with other radices, each a divisor of the one before. */
struct ronde_sim_group ronde_sim_group_fold(const struct ronde_sim_group *group,
                                            const uint32_t *periods);

/** What becomes of a position of `group` in `folded`. */
uint32_t ronde_sim_group_map(const struct ronde_sim_group *group,
                             const struct ronde_sim_group *folded, uint32_t position);

/** The sum of two positions, digit by digit. */
uint32_t ronde_sim_group_add(const struct ronde_sim_group *group, uint32_t a, uint32_t b);

/** Prepares an offset. */
struct ronde_sim_shift ronde_sim_group_shift(const struct ronde_sim_group *group, uint32_t offset);

/** Positions from this one on, itself included, that an offset keeps together. */
static inline uint32_t ronde_sim_shift_run(const struct ronde_sim_shift *shift, uint32_t position)
{
    const uint32_t rest = position % shift->block;
    return (rest < shift->cut ? shift->cut : shift->block) - rest;
}

/** Where the positions of a symmetric schedule send: offsets and routes. */
struct ronde_sim_ways {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options;
    struct ronde_store store; /**< of what follows but the routes */
    uint32_t *offsets;        /**< distinct ones, in the order of the connections */
    uint32_t offset_count;
    uint32_t *lane_first; /**< per lane, its first entry of lane_ways; one more entry than lanes */
    uint32_t *lane_ways;  /**< per lane, indices of the offsets it sends to */
    uint32_t *way_of;     /**< per connection of the program, index of its offset */
    uint32_t *route_of;   /**< per channel, offset and position: route */
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
 * ronde_sim_symmetric for callers that need certified times only: it ends at the first link that is overloaded, and
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
    double busy_ns;        /**< found: what messages cost a rank, all channels */
    double least_ns;       /**< found: what the run takes at least */
};

/** Replays one channel. Errors: those of ronde_quotient_create; NO_MEMORY. */
enum ronde_status ronde_sim_walk_channel(struct ronde_sim_walk *walk, uint32_t channel,
                                         struct ronde_error *error);

#endif
