/**
 * A step graph as replays walk it that go forwards in time, in as few bytes as possible.
 */
#ifndef RONDE_SIM_FORWARD_GRAPH_H
#define RONDE_SIM_FORWARD_GRAPH_H

#include "sim/flat/symmetric.h"
#include "sim/routes.h"

#include "ronde/mem.h"

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

/** A step, where a graph is rolled up: what all pieces have in common. */
struct ronde_sim_forward_step {
    uint32_t kind;      /**< of all pieces but the last */
    uint32_t last_kind; /**< of the last */
    uint32_t waits;     /**< predecessors, once there are pieces enough before */
    uint32_t started;   /**< pieces of it that have started: they do so in order */
};

/**
 * The graph; start from zeroes. Where a schedule does the same with one piece after another it can be rolled up: the graph of a
 * piece stands for all. An operation is then step << piece_bits | piece, an entry of `next` the successor's step and how many
 * pieces later it is, and a step has nodes for as many pieces as are under way at once. Else every operation is a step of
 * the one piece there is: the bits are 0.
 */
struct ronde_sim_forward_graph {
    struct ronde_sim_routes routes;       /**< of all operations */
    struct ronde_sim_forward_kind *kinds; /**< kind_count entries */
    size_t kind_capacity;                 /**< reserved */
    uint32_t kind_count;                  /**< used */
    struct ronde_sim_forward_node *nodes; /**< per step, 2^ring_bits of them */
    size_t node_count;                    /**< its entries */
    uint32_t *first_next; /**< per step and one more, into next: where its successors begin */
    uint32_t *next;       /**< successors, those of messages marked */
    size_t next_count;    /**< its entries */
    struct ronde_sim_forward_step *steps; /**< of a graph that is rolled up, else NULL */
    uint32_t piece_bits;                  /**< of the number of a piece */
    uint32_t ring_bits;                   /**< of that of a node in its step */
    uint32_t last_piece;                  /**< its number */
    struct ronde_sim_forward_link *links; /**< per link of the platform */
    uint32_t link_count;                  /**< its entries */
};

/**
 * Checks a step graph whose ranks have hosts and builds this one. Errors: BAD_ARGUMENT (operations out of order or
 * range), those of the routes, NO_MEMORY; free in every case.
 */
enum ronde_status ronde_sim_forward_graph_make(const struct ronde_sim_scene *scene,
                                               struct ronde_sim_forward_graph *out_graph);

/** Steps of a graph. */
static inline size_t ronde_sim_forward_steps(const struct ronde_sim_forward_graph *graph)
{
    return graph->node_count >> graph->ring_bits;
}

/** The node of an operation that has not started. */
static inline struct ronde_sim_forward_node *
ronde_sim_forward_node(const struct ronde_sim_forward_graph *graph, uint32_t op)
{
    const uint32_t place = op & ((1u << graph->ring_bits) - 1);
    return &graph->nodes[((size_t)(op >> graph->piece_bits) << graph->ring_bits) + place];
}

/** The successor of an operation that an entry of `next` means, or NONE where there are no pieces as late as that. */
static inline uint32_t ronde_sim_forward_successor(const struct ronde_sim_forward_graph *graph,
                                                   uint32_t op, uint32_t next)
{
    const uint32_t pieces = (1u << graph->piece_bits) - 1;
    const uint32_t piece = op & pieces;
    return (next & pieces) + piece <= graph->last_piece ? (next & ~RONDE_SIM_FORWARD_MESSAGE) + piece
                                                        : RONDE_NONE;
}

/* Graphs that are rolled up (rolled_graph.c). */

/** The least pieces that a graph to be rolled up has, where connections have so many slots. */
#define RONDE_SIM_ROLLED_PIECES(depth) ((depth) + 2)

/**
 * Rolls up the graph of a schedule's first pieces, as many as RONDE_SIM_ROLLED_PIECES and the last one of its load, for
 * `pieces` of them; scene->dag, of which it was made, has origins. Errors: UNSUPPORTED where its pieces are not alike, or
 * there are too many operations; NO_MEMORY.
 */
enum ronde_status ronde_sim_forward_graph_roll(const struct ronde_sim_scene *scene, uint32_t pieces,
                                               struct ronde_sim_forward_graph *graph);

