/**
 * Collectives of processes, called as MPI and NCCL are called: own buffers, one call per operation.
 *
 *     struct ronde_launcher launcher;
 *     ronde_launcher_find(NULL, NULL, &launcher, &error);
 *     ronde_comm_launch(&launcher, &options, ronde_mem_default(), &comm, &error);
 *     ronde_all_reduce(comm, in, out, count, RONDE_FLOAT32, RONDE_SUM, NULL, NULL, &error);
 *     ronde_comm_destroy(comm);
 *
 * An operation names its buffers, elements of one block (`count`), element type and, where it reduces, the operator.
 * Buffers of collectives with a block per rank (the input of scatter, reduce_scatter and all_to_all, the output of gather,
 * all_gather and all_to_all) hold ranks * count elements, in order of ranks. At roots-only buffers (the input of broadcast
 * and scatter, the output of gather and reduce) other ranks may give NULL.
 *
 * In place as NCCL means it: in == out for all_reduce, reduce and broadcast; in == out + rank * count elements for
 * all_gather, and for gather at the root; out == in + rank * count for reduce_scatter, and for scatter at the root. Blocks
 * of the input of a reduce_scatter in place that are not this rank's may be destroyed. all_to_all and send_recv have none.
 *
 * `stream` is NULL for memory of the host; see ronde_comm_use_device for others. `out_request` NULL waits until the operation is over on this rank. Otherwise the
 * call returns at once and *out_request is the pending operation, which the caller frees with ronde_request_free; buffers,
 * and tables of blocks and of sources, must stay as they are until it is over. A call that fails sets *out_request to NULL
 * and has no effect; but other ranks that have made theirs wait for it, until their time limits.
 *
 * Order. All ranks of a communicator must make the same calls in the same order, with the same count, type, operator and
 * root. Operations of one communicator run in that order, one after another, any number may be pending. Operations of
 * different communicators do not wait for each other, in whatever order they are called and waited for. Between
 * communicators that progress by the caller this holds for calls that wait in the same thread or in any other, those that
 * make, split and gather in a communicator among them.
 *
 * Threads. Every function may be called from any thread; calls on one communicator by several threads at once are put in
 * some order, which must be the same on all ranks, so programs order them. ronde_comm_split, ronde_comm_allgather and
 * ronde_comm_load wait until pending operations are over. ronde_comm_destroy must be the last call on a communicator:
 * pending operations end with TIMEOUT, as they do after ronde_comm_abort; their requests stay valid until they are freed.
 *
 * Forked children. A communicator belongs to the process that made it. In a child that is forked from it every call on it is
 * refused (BAD_ARGUMENT), and so is every call on an operation that was pending; ronde_comm_destroy and ronde_request_free
 * do nothing. A child may make communicators of its own.
 *
 * First calls. What an operation runs depends on collective, root, sources, whether blocks differ in length, and the size
 * class (bytes of a block, to the power of two). For the first of its kind ranks meet, rank 0 says which algorithm all
 * use, and it is compiled, proved and loaded; it is kept for the next RONDE_KEPT_PROGRAMS kinds used.
 *
 * Errors of all operations: BAD_ARGUMENT naming the argument; UNSUPPORTED; NO_MEMORY; UNAVAILABLE for a stream without a
 * device; REJECTED naming two ranks that call different things; TIMEOUT naming the rank waited for; DEVICE naming a lost
 * rank. The last three end the communicator: every pending and later operation returns the same error.
 */
#ifndef RONDE_RONDE_H
#define RONDE_RONDE_H

#include "ronde/p2p.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Programs a communicator keeps loaded; beyond, the one unused for the most operations is unloaded. */
#define RONDE_KEPT_PROGRAMS 64u

/** Version of the library, "major.minor.patch". */
RONDE_API const char *ronde_version(void);

/** A pending operation, or one that is over and whose status has not been freed yet. */
struct ronde_request;

/**
 * One operation with all that can be said of it; zeroed fields mean the default. The functions below fill one in.
 *
 * Everything but the buffers, tables of blocks, factor, stream and time limit is the same on all ranks.
 */
