/**
 * Runs work that may take the process down in a forked child with a time limit.
 */
#ifndef RONDE_SIM_GUARD_H
#define RONDE_SIM_GUARD_H

#include "ronde/cancel.h"
#include "ronde/mem.h"

/** Memory that parent and child share; NULL when there is none. Zeroed. */
void *ronde_guard_share(size_t bytes);

/** Gives it back; NULL is allowed. */
void ronde_guard_unshare(void *block, size_t bytes);

/**
 * Calls work(argument) in a child and waits for it; the child ends with its parent. What the child writes to stdout and stderr is caught; its other
 * effects are what it leaves in shared memory. Signals for a time limit are the child's alone.
 *
 * Errors: TIMEOUT; CANCELLED once `cancel` (or NULL) requests it: the child is killed; DEVICE with the signal or exit code and the child's last output, and when there can be no child.
 */
enum ronde_status ronde_guard_run(void (*work)(void *argument), void *argument, double limit_s,
                                  const struct ronde_cancel *cancel, struct ronde_error *error);

#endif
