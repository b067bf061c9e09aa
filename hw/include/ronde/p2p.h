/**
 * Tagged messages from one rank of a communicator to another, beside its collectives.
 *
 * A message is sent to one rank and has a tag of 64 bits. A receive names a tag and a source, or RONDE_ANY_RANK.
 * Matching follows MPI: messages of one rank to another with equal tags are received in the order in which they were
 * posted; receives that match the same message are served in the order in which they were posted. Messages with
 * different tags, or from different ranks, are independent: one that is not received yet never delays another.
 *
 * Short messages are eager: they are copied out of the sender's buffer at once and are buffered at the receiver until
 * they are received. Longer ones stay in the sender's buffer (rendezvous) until they are received, and so do short ones
 * once RONDE_P2P_WINDOW_BYTES from one rank to another have not been received: the library's memory is bounded by that
 * window and by what is posted. A send therefore may or may not end before its receive is posted.
 *
 * When a rank destroys its communicator, its sends that are not done are lost. Sends to that rank and receives from it
 * then fail with an error that names it; a receive from any rank still waits for the others, and fails once all of them
 * have left. Of ranks on other hosts rank 0 alone learns that they have left: elsewhere a time limit has to end it.
 *
 * Any number of sends and receives may be outstanding, while collectives run on the same communicator and while none
 * does. Nothing here blocks but ronde_comm_p2p_rest and, where said, ronde_p2p_release. Messages move when the
 * communicator is used: in ronde_p2p_test and ronde_comm_p2p_progress, and in ronde_comm_test and ronde_comm_wait of a
 * run. Buffers are memory of the host, registered (ronde_comm_mem) or not; memory of a GPU is not read or written.
 *
 * Threads: as for the communicator, one at a time, but for functions whose comment allows others. In a process forked
 * since the communicator was made every function returns an error or does nothing.
 */
#ifndef RONDE_P2P_H
#define RONDE_P2P_H

#include "ronde/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Source of a receive that matches messages of its tag from every rank, this one included. */
#define RONDE_ANY_RANK (UINT32_MAX - 1)

/** Eager messages of one rank to another that have not been received, bytes; short messages count as 64 bytes more. */
#define RONDE_P2P_WINDOW_BYTES 524288u

/** A send or a receive that was posted. */
struct ronde_p2p;

/** The result of a send or receive. */
struct ronde_p2p_status {
    uint32_t source; /**< rank that sent the message; of a send this rank */
    bool is_truncated; /**< of a receive: the message was longer than the buffer, which holds none of it */
    uint64_t tag;   /**< of the message */
    uint64_t bytes; /**< length of the message, also where it was longer than the buffer */
};

/**
 * Posts a message of `bytes` bytes to a rank, which may be this one. The buffer must stay as it is until the send is
 * done. buffer may be NULL where bytes is 0.
 *
 * Owner: the caller releases *out_p2p. Errors: NO_MEMORY; BAD_ARGUMENT for a rank that does not exist, or a buffer that
 * is NULL; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_send_post(struct ronde_comm *comm, const void *buffer, uint64_t bytes, uint32_t peer,
                     uint64_t tag, struct ronde_p2p **out_p2p, struct ronde_error *error);

/**
 * Posts a receive of a message of at most `bytes` bytes from a rank, or from RONDE_ANY_RANK. Until it is done the
 * buffer must not be accessed; a shorter message leaves the rest of it unchanged. buffer may be NULL where bytes is 0.
 *
 * Owner and errors: as ronde_comm_send_post.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_recv_post(struct ronde_comm *comm, void *buffer, uint64_t bytes, uint32_t peer,
                     uint64_t tag, struct ronde_p2p **out_p2p, struct ronde_error *error);

/**
 * Progresses the communicator's messages. *out_done: the send or receive has ended, in success or failure; *out_status
 * is then filled in and may be NULL. Never blocks. Later calls return the same until it is released.
 *
 * A send is done when its buffer may be used again, whether or not it has been received. Errors, *out_done being true:
 * REJECTED naming both lengths where a message was longer than its receive's buffer (is_truncated): that receive alone
 * has failed, its send is done and the communicator stays usable; the communicator's (a rank lost, an abort, a run that
 * failed), which end everything that is posted. After these the buffers of all that was posted are the caller's again,
 * what receives that were not done hold is undefined.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_p2p_test(struct ronde_p2p *p2p, bool *out_done,
                                                            struct ronde_p2p_status *out_status,
                                                            struct ronde_error *error);

/** Has ronde_comm_p2p_take_ended return `self` once this has ended, or has already. Until it is released. */
RONDE_API void ronde_p2p_watch(struct ronde_p2p *p2p, void *self);

/** Without progress: what one that has ended is watched for, each once; NULL: no other has. A failed communicator tells of none. */
RONDE_API void *ronde_comm_p2p_take_ended(struct ronde_comm *comm);

/**
 * Releases a send or receive. NULL is allowed.
 *
 * A receive that is not done is cancelled: no message will be written to its buffer. If a message has been matched with
 * it, that message is lost and its send succeeds; where UCX is writing such a message there, this waits until UCX has
 * finished or failed. A send that is not done is still delivered: its buffer must stay as it is until the receiver has
 * the message, which the caller has to find out in another way, or until the communicator has failed or is destroyed.
 * Everything must have been released before the communicator is destroyed.
 */
RONDE_API void ronde_p2p_release(struct ronde_p2p *p2p);

/**
 * Progresses all messages of a communicator once. *out_moved: whether any did; may be NULL. Never blocks.
 * Errors: the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_p2p_progress(struct ronde_comm *comm, bool *out_moved, struct ronde_error *error);

/** Sends and receives that are posted and not done, released sends that still have to be delivered included. */
RONDE_API uint64_t ronde_comm_p2p_pending(const struct ronde_comm *comm);

/**
 * Backoff after `idle` polls in a row without progress (ronde_p2p_test, ronde_comm_p2p_progress): at first it pauses
 * the core, then it yields the processor, then it sleeps until a message for this rank arrives, at most some 5 ms,
 * since lost ranks and time limits have to be checked. Call it once between two polls, with idle counted from 1: what
 * arrived before the first sleep is found by one more poll.
 */
RONDE_API void ronde_comm_p2p_rest(struct ronde_comm *comm, uint32_t idle);

/**
 * The same in three parts, for a progress thread that releases the communicator's lock while it sleeps.
 *
 * ronde_comm_sleep_begin, called with the lock, announces that this rank is about to sleep. False: it had not been
 * announced, and something may have arrived; poll once more, and call it again. True: nothing has arrived since the
 * announcement, so ronde_comm_sleep may follow, which may be called without the lock: it sleeps until messages or parts
 * of a run arrive for this rank, until ronde_comm_wake, or for some 5 ms, whichever is first. A later
 * ronde_comm_sleep_begin needs a poll before it.
 */
RONDE_API bool ronde_comm_sleep_begin(struct ronde_comm *comm);

/** See ronde_comm_sleep_begin. One thread at a time; the communicator must not be destroyed meanwhile. */
RONDE_API void ronde_comm_sleep(struct ronde_comm *comm);

/** Ends a sleep of this rank, or the next one if it is only announced. From any thread of the process. */
RONDE_API void ronde_comm_wake(struct ronde_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
