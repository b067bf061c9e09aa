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
 *
 * What cannot be known from a description: the search's quantised rates, NIC latencies, and numbers of channels that
 * an environment sets.
 */
#include "setting.h"

#include <math.h>

/** Versions of NCCL in which its tables changed, as 100 major + minor. */
enum { NVLS_LATENCIES = 217, HALF_LL = 221, TREE_BASE = 222, HOPPER_LL = 223, NEWEST = 230 };

/** A protocol a column: LL, LL128, Simple. */
typedef double per_protocol[RONDE_NCCL_PROTOCOL_COUNT];

/** baseLat, us: before 2.17, before 2.22, since. Rows: Ring, Tree. */
static const per_protocol base_us[3][2] = {{{3.6, 10.0, 8.4}, {4.4, 4.4, 0}},
                                           {{6.6, 14.0, 8.4}, {6.8, 14.0, 0}},
                                           {{6.6, 14.0, 8.4}, {6.8, 14.0, 8.4}}};

/** hwLat, us: before 2.17 and since. */
static const per_protocol hop_us[2][3][2] = {{{{.47, 1.9, 3.4}, {.52, 1.25, 28}},
                                              {{1, 2.5, 5.7}, {1, 1.9, 28}},
                                              {{2.7, 4, 9.6}, {5, 8.5, 28}}},
                                             {{{.6, 1.9, 3.4}, {.6, 1.25, 4}},
                                              {{1, 2.5, 5.7}, {1, 1.9, 4}},
                                              {{2.7, 4, 14}, {5, 8.5, 14}}}};

#define CORRECTIONS 24u

/** treeCorrectionFactor, from 64 B on. */
static const double correction[RONDE_NCCL_PROTOCOL_COUNT][CORRECTIONS] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/** NVLS: base and hop between nodes, us. */
static const double nvls_base_us = 25, nvls_hop_us = 14;

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

/** llMaxBws: by generation on one node, by processor on several, unless the generation has a row of its own. */
static double ll_max(const struct query *query)
{
    enum ronde_nccl_generation row = query->machine->generation;
    if (query->call->nodes > 1 && row < RONDE_NCCL_HOPPER)
        row = query->machine->cpu == RONDE_NCCL_AMD ? RONDE_NCCL_AMPERE : RONDE_NCCL_VOLTA;
    if (row == RONDE_NCCL_HOPPER && query->version < HOPPER_LL)
        row = RONDE_NCCL_AMPERE;
    return ronde_nccl_of(query->constants, row,
                         (enum ronde_nccl_of_generation)(RONDE_NCCL_OF_tuner_ll_1_GBps +
                                                         query->column));
}

