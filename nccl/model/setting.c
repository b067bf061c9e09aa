/**
 * Rates, latencies and channels of a call. See setting.h.
 *
 *   link      the data sheet's rate times the share of it that is reached
 *   channel   a thread block sends what it takes in, so its rate holds for operations, of which a ring has `work` for one
 *             block on the link: n/(n-1) with one pass (a rank's first block is only sent and its last only taken in),
 *             (2n-1)/(2n-2) with two
 *   inside    link and channels, of which the slower counts, and both where they are close
 *   between   NICs, the slots that they and the GPUs are in, and the channels of the proxies, in the same way
 */
#include "setting.h"

#include <math.h>

/** The version of NCCL since which few GPUs a node have more channels. */
enum { CHANNELS_FILLED = 218 };

/** The least that a slot of gen4 carries by 16 lanes, GB/s, headers off. */
static const double gen4_GBps = 24;

/** The rate of a search from which on. */
static const double least_filled_GBps = 45;

/** A GPU's slowest link of an order of the node's GPUs, plain bytes. */
static double node_GBps(const struct ronde_nccl_setting *setting)
{
    if (setting->g < 2)
        return INFINITY;
    if (ronde_nccl_has_nvlink(setting->machine, setting->g))
        return ronde_nccl_reached_nvlink_GBps(setting);
    return ronde_nccl_reached_slot_GBps(setting);
}

/** What flags leave of a link for data; PCIe packets of an LL store are small besides. */
static double link_share(const struct ronde_nccl_setting *setting)
{
    const double plain = 1 / ronde_nccl_wire[setting->protocol];
    if (!ronde_nccl_has_nvlink(setting->machine, setting->g))
        return setting->protocol == RONDE_NCCL_SIMPLE
                   ? plain
                   : ronde_nccl_common_of(setting,
                                          RONDE_NCCL_COMMON_pcie_ll_share + setting->protocol);
    return setting->protocol == RONDE_NCCL_LL128 ? NCCL_OWN(setting, ll128_ratio) * plain : plain;
}

/** Through NICs and proxies, data. */
static double between_GBps(const struct ronde_nccl_setting *setting, double ratio)
{
    const bool is_socket = setting->machine->fabric == RONDE_NCCL_ETHERNET;
    const double share =
        setting->protocol == RONDE_NCCL_LL128 ? NCCL_COMMON(setting, net_ll128_share) : 1;
    const double proxy = NCCL_COMMON(setting, net_channel_GBps);
    if (setting->protocol == RONDE_NCCL_LL)
        return ronde_nccl_net_lines_GBps(setting);
    return ronde_nccl_slower(ronde_nccl_nics_GBps(setting) * share,
                             setting->channels * ronde_nccl_proxied(setting, proxy) *
                                 (is_socket ? 1 : ratio));
}

/** Channels of a search on one NIC, which NCCL doubles for the second tree. */
static double lone_channels(const struct ronde_nccl_machine *machine)
{
    return 2 * fmax(1, machine->nics / machine->gpus);
}

/** "Use 4 compute channels per search channel to reach peak BW on <8 PPN" (connect.cc, since 2.18). */
static double filled_channels(const struct ronde_nccl_setting *setting, double channels)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const uint32_t version = setting->call->version;
    const bool is_filled = machine->generation >= RONDE_NCCL_HOPPER && channels < 16 &&
                           (version == 0 || version >= CHANNELS_FILLED) &&
                           machine->nic_GBps * ronde_nccl_nic_share > least_filled_GBps;
    return is_filled ? 2 * channels : channels;
}

double ronde_nccl_most_channels(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const double all = NCCL_OWN(setting, channels);
    const double nics = (double)machine->nics * setting->g / machine->gpus;
    double channels = all;
    if (setting->g == 1)
        return filled_channels(setting, lone_channels(machine));
    if (machine->link == RONDE_NODE_MESH)
        channels = fmax(2, floor(all * ronde_nccl_mesh_share(machine, setting->g) + 1e-9));
    else if (machine->link == RONDE_NODE_PAIRS)
        /* Bridges have 2 links (RTX 2080 Ti) to 12 (A100, H100), and a search as many channels as they carry. */
        channels =
            setting->g > 2 ? 8 : ronde_nccl_channels(setting->constants, machine, setting->call);
    else if (machine->link == RONDE_NODE_PCIE)
        /* One of 12 GB/s through a slot of gen3 or by AMD's link between sockets, two through more; doubled. */
        channels = fmin(all, ronde_nccl_is_by_far_host(setting) ||
                                     ronde_nccl_slot_GBps(setting->constants, machine) < gen4_GBps
                                 ? 2
                                 : 4);
    /* RCCL has as many between nodes. */
    if (ronde_nccl_is_rccl(machine))
        return channels;
    return setting->call->nodes > 1 ? filled_channels(setting, fmin(channels, fmax(2, 2 * nics)))
                                    : channels;
}

