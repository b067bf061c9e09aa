/**
 * A launcher that answers through PMIx: Open MPI's mpirun, prterun, srun --mpi=pmix.
 *
 * Built with PMIx's headers; the library itself is looked for when a launcher says that it speaks PMIx, so that what
 * was built with it runs where it is not installed. A build without it has pmix_absent.c.
 */
#ifndef RONDE_HW_COMM_PMIX_H
#define RONDE_HW_COMM_PMIX_H

#include "ronde/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * How many ranks this process's job has. The talk stays open until ronde_pmix_share or ronde_pmix_leave, since a rank that
 * has once left is missed by launchers when the others wait for it later. Errors: UNAVAILABLE with what is missing.
 */
enum ronde_status ronde_pmix_ranks(uint32_t *out_ranks, struct ronde_error *error);

/** Ends a talk that nothing came of. */
void ronde_pmix_leave(void);

/** What is to be handed round. */
struct ronde_pmix {
    const struct ronde_mem *mem;
    uint32_t rank;      /**< of this process, as the launcher says */
    uint32_t ranks;     /**< of its job */
    double deadline_ns; /**< a point of ronde_clock_ns */
    bool is_open;       /**< ronde_pmix_ranks was asked before */
};

/**
 * Hands rank 0's bytes, at most 512, to all ranks, who wait for each other.
 *
 * Errors: UNAVAILABLE with what is missing, also where PMIx knows this process as another rank than the launcher's
 * variables do; TIMEOUT where a rank does not come; IO with PMIx's words.
 */
enum ronde_status ronde_pmix_share(const struct ronde_pmix *pmix, void *data, size_t bytes,
                                   struct ronde_error *error);

#endif
