/* What NCCL's search for channels would find on a machine, as far as a description says it. See setting.h. */
#include "setting.h"

#include <math.h>

/** NCCL's idea of a processor's way between sockets, GB/s (LOC_BW and others of topo.h). */
static const double socket_GBps[RONDE_NCCL_CPU_COUNT] = {10, 16, 6};

/** Share of a slot's data-sheet rate that NCCL counts with: 24 of 31.5 GB/s. */
static const double pcie_share = .75;

struct ronde_nccl_search ronde_nccl_search_inside(const struct ronde_nccl_constants *constants,
                                                  const struct ronde_nccl_machine *machine,
                                                  uint32_t g)
{
    struct ronde_nccl_search found = {INFINITY, 1, RONDE_NCCL_PATH_NET};
    if (g < 2)
        return found;
    if (ronde_nccl_has_nvlink(machine, g)) {
        const double channel =
            ronde_nccl_of(constants, machine->generation, RONDE_NCCL_OF_tuner_channel_GBps);
        const double rate =
            ronde_nccl_nvlink(machine, g) *
            ronde_nccl_of(constants, machine->generation, RONDE_NCCL_OF_tuner_nvlink_ratio);
        const double channels = floor(rate / channel);
        found.channels = channels > 1 ? (uint32_t)channels : 1;
        return (struct ronde_nccl_search){found.channels * channel, found.channels,
                                          RONDE_NCCL_PATH_NVLINK};
    }
    found = (struct ronde_nccl_search){machine->pcie_GBps * pcie_share, 2, RONDE_NCCL_PATH_PCI};
    if (machine->link == RONDE_NODE_PCIE && machine->sockets > 1 &&
        machine->gpu_path != RONDE_NCCL_GPU_SWITCH)
        found.bus_GBps = fmin(found.bus_GBps, socket_GBps[machine->cpu]);
    return found;
}

struct ronde_nccl_search ronde_nccl_search_of(const struct ronde_nccl_constants *constants,
                                              const struct ronde_nccl_machine *machine,
                                              const struct ronde_nccl_call *call)
{
    const uint32_t g = call->ranks / call->nodes;
    struct ronde_nccl_search found = ronde_nccl_search_inside(constants, machine, g);
    if (call->nodes == 1)
        return found;
    const uint32_t nics = ronde_nccl_nics(machine, g);
    found.bus_GBps = fmin(found.bus_GBps, nics * machine->nic_GBps * ronde_nccl_nic_share);
    found.channels = nics < RONDE_NCCL_SEARCHED_CHANNELS ? nics : RONDE_NCCL_SEARCHED_CHANNELS;
    return found;
}

/** Most channels of NCCL's. */
static const uint32_t most_channels = 64;

uint32_t ronde_nccl_channels(const struct ronde_nccl_constants *constants,
                             const struct ronde_nccl_machine *machine,
                             const struct ronde_nccl_call *call)
{
    const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
    const uint32_t channels =
        ronde_nccl_search_of(constants, &joined.machine, &joined.call).channels;
    return 2 * channels < most_channels ? 2 * channels : most_channels;
}

double ronde_nccl_bus_GBps(const struct ronde_nccl_constants *constants,
                           const struct ronde_nccl_machine *machine,
                           const struct ronde_nccl_call *call)
{
    const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
    return ronde_nccl_search_of(constants, &joined.machine, &joined.call).bus_GBps;
}

const char *ronde_nccl_path_text(const struct ronde_nccl_machine *machine, uint32_t gpus)
{
    if (ronde_nccl_has_nvlink(machine, gpus))
        return "NVL";
    if (machine->gpu_path == RONDE_NCCL_GPU_SWITCH)
        return "PIX";
    if (machine->sockets > 1)
        return "SYS";
    return machine->behind_bridge ? "PHB" : "PIX";
}
