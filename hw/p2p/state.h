/**
 * Tagged messages between ranks: what matching, the rings of shared memory and UCX share. See ronde/p2p.h.
 *
 * One matching engine serves all transports, since a receive from any rank may match a message of each of them: a transport
 * passes it what has arrived (ronde_p2p_arrive) in the order in which its sender posted it, and is called to fetch what
 * waits at the sender. Everything belongs to the thread of the communicator.
 */
#ifndef RONDE_HW_P2P_STATE_H
#define RONDE_HW_P2P_STATE_H

#include "ronde/mem.h"
#include "ronde/p2p.h"

#include <stdint.h>

/* Elements of one length that are reused: allocated in slabs, released when the pool is closed. */

struct ronde_p2p_slab;

/** A pool; elements are aligned for any type. */
struct ronde_p2p_pool {
    const struct ronde_mem *mem;
    size_t element_bytes; /**< a multiple of 16 */
    uint32_t per_slab;
    struct ronde_p2p_slab *slabs; /**< all, linked */
    void *free;                   /**< elements not in use, linked by their first word */
};

/** Makes an empty pool. */
void ronde_p2p_pool_open(struct ronde_p2p_pool *pool, const struct ronde_mem *mem,
                         size_t element_bytes, uint32_t per_slab);

/** An element with undefined contents; NULL without memory. */
void *ronde_p2p_pool_take(struct ronde_p2p_pool *pool);

/** Returns an element to the pool. */
void ronde_p2p_pool_give(struct ronde_p2p_pool *pool, void *element);

/** Releases all elements, those in use included. */
void ronde_p2p_pool_close(struct ronde_p2p_pool *pool);

struct ronde_p2p_peer;
struct ronde_p2p_ring;
struct ronde_p2p_state;

/** A node of a list; the first member of what is listed. A list is circular, with a node of its own. */
struct ronde_p2p_node {
    struct ronde_p2p_node *next;
    struct ronde_p2p_node *previous;
};

/** Makes an empty list, or a node that is in none. */
static inline void ronde_p2p_list_init(struct ronde_p2p_node *list)
{
    list->next = list->previous = list;
}

/** Appends a node to a list. */
static inline void ronde_p2p_list_add(struct ronde_p2p_node *list, struct ronde_p2p_node *node)
{
    node->next = list;
    node->previous = list->previous;
    list->previous->next = node;
    list->previous = node;
}

/** Removes a node from its list, if it is in one. */
static inline void ronde_p2p_list_take(struct ronde_p2p_node *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    ronde_p2p_list_init(node);
}

/** The first of a list; NULL of an empty one. */
static inline void *ronde_p2p_list_first(const struct ronde_p2p_node *list)
{
    return list->next == list ? NULL : list->next;
}

/** The path of messages to and from a rank. */
enum ronde_p2p_path {
    RONDE_P2P_SELF, /**< the rank is this one */
    RONDE_P2P_SHM,  /**< rings in the host's shared memory */
    RONDE_P2P_NET   /**< UCX */
};

/** How far a send or a receive has come. */
enum ronde_p2p_stage {
    RONDE_P2P_POSTED,    /**< a receive without a message; a send whose envelope is not sent yet */
    RONDE_P2P_OFFERED,   /**< a send whose envelope is sent, and whose data wait for the receiver */
    RONDE_P2P_READING,   /**< a receive that reads the sender's memory */
    RONDE_P2P_STREAMING, /**< data go through the ring */
    RONDE_P2P_IN_FLIGHT, /**< UCX holds the buffer */
    RONDE_P2P_DONE       /**< completed, perhaps with truncation */
};

/** What UCX sends before a message; all of it that a receiver matches. */
struct ronde_p2p_envelope {
    uint64_t sequence; /**< of the message among all of its sender to its receiver */
    uint64_t tag;      /**< of the message */
    uint64_t bytes;    /**< of the message */
    uint32_t rank;     /**< of the sender */
    uint32_t is_eager; /**< 1: counts in the window */
};

/** Who wants to know of an end. */
struct ronde_p2p_watch {
    struct ronde_p2p_node node; /**< among those that have ended and nobody has asked about */
    void *self;                 /**< NULL: nobody */
};

