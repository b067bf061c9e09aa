/**
 * NCCL's own estimate of every algorithm and protocol, by which it chooses.
 *
 * Read off ncclTopoTuneModel and ncclTopoGetAlgoTime (src/graph/tuning.cc; 2.8.4 to 2.30.7):
 *
 *   time = latency + bytes / bandwidth,  bandwidth = bus * n / steps (Ring), bus / 2 (Tree)
 *   bus     = channels * rate of the graph search, which here is a machine's description (search.c)
 *   Ring    LL min(llMax, bus/2), LL128 min(0.92 bus, channels * cap), Simple bus
 *   Tree    min(0.92 bus, channels * cap); LL / 3.8, LL128 * 7/9 or 120/128; both within their caps
 *   latency Ring: base + (steps - across) max(inside, overhead) + across * between
 *           Tree: base + 2 ((n/nodes - 1) inside + log2(nodes) between)
 *   Tree of all_reduce: bandwidth * treeCorrectionFactor[protocol][log2(bytes / 64)]
 *   NVLS    base + 2 log2(nodes) between + bytes / bandwidth, of a search of its own
 *
 * Each version has its tables, of which the last release of a minor version counts: 2.18.1 had 2.19's. Since a hop of Tree by Simple went
 * from 28 us to 4 in 2.18.3, back to 28 in 2.19 and to 4 in 2.23, versions between these run rings by LL where others run trees: eight
 * A100 on two nodes with 2.21 take 760 us for 2 MiB, with 2.18 240.
 *
 * What cannot be known from a description: the search's quantised rates, latencies of NICs other than Amazon's, and numbers of channels
 * that an environment sets.
 */
#include "setting.h"

#include <math.h>

/** Versions of NCCL since which a part of its formula is another, as 100 major + minor. */
enum {
    ONE_LL128_CAP = 210,
    TWO_MORE_CROSSINGS = 212, /* of an all_reduce, until 2.22 */
    LATER_LATENCIES = 218,
    HALF_LL = 221, /* and Hopper has a row of its own for it */
    LONE_GPUS = 223,
    NVLS_BY_PIPELINE = 228,   /* and Blackwell's trees are measured */
    NVLS_TREE_CORRECTED = 229 /* and its LL128 */
};

/** A protocol a column: LL, LL128, Simple. */
typedef double per_protocol[RONDE_NCCL_PROTOCOL_COUNT];

/** baseLat and hwLat of a version and those after it, us. Rows: Ring, Tree; of hwLat by kind of path. */
struct latencies {
    uint32_t since;
    per_protocol base_us[2];
    per_protocol hop_us[3][2];
};

/** The same of NVLS: base, and NVLSTree's hop between nodes. */
struct nvls_latencies {
    uint32_t since;
    double base_us, hop_us;
};

static const struct nvls_latencies all_nvls_latencies[] = {{218, 23, 19},
                                                           {219, 23, 14},
                                                           {221, 25, 14},
                                                           {228, 25, 20.9}};

static const struct latencies all_latencies[] = {
    {0,
     {{3.6, 10.0, 8.4}, {4.4, 4.4, 0}},
     {{{.47, 1.9, 3.4}, {.52, 1.25, 28}},
      {{1, 2.5, 5.7}, {1, 1.9, 28}},
      {{2.7, 4, 9.6}, {5, 8.5, 28}}}},
    {212,
     {{3.6, 10.0, 8.4}, {4.4, 4.4, 0}},
     {{{.47, 1.9, 3.4}, {.52, 1.25, 28}},
      {{1, 2.5, 5.7}, {1, 1.9, 28}},
      {{2.7, 4, 28}, {5, 8.5, 28}}}},
    {214,
     {{3.6, 10.0, 8.4}, {4.4, 4.4, 0}},
     {{{.47, 1.9, 3.4}, {.52, 1.25, 28}},
      {{1, 2.5, 5.7}, {1, 1.9, 28}},
      {{2.7, 4, 9.6}, {5, 8.5, 28}}}},
    {218,
     {{6.6, 14.0, 8.4}, {6.8, 14.0, 0}},
     {{{.6, 1.9, 3.4}, {.6, 1.25, 4}}, {{1, 2.5, 5.7}, {1, 1.9, 6}}, {{2.7, 4, 14}, {5, 8.5, 14}}}},
    {219,
     {{6.6, 14.0, 8.4}, {6.8, 14.0, 0}},
     {{{.6, 1.9, 3.4}, {.6, 1.25, 28}}, {{1, 2.5, 5.7}, {1, 1.9, 28}}, {{2.7, 4, 14}, {5, 8.5, 28}}}},
    {223,
     {{6.6, 14.0, 8.4}, {6.8, 14.0, 8.4}},
     {{{.6, 1.9, 3.4}, {.6, 1.25, 4}}, {{1, 2.5, 5.7}, {1, 1.9, 4}}, {{2.7, 4, 14}, {5, 8.5, 14}}}},
};

