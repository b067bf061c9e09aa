/**
 * The backends of one process. One that is absent probes to UNAVAILABLE with the reason. ronde/executors.h has the table.
 */
#ifndef RONDE_HW_H
#define RONDE_HW_H

#include "ronde/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Ranks as threads of this process: the shared step interpreter, staged through FIFOs. */
extern RONDE_API const struct ronde_backend ronde_backend_cpu;

/** Ranks as blocks of GPUs: the shared step interpreter in a persistent kernel (ronde/cuda.h for streams). */
extern RONDE_API const struct ronde_backend ronde_backend_cuda;

/** Moves no data: what a launch costs before it moves any, and the backend to copy. */
extern RONDE_API const struct ronde_backend ronde_backend_null;

/**
 * The backend of a name among those whose ranks are in one process, or NULL with an error that lists the names
 * (BAD_ARGUMENT).
 */
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
