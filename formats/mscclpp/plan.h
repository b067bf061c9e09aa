/**
 * An MSCCL++ plan in memory: every operation taken apart into acts on one piece of memory or one signal.
 */
#ifndef RONDE_FORMATS_MSCCLPP_PLAN_H
#define RONDE_FORMATS_MSCCLPP_PLAN_H

#include "ronde/mscclpp.h"

/** Consecutive chunks of a buffer. */
struct mscclpp_span {
    uint8_t buffer; /**< enum ronde_buffer */
    uint32_t first;
    uint32_t count;
};

/** What an act does. */
enum mscclpp_kind {
    MSCCLPP_COPY,         /**< target <- source, both own */
    MSCCLPP_REDUCE,       /**< target <- target o source, both own */
    MSCCLPP_PUT,          /**< peer's target <- source */
    MSCCLPP_FETCH,        /**< target <- peer's source */
    MSCCLPP_FETCH_REDUCE, /**< target <- with o peer's source */
    MSCCLPP_SIGNAL,       /**< on a channel to the peer */
    MSCCLPP_WAIT,         /**< for a signal of the peer on a channel */
    MSCCLPP_BARRIER,      /**< of threadblocks of the rank, by number */
    MSCCLPP_ACQUIRE,      /**< a semaphore of the rank, by number */
    MSCCLPP_RELEASE,      /**< the same */
    MSCCLPP_PUT_PACKET,   /**< scratch of the peer (or the own) <- source, flagged */
    MSCCLPP_READ_PACKET   /**< own scratch (source) has been written as packets */
};

/** An act; spans that do not apply have count 0. */
struct mscclpp_act {
    uint8_t kind;         /**< enum mscclpp_kind */
    uint8_t channel_type; /**< signal, wait: memory 0, port 1 */
    uint32_t rank, tb;    /**< who acts */
    uint32_t op;          /**< operation of the file, for messages */
    uint32_t peer;        /**< rank; RONDE_NONE */
    uint32_t channel; /**< number among the channels of both ranks; barrier, semaphore: its number */
    struct mscclpp_span source, target, with;
    uint32_t partner; /**< matched: wait of a signal or put, signal of a wait or fetch; RONDE_NONE */
    uint32_t tag;     /**< matched: of the message */
    uint32_t first_step; /**< in its lane, when printed */
    uint32_t step_count; /**< that it becomes */
};

/** A threadblock. */
struct mscclpp_tb {
    uint32_t first_act, act_count;
};

/** A rank. */
struct mscclpp_gpu {
    uint32_t chunks[RONDE_BUFFER_COUNT];
    uint32_t first_tb, tb_count;
    uint32_t first_semaphore, semaphore_count; /**< in mscclpp_plan.semaphores: initial values */
};

/** A whole plan. */
struct mscclpp_plan {
    const struct ronde_mem *mem;
    const char *path; /**< for messages */
    char name[64];
    enum ronde_collective collective;
    bool is_in_place;
    uint32_t ranks;
    uint32_t units; /**< chunks of the schedule for each of the plan: groups of threadblocks share one */
    struct ronde_list gpus;       /**< struct mscclpp_gpu */
    struct ronde_list tbs;        /**< struct mscclpp_tb */
    struct ronde_list acts;       /**< struct mscclpp_act */
    struct ronde_list semaphores; /**< int32_t */
    struct ronde_error *error;
};

/** The g-th rank; its t-th threadblock; an act by its number. */
struct mscclpp_gpu *mscclpp_gpu_at(const struct mscclpp_plan *plan, uint32_t g);
struct mscclpp_tb *mscclpp_tb_at(const struct mscclpp_plan *plan, uint32_t g, uint32_t t);
struct mscclpp_act *mscclpp_act_at(const struct mscclpp_plan *plan, uint32_t a);

/** Chunks of a block: of the buffer that has one per rank, a rank's share; else all. */
uint32_t mscclpp_parts(const struct mscclpp_plan *plan);

/* Who refuses says why in plan->error, with its status, and returns false, as does everyone who called. */

/** Refuses at an act: "path: gpu G threadblock T op N: message". */
bool mscclpp_fail(const struct mscclpp_plan *plan, enum ronde_status status,
                  const struct mscclpp_act *act, const char *format, ...) RONDE_FORMAT(4, 5);

/** Refuses with NO_MEMORY. */
bool mscclpp_fail_memory(const struct mscclpp_plan *plan);

/** Whether two spans have chunks in common. */
bool mscclpp_overlaps(const struct mscclpp_span *a, const struct mscclpp_span *b);

/** The rank whose memory the source of an act is, and that of its target. */
uint32_t mscclpp_source_rank(const struct mscclpp_act *act);
uint32_t mscclpp_target_rank(const struct mscclpp_act *act);

/** The JSON as a plan. (plan_parse.c) Errors: those of ronde_mscclpp_read but REJECTED. */
bool mscclpp_parse(const char *text, size_t bytes, struct mscclpp_plan *plan);

/** Pairs signals with waits, puts and fetches with these, packets with their readers; gives every message a tag,
 * one for as many between two threadblocks as arrive in their order. (match.c) Errors: UNSUPPORTED, REJECTED, NO_MEMORY. */
bool mscclpp_match(struct mscclpp_plan *plan);

/** The act of another threadblock of the rank that meets a barrier's act there, or RONDE_NONE. (match.c) */
uint32_t mscclpp_same_barrier(const struct mscclpp_plan *plan, uint32_t act, uint32_t tb);

/** Races of a matched plan, by what orders one-sided accesses; and cycles. (order.c) Errors: NO_MEMORY, UNSUPPORTED, REJECTED. */
bool mscclpp_check_order(const struct mscclpp_plan *plan);

#endif
