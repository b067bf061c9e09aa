/**
 * NCCL's own formula against values worked out by hand: made-up constants, round enough that latency and bandwidth of each
 * row can be followed in the source of NCCL that tuner.c names.
 */
#include "support/suite.h"

#include "ronde/nccl_model.h"

#include <math.h>

#define MIB (1u << 20)

enum { LL = RONDE_NCCL_LL, LL128 = RONDE_NCCL_LL128, SIMPLE = RONDE_NCCL_SIMPLE };
enum { RING = RONDE_NCCL_RING, TREE = RONDE_NCCL_TREE };

static void set(struct ronde_nccl_constants *constants, enum ronde_nccl_generation generation,
                enum ronde_nccl_of_generation which, double value)
{
    constants
        ->all[RONDE_NCCL_COMMON_COUNT + (size_t)generation * RONDE_NCCL_OF_GENERATION_COUNT + which]
        .value = value;
}

/** The same of every generation, but caps of LL by Volta and by Hopper. */
static struct ronde_nccl_constants made(void)
{
    static const struct {
        enum ronde_nccl_of_generation which;
        double value;
    } values[] = {
        {RONDE_NCCL_OF_tuner_nvlink_ratio, .8},
        {RONDE_NCCL_OF_tuner_channel_GBps, 20},
        {RONDE_NCCL_OF_tuner_tree_channel_GBps, 40},
        {RONDE_NCCL_OF_tuner_simple_net_ratio, 1.4},
        {RONDE_NCCL_OF_tuner_nvls, .85},
        {RONDE_NCCL_OF_tuner_ring_ll128_GBps, 20},
        {RONDE_NCCL_OF_tuner_ll_1_GBps, 100},
        {RONDE_NCCL_OF_tuner_ll_2_GBps, 40},
        {RONDE_NCCL_OF_tuner_ll_4_GBps, 9},
        {RONDE_NCCL_OF_tuner_tree_1_GBps, 24},
        {RONDE_NCCL_OF_tuner_tree_2_GBps, 30},
        {RONDE_NCCL_OF_tuner_tree_4_GBps, 16},
        {RONDE_NCCL_OF_tuner_tree_ll128_1_GBps, 15},
        {RONDE_NCCL_OF_tuner_tree_ll128_2_GBps, 12},
        {RONDE_NCCL_OF_tuner_tree_ll128_4_GBps, 10},
    };
    struct ronde_nccl_constants constants = {.inside = 1, .between = 1, .links = 1, .nics = 1};
    for (unsigned g = 0; g < RONDE_NCCL_GENERATION_COUNT; g++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
            set(&constants, (enum ronde_nccl_generation)g, values[v].which, values[v].value);
    set(&constants, RONDE_NCCL_VOLTA, RONDE_NCCL_OF_tuner_ll_2_GBps, 30);
    set(&constants, RONDE_NCCL_HOPPER, RONDE_NCCL_OF_tuner_ll_1_GBps, 141);
    set(&constants, RONDE_NCCL_HOPPER, RONDE_NCCL_OF_tuner_ll_2_GBps, 50);
    return constants;
}

/** 300 GB/s count as 240, 12 channels of 20; four NICs of 25 GB/s as 96. */
static const struct ronde_nccl_machine switched = {.name = "switched",
                                                   .generation = RONDE_NCCL_AMPERE,
                                                   .link = RONDE_NODE_SWITCH,
                                                   .fabric = RONDE_NCCL_INFINIBAND,
                                                   .cpu = RONDE_NCCL_INTEL,
                                                   .gpus = 8,
                                                   .sockets = 1,
                                                   .nics = 4,
                                                   .nvlink_GBps = 300,
                                                   .pcie_GBps = 32,
                                                   .nic_GBps = 25};

/** A row: a call, and latency and bandwidth of its formula; bandwidth 0 = NCCL does not run it. */
struct row {
    enum ronde_collective collective;
    uint32_t ranks, nodes, version;
    uint64_t bytes;
    unsigned algorithm, protocol;
    double latency_us, GBps;
};

static void check_row(const struct ronde_nccl_machine *machine, const struct row *row, size_t number)
{
    const struct ronde_nccl_constants constants = made();
    const struct ronde_nccl_call call = {row->collective, row->ranks, row->nodes, row->version,
                                         row->bytes};
    const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)row->algorithm,
                                             (enum ronde_nccl_protocol)row->protocol};
    const double us = ronde_nccl_tuner_us(&constants, machine, &call, choice, false);
    const double expected =
        row->GBps > 0 ? row->latency_us + (double)row->bytes / 1e3 / row->GBps : INFINITY;
    const bool is_right = isinf(expected) ? isinf(us) : fabs(us / expected - 1) < 1e-9;
    if (!is_right)
        suite_note("row %zu of %s: %.6f us, by hand %.6f us", number, machine->name, us, expected);
    CU_ASSERT(is_right);
}

