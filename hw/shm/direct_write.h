/**
 * Direct writes (push) between processes: the sender stores a message at its final place in the receiver's memory.
 *
 * The interpreter needs of a receiver what engine/execute/zero_copy.h reads: its lanes' progress, what others have yet to
 * read of it, and the addresses of its buffers. So lanes of processes count in shared memory; a sender loads the receiver's
 * part of the schedule once more, as a replica whose connections and counters are the receiver's own; and with its
 * handshake record a rank publishes where its buffers are, if they are registered. No rank writes to another before that
 * one has begun the same run and has published its buffers.
 *
 * After a failed run some ranks may not have received the failure yet and still write. They write into registered memory
 * they have mapped, which outlives its owner; and the owner allocates nothing from it any more
 * (ronde_registered_memory_freeze), so such a write never hits a new block.
 */
#ifndef RONDE_HW_SHM_DIRECT_WRITE_H
#define RONDE_HW_SHM_DIRECT_WRITE_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ronde_act;
struct ronde_shm_layout;
struct ronde_comm_program;
struct ronde_habits;
struct ronde_launch;
struct ronde_offer;
struct ronde_remote_read;
struct ronde_schedule;
struct ronde_receiver_replica;
struct ronde_remote_end;
struct ronde_published_buffers;

/** What a program needs to push. */
struct ronde_direct_write {
    struct ronde_published_buffers *published; /**< of all ranks; NULL where no memory is shared */
    const struct ronde_shm_layout *layout;
    struct ronde_remote_read *remote;
    bool has_results;                        /**< ranks send sums that are stored as they are */
    struct ronde_receiver_replica *replicas; /**< of receivers, by peer; NULL until a run pushes */
    struct ronde_remote_end *remote_ends;    /**< by connection end of the own part; likewise */
    uint64_t digest;                         /**< of the run's handshake record with offers = 0 */
};

/** Bytes that the ranks of a host share for it; the same on all ranks. */
uint64_t ronde_direct_write_bytes(const struct ronde_schedule *schedule);

/** Lets a program push: zeroed shared memory, where its lanes count from now on and buffers are published. */
void ronde_direct_write_open(struct ronde_comm_program *program, unsigned char *start,
                             const struct ronde_shm_layout *layout,
                             struct ronde_remote_read *remote);

/** Decides whether a launch whose buffers others may write is pushed, and from which share of a chunk on. */
void ronde_direct_write_decide(const struct ronde_comm_program *program,
                               const struct ronde_launch *launch, struct ronde_habits *io_habits);

/** Prepares for runs like the current one, whose handshake record is filled in. Errors: NO_MEMORY. */
enum ronde_status ronde_direct_write_prepare(struct ronde_comm_program *program,
                                             struct ronde_error *error);

/** Publishes this rank's buffers; before its handshake record. */
void ronde_direct_write_publish(const struct ronde_comm_program *program);

/** RONDE_REMOTE_END (engine/execute/machine.h): NULL until the receiver has published its buffers for this run. */
const struct ronde_remote_end *ronde_direct_write_remote_end(const struct ronde_act *act);

/** RONDE_SEEN (engine/execute/machine.h): where an offer of a rank that this one pushes to is mapped here, or NULL. */
const unsigned char *ronde_direct_write_seen(const struct ronde_act *act,
                                             const struct ronde_offer *offer);

/** Releases what prepare took. */
void ronde_direct_write_close(struct ronde_comm_program *program);

#endif
