/**
 * The cuda backend in streams of the caller's: asynchronous runs that CUDA graphs can capture.
 *
 * A program of ronde_backend_cuda is prepared for a launch once and enqueued any number of times. Buffers must be
 * memory of the device. For everything else, and for buffers of the host, use the backend's run and wait.
 */
#ifndef RONDE_CUDA_H
#define RONDE_CUDA_H

#include "ronde/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Opens ronde_backend_cuda on chosen devices, by their numbers among the visible ones; devices NULL takes all, as the
 * backend's own open does. A program runs on the first of them, as many as it has ranks. They must have peer
 * access to each other. Owner: the caller closes *out_self through the backend. Errors: as open; BAD_ARGUMENT for a
 * device that does not exist; UNAVAILABLE naming two without peer access.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_open(const uint32_t *devices, uint32_t count, const struct ronde_mem *mem,
                void **out_self, struct ronde_error *error);

/** How processes of one machine share memory of their devices: enumerator, text. */
#define RONDE_SHARING_LIST(X)                                                                        \
    X(AUTO, "auto")             /* descriptor where driver and device have it, else ipc */           \
    X(IPC, "ipc")               /* CUDA's IPC handles: processes share an IPC name space */          \
    X(DESCRIPTOR, "descriptor") /* the driver's handles as files, which processes pass each other */ \
    X(FABRIC, "fabric") /* the driver's handles as bytes, where NVLink has a fabric manager */

/** Ways to share. */
enum ronde_sharing {
#define RONDE_ENUMERATOR(name, text) RONDE_SHARING_##name,
    RONDE_SHARING_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_SHARING_COUNT /**< number of ways */
};

/** Printed name of a way to share; "?" if out of range. */
RONDE_API const char *ronde_sharing_text(enum ronde_sharing sharing);

/** Whether messages between GPUs of different machines are sent from and received in memory of the GPUs, not the host's. */
enum ronde_gpu_direct {
    RONDE_GPU_DIRECT_AUTO, /**< where all ranks' UCX and GPUs can */
    RONDE_GPU_DIRECT_ON,   /**< loading on GPUs is refused where one of them cannot */
    RONDE_GPU_DIRECT_OFF   /**< never */
};

/**
 * Slots of lines hold at most so many bytes: what is set aside for them is twice that, per slot of every connection between
 * processes. NCCL's own hold as much: 512 threads of 8 lines of 8 bytes (NCCL_LL_LINES_PER_THREAD).
 */
#define RONDE_CUDA_LINES_MOST_BYTES 32768u

/** What ronde_cuda_open_with opens; zeroed means all defaults. */
struct ronde_cuda_choices {
    const uint32_t *devices; /**< numbers among the visible; NULL = the first device_count, or all */
    uint32_t device_count;   /**< of these; 0 with devices NULL */
    struct ronde_comm *comm; /**< whose ranks are processes, or NULL: all ranks are here */
    uint32_t ranks; /**< with a communicator: how many of a schedule's ranks this process has; 0 = one per device */
    enum ronde_sharing sharing; /**< with a communicator */
    bool may_stage_in_host; /**< messages between devices without peer access go through the host's memory,
                                 over PCIe twice; without it such devices are refused */
    enum ronde_gpu_direct
        gpu_direct; /**< with a communicator over several machines; OFF at one rank is OFF for all */
    uint64_t lines_up_to_bytes; /**< as in struct ronde_machine; with a communicator the least of all ranks counts */
};

/**
 * Opens ronde_backend_cuda as chosen: several devices of a process, a communicator's process on one or several, or both.
 *
 * With a communicator, schedules have as many ranks as all processes together: process p's follow those of p-1, spread
 * over its devices like those of a process alone. More than one rank or device in a process takes a communicator whose
 * processes are all on one host. Ranks of one machine map each other's device memory, those of several go through memory of
 * the host. Opening is collective: all ranks call it, and all fail where one does. load, unload, run and prepare are
 * collective too, in the same order in all processes; of a launch's arrays the entries of the ranks here are read. Slots and
 * depth of launches are at most those of the communicator's plan. After a failure, that of another process included, it only
 * repeats its error, as communicators do. Owner: the caller closes *out_self through the backend, before the communicator is
 * destroyed. Errors: as ronde_cuda_open; UNSUPPORTED for several ranks where processes are on several hosts; UNAVAILABLE for
 * a way to share that driver or device do not have.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_open_with(const struct ronde_cuda_choices *choices, const struct ronde_mem *mem,
                     void **out_self, struct ronde_error *error);

/**
 * Memory of an open backend's device, by its index among those opened, for buffers of launches: all of them can access
 * it, and where driver and device have memory by handles, network adapters can too. Blocks are whole multiples of the
 * driver's granularity (2 MiB), allocated from it at once. The host does not access it. Blocks must be freed, with their
 * length, before the backend is closed. Owner: the backend. NULL beyond the last device.
 */
RONDE_API const struct ronde_mem *ronde_cuda_mem(const void *self, uint32_t index);

struct ronde_registration;

