/**
 * The survey: every algorithm of the registry on a list of ranks, proved and held against the bounds.
 */
#ifndef RONDE_CLI_PROVE_ALL_H
#define RONDE_CLI_PROVE_ALL_H

#include "common.h"

/**
 * Proves every algorithm (of one collective, if one is named) on every number of ranks of -N, by
 * default 2 .. 33. A line each, an object each where programs read, or with --markdown a table per
 * number of ranks, by default 8 and 12. *out_rejected counts what is not proved. Errors: those of
 * the request, NO_MEMORY, those of the sink.
 */
RONDE_MUST_CHECK enum ronde_status ronde_prove_all(const struct ronde_options *options,
                                                   struct ronde_sink *sink, uint32_t *out_rejected,
                                                   struct ronde_error *error);

#endif
