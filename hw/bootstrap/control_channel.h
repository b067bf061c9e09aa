/**
 * The control channel: a TCP star, rank 0 holds a connection to every other rank. Carries what is rare: allgather of
 * small data, alarms (failures of the communicator), and, once a rank has timed out, status queries.
 *
 * Rank 0 listens, the others connect and send a hello with version, rank and token. A connection with a wrong token,
 * other bytes or none is dropped and noted. The connections stay open: when one ends without a LEAVE frame, its rank is
 * lost, and rank 0 broadcasts that. Belongs to one thread, but for ronde_control_abort.
 */
#ifndef RONDE_HW_BOOTSTRAP_CONTROL_CHANNEL_H
#define RONDE_HW_BOOTSTRAP_CONTROL_CHANNEL_H

#include "ronde/comm.h"

/** First word of a hello, in the sender's byte order: another order reads as another number, and is refused. */
#define RONDE_CONTROL_MAGIC 0x656e64726f6e6472u

/** Version of the wire format between ranks; a hello has the same layout in all of them. */
#define RONDE_CONTROL_VERSION 2u

/** First message on a connection. No version may change its layout, or versions could not be told apart. */
struct ronde_hello {
    uint64_t magic;                /**< RONDE_CONTROL_MAGIC */
    uint32_t wire;                 /**< RONDE_CONTROL_VERSION */
    uint32_t rank;                 /**< of the sender */
    uint32_t ranks;                /**< it expects */
    uint32_t reserved;             /**< 0 */
    char library[24];              /**< version of ronde, zero-padded */
    char token[RONDE_TOKEN_BYTES]; /**< zero-padded */
};

struct ronde_control_channel;

/** What a rank is doing, as it reports it. */
enum ronde_activity {
    RONDE_ACTIVITY_NONE,      /**< it replies, and is in no run */
    RONDE_ACTIVITY_RUN,       /**< it is in a run */
    RONDE_ACTIVITY_ALLGATHER, /**< it is in an allgather */
    RONDE_ACTIVITY_COUNT      /**< number of these */
};

/** waits_for of a rank in a run that waits for peers without knowing which. */
#define RONDE_UNKNOWN_RANK (UINT32_MAX - 1)

/** waits_for of a rank in a run whose messages some peer does not take: one that does not reply, if there is any. */
#define RONDE_SILENT_RANK (UINT32_MAX - 2)

/** Status report of a rank. */
struct ronde_report {
    uint32_t activity;   /**< enum ronde_activity */
    uint32_t waits_for;  /**< a rank, RONDE_UNKNOWN_RANK, RONDE_SILENT_RANK, or RONDE_NONE */
    uint64_t run;        /**< it is in, or was in last */
    uint64_t still_ns;   /**< since its last progress */
    uint32_t is_unbegun; /**< the rank it waits for has not begun the run */
    uint32_t reserved;   /**< 0 */
    char name[96];       /**< of what runs */
    char reason[192];    /**< what stops it, a sentence without its end */
};

/** Fills in this rank's report when it is in no allgather; *out comes zeroed, but for waits_for, which is RONDE_NONE. */
typedef void (*ronde_control_describe)(void *self, struct ronde_report *out);

/**
 * Connects to the other ranks. join->listener, if any, is taken over in every case. Time: O(ranks) at rank 0.
 * Owner: the caller destroys *out_control. Errors: those of ronde_comm_join.
 */
enum ronde_status
ronde_control_create(const struct ronde_join *join, const struct ronde_comm_options *options,
                     const struct ronde_mem *mem, struct ronde_control_channel **out_control,
                     struct ronde_error *error);

/** Closes the listener of a join that comes to nothing, if it has one. */
void ronde_join_close(const struct ronde_join *join);

/** Sends LEAVE and closes; NULL is allowed. */
void ronde_control_destroy(struct ronde_control_channel *control);

/** Gathers bytes of all ranks, in order of ranks. Collective. Errors: TIMEOUT, DEVICE naming a rank; those of a failed channel. */
enum ronde_status ronde_control_allgather(struct ronde_control_channel *control, const void *mine,
                                          size_t bytes, void *out_all, struct ronde_error *error);

/** Polls for alarms; rank 0 also forwards them. Never blocks. Errors: DEVICE naming a lost rank; those of an alarm. */
enum ronde_status ronde_control_check(struct ronde_control_channel *control,
                                      struct ronde_error *error);

/** How long the channel is polled for the cause after a message to or from a rank has failed, ns. */
#define RONDE_CONTROL_GRACE_NS 3e8

/** The same, waiting at most wait_ns for alarms. */
enum ronde_status ronde_control_linger(struct ronde_control_channel *control, double wait_ns,
                                       struct ronde_error *error);

/** Checks for a recorded failure or a requested abort, without a system call. */
enum ronde_status ronde_control_known(struct ronde_control_channel *control,
                                      struct ronde_error *error);

/** Fails the communicator on all ranks with this error. Best effort: ranks that have left get nothing. */
void ronde_control_alarm(struct ronde_control_channel *control, const struct ronde_error *why);

/**
 * Progress hook: what else a rank drives while it waits on the channel. Called before each wait, it returns a
 * descriptor that becomes readable when the hook must run again, -1 to run again at once, or one of the following. NULL
 * = nothing.
 */
typedef int (*ronde_control_progress_hook)(void *self);

/** The hook must run again within a millisecond. */
#define RONDE_CONTROL_SOON (-2)

/** The hook need not run again in this wait. */
#define RONDE_CONTROL_LATER (-3)

/** Sets the progress hook. */
void ronde_control_set_progress_hook(struct ronde_control_channel *control,
                                     ronde_control_progress_hook progress_hook, void *self);

/** Sets the callback that fills in this rank's reports; NULL: it is in no run. */
void ronde_control_set_describe(struct ronde_control_channel *control,
                                ronde_control_describe describe, void *self);

/**
 * The time limit limit_ns has passed: diagnoses which rank all others wait for, and broadcasts it. Takes half a second
 * where a rank does not reply, a second where that is rank 0. Always fails: TIMEOUT naming that rank, or an alarm
 * received before.
 */
enum ronde_status ronde_control_timed_out(struct ronde_control_channel *control, double limit_ns,
                                          struct ronde_error *error);

/** Sets the time limit of allgathers from now on; 0 = RONDE_COMM_TIMEOUT_NS. */
void ronde_control_set_timeout(struct ronde_control_channel *control, uint64_t timeout_ns);

/** From any thread: deadline of the allgather under way, or else of the next one, a point of ronde_clock_ns. */
void ronde_control_hurry(struct ronde_control_channel *control, double deadline_ns);

/** Requests an alarm from any thread; the next check, allgather or run raises it. */
void ronde_control_abort(struct ronde_control_channel *control);

/** Whether a rank is known to have left; only rank 0 knows it of all, the others of rank 0. */
bool ronde_control_has_left(const struct ronde_control_channel *control, uint32_t rank);

/** The address under which peers reach this rank, as far as its connections show it. */
void ronde_control_host(const struct ronde_control_channel *control, char *text, size_t bytes);

#endif