static void check_rows(const struct ronde_nccl_machine *machine, const struct row *rows,
                       size_t count)
{
    for (size_t r = 0; r < count; r++)
        check_row(machine, &rows[r], r);
}

/* Ring: base + steps hops; Simple the bus, LL half of it within its cap, LL128 0.92 of it; times n over steps. */
static void rings_of_one_node(void)
{
    static const struct row rows[] = {
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, RING, SIMPLE, 8.4 + 14 * 3.4, 240 * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 0, MIB, RING, SIMPLE, 8.4 + 14 * 3.4, 240 * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 229, 8, RING, SIMPLE, 8.4 + 14 * 3.4, 240 * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, RING, LL, 6.6 + 14 * .6, 100 * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, RING, LL128, 14 + 14 * 1.9, 220.8 * 8 / 14.},
        {RONDE_ALL_GATHER, 8, 1, 229, MIB, RING, SIMPLE, 8.4 + 7 * 3.4, 240 * 8 / 7.},
        {RONDE_REDUCE_SCATTER, 8, 1, 229, MIB, RING, LL, 6.6 + 7 * .6, 100 * 8 / 7.},
        {RONDE_BROADCAST, 8, 1, 229, MIB, RING, SIMPLE, 8.4 + 3.4, 240},
        {RONDE_REDUCE, 8, 1, 229, MIB, RING, LL128, 14 + 1.9, 220.8},
        {RONDE_ALL_REDUCE, 8, 1, 220, MIB, RING, LL, 6.6 + 14 * .6, 60 * 8 / 14.},
        {RONDE_ALL_GATHER, 8, 1, 220, MIB, RING, LL, 6.6 + 7 * .6, 80 * 8 / 7.},
        {RONDE_ALL_REDUCE, 8, 1, 216, MIB, RING, LL, 3.6 + 14 * .47, 235 / 4. * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 216, MIB, RING, LL128, 10 + 14 * 1.9, 235 * .92 * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 209, MIB, RING, LL128, 10 + 14 * 1.9, 12 * 16.9 * 8 / 14.},
        {RONDE_REDUCE_SCATTER, 8, 1, 209, MIB, RING, LL128, 10 + 7 * 1.9, 12 * 15.2 * 8 / 7.},
        {RONDE_REDUCE, 8, 1, 209, MIB, RING, LL128, 10 + 1.9, 12 * 12},
    };
    check_rows(&switched, rows, sizeof rows / sizeof rows[0]);
}

/*
 * 1 MiB is 2^14 times 64 bytes: corrections .5, .6, .5, the last for 256 MiB; a lone node's tree has 0.85 of its bus. A hop by Simple was
 * taken for a chunk of 256 KiB, 28 us, until 2.17 and again from 2.19 to 2.22.
 */
