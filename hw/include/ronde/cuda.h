/**
 * The cuda backend in streams of the caller's: asynchronous runs that CUDA graphs can capture.
 *
 * A program of ronde_backend_cuda is prepared for a launch once and enqueued any number of times. Buffers must be
 * memory of the device. For everything else, and for buffers of the host, use the backend's run and wait.
 */
#ifndef RONDE_CUDA_H
#define RONDE_CUDA_H

#include "ronde/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sets a loaded program up for a launch: memory, slots and the tables its blocks read. No run of the program may be
 * under way, and none that was captured earlier may be replayed after it. Not to be called while a stream is captured. The launch's arrays may go afterwards, its buffers stay.
 *
 * Errors: as supports; BAD_ARGUMENT for a buffer the device cannot use, or while a run is under way; NO_MEMORY; DEVICE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_prepare(void *program, const struct ronde_launch *launch, struct ronde_error *error);

/**
 * Enqueues one run of the launch that was prepared in a stream (a cudaStream_t) and returns. Allocates nothing and
 * waits for nothing, so a stream may be captured and the graph replayed. Runs of one program must follow one another
 * in one stream. Errors: BAD_ARGUMENT if nothing was prepared; DEVICE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_cuda_enqueue(void *program, void *stream,
                                                                struct ronde_error *error);

/**
 * After the stream was synchronised: whether all enqueued runs went through. Errors: TIMEOUT naming a rank, a lane and
 * what it waits for; the program must then be prepared again. DEVICE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_cuda_check(void *program,
                                                              struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