/** Sizes of NVLSTree that have one, and of Tree. */
#define CORRECTIONS 24u
#define TREE_CORRECTIONS 23u

/** treeCorrectionFactor, from 64 B on. */
static const double correction[RONDE_NCCL_PROTOCOL_COUNT][CORRECTIONS] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/** LL128's row before 2.10. */
static const double old_correction[CORRECTIONS] = {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7,  .6,  .6,
                                                   .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92, 1};

/** All channels of A100s, before 2.18. */
static const double old_ampere_GBps = 235;

/** perChMaxNVLSTreeBws on two nodes and on more, a channel, GB/s: Hopper, Blackwell before 2.30 and since. */
static const double nvls_tree_GBps[3][2] = {{57.7, 45.5}, {96, 43.8}, {96, 80}};

/** What a formula works on. */
struct query {
    const struct ronde_nccl_constants *constants;
    const struct ronde_nccl_machine *machine;
    const struct ronde_nccl_call *call;
    struct ronde_nccl_search search;
    uint32_t version;
    uint32_t g;      /**< ranks a node */
    uint32_t column; /**< 0, 1, 2 for one, two and more nodes */
};

static double of(const struct query *query, enum ronde_nccl_of_generation which)
{
    return ronde_nccl_of(query->constants, query->machine->generation, which);
}

/** Whether it is a Blackwell of before its own rates were measured, which had twice Hopper's. */
static bool is_early_blackwell(const struct query *query, uint32_t measured)
{
    return query->machine->generation == RONDE_NCCL_BLACKWELL && query->version < measured;
}

static double twice_hopper(const struct query *query, enum ronde_nccl_of_generation which)
{
    return 2 * ronde_nccl_of(query->constants, RONDE_NCCL_HOPPER, which);
}

/** llMaxBws: by generation on one node, by processor on several, unless the generation has a row of its own. */
static double ll_max(const struct query *query)
{
    enum ronde_nccl_generation row = query->machine->generation;
    if (query->call->nodes > 1 && row < RONDE_NCCL_HOPPER)
        row = query->machine->cpu == RONDE_NCCL_AMD ? RONDE_NCCL_AMPERE : RONDE_NCCL_VOLTA;
    if (row == RONDE_NCCL_HOPPER && query->version < HALF_LL)
        row = RONDE_NCCL_AMPERE;
    return ronde_nccl_of(query->constants, row,
                         (enum ronde_nccl_of_generation)(RONDE_NCCL_OF_tuner_ll_1_GBps +
                                                         query->column));
}

/** The bus of a search; before 2.18 Ampere's had a cap. */
static double capped(const struct query *query, double bus_GBps)
{
    return query->version < LATER_LATENCIES && query->machine->generation == RONDE_NCCL_AMPERE
               ? fmin(bus_GBps, old_ampere_GBps)
               : bus_GBps;
}

/** perChMaxRingLL128Bws: of a channel; one rate for each collective at first. */
static double ring_ll128_GBps(const struct query *query)
{
    if (is_early_blackwell(query, NVLS_TREE_CORRECTED))
        return query->version >= NVLS_BY_PIPELINE && query->column == 1
                   ? 34.6
                   : twice_hopper(query, RONDE_NCCL_OF_tuner_ring_ll128_GBps);
    if (query->version >= ONE_LL128_CAP)
        return of(query, RONDE_NCCL_OF_tuner_ring_ll128_GBps);
    switch (query->call->collective) {
    case RONDE_ALL_REDUCE:
        return 16.9;
    case RONDE_ALL_GATHER:
        return 18.3;
    case RONDE_REDUCE_SCATTER:
        return 15.2;
    case RONDE_BROADCAST:
        return 18.8;
    default:
        return 12;
    }
}

