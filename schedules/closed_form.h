/**
 * What the closed forms share: how the split rule cuts a load, and what a step and its flow cost.
 *
 * Symbols used in the opening comments of all schedule files:
 *   N ranks; C channels; P pieces; b_p bytes of piece p of the largest chunk (b where all are even)
 *   a      ns    alpha: from a send to its receive (latency of the route + ronde.alpha_ns)
 *   s(b)   ns    a step without reduction: step_ns + b/copy_GBps
 *   r(b)   ns    a step that reduces: s(b) + b/gamma_GBps
 *   f(b)   ns    a flow, alone or sharing evenly: b / min(lane_GBps, port_GBps / flows)
 *   L      ns    launch_ns
 *   D            slots of a connection
 */
#ifndef RONDE_SCHEDULES_CLOSED_FORM_H
#define RONDE_SCHEDULES_CLOSED_FORM_H

#include "ronde/schedules.h"

/** How a request's channels cut a block. */
struct ronde_cut {
    uint32_t channels; /**< of equal weight */
    uint32_t chunks;   /**< per block and channel */
    uint32_t widest;   /**< most chunks of any message; 0 = 1 */
};

/** A load, cut. */
struct ronde_pieces {
    uint64_t count;     /**< P; 0 when there is nothing to do */
    double bytes;       /**< of a full piece of the largest chunk */
    double last_bytes;  /**< of its last piece */
    uint64_t grains;    /**< of the largest channel */
    uint32_t chunks;    /**< that share them */
    double block_bytes; /**< of all channels */
    bool is_even;       /**< every chunk of the largest channel has these pieces */
    bool is_reached;    /**< the largest chunk is not cut short by the end of the block */
    uint32_t depth;     /**< slots of a connection */
};

/** The costs of one piece. */
struct ronde_costs {
    double alpha_ns;  /**< between a send and its receive */
    double step_ns;   /**< a step that does not reduce */
    double reduce_ns; /**< a step that reduces */
    double flow_ns;   /**< a flow when every channel has one on the port */
};

/** The longer of two times. */
static inline double ronde_longer_ns(double a_ns, double b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/** Channels of a request. */
uint32_t ronde_compile_request_channels(const struct ronde_compile_request *request);

/** Cuts a load by the split rule. */
struct ronde_pieces ronde_cut_load(const struct ronde_load *load, struct ronde_cut cut);

/**
 * Most bytes of a message of `chunks` chunks, of the last piece or another. Where several chunks share
 * a block they are not all as long as the largest.
 */
double ronde_message_bytes(const struct ronde_pieces *pieces, uint32_t chunks, bool is_last);

/** Costs of a piece of `bytes` when `flows` flows share a port. */
struct ronde_costs ronde_costs_of(const struct ronde_network *network, double bytes, uint32_t flows);

/** ns a flow takes when `flows` flows share the port evenly. */
double ronde_shared_flow_ns(const struct ronde_network *network, double bytes, uint32_t flows);

/**
 * Whether so many flows on a port are each as fast as alone: a lane is slower than its share, or
 * nothing flows.
 */
bool ronde_is_unshared(const struct ronde_network *network, double bytes, uint32_t flows);

/**
 * Steps that one lane repeats for every piece, in the closed form that all one-lane algorithms
 * have.
 */
struct ronde_lane_shape {
    uint32_t steps;    /**< without reduction */
    uint32_t reducing; /**< with reduction */
    uint32_t messages; /**< one after another, each a flow and an alpha */
};

/**
 * The price of one lane that runs all its steps for a piece before the next: L + sum over p of
 * steps*s(b_p) + reducing*r(b_p) + messages*(f(b_p) + a).
 *
 * Exact when every position does the same at the same time, which equal chunks bring about; else an
 * upper bound, since no chunk is longer than the largest. Channels share ports evenly, as they run
 * in step.
 */
struct ronde_price ronde_lane_price(const struct ronde_load *load,
                                    const struct ronde_network *network, struct ronde_cut cut,
                                    struct ronde_lane_shape shape);

/** Most hops of different widths that a lane has: one per round of 2^20 ranks, and a few. */
enum { RONDE_MOST_HOPS = 32 };

/** The same for messages of several chunks: a sum of hops of different widths. */
struct ronde_lane_work {
    uint32_t hop_count; /**< of the following */
    struct {
        uint32_t chunks;               /**< of a message */
        struct ronde_lane_shape times; /**< steps and messages */
    } hops[RONDE_MOST_HOPS];           /**< in any order */
};

/** Adds hops of `chunks` chunks each. */
void ronde_work_add(struct ronde_lane_work *work, uint32_t chunks, struct ronde_lane_shape times);

/** ns of the work for one piece, the last or another, when `flows` flows share a port. */
double ronde_work_ns(const struct ronde_lane_work *work, const struct ronde_network *network,
                     const struct ronde_pieces *pieces, bool is_last, uint32_t flows);

/**
 * The price of one lane that does all its work for a piece before the next: L + sum over p of
 * ronde_work_ns(b_p). Exact for equal chunks; else an upper bound, also in one piece, since the widest
 * messages need not lie on one chain.
 */
struct ronde_price ronde_work_price(const struct ronde_load *load,
                                    const struct ronde_network *network, struct ronde_cut cut,
                                    const struct ronde_lane_work *work);

/** What a pipeline depends on of its pieces. */
struct ronde_pipeline {
    double first_ns;  /**< one piece from end to end */
    double period_ns; /**< from one piece to the next in the busiest lane or port */
    double credit_ns; /**< from the start of a send until its slot is free again */
    bool is_unshared; /**< the numbers above are those of flows that share nothing */
};

/**
 * The price of pieces that follow one another through several lanes: L + first + (P-1) period;
 * where D pieces in a row are faster than a slot comes back, floor((P-1) / D) credit + ((P-1) mod
 * D) period. Exact for equal pieces that share nothing.
 */
struct ronde_price ronde_pipeline_price(const struct ronde_pieces *pieces,
                                        const struct ronde_network *network,
                                        const struct ronde_pipeline *pipeline);

/** What a piece costs in one of several groups of lanes that pass pieces on to one another. */
struct ronde_stage {
    double first_ns;      /**< a piece alone, from end to end */
    double period_ns;     /**< the busiest lane's work for a piece */
    double credit_ns;     /**< as in ronde_pipeline */
    double flow_ns;       /**< of that work, the flows; 0 where others never slow them down */
    uint32_t port_chunks; /**< chunks a piece moves through the busiest port each way, all channels */
    uint32_t flows;       /**< most flows of all channels that share a port; 0 = none flows */
};

/**
 * The price of stages one after another: their firsts add up, the longest period or the time the port needs for all
 * of them sets the pace. A lane whose flows share the port is delayed by as much of their time as others flow
 * meanwhile: with x of its t flowing and y of others', T = t + x y / T. Exact for equal pieces whose flows share
 * nothing; all stages' flows may overlap from the second piece on, those of `overlapping` ones also in the first.
 */
struct ronde_price
ronde_stages_price(const struct ronde_pieces *pieces, const struct ronde_network *network,
                   const struct ronde_stage *stages, uint32_t count, bool overlapping);

/** Largest e with 2^e <= n; n > 0. */
uint32_t ronde_log2_floor(uint32_t n);

/** Smallest e with 2^e >= n; n > 0. */
uint32_t ronde_log2_ceil(uint32_t n);

/** `supports` of the algorithms that serve every request the registry accepts. */
enum ronde_status ronde_supports_any(const struct ronde_compile_request *request,
                                     struct ronde_error *why_not);

#endif
