/**
 * How long NCCL's algorithms take on a machine.
 *
 *   l, L     latency of a hop inside a node and between nodes, by protocol; Tree's between nodes is tree_hop_ratio times
 *            that of a ring, since a node waits for two children
 *   B        bytes per time: the least of a GPU's link, the node's NICs, and what the channels in use carry; a protocol's
 *            flags take their share (LL 1/2, LL128 1/16), and on a network more
 *   launch   of one kernel; one process that launches on n GPUs in turn needs n launch_us_per_gpu a call, which hides
 *            everything shorter (nccl-tests does not wait between calls)
 *
 *   Ring            launch + (steps - across) l + across L + bytes steps / (n B)
 *   chain           launch + hops min(1, bytes / 256 KiB) + bytes / B          (broadcast, reduce: calls overlap as long
 *                   as a message fits into the 8 slots of 32 KiB of a connection)
 *   Tree            launch + 2 ((g-1) l + log2(N) L) + fill + (bytes - chunk) / (B/2)
 *                   a chain inside the node sends up and down over the same port, hence B/2; a node's NICs carry the
 *                   bytes once on 2 nodes (a root and a leaf in each tree) and twice on more; fill is a chunk over every
 *                   hop, up and down
 *   NVLS            launch + nvls_us + bytes (1 + 1/g) / NVLink: a GPU's port reads its part of all others reduced, and
 *                   takes in what all others store
 *   NVLSTree        that, or the bytes through the NICs as in Tree
 *
 * NCCL's own formula stands beside, in tuner.c. Not modelled: other traffic, CollNet, registered buffers, copy engines.
 */
#include "inside.h"

#include <math.h>

/**
 * NCCL's slot of a connection, bytes of data (enqueue.cc), and the least that a hop of a tree has before it passes on. NCCL's
 * chunks end at 32 KiB, but a hop does not wait for all of one: 512 KiB by Tree/Simple over the slow link of bridged A6000
 * pairs take latency and bytes over rate, and no chunk of 32 KiB more.
 */
static const double slot_bytes[RONDE_NCCL_PROTOCOL_COUNT] = {32768, 131072, 524288};
static const double least_chunk_bytes = 8192;

/** Bytes that a channel is opened for: threads times bytes a thread (enqueue.cc, threadThreshold). */
static const double channel_bytes[RONDE_NCCL_PROTOCOL_COUNT] = {4096, 5120, 32768};

/** Bytes on a link for one of data. */
static const double wire[RONDE_NCCL_PROTOCOL_COUNT] = {2, 16 / 15., 1};

/** From here on a network asks before it sends (bytes on the wire). */
static const double rendezvous_bytes = 8192;

/** Eight slots of LL: what a chain's sender may be ahead of its receiver. */
static const double ahead_bytes = 8 * 32768;

/** Constants of a fabric in the order of its list. */
enum of_fabric { RENDEZVOUS = 3, EFFICIENCY, LL_SHARE, LL128_SHARE, OF_FABRIC_COUNT };

_Static_assert(RONDE_NCCL_COMMON_slingshot_ll_us - RONDE_NCCL_COMMON_infiniband_ll_us ==
                       OF_FABRIC_COUNT &&
                   RONDE_NCCL_COMMON_efa_ll_us - RONDE_NCCL_COMMON_slingshot_ll_us == OF_FABRIC_COUNT,
               "constants of fabrics are in one order");

/** What a call comes down to on a machine, for one protocol. */
struct setting {
    const struct ronde_nccl_constants *constants;
    const struct ronde_nccl_machine *machine;
    const struct ronde_nccl_call *call;
    enum ronde_nccl_protocol protocol;
    uint32_t g;          /**< ranks a node */
    double bytes;        /**< of the call */
    double channels;     /**< in use */
    double launch_us;    /**< of the generation, or fitted */
    double hop_us;       /**< inside a node */
    double link_GBps;    /**< of data, through a GPU's link */
    double inside_GBps;  /**< of data, through link and channels */
    double between_GBps; /**< of data, through NICs and channels; infinite on one node */
};

static double common(const struct setting *setting, unsigned which)
{
    return ronde_nccl_common(setting->constants, (enum ronde_nccl_common)which);
}

