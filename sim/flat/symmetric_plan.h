/**
 * Which vectors a symmetric replay keeps, and for how long: times of an operation until its last
 * successor has read them, bytes until the last operation that moves them.
 */
#ifndef RONDE_SIM_SYMMETRIC_PLAN_H
#define RONDE_SIM_SYMMETRIC_PLAN_H

#include "symmetric_group.h"

#include "ronde/quotient.h"

/** The vectors of a quotient: slots of a pool. */
struct ronde_sim_plan {
    uint32_t op_count; /**< entries of what follows */
    uint32_t *slot_of; /**< per operation, of its finish times */
    bool *is_last;     /**< per operation: no other follows it */
    uint32_t *bytes_from; /**< where chunks are unequal: the operation that first sent what this one moves, */
    uint32_t *bytes_shift; /**< at which offset, */
    uint32_t *bytes_slot;  /**< and, of such a first one, the slot of its bytes */
    uint32_t slot_count;   /**< of the pool */
};

/** Makes a plan; false when there is no memory. Free it in any case. */
bool ronde_sim_plan_make(const struct ronde_quotient *quotient, const struct ronde_sim_group *group,
                         const struct ronde_mem *mem, struct ronde_sim_plan *out_plan);

/** Frees it. */
void ronde_sim_plan_free(struct ronde_sim_plan *plan, const struct ronde_mem *mem);

#endif
