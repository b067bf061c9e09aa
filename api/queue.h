/**
 * The operations of one communicator: those pending, in the order of the calls, and what running them needs.
 *
 * One thread at a time *drives* a communicator: it alone runs programs on it. Who calls and waits drives it, and so does the
 * progress thread (progress.h) while no thread does. Driving is a flag under the lock, and the lock is not held meanwhile, so
 * other threads may append operations and look at requests at any time. Loading a program blocks until the other ranks come,
 * who may first wait for this rank in another communicator; so pending operations are loaded by a thread of their own.
 */
#ifndef RONDE_API_QUEUE_H
#define RONDE_API_QUEUE_H

#include "api/thread.h"
#include "cache.h"

/** How far an operation is. */
enum ronde_request_stage {
    RONDE_STAGE_WAITING,   /**< it has not begun, or its next part has not */
    RONDE_STAGE_RUNNING,   /**< its program runs */
    RONDE_STAGE_AGREEING,  /**< the longest block of all ranks is being found out */
    RONDE_STAGE_IN_STREAM, /**< it is in a stream of the caller's */
    RONDE_STAGE_OVER       /**< it has a status */
};

/** See ronde/ronde.h. */
struct ronde_request {
    struct ronde_queue *queue;
    struct ronde_request *next;     /**< pending after it; else in a list of its kind */
    struct ronde_request *previous; /**< of a message that was posted */
    struct ronde_call call; /**< with tables of a single block, and the factor, copied below */
    struct ronde_blocks blocks[2]; /**< in, out */
    uint64_t single[2][2];         /**< count and offset of a single block, in and out */
    void *pointer[2];              /**< its start */
    unsigned char factor[8];
    double deadline_ns; /**< atomic; 0 = none. A caller that waits may bring it forward */
    uint64_t order;     /**< of the call among those pending, messages aside */
    struct ronde_request *limit_before; /**< in the list of limits.c, under the lock */
    struct ronde_request *limit_after;  /**< likewise */
    bool is_limit;                      /**< likewise: it is in the list */
    enum ronde_request_stage
        stage; /**< of the driving thread until it is OVER; then atomic, and under the lock */
    uint32_t references;          /**< under the lock: the user's and the queue's */
    bool is_message;              /**< a send or receive, beside the queue: call says its buffer */
    bool is_send;                 /**< of a message */
    uint32_t peer;                /**< likewise, or RONDE_ANY_RANK */
    uint64_t tag;                 /**< likewise */
    struct ronde_p2p *p2p;        /**< likewise, once it was posted */
    struct ronde_p2p_status came; /**< likewise, once it is over */
    struct ronde_stream_launch *launch; /**< of an operation in a stream: what was enqueued, NULL = nothing */
    uint64_t mark;                      /**< of its launch's: when that is past, it is over */
    bool is_waited;                     /**< of a group, at whose end it is waited for */
    uint32_t *out_source; /**< of one of these: where the rank goes whose message came, or NULL */
    struct ronde_request *beside; /**< the next of these */
    ronde_complete callback;      /**< under the lock; NULL = none, or called */
    void *callback_self;
    struct ronde_error error; /**< of an operation that failed */
};

/** The queue that a thread has entered, or loads for, and how often: what it then calls enters again. */
struct ronde_queue_visit {
    struct ronde_queue *queue; /**< NULL = none */
    uint32_t depth;
};

