/**
 * What an MPI library takes by itself: its rules by ranks and bytes, and which of ronde's algorithms sends the same messages.
 */
#ifndef RONDE_MPI_RULES_H
#define RONDE_MPI_RULES_H

#include "ronde/collective.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A library whose rules are known. */
enum ronde_mpi_library { RONDE_MPI_OPENMPI, RONDE_MPI_MPICH, RONDE_MPI_LIBRARY_COUNT };

/** An algorithm of a library. */
struct ronde_mpi_algorithm {
    const char *theirs; /**< as the library calls it */
    const char *ours;   /**< ronde's that sends the same messages; NULL = none does */
};

/** "openmpi", "mpich". */
RONDE_API const char *ronde_mpi_library_text(enum ronde_mpi_library library);

/**
 * What the library takes for a call of so many ranks and bytes (nccl-tests' size: whole buffers). Errors: UNSUPPORTED where no
 * rule of the collective is known.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_mpi_choose(enum ronde_mpi_library library, enum ronde_collective collective, uint32_t ranks,
                 uint64_t bytes, struct ronde_mpi_algorithm *out, struct ronde_error *error);

/** The i-th of the algorithms of ronde's that a library has for a collective; NULL behind the last. */
RONDE_API const char *ronde_mpi_rival(enum ronde_mpi_library library,
                                      enum ronde_collective collective, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
