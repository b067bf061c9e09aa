/**
 * What NCCL makes of sends and receives: send_recv (nccl-tests' sendrecv: each rank to the next), all_to_all, gather, scatter.
 *
 * Read off src/graph/paths.cc (ncclTopoGetNchannels, ncclTopoComputeP2pChannels), src/enqueue.cc (addP2pToPlan) and
 * src/device/sendrecv.h, 2.12 to 2.30.7. A message to one peer is cut over few channels, which is why a shift by one gets so
 * much less of a NIC than all_to_all does, whose messages to many peers share all channels:
 *
 *   channels    of the communicator, P: those of its rings, rounded up to a power of two
 *   of a peer   NVLink 2 a link, PCIe 2; through a network 2 (before 2.20), 2 while 2 n <= 4 P, else 1 (to 2.28), since 2.29
 *               as many as carry a NIC's rate by 14 GB/s each, halved while they exceed P / ceil(n / 8). One number for all
 *               peers: with several nodes that of the network, though some lie on the same node.
 *   of a call   at first so many that n peers share P; doubled while a part exceeds 32 chunks (one node) or 1 (several)
 *   chunk       512 KiB through NVLink alone, else 128 KiB; a network has a quarter for messages of less than one, half for
 *               less than 8
 *   protocol    LL up to 16 KiB a channel, else Simple; nothing else is there, and NCCL's tuner has no say
 *
 *   time        launch + latency (+) (bytes + chunks under way) / B for the peers inside a node and those outside, of which
 *               the slower counts. B is the least of a GPU's link or NICs and its channels. Under way is the first chunk of
 *               each channel, which the receiver has to wait for. To another node a channel has a block and a proxy, in turns
 *   latency     hops, one after another, of as many batches as it takes to hand 8 messages to every channel; of gather and
 *               scatter, whose calls overlap, one by Simple and no first chunk; a proxy needs
 *               p2p_message_us for each message to another node besides, by LL the next while one is on its way, and by
 *               Simple before Hopper net_flush_us
 */
#include "setting.h"

#include <math.h>

/** Versions of NCCL in which channels of a peer behind a network changed. */
enum { FEWER_WITH_RANKS = 220, BY_RATE = 229 };

/** Messages that a channel works on at once (NCCL_MAX_DEV_WORK_P2P_PER_BATCH). */
static const double batch = 8;

/** Bytes of LL a channel at most (NCCL_P2P_LL_THRESHOLD); rate that NCCL expects of a channel (NCCL_P2P_PER_CHANNEL_NET_BW). */
static const double most_ll_bytes = 16384, expected_GBps = 14;

/** Chunks: NCCL_P2P_NVL_CHUNKSIZE, and NCCL_P2P_NET_CHUNKSIZE and NCCL_P2P_PCI_CHUNKSIZE, which are alike. */
static const double nvlink_chunk_bytes = 524288, other_chunk_bytes = 131072;

/** A rank's messages to one kind of peers. */
struct messages {
    double peers;
    double bytes; /**< of one */
    bool is_across;
};

static double power_of_two_from(double value)
{
    return exp2(ceil(log2(fmax(1, value))));
}

/** RCCL's channels to a peer on the same node: blocks of 6.6 GB/s move 46 GB/s to each of the seven others of an MI355X. */
static const double rccl_channels = 8;

/** Channels to a peer on the same node. */
static double channels_inside(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    if (!ronde_nccl_has_nvlink(machine, setting->g))
        return 2;
    if (ronde_nccl_is_rccl(machine))
        return rccl_channels;
    const double links = round(machine->nvlink_GBps / NCCL_OWN(setting, nvlink_link_GBps));
    const double peers = machine->link == RONDE_NODE_MESH ? machine->gpus - 1. : 1;
    return 2 * fmax(1, floor(links / peers));
}

/** NICs that a GPU has to itself, at least one. */
static double own_nics(const struct ronde_nccl_machine *machine)
{
    return fmax(1, floor((double)machine->nics / machine->gpus));
}

/** Channels to a peer on another node, `most` being all there are. */
static double channels_across(const struct ronde_nccl_setting *setting, double most)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const uint32_t version = ronde_nccl_version_of(setting->call);
    const double n = setting->call->ranks, nics = own_nics(machine);
    double channels = 2;
    if (version < FEWER_WITH_RANKS)
        return channels;
    if (version < BY_RATE)
        return fmax(nics, channels * n > 4 * most ? 1 : channels);
    channels = power_of_two_from(fmax(nics, ceil(floor(nics * machine->nic_GBps) / expected_GBps)));
    while (channels > 1 && channels * ceil(n / batch) > most)
        channels /= 2;
    return channels;
}

