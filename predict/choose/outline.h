/**
 * A candidate in outline: a few replays in which every message is as fast as alone, from which bounds and estimates of all
 * its loads follow.
 *
 * Without shared links the time of a load is the largest of many straight lines over its size (max-plus), so it lies above
 * each of its tangents; and no load takes less than the busiest link takes for its bytes. Where a machine's costs are curves
 * over sizes, as calibrated, they are no straight lines: tangents are then estimates, and no bounds.
 */
#ifndef RONDE_PREDICT_OUTLINE_H
#define RONDE_PREDICT_OUTLINE_H

#include "ronde/predict.h"
#include "ronde/setup.h"

#include <pthread.h>

/** Slots that are tried where pieces help, and the bytes of the smallest; each is twice as long as the one before. */
#define RONDE_OUTLINE_SLOTS 13u
#define RONDE_OUTLINE_LEAST_SLOT (UINT64_C(8) << 10)

/** A time above another one by this factor is clearly more. */
#define RONDE_OUTLINE_CLEARLY 1.05

/** How a load goes on that is cut by one slot. */
struct ronde_outline_slot {
    bool is_known;
    uint64_t count;   /**< elements of a block in one piece */
    double first_ns;  /**< of one piece */
    double period_ns; /**< of each that follows */
};

/**
 * What a candidate takes, in elements of a block. Selectors of several threads may share it: a thread that looks holds the lock, and
 * nothing that was found changes.
 */
struct ronde_outline {
    pthread_mutex_t lock;
    bool has_large;     /**< the large load has been looked at: launch_ns and link_ns are known */
    bool is_known;      /**< so has the latency: all but slots is known */
    bool is_bounded;    /**< it was short enough to be: else all bounds are 0 */
    double sent_blocks; /**< by the busiest rank, where it was counted; else 0 */
    bool is_straight;   /**< no cost is a curve over sizes */
    double launch_ns;
    double latency_ns; /**< of one element */
    double link_ns;    /**< of an element on the busiest link */
    uint64_t large;    /**< a large load */
    double large_ns;   /**< what that takes in one piece */
    double slope_ns;   /**< of each element more */
    bool likes_pieces; /**< in one piece it takes clearly more than its busiest link */
    struct ronde_outline_slot slots[RONDE_OUTLINE_SLOTS];
};

/** Whether that costs next to nothing: it is the schedule's business, and no load's. */
bool ronde_outline_is_quick(const struct ronde_forecast *forecast);

/** An outline of which nothing is known; NULL where there is no memory. Owner: the caller. */
struct ronde_outline *ronde_outline_create(const struct ronde_mem *mem);

/** Ends it; NULL is allowed. */
void ronde_outline_destroy(struct ronde_outline *outline, const struct ronde_mem *mem);

/** The blocks that the busiest rank sends. */
double ronde_outline_sent(struct ronde_outline *outline, const struct ronde_schedule *schedule);

/**
 * Looks at a candidate's forecast, unless that is known; `large_alone`: at the large load, which will do for those that their links
 * alone rule out. Errors: those of the replays.
 */
enum ronde_status ronde_outline_find(const struct ronde_forecast *forecast, bool large_alone,
                                     struct ronde_outline *outline, struct ronde_error *error);

/** No load of so many elements takes less, by what its busiest link carries alone: known as soon as the large load is. */
double ronde_outline_links(const struct ronde_outline *outline, uint64_t count);

/** The same with latency: however it is cut where it likes pieces, else in one piece. */
double ronde_outline_bound(const struct ronde_outline *outline, uint64_t count);

/** About what a load takes in one piece, and cut by the slot of an index. Errors: those of the replays. */
double ronde_outline_whole(const struct ronde_outline *outline, uint64_t count);
enum ronde_status ronde_outline_cut(const struct ronde_forecast *forecast,
                                    struct ronde_outline *outline, uint32_t slot, uint64_t count,
                                    double *out_ns, struct ronde_error *error);

/** Bytes of the slot of an index. */
uint64_t ronde_outline_slot_bytes(uint32_t slot);

/* What the positions of a candidate are on its machine: nodes and ranks in them, or the axes of a torus. */

/** Whether an order of so many ranks, NULL or one entry each, leaves every rank in its place. */
bool ronde_is_identity(const uint32_t *order, uint32_t ranks);

/**
 * Sets the request's shape where its algorithm takes one and nobody has asked for another: of nodes that hold equally many
 * ranks in a row, or of the torus that the platform's file or its links say. Errors: those of ronde_torus_find.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_grid_find(const struct ronde_platform *platform, const struct ronde_nodes *nodes,
                const struct ronde_mem *mem, struct ronde_candidate *candidate,
                struct ronde_error *error);

/**
 * Makes the ranks of a candidate stay on their hosts: who sits on the host where its placement has rank r does what r does. Errors:
 * REJECTED for what is right in its own order alone, as what has a root that would move; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status ronde_candidate_keep_ranks(struct ronde_candidate *candidate,
                                                              const struct ronde_mem *mem,
                                                              struct ronde_error *error);

/** Steps of a load that is cut finer than by default; slots whose times differ by less are as good as one another. */
#define RONDE_SLOTS_MOST_STEPS ((uint64_t)1 << 19)
#define RONDE_SLOTS_AS_GOOD 1.01

/** Whether a forecast, cut as it is, has more steps than it may. */
bool ronde_forecast_is_long(const struct ronde_forecast *forecast);

/** What a forecast takes by an engine. Errors: those of ronde_forecast_replay. */
enum ronde_status ronde_forecast_quote(const struct ronde_forecast *forecast, const char *engine,
                                       struct ronde_quote *out_quote, struct ronde_error *error);

/** A closer bound where pieces help: of the slots that are tried, the best by its estimate. Errors: those of the estimates. */
enum ronde_status ronde_slots_tighten(const struct ronde_forecast *forecast,
                                      const struct ronde_candidate *candidate,
                                      struct ronde_quote *quote, struct ronde_error *error);

/**
 * With links shared: of the load cut by default and, where pieces help (is_open: no slot is given), by the slots that look best.
 * Times above most_ns are not looked for: they become bounds; fastest_ns: of all that is known. Errors: those of replays; INFINITY
 * where each is too much work.
 */
enum ronde_status ronde_slots_find_time(const struct ronde_forecast *forecast,
                                        const struct ronde_candidate *candidate, bool is_open,
                                        double most_ns, double fastest_ns,
                                        struct ronde_quote *quote, struct ronde_error *error);

/** Does the long replays that were put off, if they still promise less than the fastest takes; else the promise stays as an estimate. */
enum ronde_status ronde_slots_keep_promise(const struct ronde_forecast *forecast,
                                           const struct ronde_candidate *candidate,
                                           double fastest_ns, struct ronde_quote *quote,
                                           struct ronde_error *error);

#endif
