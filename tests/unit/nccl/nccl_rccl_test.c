/*
 * What RCCL chooses and takes: its formula by hand on one node, its choices by size and version, and measured times of eight MI300X
 * (github.com/hisohara/ai-scripts, 01_rccl-smoketest).
 */
#include "ronde/nccl_model.h"

#include "nccl_shipped.h"

#include "support/suite.h"

#include <math.h>

#define KIB 1024ULL
#define MIB (1024 * KIB)

static const struct ronde_nccl_constants *constants(void)
{
    static struct ronde_nccl_constants read;
    read = nccl_shipped();
    return &read;
}

static const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};

static struct ronde_nccl_machine machine_of(const char *gpu, const char *inside, uint32_t gpus)
{
    const struct ronde_nccl_words_of said = {gpu, inside, "8x400Gb/s RoCE", "", gpus};
    struct ronde_nccl_machine machine = {.gpus = 0};
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_of_words(&said, &machine, &error), RONDE_OK);
    return machine;
}

static struct ronde_nccl_machine mi300x(void)
{
    return machine_of("AMD Instinct MI300X", "XGMI full mesh 8 GPU (64GB/s per link per dir)", 8);
}

/** A call, its version, and what RCCL takes. */
struct taken {
    enum ronde_collective collective;
    uint32_t nodes, version;
    uint64_t bytes;
    struct ronde_nccl_choice choice;
};