/** Channels that a message to one peer may be cut over. */
static double channels_of_peer(const struct ronde_nccl_setting *setting, double most)
{
    double channels = most;
    if (setting->g > 1)
        channels = fmin(channels, power_of_two_from(channels_inside(setting)));
    if (setting->call->nodes > 1)
        channels = fmin(channels, power_of_two_from(channels_across(setting, most)));
    return channels;
}

static double chunk_bytes(const struct ronde_nccl_setting *setting)
{
    return setting->call->nodes == 1 && ronde_nccl_has_nvlink(setting->machine, setting->call->ranks)
               ? nvlink_chunk_bytes
               : other_chunk_bytes;
}

/** Channels that a message is cut over. */
static double channels_of_message(const struct ronde_nccl_setting *setting, double bytes,
                                  double most)
{
    const double chunk = chunk_bytes(setting), limit = channels_of_peer(setting, most);
    const double least_part = setting->call->nodes > 1 ? chunk / 2 : chunk / 8;
    const double most_part = setting->call->nodes > 1 ? chunk : chunk * 32;
    double channels = limit;
    while (channels > 1 && channels * setting->call->ranks > most)
        channels /= 2;
    channels = fmin(channels, ceil(bytes / least_part));
    while (channels * 2 <= limit && bytes / channels > most_part)
        channels *= 2;
    return fmax(1, channels);
}

static double message_bytes(const struct ronde_nccl_call *call)
{
    const double bytes = (double)call->bytes;
    return call->collective == RONDE_SEND_RECV ? bytes : bytes / call->ranks;
}

static struct ronde_nccl_setting
setting_of(const struct ronde_nccl_constants *constants, const struct ronde_nccl_machine *machine,
           const struct ronde_nccl_call *call, enum ronde_nccl_protocol protocol)
{
    const struct ronde_nccl_choice choice = {RONDE_NCCL_POINT, protocol};
    return ronde_nccl_setting_of(constants, machine, call, choice);
}

struct ronde_nccl_choice ronde_nccl_point_choice(const struct ronde_nccl_constants *constants,
                                                 const struct ronde_nccl_machine *machine,
                                                 const struct ronde_nccl_call *call)
{
    const struct ronde_nccl_setting setting =
        setting_of(constants, machine, call, RONDE_NCCL_SIMPLE);
    const double bytes = message_bytes(call);
    const double channels =
        channels_of_message(&setting, bytes, power_of_two_from(ronde_nccl_most_channels(&setting)));
    return (struct ronde_nccl_choice){RONDE_NCCL_POINT, bytes <= channels * most_ll_bytes
                                                            ? RONDE_NCCL_LL
                                                            : RONDE_NCCL_SIMPLE};
}

/** Between sockets NCCL does not let GPUs reach each other unless AMD's bridge joins them (ncclTopoCheckP2p): by host memory. */
static bool is_staged(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    return ronde_nccl_is_by_host(setting) ||
           (machine->gpu_path == RONDE_NCCL_GPU_BRIDGE && machine->link == RONDE_NODE_PCIE &&
            machine->sockets > 1 && machine->cpu != RONDE_NCCL_AMD);
}

/** The rate of a rank's messages, by links and by channels. */
static double rate_of(const struct ronde_nccl_setting *setting, const struct messages *messages,
                      double channels)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const bool is_ll = setting->protocol == RONDE_NCCL_LL;
    const double ratio = NCCL_OWN(setting, channel_ratio);
    const double block = ratio * NCCL_COMMON(setting, p2p_channel_GBps);
    const double share = is_ll ? 1 / ronde_nccl_wire[RONDE_NCCL_LL] : 1;
    const bool is_by_slot = !ronde_nccl_has_nvlink(machine, setting->g);
    const double link = setting->link_GBps * (is_by_slot ? ronde_nccl_point_slot_ratio(setting) : 1);
    if (!messages->is_across && is_staged(setting))
        return ronde_nccl_slower(setting->link_GBps,
                                 channels * share * ratio *
                                     NCCL_COMMON(setting, p2p_host_channel_GBps));
    if (!messages->is_across)
        return ronde_nccl_slower(link, channels * share * block);
    /* Ranks that all send share the NICs; one of a node that sends has its own. */
    const double nics = ronde_nccl_nics_GBps(setting);
    const double own =
        setting->call->collective == RONDE_ALL_TO_ALL
            ? nics / setting->g * (ronde_nccl_nics(machine, setting->g) < setting->g ? .5 : 1)
            : nics * own_nics(machine) / ronde_nccl_nics(machine, setting->g);
    /* A channel's block and its proxy take turns: H100 by 1 and 2 channels 13 to 15 and 25 GB/s, B200 17 and 33. */
    const double serial = 1 / (1 / block + 1 / NCCL_COMMON(setting, net_channel_GBps));
    return ronde_nccl_slower(own * share, channels * ronde_nccl_proxied(setting, serial) * share);
}

