/** Machines of NCCL's model from platform files. See nccl_platform.h. */
#include "ronde/nccl_platform.h"
#include "setting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/** Links of a route that are looked at. */
#define ROUTE_MAX 64u

/** The fastest slot, gen6 x16, one direction: what joins GPUs through one port at less is taken for PCIe. */
static const double fastest_slot_GBps = 126;

/** No NVLink is as fast: two ranks that share a GPU, or its parts. */
static const double memory_GBps = 4000;

/** Nodes whose links are looked at: what most of them have is the machine's, so that one sick link does not speak for all. */
#define NODES_MAX 64u

/** What reading a platform takes. */
struct reading {
    const struct ronde_platform *platform;
    struct ronde_router *router;
    uint32_t gpus;      /**< of a node */
    uint32_t nodes;     /**< that are looked at */
    double *rates_GBps; /**< room, one for each of their GPUs */
};

/** The links of a route. */
struct way {
    uint32_t links[ROUTE_MAX];
    uint32_t count;
};

static double link_GBps(const struct reading *reading, uint32_t link)
{
    return ronde_platform_link(reading->platform, link)->rate_GBps;
}

static enum ronde_status route_of(const struct reading *reading, uint32_t from, uint32_t to,
                                  struct way *out, struct ronde_error *error)
{
    RONDE_TRY(
        ronde_router_route(reading->router, from, to, ROUTE_MAX, out->links, &out->count, error));
    return out->count > 0 && out->count <= ROUTE_MAX
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNSUPPORTED,
                            "%s: no route of links between hosts %u and %u that NCCL's model could "
                            "be told of",
                            ronde_platform_path(reading->platform), from, to);
}

