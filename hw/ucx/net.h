/**
 * The UCX transport: a worker per communicator (net.c), and the links of each program's connections (wire.c).
 *
 * Every connection end has slots in this process's own memory. What lanes post in a sending end's slots leaves as active
 * messages; what arrives is put into the receiving end's slots, in whatever order it comes, and shown to the lanes in
 * the order it was sent. A receiver tells the sender now and then how much it has consumed, which is its credit.
 */
#ifndef RONDE_HW_UCX_NET_H
#define RONDE_HW_UCX_NET_H

#include "hw/comm/comm.h"

#include <ucp/api/ucp.h>

struct ronde_net;
struct ronde_links;

/** Kinds of active messages. */
enum ronde_net_kind {
    RONDE_NET_DATA = 1,   /**< struct ronde_data_head and a message */
    RONDE_NET_CREDIT = 2, /**< struct ronde_credit_head */
    RONDE_NET_CARD = 3    /**< struct ronde_card_head */
};

/** What stands before a message. */
struct ronde_data_head {
    uint64_t program;  /**< its number */
    uint64_t sequence; /**< of the message on its connection */
    uint32_t channel;  /**< of the connection */
    uint32_t number;   /**< of the receiving end among those of the receiver's program */
    uint32_t end;      /**< the sender's, for credit */
    uint32_t bytes;    /**< of the message */
};

/** How much of a connection has been consumed. */
struct ronde_credit_head {
    uint64_t program;  /**< its number */
    uint64_t consumed; /**< messages ever */
    uint32_t end;      /**< the sender's */
    uint32_t padding;  /**< 0 */
};

/** A rank's card. */
struct ronde_card_head {
    uint64_t rank;          /**< whose */
    struct ronde_card card; /**< what it shows */
};

/** Another rank. */
struct ronde_remote {
    struct ronde_net *net;
    uint32_t rank;
    ucp_ep_h endpoint; /**< NULL until a program needs it */
    bool is_gone;      /**< nothing will come from it any more */
    char reason[64];   /**< why */
};

/** What a communicator has of UCX. */
struct ronde_net {
    struct ronde_comm *comm;
    ucp_context_h context;
    ucp_worker_h worker;
    bool reaches_devices;         /**< it sends from and receives into memory of GPUs */
    int device_memory;            /**< as it calls such memory */
    int event_fd;                 /**< readable when there may be something to do */
    unsigned char *addresses;     /**< of all ranks' workers */
    size_t address_bytes;         /**< of each */
    struct ronde_remote *remotes; /**< one per rank */
    bool has_losses;              /**< some remote is gone */
    struct ronde_links *programs; /**< those that are loaded, linked */
    struct ronde_links *orphans; /**< those that were unloaded while UCX held their memory, linked */
    struct ronde_error failure;  /**< found where nothing can be returned */
};

/** Opens the worker of a communicator. Collective. See struct ronde_wire. */
enum ronde_status ronde_net_open(struct ronde_comm *comm, struct ronde_error *error);

/** Closes it. */
void ronde_net_close(struct ronde_comm *comm);

/** The endpoint to a rank, made when first asked for. Errors: DEVICE naming the rank. */
enum ronde_status ronde_net_connect(struct ronde_net *net, uint32_t rank, struct ronde_error *error);

/** Notes a failure of UCX with a rank; the first one stands. */
void ronde_net_fail(struct ronde_net *net, uint32_t rank, ucs_status_t status);

/** Notes that a rank has gone. */
void ronde_net_lose(struct ronde_remote *remote, ucs_status_t status);

/** What becomes readable when the worker has news; -1 while it may have some already. */
int ronde_net_doze(const struct ronde_net *net);

/** Moves on what is under way, or sleeps until there is something to move, at most some milliseconds. */
void ronde_net_step(const struct ronde_net *net);

/** Handlers of what arrives, in wire.c. Results as UCX wants them. */
ucs_status_t ronde_net_on_data(void *self, const void *head, size_t head_bytes, void *data,
                               size_t bytes, const ucp_am_recv_param_t *param);
/** The same for credit. */
ucs_status_t ronde_net_on_credit(void *self, const void *head, size_t head_bytes, void *data,
                                 size_t bytes, const ucp_am_recv_param_t *param);

#endif
