/**
 * How long NCCL's algorithms take on a machine.
 *
 *   l, L     latency of a hop inside a node and between nodes, by protocol; Tree's between more than two nodes has
 *            tree_second_child_hops l besides, since a node waits for two children
 *   B        bytes per time: the least of a GPU's link, the node's NICs, and what the channels in use carry (setting.c)
 *   launch   of one kernel, of rings and trees by LL128 and Simple a little longer; before 2.14 also launch_us_per_channel for each
 *            channel, and one process that launches on n GPUs in turn needs n launch_us_per_gpu a call, until 2.21
 *            launch_us_per_gpu_channel for each channel besides (nccl-tests does not wait between calls)
 *   (+)      of latencies and transfers one hides behind the other in part: ronde_nccl_overlapped, exponents in common.txt
 *
 *   Ring            launch + (steps - across) l + across L (+) bytes steps / (n B), across = steps / g, rounded up; by LL between
 *                   nodes net_lines.c, by Simple all hops of a slice or all blocks of a node, of which the longer counts; of l and
 *                   the first lines of LL one hides the other in part (rates.c)
 *                   of a ring's g hops through a node one is a NIC's, so B of NVLink is g / (g - 1) of it there (setting.c)
 *   chain           launch + hops min(1, bytes / ahead) (+) bytes / B          (broadcast, reduce: calls overlap as long
 *                   as a message fits into what a sender may be ahead: 8 slots of a connection; by LL through several
 *                   nodes as long as one channel is open: launch + bytes / what its threads carry)
 *   Tree            launch + 2 ((g-1) l + log2(N) L), whole levels, + fill (+) (bytes - chunk) / (B/2)
 *                   a chain inside the node sends up and down over the same port, hence B/2; a node's NICs carry the
 *                   bytes once on 2 nodes (a root and a leaf in each tree) and twice on more; fill is what each hop waits
 *                   for, up and down: a chunk, or by LL and LL128 inside a node a line of every thread on its side
 *   NVLS            launch + nvls_us + (bytes + 2 rounds) (1 + 1/g) / NVLink + nvls_chunk_us min(1, g/8) bytes / chunk: a GPU's port
 *                   reads its part of all others reduced, and takes in what all others store; a round is a chunk of each
 *                   channel and head, and chunks grow with the call
 *   NVLSTree        launch + nvls_us + 2 log2(N) (L + round / NICs), whole levels, (+) bytes through NVLink, or through the NICs as in Tree
 *
 *   sends, receives point.c
 *   AllPairs        rccl.c
 *
 * NCCL's own formula stands beside, in tuner.c. Not modelled: other traffic, CollNet, registered buffers, copy engines.
 */
#include "setting.h"

#include <math.h>

/**
 * NCCL's slot of a connection, bytes of data (enqueue.cc), and the least that a hop of a tree has before it passes on. NCCL's
 * chunks end at 32 KiB, but a hop does not wait for all of one: 512 KiB by Tree/Simple over the slow link of bridged A6000
 * pairs take latency and bytes over rate, and no chunk of 32 KiB more.
 */
static const double slot_bytes[RONDE_NCCL_PROTOCOL_COUNT] = {32768, 131072, 524288};
static const double least_chunk_bytes[RONDE_NCCL_PROTOCOL_COUNT] = {32768, 32768, 8192};

/** A tree's threads are split: one part sends up, the other down. */
static const double tree_sides = 2;

/** NVLS's chunk of a large call (nvlsChunkSize). */
static const double most_nvls_chunk_bytes = 131072;

/**
 * What a chain's sender may be ahead of its receiver: eight slots, by Simple inside a node of every channel. By LL and LL128
 * fewer bytes are ahead, as broadcasts of 64 KiB over 16 nodes show, which take 3 times as long as over 2.
 */
static double ahead_bytes(const struct ronde_nccl_setting *setting)
{
    static const double ahead[] = {16 * 32768, 8 * 32768, 8 * 524288};
    return setting->protocol == RONDE_NCCL_SIMPLE && setting->call->nodes == 1
               ? ahead[RONDE_NCCL_SIMPLE] * setting->channels
               : ahead[setting->protocol];
}

/** Latency of a chain of so many us that the next call does not hide: by Simple one hop at least, which wakes the other side. */
static double chain_latency_us(const struct ronde_nccl_setting *setting, double hops_us)
{
    const double hop_us =
        setting->call->nodes > 1 ? ronde_nccl_between_us(setting) : setting->hop_us;
    const double shown_us = hops_us * fmin(1, setting->bytes / ahead_bytes(setting));
    return setting->protocol == RONDE_NCCL_SIMPLE ? fmax(hop_us, shown_us) : shown_us;
}

