/** What links, slots and NICs of a machine carry. See setting.h. */
#include "setting.h"

#include <math.h>

/* Threads times bytes a thread, and for Simple what makes a channel worth it (enqueue.cc, threadThreshold). */
const double ronde_nccl_round_bytes[RONDE_NCCL_PROTOCOL_COUNT] = {4096, 5120, 32768};

const double ronde_nccl_wire[RONDE_NCCL_PROTOCOL_COUNT] = {2, 16 / 15., 1};

/** Two limits of one rate. Sharper than that they do not meet: rings on 2, 4 and 6 of 8 H100 reach 347, 366 and 367 GB/s. */
static const double limit_exponent = 6;

_Static_assert(RONDE_NCCL_COMMON_slingshot_latency_us - RONDE_NCCL_COMMON_infiniband_latency_us ==
                       RONDE_NCCL_FABRIC_CONSTANTS &&
                   RONDE_NCCL_COMMON_efa_latency_us - RONDE_NCCL_COMMON_slingshot_latency_us ==
                       RONDE_NCCL_FABRIC_CONSTANTS &&
                   RONDE_NCCL_COMMON_ethernet_latency_us - RONDE_NCCL_COMMON_infiniband_latency_us ==
                       (int)RONDE_NCCL_FABRIC_CONSTANTS * (int)RONDE_NCCL_ETHERNET,
               "constants of fabrics are in one order");

double ronde_nccl_of_fabric(const struct ronde_nccl_setting *setting, unsigned which)
{
    return ronde_nccl_common_of(setting, RONDE_NCCL_COMMON_infiniband_latency_us +
                                             setting->machine->fabric *
                                                 (unsigned)RONDE_NCCL_FABRIC_CONSTANTS +
                                             which);
}

double ronde_nccl_overlapped(double a, double b, double exponent)
{
    const double longer = fmax(a, b), shorter = fmin(a, b);
    return longer > 0 && isfinite(longer)
               ? longer * pow(1 + pow(shorter / longer, exponent), 1 / exponent)
               : longer;
}

double ronde_nccl_slower(double a, double b)
{
    return 1 / ronde_nccl_overlapped(1 / a, 1 / b, limit_exponent);
}

bool ronde_nccl_is_pairs(const struct ronde_nccl_setting *setting)
{
    return setting->machine->link == RONDE_NODE_PAIRS && setting->g > 2;
}

double ronde_nccl_reached_nvlink_GBps(const struct ronde_nccl_setting *setting)
{
    return ronde_nccl_nvlink(setting->machine, setting->g) *
           NCCL_COMMON(setting, nvlink_efficiency) * NCCL_OWN(setting, link_ratio) *
           setting->constants->links;
}

double ronde_nccl_reached_slot_GBps(const struct ronde_nccl_setting *setting)
{
    const enum ronde_nccl_common efficiency = setting->machine->gpu_path == RONDE_NCCL_GPU_SWITCH
                                                  ? RONDE_NCCL_COMMON_pcie_switch_efficiency
                                              : ronde_nccl_is_pairs(setting)
                                                  ? RONDE_NCCL_COMMON_pcie_pairs_efficiency
                                                  : RONDE_NCCL_COMMON_pcie_efficiency;
    return setting->machine->pcie_GBps * setting->constants->links *
           ronde_nccl_common_of(setting, efficiency);
}

double ronde_nccl_point_slot_ratio(const struct ronde_nccl_setting *setting)
{
    return ronde_nccl_is_point(setting->call->collective) ? NCCL_COMMON(setting, p2p_slot_ratio) : 1;
}

/** What the slots of GPUs, or of fewer NICs, carry both ways at once. Sockets go through the host's memory, not through GPUs. */
static double slots_GBps(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const uint32_t nics = ronde_nccl_nics(machine, setting->g);
    const double slots = (nics < setting->g ? nics : setting->g) *
                         ronde_nccl_slot_GBps(setting->constants, machine) *
                         ronde_nccl_point_slot_ratio(setting);
    if (machine->fabric == RONDE_NCCL_ETHERNET)
        return INFINITY;
    if (!machine->behind_bridge)
        return slots * NCCL_COMMON(setting, slot_efficiency);
    return slots * NCCL_COMMON(setting, bridge_efficiency) *
           (setting->g == 1 ? NCCL_COMMON(setting, lone_nic_efficiency) : 1);
}

double ronde_nccl_nics_GBps(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    /* A search's channels are as many as the GPUs of a rack whose NICs are used. */
    const double used = fmin(1, (double)RONDE_NCCL_SEARCHED_CHANNELS / setting->g);
    const double ports = used * ronde_nccl_nics(machine, setting->g) * machine->nic_GBps *
                         ronde_nccl_of_fabric(setting, RONDE_NCCL_FABRIC_EFFICIENCY);
    const double slots = slots_GBps(setting);
    return setting->constants->nics *
           (machine->behind_bridge ? ronde_nccl_slower(ports, slots) : fmin(ports, slots));
}

/**
 * What a thread block reads of host memory, which takes as long as the slot is slow; without end where it need not. Through AMD's link
 * between sockets blocks read, write and wait for flags one after another, however wide the slot: four L4 get 2 GB/s by two channels.
 */
static double staged_GBps(const struct ronde_nccl_setting *setting)
{
    static const double gen3_GBps = 15.75, ways = 3;
    const double channel = NCCL_COMMON(setting, p2p_host_channel_GBps);
    if (setting->g < 2 || !ronde_nccl_is_by_host(setting))
        return INFINITY;
    return ronde_nccl_is_by_far_host(setting)
               ? channel / ways
               : channel * ronde_nccl_slot_GBps(setting->constants, setting->machine) / gen3_GBps;
}

/** The same of memory that GPUs write to each other's. */
static double direct_GBps(const struct ronde_nccl_setting *setting)
{
    const double ratio = NCCL_OWN(setting, channel_ratio);
    if (setting->protocol == RONDE_NCCL_LL)
        return ratio * NCCL_COMMON(setting, channel_ll_GBps);
    const double share =
        setting->protocol == RONDE_NCCL_SIMPLE ? 1 : NCCL_COMMON(setting, channel_ll128_share);
    return ratio * share * NCCL_COMMON(setting, channel_simple_GBps);
}

double ronde_nccl_block_GBps(const struct ronde_nccl_setting *setting)
{
    return fmin(direct_GBps(setting), staged_GBps(setting));
}

double ronde_nccl_proxied(const struct ronde_nccl_setting *setting, double GBps)
{
    if (setting->machine->fabric != RONDE_NCCL_ETHERNET)
        return GBps;
    return fmin(GBps, NCCL_COMMON(setting, ethernet_channel_GBps));
}

/** The version of NCCL since which a thread passes on its line of LL as it comes, without a wait for the others of its block. */
enum { LINE_BY_LINE = 210 };

/** How sharply the longer of a hop and its first lines counts. */
static const double overlap_lines = 2;

double ronde_nccl_hidden_us(const struct ronde_nccl_setting *setting, double bytes)
{
    const uint32_t version = setting->call->version;
    if (setting->protocol != RONDE_NCCL_LL || ronde_nccl_is_by_host(setting) ||
        (version > 0 && version < LINE_BY_LINE))
        return 0;
    const double first = fmin(bytes / setting->channels, ronde_nccl_round_bytes[RONDE_NCCL_LL]);
    const double first_us = first / 1e3 / ronde_nccl_block_GBps(setting);
    return setting->hop_us + first_us -
           ronde_nccl_overlapped(setting->hop_us, first_us, overlap_lines);
}
