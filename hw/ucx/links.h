/**
 * The links of a program: its connections over UCX and what has crossed them. links.c makes them, wire.c moves messages.
 */
#ifndef RONDE_HW_UCX_LINKS_H
#define RONDE_HW_UCX_LINKS_H

#include "hw/ucx/net.h"

struct ronde_link;

/** A slot of a link. */
struct ronde_link_slot {
    struct ronde_link *link;     /**< whose */
    struct ronde_data_head head; /**< of what is being sent from it */
    bool has_arrived;            /**< not yet shown to the lanes */
};

/** A connection end and what has crossed it. Counts are of messages ever. */
struct ronde_link {
    struct ronde_links *links; /**< all of the program */
    uint64_t end;              /**< index in loaded->ends */
    uint64_t base;     /**< messages when slots were last rearranged: the first slot is theirs */
    uint64_t sent;     /**< sender: given to UCX */
    uint64_t left;     /**< sender: no longer needed by UCX */
    uint64_t credited; /**< sender: consumed, as the receiver says */
    uint64_t told;     /**< receiver: consumed, as the sender was told */
    uint32_t sender;   /**< receiver: the sender's end; known from the first message on */
    bool is_telling;   /**< receiver: a credit is on its way out */
    struct ronde_credit_head credit; /**< that is being told */
    struct ronde_link_slot *places;  /**< one per slot */
};

/** What a program has of UCX. */
struct ronde_links {
    struct ronde_links *next; /**< of the net */
    struct ronde_comm_program
        *program; /**< whose; NULL once it has been unloaded while UCX still held its memory */
    struct ronde_net *net;    /**< of the communicator */
    struct ronde_link *links; /**< one per end of the program; those that are not UCX's stay zeroed */
    uint64_t link_count;      /**< how many */
    uint32_t depth;           /**< slots of each */
    struct ronde_link_slot *places; /**< depth per end of UCX's */
    uint64_t *ends;     /**< those that are UCX's: their other ends are not in this host's memory */
    uint64_t end_count; /**< how many */
    unsigned char *boxes;        /**< memory of these connections, as got */
    size_t boxes_bytes;          /**< of it */
    uint64_t pending;            /**< sends UCX has not finished with */
    struct ronde_card_head card; /**< of the run */
    void *flush;                 /**< what makes sure that everything has left, or NULL */
    double missed_ns;            /**< when a rank that has gone was first missed; 0 = none is */
    bool is_flushed;             /**< since something was last sent */
};

/** Makes the links of a program and their endpoints. Collective. Errors: NO_MEMORY; DEVICE naming a rank. */
enum ronde_status ronde_links_load(struct ronde_comm_program *program, struct ronde_error *error);

/** Releases them, also after a failed load. */
void ronde_links_unload(struct ronde_comm_program *program);

/** Releases links that were unloaded too early for UCX, once its worker is gone. */
void ronde_links_bury(struct ronde_net *net);

/** Whether all that was sent has left this process; asks UCX once there is nothing else to wait for. */
bool ronde_links_flush(struct ronde_links *links);

#endif
