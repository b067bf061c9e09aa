/**
 * Positions of a symmetric schedule that the machine does not tell apart either: which they are, and which links are one
 * kind. Where a group of positions can take each other's places so that routes become routes, flow by flow and link by
 * link, all that happens to one position happens to all that can take its place, at the same time; so does what happens
 * to links. A replay then needs one position of each kind and one link of each kind, of which the flows of one position
 * get what is theirs.
 */
#ifndef RONDE_SIM_FOLDING_H
#define RONDE_SIM_FOLDING_H

#include "sim/flat/symmetric.h"

/** What is one kind. */
struct ronde_sim_folding {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options; /**< not NULL */
    const struct ronde_mem *mem;
    struct ronde_sim_group full;   /**< all positions */
    struct ronde_sim_group folded; /**< one of each kind */
    uint32_t *link_kind;           /**< per link, the first link of its kind */
    uint32_t *kind_size; /**< per link that is the first of its kind, links of that kind */
    uint32_t link_count; /**< entries of both */
};

/**
 * Finds the most positions that are one kind: for each digit the least period that is a symmetry of the machine, of releases
 * and of all channels. Errors: UNSUPPORTED where there is none; those of routes; NO_MEMORY. Free in every case.
 */
enum ronde_status ronde_sim_folding_make(struct ronde_sim_folding *folding,
                                         struct ronde_error *error);

/** Frees what it holds. */
void ronde_sim_folding_free(struct ronde_sim_folding *folding);

/** The position that stands for a folded one. */
uint32_t ronde_sim_folding_position(const struct ronde_sim_folding *folding, uint32_t folded);

/**
 * What a link has for the flows of the positions that are replayed: each of them stands for as many as the whole group, which
 * spread evenly over the links of one kind.
 */
double ronde_sim_folding_rate(const struct ronde_sim_folding *folding, uint32_t link);

#endif