struct ronde_call {
    enum ronde_collective collective; /**< what */
    enum ronde_dtype dtype;           /**< element type; ignored by barrier */
    enum ronde_op op;                 /**< reduction operator; ignored where nothing is reduced */
    const void *in;                   /**< this rank's input */
    void *out;                        /**< this rank's output */
    uint64_t count; /**< elements of a block; with is_v of the longest block of any rank, or 0: the ranks find it out by an
                         all_reduce of 8 bytes before the operation, where this rank's tables do not tell */
    uint32_t root;  /**< rank; 0 where the collective has none */
    const void *factor; /**< premul_sum: the element this rank's input is multiplied by; copied. Else ignored */
    bool is_v; /**< blocks differ in length: the tables' counts say how; the same on all ranks */
    const struct ronde_blocks
        *in_blocks; /**< this rank's table of its input's blocks; NULL: one after another */
    const struct ronde_blocks *out_blocks; /**< the same of its output */
    const uint32_t *
        source_of; /**< send_recv: per rank, whose input it gets (RONDE_NONE: none); NULL: see shift */
    uint32_t shift; /**< send_recv without source_of: rank r gets the input of rank r - shift, modulo ranks */
    uint64_t timeout_ns; /**< from this call on; 0 = the communicator's (ronde_comm_timeout) */
    void *stream;        /**< of a device (cudaStream_t), or NULL */
};

