/*
 * Ring orders found on the topology.
 *
 * A ring goes from node to node, and through each of them by a walk over its ranks. Walks are few patterns that are good
 * on some kind of node; which one is good on this one is found by adding up what a few nodes' worth of hops put on every
 * link of their routes, all channels together.
 */
#include "rings.h"

#include <math.h>
#include <string.h>

/* The widest route looked at; longer ones count as far as this. */
#define MAX_LINKS 1024u
/* A machine without nodes is walked through as one; above this, only in the order of its hosts. */
#define MAX_WALK 256u

/* How a channel walks through the ranks of a node, from the rank it enters at. */
enum walk {
    WALK_TURN,   /* s, s+1, s+2, ...: NVSwitch and crossbars */
    WALK_ZIGZAG, /* s, s+1, s-1, s+2, ...: channels share no link of a full mesh (Walecki) */
    WALK_STRIDE, /* s, s+k, s+2k, ..., another k for another channel: closed rings in a full mesh */
    WALK_COUNT
};

/* A way to try. */
struct pattern {
    enum walk walk;
    bool is_mirrored; /* backwards in every other node: a ring leaves by the rank number it enters the next one by */
    uint32_t shift; /* added to the rank a channel enters at: 1 makes ranks 0 and 1, on one NIC, last and first */
};

/* What a pattern costs. */
struct cost {
    double busiest; /* ns per GB at the busiest link */
    double total;   /* ns per GB over all links of all hops */
};

/* What is common to all tries. */
struct search {
    const struct ronde_platform *platform;
    const struct ronde_rings *rings;
    struct ronde_router *router;
    const struct ronde_mem *mem;
    struct ronde_ring_ranks group;
    double *load;    /* per link, ns per GB */
    uint32_t *ring;  /* ranks of one ring */
    uint32_t *links; /* of one route */
    struct ronde_error *error;
};

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The channel-th stride that visits all of `size` ranks. */
static uint32_t stride_of(uint32_t channel, uint32_t size)
{
    uint32_t stride = 1;
    for (uint32_t left = channel; left > 0; left--)
        do
            stride = stride + 1 < size ? stride + 1 : 1;
        while (gcd(stride, size) != 1);
    return stride;
}

/* The rank a walk visits at a step, relative to where it enters. */
static uint32_t step_of(enum walk walk, uint32_t stride, uint32_t step, uint32_t size)
{
    switch (walk) {
    case WALK_ZIGZAG:
        return step % 2 == 1 ? (step + 1) / 2 : (size - step / 2) % size;
    case WALK_STRIDE:
        return (uint32_t)((uint64_t)step * stride % size);
    case WALK_TURN:
    case WALK_COUNT:
        break;
    }
    return step;
}

/* Writes the ranks of a node in the order a channel visits them. */
static void walk_node(const struct search *search, struct pattern pattern, uint32_t channel,
                      uint32_t node, uint32_t *out_ranks)
{
    const uint32_t *members = search->group.members + search->group.first[node];
    const uint32_t size = search->group.first[node + 1] - search->group.first[node];
    const uint32_t channels = search->rings->channels;
    const uint32_t spread =
        channels < size ? (uint32_t)((uint64_t)channel * size / channels) : channel % size;
    const uint32_t enters = (spread + pattern.shift) % size;
    const uint32_t stride = pattern.walk == WALK_STRIDE ? stride_of(channel, size) : 1;
    for (uint32_t step = 0; step < size; step++) {
        const uint32_t at = (enters + step_of(pattern.walk, stride, step, size)) % size;
        const bool is_backwards = pattern.is_mirrored && node % 2 == 1;
        out_ranks[is_backwards ? size - 1 - step : step] = members[at];
    }
}

/* A ring over the first nodes. */
static uint32_t write_ring(const struct search *search, struct pattern pattern, uint32_t channel,
                           uint32_t nodes, uint32_t *out_ranks)
{
    for (uint32_t node = 0; node < nodes; node++)
        walk_node(search, pattern, channel, node, out_ranks + search->group.first[node]);
    return search->group.first[nodes];
}