/** See ronde/p2p.h. */
struct ronde_p2p {
    struct ronde_p2p_node node; /**< in the list of its stage */
    struct ronde_p2p_watch watch;
    struct ronde_p2p_state *state; /**< of the communicator */
    struct ronde_p2p_peer *
        peer; /**< of a send its receiver; of a receive its source, once it is matched or where it is named */
    bool is_send;
    bool is_released; /**< by the caller: freed when it is done and no transport holds it */
    bool is_held;     /**< by UCX */
    bool needs_net;   /**< only progress of UCX moves it */
    bool needs_any;   /**< a receive from any rank that has not been matched */
    enum ronde_p2p_stage stage;
    uint32_t source;                   /**< of a receive: a rank or RONDE_ANY_RANK */
    unsigned char *buffer;             /**< NULL of a streaming receive whose data are dropped */
    uint64_t bytes;                    /**< of the buffer */
    uint64_t moved;                    /**< of the data */
    uint64_t cookie;                   /**< the other side's handle of its own part */
    struct ronde_p2p_message *message; /**< of a receive: the rendezvous it was matched with */
    struct ronde_p2p_status status;
    struct ronde_p2p_envelope envelope; /**< while UCX sends it */
};

/** Where the data of a message that has arrived are. */
enum ronde_p2p_kind {
    RONDE_P2P_EAGER,     /**< they are here */
    RONDE_P2P_OWN,       /**< in the buffer of a send of this rank */
    RONDE_P2P_SHM_OFFER, /**< in the memory of a process of this host */
    RONDE_P2P_NET_OFFER, /**< UCX fetches them */
};

/** A message that has arrived, or its envelope. */
struct ronde_p2p_arrival {
    enum ronde_p2p_kind kind;
    struct ronde_p2p_peer *peer; /**< whose */
    uint64_t tag;
    uint64_t bytes;   /**< of the message */
    const void *data; /**< EAGER: here; SHM_OFFER: there; NET_OFFER: UCX's descriptor */
    uint64_t cookie;  /**< OWN, SHM_OFFER: the send */
};

/** Bytes of a short unexpected message, which need no buffer. */
#define RONDE_P2P_INLINE_BYTES 128u

/** Lengths of buffers of longer ones; the last is the longest eager message of any transport. */
#define RONDE_P2P_BUFFER_CLASSES 3u
#define RONDE_P2P_MOST_EAGER_BYTES 32768u

/** Control messages to the sender of a rendezvous. */
enum ronde_p2p_control {
    RONDE_P2P_FINISHED, /**< its buffer is free */
    RONDE_P2P_CLEAR     /**< it may stream its data */
};

/** A message that is unexpected, early, or being fetched. */
struct ronde_p2p_message {
    struct ronde_p2p_node node; /**< among unexpected or early messages, or queued control messages */
    struct ronde_p2p_arrival arrival;
    uint64_t sequence; /**< UCX: of the envelope */
    void *buffer;      /**< of a class, or NULL */
    uint32_t buffer_class;
    enum ronde_p2p_control control; /**< while it is queued */
    struct ronde_p2p *receive;      /**< CLEAR: the receive */
    unsigned char inline_data[RONDE_P2P_INLINE_BYTES];
};

/** Lists of receives or of unexpected messages by tag. */
#define RONDE_P2P_BINS 256u

/** Another rank, or this one; made when messages first go to or come from it. */
struct ronde_p2p_peer {
    struct ronde_p2p_node node; /**< among the peers with rings, or with whom UCX is used */
    struct ronde_p2p_state *state;
    uint32_t rank;
    enum ronde_p2p_path path;
    uint64_t waiting;  /**< sends and receives that need this rank */
    uint64_t charged;  /**< eager bytes sent, as the window counts them */
    uint64_t credited; /**< of these received, as last read or received from the peer */
    uint64_t returned; /**< eager bytes of the peer's that were received here */
    /* Rings. */
    struct ronde_p2p_ring *out;
    struct ronde_p2p_ring *in;
    uint64_t out_count; /**< slots ever written */
    uint64_t out_freed; /**< of these read, when the peer's count was last read */
    uint64_t in_count;  /**< slots ever read */
    uint64_t in_woken;  /**< of these, when the sender was last woken if asleep */
    bool is_polled;     /**< the peer polls `out` */
    bool has_posted;    /**< slots were written since the peer was last woken if asleep */
    struct ronde_p2p_node controls; /**< messages that wait for a slot for a control message */
    struct ronde_p2p_node sends;    /**< whose envelopes wait for a slot */
    struct ronde_p2p_node streams;  /**< sends whose data go through the ring */
    /* UCX. */
    uint64_t next_out;                /**< sequence of the next message to it */
    uint64_t next_in;                 /**< and from it */
    struct ronde_p2p_node early;      /**< messages that came before an earlier one, in order */
    uint64_t credit_sent;             /**< of returned, what was sent to it as credit */
    bool is_credit_due;               /**< credit is to be sent to it */
    bool is_sending_credit;           /**< UCX holds `credit` */
    struct ronde_p2p_envelope credit; /**< while UCX sends it; bytes is what was returned */
};