/**
 * Whether each rank only sends or only takes in. Then who sends is ahead of who takes in by what the slots hold, call after call, as
 * in a chain: nobody waits for a first chunk (two P100 take 211, 407, 764 us to gather 1, 2, 4 MiB through host memory).
 */
static bool is_one_way(const struct ronde_nccl_setting *setting)
{
    return setting->call->collective == RONDE_GATHER || setting->call->collective == RONDE_SCATTER;
}

/** Hops that calls which follow each other do not hide: of each batch, or, one way, by Simple the one that wakes the other side. */
static double shown_hops(const struct ronde_nccl_setting *setting, double batches)
{
    if (is_one_way(setting))
        return setting->protocol == RONDE_NCCL_SIMPLE ? 1 : 0;
    return batches;
}

/** What a message's receiver waits for before it has anything: one chunk. */
static double first_chunk(const struct ronde_nccl_setting *setting, const struct messages *messages,
                          double channels)
{
    const double step = chunk_bytes(setting);
    double chunk = step;
    if (is_one_way(setting))
        return 0;
    if (setting->protocol == RONDE_NCCL_LL)
        return fmin(ronde_nccl_round_bytes[RONDE_NCCL_LL], messages->bytes / channels);
    if (messages->is_across)
        chunk = messages->bytes < step ? step / 4 : messages->bytes < 8 * step ? step / 2 : step;
    return fmin(chunk, messages->bytes / channels);
}

/**
 * What the wire waits for all messages but the first to be handled. By Simple that is all of it, since a proxy tells its GPU of a message
 * only when it has seen the message come and flushed it; lines of LL say themselves that they are there, so a proxy works on the next
 * message while one is on its way, and of two stages the slower counts.
 */
static double waited_us(const struct ronde_nccl_setting *setting, const struct messages *messages,
                        double handled_us, double moved_us)
{
    const double hidden_us = setting->protocol == RONDE_NCCL_LL ? moved_us / messages->peers : 0;
    return (messages->peers - 1) * fmax(0, handled_us - hidden_us);
}

/**
 * What a proxy takes for a message to another node. Before Hopper a message by Simple is flushed before the GPU is told of it: its NIC
 * reads a line back (net.cc, recvProxyProgress; ncclTopoNeedFlush), so that all it wrote is there. Sockets write to the host's memory.
 */
static double handled_us(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_machine *machine = setting->machine;
    const bool is_flushed =
        setting->protocol == RONDE_NCCL_SIMPLE && !ronde_nccl_is_rccl(machine) &&
        machine->generation < RONDE_NCCL_HOPPER && machine->fabric != RONDE_NCCL_ETHERNET;
    return NCCL_COMMON(setting, p2p_message_us) +
           (is_flushed ? NCCL_COMMON(setting, net_flush_us) : 0);
}

/** Without the launch. */
static double messages_us(const struct ronde_nccl_setting *setting, const struct messages *messages)
{
    if (!(messages->peers > 0))
        return 0;
    const double most = power_of_two_from(ronde_nccl_most_channels(setting));
    const double each = channels_of_message(setting, messages->bytes, most);
    const double works = each * messages->peers;
    const double rate = rate_of(setting, messages, fmin(most, works));
    const double hops = shown_hops(setting, ceil(works / most / batch));
    const double hop = messages->is_across ? ronde_nccl_between_us(setting) : setting->hop_us;
    const double handled = messages->is_across ? handled_us(setting) : 0;
    /* Chunks of several messages meet in the NICs anyway, of which one is waited for. */
    const double waited = messages->is_across ? 1 : fmin(works, most * batch);
    const double moved =
        messages->peers * messages->bytes + waited * first_chunk(setting, messages, each);
    const double moved_us = moved / 1e3 / rate;
    return ronde_nccl_overlapped(hops * hop + handled,
                                 moved_us + waited_us(setting, messages, handled, moved_us),
                                 setting->overlap);
}

double ronde_nccl_point_us(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_call *call = setting->call;
    const double g = setting->g, n = call->ranks;
    struct messages inside = {g - 1, message_bytes(call), false};
    struct messages across = {n - g, inside.bytes, true};
    if (call->collective == RONDE_SEND_RECV) {
        inside.peers = g > 1 ? 1 : 0;
        across.peers = call->nodes > 1 ? 1 : 0;
    }
    return fmax(messages_us(setting, &inside), messages_us(setting, &across));
}