static void trees_of_one_node(void)
{
    static const struct row rows[] = {
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, TREE, SIMPLE, 8.4 + 56, 220.8 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, TREE, LL, 6.8 + 8.4, 220.8 / 3.8 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, TREE, LL128, 14 + 17.5, 220.8 * 7 / 9 * .85 / 2 * .6},
        {RONDE_ALL_REDUCE, 8, 1, 229, 64, TREE, SIMPLE, 8.4 + 56, 220.8 * .85 / 2 * .9},
        {RONDE_ALL_REDUCE, 8, 1, 229, 1, TREE, SIMPLE, 8.4 + 56, 220.8 * .85 / 2 * .9},
        {RONDE_ALL_REDUCE, 8, 1, 229, 127, TREE, LL, 6.8 + 8.4, 220.8 / 3.8 * .85 / 2},
        {RONDE_ALL_REDUCE, 8, 1, 229, 64 << 12, TREE, LL, 15.2, 220.8 / 3.8 * .85 / 2 * .4},
        {RONDE_ALL_REDUCE, 8, 1, 229, 1ull << 28, TREE, SIMPLE, 64.4, 220.8 * .85 / 2 * .9},
        {RONDE_ALL_REDUCE, 8, 1, 229, 1ull << 29, TREE, SIMPLE, 64.4, 220.8 * .85 / 2},
        {RONDE_ALL_REDUCE, 8, 1, 223, MIB, TREE, SIMPLE, 8.4 + 56, 220.8 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 222, MIB, TREE, SIMPLE, 14 * 28, 220.8 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 219, MIB, TREE, SIMPLE, 14 * 28, 220.8 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 218, MIB, TREE, SIMPLE, 56, 220.8 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 216, MIB, TREE, SIMPLE, 14 * 28, 235 * .92 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 216, MIB, TREE, LL, 4.4 + 14 * .52, 235 * .92 / 3.8 / 2 * .5},
        {RONDE_ALL_REDUCE, 8, 1, 209, 2 * MIB, TREE, LL128, 4.4 + 14 * 1.25,
         235 * .92 * 7 / 9 / 2 * .6},
        {RONDE_ALL_REDUCE, 8, 1, 209, 4 * MIB, TREE, LL128, 21.9, 235 * .92 * 7 / 9 / 2 * .7},
        {RONDE_ALL_REDUCE, 8, 1, 216, 4 * MIB, TREE, LL128, 21.9, 235 * .92 * 7 / 9 / 2 * .8},
        {RONDE_ALL_GATHER, 8, 1, 229, MIB, TREE, SIMPLE, 0, 0},
        {RONDE_REDUCE_SCATTER, 8, 1, 229, MIB, TREE, LL, 0, 0},
        {RONDE_BROADCAST, 8, 1, 229, MIB, TREE, SIMPLE, 0, 0},
    };
    check_rows(&switched, rows, sizeof rows / sizeof rows[0]);
}

/*
 * Two nodes of eight: 30 steps, two of them across, four from 2.12 to 2.22; LL of Ampere on Intel has Volta's cap. Since 2.23 one GPU a
 * node has a tree's hop, and no longer .7 of the bus by LL128.
 */