/** Threads of LL's block at least; what they carry of a whole block's rate; bytes a thread and rank for which another comes (enqueue.cc). */
static const double least_threads = 64, least_threads_share = .3, bytes_of_thread = 8;

/**
 * A chain by LL through several nodes while one channel is open. Calls follow each other without a wait, as all go the same way;
 * once there are two channels a rank is early in one and late in the other, and waits. Its block has as many threads as bytes
 * are worth: broadcasts on 16 nodes of 8 A100 take 15, 23, 39, 74 us at 8 to 64 KiB by 64 threads, and 84, 104, 153 at 128 to 512 KiB
 * while threads double, then 599 by two channels.
 */
static double lone_chain_us(const struct ronde_nccl_setting *setting)
{
    const double bytes = fmin(setting->bytes, 2 * setting->opening_bytes);
    const double threads = bytes / bytes_of_thread / setting->call->ranks;
    const double share = least_threads_share * fmax(1, threads / least_threads);
    const double nics = ronde_nccl_nics_GBps(setting) / ronde_nccl_wire[RONDE_NCCL_LL];
    return bytes / 1e3 / fmin(nics, fmin(1, share) * ronde_nccl_block_GBps(setting));
}

/** Calls that may follow each other without a wait; more bytes take no less. */
static double chain_us(const struct ronde_nccl_setting *setting, double hops_us, double rate_GBps)
{
    const bool is_by_lines = setting->protocol == RONDE_NCCL_LL && setting->call->nodes > 1;
    const double lone_us = is_by_lines ? lone_chain_us(setting) : 0;
    if (is_by_lines && setting->channels < 2)
        return lone_us;
    return fmax(lone_us, ronde_nccl_pipelined(setting, chain_latency_us(setting, hops_us),
                                              setting->bytes / 1e3 / rate_GBps));
}

/** Hops between nodes of a ring's slowest block, which starts at the last rank of a node: the first, and each g-th from there. */
static double ring_crossings(const struct ronde_nccl_setting *setting, double steps)
{
    return setting->call->nodes > 1 ? ceil(steps / setting->g) : 0;
}

/** Slices of a ring's block by Simple, and the bytes that one has at least and at most (NCCL_STEPS, chunkSteps, sliceSteps). */
static const double slices = 2, least_slice_bytes = 32768, most_slice_bytes = 1048576;

/** How sharply the longer of two stages of a ring by Simple counts, which go on at once. */
static const double overlap_slices = 4;

/** What a step of a ring by Simple takes a node at least, however short its block: twice as long where GPUs share NICs. */
static double ring_step_us(const struct ronde_nccl_setting *setting)
{
    const bool is_shared = ronde_nccl_nics(setting->machine, setting->g) < setting->g;
    return (is_shared ? 2 : 1) * NCCL_COMMON(setting, net_ring_step_us);
}

/** Whether slices hide each other's hops: between nodes by Simple, unless it is processors whose work a hop is. */
static bool hides_hops(const struct ronde_nccl_setting *setting)
{
    return setting->call->nodes > 1 && setting->protocol == RONDE_NCCL_SIMPLE &&
           setting->overlap >= 1;
}

/** Bytes of a slice of all channels. */
static double slice_of(const struct ronde_nccl_setting *setting, double block)
{
    const double least = least_slice_bytes * setting->channels;
    const double most = most_slice_bytes * setting->channels;
    return fmin(block, fmin(most, fmax(least, block / slices)));
}

/**
 * A ring by Simple through several nodes. A rank passes on one slice of a block while the next comes, and each step brings a node a
 * block to send and one to take in. So beside the first block the longer counts of two: the way of a slice, hop by hop, and all blocks
 * one after another through what is slowest. all_gather of 16 nodes of one A100 takes 0.61, 0.79, 1.45 ms at 4, 8, 16 MiB, of which
 * 0.28, 0.55, 1.1 are transfers and 0.47 are hops (Perlmutter).
 */
static double sliced_ring_us(const struct ronde_nccl_setting *setting, double hops_us, double steps,
                             double across)
{
    const double block = setting->bytes / setting->call->ranks;
    const double slice_us =
        slice_of(setting, block) / 1e3 / steps *
        ((steps - across) / setting->inside_GBps + across / setting->between_GBps);
    const double block_us = block / 1e3 / fmin(setting->inside_GBps, setting->between_GBps);
    const double step_us = ronde_nccl_overlapped(block_us, ring_step_us(setting), overlap_slices);
    return block_us + ronde_nccl_overlapped(hops_us + (steps - 1) * slice_us, (steps - 1) * step_us,
                                            overlap_slices);
}