/** What is kept for a communicator. */
struct ronde_queue {
    struct ronde_attachment attachment; /**< first: the communicator knows the queue by it */
    struct ronde_comm *comm;
    const struct ronde_mem *mem;
    uint32_t rank;
    uint32_t ranks;
    uint32_t generation; /**< of the process that made it (ronde_process_generation) */
    struct ronde_lock lock;
    uint32_t references; /**< atomic: the communicator's and requests' */
    uint32_t helpers;    /**< atomic: threads of the library that are in it */
    bool is_driven;      /**< under the lock */
    bool is_polled;      /**< under the lock: by the progress thread */
    bool is_loading;     /**< under the lock: a thread loads a program for the first operation */
    bool is_closed;      /**< under the lock: the communicator is destroyed */
    uint32_t waiters;    /**< under the lock, read without: threads that want to drive it */
    struct ronde_request *first; /**< pending; written under the lock, read without by who drives */
    struct ronde_request *last;
    uint32_t on_host; /**< atomic: pending operations that are in no stream; written under the lock */
    struct ronde_request *fresh;  /**< under the lock, looked at without: messages to be posted */
    struct ronde_request *newest; /**< under the lock: the last of these */
    struct ronde_request *posted; /**< of who drives or loads: messages under way */
    struct ronde_request *recent; /**< likewise: the last of these */
    uint32_t messages;            /**< atomic: in both lists; written under the lock */
    uint32_t idle;                /**< of who drives: turns in which nothing moved */
    bool is_tended; /**< of who drives: messages are moved on while a collective call waits */
    struct ronde_queue_visit outer; /**< of who has entered: which queue it was inside before */
    struct ronde_request *spare;    /**< under the lock: requests to be used again */
    struct ronde_request *called;   /**< under the lock: over, their callbacks still to be called */
    struct ronde_error failure;     /**< of the communicator; of who drives */
    enum ronde_progress progress;
    uint64_t timeout_ns;  /**< under the lock */
    uint64_t earliest_ns; /**< atomic: deadline of any pending operation, 0 = none */
    uint64_t calls;       /**< under the lock: operations ever pending */
    struct ronde_request
        *first_limit; /**< under the lock: the operation with the earliest deadline (limits.c) */
    struct ronde_request *last_limit; /**< likewise: the last of the list it begins */
    uint64_t looks; /**< of who drives, or under the lock: pending operations looked at for limits and ends, for tests */
    uint64_t message_ns; /**< atomic: no message has an earlier deadline, 0 = none has one; written under the lock */
    uint64_t applied_ns; /**< of who drives: the same, as far as the running program knows it */
    bool uses_thread;    /**< under the lock: it counts among the progress thread's */
    struct ronde_cache cache;
    void **in;                             /**< per rank; this one's alone is looked at */
    void **out;                            /**< likewise */
    struct ronde_blocks *in_blocks;        /**< the same of tables; NULL until one is used */
    struct ronde_blocks *out_blocks;       /**< likewise */
    unsigned char *factors;                /**< the same of factors, 8 bytes per rank */
    struct ronde_comm_program *running;    /**< of who drives; NULL = none */
    struct ronde_call agreement;           /**< what finds out the longest block */
    uint64_t agreed[2];                    /**< of this rank, of all */
    char algorithm[RONDE_ALGORITHM_BYTES]; /**< of who drives: what ran last */
    struct ronde_streams *streams;         /**< of the communicator's device; NULL = it has none */
    struct ronde_kind load_kind;           /**< of the loading thread */
    enum ronde_status load_status;         /**< likewise */
    struct ronde_error load_error;         /**< likewise */
    struct ronde_queue *next;              /**< of progress.c, under its lock */
    struct ronde_queue *previous;
    struct ronde_progress_list *list; /**< which it is in, or NULL */
};

/** The queue of a communicator; made where there is none. Errors: NO_MEMORY. */
enum ronde_status ronde_queue_of(struct ronde_comm *comm, struct ronde_queue **out_queue,
                                 struct ronde_error *error);

/**
 * Whether a queue is that of the process which this one was forked from: its locks may be held by threads that are not here,
 * and what is pending is not this process's to move on.
 */
static inline bool ronde_queue_is_foreign(const struct ronde_queue *queue)
{
    return queue->generation != ronde_process_generation();
}

/** Fails with what is then said. */
enum ronde_status ronde_queue_refuse_child(const struct ronde_queue *queue,
                                           struct ronde_error *error);

/** Takes a reference of a queue that has another reference. */
void ronde_queue_hold(struct ronde_queue *queue);

/** A thread of the library works on the queue, until it goes: so long its communicator's destruction waits. */
void ronde_queue_acquire_helper(struct ronde_queue *queue);

/** The end of that, and the last the thread has to do with the queue. Without the lock. */
void ronde_queue_release_helper(struct ronde_queue *queue);

/** Gives a reference back; after the last the queue is gone. Without the lock. */
void ronde_queue_release(struct ronde_queue *queue);

/** Runs a call on the calling thread if nothing is pending; false: something is, and nothing was done. */
bool ronde_queue_run(struct ronde_queue *queue, const struct ronde_call *call,
                     enum ronde_status *out_status, struct ronde_error *error);