static double slowest_GBps(const struct reading *reading, const struct way *way)
{
    double slowest = INFINITY;
    for (uint32_t i = 0; i < way->count; i++)
        slowest = fmin(slowest, link_GBps(reading, way->links[i]));
    return slowest;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ronde_nccl_usual(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static enum ronde_nccl_generation generation_of(const struct ronde_platform_facts *facts,
                                                const struct ronde_nccl_machine *machine)
{
    /* Data sheets; 0: no switch joins such GPUs, they have bridges or no NVLink. */
    static const double most_GBps[RONDE_NCCL_GENERATION_COUNT] = {
        [RONDE_NCCL_PASCAL] = 80, [RONDE_NCCL_VOLTA] = 150, [RONDE_NCCL_AMPERE] = 300, [RONDE_NCCL_HOPPER] = 450};
    enum ronde_nccl_generation generation = RONDE_NCCL_PASCAL;
    if (ronde_nccl_generation_find(facts->description, &generation) ||
        ronde_nccl_generation_find(facts->name, &generation))
        return generation;
    /* One GPU a node: its slot carries its NIC. */
    if (machine->link == RONDE_NODE_PCIE && !(machine->pcie_GBps > 0))
        return machine->nic_GBps <= 12.5 ? RONDE_NCCL_VOLTA
               : machine->nic_GBps <= 25 ? RONDE_NCCL_AMPERE
                                         : RONDE_NCCL_HOPPER;
    if (machine->link == RONDE_NODE_PCIE)
        return machine->pcie_GBps < 20   ? RONDE_NCCL_VOLTA
               : machine->pcie_GBps < 40 ? RONDE_NCCL_AMPERE
                                         : RONDE_NCCL_HOPPER;
    while (generation < RONDE_NCCL_BLACKWELL && machine->nvlink_GBps > most_GBps[generation])
        generation++;
    return generation;
}

/** The way to the next host of a host's node from a distance on that is no part of the same GPU; *distance of none is the node's size. */
static enum ronde_status next_way(const struct reading *reading, uint32_t host, uint32_t *distance,
                                  struct way *out, struct ronde_error *error)
{
    const uint32_t gpus = reading->gpus;
    for (; *distance < gpus; ++*distance) {
        RONDE_TRY(
            route_of(reading, host, host - host % gpus + (host + *distance) % gpus, out, error));
        if (slowest_GBps(reading, out) < memory_GBps)
            return RONDE_OK;
    }
    return RONDE_OK;
}

/** Whether GPUs have a link to each other GPU of their node: the first two of them by the links that they begin with. */
static enum ronde_status find_mesh(const struct reading *reading, bool *out_is_mesh,
                                   struct ronde_error *error)
{
    struct way way, other;
    uint32_t distance = 1;
    *out_is_mesh = false;
    if (reading->gpus < 3)
        return RONDE_OK;
    enum ronde_status status = next_way(reading, 0, &distance, &way, error);
    distance++;
    RONDE_THEN(status, next_way(reading, 0, &distance, &other, error));
    *out_is_mesh = status == RONDE_OK && distance < reading->gpus && way.links[0] != other.links[0];
    return status;
}

/** What joins the GPUs of a node: the way from each to the next; in a mesh, whose links may differ, from the first alone. */
static enum ronde_status take_inside(const struct reading *reading, struct ronde_nccl_machine *to,
                                     struct ronde_error *error)
{
    const uint32_t gpus = reading->gpus;
    bool is_mesh = false;
    uint32_t count = 0;
    RONDE_TRY(find_mesh(reading, &is_mesh, error));
    for (uint32_t h = 0; gpus > 1 && h < reading->nodes * gpus; h += is_mesh ? gpus : 1) {
        struct way way;
        uint32_t distance = 1;
        RONDE_TRY(next_way(reading, h, &distance, &way, error));
        reading->rates_GBps[count++] = slowest_GBps(reading, &way);
    }
    const double rate_GBps = count > 0 ? ronde_nccl_usual(reading->rates_GBps, count) : 0;
    const bool is_pcie = !is_mesh && rate_GBps <= fastest_slot_GBps;
    to->link = is_mesh ? RONDE_NODE_MESH : is_pcie ? RONDE_NODE_PCIE : RONDE_NODE_SWITCH;
    to->nvlink_GBps = is_pcie ? 0 : is_mesh ? rate_GBps * (gpus - 1) : rate_GBps;
    to->pcie_GBps = is_pcie ? rate_GBps : 0;
    return RONDE_OK;
}

/** Links that a node's GPUs leave it by, each counted once; `links` is of all GPUs. */
static uint32_t count_distinct(const uint32_t *links, uint32_t count)
{
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = 0;
        while (before < i && links[before] != links[i])
            before++;
        distinct += before == i;
    }
    return distinct;
}

/** NICs: by which each GPU leaves for that of its number on the next node. */
static enum ronde_status take_nics(const struct reading *reading, uint32_t *room,
                                   struct ronde_nccl_machine *to, struct ronde_error *error)
{
    const uint32_t gpus = reading->gpus;
    const uint32_t hosts = ronde_platform_facts(reading->platform)->hosts;
    for (uint32_t h = 0; h < reading->nodes * gpus; h++) {
        RONDE_TRY(ronde_router_nic(reading->router, h, (h + gpus) % (hosts - hosts % gpus),
                                   &room[h % gpus], error));
        reading->rates_GBps[h] = link_GBps(reading, room[h % gpus]);
        if (h % gpus == gpus - 1) {
            const uint32_t nics = count_distinct(room, gpus);
            to->nics = nics > to->nics ? nics : to->nics;
        }
    }
    to->nic_GBps = ronde_nccl_usual(reading->rates_GBps, reading->nodes * gpus);
    return RONDE_OK;
}

static enum ronde_status take_links(struct reading *reading, const struct ronde_mem *mem,
                                    struct ronde_nccl_machine *out, struct ronde_error *error)
{
    const uint32_t hosts = reading->nodes * reading->gpus;
    uint32_t *room = ronde_mem_new(mem, reading->gpus, sizeof *room);
    reading->rates_GBps = ronde_mem_new(mem, hosts, sizeof *reading->rates_GBps);
    enum ronde_status status =
        room && reading->rates_GBps
            ? ronde_router_create(reading->platform, mem, &reading->router, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for the links of %u GPUs", hosts);
    RONDE_THEN(status, take_inside(reading, out, error));
    if (status == RONDE_OK && ronde_platform_facts(reading->platform)->hosts > reading->gpus)
        status = take_nics(reading, room, out, error);
    ronde_router_destroy(reading->router);
    ronde_mem_free(mem, reading->rates_GBps, hosts, sizeof *reading->rates_GBps);
    ronde_mem_free(mem, room, reading->gpus, sizeof *room);
    return status;
}

enum ronde_status ronde_nccl_machine_of_platform(const struct ronde_platform *platform,
                                                 struct ronde_nccl_machine *out,
                                                 struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const uint32_t gpus = facts->node_hosts;
    *out = (struct ronde_nccl_machine){.gpus = gpus,
                                       .sockets = gpus > 4 ? 2 : 1,
                                       .fabric = facts->is_tcp ? RONDE_NCCL_ETHERNET
                                                               : RONDE_NCCL_INFINIBAND};
    snprintf(out->name, sizeof out->name, "%s", facts->name);
    if (gpus == 0 || gpus > facts->hosts || facts->shared.cores > 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: its hosts are not GPUs of nodes (ronde.node_hosts says how many are "
                          "one); describe the machine as topologies/published/README.md says",
                          ronde_platform_path(platform));
    const uint32_t nodes = facts->hosts / gpus;
    struct reading reading = {.platform = platform,
                              .gpus = gpus,
                              .nodes = nodes < NODES_MAX ? nodes : NODES_MAX};
    const enum ronde_status status = take_links(&reading, ronde_mem_default(), out, error);
    out->generation = generation_of(facts, out);
    return status;
}
