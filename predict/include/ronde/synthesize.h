/**
 * Schedules made for one machine: trees packed onto its links, pipelined, as ordinary schedules.
 *
 * all_gather: so many trees of every rank; reduce_scatter: the same against the links' direction, data running to the
 * root; all_reduce: one after the other; broadcast and reduce: trees of the root. docs/guide/synthesis.md has the method.
 */
#ifndef RONDE_SYNTHESIZE_H
#define RONDE_SYNTHESIZE_H

#include "ronde/bound.h"
#include "ronde/selector.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Name of the algorithm of every synthesised schedule. */
#define RONDE_SYNTHESIZED "forest"

/** Told how far a synthesis is; a zeroed one is not. */
struct ronde_synthesis_progress {
    /**
     * Called on the caller's thread: what is being done ("growing trees"), and how much of it has been, out of how much at
     * most; 0 of 0 where that is not counted. `phase` is a constant. May be NULL.
     */
    void (*on_progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context; /**< passed on */
};

/** What to make. Zeroes mean the defaults. */
struct ronde_synthesis_request {
    enum ronde_collective collective; /**< all_gather, reduce_scatter, all_reduce, broadcast or reduce */
    uint32_t ranks;                   /**< rank r on host r of the file */
    uint32_t root;                    /**< of broadcast and reduce */
    uint32_t trees;       /**< of each root; 0 = as few as reach the bound or nearly so */
    uint32_t connections; /**< that a rank receives by, at most; 0 = one for each edge of a tree */
    uint32_t most_height; /**< messages from a root to the farthest rank, as far as links allow; 0 = any number */
    /**
     * Bytes that it is for, as nccl-tests counts them; 0 = large ones. Trees of several heights are made and replayed, and
     * the fastest at this size is kept: low ones for what is small, balanced ones for what is large. Where trees and connections
     * are not given, the best algorithm of the registry is kept if it is faster still.
     */
    uint64_t bytes;
    bool is_of_trees; /**< trees alone, also where an algorithm of the registry is faster at `bytes` */
    bool is_in_series; /**< all_reduce: reduce_scatter, then all_gather, also where other trees carry more */
    bool descends; /**< trees are balanced to less and less time from how they grew; else to more and more from the bound */
    bool overfills; /**< of a machine whose ranks look alike: lower trees, which may load some links more; UNSUPPORTED elsewhere */
    bool has_axes; /**< of one root: trees along the axes of a torus, two for each; UNSUPPORTED where they would share links */
    /**
     * Of what is tried for a size only what is quickly made; and no schedule where ranks differ in their place, so that each has a
     * program of its own, and there are many: UNSUPPORTED.
     */
    bool is_quick;
    const char *only; /**< of what ronde_synthesize_all makes the one of this name; NULL = all */
    struct ronde_synthesis_progress progress; /**< told what is being done */
};

/** What was made. */
struct ronde_synthesis {
    struct ronde_bound bound; /**< of the collective */
    uint32_t trees;           /**< of each root; of all_reduce those of the second half */
    /**
     * all_reduce: data runs up and down the same trees at once, whose roots are any ranks, and trees counts all of them. Since
     * links then share among both what they have, GBps may exceed bound.GBps.
     */
    bool is_joint;
    bool is_apart; /**< along the axes of a torus: no two messages share a link, so replays are quick */
    double trees_GBps; /**< what so few trees allow at most, as far as cuts tell */
    double GBps;       /**< by what the busiest link carries, of large blocks */
    uint32_t height; /**< messages from a root to the farthest rank, at most; both halves of all_reduce */
    uint32_t connections; /**< that a rank receives by, at most */
    double time_ns;       /**< of trees, predicted for request->bytes; 0 where none were given */
    /** The algorithm of the registry that the schedule is of, since it is faster than trees; NULL = it is of trees. */
    const char *algorithm;
    double algorithm_ns; /**< what that is predicted to take */
    /** Options of `ronde sim` that it takes so long with, as ronde_decision_options names them; "" = none are needed. */
    char options[RONDE_SETUP_OPTIONS_BYTES];
};

/**
 * Makes a schedule, proved. Owner: the caller destroys *out_schedule. Errors: those of ronde_bound_find; UNSUPPORTED for other
 * collectives, and for fewer connections than neighbours where no trees are found for fewer of these; those of
 * ronde_schedule_finish.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_synthesize(const struct ronde_platform *platform,
                 const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                 struct ronde_schedule **out_schedule, struct ronde_synthesis *out_synthesis,
                 struct ronde_error *error);

/**
 * Whether a name is RONDE_SYNTHESIZED or that of one of those that ronde_synthesize_all makes: _h2, of one tree of each root, at
 * most 2 messages high; _wide, of as many trees as come near the bound, of any height.
 */
RONDE_API bool ronde_is_synthesized(const char *name);

/** One name for all schedules that are made for a machine, which are not each other's rivals; an algorithm's own for others. */
RONDE_API const char *ronde_algorithm_family(const char *name);

/** Whether trees can do what is asked for. */
RONDE_API bool ronde_synthesis_serves(const struct ronde_synthesis_request *request);

/** Who takes schedules as they are made. */
struct ronde_synthesis_taker {
    void *self; /**< handed to it */
    /** Takes one, which is its own from then on; the name is of static storage. Errors end the synthesis. */
    enum ronde_status (*take)(void *self, const char *name, struct ronde_schedule *schedule,
                              const struct ronde_synthesis *made, struct ronde_error *error);
};

/**
 * Makes those that are tried for a size, all of them: trees of several heights. request->bytes and most_height are not read.
 * Errors: as ronde_synthesize; the taker's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_synthesize_all(const struct ronde_platform *platform,
                     const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                     const struct ronde_synthesis_taker *taker, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
