/**
 * Random machines: hosts and switches joined by directed wires of whole rates, as a platform file, and as lists of wires.
 */
#ifndef RONDE_TESTS_SYNTHESIS_RANDOM_GRAPH_H
#define RONDE_TESTS_SYNTHESIS_RANDOM_GRAPH_H

#include "ronde/topologies.h"

/** Places at most, and wires. */
#define GRAPH_PLACES 14u
#define GRAPH_WIRES 80u

/** A machine: hosts are places 0 .. hosts-1. */
struct random_graph {
    uint32_t hosts;             /**< ranks */
    uint32_t places;            /**< switches behind the hosts */
    uint32_t wires;             /**< directed */
    uint32_t from[GRAPH_WIRES]; /**< place */
    uint32_t to[GRAPH_WIRES];   /**< place */
    uint32_t GBps[GRAPH_WIRES]; /**< 1 .. 9 */
    bool is_used[GRAPH_WIRES];  /**< some pair of hosts has it on its route */
    bool begins[GRAPH_WIRES];   /**< some route begins with it */
    bool ends[GRAPH_WIRES];     /**< some route ends with it */
    /**
     * Cuts of the graph say all: no wire serves both ways of a pair, and hosts can send on every wire that leaves them, and
     * receive by every one that enters. Otherwise routes pass a host whose own messages cannot change to them.
     */
    bool is_plain;
    uint64_t state; /**< of its random numbers */
};

/** Makes a machine all of whose hosts reach each other, from `seed` alone. */
void random_graph_make(struct random_graph *graph, uint64_t seed, uint32_t hosts, uint32_t switches);

/** The machine as a platform; NULL fails the test. Link w of the file is wire w. */
struct ronde_platform *random_graph_platform(struct random_graph *graph);

/** A number below `below`. */
uint32_t random_graph_below(struct random_graph *graph, uint32_t below);

#endif