/** Steps of a chain or ring: latency of them all, in the order in which a block goes round. */
static double ring_us(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_call *call = setting->call;
    const double n = call->ranks, rate = fmin(setting->inside_GBps, setting->between_GBps);
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    const bool is_chain = !(steps > 0);
    const double across = is_chain ? call->nodes - 1 : ring_crossings(setting, steps);
    const double hops = ((is_chain ? n - 1 : steps) - across) * setting->hop_us +
                        across * ronde_nccl_between_us(setting);
    if (is_chain)
        return chain_us(setting, hops, rate);
    if (call->nodes > 1 && setting->protocol == RONDE_NCCL_LL)
        return ronde_nccl_net_ring_us(setting, hops, steps, across);
    if (hides_hops(setting))
        return sliced_ring_us(setting, hops, steps, across);
    return hops + setting->bytes * steps / n / 1e3 / rate -
           (steps - across) * ronde_nccl_hidden_us(setting, setting->bytes / n);
}

/** A channel's chunk: one slot, halved while a pipeline of this depth would not fill (enqueue.cc). */
static double tree_chunk(const struct ronde_nccl_setting *setting, double depth)
{
    double chunk = slot_bytes[setting->protocol];
    while (chunk > least_chunk_bytes[setting->protocol] &&
           setting->bytes / (setting->channels * chunk) < 4 * depth)
        chunk /= 2;
    return fmin(chunk, setting->bytes / setting->channels);
}

/** Bytes a time of the chain inside a node, up and down at once. */
static double chain_GBps(const struct ronde_nccl_setting *setting)
{
    if (ronde_nccl_has_nvlink(setting->machine, setting->g) || setting->g < 2)
        return setting->inside_GBps / 2 * NCCL_COMMON(setting, tree_nvlink_efficiency);
    /* PCIe carries up one way and down the other. */
    const double rate =
        fmin(setting->link_GBps, setting->channels * ronde_nccl_block_GBps(setting) / 2);
    /* Between two nobody is in the middle, where both directions of both neighbours meet in one slot. */
    return setting->g == 2 || ronde_nccl_is_pairs(setting) || ronde_nccl_is_by_far_host(setting)
               ? rate
               : rate * NCCL_COMMON(setting, tree_pcie_efficiency);
}

/** The version of NCCL since which a tree's chunk of Simple is a whole slot whatever the call's size. */
enum { WHOLE_SLOTS = 220 };

/**
 * Whether a tree inside a node waits for whole slots at each hop. Through NVLink alone it does not: 256 MiB of 4 H100 take
 * 1,707 us, 1,850 with slots.
 */
static bool has_whole_slots(const struct ronde_nccl_setting *setting)
{
    const uint32_t version = setting->call->version;
    return setting->protocol == RONDE_NCCL_SIMPLE && setting->call->nodes == 1 &&
           !ronde_nccl_has_nvlink(setting->machine, setting->g) &&
           (version == 0 || version >= WHOLE_SLOTS);
}

/** Channels of a tree; a PCIe node's search finds one, which NCCL doubles. */
static double tree_channels(const struct ronde_nccl_setting *setting)
{
    return setting->machine->link == RONDE_NODE_PCIE ? fmin(setting->channels, 2)
                                                     : setting->channels;
}

/** What a hop waits for, KB/GB/s = us: slots that are on their way, one direction at a time. */
static double whole_slots_us(const struct ronde_nccl_setting *setting, double passed)
{
    const double one_way = setting->machine->pcie_GBps * setting->constants->links *
                           NCCL_COMMON(setting, tree_one_way_efficiency);
    const double pcie =
        ronde_nccl_is_by_far_host(setting) ? fmin(one_way, setting->inside_GBps) : one_way;
    /* Half of the channels go through bridged pairs in the other order. */
    return ronde_nccl_is_pairs(setting)
               ? (passed / pcie + 2 * passed / ronde_nccl_reached_nvlink_GBps(setting)) / 3 / 2
               : passed / pcie;
}

