/**
 * Progress thread for runs in streams: it moves a kernel's messages (proxy.h) while no call of this process is active.
 *
 * The stream notifies the thread by host functions before and after each kernel, which become nodes of a captured graph
 * as the kernel does. They wait for nothing, so streams never block each other. From prepare to its end the thread owns
 * the communicator, but only while a run is under way.
 */
#ifndef RONDE_HW_CUDA_PROGRESS_THREAD_H
#define RONDE_HW_CUDA_PROGRESS_THREAD_H

#include "hw/cuda/proxy.h"

struct ronde_cuda_progress;

/**
 * Starts the thread for runs of a launch that the proxy's part was prepared for; only numbers of the launch are copied, no
 * buffers. Owner: the caller closes. Errors: NO_MEMORY; DEVICE; UNSUPPORTED in a build without threads.
 */
enum ronde_status
ronde_cuda_progress_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                         const struct ronde_mem *mem, struct ronde_cuda_progress **out_progress,
                         struct ronde_error *error);

/** Ends the thread, between runs or after a failed one; NULL is allowed. */
void ronde_cuda_progress_close(struct ronde_cuda_progress *progress);

/** Host function that the stream calls before a kernel. */
void ronde_cuda_progress_begin(void *progress);
/** Host function that the stream calls when the kernel is over. */
void ronde_cuda_progress_end(void *progress);

/** Whether all messages of runs that began have been moved, or a run has failed (the proxy's `failure`). Never blocks. */
bool ronde_cuda_progress_is_idle(struct ronde_cuda_progress *progress);

/** Waits until that is so: as long as the runs take, or their time limit. */
void ronde_cuda_progress_await(struct ronde_cuda_progress *progress);

#endif