static double ring_bus(const struct query *query, enum ronde_nccl_protocol protocol)
{
    const double bus = capped(query, query->search.bus_GBps);
    const bool is_lone = query->call->nodes == 1;
    if (protocol == RONDE_NCCL_LL) {
        const double old = query->call->collective != RONDE_ALL_REDUCE && is_lone ? 1 / 3. : .25;
        return fmin(ll_max(query), bus * (query->version >= HALF_LL ? .5 : old));
    }
    if (protocol == RONDE_NCCL_SIMPLE)
        return bus;
    const double share = query->g < 2 && query->version < LONE_GPUS ? .7 : .92;
    return fmin(bus * share, query->search.channels * ring_ll128_GBps(query));
}

/** The bus of the tree's own search: wider where a tree crosses the slow link less often than a ring. */
static double tree_graph_bus(const struct query *query)
{
    const struct ronde_nccl_machine *machine = query->machine;
    if (machine->link == RONDE_NODE_PAIRS && query->g > 2)
        return 2 * query->search.bus_GBps;
    if (query->call->nodes != 2 || machine->behind_bridge)
        return query->search.bus_GBps;
    /* "Increase bwIntra for trees (2 nodes)": search.cc, pass 2. */
    return fmin(ronde_nccl_search_inside(query->constants, machine, query->g).bus_GBps,
                query->search.channels * of(query, RONDE_NCCL_OF_tuner_tree_channel_GBps));
}

/** perChMaxTreeBws and perChMaxTreeLL128Bws: of a channel; A100s' were others at first. */
static double tree_channel_GBps(const struct query *query, bool is_ll128)
{
    static const double old_ampere[] = {24, 22.5, 16};
    const enum ronde_nccl_of_generation which = (enum ronde_nccl_of_generation)(
        (is_ll128 ? RONDE_NCCL_OF_tuner_tree_ll128_1_GBps : RONDE_NCCL_OF_tuner_tree_1_GBps) +
        query->column);
    if (is_early_blackwell(query, NVLS_BY_PIPELINE))
        return twice_hopper(query, which);
    if (query->version < ONE_LL128_CAP && is_ll128)
        return ring_ll128_GBps(query);
    return query->version < ONE_LL128_CAP && query->machine->generation == RONDE_NCCL_AMPERE
               ? old_ampere[query->column]
               : of(query, which);
}

static double tree_bus(const struct query *query, enum ronde_nccl_protocol protocol)
{
    const uint32_t channels = query->search.channels;
    const bool is_lone = query->call->nodes == 1;
    double bus = fmin(capped(query, tree_graph_bus(query)) * .92,
                      channels * tree_channel_GBps(query, false));
    if (protocol == RONDE_NCCL_LL)
        bus = fmin(bus / 3.8, ll_max(query));
    if (protocol == RONDE_NCCL_LL128)
        bus = fmin(bus * (is_lone ? 7 / 9. : 120 / 128.), channels * tree_channel_GBps(query, true));
    return is_lone && query->version >= LATER_LATENCIES ? bus * .85 : bus;
}

/** The tables of the query's version. */
static const struct latencies *latencies_of(const struct query *query)
{
    const struct latencies *found = &all_latencies[0];
    for (size_t i = 0; i < sizeof all_latencies / sizeof all_latencies[0]; i++)
        if (query->version >= all_latencies[i].since)
            found = &all_latencies[i];
    return found;
}

static const per_protocol *hops(const struct query *query, enum ronde_nccl_path kind)
{
    return latencies_of(query)->hop_us[kind];
}

/**
 * What the network's plug-in says of its own latency (latencyInter), which NCCL adds to each hop, by Simple twice: nothing, but for
 * Amazon's (aws-ofi-nccl, platform_data_map of src/platform-aws.c): 150 us of p3dn, 75 of p4d, p4de, p5 and p5e, whose NICs carry
 * 12.5 GB/s each as well, and 35 of p5en and all since.
 */
static double plugin_us(const struct query *query, enum ronde_nccl_protocol protocol)
{
    const double slow_GBps = 12.5;
    const struct ronde_nccl_machine *machine = query->machine;
    if (machine->fabric != RONDE_NCCL_EFA || query->version < LATER_LATENCIES)
        return 0;
    const double slow_us = machine->generation == RONDE_NCCL_VOLTA ? 150 : 75;
    return (machine->nic_GBps > slow_GBps ? 35 : slow_us) * (protocol == RONDE_NCCL_SIMPLE ? 2 : 1);
}