/** Of the hops between bridged pairs those that go over PCIe: one in two of a ring, one less than bridges of a chain. */
static double pcie_hops_share(const struct ronde_nccl_setting *setting, bool is_tree)
{
    const double g = setting->g;
    return is_tree ? (g / 2 - 1) / (g - 1) : .5;
}

/** A hop by PCIe. In host memory a flag is read across the slot, whatever the protocol, and not in the GPU's own: the least hop once more. */
static double pcie_hop_us(const struct ronde_nccl_setting *setting)
{
    const double across_slot_us =
        ronde_nccl_is_by_host(setting) ? NCCL_COMMON(setting, pcie_ll_us) : 0;
    return ronde_nccl_common_of(setting, RONDE_NCCL_COMMON_pcie_ll_us + setting->protocol) +
           across_slot_us;
}

/**
 * A tree's hop by LL128 over a ring's, as NCCL has them: 1.25 of 1.9 us by NVLink, 1.9 of 2.5 by PCIe (hwLat, tuning.cc). By LL they are
 * alike, and what it has of Simple's is of chunks, which are counted apart.
 */
static const double tree_nvlink_ll128 = 1.25 / 1.9, tree_pcie_ll128 = 1.9 / 2.5;

/** A hop inside a node; hop_ratio is that of the parts with NVLink to all others. */
static double hop_us(const struct ronde_nccl_setting *setting, bool is_tree)
{
    const bool is_shorter = is_tree && setting->protocol == RONDE_NCCL_LL128;
    const double nvlink =
        ronde_nccl_common_of(setting, RONDE_NCCL_COMMON_nvlink_ll_us + setting->protocol) *
        NCCL_OWN(setting, hop_ratio) * (is_shorter ? tree_nvlink_ll128 : 1);
    const double pcie = pcie_hop_us(setting) * (is_shorter ? tree_pcie_ll128 : 1);
    double hop = pcie;
    if (ronde_nccl_is_pairs(setting)) {
        const double share = pcie_hops_share(setting, is_tree);
        hop = share * pcie + (1 - share) * nvlink;
    } else if (ronde_nccl_has_nvlink(setting->machine, setting->g))
        hop = nvlink;
    hop *= setting->constants->inside;
    return setting->limit ? fmax(hop, setting->limit->inside_us) : hop;
}

/** Whether a rank sends to several on other nodes at once: all of these messages ask, and what is done for one hides the question of another. */
static bool asks_at_once(const struct ronde_nccl_call *call)
{
    return ronde_nccl_is_point(call->collective) && call->collective != RONDE_SEND_RECV &&
           call->ranks - call->ranks / call->nodes > 1;
}

/**
 * What a hop takes beyond one by LL: what the protocol's proxies do, or the question of a long message, which goes on meanwhile. LL asks
 * nobody, however long: Perlmutter's and Polaris's times do not step at 8 KiB, Alps's trees alone do.
 */
static double net_extra_us(const struct ronde_nccl_setting *setting)
{
    if (setting->protocol == RONDE_NCCL_LL)
        return 0;
    if (asks_at_once(setting->call))
        return NCCL_COMMON(setting, net_simple_us);
    return fmax(ronde_nccl_common_of(setting, setting->protocol == RONDE_NCCL_SIMPLE
                                                  ? RONDE_NCCL_COMMON_net_simple_us
                                                  : RONDE_NCCL_COMMON_net_ll128_us),
                ronde_nccl_of_fabric(setting, RONDE_NCCL_FABRIC_RENDEZVOUS));
}

double ronde_nccl_between_us(const struct ronde_nccl_setting *setting)
{
    if (setting->call->nodes == 1)
        return 0;
    double latency = setting->machine->net_latency_us > 0
                         ? setting->machine->net_latency_us
                         : ronde_nccl_of_fabric(setting, RONDE_NCCL_FABRIC_LATENCY);
    latency = (latency + net_extra_us(setting)) * setting->constants->between;
    return setting->limit ? fmax(latency, setting->limit->between_us) : latency;
}

/** Operations of a thread block for one block on its link. */
static double work(const struct ronde_nccl_call *call, bool is_ring)
{
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    return is_ring && steps > 0 ? (steps + 1) / steps : 1;
}

/**
 * Of a ring's hops through a node one goes out by a NIC, so NVLink carries the others: 8 MI300X reach 316 GB/s, 2 nodes of them
 * 357. Where not every GPU has a NIC of its own, some send all that they have over NVLink, and so does a chain's root.
 */
static double ring_relief(const struct ronde_nccl_setting *setting, bool is_ring)
{
    const double g = setting->g;
    const bool is_relieved =
        is_ring && setting->call->nodes > 1 &&
        ronde_nccl_nics(setting->machine, setting->g) >= setting->g &&
        ronde_nccl_ring_steps(setting->call->collective, setting->call->ranks) > 0 &&
        ronde_nccl_has_nvlink(setting->machine, setting->g);
    return is_relieved ? g / (g - 1) : 1;
}

