/**
 * Phases of a symmetric schedule, and copies of it in which they are shorter; loads of fewer pieces.
 */
#ifndef RONDE_SIM_SHORTEN_H
#define RONDE_SIM_SHORTEN_H

#include "ronde/dag.h"

/** Most phases told apart; what is beyond is kept in full. A torus of four axes has twelve. */
#define RONDE_SIM_MAX_PHASES 16u

/** Steps of a lane that all do the same to other chunks; each receives from and sends to the same peers. */
struct ronde_sim_phase {
    uint32_t lane;   /**< lane of the program */
    uint32_t first;  /**< step of the program */
    uint32_t length; /**< periods: steps */
};

/** A shortened copy of a schedule: for a step graph only, for it computes nothing of use. */
struct ronde_sim_short {
    struct ronde_schedule schedule; /**< what to make the graph of; shares what is not cut with the original */
    struct ronde_program program; /**< its only program */
};

/**
 * Finds the phases of more than `least` periods: on every position the same steps may then be left out, and every
 * message still has its two ends. Returns how many there are; 0 for a schedule that is not symmetric.
 */
uint32_t ronde_sim_phases(const struct ronde_schedule *schedule, uint32_t least,
                          struct ronde_sim_phase *out_phases);

/** Keeps the first lengths[i] steps of phase i. What belongs to the copy is the store's; false where there is no memory. */
bool ronde_sim_shorten(const struct ronde_schedule *schedule, const struct ronde_sim_phase *phases,
                       const uint32_t *lengths, uint32_t count, struct ronde_store *store,
                       struct ronde_sim_short *out_short);

/** Pieces of a load; 1 where nothing cuts it. */
uint64_t ronde_sim_pieces(const struct ronde_schedule *schedule, const struct ronde_load *load);

/**
 * The same load with fewer pieces. Every chunk of every channel loses whole pieces and keeps its odd end: with equal
 * weights the split rule moves by exactly `channels * chunks` times what each chunk loses.
 */
struct ronde_load ronde_sim_fewer_pieces(const struct ronde_schedule *schedule,
                                         const struct ronde_load *load, uint64_t fewer);

#endif