/** Starts an operation, or runs it where out_request is NULL. Errors: see above. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_start(struct ronde_comm *comm, const struct ronde_call *call,
            struct ronde_request **out_request, struct ronde_error *error);

/** The root's `count` elements of `in` to `out` of all ranks. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_broadcast(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                enum ronde_dtype dtype, uint32_t root, void *stream,
                struct ronde_request **out_request, struct ronde_error *error);

/** Block r of the root's `in` to `out` of rank r. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scatter(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
              enum ronde_dtype dtype, uint32_t root, void *stream,
              struct ronde_request **out_request, struct ronde_error *error);

/** `in` of rank r to block r of the root's `out`. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_gather(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
             enum ronde_dtype dtype, uint32_t root, void *stream,
             struct ronde_request **out_request, struct ronde_error *error);

/** `in` of rank r to block r of `out` of all ranks. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_all_gather(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                 enum ronde_dtype dtype, void *stream, struct ronde_request **out_request,
                 struct ronde_error *error);

/** All inputs combined, to the root's `out`. premul_sum: by ronde_start, which has a factor. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_reduce(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
             enum ronde_dtype dtype, enum ronde_op op, uint32_t root, void *stream,
             struct ronde_request **out_request, struct ronde_error *error);

/** All inputs combined, to `out` of all ranks, the same bits everywhere. premul_sum: by ronde_start. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_all_reduce(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                 enum ronde_dtype dtype, enum ronde_op op, void *stream,
                 struct ronde_request **out_request, struct ronde_error *error);

/** Blocks r of all inputs combined, to `out` of rank r. premul_sum: by ronde_start. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_reduce_scatter(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                     enum ronde_dtype dtype, enum ronde_op op, void *stream,
                     struct ronde_request **out_request, struct ronde_error *error);

/** Block r of `in` of rank s to block s of `out` of rank r. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_all_to_all(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                 enum ronde_dtype dtype, void *stream, struct ronde_request **out_request,
                 struct ronde_error *error);

/** No rank is over before all ranks have called. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_barrier(struct ronde_comm *comm, void *stream,
                                                           struct ronde_request **out_request,
                                                           struct ronde_error *error);

/**
 * Every rank gets the input of rank source_of[rank], a table of `ranks` entries that is the same on all ranks; RONDE_NONE:
 * none, `out` stays as it is. Collective, also for ranks that neither give nor get.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_send_recv(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
                enum ronde_dtype dtype, const uint32_t *source_of, void *stream,
                struct ronde_request **out_request, struct ronde_error *error);

/** Rank r gets the input of rank r - distance, modulo ranks: distance 1 passes on to the next rank. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_shift(struct ronde_comm *comm, const void *in, void *out, uint64_t count,
            enum ronde_dtype dtype, uint32_t distance, void *stream,
            struct ronde_request **out_request, struct ronde_error *error);

/**
 * all_gather of blocks of different lengths: rank r gives counts[r] elements, which every rank gets at `out` + offsets[r]
 * elements. Tables of `ranks` entries, counts the same on all ranks. In place: in == out + offsets[rank].
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_all_gather_v(struct ronde_comm *comm, const void *in, void *out, const uint64_t *counts,
                   const uint64_t *offsets, enum ronde_dtype dtype, void *stream,
                   struct ronde_request **out_request, struct ronde_error *error);

/** reduce_scatter of blocks of different lengths: rank r gets the counts[r] elements at offsets[r] of all inputs combined. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_reduce_scatter_v(struct ronde_comm *comm, const void *in, void *out, const uint64_t *counts,
                       const uint64_t *offsets, enum ronde_dtype dtype, enum ronde_op op,
                       void *stream, struct ronde_request **out_request, struct ronde_error *error);

/**
 * all_to_all of blocks of different lengths: in_counts[r] elements at in_offsets[r] of `in` go to rank r, out_counts[r]
 * elements come from it to out_offsets[r] of `out`. A rank knows its own tables only: max_count is the longest block of any
 * rank, the same on all ranks, or 0: they find it out before, by an all_reduce of 8 bytes.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_all_to_all_v(struct ronde_comm *comm, const void *in, const uint64_t *in_counts,
                   const uint64_t *in_offsets, void *out, const uint64_t *out_counts,
                   const uint64_t *out_offsets, uint64_t max_count, enum ronde_dtype dtype,
                   void *stream, struct ronde_request **out_request, struct ronde_error *error);

/**
 * gather of blocks of different lengths: `in_count` elements of this rank; at the root, which alone looks at `out` and its
 * tables, out_counts[r] elements of rank r to out_offsets[r]. max_count as for all_to_all_v.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_gather_v(struct ronde_comm *comm, const void *in, uint64_t in_count, void *out,
               const uint64_t *out_counts, const uint64_t *out_offsets, uint64_t max_count,
               enum ronde_dtype dtype, uint32_t root, void *stream,
               struct ronde_request **out_request, struct ronde_error *error);

/** scatter of blocks of different lengths: as ronde_gather_v, the other way round. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scatter_v(struct ronde_comm *comm, const void *in, const uint64_t *in_counts,
                const uint64_t *in_offsets, void *out, uint64_t out_count, uint64_t max_count,
                enum ronde_dtype dtype, uint32_t root, void *stream,
                struct ronde_request **out_request, struct ronde_error *error);

/**
 * Sends `count` elements to a rank, which may be this one, and receives them with the same tag: messages of one rank to
 * another with equal tags arrive in order. Not collective, and beside the collectives of the communicator: neither waits
 * for the other. A send may be over before its receive is called. `out_request` as above.
 *
 * Errors: BAD_ARGUMENT; NO_MEMORY; TIMEOUT naming the rank, which ends the communicator; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_send(struct ronde_comm *comm, const void *in, uint64_t count, enum ronde_dtype dtype,
           uint32_t peer, uint64_t tag, struct ronde_request **out_request,
           struct ronde_error *error);

/**
 * Receives at most `count` elements of a rank; ronde_request_status says how long the message was. Errors: those of
 * ronde_send; REJECTED naming both lengths for a message that is longer, which is lost; the communicator goes on.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_recv(struct ronde_comm *comm, void *out, uint64_t count, enum ronde_dtype dtype, uint32_t peer,
           uint64_t tag, struct ronde_request **out_request, struct ronde_error *error);

/** The same from whichever rank sends with the tag. *out_source (may be NULL) is set where out_request is NULL, at the end
 * of the group where one is open; else ronde_request_status says it. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_recv_any(struct ronde_comm *comm, void *out, uint64_t count, enum ronde_dtype dtype,
               uint64_t tag, uint32_t *out_source, struct ronde_request **out_request,
               struct ronde_error *error);

/** Moves a request on and says whether it is over. Never blocks. Errors: the operation's. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_request_test(struct ronde_request *request, bool *out_done, struct ronde_error *error);

/**
 * Waits until an operation is over. timeout_ns > 0 is a limit from this call on: an operation that passes it fails with
 * TIMEOUT naming the rank waited for, which ends the communicator. 0 adds no limit. Errors: the operation's; BAD_ARGUMENT for
 * one of the group that this thread has open, which begins at its end.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_request_wait(struct ronde_request *request, uint64_t timeout_ns, struct ronde_error *error);

/** What is known of a request. */
struct ronde_request_status {
    bool is_done;             /**< the operation is over; else the rest is zero */
    enum ronde_status status; /**< how it ended */
    uint32_t source;          /**< recv: rank that sent the message; else RONDE_NONE */
    uint64_t tag;             /**< send, recv: of the message */
    uint64_t bytes;           /**< send, recv: its length */
};