/** A hop between nodes (interLat). */
static double between_us(const struct query *query, enum ronde_nccl_algorithm algorithm,
                         enum ronde_nccl_protocol protocol)
{
    return hops(query, RONDE_NCCL_PATH_NET)[algorithm][protocol] + plugin_us(query, protocol);
}

/** Broadcast and reduce: a hop where all channels have one order (sameChannels), else as many as there are ranks. */
static double chain_latency(const struct query *query, enum ronde_nccl_protocol protocol)
{
    const bool is_lone = query->call->nodes == 1;
    const per_protocol *hop = hops(query, is_lone ? query->search.kind : RONDE_NCCL_PATH_NET);
    /* Each NIC has a ring of its own, which enters the node by the GPU beside it. */
    if (is_lone || ronde_nccl_nics(query->machine, query->g) < 2)
        return hop[0][protocol];
    return query->call->ranks * hop[protocol == RONDE_NCCL_SIMPLE][protocol];
}

/** A hop inside a node. */
static double inside_us(const struct query *query, enum ronde_nccl_algorithm algorithm,
                        enum ronde_nccl_protocol protocol)
{
    const double old_lines = 1.8;
    if (query->search.kind == RONDE_NCCL_PATH_NET)
        return 0;
    const double us = hops(query, query->search.kind)[algorithm][protocol];
    return query->version < LATER_LATENCIES && protocol == RONDE_NCCL_LL && query->call->nodes > 1
               ? us * old_lines
               : us;
}

/** The same of a call, as far as its version counts it. */
static double net_overhead_us(const struct query *query, enum ronde_nccl_protocol protocol)
{
    if (query->call->nodes == 1 || query->version < LATER_LATENCIES)
        return 0;
    return ronde_nccl_net_overhead_us(query->machine, protocol);
}

/** Steps of a ring between nodes (nInterSteps). */
static double ring_crossings(const struct query *query)
{
    const double nodes = query->call->nodes;
    const bool is_more = query->version >= TWO_MORE_CROSSINGS && query->version < LONE_GPUS;
    if (query->call->nodes == 1)
        return 0;
    if (query->call->collective != RONDE_ALL_REDUCE)
        return nodes - 1;
    return is_more ? 2 * nodes : 2 * (nodes - 1);
}

/** "Plateau effect of ring": times as long as a ring by Simple between nodes would take. */
static double plateau(const struct query *query)
{
    const struct ronde_nccl_call *call = query->call;
    const double old = 1.9, old_bytes = 4096, bytes = 64;
    if (call->collective != RONDE_ALL_REDUCE)
        return 1;
    if (query->version < LATER_LATENCIES)
        return (double)call->bytes >= old_bytes * call->ranks ? old : 1;
    return (double)call->bytes >= bytes * query->search.channels * call->ranks
               ? of(query, RONDE_NCCL_OF_tuner_simple_net_ratio)
               : 1;
}

static double ring_latency(const struct query *query, enum ronde_nccl_protocol protocol, double base)
{
    const struct ronde_nccl_call *call = query->call;
    const bool is_lone = call->nodes == 1;
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    /* One GPU a node hides nothing of it, for which later versions take a tree's hop. */
    const bool is_bare = query->g == 1 && query->version >= LONE_GPUS;
    const double between = between_us(query, is_bare ? RONDE_NCCL_TREE : RONDE_NCCL_RING, protocol);
    if (!(steps > 0))
        return base + chain_latency(query, protocol);
    const double across = ring_crossings(query);
    const double latency = base +
                           (steps - across) * fmax(inside_us(query, RONDE_NCCL_RING, protocol),
                                                   net_overhead_us(query, protocol)) +
                           across * between;
    return protocol == RONDE_NCCL_SIMPLE && !is_lone ? latency * plateau(query) : latency;
}

static double tree_latency(const struct query *query, enum ronde_nccl_protocol protocol, double base)
{
    return base +
           2 * ((query->g - 1) * inside_us(query, RONDE_NCCL_TREE, protocol) +
                ronde_nccl_log2i(query->call->nodes) * between_us(query, RONDE_NCCL_TREE, protocol));
}

/** The first `count` sizes have one. */
static double tree_correction(const struct query *query, enum ronde_nccl_protocol protocol,
                              uint32_t count)
{
    const uint32_t size = ronde_nccl_size_row(query->call);
    if (size >= count)
        return 1;
    return query->version < ONE_LL128_CAP && protocol == RONDE_NCCL_LL128
               ? old_correction[size]
               : correction[protocol][size];
}

