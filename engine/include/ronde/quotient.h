/**
 * The step graph of a symmetric schedule, as position 0 sees it.
 *
 * All positions run the program of position 0, so one operation here stands for as many as there are positions: the one
 * at position p differs in its peers, which are p further, and in its bytes where chunks are unequal. A replay keeps a
 * vector of times per operation instead of a graph of all ranks: a ring of 16,384 ranks has 32,767 operations, not half
 * a billion.
 */
#ifndef RONDE_QUOTIENT_H
#define RONDE_QUOTIENT_H

#include "ronde/dag.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a quotient is made of. */
struct ronde_quotient_request {
    const struct ronde_schedule *schedule;  /**< must be symmetric */
    uint32_t channel;                       /**< channels share nothing: one at a time */
    const struct ronde_load *load;          /**< on how much it runs */
    const struct ronde_time_params *params; /**< costs that are not links */
};

struct ronde_arena;
struct ronde_dag_sizes;

/** One channel of a symmetric schedule. Made by ronde_quotient_create. */
struct ronde_quotient {
    const struct ronde_schedule *schedule; /**< as requested */
    uint32_t channel;                      /**< as requested */
    struct ronde_time_params params;       /**< as requested */
    struct ronde_dag *
        dag; /**< operations of position 0, with origins; src is 0, dst the offset to the receiver */
    bool is_uniform;           /**< bytes and delays in dag hold at every position; else see
                          ronde_quotient_bytes */
    struct ronde_arena *arena; /**< owns what follows */
    const struct ronde_dag_sizes *sizes; /**< the chunks of the load */
};

/**
 * Makes a quotient. Memory: as the graph of one rank. The schedule must outlive it. Owner: the caller destroys it.
 * Errors: UNSUPPORTED for a schedule without symmetry, for one whose steps have no common order (a quotient may have
 * cycles that the graph has not), and beyond 2^32 - 2 operations; else as ronde_dag_create.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_quotient_create(const struct ronde_quotient_request *request, const struct ronde_mem *mem,
                      struct ronde_quotient **out_quotient, struct ronde_error *error);

/** Frees a quotient; NULL is allowed. */
RONDE_API void ronde_quotient_destroy(struct ronde_quotient *quotient, const struct ronde_mem *mem);

/** The offset to the position of a predecessor: of the sender, of the receiver that frees the slot, or none. */
RONDE_API uint32_t ronde_quotient_offset(const struct ronde_quotient *quotient, uint32_t op,
                                         const struct ronde_dag_edge *edge);

/**
 * Bytes an operation that receives nothing moves at a position. One that receives moves what it gets, which is its
 * sender's.
 */
RONDE_API uint64_t ronde_quotient_bytes(const struct ronde_quotient *quotient, uint32_t op,
                                        uint32_t position);

/** Whether an operation that moves so many bytes moves as many everywhere that an offset leads to, whichever it is. */
RONDE_API bool ronde_quotient_repeats(const struct ronde_quotient *quotient, uint32_t offset);

/** The delay of an operation where its step moves so many bytes; for costs that do not depend on the sizes of messages. */
RONDE_API double ronde_quotient_delay_ns(const struct ronde_quotient *quotient, uint32_t op,
                                         uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