static void rings_of_several_nodes(void)
{
    static const struct row rows[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, SIMPLE, 131.6 * 1.4, 96 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 229, 4095, RING, SIMPLE, 131.6, 96 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 229, 4096, RING, SIMPLE, 131.6 * 1.4, 96 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, LL, 6.6 + 28 + 5.4, 16},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, LL128, 14 + 28 * 1.9 + 8, 80 * 16 / 30.},
        {RONDE_ALL_GATHER, 16, 2, 229, MIB, RING, SIMPLE, 8.4 + 14 * 3.4 + 14, 96 * 16 / 15.},
        {RONDE_BROADCAST, 16, 2, 229, MIB, RING, SIMPLE, 8.4 + 16 * 14, 96},
        {RONDE_BROADCAST, 16, 2, 216, MIB, RING, SIMPLE, 8.4 + 16 * 28, 96},
        {RONDE_REDUCE, 16, 2, 229, MIB, RING, LL, 6.6 + 16 * 2.7, 30},
        {RONDE_BROADCAST, 4, 4, 229, MIB, RING, LL128, 14 + 4, 20},
        {RONDE_ALL_REDUCE, 16, 2, 216, MIB, RING, LL, 3.6 + 26 * .846 + 10.8, 24 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 211, MIB, RING, LL, 3.6 + 28 * .846 + 5.4, 24 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 220, MIB, RING, LL, 6.6 + 26 + 10.8, 24 * 16 / 30.},
        {RONDE_ALL_GATHER, 16, 2, 213, MIB, RING, SIMPLE, 8.4 + 14 * 3.4 + 28, 96 * 16 / 15.},
        {RONDE_ALL_GATHER, 16, 2, 214, MIB, RING, SIMPLE, 8.4 + 14 * 3.4 + 9.6, 96 * 16 / 15.},
        {RONDE_ALL_REDUCE, 16, 2, 216, 65535, RING, SIMPLE, 8.4 + 26 * 3.4 + 4 * 9.6, 96 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 216, 65536, RING, SIMPLE, 135.2 * 1.9, 96 * 16 / 30.},
        {RONDE_ALL_GATHER, 16, 2, 220, MIB, RING, LL, 6.6 + 14 + 2.7, 24 * 16 / 15.},
        {RONDE_ALL_REDUCE, 32, 4, 229, MIB, RING, LL, 6.6 + 56 + 6 * 2.7, 9 * 32 / 62.},
        {RONDE_ALL_REDUCE, 4, 4, 229, MIB, RING, SIMPLE, (8.4 + 84) * 1.4, 24 * 4 / 6.},
        {RONDE_ALL_REDUCE, 4, 4, 229, MIB, RING, LL128, 14 + 51, 20 * 4 / 6.},
        {RONDE_ALL_REDUCE, 4, 4, 222, MIB, RING, LL128, 14 - 2 + 32, 24 * .7 * 4 / 6.},
    };
    struct ronde_nccl_machine amd = switched;
    static const struct row of_amd[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, LL, 6.6 + 56 + 5.4, 40 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, SIMPLE, 204.4 * 1.4, 96 * 16 / 30.},
    };
    check_rows(&switched, rows, sizeof rows / sizeof rows[0]);
    amd.cpu = RONDE_NCCL_AMD;
    check_rows(&amd, of_amd, sizeof of_amd / sizeof of_amd[0]);
}

/* On two nodes the tree's own search has 4 channels of 40, beyond those of the ring; not where GPU and NIC meet in a bridge. */
static void trees_of_several_nodes(void)
{
    static const struct row rows[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, TREE, SIMPLE, 8.4 + 2 * (28 + 14), 120 / 2 * .5},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, TREE, LL, 6.8 + 2 * (4.2 + 5), 30 / 2 * .5},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, TREE, LL128, 14 + 2 * (8.75 + 8.5), 48 / 2 * .6},
        {RONDE_ALL_REDUCE, 32, 4, 229, MIB, TREE, SIMPLE, 8.4 + 2 * (28 + 28), 64 / 2 * .5},
        {RONDE_ALL_REDUCE, 24, 3, 229, MIB, TREE, SIMPLE, 8.4 + 2 * (28 + 14), 64 / 2 * .5},
        {RONDE_ALL_REDUCE, 32, 4, 229, MIB, TREE, LL128, 14 + 2 * (8.75 + 17), 40 / 2 * .6},
        {RONDE_ALL_REDUCE, 16, 2, 222, MIB, TREE, SIMPLE, 2 * (196 + 28), 120 / 2 * .5},
        {RONDE_ALL_REDUCE, 16, 2, 209, MIB, TREE, SIMPLE, 2 * (196 + 28), 90 / 2 * .5},
        {RONDE_ALL_REDUCE, 16, 2, 216, MIB, TREE, LL, 4.4 + 2 * (7 * .936 + 5), 30 / 2 * .5},
    };
    struct ronde_nccl_machine bridged = switched;
    static const struct row of_bridged[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, TREE, SIMPLE, 92.4, 88.32 / 2 * .5},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, TREE, LL128, 0, 0},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, LL128, 0, 0},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, RING, LL128, 14 + 14 * 1.9, 220.8 * 8 / 14.},
    };
    check_rows(&switched, rows, sizeof rows / sizeof rows[0]);
    bridged.behind_bridge = true;
    check_rows(&bridged, of_bridged, sizeof of_bridged / sizeof of_bridged[0]);
}