/**
 * What the search for NVLS finds (search.cc, ncclTopoSearchTryNvls): channels of one of few speeds with a GPU each as their head. A link
 * carries all of them, and its own GPU's twice. So four H100 have four of 60 GB/s, eight have eight of 40.
 */
static double nvls_searched_GBps(const struct query *query)
{
    static const double speeds[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18, 15, 12, 11, 6};
    const double fastest = query->machine->generation == RONDE_NCCL_HOPPER ? 60 : 90;
    const double link =
        ronde_nccl_nvlink(query->machine, query->g) * of(query, RONDE_NCCL_OF_tuner_nvlink_ratio);
    double most = 0;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        if (speeds[i] <= fastest)
            most = fmax(most, speeds[i] * fmin(query->g, floor(link / speeds[i]) - 1));
    return fmax(most, speeds[sizeof speeds / sizeof speeds[0] - 1]);
}

/** Bytes per time of an all_reduce by NVLS, or NVLSTree between nodes, of as many channels as GPUs. */
static double nvls_GBps(const struct query *query)
{
    const double n = query->call->ranks, nodes = query->call->nodes, g = query->g;
    const bool is_blackwell = query->machine->generation == RONDE_NCCL_BLACKWELL;
    const double inside = nvls_searched_GBps(query);
    const double between = nodes > 1 ? query->search.bus_GBps : INFINITY;
    if (query->version < NVLS_BY_PIPELINE)
        return fmin(inside, between * (nodes > 2 ? .5 : 1)) * 5 / 6;
    const double pipelined = 2 * inside * of(query, RONDE_NCCL_OF_tuner_nvls) * (g - 1) / g;
    const double most =
        nodes > 1
            ? g * nvls_tree_GBps[is_blackwell +
                                 (is_blackwell && query->version >= RONDE_NCCL_NEWEST)][nodes > 2]
            : INFINITY;
    return fmin(fmin(pipelined, most), between * (nodes > 2 ? 1 : 2)) * n / (2 * (n - 1));
}

/** NVLS and NVLSTree; infinite where NCCL has none. */
static double nvls_us(const struct query *query, enum ronde_nccl_algorithm algorithm)
{
    const struct ronde_nccl_call *call = query->call;
    const struct ronde_nccl_machine *machine = query->machine;
    const bool is_tree = algorithm == RONDE_NCCL_NVLS_TREE;
    const struct nvls_latencies *latencies = &all_nvls_latencies[0];
    if (machine->generation < RONDE_NCCL_HOPPER || machine->link != RONDE_NODE_SWITCH ||
        call->collective != RONDE_ALL_REDUCE || query->g < 3 || query->version < LATER_LATENCIES ||
        is_tree != (call->nodes > 1) || (is_tree && query->g != machine->gpus))
        return INFINITY;
    for (size_t i = 0; i < sizeof all_nvls_latencies / sizeof all_nvls_latencies[0]; i++)
        if (query->version >= all_nvls_latencies[i].since)
            latencies = &all_nvls_latencies[i];
    const bool is_corrected = is_tree && query->version >= NVLS_TREE_CORRECTED &&
                              machine->generation == RONDE_NCCL_BLACKWELL &&
                              machine->cpu != RONDE_NCCL_ARM;
    const double rate = nvls_GBps(query) *
                        (is_corrected ? tree_correction(query, RONDE_NCCL_SIMPLE, CORRECTIONS) : 1);
    return latencies->base_us +
           2 * ronde_nccl_log2i(call->nodes) *
               (latencies->hop_us + plugin_us(query, RONDE_NCCL_SIMPLE)) +
           (double)call->bytes / 1e3 / rate;
}

/**
 * Whether the network may deliver a message's bytes in any order, so that flags say nothing: EFA before p5, on which
 * aws-ofi-nccl sets NCCL_PROTO=simple (github.com/aws/aws-ofi-nccl/issues/76, pull/280), and TCPX.
 */
static bool has_no_order(const struct query *query)
{
    const struct ronde_nccl_machine *machine = query->machine;
    return query->call->nodes > 1 &&
           (machine->fabric == RONDE_NCCL_TCPX ||
            (machine->fabric == RONDE_NCCL_EFA && machine->generation < RONDE_NCCL_HOPPER));
}