/** Looks at a request without moving it on. */
RONDE_API struct ronde_request_status ronde_request_status(const struct ronde_request *request);

/** Frees a request. One that is pending goes on, and frees itself at its end. NULL is allowed. */
RONDE_API void ronde_request_free(struct ronde_request *request);

/** Called when an operation is over; error holds the message where status is not RONDE_OK, and is gone after the call. */
typedef void (*ronde_complete)(void *self, enum ronde_status status,
                               const struct ronde_error *error);

/**
 * Has `callback` called once when the operation is over, by the thread that has moved it on, with no lock held: it may
 * make any call but ronde_comm_destroy. If it is over already it is called before this returns. One per request; a second replaces
 * the first that was not called yet.
 */
RONDE_API void ronde_on_complete(struct ronde_request *request, ronde_complete callback, void *self);

/**
 * Opens a group of this thread: operations called until the end of the outermost group are taken, and started together
 * when it ends, in the order of the calls, on any number of communicators. Groups nest.
 */
RONDE_API void ronde_group_begin(void);

/**
 * Closes a group. At the outermost end operations start, and those that were called without a request are waited for.
 * Errors: the first of the group's that were waited for; BAD_ARGUMENT without a begin.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_group_end(struct ronde_error *error);

/** Who moves pending operations on: enumerator, text. */
#define RONDE_PROGRESS_LIST(X)                                                                     \
    X(THREAD,                                                                                      \
      "thread") /* a thread of the library, one per process, asleep while nothing is pending */    \
    X(CALLER, "caller") /* calls of ronde_request_test and ronde_request_wait, of any thread */

/** Kinds of progress. */
enum ronde_progress {
#define RONDE_ENUMERATOR(name, text) RONDE_PROGRESS_##name,
    RONDE_PROGRESS_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_PROGRESS_COUNT /**< number of kinds */
};

/**
 * Gives a communicator a GPU of this machine, by its number among the visible ones. Operations that name a stream of it
 * (cudaStream_t, not the legacy default stream) then run there: their buffers are memory of that GPU, and they follow what
 * the stream had before. Collective: every rank has a GPU, or none.
 *
 * An operation with a stream has been enqueued when the call returns; its request is over when the stream is past it, and with
 * out_request NULL the call waits for that. Ranks meet on the host the first time they call such an operation with this
 * length, type and operator, to prepare it (milliseconds), and never again while it is kept, as the last RONDE_KEPT_PROGRAMS are:
 * a rank may then run ahead of others as far as its stream allows, and give other buffers every time. Blocks of different
 * lengths are prepared in every call. What one rank alone does wrong after the first time ends the communicator, as other
 * ranks' kernels wait for it. Operations of one communicator follow each other, also from stream to stream. In a group they
 * are enqueued at once.
 *
 * A stream may be captured, on all ranks alike; the operation is over when the call returns, and runs in every replay of the
 * graph, with the same buffers, factors and limit. It stays prepared until the communicator is destroyed, after the graph.
 * Blocks of different lengths keep those of the captured call: its tables are read, and the longest block is agreed on if it has
 * to be, once, in that call; each such call takes one of the RONDE_KEPT_PROGRAMS for itself, and is UNSUPPORTED when graphs have
 * all. The program orders replays with other operations of the communicator; where
 * ranks are on several hosts, no operation of the host may overlap them. A replay that is stopped, by its time limit or as a
 * rank was lost, is reported by the next operation with a stream.
 *
 * Errors: UNAVAILABLE saying what is missing, on all ranks; BAD_ARGUMENT for a GPU that is not there, or a second one;
 * NO_MEMORY; DEVICE; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_use_device(struct ronde_comm *comm, uint32_t device, struct ronde_error *error);

/**
 * Memory of the communicator's GPU, which network adapters can access where driver and device allow it: like cudaMalloc, for
 * operations with a stream. Blocks are whole multiples of 2 MiB, and must be freed before the communicator is destroyed.
 * NULL without a GPU. Owner: the communicator.
 */