/** Makes a request of a call, not pending yet. Errors: NO_MEMORY; DEVICE where the progress thread cannot start. */
enum ronde_status ronde_queue_take(struct ronde_queue *queue, const struct ronde_call *call,
                                   struct ronde_request **out_request, struct ronde_error *error);

/** Appends a request: it is pending from now on. */
void ronde_queue_append(struct ronde_request *request);

/** Moves a queue on once, unless another thread drives it. `alone`: as long as nothing else needs the calling thread. */
bool ronde_queue_poll(struct ronde_queue *queue, bool alone);

/** Under the lock: drops the user's reference or the queue's; the caller releases the queue after the lock if true. */
bool ronde_request_drop(struct ronde_request *request);

/** Waits for a request to be over. */
void ronde_queue_await(struct ronde_request *request);

/** How far a request is. */
static inline enum ronde_request_stage ronde_request_stage_of(const struct ronde_request *request)
{
    return __atomic_load_n(&request->stage, __ATOMIC_ACQUIRE);
}

/** Sets it; of who drives, or under the lock. */
static inline void ronde_request_set_stage(struct ronde_request *request,
                                           enum ronde_request_stage stage)
{
    __atomic_store_n(&request->stage, stage, __ATOMIC_RELEASE);
}

/** Whether a request is over. */
static inline bool ronde_request_is_over(const struct ronde_request *request)
{
    return ronde_request_stage_of(request) == RONDE_STAGE_OVER;
}

/** When a request has to be over; 0 = no limit. */
static inline double ronde_request_deadline_of(const struct ronde_request *request)
{
    double deadline_ns;
    __atomic_load(&request->deadline_ns, &deadline_ns, __ATOMIC_RELAXED);
    return deadline_ns;
}

/** Sets it; under the lock, or before another thread knows the request. */
static inline void ronde_request_set_deadline(struct ronde_request *request, double deadline_ns)
{
    __atomic_store(&request->deadline_ns, &deadline_ns, __ATOMIC_RELAXED);
}

/** Whether a thread loads a program for the first operation. */
static inline bool ronde_queue_is_loading(const struct ronde_queue *queue)
{
    return __atomic_load_n(&queue->is_loading, __ATOMIC_ACQUIRE);
}

/** The earliest deadline of any pending operation, 0 = none. */
static inline double ronde_queue_earliest(const struct ronde_queue *queue)
{
    return (double)__atomic_load_n(&queue->earliest_ns, __ATOMIC_RELAXED);
}

/** Ends what is pending, and all use of the communicator. */
void ronde_queue_close(struct ronde_queue *queue);

/** Says for the calling thread that it is inside a queue; returns what was said before, to be said again. */
struct ronde_queue_visit ronde_queue_set_inside(struct ronde_queue_visit now);

/**
 * Waits until nothing is pending, operations in streams aside where these may be, and drives the queue: until
 * ronde_queue_leave no other thread does.
 */
void ronde_queue_enter(struct ronde_queue *queue, bool besides_streams);

/**
 * While a call of this thread waits for other ranks: moves on messages of the queue that it is inside, and the queues that
 * callers drive, unless it is a thread of the library; whether it wants to be called again soon.
 */
bool ronde_queue_progress(void);

/** The end of that. */
void ronde_queue_leave(struct ronde_queue *queue);

/** Under the lock: gives a request an earlier deadline. */
void ronde_queue_set_deadline(struct ronde_request *request, double deadline_ns);

/* Of the thread that drives. */

/** Meets the other ranks and loads a program for a kind; blocks. Errors: those of ronde_cache_load. */
enum ronde_status ronde_queue_load(struct ronde_queue *queue, const struct ronde_kind *kind,
                                   struct ronde_error *error);

/** The end of loading by a thread of its own: the first operation may begin, or has failed. Without the lock. */
void ronde_queue_end_load(struct ronde_queue *queue, enum ronde_status status,
                          const struct ronde_error *error);

/** Moves on what is pending; returns whether that made a difference. While nothing is loaded. */
bool ronde_queue_advance(struct ronde_queue *queue);

/** The first operation is over. Without the lock. */
void ronde_queue_end_first(struct ronde_queue *queue, enum ronde_status status,
                           const struct ronde_error *error);

