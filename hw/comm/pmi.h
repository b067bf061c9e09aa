/**
 * A launcher that answers over a socket: the process manager interface's text form, version 1 (Balaji et al., "PMI: A
 * Scalable Parallel Process-Management Interface for Extreme-Scale Systems", EuroMPI 2010, section 3).
 *
 * Hydra speaks it, MPICH's and Intel's, and so does Slurm under --mpi=pmi2, which still takes the first version's words.
 * A process that has begun to talk must say that it is done, or its end counts as a crash and ends the others.
 */
#ifndef RONDE_HW_COMM_PMI_H
#define RONDE_HW_COMM_PMI_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether a number of a file (PMI_FD) is a stream socket of this process, as only the innermost launcher's is. */
bool ronde_pmi_is_socket(int fd);

/**
 * Introduces process `id` (PMI_ID) at "host:port" (PMI_PORT), and is told its rank. Owner: the caller closes *out_fd, after
 * ronde_pmi_share or ronde_pmi_leave: without them that counts as a crash. Errors: BAD_ARGUMENT; those of a socket; IO for another answer.
 */
enum ronde_status ronde_pmi_enter(const char *place, const char *id, int *out_fd, uint32_t *out_rank,
                                  uint32_t *out_ranks, struct ronde_error *error);

/** Ends a talk that nothing came of. */
void ronde_pmi_leave(int fd);

/** One process's talk with its launcher. */
struct ronde_pmi {
    int fd;             /**< PMI_FD, or of ronde_pmi_enter */
    uint32_t rank;      /**< of this process */
    double deadline_ns; /**< of all of it, a point of ronde_clock_ns */
};

/**
 * Hands rank 0's bytes to all ranks, and ends the talk: once per process. All ranks together.
 *
 * Errors: UNAVAILABLE where nobody answers so much as a greeting; TIMEOUT naming the question; IO naming an answer that
 * is none.
 */
enum ronde_status ronde_pmi_share(const struct ronde_pmi *pmi, void *data, size_t bytes,
                                  struct ronde_error *error);

#endif
