/**
 * The algorithm of each size of a run: as a selector decides, or as a race of all of them on the spot.
 *
 * What runs and measures is the caller's, by hooks. Where ranks are processes rank 0 decides and tells the others, which
 * compile and prove only what it chose.
 */
#ifndef RONDE_AUTOTUNE_H
#define RONDE_AUTOTUNE_H

#include "ronde/selector.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What loads, runs and measures schedules. An index names a schedule to it: below ronde_autotune.most, the same for the
 * same schedule.
 */
struct ronde_autotune_hooks {
    void *self;     /**< the first argument of all */
    uint32_t rank;  /**< of this process */
    uint32_t ranks; /**< processes that run it; 0 = all ranks are in this one */
    /** Gives every process the `bytes` of each, by rank. Collective; needed where ranks > 0. */
    enum ronde_status (*allgather)(void *self, const void *mine, size_t bytes, void *all,
                                   struct ronde_error *error);
    /** Whether it can run `count` elements of a block. Errors: UNSUPPORTED with the reason. */
    enum ronde_status (*supports)(void *self, const struct ronde_schedule *schedule, uint64_t count,
                                  struct ronde_error *error);
    /** Makes a schedule ready to run; does nothing for an index that already is. Collective. */
    enum ronde_status (*load)(void *self, uint32_t index, const struct ronde_schedule *schedule,
                              struct ronde_error *error);
    /** Says that the next runs of an index are of `count` elements of a block, out of place. */
    void (*aim)(void *self, uint32_t index, uint64_t count);
    /** Runs it runs/2 times, then `runs` times: *out_ns is the median of these on the slowest rank. Collective. */
    enum ronde_status (*measure)(void *self, uint32_t index, uint32_t runs, double *out_ns,
                                 struct ronde_error *error);
    /** Says which algorithm is measured, on rank 0; NULL when all are. May be NULL. */
    void (*progress)(void *self, const char *algorithm);
};

/** What may run. Not moved while it is open: its selector points into itself. */
struct ronde_autotune {
    struct ronde_autotune_hooks hooks;    /**< the caller's */
    struct ronde_compile_request request; /**< of all of them; names none */
    struct ronde_selector selector;       /**< decides; empty where this process only hears */
    bool is_autotune;                     /**< by a race, not by the selector's pricer */
    bool only_hears;                      /**< rank 0 decides, and this is another */
    struct ronde_schedule **heard; /**< what it chose so far; where this process only hears */
    uint32_t heard_count;          /**< how many */
    uint32_t most;                 /**< indices there may be; entries of heard */
    struct ronde_error refusal;    /**< why this rank cannot decide, until all are told */
};

/**
 * Lists the candidates of a request, for a race or for the selector's decision. The caller closes *out_autotune in every
 * case. Errors: as ronde_selector_open; where ranks are processes they are told to all by ronde_autotune_enter.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_autotune_open(const struct ronde_tune_options *options,
                    const struct ronde_compile_request *request,
                    const struct ronde_autotune_hooks *hooks, bool is_race,
                    struct ronde_autotune *out_autotune, struct ronde_error *error);

/**
 * Finds out what decides, and leaves out what cannot run `count` elements. `backend` is the backend's name or the
 * transport's, `cores` what its ranks have; UINT32_MAX where that does not apply. Collective. Errors: as
 * ronde_selector_open and ronde_selector_use; UNSUPPORTED where nothing can be run, with the last reason; those of the
 * other ranks.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_autotune_enter(struct ronde_autotune *autotune, const char *backend, uint32_t cores,
                     uint64_t count, struct ronde_error *error);

/**
 * Decides for so many elements; the schedule with the index decision.best is then loaded. After a race the selector's quotes
 * are the measured times. A process that only hears knows no runner-up and no times. Collective. Errors: those of the hooks;
 * as ronde_selector_decide; UNSUPPORTED where this build lacks what rank 0 chose.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_autotune_pick(struct ronde_autotune *autotune, uint64_t count,
                    struct ronde_decision *out_decision, struct ronde_error *error);

/** Frees what it holds, after the hooks have unloaded everything; a zeroed one is allowed. */
RONDE_API void ronde_autotune_close(struct ronde_autotune *autotune);

#ifdef __cplusplus
}
#endif
#endif
