/**
 * The paths of messages: rings in a host's shared memory (shm.c) and UCX (hw/ucx/p2p_net.c).
 */
#ifndef RONDE_HW_P2P_PATH_H
#define RONDE_HW_P2P_PATH_H

#include "hw/comm/comm_parts.h"
#include "hw/p2p/state.h"

/** Prepares a communicator's messages: memory of this rank alone. Before its transport is opened. Errors: NO_MEMORY. */
enum ronde_status ronde_p2p_open(struct ronde_comm *comm, struct ronde_error *error);

/** Sends the control messages that are still queued, for at most a second; before the transport is closed. */
void ronde_p2p_leave(struct ronde_comm *comm);

/** Releases what open took; after the transport is closed. */
void ronde_p2p_close(struct ronde_comm *comm);

/** Numbers the ranks of this host and chooses the length of their rings. */
void ronde_p2p_shm_plan(struct ronde_p2p_state *state);

/** Bytes of a host's shared memory that its rings take, the same on all of its ranks. */
uint64_t ronde_p2p_shm_bytes(const struct ronde_comm *comm);

/** Sets where they are, zeroed, at a multiple of 128; no rank posts before all ranks have done so. */
void ronde_p2p_shm_attach(struct ronde_comm *comm, unsigned char *start);

/** Sets the flag that this rank has left; before the memory is unmapped. Nothing happens if none was attached. */
void ronde_p2p_shm_detach(struct ronde_comm *comm);

/** Finds a new peer's rings. */
void ronde_p2p_shm_add_peer(struct ronde_p2p_peer *peer);

/** Posts a send. */
void ronde_p2p_shm_send(struct ronde_p2p *send);

/** Begins to fetch the data of the message that a receive was matched with. */
void ronde_p2p_shm_fetch(struct ronde_p2p *receive);

/** Publishes to a sender what was received of its window. */
void ronde_p2p_shm_return(struct ronde_p2p_peer *peer);

/** What the receiver has published of that. */
uint64_t ronde_p2p_shm_credited(const struct ronde_p2p_peer *peer);

/** Cancels a receive that is being fetched. */
void ronde_p2p_shm_cancel(struct ronde_p2p *receive);

/** Whether ranks whose rings are not polled yet have written to them. */
bool ronde_p2p_shm_has_new_writers(const struct ronde_p2p_state *state);

/** One round: accepts, reads, writes. True if something has moved. */
bool ronde_p2p_shm_round(struct ronde_p2p_state *state);

/** Whether a rank of this host has left. */
bool ronde_p2p_shm_has_left(const struct ronde_p2p_state *state, uint32_t rank);

/** A rank of this host that something waits for and that has left; NULL: none. */
const struct ronde_p2p_peer *ronde_p2p_shm_lost(const struct ronde_p2p_state *state);

/** Messages over UCX. Called for communicators that use it alone. */
struct ronde_p2p_net {
    /** Makes the UCX endpoint of a peer, if there is none. Errors: DEVICE naming the rank. */
    enum ronde_status (*connect)(struct ronde_p2p_peer *peer, struct ronde_error *error);

    /** Posts a send to UCX. */
    void (*send)(struct ronde_p2p *send);

    /** Begins to fetch the data of the message that a receive was matched with. */
    void (*fetch)(struct ronde_p2p *receive);

    /** Notes that credit is due to a sender, for what was received of its window. */
    void (*give_back)(struct ronde_p2p_peer *peer);

    /** One round: sends credits, polls UCX. True if something has moved. */
    bool (*round)(struct ronde_p2p_state *state);

    /** A rank that something waits for and that UCX has lost, with its reason; NULL: none. */
    const struct ronde_p2p_peer *(*lost)(const struct ronde_p2p_state *state,
                                         const char **out_reason);

    /** After a failure: makes UCX release the buffers it has. */
    void (*abort)(struct ronde_p2p_state *state);
};

/** Empty in a build without UCX. */
extern const struct ronde_p2p_net ronde_p2p_net;

#endif
