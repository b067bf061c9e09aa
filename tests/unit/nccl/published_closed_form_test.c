/**
 * The library's closed forms at data-sheet rates beside published measurements: against formulas by hand for rings, between
 * bounds for pipelines, on every kind of link; and what has no closed form has none.
 */
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/published.h"

#include <math.h>

/** us of a hop: NVLink, PCIe, network. */
#define NVLINK_US .6
#define PCIE_US 1.
#define NETWORK_US 2.7

/** us that bytes take at a rate. */
static double flow_us(double bytes, double rate_GBps)
{
    return bytes / rate_GBps / 1e3;
}

static struct ronde_nccl_machine machine_of(enum ronde_node_link link, uint32_t gpus)
{
    return (struct ronde_nccl_machine){.name = "made",
                                       .generation = RONDE_NCCL_AMPERE,
                                       .link = link,
                                       .gpus = gpus,
                                       .sockets = 2,
                                       .nics = gpus,
                                       .nvlink_GBps = 300,
                                       .pcie_GBps = 25,
                                       .nic_GBps = 12.5};
}

static const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};

static double ring_us(const struct ronde_nccl_machine *machine, enum ronde_collective collective,
                      uint32_t ranks, uint32_t nodes, uint64_t bytes)
{
    const struct ronde_nccl_call call = {collective, ranks, nodes, 229, bytes};
    return ronde_published_closed_form_us(machine, &call, ring);
}

static void expect_us(double us, double expected_us)
{
    CU_ASSERT_DOUBLE_EQUAL(us, expected_us, 1e-9 * expected_us);
    if (!(fabs(us - expected_us) <= 1e-9 * expected_us))
        suite_note("%.9g us, by hand %.9g", us, expected_us);
}

/* 2 (n - 1) hops of an n-th each; all_gather and reduce_scatter have half of them. */
static void rings_are_hops_of_an_nth(void)
{
    const struct ronde_nccl_machine machine = machine_of(RONDE_NODE_SWITCH, 8);
    for (uint32_t n = 2; n <= 8; n++)
        for (uint64_t part = 16; part <= (uint64_t)1 << 28; part *= 64) {
            const double hop = NVLINK_US + flow_us((double)part, 300);
            const uint64_t bytes = n * part;
            expect_us(ring_us(&machine, RONDE_ALL_REDUCE, n, 1, bytes), 2 * (n - 1) * hop);
            expect_us(ring_us(&machine, RONDE_ALL_GATHER, n, 1, bytes), (n - 1) * hop);
            expect_us(ring_us(&machine, RONDE_REDUCE_SCATTER, n, 1, bytes), (n - 1) * hop);
        }
}

/* PCIe; pairs, which are NVLink for two; a mesh of which as many links are used as there are others. */
static void links_are_those_that_carry_it(void)
{
    static const struct {
        enum ronde_node_link link;
        uint32_t ranks;
        double hop_us, rate_GBps;
    } rows[] = {{RONDE_NODE_PCIE, 2, PCIE_US, 25},      {RONDE_NODE_PCIE, 4, PCIE_US, 25},
                {RONDE_NODE_PAIRS, 2, NVLINK_US, 300},  {RONDE_NODE_PAIRS, 4, PCIE_US, 25},
                {RONDE_NODE_MESH, 4, NVLINK_US, 300},   {RONDE_NODE_MESH, 2, NVLINK_US, 100},
                {RONDE_NODE_MESH, 3, NVLINK_US, 200},   {RONDE_NODE_SWITCH, 2, NVLINK_US, 300},
                {RONDE_NODE_SWITCH, 3, NVLINK_US, 300}, {RONDE_NODE_SWITCH, 4, NVLINK_US, 300}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_nccl_machine machine = machine_of(rows[i].link, 4);
        const uint32_t n = rows[i].ranks;
        expect_us(ring_us(&machine, RONDE_ALL_REDUCE, n, 1, n * UINT64_C(1048576)),
                  2 * (n - 1) * (rows[i].hop_us + flow_us(1048576, rows[i].rate_GBps)));
    }
}

