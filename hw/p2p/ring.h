/**
 * Rings in a host's shared memory: slots from one rank to another, written by the one, read in order by the other.
 *
 * A slot's number is written last, so a reader that reads it can read all of it; the reader's count shows the writer which
 * slots are free. Pages that no message ever lies in are never touched, and so cost nothing.
 */
#ifndef RONDE_HW_P2P_RING_H
#define RONDE_HW_P2P_RING_H

#include <stdint.h>

/** Alignment without false sharing between two cores. */
#define RONDE_P2P_ALIGNMENT 128u

/** What a slot holds. */
enum ronde_p2p_slot_kind {
    RONDE_P2P_SLOT_EAGER, /**< a whole message */
    RONDE_P2P_SLOT_OFFER, /**< the envelope of one that is read in its sender's memory: struct ronde_p2p_pair */
    RONDE_P2P_SLOT_CLEAR, /**< the receiver cannot read it: struct ronde_p2p_pair of send and receive */
    RONDE_P2P_SLOT_PART,     /**< the next bytes of it, for the receive in tag */
    RONDE_P2P_SLOT_FINISHED, /**< the send in tag is done */
};

/** A slot, before its data. */
struct ronde_p2p_slot {
    uint64_t number; /**< atomic, written last: slots of the ring up to and including this one */
    uint64_t tag;    /**< of the message, or a cookie */
    uint64_t bytes;  /**< of the message, or of the part */
    uint32_t kind;   /**< enum ronde_p2p_slot_kind */
    uint32_t padding;
};

/** Two words in a slot's data. */
struct ronde_p2p_pair {
    uint64_t first;  /**< OFFER: address of the data; CLEAR: cookie of the send */
    uint64_t second; /**< OFFER: cookie of the send; CLEAR: cookie of the receive */
};

/** A ring, before its slots; written by the reader. */
struct ronde_p2p_ring {
    uint64_t freed;    /**< atomic: slots ever read */
    uint64_t returned; /**< atomic: eager bytes ever received, as the window counts them */
    uint64_t padding[14];
};

/** Flags of a rank that the ranks of its host read and write. */
struct ronde_p2p_flags {
    uint32_t has_new_writers; /**< atomic: a ring that this rank does not poll yet was written */
    uint32_t has_left;        /**< atomic */
    uint32_t padding[30];
};

#endif