/**
 * Registers memory of a device of this process, so that the other processes of a communicator on one host read it in place:
 * messages of at least 64 KiB a chunk that lie in registered memory are not copied into slots. Collective: every process calls
 * it, with memory of its own, whose place and length are its business, or with NULL for none; it is mapped in all when the
 * call returns. Local registering would have a receiver learn of the memory in the middle of a run, when hosts no longer meet.
 *
 * Whole allocations are mapped, whatever part of them is registered: cudaMalloc's by CUDA's IPC, and those by handles, however
 * many follow one another, by descriptor or fabric handle. Buffers of a launch may lie anywhere in registered memory, at other
 * offsets on each rank; a rank whose buffers do not copies its messages, and the others need not know. Memory is deregistered
 * before it is freed; if it is not, it is noticed, and what is at its address later is copied.
 *
 * Owner: the communicator's backend; ronde_cuda_deregister gives it back. Errors, on all ranks: BAD_ARGUMENT for memory that is
 * no device's of the process, or that ends before; UNSUPPORTED for memory without a handle, too many registrations, or ranks on
 * several hosts or of no communicator; NO_MEMORY; DEVICE; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_register(void *self, void *start, uint64_t bytes,
                    struct ronde_registration **out_registration, struct ronde_error *error);

/**
 * Ends that, in all processes, once all runs that read it are over on this one. Collective. Errors, on all ranks: BAD_ARGUMENT
 * for what is not registered, or in a captured graph; REJECTED where ranks mean different ones; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_deregister(void *self, struct ronde_registration *registration,
                      struct ronde_error *error);

/**
 * Sets a loaded program up for a launch: memory, slots and the tables its blocks read. No run of the program may be
 * under way, and none that was captured earlier may be replayed after it. Not to be called while a stream is
 * captured. The launch's arrays may be freed afterwards, its buffers must stay.
 *
 * Errors: as supports; BAD_ARGUMENT for a buffer the device cannot use, or while a run is under way; NO_MEMORY; DEVICE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_prepare(void *program, const struct ronde_launch *launch, struct ronde_error *error);

/**
 * Gives the runs that are enqueued from now on other buffers, another factor and another time limit than those of the
 * launch that was prepared, until the next prepare: for a program with one rank in this process, and no tables of blocks. No
 * other rank takes part, nothing is copied, and runs before and in captured graphs keep what they were given.
 * Errors: as supports; BAD_ARGUMENT for a launch that differs in anything else, or a buffer the device cannot use.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_give(void *program, const struct ronde_launch *launch, struct ronde_error *error);

/** Devices that a loaded program runs on: the first so many of those opened, each with a part of the ranks. */
RONDE_API uint32_t ronde_cuda_parts(const void *program);

/** Index, among the devices opened, of the one a rank of a loaded program is on; its buffers should be there. RONDE_NONE
 * for a rank of another process. */
RONDE_API uint32_t ronde_device_program_of(const void *program, uint32_t rank);

/**
 * Enqueues one run of the launch that was prepared and returns: in streams[d] (a cudaStream_t of device d, where NULL is
 * CUDA's default stream), one per part. Allocates nothing and waits for nothing, so streams may be captured and the graph replayed. Runs of one program
 * must follow one another in the same streams; several programs that share devices must be enqueued in the same order
 * on all of them. Errors: BAD_ARGUMENT if nothing was prepared; DEVICE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_cuda_enqueue(void *program, void *const *streams,
                                                                struct ronde_error *error);

/** Whether a stream of an open backend's first device is being captured. Errors: DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_cuda_is_captured(const void *self, void *stream,
                                                                    bool *out_captured,
                                                                    struct ronde_error *error);

/** Marks the end of all runs that were enqueued in these streams, none of which is being captured. Errors: DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_mark(void *program, void *const *streams, uint64_t *out_mark, struct ronde_error *error);

/** What is enqueued in these streams, none of which is being captured, from now on begins after the runs before the
 * last mark. Errors: DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_cuda_follow(void *program, void *const *streams,
                                                               struct ronde_error *error);

/** Whether the runs before a mark are over; never blocks. Of a program's marks the last 64 are told apart. A failure of
 * another process ends the runs. Errors: DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cuda_is_past(void *program, uint64_t mark, bool *out_past, struct ronde_error *error);

/** Whether some run was stopped early, or is to be: ronde_cuda_check then says why. Never blocks. */
RONDE_API bool ronde_cuda_is_stopped(const void *program);

/**
 * After the streams were synchronised: whether all enqueued runs completed. Errors: TIMEOUT naming a rank, a lane and
 * what it waits for; the program must then be prepared again. DEVICE.
 * Where ranks are processes of one machine, runs in streams end after a lost rank by their time limit, or by this call, which
 * may be made while they are under way. Where they are on several, a progress thread of the program moves their
 * messages: from enqueue until this call has returned the communicator belongs to that thread, and no other call of it or
 * of its programs is allowed, but for enqueueing runs of several programs in one order; a lost rank ends the runs, and this
 * call returns the error.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_cuda_check(void *program,
                                                              struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
