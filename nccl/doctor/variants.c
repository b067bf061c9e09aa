/**
 * Faults that machines have, as changes to their description. See doctor.h.
 *
 * Strengths are what the fault amounts to where it is seen: links fall back to half their lanes or rate, a lost NIC's
 * channels go over a neighbour (which halves their rate, and all channels carry alike) or are given up, SHM copies through
 * host memory. Where NCCL would see the fault when it searches its graph the description changes and it chooses anew;
 * where it would not, the rate alone does.
 */
#include "doctor_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Of a slot, one direction, where a description leaves it out: x16 of the generation that came with the GPU. */
static double pcie_GBps(const struct ronde_nccl_machine *machine,
                        const struct ronde_nccl_constants *constants)
{
    const size_t at = RONDE_NCCL_COMMON_COUNT +
                      (size_t)machine->generation * RONDE_NCCL_OF_GENERATION_COUNT +
                      RONDE_NCCL_OF_slot_GBps;
    return machine->pcie_GBps > 0 ? machine->pcie_GBps : constants->all[at].value;
}

static bool has_nvlink(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    const uint32_t g = call->ranks / call->nodes;
    return g > 1 && machine->link != RONDE_NCCL_PCIE &&
           !(machine->link == RONDE_NCCL_PAIRS && g > 2);
}

/** NICs that the ranks of a node use. */
static uint32_t nics_of(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    const uint32_t share = machine->nics * (call->ranks / call->nodes) / machine->gpus;
    return share > 0 ? share : 1;
}

#define APPLY(name)                                                                                \
    static bool name(uint32_t strength, const struct ronde_nccl_call *call,                        \
                     struct ronde_nccl_machine *machine, struct ronde_nccl_constants *constants,   \
                     double *add_us, bool *no_nvls)

#define UNUSED5(a, b, c, d, e) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e))

APPLY(as_described)
{
    (void)strength;
    UNUSED5(call, machine, constants, add_us, no_nvls);
    return true;
}

APPLY(nic_lost)
{
    const double nics = nics_of(machine, call);
    const double rates[] = {.5, (nics - 1) / nics};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->nics *= rates[strength];
    return call->nodes > 1 && nics > 1;
}

APPLY(nic_half)
{
    UNUSED5(strength, add_us, no_nvls, machine, call);
    constants->nics *= .5;
    return call->nodes > 1 && nics_of(machine, call) == 1;
}

APPLY(nic_one)
{
    const double nics = nics_of(machine, call);
    UNUSED5(strength, add_us, no_nvls, machine, call);
    constants->nics /= nics;
    return call->nodes > 1 && nics > 2;
}

APPLY(sockets)
{
    /* One port of 10, 25, 100 Gbit/s beside the fabric, or the fabric's own. */
    static const double ports_GBps[] = {1.25, 3.125, 12.5};
    const bool can = call->nodes > 1 && machine->fabric != RONDE_NCCL_ETHERNET;
    UNUSED5(add_us, no_nvls, call, constants, machine);
    machine->fabric = RONDE_NCCL_ETHERNET;
    if (strength < sizeof ports_GBps / sizeof ports_GBps[0]) {
        machine->nics = 1;
        machine->nic_GBps = fmin(machine->nic_GBps, ports_GBps[strength]);
    }
    return can;
}

APPLY(no_gpu_direct)
{
    static const double rates[] = {.7, .4};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->nics *= rates[strength];
    constants->between *= 1.5;
    return call->nodes > 1;
}

APPLY(far_nic)
{
    static const double rates[] = {.6, .35};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->nics *= rates[strength];
    constants->between *= 1.2;
    return call->nodes > 1 && machine->sockets > 1;
}

APPLY(slow_network)
{
    static const double latencies[] = {2.5, 6};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->between *= latencies[strength];
    return call->nodes > 1;
}

APPLY(no_p2p)
{
    static const double rates[] = {1, .5};
    const bool is_pcie = machine->link == RONDE_NCCL_PCIE;
    const bool can =
        call->ranks > call->nodes && !(is_pcie && machine->gpu_path == RONDE_NCCL_GPU_HOST);
    UNUSED5(add_us, no_nvls, call, constants, machine);
    if (is_pcie) {
        constants->links *= rates[strength] * (machine->gpu_path == RONDE_NCCL_GPU_SWITCH ? 1 : .6);
        machine->gpu_path = RONDE_NCCL_GPU_HOST;
    }
    machine->pcie_GBps =
        pcie_GBps(machine, constants) * (machine->link == RONDE_NCCL_PCIE ? 1 : rates[strength]);
    machine->link = RONDE_NCCL_PCIE;
    return can;
}