/* Puts one hop on the links of its route. */
static enum ronde_status add_hop(struct search *search, uint32_t from, uint32_t to,
                                 struct cost *cost)
{
    uint32_t count;
    const uint32_t *host_of = search->rings->host_of;
    RONDE_TRY(ronde_router_route(search->router, host_of[from], host_of[to], MAX_LINKS,
                                 search->links, &count, search->error));
    for (uint32_t i = 0; i < count && i < MAX_LINKS; i++) {
        const struct ronde_link *link = ronde_platform_link(search->platform, search->links[i]);
        double *load = &search->load[search->links[i]];
        const double own = 1e9 / link->rate_GBps;
        *load = link->is_fatpipe ? fmax(*load, own) : *load + own;
        cost->total += own;
        cost->busiest = fmax(cost->busiest, *load);
    }
    return RONDE_OK;
}

/* Nodes whose hops stand for all: few, and even or odd as their number is, which mirrored walks depend on. */
static uint32_t sample_nodes(const struct search *search)
{
    const uint32_t nodes = search->group.node_count;
    return nodes <= 4 ? nodes : 4 - nodes % 2;
}

/* What a pattern puts on the links. */
static enum ronde_status price_pattern(struct search *search, struct pattern pattern,
                                       struct cost *out_cost)
{
    enum ronde_status status = RONDE_OK;
    memset(search->load, 0, ronde_platform_link_count(search->platform) * sizeof *search->load);
    *out_cost = (struct cost){0, 0};
    for (uint32_t channel = 0; channel < search->rings->channels; channel++) {
        const uint32_t count =
            write_ring(search, pattern, channel, sample_nodes(search), search->ring);
        for (uint32_t i = 0; i < count && count > 1 && status == RONDE_OK; i++)
            status = add_hop(search, search->ring[i], search->ring[(i + 1) % count], out_cost);
    }
    return status;
}

/* Sums of the same loads in another order are not better. */
static bool is_better(struct cost a, struct cost b)
{
    const double slack = 1e-9;
    if (fabs(a.busiest - b.busiest) > slack * b.busiest)
        return a.busiest < b.busiest;
    return a.total < b.total * (1 - slack);
}

/* Tries every pattern; the first of equally good ones is taken. */
static enum ronde_status find_pattern(struct search *search, struct pattern *out_best,
                                      struct cost *out_cost)
{
    const bool is_small = search->group.first[1] <= MAX_WALK;
    const uint32_t mirrors = is_small && search->group.node_count > 1 ? 2 : 1;
    const uint32_t tries = is_small ? WALK_COUNT * 2 * mirrors : 1;
    for (uint32_t i = 0; i < tries; i++) {
        const struct pattern pattern = {(enum walk)(i / (2 * mirrors)), i % mirrors == 1,
                                        i / mirrors % 2};
        struct cost cost;
        RONDE_TRY(price_pattern(search, pattern, &cost));
        if (i == 0 || is_better(cost, *out_cost)) {
            *out_best = pattern;
            *out_cost = cost;
        }
    }
    return RONDE_OK;
}

static const char *pattern_text(struct pattern pattern)
{
    static const char *const straight[] = {"turn", "zigzag", "stride"};
    static const char *const mirrored[] = {"snake", "zigzag, mirrored", "stride, mirrored"};
    return pattern.is_mirrored ? mirrored[pattern.walk] : straight[pattern.walk];
}

/* Turns a ring so that a rank stands first. */
static void turn_to(uint32_t *ring, uint32_t ranks, uint32_t first_rank, uint32_t *room)
{
    uint32_t at = 0;
    while (at < ranks && ring[at] != first_rank)
        at++;
    for (uint32_t i = 0; i < ranks; i++)
        room[i] = ring[(at + i) % ranks];
    memcpy(ring, room, ranks * sizeof *ring);
}