/* EFA before p5 and TCPX keep no order, so flags in the data say nothing: Simple alone between nodes, wished or not. */
static void networks_without_order_have_simple_alone(void)
{
    static const enum ronde_nccl_fabric fabrics[] = {RONDE_NCCL_EFA, RONDE_NCCL_TCPX};
    const struct ronde_nccl_constants constants = made();
    struct ronde_nccl_machine machine = switched;
    for (unsigned f = 0; f < sizeof fabrics / sizeof fabrics[0]; f++)
        for (unsigned generation = RONDE_NCCL_VOLTA; generation <= RONDE_NCCL_HOPPER; generation++)
            for (uint32_t nodes = 1; nodes <= 2; nodes++)
                for (unsigned protocol = 0; protocol < RONDE_NCCL_PROTOCOL_COUNT; protocol++) {
                    const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8 * nodes, nodes, 229,
                                                         MIB};
                    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING,
                                                           (enum ronde_nccl_protocol)protocol};
                    machine.fabric = fabrics[f];
                    machine.generation = (enum ronde_nccl_generation)generation;
                    CU_ASSERT_EQUAL(
                        isfinite(ronde_nccl_tuner_us(&constants, &machine, &call, ring, true)),
                        nodes == 1 ||
                            (fabrics[f] == RONDE_NCCL_EFA && generation == RONDE_NCCL_HOPPER) ||
                            protocol == RONDE_NCCL_SIMPLE);
                }
}

/* Slots of 32 GB/s count as 24, less where they meet between two sockets, by the processor. */
static void pcie_is_as_wide_as_its_processor(void)
{
    static const struct {
        enum ronde_nccl_vendor cpu;
        uint32_t sockets;
        double GBps;
    } cases[] = {{RONDE_NCCL_AMD, 2, 16},
                 {RONDE_NCCL_INTEL, 2, 10},
                 {RONDE_NCCL_ARM, 2, 6},
                 {RONDE_NCCL_AMD, 1, 24}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_nccl_machine machine = {.name = "pcie",
                                                   .generation = RONDE_NCCL_ADA,
                                                   .link = RONDE_NODE_PCIE,
                                                   .cpu = cases[i].cpu,
                                                   .gpus = 4,
                                                   .sockets = cases[i].sockets,
                                                   .pcie_GBps = 32};
        const double bus = cases[i].GBps;
        const struct row rows[] = {
            {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, SIMPLE, 8.4 + 6 * 5.7, bus * 4 / 6},
            {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, LL, 6.6 + 6, bus / 2 * 4 / 6},
            {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, LL128, 0, 0},
            {RONDE_ALL_REDUCE, 4, 1, 229, MIB, TREE, SIMPLE, 8.4 + 24, bus * .92 * .85 / 2 * .5},
        };
        check_rows(&machine, rows, sizeof rows / sizeof rows[0]);
    }
}

