/**
 * Client of launchers with a PMIx server: Open MPI's mpirun, prterun, srun --mpi=pmix.
 *
 * Built with PMIx's headers; the library itself is loaded (dlopen) only under a launcher that sets PMIX_NAMESPACE, so
 * that such a build runs where it is not installed. A build without it has pmix_absent.c.
 */
#ifndef RONDE_HW_BOOTSTRAP_PMIX_H
#define RONDE_HW_BOOTSTRAP_PMIX_H

#include "ronde/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * How many ranks this process's job has. The session stays open until ronde_pmix_share or ronde_pmix_leave, since
 * launchers do not count a rank that has finalized once in a later fence. Errors: UNAVAILABLE with what is missing.
 */
enum ronde_status ronde_pmix_ranks(uint32_t *out_ranks, struct ronde_error *error);

/** Closes a session without an exchange. */
void ronde_pmix_leave(void);

/** Parameters of an exchange. */
struct ronde_pmix {
    const struct ronde_mem *mem;
    uint32_t rank;      /**< of this process, by the launcher's variables */
    uint32_t ranks;     /**< of its job */
    double deadline_ns; /**< a point of ronde_clock_ns */
    bool is_open;       /**< ronde_pmix_ranks was called before */
};

/**
 * Broadcasts rank 0's bytes, at most 512, to all ranks; a barrier.
 *
 * Errors: UNAVAILABLE with what is missing, also where PMIx knows this process as another rank than the launcher's
 * variables do; TIMEOUT where a rank does not join; IO with PMIx's error text.
 */
enum ronde_status ronde_pmix_share(const struct ronde_pmix *pmix, void *data, size_t bytes,
                                   struct ronde_error *error);

#endif