/** NCCL's measured cap of a tree through NICs: channels of the search times its rate (tuner.c). */
static double tree_cap_GBps(const struct ronde_nccl_setting *setting)
{
    const double searched =
        ronde_nccl_nics(setting->machine, setting->g) * NCCL_OWN(setting, tree_channels_per_nic);
    return searched / 2 *
           ronde_nccl_generation_of(setting, setting->call->nodes == 2
                                                 ? RONDE_NCCL_OF_tuner_tree_2_GBps
                                                 : RONDE_NCCL_OF_tuner_tree_4_GBps);
}

/** Levels below the root of a tree of nodes: of its deepest node. */
static double tree_depth(const struct ronde_nccl_call *call)
{
    return ceil(log2(call->nodes));
}

static double tree_us(const struct ronde_nccl_setting *setting)
{
    const uint32_t nodes = setting->call->nodes;
    const double levels = tree_depth(setting->call), inner = setting->g - 1;
    const double chunk = tree_chunk(setting, inner + levels);
    const double stage = chunk * setting->channels / 1e3;
    double rate = chain_GBps(setting);
    /* Inside a node LL and LL128 pass on line by line, a line a thread. */
    double passed = fmin(chunk, setting->protocol == RONDE_NCCL_SIMPLE
                                    ? chunk
                                    : ronde_nccl_round_bytes[setting->protocol] / tree_sides) *
                    setting->channels / 1e3;
    double hop = passed / setting->inside_GBps;
    if (ronde_nccl_is_pairs(setting))
        hop = (passed / rate + 2 * passed * ronde_nccl_wire[setting->protocol] /
                                   ronde_nccl_reached_nvlink_GBps(setting)) /
              3;
    if (has_whole_slots(setting)) {
        passed = fmin(setting->bytes, slot_bytes[RONDE_NCCL_SIMPLE] * tree_channels(setting)) / 1e3;
        hop = whole_slots_us(setting, passed);
    }
    if (nodes > 1)
        rate =
            fmin(fmin(rate, tree_cap_GBps(setting)), setting->between_GBps * (nodes == 2 ? 1 : .5) *
                                                         NCCL_COMMON(setting, tree_net_efficiency));
    /* On two nodes nobody has two children. */
    const double second =
        nodes == 2 ? 0 : setting->hop_us * NCCL_COMMON(setting, tree_second_child_hops);
    const double latency =
        2 * (inner * setting->hop_us + levels * (ronde_nccl_between_us(setting) + second));
    const double fill = 2 * (inner * hop + levels * stage / setting->between_GBps);
    return ronde_nccl_pipelined(setting, latency + fill,
                                fmax(0, setting->bytes / 1e3 - passed) / rate);
}

static double nvls_heads(const struct ronde_nccl_setting *setting)
{
    return NCCL_OWN(setting, nvls_channels) * setting->g;
}

/** Loops over all channels and heads below which a chunk is halved (enqueue.cc, calcCollChunking): of NVLS, and of NVLSTree. */
static const double nvls_loops[] = {64, 8, 2}, nvls_tree_loops[] = {4, 1};

/** Halves a chunk while there is too little data for every channel and head. */
static double halved(const struct ronde_nccl_setting *setting, double chunk, const double *loops,
                     size_t count)
{
    for (size_t i = 0; i < count && setting->bytes < loops[i] * nvls_heads(setting) * chunk; i++)
        chunk /= 2;
    return chunk;
}

/** NVLS's chunk, by which a node's GPUs meet. */
static double nvls_chunk(const struct ronde_nccl_setting *setting)
{
    return halved(setting, most_nvls_chunk_bytes, nvls_loops,
                  sizeof nvls_loops / sizeof nvls_loops[0]);
}

/** Nodes from which on NVLSTree's chunk is half as large (NCCL_NVLSTREE_MAX_CHUNKSIZE). */
enum { SMALLER_TREE_CHUNKS = 4 };

/** NVLSTree's chunk, by which nodes meet. */
static double nvls_tree_chunk(const struct ronde_nccl_setting *setting)
{
    const size_t small = setting->call->nodes >= SMALLER_TREE_CHUNKS;
    return halved(setting, most_nvls_chunk_bytes / (small ? 2 : 1), nvls_tree_loops + small,
                  sizeof nvls_tree_loops / sizeof nvls_tree_loops[0] - small);
}

/** Rounds of all channels and heads that NVLS is filled with: one is gathered and one stored while another is reduced. */
static const double nvls_fill_rounds = 2;

/** Bytes of a round: a chunk of each channel and head. */
static double nvls_round(const struct ronde_nccl_setting *setting, double chunk)
{
    return fmin(setting->bytes, nvls_heads(setting) * chunk);
}

