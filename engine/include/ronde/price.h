/**
 * Prices: how long a load takes on a flat full-duplex network.
 *
 * *DAG price*: longest path of the graph (dag.h). *Closed form*: one formula per algorithm (schedules/), any N.
 */
#ifndef RONDE_PRICE_H
#define RONDE_PRICE_H

#include "ronde/builder.h"
#include "ronde/dag.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A flat network: every rank has one full-duplex port, the core never blocks. */
struct ronde_network {
    struct ronde_time_params time; /**< costs that are not links */
    double latency_ns;             /**< of a route */
    double port_GBps;              /**< of a port, each direction; 0 = unlimited */
};

/** A closed-form price. */
struct ronde_price {
    double time_ns; /**< launch included */
    bool is_exact; /**< equals the DAG price for this load; else steady state + fill, labelled approximate */
};

/** ns a message of `bytes` flows on the network: bytes / min(lane, port). */
RONDE_API double ronde_network_flow_ns(const struct ronde_network *network, double bytes);
/** ns between the end of a send and the start of its receive. */
RONDE_API double ronde_network_alpha_ns(const struct ronde_network *network);
/** ns a step takes before its flow: step_ns, plus bytes/gamma and combine if it reduces, plus bytes/copy. */
RONDE_API double ronde_network_step_ns(const struct ronde_network *network, double bytes,
                                       bool reduces);

/** The DAG price of a load on a flat network; *out_time_ns includes launch. Errors: those of ronde_dag_create. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_dag_price(const struct ronde_schedule *schedule, const struct ronde_load *load,
                const struct ronde_network *network, const struct ronde_mem *mem,
                double *out_time_ns, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
