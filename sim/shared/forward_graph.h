/**
 * A step graph as replays walk it that go forwards in time, in as few bytes as possible.
 */
#ifndef RONDE_SIM_FORWARD_GRAPH_H
#define RONDE_SIM_FORWARD_GRAPH_H

#include "sim/routes.h"

/** Marks a successor that consumes a message, and bounds the number of operations. */
#define RONDE_SIM_FORWARD_MESSAGE 0x80000000u

/** What is alike in many operations: kept apart, so that an operation itself is small. */
struct ronde_sim_forward_kind {
    double delay_ns;    /**< before its flow */
    double bytes;       /**< of its flow */
    double own_ns;      /**< of its flow alone */
    double latency_ns;  /**< from its end until its message is there */
    uint32_t first_hop; /**< into the hops of the routes */
    uint32_t hop_count; /**< 0 for what does not flow */
    uint32_t route;     /**< of the first of them */
    uint32_t ops;       /**< operations of this kind */
};

/** An operation: what its predecessors touch, four in a cache line. */
struct ronde_sim_forward_node {
    double ready_ns; /**< latest end of a predecessor so far */
    uint32_t kind;   /**< into kinds */
    uint32_t waits;  /**< predecessors not over yet */
};

/** A link. */
struct ronde_sim_forward_link {
    double rate_GBps;  /**< 0 for what does not queue */
    double backlog_ns; /**< when it will have worked off what has arrived */
};

/** The graph; start from zeroes. */
struct ronde_sim_forward_graph {
    struct ronde_sim_routes routes;       /**< of all operations */
    struct ronde_sim_forward_kind *kinds; /**< kind_count entries */
    size_t kind_capacity;                 /**< reserved */
    uint32_t kind_count;                  /**< used */
    struct ronde_sim_forward_node *nodes; /**< per operation */
    size_t node_count;                    /**< its entries */
    uint32_t *first_next; /**< per operation and one more, into next: where its successors begin */
    uint32_t *next;       /**< successors, those of messages marked */
    size_t next_count;    /**< its entries */
    struct ronde_sim_forward_link *links; /**< per link of the platform */
    uint32_t link_count;                  /**< its entries */
};

/**
 * Checks a step graph whose ranks have hosts and builds this one. Errors: BAD_ARGUMENT (operations out of order or
 * range), those of the routes, NO_MEMORY; free in every case.
 */
enum ronde_status ronde_sim_forward_graph_make(const struct ronde_sim_scene *scene,
                                               struct ronde_sim_forward_graph *out_graph);

/** Fills in what a kind has of its route. */
void ronde_sim_forward_kind_finish(struct ronde_sim_forward_kind *kind,
                                   const struct ronde_sim_route *route);

/** Frees what it holds. */
void ronde_sim_forward_graph_free(struct ronde_sim_forward_graph *graph,
                                  const struct ronde_mem *mem);

#endif
