/**
 * Trees of GPUs and of nodes: hops, depth, and the chunks by which nodes of NVLS meet, by hand on the shipped constants.
 */
#include "support/suite.h"

#include "nccl_shipped.h"

#include "nccl/model/setting.h"

#include <math.h>

#define MIB (1u << 20)

static const struct ronde_nccl_constants *shipped(void)
{
    static struct ronde_nccl_constants constants;
    constants = nccl_shipped();
    return &constants;
}

static double hop_us(const struct ronde_nccl_machine *machine, enum ronde_nccl_algorithm algorithm,
                     enum ronde_nccl_protocol protocol)
{
    const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8, 1, 229, MIB};
    const struct ronde_nccl_choice choice = {algorithm, protocol};
    return ronde_nccl_setting_of(shipped(), machine, &call, choice).hop_us;
}

/* hwLat of tuning.cc: by LL128 1.25 of a ring's 1.9 us through NVLink, 1.9 of 2.5 through PCIe. */
static void a_trees_hop_is_shorter_by_ll128(void)
{
    struct ronde_nccl_machine pcie = nccl_h100;
    pcie.link = RONDE_NODE_PCIE;
    CU_ASSERT_DOUBLE_EQUAL(hop_us(&nccl_h100, RONDE_NCCL_TREE, RONDE_NCCL_LL128),
                           hop_us(&nccl_h100, RONDE_NCCL_RING, RONDE_NCCL_LL128) * 1.25 / 1.9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hop_us(&pcie, RONDE_NCCL_TREE, RONDE_NCCL_LL128),
                           hop_us(&pcie, RONDE_NCCL_RING, RONDE_NCCL_LL128) * 1.9 / 2.5, 1e-9);
    for (unsigned p = RONDE_NCCL_LL; p <= RONDE_NCCL_SIMPLE; p += RONDE_NCCL_SIMPLE)
        CU_ASSERT_EQUAL(hop_us(&nccl_h100, RONDE_NCCL_TREE, (enum ronde_nccl_protocol)p),
                        hop_us(&nccl_h100, RONDE_NCCL_RING, (enum ronde_nccl_protocol)p));
}

static double least_us(uint32_t nodes, enum ronde_nccl_algorithm algorithm)
{
    const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8 * nodes, nodes, 229, 8};
    const struct ronde_nccl_choice choice = {algorithm, RONDE_NCCL_SIMPLE};
    return ronde_nccl_execution_us(shipped(), &nccl_h100, &call, choice);
}

/* The deepest of 9 to 16 nodes has four above it, whichever number they are. */
static void trees_are_as_deep_as_their_deepest_node(void)
{
    static const enum ronde_nccl_algorithm trees[] = {RONDE_NCCL_TREE, RONDE_NCCL_NVLS_TREE};
    for (unsigned t = 0; t < 2; t++) {
        const double four_us = least_us(16, trees[t]);
        for (uint32_t nodes = 9; nodes < 16; nodes++)
            CU_ASSERT_DOUBLE_EQUAL(least_us(nodes, trees[t]), four_us, 1e-9 * four_us);
        CU_ASSERT(least_us(8, trees[t]) < .95 * four_us);
        CU_ASSERT(least_us(17, trees[t]) > 1.05 * four_us);
    }
}

/*
 * Nodes meet by rounds of NVLSTree's own chunks: 32 KiB of 16 channels and 8 heads below one loop of 64 KiB, 64 KiB below four of 128,
 * and no more than 64 from four nodes on. On two nodes each sends up half of a round.
 */
static void nodes_of_nvls_meet_by_rounds(void)
{
    static const struct {
        uint64_t bytes;
        uint32_t nodes;
        double chunk, up, share, depth;
    } rows[] = {
        {4 * MIB, 2, 32768, .5, 1, 1},    {16 * MIB, 2, 65536, .5, 1, 1},
        {128 * MIB, 2, 131072, .5, 1, 1}, {4 * MIB, 4, 32768, 1, .5, 2},
        {16 * MIB, 4, 65536, 1, .5, 2},   {128 * MIB, 4, 65536, 1, .5, 2},
    };
    const struct ronde_nccl_choice choice = {RONDE_NCCL_NVLS_TREE, RONDE_NCCL_SIMPLE};
    struct ronde_nccl_machine machine = nccl_h100;
    machine.nic_GBps = 5;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8 * rows[r].nodes, rows[r].nodes,
                                             229, rows[r].bytes};
        const struct ronde_nccl_setting setting =
            ronde_nccl_setting_of(shipped(), &machine, &call, choice);
        const double inside = 450 * NCCL_OWN(&setting, nvls_efficiency) / (1 + 1 / 8.);
        const double round = fmin((double)rows[r].bytes, 128 * rows[r].chunk) / 1e3;
        const double level =
            ronde_nccl_between_us(&setting) + rows[r].up * round / setting.between_GBps;
        const double us = setting.launch_us + NCCL_COMMON(&setting, nvls_us) + 2 * round / inside +
                          2 * rows[r].depth * level +
                          (double)rows[r].bytes / 1e3 / (setting.between_GBps * rows[r].share);
        const double got = ronde_nccl_execution_us(shipped(), &machine, &call, choice);
        if (fabs(got / us - 1) > 1e-9)
            suite_note("%llu bytes on %u nodes: %g us, by hand %g",
                       (unsigned long long)rows[r].bytes, rows[r].nodes, got, us);
        CU_ASSERT_DOUBLE_EQUAL(got, us, 1e-9 * us);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_trees_hop_is_shorter_by_ll128),
        SUITE_CASE(trees_are_as_deep_as_their_deepest_node),
        SUITE_CASE(nodes_of_nvls_meet_by_rounds),
    };
    return suite_run("nccl_trees", cases, sizeof cases / sizeof cases[0]);
}
