/**
 * Spreading the ranks of a host over its processors.
 *
 * Ranks that poll look busy to the system, and those that yield look cheap: it may leave three of four on one processor
 * for seconds, and a collective takes as long as the fullest one. Ranks therefore tell each other where they are, and one
 * of those that are too many goes where there are fewest. It is not held there: what it may use stays as it was, and
 * whoever binds ranks is obeyed.
 */
#ifndef RONDE_HW_COMM_SPREAD_H
#define RONDE_HW_COMM_SPREAD_H

#include <stdint.h>

/** One rank's view of where the ranks of its host are. */
struct ronde_spread {
    uint32_t *seats; /**< of all ranks, in memory they share: processor + 1; 0: not on this host, or not known yet */
    uint32_t ranks;  /**< entries of seats */
    uint32_t rank;   /**< this one */
    double moved_ns; /**< when it has last moved; 0: never */
};

/** Says where the calling thread is, and moves it if too many ranks are there. `now_ns`: of a clock that only rises. */
void ronde_spread_look(struct ronde_spread *spread, double now_ns);

#endif