static double of(const struct setting *setting, enum ronde_nccl_of_generation which)
{
    return ronde_nccl_of(setting->constants, setting->machine->generation, which);
}

static double of_fabric(const struct setting *setting, unsigned which)
{
    return common(setting, RONDE_NCCL_COMMON_infiniband_ll_us +
                               setting->machine->fabric * (unsigned)OF_FABRIC_COUNT + which);
}

/** Whether PCIe between bridged pairs is what joins these ranks. */
static bool is_pairs(const struct setting *setting)
{
    return setting->machine->link == RONDE_NCCL_PAIRS && setting->g > 2;
}

static double nvlink_GBps(const struct setting *setting)
{
    return ronde_nccl_nvlink(setting->machine, setting->g) *
           common(setting, RONDE_NCCL_COMMON_nvlink_efficiency) * setting->constants->links;
}

/** A GPU's slowest link of an order of the node's GPUs, plain bytes. */
static double node_GBps(const struct setting *setting)
{
    if (setting->g < 2)
        return INFINITY;
    if (ronde_nccl_has_nvlink(setting->machine, setting->g))
        return nvlink_GBps(setting);
    return setting->machine->pcie_GBps * setting->constants->links *
           common(setting, is_pairs(setting) ? RONDE_NCCL_COMMON_pcie_pairs_efficiency
                                             : RONDE_NCCL_COMMON_pcie_efficiency);
}

/** All NICs of a node that its ranks use, plain bytes. */
static double nics_GBps(const struct setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    double rate = ronde_nccl_nics(machine, setting->g) * machine->nic_GBps *
                  of_fabric(setting, EFFICIENCY) * setting->constants->nics;
    if (machine->behind_bridge)
        rate *= common(setting, RONDE_NCCL_COMMON_bridge_efficiency);
    if (machine->behind_bridge && setting->g == 1)
        rate *= common(setting, RONDE_NCCL_COMMON_lone_nic_efficiency);
    return rate;
}

/** Channels that NCCL has on such ranks, before a small call leaves some out. */
static double most_channels(const struct setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const double all = of(setting, RONDE_NCCL_OF_channels);
    const double nics = machine->nics * setting->g / machine->gpus;
    double channels = all;
    if (setting->g == 1)
        return 2 * fmax(1, machine->nics / machine->gpus);
    if (machine->link == RONDE_NCCL_MESH)
        channels = fmax(2, floor(all * (setting->g - 1) / (machine->gpus - 1)));
    else if (machine->link == RONDE_NCCL_PAIRS)
        channels = setting->g > 2 ? 8 : 4;
    else if (machine->link == RONDE_NCCL_PCIE)
        channels = fmin(all, 4);
    return setting->call->nodes > 1 ? fmin(channels, fmax(2, 2 * nics)) : channels;
}

/** A hop inside a node; hop_ratio is that of the parts with NVLink to all others. */
static double hop_us(const struct setting *setting)
{
    const double nvlink = common(setting, RONDE_NCCL_COMMON_nvlink_ll_us + setting->protocol);
    const double pcie = common(setting, RONDE_NCCL_COMMON_pcie_ll_us + setting->protocol);
    double hop = pcie;
    if (is_pairs(setting))
        hop = (nvlink + pcie) / 2;
    else if (setting->machine->link == RONDE_NCCL_PAIRS)
        hop = nvlink;
    else if (ronde_nccl_has_nvlink(setting->machine, setting->g))
        hop = nvlink * of(setting, RONDE_NCCL_OF_hop_ratio);
    return hop * setting->constants->inside;
}

/** A hop between nodes with a message of so many bytes of data. */
static double between_us(const struct setting *setting, double message_bytes, double ratio)
{
    if (setting->call->nodes == 1)
        return 0;
    double latency = of_fabric(setting, setting->protocol) * ratio;
    if (setting->protocol == RONDE_NCCL_LL && message_bytes * wire[RONDE_NCCL_LL] >= rendezvous_bytes)
        latency += of_fabric(setting, RENDEZVOUS);
    return latency * setting->constants->between;
}