APPLY(nvlink_half)
{
    UNUSED5(strength, add_us, no_nvls, machine, call);
    constants->links *= .5;
    return has_nvlink(machine, call);
}

/* To all others at once a rank has as many connections, which carry together what one of them may not. */
APPLY(connection_capped)
{
    static const double rates[] = {.5, .35, .25, .15};
    const bool is_spread = call->collective == RONDE_ALL_TO_ALL;
    const double share =
        is_spread ? fmin(1, rates[strength] * ((double)call->ranks - 1)) : rates[strength];
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->links *= share;
    constants->nics *= share;
    return call->nodes > 1 || has_nvlink(machine, call);
}

APPLY(ring_over_pcie)
{
    const bool can = has_nvlink(machine, call) && call->ranks / call->nodes > 2;
    UNUSED5(strength, add_us, no_nvls, call, constants);
    machine->pcie_GBps = pcie_GBps(machine, constants);
    machine->link = RONDE_NCCL_PAIRS;
    return can;
}

APPLY(pcie_half)
{
    static const double rates[] = {.5, .25};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->links *= rates[strength];
    return call->ranks > call->nodes && !has_nvlink(machine, call);
}

APPLY(far_gpu)
{
    static const double rates[] = {.7, .35};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->links *= rates[strength];
    constants->inside *= 1.3;
    return call->ranks > call->nodes && !has_nvlink(machine, call) && machine->sockets > 1;
}

APPLY(no_nvswitch_sums)
{
    UNUSED5(strength, add_us, machine, call, constants);
    *no_nvls = true;
    return machine->link == RONDE_NCCL_SWITCH && machine->generation >= RONDE_NCCL_HOPPER;
}

APPLY(slow_host)
{
    static const double delays_us[] = {15, 40, 120};
    UNUSED5(no_nvls, machine, call, constants, strength);
    *add_us = delays_us[strength];
    return true;
}

#define SAID(name)                                                                                 \
    static bool name(const struct ronde_log_facts *log, const struct ronde_nccl_machine *machine,  \
                     char *out_text, uint32_t bytes)

/** "NAME=value" where a variable is set to something other than 0. */
static bool is_set(const struct ronde_log_facts *log, const char *name, char *out_text,
                   uint32_t bytes)
{
    char value[64];
    if (!ronde_log_setting(log, name, value, sizeof value) || strcmp(value, "0") == 0)
        return false;
    snprintf(out_text, bytes, "%s=%s", name, value);
    return true;
}

/** Connections that took a way. */
static bool is_taken(const struct ronde_log_facts *log, enum ronde_log_via via, char *out_text,
                     uint32_t bytes)
{
    snprintf(out_text, bytes, "%u connections by %s", log->via[via], ronde_log_via_text(via));
    return log->via[via] > 0;
}

SAID(says_no_p2p)
{
    return is_set(log, "NCCL_P2P_DISABLE", out_text, bytes) ||
           (machine->link != RONDE_NCCL_PCIE && log->via[RONDE_LOG_VIA_P2P] == 0 &&
            is_taken(log, RONDE_LOG_VIA_SHM, out_text, bytes));
}

SAID(says_sockets)
{
    return is_set(log, "NCCL_IB_DISABLE", out_text, bytes) ||
           (machine->fabric != RONDE_NCCL_ETHERNET &&
            is_taken(log, RONDE_LOG_VIA_SOCKET, out_text, bytes));
}

SAID(says_no_gpu_direct)
{
    char value[64];
    (void)machine;
    if (ronde_log_setting(log, "NCCL_NET_GDR_LEVEL", value, sizeof value) &&
        (strcmp(value, "0") == 0 || strcasecmp(value, "LOC") == 0)) {
        snprintf(out_text, bytes, "NCCL_NET_GDR_LEVEL=%s", value);
        return true;
    }
    /* Only NICs of verbs are marked so; libfabric's are not. */
    return machine->fabric == RONDE_NCCL_INFINIBAND && log->via[RONDE_LOG_VIA_GDR] == 0 &&
           log->via[RONDE_LOG_VIA_SOCKET] == 0 && is_taken(log, RONDE_LOG_VIA_NET, out_text, bytes);
}

