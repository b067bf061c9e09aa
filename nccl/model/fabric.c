/**
 * What the links of a platform leave of a machine's rates. See nccl_platform.h.
 *
 * NCCL's traffic is mapped to the links, rank r on GPU r mod g of node r / g, as parts of the call's bytes:
 *
 *   Ring       every channel's ring over all its hops but, of a chain, the last; rings by ronde_place_rings, one a NIC that is
 *              used, in one node one, or as many as a mesh has
 *   Tree       chains from each channel's GPU on through its node, double trees between those GPUs, up and down. Which node is
 *              a root or a leaf depends on the order in which a launcher numbers them, so of three orders the one that loads
 *              a link most counts
 *   NVLS       between nodes the same trees, one a GPU; inside a port carries 1 + 1/g of the bytes each way. The rest of the
 *              collectives goes as by Ring
 *   sends      every pair's message; from MOST_ROUTES pairs on a part of them, each for several
 *
 * L  what the busiest link takes for a byte of the call, between nodes and inside one (a link that any hop between nodes
 *    crosses is between)
 * M  what the model takes for granted: every NIC of a node carries as much as any other, every GPU's port likewise
 *
 * The share that is left of a rate is M / L, at most 1: of NICs, and of NVLink where a switch joins a node's GPUs, whose ports
 * carry equally much, so that the usual port tells M. What a mesh or slots leave is in the model already; there, as
 * everywhere, the call takes no less than its busiest link.
 */
#include "ronde/double_tree.h"
#include "ronde/nccl_platform.h"
#include "ronde/place.h"
#include "setting.h"

#include <math.h>
#include <string.h>

/** The widest route. */
#define ROUTE_MAX 256u

/** Routes of pairs that are looked at. */
#define MOST_ROUTES ((uint64_t)1 << 20)

/** Traffic while it is mapped. */
struct mapping {
    const struct ronde_platform *platform;
    const struct ronde_nccl_machine *machine;
    const struct ronde_nccl_call *call;
    const uint32_t *hosts; /**< of the ranks, or NULL */
    struct ronde_store store;
    struct ronde_router *router;
    uint32_t g;          /**< ranks a node */
    uint32_t link_count; /**< of the platform */
    double *bytes;       /**< per link, for a byte of the call */
    bool *is_across;     /**< per link: a hop between nodes crosses it */
    double *most;        /**< room, per link */
    double inside_ns;    /**< longest route inside a node */
    double between_ns;   /**< and between nodes */
    struct ronde_error *error;
};

static uint32_t host_of(const struct mapping *mapping, uint32_t rank)
{
    return mapping->hosts ? mapping->hosts[rank]
                          : rank / mapping->g * mapping->machine->gpus + rank % mapping->g;
}

static enum ronde_status add_hop(struct mapping *mapping, uint32_t from, uint32_t to, double share)
{
    uint32_t links[ROUTE_MAX], count = 0;
    double ns = 0;
    const bool is_across = from / mapping->g != to / mapping->g;
    RONDE_TRY(ronde_router_route(mapping->router, host_of(mapping, from), host_of(mapping, to),
                                 ROUTE_MAX, links, &count, mapping->error));
    for (uint32_t i = 0; i < count && i < ROUTE_MAX; i++) {
        const struct ronde_link *link = ronde_platform_link(mapping->platform, links[i]);
        double *bytes = &mapping->bytes[links[i]];
        *bytes = link->is_fatpipe ? fmax(*bytes, share) : *bytes + share;
        mapping->is_across[links[i]] |= is_across;
        ns += link->latency_ns;
    }
    if (is_across)
        mapping->between_ns = fmax(mapping->between_ns, ns);
    else
        mapping->inside_ns = fmax(mapping->inside_ns, ns);
    return RONDE_OK;
}

static uint32_t rings_of(const struct mapping *mapping)
{
    return ronde_nccl_rings(mapping->call->nodes, mapping->g,
                            ronde_nccl_nics(mapping->machine, mapping->g),
                            mapping->machine->link == RONDE_NODE_MESH);
}

static enum ronde_status map_orders(struct mapping *mapping, const uint32_t *orders, uint32_t rings)
{
    const uint32_t n = mapping->call->ranks;
    const uint32_t steps = ronde_nccl_ring_steps(mapping->call->collective, n);
    const double share = (steps > 0 ? (double)steps / n : 1) / rings;
    for (uint32_t c = 0; c < rings; c++)
        for (uint32_t q = 0; q < (steps > 0 ? n : n - 1); q++) {
            const uint32_t *ring = orders + (size_t)c * n;
            RONDE_TRY(add_hop(mapping, ring[q], ring[(q + 1) % n], share));
        }
    return RONDE_OK;
}