/** Whether an operation of a graph that is rolled up has a node: it is not too many pieces ahead of those of its step. */
static inline bool ronde_sim_forward_reaches(const struct ronde_sim_forward_graph *graph,
                                             uint32_t op)
{
    const uint32_t piece = op & ((1u << graph->piece_bits) - 1);
    return piece - graph->steps[op >> graph->piece_bits].started < 1u << graph->ring_bits;
}

/** Makes nodes for more pieces, until an operation has one; false where there is no memory. */
bool ronde_sim_forward_widen(struct ronde_sim_forward_graph *graph, uint32_t op,
                             const struct ronde_mem *mem);

/** An operation of a graph that is rolled up has started: its node is that of a later piece now. */
void ronde_sim_forward_pass(struct ronde_sim_forward_graph *graph, uint32_t op);

/** Fills in what a kind has of its route. */
void ronde_sim_forward_kind_finish(struct ronde_sim_forward_kind *kind,
                                   const struct ronde_sim_route *route);

/** Frees what it holds. */
void ronde_sim_forward_graph_free(struct ronde_sim_forward_graph *graph,
                                  const struct ronde_mem *mem);

/* Positions of a symmetric schedule that the machine does not tell apart either: which they are, and which links
 * are one kind. Where a group of positions can take each other's places so that routes become routes, flow by flow
 * and link by link, all that happens to one position happens to all that can take its place, at the same time; so
 * does what happens to links. A replay then needs one position of each kind and one link of each kind, of which the
 * flows of one position get what is theirs. */

/** Links that are one kind. */
struct ronde_sim_kinds {
    uint32_t *of;   /**< per link, the first link of its kind */
    uint32_t *size; /**< per link that is the first of its kind, links of that kind */
    uint32_t count; /**< entries of both */
};

/** Every link a kind of its own, in a store. */
void ronde_sim_kinds_begin(struct ronde_sim_kinds *kinds, const struct ronde_platform *platform,
                           struct ronde_store *store);

/** Links that a symmetry moves are one kind with what it makes of them; NONE moves nothing. */
void ronde_sim_kinds_join(struct ronde_sim_kinds *kinds, const uint32_t *moved);

/** Once all are joined: how many are of each kind. */
void ronde_sim_kinds_end(struct ronde_sim_kinds *kinds);

/**
 * What a link has for flows each of which stands for so many copies: these spread evenly over the links of its kind.
 */
double ronde_sim_kinds_rate(const struct ronde_sim_kinds *kinds,
                            const struct ronde_platform *platform, uint32_t link, double copies);

/** Joins two groups of a partition (ronde/partition.h), for which the first of both stands on. */
void ronde_sim_join_to_first(uint32_t *parent, uint32_t one, uint32_t other);

/** What is one kind. */
struct ronde_sim_folding {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options; /**< not NULL */
    struct ronde_quotient **quotients;       /**< per channel */
    struct ronde_store store;                /**< of what it holds: the caller clears it */
    struct ronde_sim_group full;             /**< all positions */
    struct ronde_sim_group folded;           /**< one of each kind */
    struct ronde_sim_kinds kinds;            /**< of links */
};

/**
 * Finds the most positions that are one kind: for each digit the least period that is a symmetry of the machine, of releases
 * and of all channels. Errors: UNSUPPORTED where there is none; those of routes; NO_MEMORY.
 */
enum ronde_status ronde_sim_folding_make(struct ronde_sim_folding *folding,
                                         struct ronde_error *error);

/** The position that stands for a folded one. */
uint32_t ronde_sim_folding_position(const struct ronde_sim_folding *folding, uint32_t folded);

/* The step graph of the positions that stand for all others, forwards, as an engine replays it that knows no other. */

/**
 * Makes the graph: an operation per operation of the quotients and folded position; links are those of the platform of which
 * the first of each kind carries all there is. Errors: those of routes; NO_MEMORY; CANCELLED. Free it in every case.
 */
enum ronde_status ronde_sim_folded_graph_make(const struct ronde_sim_folding *folding,
                                              struct ronde_sim_forward_graph *out_graph,
                                              struct ronde_error *error);

/* Large arrays: not cleared where every entry is written anyway, and in large pages where the system has them. */

/**
 * An array of which every entry is written before it is read: clearing it first would take a tenth of a replay. NULL
 * where there is no memory; freed by ronde_mem_free.
 */
void *ronde_sim_pages_new(const struct ronde_mem *mem, size_t count, size_t element_bytes);

/** As ronde_mem_new. */
void *ronde_sim_pages_new_zeroed(const struct ronde_mem *mem, size_t count, size_t element_bytes);

#endif