/** What NCCL_PROTO switches on. */
static bool is_disabled(const struct query *query, struct ronde_nccl_choice choice)
{
    return choice.protocol == RONDE_NCCL_LL128 &&
           (query->search.kind == RONDE_NCCL_PATH_PCI ||
            (query->call->nodes > 1 && query->machine->behind_bridge));
}

/** Of a call on one machine or several, racks being machines. */
static double joined_us(const struct ronde_nccl_constants *constants,
                        const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                        struct ronde_nccl_choice choice, bool is_forced)
{
    const struct query query = {
        .constants = constants,
        .machine = machine,
        .call = call,
        .search = ronde_nccl_search_of(constants, machine, call),
        .version = ronde_nccl_version_of(call),
        .g = call->ranks / call->nodes,
        .column = call->nodes == 1   ? 0
                  : call->nodes == 2 ? 1
                                     : 2,
    };
    const enum ronde_nccl_protocol protocol = choice.protocol;
    if (ronde_nccl_is_point(call->collective))
        return INFINITY;
    if (ronde_nccl_is_rccl(machine))
        return ronde_nccl_rccl_us(constants, machine, call, choice, is_forced);
    if (choice.algorithm >= RONDE_NCCL_NVLS)
        return protocol == RONDE_NCCL_SIMPLE ? nvls_us(&query, choice.algorithm) : INFINITY;
    if (protocol != RONDE_NCCL_SIMPLE && has_no_order(&query))
        return INFINITY;
    if (!(choice.algorithm == RONDE_NCCL_RING || query.call->collective == RONDE_ALL_REDUCE) ||
        (is_disabled(&query, choice) && !is_forced))
        return INFINITY;
    const double base = latencies_of(&query)->base_us[choice.algorithm][protocol];
    if (choice.algorithm == RONDE_NCCL_RING) {
        const uint32_t steps = ronde_nccl_ring_steps(call->collective, call->ranks);
        const double ratio = (double)call->ranks / (steps > 0 ? steps : call->ranks);
        return ring_latency(&query, protocol, base) +
               (double)call->bytes / 1e3 / (ring_bus(&query, protocol) * ratio);
    }
    const double rate =
        tree_bus(&query, protocol) / 2 * tree_correction(&query, protocol, TREE_CORRECTIONS);
    return tree_latency(&query, protocol, base) + (double)call->bytes / 1e3 / rate;
}

double ronde_nccl_tuner_us(const struct ronde_nccl_constants *constants,
                           const struct ronde_nccl_machine *machine,
                           const struct ronde_nccl_call *call, struct ronde_nccl_choice choice,
                           bool is_forced)
{
    const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
    return joined_us(constants, &joined.machine, &joined.call, choice, is_forced);
}

double ronde_nccl_choose(const struct ronde_nccl_constants *constants,
                         const struct ronde_nccl_machine *machine,
                         const struct ronde_nccl_call *call, struct ronde_nccl_choice wish,
                         struct ronde_nccl_choice *out)
{
    double best = INFINITY;
    if (ronde_nccl_is_point(call->collective)) {
        const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
        *out = ronde_nccl_point_choice(constants, &joined.machine, &joined.call);
        return best;
    }
    const bool is_forced = wish.protocol != RONDE_NCCL_PROTOCOL_COUNT;
    *out = (struct ronde_nccl_choice){wish.algorithm, RONDE_NCCL_SIMPLE};
    if (wish.algorithm == RONDE_NCCL_ALGORITHM_COUNT)
        out->algorithm = RONDE_NCCL_RING;
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
        for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
            const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)a,
                                                     (enum ronde_nccl_protocol)p};
            if ((wish.algorithm != RONDE_NCCL_ALGORITHM_COUNT && wish.algorithm != a) ||
                (is_forced && wish.protocol != p))
                continue;
            const double us = ronde_nccl_tuner_us(constants, machine, call, choice, is_forced);
            if (us < best) {
                best = us;
                *out = choice;
            }
        }
    if (ronde_nccl_is_rccl(machine) && !is_forced)
        out->protocol = ronde_nccl_rccl_protocol(machine, call, out->protocol);
    if (wish.algorithm == RONDE_NCCL_ALGORITHM_COUNT && !is_forced &&
        ronde_nccl_takes_pairs(machine, call))
        *out = ronde_nccl_pairs_choice(call);
    return best;
}
