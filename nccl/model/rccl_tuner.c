/**
 * RCCL's own estimate of every algorithm and protocol, by which it chooses.
 *
 * Read off ncclTopoTuneModel and ncclTopoGetAlgoTime (src/graph/tuning.cc of RCCL 2.21 and 2.28), which differ from NCCL's (tuner.c):
 *
 *   bus        what all links of a GPU carry, NICs or not: its nodes are of few kinds, whose rings it has tables of (rome_models.cc)
 *   bandwidth  bus * ratio[nodes > 2] * n / steps (Ring), bus * ratio / 2 (Tree), times correction[log2(bytes / 64)]: of Ring between
 *              nodes, of Tree always
 *   latency    12 us, 17 by Simple, and hops as in NCCL's
 *
 * There is a table for each kind of node (tuning_model_0 to 6). Of those on two nodes and more RCCL 2.25 and later take a protocol by
 * size alone (rcclUpdateCollectiveProtocol, src/rccl_wrap.cc), after the algorithm.
 */
#include "setting.h"

#include <math.h>

/** Versions of RCCL, as 100 major + minor. */
enum { LIKE_NCCL_2_23 = 223, RANGES = 225 };

enum { SIZES = 27 };

/** A protocol a column: LL, LL128, Simple. */
typedef double per_protocol[RONDE_NCCL_PROTOCOL_COUNT];

/** Kinds of nodes. */
enum kind {
    ANY,
    MI250X_ALONE, /**< one node of 16 GPUs */
    TWO_SOCKETS,  /**< nodes of 8 GPUs of CDNA 2 */
    ONE_SOCKET,   /**< several nodes of these: Frontier, LUMI */
    MI250X_NICS,  /**< several nodes of 16 GPUs */
    OLD_MI300X,   /**< before 2.25 */
    MI300X,
    MI350X,
    KINDS
};

/** hwLat by kind of path, bwRatio on up to two nodes and on more, correction factors from 64 B on. Rows: Ring, Tree. */
struct table {
    per_protocol hop_us[3][2];
    per_protocol ratio[2][2];
    double correction[2][RONDE_NCCL_PROTOCOL_COUNT][SIZES];
};

static const per_protocol base_us = {12, 12, 17};