static enum ronde_status map_rings(struct mapping *mapping)
{
    const uint32_t n = mapping->call->ranks, rings = rings_of(mapping);
    struct ronde_nodes nodes = {.count = 0};
    struct ronde_rings_found found;
    uint32_t *orders = ronde_store_new(&mapping->store, (size_t)n * rings, sizeof *orders);
    uint32_t *hosts = ronde_store_new(&mapping->store, n, sizeof *hosts);
    const struct ronde_rings wanted = {hosts, n, rings, 0};
    const struct ronde_mem *mem = mapping->store.mem;
    if (mapping->store.is_short)
        return ronde_fail(mapping->error, RONDE_NO_MEMORY, "no memory for %u rings of %u ranks",
                          rings, n);
    for (uint32_t r = 0; r < n; r++)
        hosts[r] = host_of(mapping, r);
    RONDE_TRY(ronde_nodes_find(mapping->platform, mem, &nodes, mapping->error));
    const enum ronde_status status =
        ronde_place_rings(mapping->platform, &nodes, &wanted, mem, orders, &found, mapping->error);
    ronde_nodes_free(&nodes, mem);
    return status == RONDE_OK ? map_orders(mapping, orders, rings) : status;
}

/** A hop and the way back. */
static enum ronde_status add_both(struct mapping *mapping, uint32_t one, uint32_t other,
                                  double share)
{
    RONDE_TRY(add_hop(mapping, one, other, share));
    return add_hop(mapping, other, one, share);
}

/** Both trees of the nodes, which are numbered from one of them on, between GPUs of one number, up and down. */
static enum ronde_status map_double_tree(struct mapping *mapping, uint32_t first, uint32_t gpu,
                                         double share)
{
    const uint32_t nodes = mapping->call->nodes, g = mapping->g;
    for (uint32_t i = 2; i < 2 * nodes; i++) {
        const uint32_t at = i / 2, above = ronde_tree_parent_of(nodes, at);
        const bool is_second = i % 2 == 1;
        const uint32_t node = is_second ? ronde_tree_second_order(nodes, at) : at;
        const uint32_t parent = is_second ? ronde_tree_second_order(nodes, above) : above;
        const uint32_t from = (node + first) % nodes * g + gpu;
        const uint32_t to = (parent + first) % nodes * g + gpu;
        RONDE_TRY(add_both(mapping, from, to, share / 2));
    }
    return RONDE_OK;
}

/** Orders of nodes that are tried: by one of them each node stands within a tree. */
enum { ORDERS = 3 };

/** The GPU of a channel whose chains begin there. */
static uint32_t gpu_of(const struct mapping *mapping, uint32_t channel, uint32_t channels)
{
    return channels < mapping->g ? (uint32_t)((uint64_t)channel * mapping->g / channels)
                                 : channel % mapping->g;
}

/** Double trees of so many channels; a link has what the order that loads it most puts on it. */
static enum ronde_status map_double_trees(struct mapping *mapping, uint32_t channels)
{
    const uint32_t links = mapping->link_count;
    memset(mapping->most, 0, links * sizeof *mapping->most);
    for (uint32_t first = 0; first < ORDERS; first++) {
        memset(mapping->bytes, 0, links * sizeof *mapping->bytes);
        for (uint32_t c = 0; c < channels; c++)
            RONDE_TRY(map_double_tree(mapping, first, gpu_of(mapping, c, channels), 1. / channels));
        for (uint32_t i = 0; i < links; i++)
            mapping->most[i] = fmax(mapping->most[i], mapping->bytes[i]);
    }
    memcpy(mapping->bytes, mapping->most, links * sizeof *mapping->bytes);
    return RONDE_OK;
}

/** Chains of every node from a GPU on, up and down. */
static enum ronde_status map_chains(struct mapping *mapping, uint32_t gpu, double share)
{
    const uint32_t g = mapping->g;
    for (uint32_t node = 0; node < mapping->call->nodes; node++)
        for (uint32_t i = 0; i + 1 < g; i++) {
            const uint32_t above = node * g + (gpu + i) % g, below = node * g + (gpu + i + 1) % g;
            RONDE_TRY(add_both(mapping, below, above, share));
        }
    return RONDE_OK;
}

