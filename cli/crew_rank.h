/**
 * What a process of a crew does, and what is said to it.
 */
#ifndef RONDE_CLI_CREW_RANK_H
#define RONDE_CLI_CREW_RANK_H

#include "crew.h"

#include <stdbool.h>

/** What a rank is told to do. */
enum ronde_crew_verb {
    RONDE_CREW_RUN,   /**< run at a moment */
    RONDE_CREW_CHECK, /**< run and compare */
    RONDE_CREW_QUIT   /**< end */
};

/** An order, the same to all ranks. */
struct ronde_crew_order {
    enum ronde_crew_verb verb;
    struct ronde_crew_run run;
    double start_ns; /**< of the clock, when to begin */
};

/** A rank's answer; also its first word, when everything is loaded. */
struct ronde_crew_reply {
    enum ronde_status status;
    char message[240];
    double start_ns;   /**< when it began */
    double end_ns;     /**< when it was done */
    double own_ns;     /**< processor time of this rank since its last answer */
    double wire_bytes; /**< that left its device since then, headers included */
    uint64_t wrong;    /**< elements */
    double mtu_bytes;  /**< with the first word: what fits into a packet of eth0 */
};

/** A process of the crew, from its namespace to the order to quit. */
struct ronde_crew_seat {
    const struct ronde_crew_plan *plan;
    uint32_t rank;     /**< which */
    const char *token; /**< of the rendezvous */
    int orders;        /**< where orders come from and answers go */
};

/** Never returns. */
_Noreturn void ronde_crew_be_rank(const struct ronde_crew_seat *seat);

#endif
