/**
 * What no constant of NCCL's model may undo, on every shipped machine: more bytes, more nodes and slower parts are never
 * faster, and nothing is faster than the wires it goes over.
 */
#include "nccl_shipped.h"

#include "support/files.h"
#include "support/suite.h"

#include "ronde/nccl_model.h"

#include "nccl/model/setting.h"

#include <math.h>

#define MIB (1u << 20)
#define MAX_MACHINES 64u

/** Shipped machines, and the shipped constants. */
struct shipped {
    struct ronde_nccl_constants constants;
    struct ronde_nccl_machine machines[MAX_MACHINES];
    uint32_t count;
};

static void read_machine(const char *file, void *context)
{
    struct shipped *shipped = context;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_FATAL(shipped->count < MAX_MACHINES);
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_read(file, &shipped->machines[shipped->count++], &error),
                          RONDE_OK);
}

static const struct shipped *all(void)
{
    static struct shipped shipped;
    if (shipped.count > 0)
        return &shipped;
    shipped.constants = nccl_shipped();
    CU_ASSERT_FATAL(files_walk("topologies/published", ".txt", read_machine, &shipped) > 10);
    return &shipped;
}

static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_ALL_GATHER,
                                                    RONDE_REDUCE_SCATTER, RONDE_BROADCAST,
                                                    RONDE_REDUCE};

/** A call on a machine, and how it is run. */
struct run {
    const struct ronde_nccl_machine *machine;
    struct ronde_nccl_call call;
    struct ronde_nccl_choice choice;
};

static double us_of(const struct run *run)
{
    return ronde_nccl_execution_us(&all()->constants, run->machine, &run->call, run->choice);
}

/** Every run of a number of bytes: machines, collectives, GPUs a node, one to eight nodes, what each algorithm is for. */
static uint32_t each(uint64_t bytes, void (*show)(const struct run *run))
{
    uint32_t runs = 0;
    for (uint32_t m = 0; m < all()->count; m++)
        for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++)
            for (uint32_t g = 1; g <= all()->machines[m].gpus; g++)
                for (uint32_t nodes = 1; nodes <= 8; nodes *= 2)
                    for (unsigned p = 0; p < 2 * RONDE_NCCL_PROTOCOL_COUNT; p++) {
                        const struct run run = {&all()->machines[m],
                                                {collectives[c], g * nodes, nodes, 229, bytes},
                                                {(enum ronde_nccl_algorithm)(p / 3),
                                                 (enum ronde_nccl_protocol)(p % 3)}};
                        struct ronde_error error = {.status = RONDE_OK};
                        if (ronde_nccl_call_check(run.machine, &run.call, &error) != RONDE_OK ||
                            (p / 3 == RONDE_NCCL_TREE && c > 0))
                            continue;
                        show(&run);
                        runs++;
                    }
    return runs;
}

/** Asserts that a run is not faster than another, but for rounding. */
static void not_faster(const struct run *run, double us, double than_us, const char *what)
{
    const bool is_so = us >= than_us * (1 - 1e-9);
    if (!is_so)
        suite_note("%s, %s of %u ranks on %u nodes, %s %s, %llu bytes: %s: %.3f us, not %.3f us",
                   run->machine->name, ronde_collective_text(run->call.collective), run->call.ranks,
                   run->call.nodes, ronde_nccl_algorithm_text(run->choice.algorithm),
                   ronde_nccl_protocol_text(run->choice.protocol),
                   (unsigned long long)run->call.bytes, what, us, than_us);
    CU_ASSERT(is_so);
}

static void shows_time_above_launch(const struct run *run)
{
    const double launch = ronde_nccl_launch_us(&all()->constants, run->machine);
    CU_ASSERT(isfinite(us_of(run)));
    not_faster(run, us_of(run), launch, "launch alone");
}

static void a_run_takes_its_launch_at_least(void)
{
    CU_ASSERT(each(1, shows_time_above_launch) > 1000);
    CU_ASSERT(each(MIB + 1, shows_time_above_launch) > 1000);
}

/* A tree's chunk grows by doubling, which may save a little of what is filled: no more than 2 % from size to size. */
static void shows_more_bytes_take_longer(const struct run *run)
{
    struct run larger = *run;
    double last = us_of(run);
    for (uint32_t step = 0; step < 60; step++) {
        larger.call.bytes += larger.call.bytes / 2 + 1;
        const double us = us_of(&larger);
        not_faster(&larger, us, run->choice.algorithm == RONDE_NCCL_TREE ? .98 * last : last,
                   "fewer bytes");
        if (larger.call.bytes > (uint64_t)1 << 34)
            break;
        last = us;
    }
}

static void more_bytes_take_longer(void)
{
    CU_ASSERT(each(1024, shows_more_bytes_take_longer) > 1000);
}

/* Data-sheet rates without any efficiency, each algorithm's least traffic: all_reduce sends and takes in every byte at
 * least once, others (n-1)/n of them. */
static void shows_wires_are_not_beaten(const struct run *run)
{
    const uint32_t g = run->call.ranks / run->call.nodes;
    const double n = run->call.ranks, bytes = (double)run->call.bytes;
    const double least = run->call.collective == RONDE_ALL_REDUCE ? 1 : (n - 1) / n;
    const bool has_nvlink =
        run->machine->link != RONDE_NODE_PCIE && (run->machine->link != RONDE_NODE_PAIRS || g == 2);
    const double link = has_nvlink ? run->machine->nvlink_GBps : run->machine->pcie_GBps;
    if (g > 1)
        not_faster(run, us_of(run), bytes * least / 1e3 / link, "the link of a GPU");
    if (run->call.nodes > 1 && run->machine->nvlink_nodes < 2)
        not_faster(run, us_of(run),
                   bytes * least / 1e3 / (run->machine->nics * run->machine->nic_GBps),
                   "the NICs of a node");
}

