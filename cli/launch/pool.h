/**
 * Work in forked processes, several at a time, whose lines come back to one place.
 *
 * Processes rather than threads: SimGrid allows one engine per process, and one that dies takes nobody with it.
 */
#ifndef RONDE_CLI_POOL_H
#define RONDE_CLI_POOL_H

#include "ronde/status.h"

#include <stdio.h>

/** What is to be done, and what becomes of it. */
struct ronde_pool {
    void *self;     /**< handed to all of the following */
    uint32_t tasks; /**< numbered 0 .. tasks - 1, started in this order */
    uint32_t jobs;  /**< processes at a time, >= 1 */
    /** In a child: does a task, printing lines into `out`; returns the child's exit code. */
    int (*work)(void *self, uint32_t task, FILE *out);
    /** In the parent: one whole line, without its end. Errors stop the pool. */
    enum ronde_status (*on_line)(void *self, const char *line, struct ronde_error *error);
    /** In the parent: a task is over; `code` is its exit code, or minus the signal that ended it. */
    void (*on_end)(void *self, uint32_t task, int code);
};

/** Does all tasks. Errors: NO_MEMORY, DEVICE (no pipe, no process), those of on_line; children are then ended. */
RONDE_MUST_CHECK enum ronde_status ronde_pool_run(const struct ronde_pool *pool,
                                                  struct ronde_error *error);

#endif