/**
 * A chunk waits for flags of every GPU of its node, the constant for those of eight: rounds of half the size cost 0.8, 2.1, 3.9 us
 * on 4, 6 and 8 H100. A rack's 72 do not cost more: GB200 takes 1.8 ms for 512 MiB, 0.7 of it by the constant.
 */
static double nvls_chunks_us(const struct ronde_nccl_setting *setting)
{
    return setting->bytes / nvls_chunk(setting) * fmin(1, setting->g / 8.) *
           NCCL_COMMON(setting, nvls_chunk_us);
}

/** What a GPU's links carry in one direction by NVLS, while nothing waits. */
static double nvls_GBps(const struct ronde_nccl_setting *setting)
{
    return setting->machine->nvlink_GBps * NCCL_OWN(setting, nvls_efficiency) *
           setting->constants->links;
}

/** Its own part passes a GPU's links, too: the switch gives it back reduced, and stores its copy. */
static double nvls_share(const struct ronde_nccl_setting *setting)
{
    return 1 + 1. / setting->g;
}

/** Until the first bytes are through: what NVLS needs to begin, and the rounds that it is filled with. */
static double nvls_begin_us(const struct ronde_nccl_setting *setting, double chunk)
{
    const double inside = nvls_GBps(setting) / nvls_share(setting);
    return NCCL_COMMON(setting, nvls_us) +
           nvls_fill_rounds * nvls_round(setting, chunk) / 1e3 / inside;
}

double ronde_nccl_reached_nvls_GBps(const struct ronde_nccl_setting *setting)
{
    const double share = nvls_share(setting);
    const double us = share * setting->bytes / 1e3 / nvls_GBps(setting) + nvls_chunks_us(setting);
    return share * setting->bytes / 1e3 / us;
}

/** all_reduce by the switch, and by trees between switches; the rest goes as it would by ring. */
static double nvls_us(const struct ronde_nccl_setting *setting)
{
    const struct ronde_nccl_call *call = setting->call;
    const double n = call->ranks;
    const double inside = nvls_GBps(setting) / nvls_share(setting);
    const double one_us = nvls_begin_us(setting, nvls_chunk(setting)) +
                          setting->bytes / 1e3 / inside + nvls_chunks_us(setting);
    if (call->nodes == 1 && call->collective == RONDE_ALL_REDUCE)
        return one_us;
    const double chunk = call->nodes > 1 ? nvls_tree_chunk(setting) : nvls_chunk(setting);
    /* A level passes on what it has all of: a round. On two nodes each sends up half of it, that of the tree it is a leaf of. */
    const double up = call->nodes == 2 ? .5 : 1;
    const double level = ronde_nccl_between_us(setting) +
                         up * nvls_round(setting, chunk) / 1e3 / setting->between_GBps;
    const double latency = nvls_begin_us(setting, chunk) + 2 * tree_depth(call) * level;
    if (call->collective != RONDE_ALL_REDUCE)
        return ronde_nccl_pipelined(setting, latency,
                                    setting->bytes / 1e3 /
                                        (fmin(setting->inside_GBps, setting->between_GBps) * n /
                                         (n - 1)));
    /* Each node has a node's work to do, which takes no less than without others. */
    const double between = setting->between_GBps * (call->nodes == 2 ? 1 : .5);
    return fmax(one_us, ronde_nccl_pipelined(setting, latency,
                                             setting->bytes / 1e3 / fmin(inside, between)));
}

/** A process that launches on all GPUs of its node: on one after the other, and for a time channel by channel. */
static double host_us(const struct ronde_nccl_setting *setting)
{
    const uint32_t version = setting->call->version;
    const bool has_items =
        version >= RONDE_NCCL_LAUNCH_AT_ONCE && version < RONDE_NCCL_ITEMS_IN_ARGUMENTS;
    const double items_us =
        has_items ? setting->channels * NCCL_COMMON(setting, launch_us_per_gpu_channel) : 0;
    return setting->g * (NCCL_COMMON(setting, launch_us_per_gpu) + items_us);
}

