/**
 * The executors: every backend always has an entry; one that is absent probes to UNAVAILABLE with the reason.
 */
#ifndef RONDE_HW_H
#define RONDE_HW_H

#include "ronde/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Ranks as threads of this process: the shared step interpreter, staged through FIFOs. */
extern RONDE_API const struct ronde_backend ronde_backend_cpu;

/** Ranks as blocks of one GPU: the shared step interpreter in a persistent kernel (ronde/cuda.h for streams). */
extern RONDE_API const struct ronde_backend ronde_backend_cuda;

/** All backends, host first; *out_count entries. */
RONDE_API const struct ronde_backend *const *ronde_backends(uint32_t *out_count);

/** The backend of a name, or NULL with an error that lists the names (BAD_ARGUMENT). */
RONDE_API const struct ronde_backend *ronde_backend_find(const char *name,
                                                         struct ronde_error *error);

/** Processors this process may run on (affinity mask, not the machine's number). */
RONDE_API uint32_t ronde_usable_cores(void);

/** Monotonic clock in ns. */
RONDE_API double ronde_clock_ns(void);

#ifdef __cplusplus
}
#endif
#endif
