/**
 * What a process in a host of a rig does, and what is said to it.
 */
#ifndef RONDE_LAB_RIG_NETNS_WORKER_H
#define RONDE_LAB_RIG_NETNS_WORKER_H

#include "netns_workers.h"

#include <stdbool.h>

/** What a rank is told to do. */
enum ronde_netns_verb {
    RONDE_NETNS_RUN,   /**< run at a moment */
    RONDE_NETNS_CHECK, /**< run and compare */
    RONDE_NETNS_QUIT   /**< end */
};

/** An order, the same to all ranks. */
struct ronde_netns_order {
    enum ronde_netns_verb verb;
    struct ronde_netns_run run;
    double start_ns; /**< of the clock, when to begin */
};

/** A rank's answer; also its first word, when everything is loaded. */
struct ronde_netns_reply {
    enum ronde_status status;
    char message[240];
    double start_ns;   /**< when it began */
    double end_ns;     /**< when it was done */
    double own_ns;     /**< processor time of this rank since its last answer */
    double wire_bytes; /**< that left its device since then, headers included */
    uint64_t wrong;    /**< elements */
    double mtu_bytes;  /**< with the first word: what fits into a packet of eth0 */
};

/** A worker process, from its namespace to the order to quit. */
struct ronde_netns_worker {
    const struct ronde_netns_plan *plan;
    uint32_t rank;     /**< which */
    const char *token; /**< of the rendezvous */
    int orders;        /**< where orders come from and answers go */
};

/** Never returns. */
_Noreturn void ronde_netns_be_rank(const struct ronde_netns_worker *worker);

#endif
