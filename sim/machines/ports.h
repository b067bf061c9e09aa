/**
 * The replay with packets: what its two halves share. ports.c is the hosts, ports_net.c the network
 * between them.
 */
#ifndef RONDE_SIM_PORTS_H
#define RONDE_SIM_PORTS_H

#include "sim/routes.h"
#include "sim/shared/event_queue.h"

/** What happens, where it is not the arrival of a packet at a link: in place of a hop. */
enum ronde_sim_event {
    RONDE_SIM_DELIVERY = 0x7ffffffd, /**< a message has arrived; op is what sent it */
    RONDE_SIM_CREDIT = 0x7ffffffe,   /**< a credit has arrived; op is what waits for it */
    RONDE_SIM_WAKING = 0x7fffffff    /**< a host polls; op is its rank */
};

/** A link: a token bucket. */
struct ronde_sim_bucket {
    double rate_GBps; /**< 0 for what does not queue */
    double used_ns;   /**< when it will have worked off what has come, at its rate */
};

/** The network of a replay; start from zeroes. */
struct ronde_sim_net {
    const struct ronde_sim_scene *scene;
    const struct ronde_packet_facts *facts;
    struct ronde_sim_routes routes;   /**< of all messages */
    struct ronde_sim_routes ways;     /**< the same, then ways back that no message takes */
    uint32_t *back_of;                /**< per route, its way back among those */
    struct ronde_sim_bucket *buckets; /**< per link of the platform */
    uint32_t bucket_count;            /**< its entries */
    double *processors;       /**< per processor that carries packets, when it can take another */
    uint32_t processor_count; /**< its entries */
    struct ronde_sim_queue queue; /**< everything that will happen */
};

/** Finds routes and sets up links. Errors: those of the routes, NO_MEMORY; free in every case. */
enum ronde_status ronde_sim_net_make(const struct ronde_sim_scene *scene,
                                     struct ronde_sim_net *out_net);

/** The processor that is free first: from when on it is. */
double *ronde_sim_net_processor(const struct ronde_sim_net *net);

/** The time in which a host that sleeps wakes by a message of so many bytes, in the mean. */
double ronde_sim_net_waking_ns(const struct ronde_sim_net *net, double bytes);

/** Frees what it holds. */
void ronde_sim_net_free(struct ronde_sim_net *net);

/** A host posts a message; its packets follow those of all earlier ones. False where there is no memory. */
bool ronde_sim_net_post(struct ronde_sim_net *net, uint32_t op, double at_ns);

/** A packet arrives at a link of its way. False where there is no memory. */
bool ronde_sim_net_pass(struct ronde_sim_net *net, double at_ns,
                        const struct ronde_sim_arrival *packet);

/** A host sends its handshake to the host at the other end of a way; returns when that has it. */
double ronde_sim_net_handshake(struct ronde_sim_net *net, uint32_t way, double at_ns);

/** The receiver of an operation's message sends a credit for another one. False where there is no memory. */
bool ronde_sim_net_credit(struct ronde_sim_net *net, uint32_t op, double at_ns);

#endif
