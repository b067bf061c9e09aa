/**
 * The UCX transport: a worker per communicator (net.c), and the links of each program's connections (wire.c).
 *
 * Every connection end has slots in this process's own memory. What lanes post in a sending end's slots is sent as
 * active messages; arriving messages are stored in the receiving end's slots, in any order, and published to the lanes
 * in the order they were sent. Credit messages from the receiver carry how much it has consumed.
 */
#ifndef RONDE_HW_UCX_NET_H
#define RONDE_HW_UCX_NET_H

#include "hw/comm/comm_parts.h"

#include <stdbool.h>
#include <ucp/api/ucp.h>

struct ronde_net;
struct ronde_ucx_links;

/** Kinds of active messages. */
enum ronde_net_kind {
    RONDE_NET_DATA = 1,      /**< struct ronde_data_head and a message */
    RONDE_NET_CREDIT = 2,    /**< struct ronde_credit_head */
    RONDE_NET_HANDSHAKE = 3, /**< struct ronde_handshake_head */
    RONDE_NET_P2P = 4,       /**< struct ronde_p2p_envelope and a tagged message (hw/p2p/state.h) */
    RONDE_NET_P2P_CREDIT = 5 /**< struct ronde_p2p_envelope: how much of them was received */
};

/** Header of a message. */
struct ronde_data_head {
    uint64_t program;  /**< its number */
    uint64_t sequence; /**< of the message on its connection */
    uint32_t channel;  /**< of the connection */
    uint32_t number;   /**< of the receiving end among those of the receiver's program */
    uint32_t end;      /**< the sender's, for credit */
    uint32_t bytes;    /**< of the message */
};

/** Credit: how much of a connection has been consumed. */
struct ronde_credit_head {
    uint64_t program;  /**< its number */
    uint64_t consumed; /**< messages ever */
    uint32_t end;      /**< the sender's */
    uint32_t padding;  /**< 0 */
};

/** A rank's handshake record. */
struct ronde_handshake_head {
    uint64_t rank;                    /**< whose */
    struct ronde_handshake handshake; /**< the record */
};

/** Another rank. */
struct ronde_remote {
    struct ronde_net *net;
    uint32_t rank;
    ucp_ep_h endpoint; /**< NULL until a program needs it */
    bool is_gone;      /**< it has closed or failed: no message will arrive from it */
    char reason[64];   /**< why */
};

/** A communicator's UCX state. */
struct ronde_net {
    struct ronde_comm *comm;
    ucp_context_h context;
    ucp_worker_h worker;
    bool reaches_devices;             /**< it sends from and receives into memory of GPUs */
    int device_memory;                /**< its ucs_memory_type_t of such memory */
    int event_fd;                     /**< readable when the worker may have events */
    unsigned char *addresses;         /**< of all ranks' workers */
    size_t address_bytes;             /**< of each */
    struct ronde_remote *remotes;     /**< one per rank */
    bool has_losses;                  /**< some remote is gone */
    struct ronde_ucx_links *programs; /**< those that are loaded, linked */
    struct ronde_ucx_links *orphans; /**< those that were unloaded while UCX used their memory, linked */
    struct ronde_error failure;      /**< found where nothing can be returned */
};

/** Opens the worker of a communicator. Collective. See struct ronde_wire. */
enum ronde_status ronde_net_open(struct ronde_comm *comm, struct ronde_error *error);

/** Closes it. */
void ronde_net_close(struct ronde_comm *comm);

/** The endpoint to a rank, made when first asked for. Errors: DEVICE naming the rank. */
enum ronde_status ronde_net_connect(struct ronde_net *net, uint32_t rank, struct ronde_error *error);

/** Records a failure of UCX with a rank; the first one is kept. */
void ronde_net_fail(struct ronde_net *net, uint32_t rank, ucs_status_t status);

/** Records that a rank is gone. */
void ronde_net_lose(struct ronde_remote *remote, ucs_status_t status);

/** A descriptor that becomes readable when the worker has events; -1 while it may have some already. */
int ronde_net_wait_fd(const struct ronde_net *net);

/** Progresses the worker, or sleeps until it has events, at most STEP_MS (net.c). */
void ronde_net_step(const struct ronde_net *net);

/** Active message handler of data, in wire.c. Results as UCX defines them. */
ucs_status_t ronde_net_on_data(void *self, const void *head, size_t head_bytes, void *data,
                               size_t bytes, const ucp_am_recv_param_t *param);
/** The same for credit. */
ucs_status_t ronde_net_on_credit(void *self, const void *head, size_t head_bytes, void *data,
                                 size_t bytes, const ucp_am_recv_param_t *param);

/** Handlers of tagged messages and their credit, in hw/ucx/p2p_net.c. */
ucs_status_t ronde_p2p_net_on_message(void *self, const void *head, size_t head_bytes, void *data,
                                      size_t bytes, const ucp_am_recv_param_t *param);
/** The same for credit. */
ucs_status_t ronde_p2p_net_on_credit(void *self, const void *head, size_t head_bytes, void *data,
                                     size_t bytes, const ucp_am_recv_param_t *param);

/* The links of a program: its connections over UCX and what has crossed them. ucx_links.c makes them, wire.c moves
 * messages. */

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

/* Whether the UCX found here sends from and receives into GPU memory. */

struct ucp_context;

/** Queries a context. *out_type: its ucs_memory_type_t of such memory. Alone in its file: tests replace it. */
bool ronde_ucx_reaches_devices(struct ucp_context *context, int *out_type);

/* What UCX's library does to a program's signals when it is loaded. */

/**
 * Gives back the signals that UCX has taken, unless the user has asked UCX for it by a variable of its own. Runs by
 * itself before main(); called again where UCX may have been loaded later.
 */
void ronde_ucx_return_signals(void);

#endif
