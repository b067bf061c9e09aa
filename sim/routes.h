/**
 * The routes a replay uses, found once per pair of ranks.
 */
#ifndef RONDE_SIM_ROUTES_H
#define RONDE_SIM_ROUTES_H

#include "ronde/sim.h"

/** Longest route; the platform refuses longer ones too. */
#define RONDE_SIM_MAX_HOPS 1024u

/** Tells the key of a group's links from that of a route; ranks and groups are below 2^31. */
#define RONDE_SIM_GROUP_KEY (UINT64_C(1) << 63)

/** The route of a pair of ranks, or the links of a group's flow. */
struct ronde_sim_route {
    uint64_t key; /**< src << 32 | dst; of a group RONDE_SIM_GROUP_KEY | group << 32 | dst of its operation */
    struct ronde_path
        path; /**< latency with the graph's alpha; rate of a lone flow, lane cap included, 0 = unlimited */
    uint32_t first_hop; /**< into hops */
    uint32_t hop_count; /**< links, both ports included; 0 from a rank to itself */
};

/** All of them; start from zeroes. */
struct ronde_sim_routes {
    struct ronde_sim_route *all; /**< count entries */
    size_t capacity;             /**< reserved */
    uint32_t count;              /**< pairs */
    uint32_t *hops;              /**< link indices of all routes, one after another */
    size_t hop_capacity;         /**< reserved */
    uint32_t hop_count;          /**< used */
    uint32_t *of_op;             /**< per operation of the graph, index into all */
    uint32_t op_count;           /**< its entries */
};

/** What routes are found for. */
struct ronde_sim_scene {
    const struct ronde_platform *platform;   /**< where */
    const struct ronde_dag *dag;             /**< what; checked by ronde_sim_check */
    const struct ronde_sim_options *options; /**< placement; not NULL */
    const struct ronde_mem *mem;             /**< whose memory */
    struct ronde_error *error;               /**< where failures are reported, or NULL */
};

/** What all routes of a replay have in common, and the table while it is being filled. */
struct ronde_sim_search {
    const struct ronde_platform *platform;
    const struct ronde_sim_options *options; /**< placement */
    const struct ronde_dag *dag;             /**< whose groups are meant; NULL = none */
    const struct ronde_mem *mem;
    struct ronde_error *error;
    double alpha_ns;                 /**< added to every latency */
    double lane_GBps;                /**< cap of every flow; 0 = none */
    struct ronde_sim_routes *routes; /**< what is filled */
    bool is_deferred; /**< pairs are only numbered; ronde_sim_search_deferred finds their routes */
    struct ronde_router *router;
    uint32_t *table;     /**< open addressing: pair -> route + 1 */
    uint32_t table_size; /**< a power of two, or 0 */
    uint32_t *crossings; /**< per link of the platform; all zero between questions */
};

/** Starts a search whose fields up to `routes` are set. Errors: NO_MEMORY; end it in every case. */
enum ronde_status ronde_sim_search_begin(struct ronde_sim_search *search);

/** A search for the operations of a scene; not begun yet. */
struct ronde_sim_search ronde_sim_search_for(const struct ronde_sim_scene *scene,
                                             struct ronde_sim_routes *routes);

/**
 * The route of a pair, looked up anew and not kept: up to RONDE_SIM_MAX_HOPS links. Errors: as ronde_sim_search_find.
 */
enum ronde_status ronde_sim_search_look_up(struct ronde_sim_search *search, uint32_t src,
                                           uint32_t dst, uint32_t *out_hops, uint32_t *out_count,
                                           struct ronde_path *out_path);

/** The route of a pair, made on first use. Errors: BAD_INPUT (no route), UNSUPPORTED, NO_MEMORY. */
enum ronde_status ronde_sim_search_find(struct ronde_sim_search *search, uint32_t src, uint32_t dst,
                                        uint32_t *out_route);

/**
 * The same, and everything ronde_sim_check checks of these operations, most of which follows from the routes: a graph
 * is read once. Those before must have been searched. Errors: also BAD_ARGUMENT (out of order or range).
 */
enum ronde_status ronde_sim_search_block(struct ronde_sim_search *search,
                                         const struct ronde_dag *dag, uint32_t *recent,
                                         uint32_t first, uint32_t end);

/**
 * Finds the routes of a deferred search, source by source: a router that has to search the platform then does so once a
 * source. Errors: as ronde_sim_search_find.
 */
enum ronde_status ronde_sim_search_deferred(struct ronde_sim_search *search);

/** Frees what the search holds; the routes stay. */
void ronde_sim_search_end(struct ronde_sim_search *search);

/** Finds the route of every operation. Errors: BAD_INPUT (no route), UNSUPPORTED, NO_MEMORY; free in every case. */
enum ronde_status ronde_sim_routes_make(const struct ronde_sim_scene *scene,
                                        struct ronde_sim_routes *out_routes);

/** Whether one switch joins the ranks of each group. Errors: UNSUPPORTED, BAD_ARGUMENT (a group that is none), NO_MEMORY. */
enum ronde_status ronde_sim_groups_check(const struct ronde_sim_scene *scene);

/** Frees what routes hold. */
void ronde_sim_routes_free(struct ronde_sim_routes *routes, const struct ronde_mem *mem);

/** OK, or CANCELLED where that was requested. Next to free: engines ask at every moment of a replay. */
static inline enum ronde_status ronde_sim_check_cancel(const struct ronde_sim_scene *scene)
{
    const struct ronde_cancel *cancel = scene->options->cancel;
    return cancel ? ronde_cancel_check(cancel, "the replay", scene->error) : RONDE_OK;
}

/** One message for all: which block failed is of no use. */
enum ronde_status ronde_sim_no_memory(const struct ronde_sim_scene *scene);

#endif
