/**
 * Runs in streams of a kernel behind a proxy: a thread that moves messages while nobody of this process is in a call.
 *
 * The stream itself tells the thread, by functions of the host before and after each kernel, which also follow the
 * kernel into a graph. They wait for nothing, so streams never hold each other up. From prepare to its end the thread is
 * what the communicator belongs to, but only while a run is under way.
 */
#ifndef RONDE_HW_CUDA_COURIER_H
#define RONDE_HW_CUDA_COURIER_H

#include "hw/cuda/proxy.h"

struct ronde_cuda_courier;

/**
 * Starts the thread for runs of a launch that the proxy's part was prepared for; nothing of the launch is kept but its
 * numbers. Owner: the caller closes. Errors: NO_MEMORY; DEVICE; UNSUPPORTED in a build without threads.
 */
enum ronde_status
ronde_cuda_courier_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                        const struct ronde_mem *mem, struct ronde_cuda_courier **out_courier,
                        struct ronde_error *error);

/** Ends the thread, between runs or after a failed one; NULL is allowed. */
void ronde_cuda_courier_close(struct ronde_cuda_courier *courier);

/** What the stream calls when it comes to a kernel, and when the kernel is over. */
void ronde_cuda_courier_begin(void *courier);
/** The second of the two. */
void ronde_cuda_courier_end(void *courier);

/** Whether all that was begun has been moved, or a run has failed, as the proxy's failure then says. Never blocks. */
bool ronde_cuda_courier_is_idle(struct ronde_cuda_courier *courier);

/** Waits until that is so: as long as the runs take, or their time limit. */
void ronde_cuda_courier_await(struct ronde_cuda_courier *courier);

#endif
