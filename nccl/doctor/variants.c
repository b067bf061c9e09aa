/**
 * Faults that machines have, as changes to their description. See doctor.h.
 *
 * Strengths are what the fault amounts to where it is seen: links fall back to half their lanes or rate, a lost NIC's
 * channels go over a neighbour (which halves their rate, and all channels carry alike) or are given up, SHM copies through
 * host memory. Where NCCL would see the fault when it searches its graph the description changes and it chooses anew;
 * where it would not, the rate alone does.
 */
#include "doctor_parts.h"

#include "nccl/model/setting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** What a call has to have. */
enum {
    NODES = 1,   /**< several */
    ONE_NIC = 2, /**< of a node is used */
    NVLINK = 4,
    SLOTS = 8, /**< several GPUs of a node, without NVLink between them */
    SOCKETS = 16
};

static bool has_nvlink(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    return ronde_nccl_has_nvlink(machine, call->ranks / call->nodes);
}

/** NICs that the ranks of a node use. */
static uint32_t nics_of(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    return ronde_nccl_nics(machine, call->ranks / call->nodes);
}

#define APPLY(name)                                                                                \
    static bool name(uint32_t strength, const struct ronde_nccl_call *call,                        \
                     struct ronde_nccl_machine *machine, struct ronde_nccl_constants *constants,   \
                     double *add_us, bool *no_nvls)

#define UNUSED5(a, b, c, d, e) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e))

/** Whether all NICs of a node carry a call; what neighbours send each other leaves a node by one. */
static bool is_shared(const struct ronde_nccl_call *call)
{
    return call->collective != RONDE_SEND_RECV;
}

APPLY(nic_lost)
{
    const double nics = nics_of(machine, call);
    const double rates[] = {.5, (nics - 1) / nics};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->nics *= rates[strength];
    return call->nodes > 1 && nics > 1 && is_shared(call);
}