static enum ronde_status map_trees(struct mapping *mapping)
{
    const uint32_t rings = rings_of(mapping);
    RONDE_TRY(map_double_trees(mapping, rings));
    for (uint32_t c = 0; c < rings; c++)
        RONDE_TRY(map_chains(mapping, gpu_of(mapping, c, rings), 1. / rings));
    return RONDE_OK;
}

/** A port's bytes each way are those of a hop to the next GPU. */
static enum ronde_status map_nvls(struct mapping *mapping)
{
    const uint32_t g = mapping->g;
    if (mapping->call->collective != RONDE_ALL_REDUCE)
        return map_rings(mapping);
    RONDE_TRY(map_double_trees(mapping, g));
    for (uint32_t r = 0; g > 1 && r < mapping->call->ranks; r++)
        RONDE_TRY(add_hop(mapping, r, r - r % g + (r + 1) % g, 1 + 1. / g));
    return RONDE_OK;
}

/** Every rank's message to the rank so far behind it. */
static enum ronde_status map_shift(struct mapping *mapping, uint32_t distance, double share)
{
    const uint32_t n = mapping->call->ranks;
    for (uint32_t r = 0; r < n; r++)
        RONDE_TRY(add_hop(mapping, r, (r + distance) % n, share));
    return RONDE_OK;
}

/** Of distances that are left out others take the place, spread evenly: multiples of the golden section. */
static enum ronde_status map_all_pairs(struct mapping *mapping)
{
    static const double golden = 0.6180339887498949;
    const uint32_t n = mapping->call->ranks, distances = n - 1;
    const uint32_t most = (uint32_t)fmax(1, (double)(MOST_ROUTES / n));
    const uint32_t count = distances < most ? distances : most;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at =
            count == distances ? i : (uint32_t)(fmod((i + .5) * golden, 1) * distances);
        RONDE_TRY(map_shift(mapping, 1 + at, (double)distances / count / n));
    }
    return RONDE_OK;
}

static enum ronde_status map_messages(struct mapping *mapping)
{
    const uint32_t n = mapping->call->ranks;
    const enum ronde_collective collective = mapping->call->collective;
    const bool is_gather = collective == RONDE_GATHER;
    if (collective == RONDE_SEND_RECV)
        return map_shift(mapping, 1, 1);
    if (collective == RONDE_ALL_TO_ALL)
        return map_all_pairs(mapping);
    for (uint32_t r = 1; r < n; r++)
        RONDE_TRY(add_hop(mapping, is_gather ? r : 0, is_gather ? 0 : r, 1. / n));
    return RONDE_OK;
}

static enum ronde_status map(struct mapping *mapping, enum ronde_nccl_algorithm algorithm)
{
    if (ronde_nccl_is_nvls(algorithm))
        return map_nvls(mapping);
    return algorithm == RONDE_NCCL_RING   ? map_rings(mapping)
           : algorithm == RONDE_NCCL_TREE ? map_trees(mapping)
                                          : map_messages(mapping);
}

/** ns that the model has NICs take for a byte of the call while all of them carry as much: M between nodes. */
static double granted_ns(const struct mapping *mapping, enum ronde_nccl_algorithm algorithm)
{
    const struct ronde_nccl_call *call = mapping->call;
    const double n = call->ranks, g = mapping->g,
                 own = fmax(1, mapping->machine->nics / mapping->machine->gpus);
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    const double nic_GBps = mapping->machine->nic_GBps;
    const double all_GBps = nic_GBps * ronde_nccl_nics(mapping->machine, mapping->g);
    const bool is_tree = algorithm != RONDE_NCCL_RING && call->collective == RONDE_ALL_REDUCE;
    if (algorithm == RONDE_NCCL_POINT && call->collective == RONDE_ALL_TO_ALL)
        return (n - g) / n * g / all_GBps;
    if (algorithm == RONDE_NCCL_POINT)
        return (call->collective == RONDE_SEND_RECV ? 1 : (n - g) / n) / (own * nic_GBps);
    if (is_tree)
        return (call->nodes == 2 ? 1 : 2) / all_GBps;
    return (steps > 0 ? steps / n : 1) / all_GBps;
}

/** Whether all ports of a node carry as much: where a switch joins its GPUs, and all of them send. */
static bool has_equal_ports(const struct mapping *mapping)
{
    const enum ronde_collective collective = mapping->call->collective;
    return mapping->machine->link == RONDE_NODE_SWITCH && collective != RONDE_GATHER &&
           collective != RONDE_SCATTER;
}