static struct setting setting_of(const struct ronde_nccl_constants *constants,
                                 const struct ronde_nccl_machine *machine,
                                 const struct ronde_nccl_call *call, struct ronde_nccl_choice choice)
{
    const enum ronde_nccl_protocol protocol = choice.protocol;
    struct setting setting = {.constants = constants,
                              .machine = machine,
                              .call = call,
                              .protocol = protocol,
                              .g = call->ranks / call->nodes,
                              .bytes = (double)call->bytes,
                              .between_GBps = INFINITY};
    const bool is_ring = choice.algorithm == RONDE_NCCL_RING;
    const bool is_all_reduce = call->collective == RONDE_ALL_REDUCE;
    double opening = channel_bytes[protocol];
    if (protocol == RONDE_NCCL_LL && is_ring && is_all_reduce)
        opening *= call->ranks;
    setting.channels = fmax(1, fmin(most_channels(&setting), setting.bytes / opening));
    const double ratio = of(&setting, RONDE_NCCL_OF_channel_ratio);
    double link = node_GBps(&setting);
    if (is_ring && !is_all_reduce)
        link *= common(&setting, RONDE_NCCL_COMMON_one_pass_efficiency);
    setting.link_GBps = link / wire[protocol];
    setting.inside_GBps =
        fmin(setting.link_GBps, setting.channels * ratio *
                                    common(&setting, RONDE_NCCL_COMMON_channel_ll_GBps + protocol));
    if (call->nodes > 1) {
        const double share =
            protocol == RONDE_NCCL_SIMPLE ? 1 : of_fabric(&setting, LL_SHARE + protocol);
        setting.between_GBps =
            fmin(nics_GBps(&setting) * share,
                 setting.channels * fmax(1, ratio) *
                     common(&setting, RONDE_NCCL_COMMON_net_channel_ll_GBps + protocol));
    }
    setting.launch_us =
        constants->launch_us > 0 ? constants->launch_us : of(&setting, RONDE_NCCL_OF_launch_us);
    setting.hop_us = hop_us(&setting);
    return setting;
}

static double ring_us(const struct setting *setting)
{
    const struct ronde_nccl_call *call = setting->call;
    const double n = call->ranks, rate = fmin(setting->inside_GBps, setting->between_GBps);
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    const double laps = call->collective == RONDE_ALL_REDUCE ? 2 : 1;
    const double across = laps * (call->nodes - 1);
    if (!(steps > 0)) {
        const double hops = (n - 1 - across) * setting->hop_us +
                            across * between_us(setting, setting->bytes / setting->channels, 1);
        return hops * fmin(1, setting->bytes / ahead_bytes) + setting->bytes / 1e3 / rate;
    }
    return (steps - across) * setting->hop_us +
           across * between_us(setting, setting->bytes / n / setting->channels, 1) +
           setting->bytes * steps / n / 1e3 / rate;
}

/** A channel's chunk: one slot, halved while a pipeline of this depth would not fill (enqueue.cc). */
static double tree_chunk(const struct setting *setting, double depth)
{
    double chunk = slot_bytes[setting->protocol];
    while (chunk > least_chunk_bytes && setting->bytes / (setting->channels * chunk) < 4 * depth)
        chunk /= 2;
    return fmin(chunk, setting->bytes / setting->channels);
}

/** Bytes a time of the chain inside a node, up and down at once. */
static double chain_GBps(const struct setting *setting)
{
    if (ronde_nccl_has_nvlink(setting->machine, setting->g) || setting->g < 2)
        return setting->inside_GBps / 2 * common(setting, RONDE_NCCL_COMMON_tree_nvlink_efficiency);
    /* PCIe carries up one way and down the other. */
    const double channels = setting->channels * of(setting, RONDE_NCCL_OF_channel_ratio) / 2 *
                            common(setting, RONDE_NCCL_COMMON_channel_ll_GBps + setting->protocol);
    const double rate = fmin(setting->link_GBps, channels);
    return is_pairs(setting) ? rate : rate * common(setting, RONDE_NCCL_COMMON_tree_pcie_efficiency);
}

/** NCCL's measured cap of a tree through NICs: channels of the search times its rate (tuner.c). */
static double tree_cap_GBps(const struct setting *setting)
{
    const double searched = ronde_nccl_nics(setting->machine, setting->g) *
                            of(setting, RONDE_NCCL_OF_tree_channels_per_nic);
    return searched / 2 *
           of(setting, setting->call->nodes == 2 ? RONDE_NCCL_OF_tuner_tree_2_GBps
                                                 : RONDE_NCCL_OF_tuner_tree_4_GBps);
}

