/**
 * Which algorithm a kind of call runs, where the user has not said. Rank 0 of a communicator asks; the others are told.
 */
#ifndef RONDE_API_CHOOSE_H
#define RONDE_API_CHOOSE_H

#include "api/kind.h"

#include "ronde/schedules.h"

/** What a call of a kind is compiled from, the algorithm aside. `sources` has room for a table of `ranks` entries. */
struct ronde_compile_request ronde_kind_request(const struct ronde_kind *kind, uint32_t ranks,
                                                uint32_t *sources);

/**
 * Chooses an algorithm for a kind on a communicator: by times measured on a backend or transport, as tables name it, where
 * there are some, else by price on a network that stands for it. Errors: UNSUPPORTED where no algorithm serves it; NO_MEMORY.
 */
enum ronde_status ronde_choose(const struct ronde_comm *comm, const struct ronde_kind *kind,
                               const char *backend, const struct ronde_mem *mem,
                               char algorithm[RONDE_ALGORITHM_BYTES], struct ronde_error *error);

#endif