/** A communicator's state of tagged messages. */
struct ronde_p2p_state {
    struct ronde_comm *comm;
    const struct ronde_mem *mem;
    struct ronde_p2p_peer **peers; /**< by rank; NULL: no message yet */
    uint64_t pending;              /**< posted and not done */
    uint64_t unmatched_any; /**< of these, receives from any rank that have not been matched */
    uint64_t busy; /**< receives that read, control messages and streams: what moves without being tested */
    uint64_t credits_due; /**< peers to which credit is to be sent over UCX */
    uint32_t idle;        /**< empty rounds in a row */
    uint32_t rounds;
    bool has_failed;                   /**< nothing moves any more, */
    bool is_over;                      /**< and buffers are the caller's again */
    double lost_ns;                    /**< when a lost rank was first found; 0 = none is */
    struct ronde_p2p_node *posted;     /**< receives by tag */
    struct ronde_p2p_node *unexpected; /**< messages by tag */
    struct ronde_p2p_node ended;       /**< watches */
    struct ronde_p2p_node reading;     /**< receives */
    struct ronde_p2p_node shm_peers;   /**< peers with rings */
    struct ronde_p2p_node net_peers;   /**< peers over UCX */
    struct ronde_p2p_pool requests;
    struct ronde_p2p_pool messages;
    struct ronde_p2p_pool buffers[RONDE_P2P_BUFFER_CLASSES];
    /* Rings. */
    unsigned char *rings; /**< shared memory; NULL: none */
    uint32_t *local_rank; /**< by rank: its index among the host's ranks, or RONDE_NONE */
    uint32_t local_count; /**< ranks of this host */
    uint32_t slot_count;  /**< of a ring */
    uint32_t slot_bytes;  /**< of data */
    /* UCX. */
    uint64_t net_pending; /**< sends and receives that need UCX */
    uint64_t held;        /**< requests that UCX holds */
    uint32_t net_skips;   /**< rounds with nothing pending on UCX; it is polled in some of them */
};

/** The peer of a rank, made by the first call; NULL with the error: NO_MEMORY, DEVICE naming the rank. */
struct ronde_p2p_peer *ronde_p2p_get_peer(struct ronde_p2p_state *state, uint32_t rank,
                                          struct ronde_error *error);

/** Counts a send or receive as needing a peer, or not any more; it does not wait for any rank any more. */
void ronde_p2p_need(struct ronde_p2p *p2p, struct ronde_p2p_peer *peer);

/** Ends a send or receive. */
void ronde_p2p_finish(struct ronde_p2p *p2p);

/** UCX does not hold a send or receive any more: it is freed if it is done and was released. */
void ronde_p2p_transfer_ended(struct ronde_p2p *p2p);

/** What an eager message counts in the window. */
static inline uint64_t ronde_p2p_charge(uint64_t bytes)
{
    return bytes + 64;
}

/** Whether so long a message to a peer may be eager, by the window; it is then charged. */
bool ronde_p2p_may_be_eager(struct ronde_p2p_peer *peer, uint64_t bytes);

/** Gives a receive an unexpected message, or lists it as posted; false if it was listed. */
bool ronde_p2p_match(struct ronde_p2p *receive);

/** Makes the pools of buffers of unexpected messages. */
void ronde_p2p_buffers_open(struct ronde_p2p_state *state);

/**
 * Matches or stores a message that has arrived, in order of its sender's posting. False without memory: nothing was done.
 */
bool ronde_p2p_arrive(struct ronde_p2p_state *state, const struct ronde_p2p_arrival *arrival);

/** Stores a message; its data, if it is eager, are copied. NULL without memory. */
struct ronde_p2p_message *ronde_p2p_store(struct ronde_p2p_state *state,
                                          const struct ronde_p2p_arrival *arrival);

/** ronde_p2p_arrive of a stored message, which it owns from now on. */
void ronde_p2p_arrive_stored(struct ronde_p2p_state *state, struct ronde_p2p_message *message);

/** Frees a stored message. */
void ronde_p2p_drop(struct ronde_p2p_state *state, struct ronde_p2p_message *message);

/** What a collective does for messages now and then: a round, if there may be work. True: something has moved. */
bool ronde_p2p_progress_pending(struct ronde_comm *comm);

/**
 * Progress of messages while a rank waits at the control channel (ronde_control_progress_hook); self is its communicator.
 * Messages of shared memory have no descriptor to wait for.
 */
int ronde_p2p_progress_hook(void *self);

/** A failure found where no error can be returned: ends the communicator. */
void ronde_p2p_fail(struct ronde_p2p_state *state, const struct ronde_error *why);

#endif