/* Bridged pairs are a link of 40 GB/s for two, PCIe for more, where a tree has twice the ring's; a mesh has a third for two. */
static void links_between_some_are_those_between_these(void)
{
    const struct ronde_nccl_machine pairs = {.name = "pairs",
                                             .generation = RONDE_NCCL_AMPERE,
                                             .link = RONDE_NODE_PAIRS,
                                             .gpus = 4,
                                             .sockets = 2,
                                             .nvlink_GBps = 60,
                                             .pcie_GBps = 32};
    static const struct row of_pairs[] = {
        {RONDE_ALL_REDUCE, 2, 1, 229, MIB, RING, SIMPLE, 8.4 + 2 * 3.4, 40},
        {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, SIMPLE, 8.4 + 6 * 5.7, 24 * 4 / 6.},
        {RONDE_ALL_REDUCE, 4, 1, 229, MIB, TREE, SIMPLE, 8.4 + 24, 48 * .92 * .85 / 2 * .5},
        {RONDE_ALL_REDUCE, 2, 1, 229, MIB, RING, LL128, 14 + 2 * 1.9, 36.8},
        {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, LL128, 0, 0},
    };
    static const struct row of_mesh[] = {
        {RONDE_ALL_REDUCE, 2, 1, 229, MIB, RING, SIMPLE, 8.4 + 2 * 3.4, 80},
        {RONDE_ALL_REDUCE, 3, 1, 229, MIB, RING, SIMPLE, 8.4 + 4 * 3.4, 160 * 3 / 4.},
        {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, SIMPLE, 8.4 + 6 * 3.4, 240 * 4 / 6.},
    };
    static const struct row of_slow[] = {
        {RONDE_ALL_REDUCE, 4, 1, 229, MIB, RING, SIMPLE, 8.4 + 6 * 3.4, 20 * 4 / 6.}};
    struct ronde_nccl_machine mesh = switched;
    check_rows(&pairs, of_pairs, sizeof of_pairs / sizeof of_pairs[0]);
    mesh.link = RONDE_NODE_MESH;
    mesh.gpus = 4;
    check_rows(&mesh, of_mesh, sizeof of_mesh / sizeof of_mesh[0]);
    mesh.nvlink_GBps = 10;
    check_rows(&mesh, of_slow, 1);
}

/*
 * 450 GB/s count as 360, of which eight GPUs make a channel of 40 each, three one of 60; of its bus NVLS had 5/6, since 2.28 .85 twice but a
 * GPU's own part, times n over steps; NVLSTree no more than the NICs.
 */
static void nvls_needs_hopper_a_switch_and_three(void)
{
    enum { NVLS = RONDE_NCCL_NVLS, BOTH = RONDE_NCCL_NVLS_TREE };
    static const struct row rows[] = {
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, NVLS, SIMPLE, 25, 320 * .85 * 2 * 7 / 8 * 8 / 14.},
        {RONDE_ALL_REDUCE, 3, 1, 229, MIB, NVLS, SIMPLE, 25, 180 * .85 * 2 * 2 / 3 * 3 / 4.},
        {RONDE_ALL_REDUCE, 8, 1, 227, MIB, NVLS, SIMPLE, 25, 320 * 5 / 6.},
        {RONDE_ALL_REDUCE, 8, 1, 218, MIB, NVLS, SIMPLE, 23, 320 * 5 / 6.},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, BOTH, SIMPLE, 25 + 2 * 20.9, 192 * 16 / 30.},
        {RONDE_ALL_REDUCE, 32, 4, 229, MIB, BOTH, SIMPLE, 25 + 4 * 20.9, 96 * 32 / 62.},
        {RONDE_ALL_REDUCE, 16, 2, 227, MIB, BOTH, SIMPLE, 25 + 28, 96 * 5 / 6.},
        {RONDE_ALL_REDUCE, 32, 4, 220, MIB, BOTH, SIMPLE, 23 + 56, 48 * 5 / 6.},
        {RONDE_ALL_REDUCE, 8, 1, 217, MIB, NVLS, SIMPLE, 0, 0},
        {RONDE_ALL_REDUCE, 2, 1, 229, MIB, NVLS, SIMPLE, 0, 0},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, NVLS, LL, 0, 0},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, NVLS, LL128, 0, 0},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, NVLS, SIMPLE, 0, 0},
        {RONDE_ALL_REDUCE, 8, 1, 229, MIB, BOTH, SIMPLE, 0, 0},
        {RONDE_ALL_REDUCE, 8, 2, 229, MIB, BOTH, SIMPLE, 0, 0},
        {RONDE_ALL_GATHER, 8, 1, 229, MIB, NVLS, SIMPLE, 0, 0},
        {RONDE_ALL_REDUCE, 8, 1, 221, MIB, RING, LL, 6.6 + 8.4, 141 * 8 / 14.},
        {RONDE_ALL_REDUCE, 8, 1, 220, MIB, RING, LL, 6.6 + 8.4, 90 * 8 / 14.},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, LL, 40, 48 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 222, MIB, RING, LL, 43.4, 48 * 16 / 30.},
    };
    struct ronde_nccl_machine hopper = switched;
    hopper.generation = RONDE_NCCL_HOPPER;
    hopper.nvlink_GBps = 450;
    check_rows(&hopper, rows, sizeof rows / sizeof rows[0]);
    hopper.link = RONDE_NODE_MESH;
    check_row(&hopper, &(const struct row){RONDE_ALL_REDUCE, 8, 1, 229, MIB, NVLS, SIMPLE, 0, 0},
              90);
    check_row(&switched, &(const struct row){RONDE_ALL_REDUCE, 8, 1, 229, MIB, NVLS, SIMPLE, 0, 0},
              91);
}

