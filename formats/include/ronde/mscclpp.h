/**
 * Execution plans of MSCCL++ (microsoft/mscclpp): the JSON that its language writes and its executor runs.
 *
 * A plan is one-sided: a threadblock writes into another GPU's memory (put) or reads it (get), and tells by signals when. Here
 * it becomes messages. A put is sent where it stands and received at the wait for the signal behind it; a read is sent at the
 * signal that the wait before it waits for; a packet is received where it is first read. That what is read is there, and what
 * is overwritten no longer needed, holds in a plan by its signals, barriers and semaphores alone: these are checked for races
 * first. Signals that carry no data are not messages: a schedule has flow control of its own.
 */
#ifndef RONDE_MSCCLPP_H
#define RONDE_MSCCLPP_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether bytes are JSON: the first that is not blank is '{'. */
RONDE_API bool ronde_mscclpp_is(const char *text, size_t bytes);

/** Whether this build reads plans; *out_reason says by what, or why not. */
RONDE_API bool ronde_mscclpp_available(const char **out_reason);

/**
 * Reads, checks and proves a plan. `name` is used in messages. out_proof may be NULL and is set as far as reading came. Owner:
 * the caller destroys *out_schedule.
 * Errors: NO_MEMORY; BAD_INPUT "name:line: ..." for what is no JSON, "name: gpu G threadblock T op N: ..." for what is no plan;
 * UNSUPPORTED for what has no counterpart in a schedule (switch channels, groups of threadblocks that share an operation);
 * REJECTED for a plan that is wrong; UNAVAILABLE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_mscclpp_read(const char *text, size_t bytes, const char *name, const struct ronde_mem *mem,
                   struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                   struct ronde_error *error);

/**
 * Prints a schedule as a plan for memory channels, protocol Simple: every message is put into a place of its own in the
 * receiver's scratch. What was printed is read and proved where plans can be read. Owner: the caller frees *out_text,
 * *out_bytes + 1 bytes.
 * Errors: NO_MEMORY; UNSUPPORTED with what does not fit the executor.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_mscclpp_print(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                    char **out_text, size_t *out_bytes, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