/* Between nodes the NICs of the GPUs that take part, one at least, and no faster than what is inside. */
static void nodes_are_joined_by_the_nics_of_their_ranks(void)
{
    static const struct {
        uint32_t gpus, nics, g;
        double rate_GBps;
    } rows[] = {{8, 8, 8, 100},  {8, 8, 4, 50},   {8, 8, 1, 12.5}, {8, 4, 8, 50},
                {8, 4, 1, 12.5}, {8, 1, 8, 12.5}, {8, 64, 8, 300}, {8, 64, 1, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_nccl_machine machine = machine_of(RONDE_NODE_SWITCH, rows[i].gpus);
        const uint32_t n = 2 * rows[i].g;
        machine.nics = rows[i].nics;
        expect_us(ring_us(&machine, RONDE_ALL_REDUCE, n, 2, n * UINT64_C(1048576)),
                  2 * (n - 1) * (NETWORK_US + flow_us(1048576, rows[i].rate_GBps)));
    }
}

/* A chain passes pieces of 512 KiB on: no faster than all bytes at the rate of a port, and by no more than a piece a hop later. */
static void chains_are_pipelines(void)
{
    const struct ronde_nccl_machine machine = machine_of(RONDE_NODE_SWITCH, 8);
    static const enum ronde_collective collectives[] = {RONDE_BROADCAST, RONDE_REDUCE};
    for (unsigned c = 0; c < 2; c++)
        for (uint32_t n = 2; n <= 8; n++)
            for (uint64_t bytes = 1024; bytes <= (uint64_t)1 << 32; bytes *= 32) {
                const double us = ring_us(&machine, collectives[c], n, 1, bytes);
                const double piece = fmin((double)bytes, 524288);
                const double least = (n - 1) * NVLINK_US + flow_us((double)bytes, 300);
                CU_ASSERT(us >= least * (1 - 1e-9));
                CU_ASSERT(us <= least + (n - 1) * flow_us(piece, 300) +
                                    flow_us((double)bytes, 300) * .01 + 1e-9);
            }
}

/* Trees of all_reduce: latency of twice their depth at the least, and more bytes take longer. */
static void trees_grow_with_ranks_and_bytes(void)
{
    const struct ronde_nccl_machine machine = machine_of(RONDE_NODE_SWITCH, 8);
    const struct ronde_nccl_choice tree = {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE};
    for (uint32_t nodes = 1; nodes <= 16; nodes *= 2) {
        double before = 0;
        for (uint64_t bytes = 1024; bytes <= (uint64_t)1 << 32; bytes *= 16) {
            const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8 * nodes, nodes, 229, bytes};
            const double us = ronde_published_closed_form_us(&machine, &call, tree);
            CU_ASSERT(isfinite(us) && us > before);
            CU_ASSERT(us >= 2 * flow_us((double)bytes, nodes > 1 ? 100 : 300) / 2);
            before = us;
        }
    }
}

static void what_has_no_closed_form_has_none(void)
{
    const struct ronde_nccl_machine machine = machine_of(RONDE_NODE_SWITCH, 8);
    static const struct ronde_nccl_choice others[] = {{RONDE_NCCL_NVLS, RONDE_NCCL_SIMPLE},
                                                      {RONDE_NCCL_NVLS_TREE, RONDE_NCCL_SIMPLE},
                                                      {RONDE_NCCL_ALGORITHM_COUNT,
                                                       RONDE_NCCL_PROTOCOL_COUNT}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8, 1, 229, 1 << 20};
        CU_ASSERT_EQUAL(ronde_published_closed_form_us(&machine, &call, others[i]), 0);
    }
    /* Trees are of all_reduce; and more ranks than a schedule may have are priced by nobody. */
    const struct ronde_nccl_choice tree = {RONDE_NCCL_TREE, RONDE_NCCL_LL};
    const struct ronde_nccl_call gather = {RONDE_ALL_GATHER, 8, 1, 229, 1 << 20};
    const struct ronde_nccl_call many = {RONDE_ALL_REDUCE, 2 * RONDE_MAX_RANKS, RONDE_MAX_RANKS / 4,
                                         229, 1 << 20};
    CU_ASSERT_EQUAL(ronde_published_closed_form_us(&machine, &gather, tree), 0);
    CU_ASSERT_EQUAL(ronde_published_closed_form_us(&machine, &many, ring), 0);
}

/* The protocol is NCCL's, not the closed form's. */
static void protocols_change_nothing(void)
{
    const struct ronde_nccl_machine machine = machine_of(RONDE_NODE_SWITCH, 8);
    const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8, 1, 229, 1 << 20};
    const double us = ronde_published_closed_form_us(&machine, &call, ring);
    for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
        const struct ronde_nccl_choice choice = {RONDE_NCCL_RING, (enum ronde_nccl_protocol)p};
        CU_ASSERT_EQUAL(ronde_published_closed_form_us(&machine, &call, choice), us);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rings_are_hops_of_an_nth", rings_are_hops_of_an_nth},
        {"links_are_those_that_carry_it", links_are_those_that_carry_it},
        {"nodes_are_joined_by_the_nics_of_their_ranks", nodes_are_joined_by_the_nics_of_their_ranks},
        {"chains_are_pipelines", chains_are_pipelines},
        {"trees_grow_with_ranks_and_bytes", trees_grow_with_ranks_and_bytes},
        {"what_has_no_closed_form_has_none", what_has_no_closed_form_has_none},
        {"protocols_change_nothing", protocols_change_nothing},
    };
    return suite_run("published_closed_form", cases, sizeof cases / sizeof cases[0]);
}