static void nothing_is_faster_than_its_wires(void)
{
    CU_ASSERT(each((uint64_t)1 << 32, shows_wires_are_not_beaten) > 1000);
    CU_ASSERT(each(64 * MIB, shows_wires_are_not_beaten) > 1000);
}

/** A run whose messages no network asks about before it sends. */
static double us_without_rendezvous(const struct run *run)
{
    struct ronde_nccl_constants constants = all()->constants;
    constants.all[RONDE_NCCL_COMMON_infiniband_rendezvous_us].value = 0;
    constants.all[RONDE_NCCL_COMMON_slingshot_rendezvous_us].value = 0;
    constants.all[RONDE_NCCL_COMMON_efa_rendezvous_us].value = 0;
    constants.all[RONDE_NCCL_COMMON_roce_rendezvous_us].value = 0;
    constants.all[RONDE_NCCL_COMMON_ethernet_rendezvous_us].value = 0;
    return ronde_nccl_execution_us(&constants, run->machine, &run->call, run->choice);
}

/*
 * Blocks of more ranks are smaller: where they become too small to be asked about, LL on more nodes may well be faster, so
 * that is left out. A tree's chunks are halved as it becomes deeper, which may save up to 7 %. A chain by LL has one channel up to a
 * size that grows with its ranks, and hides its latency so long: of ABCI's A100 4 nodes take 43 us for 128 KiB, 2 take 58. NICs relieve the
 * links of a ring by a few per cent.
 */
static void shows_more_nodes_are_not_faster(const struct run *run)
{
    struct run wider = *run;
    const bool is_chain = !(ronde_nccl_ring_steps(run->call.collective, run->call.ranks) > 0);
    if (run->machine->nics == 0 || (is_chain && run->choice.protocol == RONDE_NCCL_LL) ||
        (run->machine->is_one_on_one_node && run->call.nodes == 1))
        return;
    wider.call.nodes *= 2;
    wider.call.ranks *= 2;
    not_faster(&wider, us_without_rendezvous(&wider),
               us_without_rendezvous(run) * (run->choice.algorithm == RONDE_NCCL_TREE ? .93 : .96),
               "half the nodes");
}

static void more_nodes_are_not_faster(void)
{
    static const uint64_t sizes[] = {1024, 65536, MIB, 64 * MIB, (uint64_t)1 << 32};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        CU_ASSERT(each(sizes[s], shows_more_nodes_are_not_faster) > 1000);
}

/*
 * Links and NICs of half the rate, a bridge on the way, processes that launch in turn. From 45 GB/s a NIC on NCCL doubles its
 * channels, and a tree's chunks are halved less often: up to 3 %.
 */
static void shows_slower_parts_are_not_faster(const struct run *run)
{
    for (int part = 0; part < 5; part++) {
        struct ronde_nccl_machine slower = *run->machine;
        struct run changed = *run;
        changed.machine = &slower;
        slower.nvlink_GBps /= part == 0 ? 2 : 1;
        slower.pcie_GBps /= part == 1 ? 2 : 1;
        slower.nic_GBps /= part == 2 ? 2 : 1;
        slower.behind_bridge |= part == 3;
        slower.is_one_process |= part == 4;
        const bool is_tree = run->choice.algorithm == RONDE_NCCL_TREE && part == 2;
        not_faster(run, us_of(&changed), us_of(run) * (is_tree ? .97 : 1),
                   "a machine of faster parts");
    }
}

static void slower_parts_are_not_faster(void)
{
    CU_ASSERT(each(1024, shows_slower_parts_are_not_faster) > 1000);
    CU_ASSERT(each(64 * MIB, shows_slower_parts_are_not_faster) > 1000);
}

/* What a fit turns: a launch is added as it is, latencies and rates change what they are of. */
static void shows_factors_change_their_part(const struct run *run)
{
    const double launch = 100, us = us_of(run);
    struct ronde_nccl_machine machine = *run->machine;
    struct ronde_nccl_constants later = all()->constants, turned = all()->constants;
    machine.is_one_process = machine.is_one_on_one_node = false;
    later.launch_us = launch;
    const double first = ronde_nccl_execution_us(&later, &machine, &run->call, run->choice);
    later.launch_us = launch + 50;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&later, &machine, &run->call, run->choice),
                           first + 50, 1e-6);
    for (int which = 0; which < 4; which++) {
        turned = all()->constants;
        turned.inside *= which == 0 ? 3 : 1;
        turned.between *= which == 1 ? 3 : 1;
        turned.links *= which == 2 ? .3 : 1;
        turned.nics *= which == 3 ? .3 : 1;
        const double after = ronde_nccl_execution_us(&turned, run->machine, &run->call, run->choice);
        not_faster(run, after, us, "smaller latencies or greater rates");
        if ((which == 1 || which == 3) && run->call.nodes == 1)
            CU_ASSERT_EQUAL(after, us);
    }
}

static void factors_change_their_part(void)
{
    CU_ASSERT(each(16384, shows_factors_change_their_part) > 1000);
    CU_ASSERT(each(64 * MIB, shows_factors_change_their_part) > 1000);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_run_takes_its_launch_at_least),  SUITE_CASE(more_bytes_take_longer),
        SUITE_CASE(nothing_is_faster_than_its_wires), SUITE_CASE(more_nodes_are_not_faster),
        SUITE_CASE(slower_parts_are_not_faster),      SUITE_CASE(factors_change_their_part),
    };
    return suite_run("nccl_monotony", cases, sizeof cases / sizeof cases[0]);
}
