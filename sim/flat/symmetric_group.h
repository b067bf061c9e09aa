/**
 * The positions of a symmetric schedule as a group of digit vectors, and what is left of them when positions that do
 * not differ are taken as one.
 *
 * A rotation by digits has the digits of its shape; an exclusive or is a digit of radix 2 per bit. Folding takes every
 * digit modulo a period that divides its radix, so folding and adding commute.
 */
#ifndef RONDE_SIM_SYMMETRIC_GROUP_H
#define RONDE_SIM_SYMMETRIC_GROUP_H

#include "ronde/ir.h"

/** Most digits: a bit each of a position under exclusive or. */
#define RONDE_SIM_DIGITS 32u

/** Positions as digits, the fastest first. */
struct ronde_sim_group {
    uint32_t count;                   /**< positions: the product of the radices */
    uint32_t digits;                  /**< used entries of the following */
    uint32_t radix[RONDE_SIM_DIGITS]; /**< of each digit */
    uint32_t place[RONDE_SIM_DIGITS]; /**< what one step of the digit adds to the position */
};

/** An offset, prepared for whole vectors: it moves positions in runs that stay together. */
struct ronde_sim_shift {
    uint32_t offset;
    uint32_t block; /**< positions come in blocks of so many, */
    uint32_t cut;   /**< of which so many, the first, form one run and the rest another */
};

/** The group of a symmetric schedule. */
struct ronde_sim_group ronde_sim_group_of(const struct ronde_schedule *schedule);

/** The group with other radices, each a divisor of the one before. */
struct ronde_sim_group ronde_sim_group_fold(const struct ronde_sim_group *group,
                                            const uint32_t *periods);

/** What becomes of a position of `group` in `folded`. */
uint32_t ronde_sim_group_map(const struct ronde_sim_group *group,
                             const struct ronde_sim_group *folded, uint32_t position);

/** The sum of two positions, digit by digit. */
uint32_t ronde_sim_group_add(const struct ronde_sim_group *group, uint32_t a, uint32_t b);

/** Prepares an offset. */
struct ronde_sim_shift ronde_sim_group_shift(const struct ronde_sim_group *group, uint32_t offset);

/** Positions from this one on, itself included, that an offset keeps together. */
static inline uint32_t ronde_sim_shift_run(const struct ronde_sim_shift *shift, uint32_t position)
{
    const uint32_t rest = position % shift->block;
    return (rest < shift->cut ? shift->cut : shift->block) - rest;
}

#endif