/* Blackwell had twice Hopper's rates until its own were measured, and has corrections of its NVLSTree beside a processor of x86. */
static void blackwell_was_taken_for_two_hoppers(void)
{
    static const struct row rows[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RING, LL128, 14 + 28 * 1.9 + 8, 80 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 228, MIB, RING, LL128, 14 + 28 * 1.9 + 8, 96 * .92 * 16 / 30.},
        {RONDE_ALL_REDUCE, 32, 4, 229, MIB, TREE, SIMPLE, 8.4 + 2 * (28 + 28), 64 / 2 * .5},
        {RONDE_ALL_REDUCE, 32, 4, 227, MIB, TREE, SIMPLE, 8.4 + 2 * (28 + 28), 96 * .92 / 2 * .5},
        {RONDE_ALL_REDUCE, 32, 4, 227, MIB, TREE, LL128, 14 + 2 * (8.75 + 17), 80 / 2 * .6},
        {RONDE_ALL_REDUCE, 32, 4, 228, MIB, RONDE_NCCL_NVLS_TREE, SIMPLE, 108.6, 96 * 32 / 62.},
        {RONDE_ALL_REDUCE, 32, 4, 229, MIB, RONDE_NCCL_NVLS_TREE, SIMPLE, 108.6, 48 * 32 / 62.},
    };
    struct ronde_nccl_machine blackwell = switched;
    blackwell.generation = RONDE_NCCL_BLACKWELL;
    check_rows(&blackwell, rows, sizeof rows / sizeof rows[0]);
    blackwell.cpu = RONDE_NCCL_ARM;
    check_row(&blackwell,
              &(const struct row){RONDE_ALL_REDUCE, 32, 4, 229, MIB, RONDE_NCCL_NVLS_TREE, SIMPLE,
                                  108.6, 96 * 32 / 62.},
              92);
}

/* Amazon's plug-in says how slow its network is, which a hop by Simple has twice; others say nothing. */
static void a_plugin_tells_its_latency(void)
{
    static const struct row of_p5[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, TREE, LL, 6.8 + 2 * (4.2 + 5 + 75), 120 / 3.8 / 2 * .5},
        {RONDE_ALL_REDUCE, 16, 2, 229, 64, RING, SIMPLE, 131.6 + 2 * 150, 48 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 229, MIB, RONDE_NCCL_NVLS_TREE, SIMPLE, 66.8 + 300, 96 * 16 / 30.},
        {RONDE_ALL_REDUCE, 16, 2, 217, 64, RING, SIMPLE, 8.4 + 26 * 3.4 + 4 * 9.6, 48 * 16 / 30.},
    };
    static const struct row of_p5en[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, 64, RING, SIMPLE, 131.6 + 2 * 70, 96 * 16 / 30.}};
    static const struct row of_p3dn[] = {
        {RONDE_ALL_REDUCE, 16, 2, 229, 64, RING, SIMPLE, 131.6 + 2 * 300, 48 * 16 / 30.}};
    struct ronde_nccl_machine machine = switched;
    machine.generation = RONDE_NCCL_HOPPER;
    machine.fabric = RONDE_NCCL_EFA;
    check_rows(&machine, of_p5en, 1);
    machine.nic_GBps = 12.5;
    check_rows(&machine, of_p5, sizeof of_p5 / sizeof of_p5[0]);
    machine.generation = RONDE_NCCL_VOLTA;
    check_rows(&machine, of_p3dn, 1);
}

