/**
 * The step graph of the positions that stand for all others, forwards, as an engine replays it that knows no other.
 */
#ifndef RONDE_SIM_FOLDED_GRAPH_H
#define RONDE_SIM_FOLDED_GRAPH_H

#include "folding.h"
#include "forward_graph.h"

/** What a graph is made of. */
struct ronde_sim_folded_parts {
    const struct ronde_sim_folding *folding;
    struct ronde_quotient **quotients; /**< per channel; chunks are equal in all */
    struct ronde_error *error;
};

/**
 * Makes the graph: an operation per operation of the quotients and folded position; links are those of the platform of which
 * the first of each kind carries all there is. Errors: those of routes; NO_MEMORY; CANCELLED. Free it in every case.
 */
enum ronde_status ronde_sim_folded_graph_make(const struct ronde_sim_folded_parts *parts,
                                              struct ronde_sim_forward_graph *out_graph);

#endif