APPLY(nic_one)
{
    const double nics = nics_of(machine, call);
    UNUSED5(strength, add_us, no_nvls, machine, call);
    constants->nics /= nics;
    return call->nodes > 1 && nics > 2 && is_shared(call);
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

APPLY(no_p2p)
{
    static const double rates[] = {1, .5, 1, .7};
    const bool is_pcie = machine->link == RONDE_NODE_PCIE;
    const bool can =
        call->ranks > call->nodes && !(is_pcie && machine->gpu_path == RONDE_NCCL_GPU_HOST);
    UNUSED5(add_us, no_nvls, call, constants, machine);
    if (is_pcie)
        constants->links *= rates[strength] * (machine->gpu_path == RONDE_NCCL_GPU_SWITCH ? 1 : .6);
    /* GPUs that NVLink joined may still reach each other by bridges, or copy through memory: two strengths each. */
    if (is_pcie || strength > 1)
        machine->gpu_path = RONDE_NCCL_GPU_HOST;
    machine->pcie_GBps = ronde_nccl_slot_GBps(constants, machine) *
                         (machine->link == RONDE_NODE_PCIE ? 1 : rates[strength]);
    machine->link = RONDE_NODE_PCIE;
    return can;
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

/* Rings cross a leaf's uplinks once for each NIC; of what each sends to all others nearly everything does. */
APPLY(leaf_oversubscribed)
{
    static const double rates[] = {.5, .25};
    UNUSED5(add_us, no_nvls, machine, call, constants);
    constants->nics *= rates[strength];
    return call->nodes > 2 && call->collective == RONDE_ALL_TO_ALL;
}

APPLY(ring_over_pcie)
{
    const bool can = has_nvlink(machine, call) && call->ranks / call->nodes > 2;
    UNUSED5(strength, add_us, no_nvls, call, constants);
    machine->pcie_GBps = ronde_nccl_slot_GBps(constants, machine);
    machine->link = RONDE_NODE_PAIRS;
    return can;
}

APPLY(no_nvswitch_sums)
{
    UNUSED5(strength, add_us, machine, call, constants);
    *no_nvls = true;
    return machine->link == RONDE_NODE_SWITCH && machine->generation >= RONDE_NCCL_HOPPER;
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

/** "NAME=value" where a variable is set to a word, or where that is NULL to something other than 0. */
static bool is_set(const struct ronde_log_facts *log, const char *name, const char *word,
                   char *out_text, uint32_t bytes)
{
    char value[64];
    if (!ronde_log_setting(log, name, value, sizeof value) ||
        (word ? strcasecmp(value, word) != 0 : strcmp(value, "0") == 0))
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
    return is_set(log, "NCCL_P2P_DISABLE", NULL, out_text, bytes) ||
           (machine->link != RONDE_NODE_PCIE && log->via[RONDE_LOG_VIA_P2P] == 0 &&
            is_taken(log, RONDE_LOG_VIA_SHM, out_text, bytes));
}

SAID(says_sockets)
{
    return is_set(log, "NCCL_IB_DISABLE", NULL, out_text, bytes) ||
           (machine->fabric != RONDE_NCCL_ETHERNET &&
            is_taken(log, RONDE_LOG_VIA_SOCKET, out_text, bytes));
}

SAID(says_no_gpu_direct)
{
    /* Only NICs of verbs are marked so; libfabric's are not. */
    return is_set(log, "NCCL_NET_GDR_LEVEL", "0", out_text, bytes) ||
           is_set(log, "NCCL_NET_GDR_LEVEL", "LOC", out_text, bytes) ||
           (machine->fabric == RONDE_NCCL_INFINIBAND && log->via[RONDE_LOG_VIA_GDR] == 0 &&
            log->via[RONDE_LOG_VIA_SOCKET] == 0 &&
            is_taken(log, RONDE_LOG_VIA_NET, out_text, bytes));
}

SAID(says_no_nvswitch_sums)
{
    (void)machine;
    return is_set(log, "NCCL_NVLS_ENABLE", "0", out_text, bytes);
}

SAID(says_debug)
{
    (void)machine;
    const bool is_traced = is_set(log, "NCCL_DEBUG", "TRACE", out_text, bytes);
    if (is_traced)
        snprintf(out_text, bytes, "NCCL_DEBUG=TRACE");
    return is_traced;
}

static const struct ronde_doctor_variant variants[] = {
    {"as_described", "the machine is as described", "nothing", .strengths = 1},
    {"nic_lost", "one NIC of a node is lost: its channels share another, or are given up",
     "NCCL_DEBUG=INFO lists the NICs in use (NET/IB : Using ...); ibstat on every node",
     .strengths = 2, .apply = nic_lost},
    {"nic_half", "the NIC runs at half its rate",
     "ibstat or ethtool: rate and width of the port; the cable, the switch's port", .strengths = 1,
     .needs = NODES | ONE_NIC, .nics = {.5}},
    {"nic_one", "all traffic of a node goes over one NIC",
     "NCCL_IB_HCA, NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO lists the NICs in use", .strengths = 1,
     .apply = nic_one},
    {"sockets", "TCP sockets carry what RDMA should",
     "NCCL_DEBUG=INFO: NET/Socket instead of NET/IB or NET/OFI; NCCL_IB_DISABLE, the plugin's path",
     .strengths = 4, .apply = sockets, .is_said = says_sockets},
    {"no_gpu_direct", "GPUDirect RDMA is off: messages are staged in host memory",
     "NCCL_DEBUG=INFO: no /GDRDMA; nvidia-peermem is loaded, ACS is off, NCCL_NET_GDR_LEVEL",
     .strengths = 2, .is_said = says_no_gpu_direct, .needs = NODES, .nics = {.7, .4},
     .between = {1.5, 1.5}},
    {"far_nic", "GPUs use NICs of the other processor (wrong NUMA side)",
     "nvidia-smi topo -m: SYS between GPU and NIC; the container's topology, NCCL_TOPO_FILE",
     .strengths = 2, .needs = NODES | SOCKETS, .nics = {.6, .35}, .between = {1.2, 1.2}},
    {"slow_network", "messages between nodes take several times as long",
     "ib_write_lat between nodes; congestion, PFC and ECN, routing over too many switches",
     .strengths = 2, .needs = NODES, .between = {2.5, 6}},
    {"no_p2p", "GPUs do not reach each other directly (P2P off): host memory carries it",
     "NCCL_DEBUG=INFO: via SHM; NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, IOMMU and ACS", .strengths = 4,
     .apply = no_p2p, .is_said = says_no_p2p},
    {"nvlink_half", "half of the NVLinks are missing",
     "nvidia-smi nvlink --status on every GPU; fabric manager", .strengths = 1, .needs = NVLINK,
     .links = {.5}},
    {"connection_capped", "one connection is capped, many at once are not",
     "alltoall is as fast as it should be; limits of a flow (virtual machine, queue pair), "
     "NCCL_IB_QPS_PER_CONNECTION",
     .strengths = 4, .apply = connection_capped},
    {"ring_over_pcie", "rings cross PCIe where NVLink should carry them",
     "nvidia-smi topo -m: PIX, NODE or SYS between GPUs; CUDA_VISIBLE_DEVICES, a GPU without "
     "NVLink",
     .strengths = 1, .apply = ring_over_pcie},
    {"pcie_half", "PCIe slots at half their width or an older generation",
     "nvidia-smi -q: PCIe link width and generation under load; lspci -vv LnkSta", .strengths = 2,
     .needs = SLOTS, .links = {.5, .25}},
    {"far_gpu", "GPUs lie on the wrong side of the processors (wrong NUMA side)",
     "nvidia-smi topo -m: SYS between GPUs; which GPUs the job was given", .strengths = 2,
     .needs = SLOTS | SOCKETS, .links = {.7, .35}, .inside = {1.3, 1.3}},
    {"slow_gpu", "one GPU is slow, and all wait for it",
     "nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE on every GPU; halves of the GPUs by "
     "themselves",
     .strengths = 2, .nics = {.65, .45}, .links = {.65, .45}, .between = {1.2, 1.5},
     .inside = {1.2, 1.5}},
    {"leaf_oversubscribed", "more is sent through a leaf switch's uplinks than they carry",
     "alltoall of as many nodes as share a leaf; which uplinks are down, adaptive routing",
     .strengths = 2, .apply = leaf_oversubscribed},
    {"no_nvls", "NVSwitch does not reduce (NVLS off)",
     "NCCL_NVLS_ENABLE; NCCL_DEBUG=INFO: 0 nvls channels; fabric manager, multicast",
     .strengths = 1, .apply = no_nvswitch_sums, .is_said = says_no_nvswitch_sums},
    {"slow_host", "every call starts late: the processors, not the links",
     "processors' clock and governor, one process a GPU instead of -g, NCCL_DEBUG, other load",
     .strengths = 3, .apply = slow_host, .is_said = says_debug},
};

static void scale(double *constant, double by)
{
    if (by > 0)
        *constant *= by;
}

bool ronde_doctor_apply(const struct ronde_doctor_variant *variant, uint32_t strength,
                        const struct ronde_nccl_call *call, struct ronde_nccl_machine *machine,
                        struct ronde_nccl_constants *constants, double *add_us, bool *no_nvls)
{
    const unsigned needs = variant->needs;
    if (variant->apply)
        return variant->apply(strength, call, machine, constants, add_us, no_nvls);
    /* What rates alone say has two strengths at most. */
    scale(&constants->nics, variant->nics[strength]);
    scale(&constants->links, variant->links[strength]);
    scale(&constants->between, variant->between[strength]);
    scale(&constants->inside, variant->inside[strength]);
    return (!(needs & NODES) || call->nodes > 1) &&
           (!(needs & ONE_NIC) || nics_of(machine, call) == 1) &&
           (!(needs & NVLINK) || has_nvlink(machine, call)) &&
           (!(needs & SLOTS) || (call->ranks > call->nodes && !has_nvlink(machine, call))) &&
           (!(needs & SOCKETS) || machine->sockets > 1);
}

const struct ronde_doctor_variant *ronde_doctor_variants(uint32_t *out_count)
{
    *out_count = sizeof variants / sizeof variants[0];
    return variants;
}
