/** Machines of NCCL's model from platform files. See nccl_platform.h. */
#include "ronde/nccl_platform.h"

#include "ronde/doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** Links of a route that are looked at. */
#define ROUTE_MAX 64u

/** The fastest slot, gen6 x16, one direction: what joins GPUs through one port at less is taken for PCIe. */
static const double fastest_slot_GBps = 126;

/** The slowest link of a route, and the first. */
static enum ronde_status route_of(const struct ronde_platform *platform, uint32_t to,
                                  double *out_GBps, uint32_t *out_first, struct ronde_error *error)
{
    uint32_t links[ROUTE_MAX], count = 0;
    const enum ronde_status status =
        ronde_platform_route(platform, 0, to, ROUTE_MAX, links, &count, error);
    *out_GBps = INFINITY;
    if (status != RONDE_OK)
        return status;
    for (uint32_t i = 0; i < count && i < ROUTE_MAX; i++)
        *out_GBps = fmin(*out_GBps, ronde_platform_link(platform, links[i])->rate_GBps);
    *out_first = count > 0 ? links[0] : 0;
    return count > 0 && count <= ROUTE_MAX && isfinite(*out_GBps)
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNSUPPORTED,
                            "%s: no route of links between hosts 0 and %u that NCCL's model could "
                            "be told of",
                            ronde_platform_path(platform), to);
}

static enum ronde_nccl_generation generation_of(const struct ronde_platform_facts *facts,
                                                const struct ronde_nccl_machine *machine)
{
    /* Data sheets; 0: no switch joins such GPUs, they have bridges or no NVLink. */
    static const double most_GBps[RONDE_NCCL_GENERATION_COUNT] = {
        [RONDE_NCCL_PASCAL] = 80, [RONDE_NCCL_VOLTA] = 150, [RONDE_NCCL_AMPERE] = 300, [RONDE_NCCL_HOPPER] = 450};
    enum ronde_nccl_generation generation = RONDE_NCCL_PASCAL;
    if (ronde_doctor_generation(facts->description, &generation) ||
        ronde_doctor_generation(facts->name, &generation))
        return generation;
    /* One GPU a node: its slot carries its NIC. */
    if (machine->link == RONDE_NCCL_PCIE && !(machine->pcie_GBps > 0))
        return machine->nic_GBps <= 12.5 ? RONDE_NCCL_VOLTA
               : machine->nic_GBps <= 25 ? RONDE_NCCL_AMPERE
                                         : RONDE_NCCL_HOPPER;
    if (machine->link == RONDE_NCCL_PCIE)
        return machine->pcie_GBps < 20   ? RONDE_NCCL_VOLTA
               : machine->pcie_GBps < 40 ? RONDE_NCCL_AMPERE
                                         : RONDE_NCCL_HOPPER;
    while (generation < RONDE_NCCL_BLACKWELL && machine->nvlink_GBps > most_GBps[generation])
        generation++;
    return generation;
}

/** What joins the GPUs of a node. */
static enum ronde_status take_inside(const struct ronde_platform *platform,
                                     struct ronde_nccl_machine *to, struct ronde_error *error)
{
    double rate_GBps = 0, other_GBps = 0;
    uint32_t first = 0, other = 0;
    enum ronde_status status = RONDE_OK;
    if (to->gpus > 1)
        status = route_of(platform, 1, &rate_GBps, &first, error);
    if (status == RONDE_OK && to->gpus > 2)
        status = route_of(platform, 2, &other_GBps, &other, error);
    const bool is_mesh = to->gpus > 2 && other != first;
    const bool is_pcie = !is_mesh && rate_GBps <= fastest_slot_GBps;
    to->link = is_mesh ? RONDE_NCCL_MESH : is_pcie ? RONDE_NCCL_PCIE : RONDE_NCCL_SWITCH;
    to->nvlink_GBps = is_mesh ? rate_GBps * (to->gpus - 1) : rate_GBps;
    if (is_pcie) {
        to->nvlink_GBps = 0;
        to->pcie_GBps = rate_GBps;
    }
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
    if (gpus == 0 || facts->shared.cores > 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: its hosts are not GPUs of nodes (ronde.node_hosts says how many are "
                          "one); describe the machine as topologies/published/README.md says",
                          ronde_platform_path(platform));
    enum ronde_status status = take_inside(platform, out, error);
    if (status == RONDE_OK && facts->hosts > gpus) {
        uint32_t first = 0;
        out->nics = gpus;
        status = route_of(platform, gpus, &out->nic_GBps, &first, error);
    }
    out->generation = generation_of(facts, out);
    return status;
}