/** The version of NCCL whose proxies were written anew. */
enum { NEW_PROXIES = 212 };

/**
 * Whether processors move a call's messages on, and not NICs by themselves: libfabric's providers in the proxies, Google's in a
 * process beside. Slingshot's NICs do so once a message has asked, which the short ones of LL128 are slowed by, as they were by
 * NCCL's proxies of before 2.12 on any fabric.
 */
static bool is_hosted(const struct ronde_nccl_setting *setting)
{
    const enum ronde_nccl_fabric fabric = setting->machine->fabric;
    const uint32_t version = setting->call->version;
    if (setting->protocol == RONDE_NCCL_LL)
        return false;
    return fabric == RONDE_NCCL_EFA || fabric == RONDE_NCCL_TCPX || fabric == RONDE_NCCL_TCPXO ||
           (setting->protocol == RONDE_NCCL_LL128 &&
            (fabric == RONDE_NCCL_SLINGSHOT || (version > 0 && version < NEW_PROXIES)));
}

/** Slots of a connection that may be on their way (NCCL_STEPS): transfers beyond so many latencies wait for nothing. */
static const double slots = 8;

double ronde_nccl_pipelined(const struct ronde_nccl_setting *setting, double latency_us,
                            double transfer_us)
{
    const double waiting_us =
        setting->overlap < 1 ? fmin(transfer_us, slots * latency_us) : transfer_us;
    return ronde_nccl_overlapped(latency_us, waiting_us, setting->overlap) + transfer_us -
           waiting_us;
}

static double overlap(const struct ronde_nccl_setting *setting)
{
    if (setting->call->nodes > 1)
        return is_hosted(setting) ? NCCL_COMMON(setting, overlap_hosted) : 1;
    return 1;
}

/** Bytes of a call for which another channel is opened. */
static double opening_bytes(const struct ronde_nccl_setting *setting, bool is_ring)
{
    const bool is_rccl = ronde_nccl_is_rccl(setting->machine);
    double opening = ronde_nccl_round_bytes[setting->protocol];
    /* RCCL opens one for each round of the call on one node: 8 MI300X take 15 us from 1 to 128 KiB. */
    if (setting->protocol == RONDE_NCCL_LL && is_ring && !(is_rccl && setting->call->nodes == 1))
        opening *= setting->call->ranks;
    /* Its blocks have 256 threads where NCCL's have 512. */
    return is_rccl ? opening / 2 : opening;
}

struct ronde_nccl_setting ronde_nccl_setting_of(const struct ronde_nccl_constants *constants,
                                                const struct ronde_nccl_machine *machine,
                                                const struct ronde_nccl_call *call,
                                                struct ronde_nccl_choice choice)
{
    const enum ronde_nccl_protocol protocol = choice.protocol;
    struct ronde_nccl_setting setting = {.constants = constants,
                                         .machine = machine,
                                         .call = call,
                                         .limit = machine->limits
                                                      ? &machine->limits[choice.algorithm]
                                                      : NULL,
                                         .protocol = protocol,
                                         .g = call->ranks / call->nodes,
                                         .bytes = (double)call->bytes,
                                         .between_GBps = INFINITY};
    const bool is_ring = choice.algorithm == RONDE_NCCL_RING;
    setting.opening_bytes = opening_bytes(&setting, is_ring);
    setting.channels = fmax(1, fmin(fmax(ronde_nccl_most_channels(&setting), machine->min_channels),
                                    setting.bytes / setting.opening_bytes));
    const double ratio = NCCL_OWN(&setting, channel_ratio);
    /* A block by LL waits for the lines that it takes in, and for nothing where it sends what it has. */
    const double block =
        ronde_nccl_block_GBps(&setting) / (protocol == RONDE_NCCL_LL ? 1 : work(call, is_ring));
    setting.link_GBps = node_GBps(&setting) * link_share(&setting) * ring_relief(&setting, is_ring);
    setting.inside_GBps = ronde_nccl_slower(setting.link_GBps, setting.channels * block);
    if (call->nodes > 1) {
        setting.between_GBps = between_GBps(&setting, fmax(1, ratio));
    }
    setting.launch_us = ronde_nccl_launch_us(constants, machine);
    if (protocol == RONDE_NCCL_LL128)
        setting.launch_us += NCCL_COMMON(&setting, launch_ll128_us);
    if (protocol == RONDE_NCCL_SIMPLE &&
        (choice.algorithm <= RONDE_NCCL_TREE || choice.algorithm == RONDE_NCCL_PAIRS))
        setting.launch_us +=
            NCCL_COMMON(&setting, launch_simple_us) * NCCL_OWN(&setting, launch_ratio);
    if (call->version > 0 && call->version < RONDE_NCCL_LAUNCH_AT_ONCE)
        setting.launch_us += setting.channels * NCCL_COMMON(&setting, launch_us_per_channel);
    setting.hop_us = hop_us(&setting, choice.algorithm == RONDE_NCCL_TREE);
    setting.overlap = overlap(&setting);
    return setting;
}
