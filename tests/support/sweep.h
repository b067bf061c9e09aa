/**
 * The allocation sweep: one operation is repeated with its first, second, third ... allocation failing, until none does.
 *
 * What it shows: every failure is reported as NO_MEMORY with a message, nothing stays allocated, blocks are freed with
 * the size they were allocated with, and an operation never succeeds on top of a failed allocation. The method is Lua's
 * (testes/memerr.lua).
 */
#ifndef RONDE_TESTS_SWEEP_H
#define RONDE_TESTS_SWEEP_H

#include "support/heap.h"

/**
 * An operation under test: allocates from `mem` only, frees what it made, asserts that its outputs are NULL where it
 * fails, and returns its status.
 */
typedef enum ronde_status (*sweep_operation)(const void *context, const struct ronde_mem *mem,
                                             struct ronde_error *error);

/** What is swept. */
struct sweep {
    const char *what;          /**< in notes of failures */
    sweep_operation operation; /**< the operation */
    const void *context;       /**< passed to it */
};

/**
 * Sweeps an operation twice: one allocation fails and the later ones work; one fails and so do all later ones. Returns
 * the allocations the operation makes, or 0 after a failed assertion.
 */
size_t sweep_run(const struct sweep *sweep);

#endif