SAID(says_no_nvswitch_sums)
{
    char value[64];
    (void)machine;
    snprintf(out_text, bytes, "NCCL_NVLS_ENABLE=0");
    return ronde_log_setting(log, "NCCL_NVLS_ENABLE", value, sizeof value) &&
           strcmp(value, "0") == 0;
}

SAID(says_debug)
{
    char value[64];
    (void)machine;
    snprintf(out_text, bytes, "NCCL_DEBUG=TRACE");
    return ronde_log_setting(log, "NCCL_DEBUG", value, sizeof value) &&
           strcasecmp(value, "TRACE") == 0;
}

static const struct ronde_doctor_variant variants[] = {
    {"as_described", "the machine is as described", "nothing", 1, as_described, NULL},
    {"nic_lost", "one NIC of a node is lost: its channels share another, or are given up",
     "NCCL_DEBUG=INFO lists the NICs in use (NET/IB : Using ...); ibstat on every node", 2,
     nic_lost, NULL},
    {"nic_half", "the NIC runs at half its rate",
     "ibstat or ethtool: rate and width of the port; the cable, the switch's port", 1, nic_half,
     NULL},
    {"nic_one", "all traffic of a node goes over one NIC",
     "NCCL_IB_HCA, NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO lists the NICs in use", 1, nic_one, NULL},
    {"sockets", "TCP sockets carry what RDMA should",
     "NCCL_DEBUG=INFO: NET/Socket instead of NET/IB or NET/OFI; NCCL_IB_DISABLE, the plugin's path",
     4, sockets, says_sockets},
    {"no_gpu_direct", "GPUDirect RDMA is off: messages are staged in host memory",
     "NCCL_DEBUG=INFO: no /GDRDMA; nvidia-peermem is loaded, ACS is off, NCCL_NET_GDR_LEVEL", 2,
     no_gpu_direct, says_no_gpu_direct},
    {"far_nic", "GPUs use NICs of the other processor (wrong NUMA side)",
     "nvidia-smi topo -m: SYS between GPU and NIC; the container's topology, NCCL_TOPO_FILE", 2,
     far_nic, NULL},
    {"slow_network", "messages between nodes take several times as long",
     "ib_write_lat between nodes; congestion, PFC and ECN, routing over too many switches", 2,
     slow_network, NULL},
    {"no_p2p", "GPUs do not reach each other directly (P2P off): host memory carries it",
     "NCCL_DEBUG=INFO: via SHM; NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, IOMMU and ACS", 2, no_p2p,
     says_no_p2p},
    {"nvlink_half", "half of the NVLinks are missing",
     "nvidia-smi nvlink --status on every GPU; fabric manager", 1, nvlink_half, NULL},
    {"connection_capped", "one connection is capped, many at once are not",
     "alltoall is as fast as it should be; limits of a flow (virtual machine, queue pair), "
     "NCCL_IB_QPS_PER_CONNECTION",
     4, connection_capped, NULL},
    {"ring_over_pcie", "rings cross PCIe where NVLink should carry them",
     "nvidia-smi topo -m: PIX, NODE or SYS between GPUs; CUDA_VISIBLE_DEVICES, a GPU without "
     "NVLink",
     1, ring_over_pcie, NULL},
    {"pcie_half", "PCIe slots at half their width or an older generation",
     "nvidia-smi -q: PCIe link width and generation under load; lspci -vv LnkSta", 2, pcie_half,
     NULL},
    {"far_gpu", "GPUs lie on the wrong side of the processors (wrong NUMA side)",
     "nvidia-smi topo -m: SYS between GPUs; which GPUs the job was given", 2, far_gpu, NULL},
    {"no_nvls", "NVSwitch does not reduce (NVLS off)",
     "NCCL_NVLS_ENABLE; NCCL_DEBUG=INFO: 0 nvls channels; fabric manager, multicast", 1,
     no_nvswitch_sums, says_no_nvswitch_sums},
    {"slow_host", "every call starts late: the processors, not the links",
     "processors' clock and governor, one process a GPU instead of -g, NCCL_DEBUG, other load", 3,
     slow_host, says_debug},
};

const struct ronde_doctor_variant *ronde_doctor_variants(uint32_t *out_count)
{
    *out_count = sizeof variants / sizeof variants[0];
    return variants;
}