static double tree_us(const struct setting *setting)
{
    const uint32_t nodes = setting->call->nodes;
    const double levels = log2(nodes), inner = setting->g - 1;
    const double chunk = tree_chunk(setting, inner + levels);
    const double stage = chunk * setting->channels / 1e3;
    double rate = chain_GBps(setting);
    double hop = stage / setting->inside_GBps;
    if (is_pairs(setting))
        hop = (stage / rate + 2 * stage * wire[setting->protocol] / nvlink_GBps(setting)) / 3;
    if (nodes > 1)
        rate = fmin(fmin(rate, tree_cap_GBps(setting)),
                    setting->between_GBps * (nodes == 2 ? 1 : .5) *
                        common(setting, RONDE_NCCL_COMMON_tree_net_efficiency));
    const double ratio = common(setting, RONDE_NCCL_COMMON_tree_hop_ratio);
    const double latency =
        2 * (inner * setting->hop_us + levels * between_us(setting, chunk, ratio));
    const double fill = 2 * (inner * hop + levels * stage / setting->between_GBps);
    return latency + fill + fmax(0, setting->bytes / 1e3 - stage) / rate;
}

static double nvls_us(const struct setting *setting)
{
    const struct ronde_nccl_call *call = setting->call;
    const double n = call->ranks, g = setting->g, levels = log2(call->nodes);
    double rate = setting->machine->nvlink_GBps * of(setting, RONDE_NCCL_OF_nvls_efficiency) *
                  setting->constants->links / (1 + 1 / g);
    if (call->nodes > 1)
        rate = fmin(rate, setting->between_GBps * (call->nodes == 2 ? 1 : .5));
    if (call->collective != RONDE_ALL_REDUCE)
        rate = fmin(nvlink_GBps(setting) * common(setting, RONDE_NCCL_COMMON_one_pass_efficiency),
                    setting->between_GBps) *
               n / (n - 1);
    return common(setting, RONDE_NCCL_COMMON_nvls_us) + 2 * levels * between_us(setting, 0, 1) +
           setting->bytes / 1e3 / rate;
}

double ronde_nccl_execution_us(const struct ronde_nccl_constants *constants,
                               const struct ronde_nccl_machine *machine,
                               const struct ronde_nccl_call *call, struct ronde_nccl_choice choice)
{
    const struct setting setting = setting_of(constants, machine, call, choice);
    const double us =
        setting.launch_us + (choice.algorithm == RONDE_NCCL_RING   ? ring_us(&setting)
                             : choice.algorithm == RONDE_NCCL_TREE ? tree_us(&setting)
                                                                   : nvls_us(&setting));
    if (!machine->is_one_process)
        return us;
    return fmax(us, setting.g * common(&setting, RONDE_NCCL_COMMON_launch_us_per_gpu));
}

bool ronde_nccl_models(enum ronde_collective collective)
{
    return collective == RONDE_ALL_REDUCE || collective == RONDE_ALL_GATHER ||
           collective == RONDE_REDUCE_SCATTER || collective == RONDE_BROADCAST ||
           collective == RONDE_REDUCE;
}

enum ronde_status ronde_nccl_call_check(const struct ronde_nccl_machine *machine,
                                        const struct ronde_nccl_call *call,
                                        struct ronde_error *error)
{
    if (call->ranks < 2 || call->nodes == 0 || call->ranks % call->nodes != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u ranks on %u nodes: at least 2 ranks, equally many on each",
                          call->ranks, call->nodes);
    if (call->ranks / call->nodes > machine->gpus)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has %u GPUs a node, not %u", machine->name,
                          machine->gpus, call->ranks / call->nodes);
    if (call->nodes > 1 && machine->nics == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is described without NICs: one node only",
                          machine->name);
    if (call->bytes == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a call of 0 bytes has no time");
    return ronde_nccl_models(call->collective)
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNSUPPORTED, "%s is not modelled",
                            ronde_collective_text(call->collective));
}
