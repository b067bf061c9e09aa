/**
 * Balancing the ranks of a host over its processors.
 *
 * Ranks that poll look busy to the system, and those that yield look cheap: it may leave three of four on one processor
 * for seconds, and a collective takes as long as the fullest one. Each rank therefore publishes its processor in shared
 * memory, and one of those that are too many moves to the emptiest. It is not bound there: its affinity mask stays as it
 * was, and an affinity that the user has set is respected.
 */
#ifndef RONDE_HW_SHM_CPU_BALANCE_H
#define RONDE_HW_SHM_CPU_BALANCE_H

#include <stdint.h>

/** Where the ranks of a host run, as one of them reads it. */
struct ronde_cpu_balance {
    uint32_t *cpu_of; /**< of all ranks, in memory they share: processor + 1; 0: not on this host, or not known yet */
    uint32_t ranks;  /**< entries of cpu_of */
    uint32_t rank;   /**< this one */
    double moved_ns; /**< when it has last moved; 0: never */
};

/** Publishes the calling thread's processor, and moves it if too many ranks are there. `now_ns`: of a monotonic clock. */
void ronde_cpu_balance_check(struct ronde_cpu_balance *cpu_balance, double now_ns);

#endif