/** What the busiest link takes; and inside nodes what the usual one takes. */
static struct ronde_nccl_limit weigh(struct mapping *mapping, enum ronde_nccl_algorithm algorithm)
{
    struct ronde_nccl_limit limit = {.inside = 1,
                                     .between = 1,
                                     .inside_us = mapping->inside_ns / 1e3,
                                     .between_us = mapping->between_ns / 1e3};
    double inside = 0, between = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < mapping->link_count; i++) {
        const double rate_GBps = ronde_platform_link(mapping->platform, i)->rate_GBps;
        const double ns = mapping->bytes[i] > 0 ? mapping->bytes[i] / rate_GBps : 0;
        if (ns > limit.ns_per_byte) {
            limit.ns_per_byte = ns;
            limit.link = i;
        }
        if (ns > 0 && !mapping->is_across[i])
            mapping->most[count++] = ns;
        if (mapping->is_across[i])
            between = fmax(between, ns);
        else
            inside = fmax(inside, ns);
    }
    if (between > 0 && mapping->machine->nic_GBps > 0)
        limit.between = fmin(1, granted_ns(mapping, algorithm) / between);
    if (count > 0 && has_equal_ports(mapping))
        limit.inside = ronde_nccl_usual(mapping->most, count) / inside;
    return limit;
}

static bool runs(enum ronde_nccl_algorithm algorithm, enum ronde_collective collective)
{
    if (ronde_nccl_is_point(collective))
        return algorithm == RONDE_NCCL_POINT;
    return algorithm < RONDE_NCCL_ALGORITHM_COUNT &&
           (algorithm == RONDE_NCCL_RING || collective == RONDE_ALL_REDUCE ||
            (algorithm >= RONDE_NCCL_NVLS &&
             (collective == RONDE_ALL_GATHER || collective == RONDE_REDUCE_SCATTER)));
}

static enum ronde_status find_all(struct mapping *mapping, struct ronde_nccl_limit *out_limits)
{
    for (unsigned a = 0; a < RONDE_NCCL_LIMITS; a++) {
        const enum ronde_nccl_algorithm algorithm = (enum ronde_nccl_algorithm)a;
        out_limits[a] = (struct ronde_nccl_limit){.inside = 1, .between = 1};
        if (!runs(algorithm, mapping->call->collective))
            continue;
        for (uint32_t i = 0; i < mapping->link_count; i++) {
            mapping->bytes[i] = 0;
            mapping->is_across[i] = false;
        }
        mapping->inside_ns = mapping->between_ns = 0;
        RONDE_TRY(map(mapping, algorithm));
        out_limits[a] = weigh(mapping, algorithm);
    }
    return RONDE_OK;
}

enum ronde_status ronde_nccl_limits_find(const struct ronde_platform *platform,
                                         const struct ronde_nccl_machine *machine,
                                         const struct ronde_nccl_call *call, const uint32_t *hosts,
                                         const struct ronde_mem *mem,
                                         struct ronde_nccl_limit out_limits[RONDE_NCCL_LIMITS],
                                         struct ronde_error *error)
{
    const uint32_t all = ronde_platform_facts(platform)->hosts / machine->gpus;
    const uint32_t links = ronde_platform_link_count(platform);
    struct mapping mapping = {.platform = platform,
                              .machine = machine,
                              .call = call,
                              .hosts = hosts,
                              .store = {.mem = mem},
                              .g = call->ranks / call->nodes,
                              .link_count = links,
                              .error = error};
    if (call->nodes > all)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: it has %u nodes of %u GPUs, not %u",
                          ronde_platform_path(platform), all, machine->gpus, call->nodes);
    mapping.bytes = ronde_store_new(&mapping.store, links, sizeof *mapping.bytes);
    mapping.most = ronde_store_new(&mapping.store, links, sizeof *mapping.most);
    mapping.is_across = ronde_store_new(&mapping.store, links, sizeof *mapping.is_across);
    enum ronde_status status =
        mapping.store.is_short
            ? ronde_fail(error, RONDE_NO_MEMORY, "no memory for what %u links carry", links)
            : ronde_router_create(platform, mem, &mapping.router, error);
    RONDE_THEN(status, find_all(&mapping, out_limits));
    ronde_router_destroy(mapping.router);
    ronde_store_clear(&mapping.store);
    return status;
}
