/**
 * -d all, -o all and -r all: the element types, operators and roots that a run goes through, as nccl-tests does.
 */
#ifndef RONDE_CLI_RUN_VARIANTS_H
#define RONDE_CLI_RUN_VARIANTS_H

#include "cli/options/options.h"

/** Puts the first type, operator and root where all are asked for. */
void ronde_variant_first(struct ronde_options *options);

/**
 * Goes on to the next that the collective has and the type takes: roots fastest, types slowest. False, with the first
 * again, when all have been.
 */
bool ronde_variant_next(struct ronde_options *options, enum ronde_collective collective,
                        uint32_t ranks);

#endif