/** By the machine's own rates. */
static double unlimited_us(const struct ronde_nccl_constants *constants,
                           const struct ronde_nccl_machine *machine,
                           const struct ronde_nccl_call *call, struct ronde_nccl_choice choice)
{
    const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
    const struct ronde_nccl_setting setting =
        ronde_nccl_setting_of(constants, &joined.machine, &joined.call, choice);
    const double us =
        setting.launch_us + (ronde_nccl_is_point(call->collective)  ? ronde_nccl_point_us(&setting)
                             : choice.algorithm == RONDE_NCCL_PAIRS ? ronde_nccl_pairs_us(&setting)
                             : choice.algorithm == RONDE_NCCL_RING  ? ring_us(&setting)
                             : choice.algorithm == RONDE_NCCL_TREE  ? tree_us(&setting)
                                                                    : nvls_us(&setting));
    if (!ronde_nccl_is_in_turn(machine, call->nodes))
        return us;
    return ronde_nccl_overlapped(us, host_us(&setting), NCCL_COMMON(&setting, overlap_host));
}

double ronde_nccl_execution_us(const struct ronde_nccl_constants *constants,
                               const struct ronde_nccl_machine *machine,
                               const struct ronde_nccl_call *call, struct ronde_nccl_choice choice)
{
    if (!machine->limits)
        return unlimited_us(constants, machine, call, choice);
    const struct ronde_nccl_limit *limit = &machine->limits[choice.algorithm];
    struct ronde_nccl_constants limited = *constants;
    limited.links *= limit->inside;
    limited.nics *= limit->between;
    return fmax(unlimited_us(&limited, machine, call, choice),
                (double)call->bytes * limit->ns_per_byte / 1e3);
}

double ronde_nccl_fastest(const struct ronde_nccl_constants *constants,
                          const struct ronde_nccl_machine *machine,
                          const struct ronde_nccl_call *call, struct ronde_nccl_choice *out)
{
    double least_us = INFINITY;
    if (ronde_nccl_is_point(call->collective)) {
        const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
        *out = ronde_nccl_point_choice(constants, &joined.machine, &joined.call);
        return ronde_nccl_execution_us(constants, machine, call, *out);
    }
    if (ronde_nccl_takes_pairs(machine, call)) {
        *out = ronde_nccl_pairs_choice(call);
        least_us = ronde_nccl_execution_us(constants, machine, call, *out);
    }
    /* RCCL's LL128 cannot be asked for where it is not switched on. */
    const bool is_forced = !ronde_nccl_is_rccl(machine);
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
        for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
            const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)a,
                                                     (enum ronde_nccl_protocol)p};
            if (!isfinite(ronde_nccl_tuner_us(constants, machine, call, choice, is_forced)))
                continue;
            const double us = ronde_nccl_execution_us(constants, machine, call, choice);
            if (us < least_us) {
                least_us = us;
                *out = choice;
            }
        }
    return least_us;
}

/** Channels that NCCL_MIN_NCHANNELS is asked for at most: what all of its versions take. */
enum { MOST_CHANNELS = 32 };

/** What is slower by no more is as good, and takes fewer blocks from what else the GPU does. */
static const double as_good = 1.02;

uint32_t ronde_nccl_more_channels(const struct ronde_nccl_constants *constants,
                                  const struct ronde_nccl_machine *machine,
                                  const struct ronde_nccl_call *call, double most_us, double *out_us)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_machine more = *machine;
    struct ronde_nccl_choice choice;
    double least_us = INFINITY;
    if (!isfinite(ronde_nccl_choose(constants, machine, call, any, &choice)) ||
        choice.algorithm > RONDE_NCCL_TREE)
        return 0;
    for (more.min_channels = 2; more.min_channels <= MOST_CHANNELS; more.min_channels *= 2)
        least_us = fmin(least_us, ronde_nccl_execution_us(constants, &more, call, choice));
    for (more.min_channels = 2; least_us < most_us && more.min_channels <= MOST_CHANNELS;
         more.min_channels *= 2) {
        *out_us = ronde_nccl_execution_us(constants, &more, call, choice);
        if (*out_us <= as_good * least_us)
            return more.min_channels;
    }
    return 0;
}

bool ronde_nccl_models(enum ronde_collective collective)
{
    return collective == RONDE_ALL_REDUCE || collective == RONDE_ALL_GATHER ||
           collective == RONDE_REDUCE_SCATTER || collective == RONDE_BROADCAST ||
           collective == RONDE_REDUCE || ronde_nccl_is_point(collective);
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
    if (call->nodes > 1 && call->nodes > machine->nvlink_nodes && machine->nics == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is described without NICs: one node only",
                          machine->name);
    if (call->bytes == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a call of 0 bytes has no time");
    return ronde_nccl_models(call->collective)
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNSUPPORTED, "%s is not modelled",
                            ronde_collective_text(call->collective));
}
