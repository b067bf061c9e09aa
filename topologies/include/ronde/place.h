/**
 * Placement: which rank sits on which host, and in which order a channel's ring visits them.
 *
 * A node is a set of hosts that are close to one another (the GPUs of a server, the hosts of a leaf
 * switch); what leaves it crosses slower links. Rings that follow the nodes cross those least.
 */
#ifndef RONDE_PLACE_H
#define RONDE_PLACE_H

#include "ronde/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enumerator, text, what it does: the placements there are. */
#define RONDE_PLACEMENT_LIST(X)                                                                    \
    X(FILE, "file", "rank r on host r of the file")                                                \
    X(PACKED, "packed", "one node filled after the other")                                         \
    X(SCATTERED, "scattered", "round robin over the nodes")                                        \
    X(AUTO, "auto", "packed, and a ring order found on the topology for each channel")

/** How ranks are put on hosts. */
enum ronde_placement {
#define RONDE_PLACEMENT_ENUMERATOR(name, text, summary) RONDE_PLACE_##name,
    RONDE_PLACEMENT_LIST(RONDE_PLACEMENT_ENUMERATOR)
#undef RONDE_PLACEMENT_ENUMERATOR
        RONDE_PLACEMENT_COUNT
};

/** Name of a placement. */
RONDE_API const char *ronde_placement_text(enum ronde_placement placement);

/** The placement of a name; false if there is none. */
RONDE_API bool ronde_placement_parse(const char *text, enum ronde_placement *out_placement);

/** Where the nodes of a platform come from. */
enum ronde_nodes_source {
    RONDE_NODES_SAID,   /**< ronde.node_hosts */
    RONDE_NODES_ZONES,  /**< the zones of the file that hold hosts */
    RONDE_NODES_LINKS,  /**< hosts that faster links join than others */
    RONDE_NODES_SINGLE, /**< hosts do not differ: every host is a node */
};

/** The nodes of a platform. */
struct ronde_nodes {
    enum ronde_nodes_source source; /**< how they were found */
    uint32_t count;                 /**< nodes */
    uint32_t host_count;            /**< hosts */
    uint32_t *node_of; /**< per host: its node; nodes are numbered by their first host */
    uint32_t *first;   /**< per node, and one more: where its hosts begin in `hosts` */
    uint32_t *hosts;   /**< hosts, node by node, ascending in each */
};

/**
 * Finds the nodes of a platform. Time: as ronde_shape_of. Owner: the caller frees them with ronde_nodes_free. Errors:
 * NO_MEMORY; BAD_INPUT where ronde.node_hosts does not divide the hosts.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nodes_find(const struct ronde_platform *platform, const struct ronde_mem *mem,
                 struct ronde_nodes *out_nodes, struct ronde_error *error);

/** Frees what nodes hold; zeroed ones are allowed. */
RONDE_API void ronde_nodes_free(struct ronde_nodes *nodes, const struct ronde_mem *mem);

/**
 * Puts ranks on hosts: out_host_of[rank], `ranks` entries, what ronde_sim_options.host_of takes. RONDE_PLACE_AUTO places
 * like packed; its rings come from ronde_place_rings. Errors: BAD_INPUT for more ranks than hosts.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_place(const struct ronde_nodes *nodes, enum ronde_placement placement, uint32_t ranks,
            uint32_t *out_host_of, struct ronde_error *error);

/** Whether each host reaches the first and is reached by it, which what is taken out of a machine may end. */
RONDE_API bool ronde_hosts_are_joined(const struct ronde_platform *platform, const uint32_t *hosts,
                                      uint32_t count, const struct ronde_mem *mem);

/** Most axes of a torus. */
#define RONDE_MAX_AXES 6u

/** A torus of hosts: host i stands at the digits of i, the first axis fastest. */
struct ronde_torus {
    uint32_t axes;                  /**< 0 = it is none */
    uint32_t radix[RONDE_MAX_AXES]; /**< hosts along each */
    double rate_GBps;               /**< of the slowest wire */
};

/**
 * Checks whether hosts (or routers with one host each) are joined like a torus of at least two
 * axes. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_torus_find(const struct ronde_platform *platform, const struct ronde_mem *mem,
                 struct ronde_torus *out_torus, struct ronde_error *error);

/** Rings to find. */
struct ronde_rings {
    const uint32_t *host_of; /**< per rank */
    uint32_t ranks;          /**< of those */
    uint32_t channels;       /**< rings */
    uint32_t first_rank;     /**< stands first in every ring: the root of a rooted collective */
};

/** What was found. */
struct ronde_rings_found {
    const char *pattern; /**< "torus", "cycles", or how rings walk through a node: "turn", "snake", "zigzag", "stride" */
    double busiest_load; /**< ns the busiest link takes for a GB that every channel's ring passes on */
};

/**
 * Finds one ring for each channel, in ranks: out_orders[channel * ranks + position], what
 * ronde_compile_request.channel_orders takes.
 *
 * On a torus of hosts a ring only goes to neighbours. Else a ring visits node after node, so that it leaves and enters
 * each exactly once; where in a node channel c enters and how it walks through is tried in several ways (a channel's
 * first GPU moves with c, so that channels leave by different NICs), and the routes of a few nodes decide which of them
 * loads the busiest link least. Time: linear in ranks times channels. One node of 3 to 9 ranks is also searched for cycles
 * that share fewer links: up to 6,000 tries of 2^n n^2 steps.
 * Errors: NO_MEMORY; those of ronde_router_route; BAD_ARGUMENT for no channels.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_place_rings(const struct ronde_platform *platform, const struct ronde_nodes *nodes,
                  const struct ronde_rings *rings, const struct ronde_mem *mem, uint32_t *out_orders,
                  struct ronde_rings_found *out_found, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