/** Moves the running program on; *out_done: it is over, well or not. Errors: the run's. */
enum ronde_status ronde_queue_move_run(struct ronde_queue *queue, bool *out_done,
                                       struct ronde_error *error);

/** Waits a moment, after a turn in which nothing moved. */
void ronde_queue_rest(struct ronde_queue *queue);

/** Loads a program if it has to, and runs it to its end. Errors: those of both. */
enum ronde_status ronde_queue_run_here(struct ronde_queue *queue, const struct ronde_call *call,
                                       uint64_t count, double deadline_ns,
                                       struct ronde_error *error);

/** Appends an operation that is in a stream. Without the lock. */
void ronde_queue_append_stream(struct ronde_request *request);

/** After a turn in which nothing moved: moves other queues on, or waits a moment. */
void ronde_queue_idle(struct ronde_queue *queue);

/** Lets others drive, and calls back for what is over meanwhile. */
void ronde_queue_stop_driving(struct ronde_queue *queue);

/** A request is over: the queue is done with it. Of who drives or loads, without the lock; it is in no list any more. */
void ronde_queue_end(struct ronde_request *request, enum ronde_status status,
                     const struct ronde_error *error);

/** Whether there are messages. */
static inline bool ronde_queue_has_messages(const struct ronde_queue *queue)
{
    return __atomic_load_n(&queue->messages, __ATOMIC_RELAXED) > 0;
}

/* limits.c, under the lock */

/** A pending operation has a deadline, or an earlier one than before. */
void ronde_queue_add_limit(struct ronde_request *request);

/** An operation is no longer pending. */
void ronde_queue_drop_limit(struct ronde_request *request);

/* message.c, under the lock */

/** A message has a deadline, or an earlier one than before. */
void ronde_queue_limit_message(struct ronde_request *request);

/* group.c */

/** Whether a request is of the group that this thread has open. */
bool ronde_group_holds(const struct ronde_request *request);

/** A send or receive as `kind` says: pending, in the open group, or waited for where out_request is NULL. */
enum ronde_status ronde_queue_start_message(struct ronde_queue *queue, const struct ronde_call *call,
                                            const struct ronde_request *kind,
                                            struct ronde_request **out_request,
                                            uint32_t *out_source, struct ronde_error *error);

/* message.c: of the thread that drives or loads. */

/** Under the lock: appends a send or receive to what is to be posted. */
void ronde_queue_add_message(struct ronde_request *request);

/** Posts and moves on all messages; returns whether one is over. */
bool ronde_queue_move_messages(struct ronde_queue *queue);

/** Ends all messages with an error. */
void ronde_queue_end_messages(struct ronde_queue *queue, const struct ronde_error *why);

/* launch.c: of the thread that drives. */

/** Fills in the launch of a call whose blocks have `count` elements; tables are the queue's. Errors: NO_MEMORY. */
enum ronde_status ronde_queue_fill_launch(struct ronde_queue *queue, const struct ronde_call *call,
                                          uint64_t count, struct ronde_launch *launch,
                                          struct ronde_error *error);

/** Starts a loaded program for a call whose blocks have `count` elements. Errors: those of ronde_comm_run. */
enum ronde_status ronde_queue_launch(struct ronde_queue *queue,
                                     const struct ronde_cached_program *kept,
                                     const struct ronde_call *call, uint64_t count,
                                     double deadline_ns, struct ronde_error *error);

/** Whether a call of blocks of `count` elements moves nothing. */
static inline bool ronde_call_is_empty(const struct ronde_call *call, uint64_t count)
{
    return count == 0 && call->collective != RONDE_BARRIER;
}

/** What finds out the longest block: an all_reduce of the longest of this rank's. */
const struct ronde_call *ronde_queue_agreement(struct ronde_queue *queue,
                                               const struct ronde_call *call);

/** The time limit for what a queue does collectively from now on. */
void ronde_queue_limit(struct ronde_queue *queue, double deadline_ns);

/** After a failure: keeps it if it is the communicator's. */
void ronde_queue_note(struct ronde_queue *queue);

/** Fails with the communicator's failure. */
enum ronde_status ronde_queue_failed(const struct ronde_queue *queue, struct ronde_error *error);

#endif