static const struct table tables[KINDS] =
    {
        [ANY] =
            {
                .hop_us = {{{.8, 2.2, 3.6}, {.8, 1.4, 2.5}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{9.5, 19.8, 15.1}, {11.8, 18.2, 20.8}}},
                .ratio = {{{.04, .34, 1}, {.04, .22, .91}}, {{.04, .34, 1}, {.04, .22, .95}}},
                .correction = {{{.1, .1, .1, .1, .1, .2, .4, .2, .3, .5, .3, .1, .5, .5,
                                 .3, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .3, 1,  1,  1, 1,
                                 1,  1,  .8, .7, .5, .4, .4, .3, .3, .3, .3, .3, .3},
                                {1,  .8, .2, 1,  1, .3, 1, .1, .1, .2, .2, .1, .5, 1,
                                 .8, .8, 1,  .9, 1, 1,  1, 1,  1,  1,  1,  1,  1}},
                               {{.1, .2, .1, .1, .9, .3, .4, .1, .2, .4, .2, .1, .3, .3,
                                 .2, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .3, 1,  .1, .5, 1,  .9, 1,  1,  1,  .3, .1, .4, .5,
                                 .5, .4, .4, .3, .3, .2, .2, .2, .2, .2, .2, .2, .2},
                                {.2, 1, .1, .1, .7, .2, .4, .1, .1, .3, .4, .3, .6, .8,
                                 1,  1, 1,  1,  .9, .8, .8, .8, .8, .8, .9, .9, .9}}},
            },
        [MI250X_ALONE] =
            {
                .hop_us = {{{1.5, 1.5, 4.5}, {1.5, 1.5, 4.5}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{5.1, 5.1, 68.8}, {33, 33, 15.8}}},
                .ratio = {{{.12, 1, 1}, {.12, 1, .99}}, {{.2, 1, 1}, {.15, 1, .42}}},
                .correction = {{{1, .5, 1,  1,  .6, .7, 1,  1,  .2, 1,  .9, .7, 1, 1,
                                 1, .9, .9, .8, .8, .7, .6, .5, .5, .3, .2, .1, .1},
                                {1, .5, 1,  1,  .6, .7, 1,  1,  .2, 1,  .9, .7, 1, 1,
                                 1, .9, .9, .8, .8, .7, .6, .5, .5, .3, .2, .1, .1},
                                {.3, 1,  .3, .1, .1, .1, .3, .7, 1,  .2, .1, .1, .1, .1,
                                 .1, .1, .1, .1, .1, .2, .3, .5, .9, 1,  1,  1,  1}},
                               {{.5, .4, .7, .6, 1,  1,  .5, .4, .1, .5, .4, .6, 1, 1,
                                 1,  1,  1,  .8, .6, .5, .4, .4, .3, .2, .1, .1, .1},
                                {.5, .4, .7, .6, 1,  1,  .5, .4, .1, .5, .4, .6, 1, 1,
                                 1,  1,  1,  .8, .6, .5, .4, .4, .3, .2, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .3, .4, .5, .1, .6, 1,  1,  1, .6,
                                 .5, .7, 1,  1,  1,  1,  1,  1,  1,  .7, .5, .3, .3}}},
            },
        [TWO_SOCKETS] =
            {
                .hop_us = {{{1.5, 1.5, 4.5}, {1.5, 1.5, 4.5}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{12.1, 12.1, 68.8}, {27.9, 27.9, 15.8}}},
                .ratio = {{{.08, 1, 1}, {.07, 1, .99}}, {{.08, 1, 1}, {.07, 1, .42}}},
                .correction = {{{.1, 1,  1,  1,  1,  1,  1,  1,  .4, 1,  1,  1,  1, .7,
                                 .6, .5, .4, .3, .2, .2, .1, .1, .1, .1, .1, .1, .1},
                                {.1, 1,  1,  1,  1,  1,  1,  1,  .4, 1,  1,  1,  1, .7,
                                 .6, .5, .4, .3, .2, .2, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, 1, .2, .2, .1, .1, .1,
                                 .1, .1, .2, .4, .5, .6, .9, 1,  1, 1,  1,  1,  1}},
                               {{.1, .4, .3, .3, .2, .4, .5, .1, .1, .6, .7, .7, .8, 1,
                                 .9, .7, .6, .5, .4, .3, .2, .2, .2, .2, .2, .2, .2},
                                {.1, .4, .3, .3, .2, .4, .5, .1, .1, .6, .7, .7, .8, 1,
                                 .9, .7, .6, .5, .4, .3, .2, .2, .2, .2, .2, .2, .2},
                                {1, .1, .1, .1, .1, .2, .3, .5, .1, .6, .9, .8, .7, .9,
                                 1, 1,  1,  1,  1,  1,  1,  .7, .9, .9, 1,  1,  1}}},
            },
        [ONE_SOCKET] =
            {
                .hop_us = {{{.8, 0, 3.6}, {.8, 0, 2.5}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{9.5, 0, 19.8}, {12.5, 0, 22.4}}},
                .ratio = {{{.2, 0, 1}, {.2, 0, 1.75}}, {{.2, 0, 1}, {.2, 0, .96}}},
                .correction = {{{.1, .1, .1, .1, .1, .3, .1, .2, .1, .4, .4, .2, .2, .3,
                                 .7, .5, .4, .3, .3, .3, .3, .2, .2, .2, .2, .2, .2},
                                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                {.1, .1, .1, .1, .1, .1, .1, .5, 1, .1, .3, .1, .1, .1,
                                 .2, .2, .2, .3, .4, .7, 1,  1,  1, 1,  1,  1,  1}},
                               {{.1, .1, .1, .1, .1, .1, 1,  1,  .2, 1,  .9, 1,  .6, .4,
                                 .6, .4, .3, .3, .3, .3, .3, .2, .2, .2, .2, .2, .2},
                                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                {1, 1, 1, 1, 1, 1, .1, .1, .1, .2, 1,  .8, 1, 1,
                                 1, 1, 1, 1, 1, 1, 1,  .8, .7, .8, .9, .7, .7}}},
            },
        [MI250X_NICS] =
            {
                .hop_us = {{{.8, 2.2, 3.6}, {.8, 1.4, 2.5}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{35.4, 87.8, 209.2}, {32.2, 34.4, 47.6}}},
                .ratio = {{{.15, .41, 1}, {.16, 1.09, 1.61}}, {{.15, .41, 1}, {.16, 1.09, 1.08}}},
                .correction = {{{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .2, .2, .1,
                                 .3, .1, .1, .1, .2, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.4, .5, .5, .4, .4, .4, .4, .2, .2, .1, .3, 1,  1, .7,
                                 .8, .5, 1,  1,  1,  1,  1,  .9, .8, .5, .4, .3, .3},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, 1, 1, .8, .5, .1,
                                 .7, .2, .4, .4, .6, .7, .9, 1,  1,  1, 1, 1,  1}},
                               {{.1, .1, .1, .1, .1, .1, .1, .1, 1,  .1, .1, .2, .4, .6,
                                 .5, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .2, .1, .1, .2, 1,
                                 .5, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2},
                                {1, 1, 1,  1,  1,  1,  1,  1,  .8, .4, .3, .3, .1, .1,
                                 1, 1, .7, .5, .6, .5, .6, .6, .5, .6, .6, .6, .7}}},
            },
        [OLD_MI300X] =
            {
                .hop_us = {{{.8, 0, 2.1}, {.9, 0, 2.3}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{9.5, 0, 320}, {10.5, 0, 25}}},
                .ratio = {{{.08, 0, 1}, {.06, 0, .11}}, {{.08, 0, 1}, {.06, 0, .59}}},
                .correction = {{{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                                 .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
                                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                 .1, .1, .1, .1, .1, .1, .1, .1, .1, .8, 1,  1,  1}},
                               {{.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                                 1,  1,  .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                 .1, .7, 1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  .8}}},
            },
        [MI300X] =
            {
                .hop_us = {{{.8, .8, 2.1}, {.9, .9, 2.3}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{9.5, 9.5, 320}, {10.5, 10.5, 25}}},
                .ratio = {{{.08, .08, 1}, {.06, .06, .11}}, {{.08, .08, 1}, {.06, .06, .59}}},
                .correction = {{{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                                 .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                                 .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                 .1, .1, .1, .1, .1, .1, .1, .1, .7, .2, 1,  1,  1}},
                               {{.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                                 1,  1,  .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                                 1,  1,  .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                 .1, .7, 1,  1,  1,  1,  1,  .7, .7, .5, .6, .6, .6}}},
            },
        [MI350X] =
            {
                .hop_us = {{{.8, .8, 2.1}, {.9, .9, 2.3}},
                           {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
                           {{9.5, 9.5, 320}, {10.5, 10.5, 25}}},
                .ratio = {{{.08, .08, 1}, {.06, .06, .11}}, {{.08, .08, 1}, {.06, .06, .59}}},
                .correction = {{{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                                 .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1,  .1, .1, 1, .2, 1,
                                 .4, .4, .1, .2, .1, .1, .1, .1, 5.5, .1, .1, 1, 1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                 .1, .1, .1, .1, .1, .1, .9, .1, 1,  .1, .6, 1,  1}},
                               {{.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                                 1,  1,  .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
                                {.1, .1, .1, .1, .1, .1, 1, 1, 1,  1,  1,  .6, 1, .9,
                                 1,  1,  1,  1,  1,  2,  2, 1, .1, .9, .9, .1, .1},
                                {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1,  .1, .1, .1, .1,
                                 .1, .7, 1,  .1, .1, .1, .1, .1, .7, .15, .6, .7, .6}}},
            },
};

/** Of two nodes and more: bytes up to which LL, from which and up to which LL128 is taken (llProtoRanges). */
struct range {
    enum ronde_collective collective;
    double most_ll, least_ll128, most_ll128;
};

static const struct range mi300x_ranges[] = {{RONDE_REDUCE_SCATTER, 655360, 131072, 3211264},
                                             {RONDE_ALL_GATHER, 98304, 98304, 5046272},
                                             {RONDE_ALL_REDUCE, 524288, 524288, 4415057},
                                             {RONDE_REDUCE, 4096, 4096, 16777216},
                                             {RONDE_BROADCAST, 8192, 8192, 33554432}};
static const struct range mi350x_ranges[] = {{RONDE_REDUCE_SCATTER, 65536, 65536, 8388608},
                                             {RONDE_ALL_GATHER, 65536, 65536, 8388608},
                                             {RONDE_ALL_REDUCE, 262144, 262144, 70640910},
                                             {RONDE_REDUCE, 16383, 16383, 16777216},
                                             {RONDE_BROADCAST, 2048, 2048, 16777216}};
enum { RANGE_COUNT = sizeof mi300x_ranges / sizeof mi300x_ranges[0] };

/** What an all_reduce by LL128 on more than two nodes has more. */
static const double more_ll128 = 3.8;

/** A reduce_scatter on one node of MI300X, and an all_gather and a reduce_scatter of MI350X: bytes of a rank up to which LL is taken. */
static const double mi300x_scatter = 352128, mi350x_gather = 88448, mi350x_scatter = 175488;

/** One node of gfx94: a broadcast or reduce by LL. */
static const double lone_chain = 1.65;

/** What all links of a node of 16 chiplets carry (baseBw). */
static const double mi250x_GBps = 161.4;

/** A link of MI300X; MI350X's are faster. */
static const double mi300x_nvlink_GBps = 448;

/** Whole nodes of known kinds have tables; of one node alone NICs do not count, as RCCL leaves them out (ncclTopoTrimSystem). */
static enum kind kind_of(const struct ronde_nccl_machine *machine,
                         const struct ronde_nccl_call *call)
{
    const uint32_t g = call->ranks / call->nodes;
    if (g != machine->gpus)
        return ANY;
    if (machine->generation == RONDE_NCCL_CDNA3) {
        if (g != 8 || machine->link != RONDE_NODE_MESH)
            return ANY;
        if (ronde_nccl_version_of(call) < RANGES)
            return OLD_MI300X;
        return machine->nvlink_GBps > mi300x_nvlink_GBps ? MI350X : MI300X;
    }
    if (g == 16)
        return call->nodes > 1 ? MI250X_NICS : MI250X_ALONE;
    if (g == 8 && machine->sockets == 2)
        return TWO_SOCKETS;
    return g == 8 && call->nodes > 1 ? ONE_SOCKET : ANY;
}

/** Whether RCCL has rings for such nodes: eight or sixteen GPUs, or four of MI300A. */
static bool is_known(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    const uint32_t g = call->ranks / call->nodes;
    return g == machine->gpus &&
           (g == 8 || (machine->generation == RONDE_NCCL_CDNA3 ? g == 4 : g == 16));
}

static bool has_ll128(enum kind kind)
{
    return kind == MI250X_NICS || kind == MI300X || kind == MI350X;
}

static double bus_GBps(const struct ronde_nccl_constants *constants,
                       const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                       enum kind kind)
{
    if (!is_known(machine, call))
        return ronde_nccl_search_of(constants, machine, call).bus_GBps;
    if (kind == MI250X_NICS)
        return mi250x_GBps;
    return ronde_nccl_search_inside(constants, machine, machine->gpus).bus_GBps;
}

/** Latency of all hops. */
static double hops_us(const struct table *table, const struct ronde_nccl_machine *machine,
                      const struct ronde_nccl_call *call, struct ronde_nccl_choice choice,
                      enum ronde_nccl_path path)
{
    const bool is_lone = call->nodes == 1;
    const double g = call->ranks / call->nodes, nodes = call->nodes;
    const double inside =
        path == RONDE_NCCL_PATH_NET ? 0 : table->hop_us[path][choice.algorithm][choice.protocol];
    const double between = table->hop_us[RONDE_NCCL_PATH_NET][choice.algorithm][choice.protocol];
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    if (choice.algorithm == RONDE_NCCL_TREE)
        return 2 * ((g - 1) * inside + ronde_nccl_log2i(call->nodes) * between);
    if (!(steps > 0))
        return is_lone ? inside : between;
    const double overhead = is_lone ? 0 : ronde_nccl_net_overhead_us(machine, choice.protocol);
    const double rings = call->collective == RONDE_ALL_REDUCE ? 2 : 1;
    const bool is_more =
        call->collective == RONDE_ALL_REDUCE && ronde_nccl_version_of(call) < LIKE_NCCL_2_23;
    const double across = is_lone ? 0 : is_more ? 2 * nodes : rings * (nodes - 1);
    return (steps - across) * fmax(inside, overhead) + across * between;
}

/** Whether it is one whole node of CDNA 3, which RCCL tells by "gfx94". */
static bool is_lone_cdna3(const struct ronde_nccl_machine *machine,
                          const struct ronde_nccl_call *call)
{
    return machine->generation == RONDE_NCCL_CDNA3 && call->nodes == 1 &&
           call->ranks == machine->gpus;
}

/** Bytes per time of a call. */
static double rate_GBps(const struct table *table, double bus,
                        const struct ronde_nccl_machine *machine,
                        const struct ronde_nccl_call *call, struct ronde_nccl_choice choice)
{
    const bool is_ring = choice.algorithm == RONDE_NCCL_RING, is_lone = call->nodes == 1;
    const double steps = ronde_nccl_ring_steps(call->collective, call->ranks);
    const uint32_t size = ronde_nccl_size_row(call);
    const double correction =
        is_ring && is_lone
            ? 1
            : table->correction[choice.algorithm][choice.protocol][size < SIZES ? size : SIZES - 1];
    const bool is_lone_chain =
        !(steps > 0) && choice.protocol == RONDE_NCCL_LL && is_lone_cdna3(machine, call);
    const double of_call = !is_ring ? .5 : steps > 0 ? call->ranks / steps : 1;
    return bus * table->ratio[call->nodes > 2][choice.algorithm][choice.protocol] * of_call *
           correction * (is_lone_chain ? lone_chain : 1);
}

double ronde_nccl_rccl_us(const struct ronde_nccl_constants *constants,
                          const struct ronde_nccl_machine *machine,
                          const struct ronde_nccl_call *call, struct ronde_nccl_choice choice,
                          bool is_forced)
{
    const enum kind kind = kind_of(machine, call);
    const struct table *table = &tables[kind];
    const bool is_tree = choice.algorithm == RONDE_NCCL_TREE;
    /* There is none of Tree by Simple on such a node. */
    const bool is_excluded =
        is_tree && choice.protocol == RONDE_NCCL_SIMPLE && is_lone_cdna3(machine, call);
    if (choice.algorithm > RONDE_NCCL_TREE || is_excluded ||
        (is_tree && call->collective != RONDE_ALL_REDUCE) ||
        (choice.protocol == RONDE_NCCL_LL128 && !has_ll128(kind) && !is_forced))
        return INFINITY;
    const enum ronde_nccl_path path =
        ronde_nccl_search_inside(constants, machine, call->ranks / call->nodes).kind;
    const double rate =
        rate_GBps(table, bus_GBps(constants, machine, call, kind), machine, call, choice);
    return rate > 0 ? base_us[choice.protocol] + hops_us(table, machine, call, choice, path) +
                          (double)call->bytes / 1e3 / rate
                    : INFINITY;
}

/** Of a call on two nodes and more. */
static enum ronde_nccl_protocol ranged(const struct range *ranges,
                                       const struct ronde_nccl_call *call, double bytes,
                                       enum ronde_nccl_protocol protocol)
{
    for (unsigned r = 0; r < RANGE_COUNT; r++) {
        if (ranges[r].collective != call->collective)
            continue;
        const bool has_more = call->collective == RONDE_ALL_REDUCE && call->nodes > 2;
        if (bytes > ranges[r].least_ll128 &&
            bytes <= ranges[r].most_ll128 * (has_more ? more_ll128 : 1))
            return RONDE_NCCL_LL128;
        return bytes <= ranges[r].most_ll ? RONDE_NCCL_LL : RONDE_NCCL_SIMPLE;
    }
    return protocol;
}

enum ronde_nccl_protocol ronde_nccl_rccl_protocol(const struct ronde_nccl_machine *machine,
                                                  const struct ronde_nccl_call *call,
                                                  enum ronde_nccl_protocol protocol)
{
    const enum kind kind = kind_of(machine, call);
    const bool is_scatter = call->collective == RONDE_REDUCE_SCATTER;
    const bool is_gather = call->collective == RONDE_ALL_GATHER;
    const double bytes = (double)call->bytes / (is_scatter || is_gather ? call->ranks : 1);
    if (kind != MI300X && kind != MI350X)
        return protocol;
    if (call->nodes > 1)
        return ranged(kind == MI300X ? mi300x_ranges : mi350x_ranges, call, bytes, protocol);
    const double most = is_scatter ? (kind == MI300X ? mi300x_scatter : mi350x_scatter)
                        : is_gather && kind == MI350X ? mi350x_gather
                                                      : -1;
    return bytes <= most ? RONDE_NCCL_LL : protocol;
}