RONDE_API const struct ronde_mem *ronde_comm_device_mem(struct ronde_comm *comm);

/** Memory of a communicator's GPU that the other ranks read in place. */
struct ronde_registration;

/**
 * Registers memory of the communicator's GPU, so that the other ranks, processes of the same host, read it in place: operations
 * with a stream whose buffers lie in it do not copy what they send, from 64 KiB a message on. Such an operation is over on a rank
 * when all others have read its buffers. Any memory that other processes can map will do: of cudaMalloc, of the driver's handles, of
 * an allocator that hands out parts of such (PyTorch's), of ronde_comm_device_mem. It is mapped once, and in whole allocations.
 *
 * Collective, as the ranks' hosts meet nowhere else: each gives memory of its own, of any place and length, or NULL where it has
 * none; waits until pending operations are over. Afterwards nothing has to be agreed on: operations may have their buffers
 * anywhere in what is registered or outside, on each rank as it likes. Memory is deregistered before it is freed. If it is not,
 * operations notice, and copy what is at its address later.
 *
 * Memory of the host needs none: ranks of a host read what is from ronde_comm_mem, and most other memory too.
 *
 * Owner: the communicator; ronde_deregister gives *out_registration back. Errors, on all ranks: BAD_ARGUMENT for memory that is
 * not the GPU's, or that ends before; UNSUPPORTED for memory that no other process can map, and for ranks on several hosts;
 * UNAVAILABLE without a device; NO_MEMORY; DEVICE; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_register(struct ronde_comm *comm, void *start, uint64_t bytes,
               struct ronde_registration **out_registration, struct ronde_error *error);

/**
 * Ends that on all ranks, which call it alike; waits until pending operations are over. What operations in a captured graph read
 * stays until the communicator is destroyed. Errors, on all ranks: BAD_ARGUMENT for what is not registered, or is in a graph;
 * REJECTED where ranks mean different memory; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_deregister(struct ronde_comm *comm, struct ronde_registration *registration,
                 struct ronde_error *error);

/**
 * Says who moves pending operations of a communicator on: by default the thread, which starts when the first operation is
 * left pending. A call that waits moves its operation on itself in both. Local; waits until pending operations are over.
 * Errors: BAD_ARGUMENT; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_comm_progress(struct ronde_comm *comm,
                                                                 enum ronde_progress progress,
                                                                 struct ronde_error *error);

/** Time limit of later operations that have none of their own; 0 = none, the default. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_timeout(struct ronde_comm *comm, uint64_t timeout_ns, struct ronde_error *error);

/**
 * Has later operations of a collective run a named algorithm instead of the one that ronde chooses; "auto" or NULL gives
 * the choice back. All ranks must call it alike, at the same place among their operations. Waits until pending operations
 * are over. Errors: BAD_ARGUMENT listing the names; UNSUPPORTED with the algorithm's reason; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_choose(struct ronde_comm *comm, enum ronde_collective collective, const char *algorithm,
                  struct ronde_error *error);

/**
 * Has later operations of the schedule's collective, root and sources run it. It must outlive the communicator. All ranks
 * must call it alike, as ronde_comm_choose, which takes it back. Errors: BAD_ARGUMENT for another number of ranks;
 * NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_use_schedule(struct ronde_comm *comm, const struct ronde_schedule *schedule,
                        struct ronde_error *error);

/** Bytes of an algorithm's name, the terminating zero included. */
#define RONDE_ALGORITHM_BYTES 32u

/** Writes the algorithm that the last operation of a communicator ran, "" before the first: for logs and tests. */
RONDE_API void ronde_comm_algorithm(struct ronde_comm *comm, char text[RONDE_ALGORITHM_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