static const struct taken all_taken[] = {
    {RONDE_ALL_REDUCE, 1, 222, KIB, {RONDE_NCCL_PAIRS, RONDE_NCCL_LL}},
    {RONDE_ALL_REDUCE, 1, 222, 512 * KIB - 4, {RONDE_NCCL_PAIRS, RONDE_NCCL_LL}},
    {RONDE_ALL_REDUCE, 1, 222, 512 * KIB, {RONDE_NCCL_PAIRS, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 1, 222, 16 * MIB, {RONDE_NCCL_PAIRS, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 1, 222, 32 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    /* Before MI300X, without MSCCL, and with a direct all_reduce of its own. */
    {RONDE_ALL_REDUCE, 1, 217, MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 1, 228, 256 * KIB, {RONDE_NCCL_RING, RONDE_NCCL_LL}},
    {RONDE_ALL_REDUCE, 1, 228, MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 1, 230, 64 * MIB, {RONDE_NCCL_PAIRS, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 1, 0, MIB, {RONDE_NCCL_PAIRS, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_GATHER, 1, 222, MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    /* One node's reduce_scatter has a size of its own since 2.25: 352,128 bytes a rank. */
    {RONDE_REDUCE_SCATTER, 1, 222, 2 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    {RONDE_REDUCE_SCATTER, 1, 226, 2 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_LL}},
    {RONDE_REDUCE_SCATTER, 1, 226, 4 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 2, 222, KIB, {RONDE_NCCL_TREE, RONDE_NCCL_LL}},
    {RONDE_ALL_REDUCE, 2, 222, MIB, {RONDE_NCCL_TREE, RONDE_NCCL_LL}},
    {RONDE_ALL_REDUCE, 2, 222, 4 * MIB, {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 2, 222, 128 * MIB, {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 2, 222, 1024 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
    /* LL128 from 512 KiB on, up to 4.2 MiB on two nodes, up to 16 on more. */
    {RONDE_ALL_REDUCE, 2, 226, 512 * KIB, {RONDE_NCCL_TREE, RONDE_NCCL_LL}},
    {RONDE_ALL_REDUCE, 2, 226, 4 * MIB, {RONDE_NCCL_TREE, RONDE_NCCL_LL128}},
    {RONDE_ALL_REDUCE, 2, 226, 8 * MIB, {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE}},
    {RONDE_ALL_REDUCE, 4, 226, 8 * MIB, {RONDE_NCCL_TREE, RONDE_NCCL_LL128}},
    {RONDE_ALL_GATHER, 2, 226, MIB, {RONDE_NCCL_RING, RONDE_NCCL_LL}},
    {RONDE_ALL_GATHER, 2, 226, 16 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_LL128}},
    {RONDE_ALL_GATHER, 2, 226, 256 * MIB, {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE}},
};

static void sizes_and_versions_decide(void)
{
    const struct ronde_nccl_machine machine = mi300x();
    for (size_t t = 0; t < sizeof all_taken / sizeof all_taken[0]; t++) {
        const struct taken *taken = &all_taken[t];
        const struct ronde_nccl_call call = {taken->collective, 8 * taken->nodes, taken->nodes,
                                             taken->version, taken->bytes};
        struct ronde_nccl_choice choice;
        CU_ASSERT(isfinite(ronde_nccl_choose(constants(), &machine, &call, any, &choice)));
        CU_ASSERT(choice.algorithm == taken->choice.algorithm &&
                  choice.protocol == taken->choice.protocol);
        if (choice.algorithm != taken->choice.algorithm || choice.protocol != taken->choice.protocol)
            suite_note("%s of %llu on %u nodes, %u: %s/%s", ronde_collective_text(call.collective),
                       (unsigned long long)call.bytes, call.nodes, call.version,
                       ronde_nccl_algorithm_text(choice.algorithm),
                       ronde_nccl_protocol_text(choice.protocol));
    }
}

static void wishes_and_parts_of_nodes_run_rings(void)
{
    const struct ronde_nccl_machine machine = mi300x();
    const struct ronde_nccl_machine four = machine_of("AMD Instinct MI300A", "xGMI mesh 4 GPU", 4);
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_PROTOCOL_COUNT},
                                   ll = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_LL};
    const struct ronde_nccl_call whole = {RONDE_ALL_REDUCE, 8, 1, 222, MIB},
                                 half = {RONDE_ALL_REDUCE, 4, 1, 222, MIB};
    struct ronde_nccl_choice choice;
    (void)ronde_nccl_choose(constants(), &machine, &whole, ring, &choice);
    CU_ASSERT(choice.algorithm == RONDE_NCCL_RING && choice.protocol == RONDE_NCCL_SIMPLE);
    (void)ronde_nccl_choose(constants(), &machine, &whole, ll, &choice);
    CU_ASSERT(choice.algorithm == RONDE_NCCL_RING && choice.protocol == RONDE_NCCL_LL);
    (void)ronde_nccl_choose(constants(), &machine, &half, any, &choice);
    CU_ASSERT(choice.algorithm <= RONDE_NCCL_TREE);
    (void)ronde_nccl_choose(constants(), &four, &half, any, &choice);
    CU_ASSERT(choice.algorithm <= RONDE_NCCL_TREE);
}

/* Of one node RCCL does not see the NICs, by which it tells MI250X's nodes apart; of several it counts with links, not with NICs. */
static void nics_count_between_nodes_alone(void)
{
    const struct ronde_nccl_words_of said = {"AMD Instinct MI250X", "Infinity Fabric 8 GCD",
                                             "4x Slingshot-11 200Gb/s", "", 8};
    const struct ronde_nccl_machine mi300a = machine_of("AMD Instinct MI300A", "xGMI mesh 4 GPU", 4);
    const struct ronde_nccl_call one = {RONDE_ALL_REDUCE, 8, 1, 222, 64 * MIB},
                                 two = {RONDE_ALL_REDUCE, 16, 2, 222, 64 * MIB},
                                 small = {RONDE_ALL_REDUCE, 8, 2, 222, 16 * KIB};
    struct ronde_nccl_machine mi250x = {.gpus = 0};
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_nccl_choice choice;
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_of_words(&said, &mi250x, &error), RONDE_OK);
    (void)ronde_nccl_choose(constants(), &mi250x, &one, any, &choice);
    CU_ASSERT(choice.algorithm == RONDE_NCCL_RING && choice.protocol == RONDE_NCCL_SIMPLE);
    (void)ronde_nccl_choose(constants(), &mi250x, &two, any, &choice);
    CU_ASSERT(choice.algorithm == RONDE_NCCL_TREE && choice.protocol == RONDE_NCCL_SIMPLE);
    (void)ronde_nccl_choose(constants(), &mi300a, &small, any, &choice);
    CU_ASSERT(choice.algorithm == RONDE_NCCL_TREE && choice.protocol == RONDE_NCCL_LL);
}

/* 336 GB/s are seven links of 48; on two nodes, too, whatever the NICs. */
static void the_formula_is_rccls(void)
{
    const struct ronde_nccl_machine machine = mi300x();
    const struct ronde_nccl_choice ll = {RONDE_NCCL_RING, RONDE_NCCL_LL},
                                   tree = {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE};
    const struct ronde_nccl_call one = {RONDE_ALL_REDUCE, 8, 1, 222, 64 * KIB},
                                 two = {RONDE_ALL_REDUCE, 16, 2, 222, 32 * MIB};
    const double ring_us = 12 + 14 * .8 + 65.536 / (336 * .08 * 8 / 14);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_tuner_us(constants(), &machine, &one, ll, false), ring_us,
                           .05 * ring_us);
    const double tree_us = 17 + 2 * (7 * 2.3 + 25) + 33554.432 / (336 * .11 / 2);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_tuner_us(constants(), &machine, &two, tree, false), tree_us,
                           .05 * tree_us);
    CU_ASSERT(!isfinite(ronde_nccl_tuner_us(constants(), &machine, &one, tree, false)));
}

/* The mean of out of place and in place, us. No constant was fitted to these. */
static void eight_mi300x_take_what_was_measured(void)
{
    static const struct {
        uint64_t bytes;
        double us;
    } measured[] = {{KIB, 14.3},       {64 * KIB, 14},   {256 * KIB, 17.2}, {512 * KIB, 26},
                    {MIB, 28.2},       {4 * MIB, 53.7},  {8 * MIB, 86.3},   {16 * MIB, 153.1},
                    {32 * MIB, 252.6}, {64 * MIB, 437.8}};
    const struct ronde_nccl_machine machine = mi300x();
    for (size_t m = 0; m < sizeof measured / sizeof measured[0]; m++) {
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8, 1, 222, measured[m].bytes};
        struct ronde_nccl_choice choice;
        (void)ronde_nccl_choose(constants(), &machine, &call, any, &choice);
        const double us = ronde_nccl_execution_us(constants(), &machine, &call, choice);
        CU_ASSERT_DOUBLE_EQUAL(us, measured[m].us, .3 * measured[m].us);
    }
}

/* The direct all_reduce of 2.30 is there because it is faster than what rings take. */
static void the_direct_one_is_no_slower_than_rings(void)
{
    const struct ronde_nccl_machine machine = mi300x();
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_PROTOCOL_COUNT};
    for (uint64_t bytes = KIB; bytes <= 64 * MIB; bytes *= 2) {
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8, 1, 230, bytes};
        struct ronde_nccl_choice own, wished;
        (void)ronde_nccl_choose(constants(), &machine, &call, any, &own);
        (void)ronde_nccl_choose(constants(), &machine, &call, ring, &wished);
        CU_ASSERT(own.algorithm == RONDE_NCCL_PAIRS);
        CU_ASSERT(ronde_nccl_execution_us(constants(), &machine, &call, own) <=
                  ronde_nccl_execution_us(constants(), &machine, &call, wished));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sizes_and_versions_decide", sizes_and_versions_decide},
        {"wishes_and_parts_of_nodes_run_rings", wishes_and_parts_of_nodes_run_rings},
        {"nics_count_between_nodes_alone", nics_count_between_nodes_alone},
        {"the_formula_is_rccls", the_formula_is_rccls},
        {"eight_mi300x_take_what_was_measured", eight_mi300x_take_what_was_measured},
        {"the_direct_one_is_no_slower_than_rings", the_direct_one_is_no_slower_than_rings},
    };
    return suite_run("nccl_rccl", cases, sizeof cases / sizeof cases[0]);
}
