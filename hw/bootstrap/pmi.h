/**
 * Client of launchers with a PMI socket: the process manager interface's text form, version 1 (Balaji et al., "PMI: A
 * Scalable Parallel Process-Management Interface for Extreme-Scale Systems", EuroMPI 2010, section 3).
 *
 * It is here for hydra, MPICH's (tried: 4.0.2 of Debian 12) and Intel's: hydra has no PMIx, and no library that could be
 * linked instead speaks to it over PMI_FD or PMI_PORT. Slurm under --mpi=pmi2 (tried: 22.05) still takes the first
 * version's words. All other launchers are asked through PMIx (pmix.h).
 * A process that has sent init must send finalize, or its end counts as a crash and ends the others.
 */
#ifndef RONDE_HW_BOOTSTRAP_PMI_H
#define RONDE_HW_BOOTSTRAP_PMI_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether a descriptor (PMI_FD) is a stream socket of this process, as only the innermost launcher's is. */
bool ronde_pmi_is_socket(int fd);

/**
 * Connects process `id` (PMI_ID) to "host:port" (PMI_PORT), and receives its rank. Owner: the caller closes *out_fd,
 * after ronde_pmi_share or ronde_pmi_finalize: without them that counts as a crash. Errors: BAD_ARGUMENT; those of a
 * socket; IO for another reply.
 */
enum ronde_status ronde_pmi_connect(const char *place, const char *id, int *out_fd,
                                    uint32_t *out_rank, uint32_t *out_ranks,
                                    struct ronde_error *error);

/** Ends a session without an exchange. */
void ronde_pmi_finalize(int fd);

/** A process's session with its launcher. */
struct ronde_pmi {
    int fd;             /**< PMI_FD, or of ronde_pmi_connect */
    uint32_t rank;      /**< of this process */
    double deadline_ns; /**< of all of it, a point of ronde_clock_ns */
};

/**
 * Broadcasts rank 0's bytes to all ranks, and ends the session: once per process. Collective.
 *
 * Errors: UNAVAILABLE where init gets no reply; TIMEOUT naming the request; IO naming a malformed reply.
 */
enum ronde_status ronde_pmi_share(const struct ronde_pmi *pmi, void *data, size_t bytes,
                                  struct ronde_error *error);

#endif
