/**
 * A program whose machine has one emulated GPU: runtime.c's interface for that one (one.c), and what the program says of it.
 */
#ifndef RONDE_TESTS_EMULATED_ONE_H
#define RONDE_TESTS_EMULATED_ONE_H

#include "support/emulated_gpu.h"

/** Its properties. */
extern const struct emulated_options emulated_one_options;

/** The device as ronde gets it: `inner`, or a copy with some calls replaced. */
const struct ronde_gpu *emulated_one_open(const struct ronde_gpu *inner);

/** ronde closes it, if it has one: the `inner` of what was opened. */
const struct ronde_gpu *emulated_one_close(const struct ronde_gpu *gpu);

#endif