/* One node of few ranks: cycles that no pattern has, where those are better. */
static enum ronde_status find_cycles(struct search *search, uint32_t *out_orders,
                                     struct ronde_rings_found *out_found)
{
    const uint32_t size = search->rings->ranks, channels = search->rings->channels;
    const size_t entries = (size_t)size * channels;
    uint32_t hosts[RONDE_MOST_CYCLE_RANKS], *cycles = NULL;
    struct ronde_mesh mesh;
    double busiest = INFINITY;
    for (uint32_t i = 0; i < size; i++)
        hosts[i] = search->rings->host_of[search->group.members[i]];
    RONDE_TRY(ronde_mesh_of(search->platform, search->router, hosts, size, search->mem, &mesh,
                            search->error));
    cycles = ronde_mem_new(search->mem, entries, sizeof *cycles);
    const enum ronde_status status =
        cycles ? ronde_mesh_cycles(&mesh, channels, search->mem, cycles, &busiest, search->error)
               : ronde_fail(search->error, RONDE_NO_MEMORY, "no memory for %u cycles", channels);
    if (status == RONDE_OK && busiest < out_found->busiest_load * (1 - 1e-9)) {
        for (size_t i = 0; i < entries; i++)
            out_orders[i] = search->group.members[cycles[i]];
        *out_found = (struct ronde_rings_found){"cycles", busiest};
    }
    ronde_mem_free(search->mem, cycles, entries, sizeof *cycles);
    ronde_mesh_free(&mesh, search->mem);
    return status;
}

/* Tries patterns and writes the rings of the best. */
static enum ronde_status walk_nodes(struct search *search, uint32_t *out_orders,
                                    struct ronde_rings_found *out_found)
{
    struct pattern best = {WALK_TURN, false, 0};
    struct cost cost = {0, 0};
    RONDE_TRY(find_pattern(search, &best, &cost));
    for (uint32_t channel = 0; channel < search->rings->channels; channel++)
        write_ring(search, best, channel, search->group.node_count,
                   out_orders + (size_t)channel * search->rings->ranks);
    *out_found = (struct ronde_rings_found){pattern_text(best), cost.busiest};
    return search->group.node_count == 1 && search->rings->ranks <= RONDE_MOST_CYCLE_RANKS &&
                   search->rings->ranks > 2
               ? find_cycles(search, out_orders, out_found)
               : RONDE_OK;
}

/* Rings of neighbours. A hop crosses one wire, so the busiest wire is the hop that most channels share. */
static enum ronde_status walk_torus(struct search *search, const struct ronde_torus *torus,
                                    const struct ronde_mem *mem, uint32_t *out_orders,
                                    struct ronde_rings_found *out_found)
{
    const uint32_t ranks = search->rings->ranks, ways = 2 * torus->axes;
    const size_t wires = (size_t)ranks * ways;
    uint32_t most = 0;
    uint32_t *crossed = ronde_mem_new(mem, wires, sizeof *crossed);
    if (!crossed)
        return ronde_fail(search->error, RONDE_NO_MEMORY, "no memory for the wires of a torus");
    for (uint32_t channel = 0; channel < search->rings->channels; channel++) {
        uint32_t *ring = out_orders + (size_t)channel * ranks;
        ronde_torus_ring(torus, channel, search->ring, ring);
        for (uint32_t i = 0; i < ranks; i++) {
            const uint32_t way = ronde_torus_way(torus, ring[i], ring[(i + 1) % ranks]);
            const uint32_t times = ++crossed[(size_t)ring[i] * ways + way];
            most = times > most ? times : most;
        }
        for (uint32_t i = 0; i < ranks; i++)
            ring[i] = search->group.rank_of[ring[i]];
    }
    ronde_mem_free(mem, crossed, wires, sizeof *crossed);
    *out_found = (struct ronde_rings_found){"torus", most * 1e9 / torus->rate_GBps};
    return RONDE_OK;
}

