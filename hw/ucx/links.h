/**
 * The links of a program: its connections over UCX and what has crossed them. links.c makes them, wire.c moves
 * messages.
 */
#ifndef RONDE_HW_UCX_LINKS_H
#define RONDE_HW_UCX_LINKS_H

#include "hw/ucx/net.h"

struct ronde_ucx_link;

/** A slot of a link. */
struct ronde_link_slot {
    struct ronde_ucx_link *link; /**< whose */
    struct ronde_data_head head; /**< of what is being sent from it */
    bool has_arrived;            /**< not yet published to the lanes */
};

/** A connection end and what has crossed it. Counts are of messages ever. */
struct ronde_ucx_link {
    struct ronde_ucx_links *links; /**< all of the program */
    uint64_t end;                  /**< index in loaded->ends */
    uint64_t base; /**< sequence of the message in the first slot since slots were last rearranged */
    uint64_t sent;            /**< sender: posted to UCX */
    uint64_t left;            /**< sender: completed by UCX */
    uint64_t credited;        /**< sender: consumed, by the receiver's last credit */
    uint64_t credit_sent;     /**< receiver: consumed, in the last credit sent */
    uint32_t sender;          /**< receiver: the sender's end; known from the first message on */
    bool is_credit_in_flight; /**< receiver: sending it is not yet completed */
    struct ronde_credit_head credit; /**< being sent */
    struct ronde_link_slot *slots;   /**< one per slot */
};

/** A program's UCX state. */
struct ronde_ucx_links {
    struct ronde_ucx_links *next; /**< in the net's list */
    struct ronde_comm_program
        *program; /**< whose; NULL once it has been unloaded while UCX still used its memory */
    struct ronde_net *net;        /**< of the communicator */
    struct ronde_ucx_link *links; /**< one per end of the program; those that are not UCX's stay zeroed */
    uint64_t link_count;          /**< how many */
    uint32_t depth;               /**< slots of each */
    struct ronde_link_slot *slots; /**< depth per end of UCX's */
    uint64_t *ends;     /**< those that are UCX's: their other ends are not in this host's memory */
    uint64_t end_count; /**< how many */
    unsigned char *layout;                 /**< memory of these connections, as allocated */
    size_t layout_bytes;                   /**< of it */
    uint64_t pending;                      /**< requests UCX has not completed */
    struct ronde_handshake_head handshake; /**< of the run */
    void *flush;                           /**< the pending flush request, or NULL */
    double missed_ns;                      /**< since when a lost rank is waited for; 0 = none is */
    bool is_flushed;                       /**< since something was last sent */
};

/** Makes the links of a program and their endpoints. Collective. Errors: NO_MEMORY; DEVICE naming a rank. */
enum ronde_status ronde_links_load(struct ronde_comm_program *program, struct ronde_error *error);

/** Releases them, also after a failed load. */
void ronde_links_unload(struct ronde_comm_program *program);

/** Releases links that were unloaded while UCX used their memory, once its worker is destroyed. */
void ronde_links_free_orphans(struct ronde_net *net);

/** Whether all that was sent has left this process; flushes the worker once no request is pending. */
bool ronde_links_flush(struct ronde_ucx_links *links);

#endif
