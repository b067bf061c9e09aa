/**
 * For libraries built on communicators (api/): state that belongs to one, and control that ronde/comm.h does not offer.
 */
#ifndef RONDE_ATTACH_H
#define RONDE_ATTACH_H

#include "ronde/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a library keeps with a communicator; embedded in its own struct. */
struct ronde_attachment {
    /** Called by ronde_comm_destroy before anything else, in the process that made the communicator: ends all use of it. */
    void (*close)(struct ronde_attachment *self);
    /** Called by ronde_comm_split, ronde_comm_allgather, ronde_comm_load and ronde_comm_unload: waits until the library does
     * not use the communicator, and keeps it from doing so until leave. */
    void (*enter)(struct ronde_attachment *self);
    /** Called when that function is over. */
    void (*leave)(struct ronde_attachment *self);
};

/**
 * Has a hook called again and again while a call waits for other ranks on the control channel of any communicator, or to
 * join one, by the thread that waits: it moves on what must not stand still meanwhile, and returns whether it wants to be
 * called again within a millisecond. One per process.
 */
RONDE_API void ronde_comm_set_wait_hook(bool (*hook)(void));

/**
 * A number of this process: another one than in any process that it was forked from, and in any that is forked from it. Costs
 * no system call. From any thread.
 */
RONDE_API uint32_t ronde_process_generation(void);

/** Refuses NULL, and a communicator of the process that this one was forked from. Errors: BAD_ARGUMENT saying which. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_comm_check_process(const struct ronde_comm *comm,
                                                                      struct ronde_error *error);

/** The attachment of a communicator; NULL before there is one. From any thread. */
RONDE_API struct ronde_attachment *ronde_comm_attachment(const struct ronde_comm *comm);

/** Attaches, unless another thread has done so before: returns the one that is attached. */
RONDE_API struct ronde_attachment *ronde_comm_attach(struct ronde_comm *comm,
                                                     struct ronde_attachment *attachment);

/** The allocator that the communicator was made with. */
RONDE_API const struct ronde_mem *ronde_comm_allocator(const struct ronde_comm *comm);

/** Limit of collective calls but runs that begin from now on; 0 = that of the options. Of the communicator's thread. */
RONDE_API void ronde_comm_limit(struct ronde_comm *comm, uint64_t timeout_ns);

/**
 * Gives a running program, or the collective call that is under way on its communicator, a time (of ronde_clock_ns) at
 * which it fails with TIMEOUT; 0 = none. Of the communicator's thread.
 */
RONDE_API void ronde_comm_limit_run(struct ronde_comm_program *program, double deadline_ns);

/** Brings the end of a collective call that is under way in another thread forward to a time of ronde_clock_ns. */
RONDE_API void ronde_comm_hurry(struct ronde_comm *comm, double deadline_ns);

/** Waits a moment for a run that ronde_comm_test has just found not to be over, as ronde_comm_wait does. */
RONDE_API void ronde_comm_run_rest(struct ronde_comm_program *program);

/**
 * Says whether the thread that makes the next calls runs beside others of the program, which may be computing: it then sleeps
 * where it has to wait, instead of polling and yielding the processor. Of the communicator's thread.
 */
RONDE_API void ronde_comm_set_background(struct ronde_comm *comm, bool is_background);

/** Passes one line to the communicator's note (ronde_comm_options); nothing where it has none. */
RONDE_API void ronde_comm_note(const struct ronde_comm *comm, const char *text);

/** Ends a communicator on all ranks with an error of the caller's, which every call then returns. */
RONDE_API void ronde_comm_fail(struct ronde_comm *comm, const struct ronde_error *why);

/** The error that the communicator has ended with; OK while it has not. Never blocks. Of the communicator's thread. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_comm_failure(struct ronde_comm *comm,
                                                                struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