/* Ranks node by node. A machine whose hosts do not differ is one node. */
static void group_ranks(struct ronde_ring_ranks *group, const struct ronde_nodes *nodes)
{
    uint32_t count = 0;
    const bool is_one = nodes->source == RONDE_NODES_SINGLE;
    for (uint32_t node = 0; node < nodes->count; node++) {
        const uint32_t before = count;
        for (uint32_t i = nodes->first[node]; i < nodes->first[node + 1]; i++)
            if (group->rank_of[nodes->hosts[i]] != RONDE_NONE)
                group->members[count++] = group->rank_of[nodes->hosts[i]];
        if (count > before && (!is_one || group->node_count == 0))
            group->node_count++;
        group->first[group->node_count] = count;
    }
}

/* The ranks by host; false for a rank on no host, or two on one. */
static bool index_ranks(const struct ronde_rings *rings, uint32_t hosts, uint32_t *rank_of)
{
    for (uint32_t i = 0; i < hosts; i++)
        rank_of[i] = RONDE_NONE;
    for (uint32_t rank = 0; rank < rings->ranks; rank++) {
        const uint32_t host = rings->host_of[rank];
        if (host >= hosts || rank_of[host] != RONDE_NONE)
            return false;
        rank_of[host] = rank;
    }
    return true;
}

/* A torus is only one when every host takes part. */
static enum ronde_status find_orders(struct search *search, const struct ronde_nodes *nodes,
                                     const struct ronde_mem *mem, uint32_t *out_orders,
                                     struct ronde_rings_found *out_found)
{
    struct ronde_torus torus = {0};
    if (!index_ranks(search->rings, nodes->host_count, search->group.rank_of))
        return ronde_fail(search->error, RONDE_BAD_ARGUMENT,
                          "rings need every rank on a host of its own");
    group_ranks(&search->group, nodes);
    if (nodes->source == RONDE_NODES_SINGLE && search->rings->ranks == nodes->host_count)
        RONDE_TRY(ronde_torus_find(search->platform, mem, &torus, search->error));
    RONDE_TRY(torus.axes > 0 ? walk_torus(search, &torus, mem, out_orders, out_found)
                             : walk_nodes(search, out_orders, out_found));
    for (uint32_t channel = 0; channel < search->rings->channels; channel++)
        turn_to(out_orders + (size_t)channel * search->rings->ranks, search->rings->ranks,
                search->rings->first_rank, search->ring);
    return RONDE_OK;
}

enum ronde_status ronde_place_rings(const struct ronde_platform *platform,
                                    const struct ronde_nodes *nodes, const struct ronde_rings *rings,
                                    const struct ronde_mem *mem, uint32_t *out_orders,
                                    struct ronde_rings_found *out_found, struct ronde_error *error)
{
    struct search search = {.platform = platform, .rings = rings, .mem = mem, .error = error};
    const uint32_t ranks = rings->ranks, hosts = nodes->host_count;
    const uint32_t links = ronde_platform_link_count(platform);
    if (rings->channels == 0 || ranks == 0 || rings->first_rank >= ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u rings of %u ranks with rank %u first: none can be found",
                          rings->channels, ranks, rings->first_rank);
    struct ronde_store store = {.mem = mem};
    enum ronde_status status = ronde_router_create(platform, mem, &search.router, error);
    search.group.ranks = ranks;
    search.group.members = ronde_store_new(&store, ranks, sizeof(uint32_t));
    search.group.first = ronde_store_new(&store, (size_t)nodes->count + 1, sizeof(uint32_t));
    search.group.rank_of = ronde_store_new(&store, hosts, sizeof(uint32_t));
    search.load = ronde_store_new(&store, links, sizeof *search.load);
    search.ring = ronde_store_new(&store, ranks, sizeof *search.ring);
    search.links = ronde_store_new(&store, MAX_LINKS, sizeof *search.links);
    RONDE_THEN(status, !store.is_short ? find_orders(&search, nodes, mem, out_orders, out_found)
                                       : ronde_fail(error, RONDE_NO_MEMORY,
                                                    "no memory for rings of %u ranks", ranks));
    ronde_router_destroy(search.router);
    ronde_store_clear(&store);
    return status;
}