static double ring_bus(const struct query *query, enum ronde_nccl_protocol protocol)
{
    const double bus = query->search.bus_GBps;
    const bool is_lone = query->call->nodes == 1;
    if (protocol == RONDE_NCCL_LL) {
        const double old = query->call->collective != RONDE_ALL_REDUCE && is_lone ? 1 / 3. : .25;
        return fmin(ll_max(query), bus * (query->version >= HALF_LL ? .5 : old));
    }
    if (protocol == RONDE_NCCL_SIMPLE)
        return bus;
    const double share = query->g < 2 && query->version < HALF_LL ? .92 * .7 : .92;
    return fmin(bus * share,
                query->search.channels * of(query, RONDE_NCCL_OF_tuner_ring_ll128_GBps));
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

static double tree_bus(const struct query *query, enum ronde_nccl_protocol protocol)
{
    const uint32_t channels = query->search.channels, column = query->column;
    const bool is_lone = query->call->nodes == 1;
    double bus = fmin(tree_graph_bus(query) * .92,
                      channels * of(query, (enum ronde_nccl_of_generation)(
                                               RONDE_NCCL_OF_tuner_tree_1_GBps + column)));
    if (protocol == RONDE_NCCL_LL)
        bus = fmin(bus / 3.8, ll_max(query));
    if (protocol == RONDE_NCCL_LL128)
        bus = fmin(bus * (is_lone ? 7 / 9. : 120 / 128.),
                   channels * of(query, (enum ronde_nccl_of_generation)(
                                            RONDE_NCCL_OF_tuner_tree_ll128_1_GBps + column)));
    return is_lone ? bus * .85 : bus;
}

/** A row of the tables for the version. */
static const per_protocol *hops(const struct query *query, enum ronde_nccl_path kind)
{
    return hop_us[query->version >= NVLS_LATENCIES][kind];
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

static double ring_latency(const struct query *query, enum ronde_nccl_protocol protocol, double base)
{
    const struct ronde_nccl_call *call = query->call;
    const bool is_lone = call->nodes == 1;
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    const double between = hops(query, RONDE_NCCL_PATH_NET)[0][protocol];
    double inside =
        query->search.kind == RONDE_NCCL_PATH_NET ? 0 : hops(query, query->search.kind)[0][protocol];
    if (query->version < NVLS_LATENCIES && protocol == RONDE_NCCL_LL && !is_lone)
        inside *= 1.8;
    if (!(steps > 0))
        return base + chain_latency(query, protocol);
    const double across = is_lone                                ? 0
                          : call->collective == RONDE_ALL_REDUCE ? 2. * (call->nodes - 1)
                                                                 : call->nodes - 1.;
    const double overhead = is_lone ? 0
                                    : (query->machine->cpu == RONDE_NCCL_AMD ? 2 : 1) *
                                          (protocol == RONDE_NCCL_SIMPLE ? 3 : 1);
    const double latency = base + (steps - across) * fmax(inside, overhead) + across * between;
    const bool is_penalised = protocol == RONDE_NCCL_SIMPLE && !is_lone &&
                              call->collective == RONDE_ALL_REDUCE &&
                              call->bytes / ((uint64_t)query->search.channels * call->ranks) >= 64;
    return is_penalised ? latency * of(query, RONDE_NCCL_OF_tuner_simple_net_ratio) : latency;
}

static double tree_latency(const struct query *query, enum ronde_nccl_protocol protocol, double base)
{
    const bool is_lone = query->call->nodes == 1;
    double inside =
        query->search.kind == RONDE_NCCL_PATH_NET ? 0 : hops(query, query->search.kind)[1][protocol];
    if (query->version < NVLS_LATENCIES && protocol == RONDE_NCCL_LL && !is_lone)
        inside *= 1.8;
    return base + 2 * ((query->g - 1) * inside + ronde_nccl_log2i(query->call->nodes) *
                                                     hops(query, RONDE_NCCL_PATH_NET)[1][protocol]);
}

/** NVLS and NVLSTree; infinite where NCCL has none. */
static double nvls_us(const struct query *query, enum ronde_nccl_algorithm algorithm)
{
    const struct ronde_nccl_call *call = query->call;
    const bool is_tree = algorithm == RONDE_NCCL_NVLS_TREE;
    if (query->machine->generation < RONDE_NCCL_HOPPER || query->machine->link != RONDE_NODE_SWITCH ||
        call->collective != RONDE_ALL_REDUCE || query->g < 3 || query->version <= NVLS_LATENCIES ||
        is_tree != (call->nodes > 1) || (is_tree && query->g != query->machine->gpus))
        return INFINITY;
    double rate = ronde_nccl_search_inside(query->constants, query->machine, query->g).bus_GBps *
                  of(query, RONDE_NCCL_OF_tuner_nvls) * (query->g - 1) / query->g;
    if (is_tree)
        rate = fmin(rate, query->search.bus_GBps * (call->nodes == 2 ? 1 : .5));
    return nvls_base_us + 2 * nvls_hop_us * ronde_nccl_log2i(call->nodes) +
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
    /* RCCL has LL128 behind RCCL_LL128_FORCE_ENABLE. */
    return choice.protocol == RONDE_NCCL_LL128 &&
           (query->search.kind == RONDE_NCCL_PATH_PCI ||
            query->machine->generation <= RONDE_NCCL_CDNA3 ||
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
        .version = call->version > 0 ? call->version : NEWEST,
        .g = call->ranks / call->nodes,
        .column = call->nodes == 1   ? 0
                  : call->nodes == 2 ? 1
                                     : 2,
    };
    const enum ronde_nccl_protocol protocol = choice.protocol;
    if (ronde_nccl_is_point(call->collective))
        return INFINITY;
    if (choice.algorithm >= RONDE_NCCL_NVLS)
        return protocol == RONDE_NCCL_SIMPLE ? nvls_us(&query, choice.algorithm) : INFINITY;
    if (protocol != RONDE_NCCL_SIMPLE && has_no_order(&query))
        return INFINITY;
    if (!(choice.algorithm == RONDE_NCCL_RING || query.call->collective == RONDE_ALL_REDUCE) ||
        (is_disabled(&query, choice) && !is_forced))
        return INFINITY;
    const double base = base_us[(query.version >= NVLS_LATENCIES) + (query.version >= TREE_BASE)]
                               [choice.algorithm][protocol];
    if (choice.algorithm == RONDE_NCCL_RING) {
        const uint32_t steps = ronde_nccl_ring_steps(call->collective, call->ranks);
        const double ratio = (double)call->ranks / (steps > 0 ? steps : call->ranks);
        return ring_latency(&query, protocol, base) +
               (double)call->bytes / 1e3 / (ring_bus(&query, protocol) * ratio);
    }
    const uint32_t size = ronde_nccl_log2i(call->bytes / 64 > 0 ? call->bytes / 64 : 1);
    const double rate =
        tree_bus(&query, protocol) / 2 * (size < CORRECTIONS ? correction[protocol][size] : 1);
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
    return best;
}