/* Over all sizes: what is chosen has the least time of all that the wish leaves, and that is what is returned. */
static void the_choice_is_the_least(void)
{
    const struct ronde_nccl_constants constants = made();
    for (uint64_t bytes = 1; bytes <= 1ull << 34; bytes *= 2)
        for (unsigned wish = 0; wish < (RONDE_NCCL_ALGORITHM_COUNT + 1) * 4; wish++) {
            const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 16, 2, 229, bytes};
            const struct ronde_nccl_choice wished = {(enum ronde_nccl_algorithm)(wish / 4),
                                                     (enum ronde_nccl_protocol)(wish % 4)};
            const bool is_forced = wished.protocol != RONDE_NCCL_PROTOCOL_COUNT;
            struct ronde_nccl_choice chosen;
            double least = INFINITY;
            for (unsigned c = 0; c < RONDE_NCCL_ALGORITHM_COUNT * 3; c++) {
                const struct ronde_nccl_choice other = {(enum ronde_nccl_algorithm)(c / 3),
                                                        (enum ronde_nccl_protocol)(c % 3)};
                if ((wish / 4 == RONDE_NCCL_ALGORITHM_COUNT || wish / 4 == c / 3) &&
                    (!is_forced || wish % 4 == c % 3))
                    least = fmin(least, ronde_nccl_tuner_us(&constants, &switched, &call, other,
                                                            is_forced));
            }
            const double us = ronde_nccl_choose(&constants, &switched, &call, wished, &chosen);
            CU_ASSERT(isinf(least) ? isinf(us) : us == least);
            CU_ASSERT(wish / 4 == RONDE_NCCL_ALGORITHM_COUNT || chosen.algorithm == wish / 4);
            CU_ASSERT(isinf(us) || !is_forced || chosen.protocol == wish % 4);
            if (isfinite(us))
                CU_ASSERT_EQUAL(ronde_nccl_tuner_us(&constants, &switched, &call, chosen, is_forced),
                                us);
        }
}

/* Where the wish leaves nothing, something that can be executed is named all the same, with an infinite time. */
static void a_wish_that_cannot_be_has_no_time(void)
{
    const struct ronde_nccl_constants constants = made();
    const struct ronde_nccl_call call = {RONDE_ALL_GATHER, 8, 1, 229, MIB};
    const struct ronde_nccl_choice tree = {RONDE_NCCL_TREE, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_choice chosen = {RONDE_NCCL_RING, RONDE_NCCL_LL};
    CU_ASSERT(isinf(ronde_nccl_choose(&constants, &switched, &call, tree, &chosen)));
    CU_ASSERT_EQUAL(chosen.algorithm, RONDE_NCCL_TREE);
    CU_ASSERT_EQUAL(chosen.protocol, RONDE_NCCL_SIMPLE);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rings_of_one_node", rings_of_one_node},
        {"trees_of_one_node", trees_of_one_node},
        {"rings_of_several_nodes", rings_of_several_nodes},
        {"trees_of_several_nodes", trees_of_several_nodes},
        {"pcie_is_as_wide_as_its_processor", pcie_is_as_wide_as_its_processor},
        {"links_between_some_are_those_between_these", links_between_some_are_those_between_these},
        {"nvls_needs_hopper_a_switch_and_three", nvls_needs_hopper_a_switch_and_three},
        {"blackwell_was_taken_for_two_hoppers", blackwell_was_taken_for_two_hoppers},
        {"a_plugin_tells_its_latency", a_plugin_tells_its_latency},
        {"networks_without_order_have_simple_alone", networks_without_order_have_simple_alone},
        {"the_choice_is_the_least", the_choice_is_the_least},
        {"a_wish_that_cannot_be_has_no_time", a_wish_that_cannot_be_has_no_time},
    };
    return suite_run("nccl_tuner", cases, sizeof cases / sizeof cases[0]);
}
