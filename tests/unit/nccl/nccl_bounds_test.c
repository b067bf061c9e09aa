/**
 * What no prediction of NCCL may break, on every machine that is shipped: nothing is faster than its wires at their data
 * sheets' rates, more bytes and slower parts are never faster, and what is chosen is what can run.
 */
#include "support/files.h"
#include "support/suite.h"

#include "nccl/model/setting.h"
#include "ronde/published.h"

#include <math.h>
#include <string.h>

#define MAX_MACHINES 64u

static struct ronde_nccl_machine machines[MAX_MACHINES];
static unsigned machine_count;
static struct ronde_nccl_constants constants;

static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_ALL_GATHER,
                                                    RONDE_REDUCE_SCATTER, RONDE_BROADCAST,
                                                    RONDE_REDUCE};
#define COLLECTIVES (sizeof collectives / sizeof collectives[0])

static void read_machine(const char *path, void *context)
{
    struct ronde_error error = {.status = RONDE_OK};
    (void)context;
    CU_ASSERT_FATAL(machine_count < MAX_MACHINES);
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_read(path, &machines[machine_count], &error), RONDE_OK);
    machine_count++;
}

static void read_all(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    machine_count = 0;
    (void)files_walk("topologies/published", ".txt", read_machine, NULL);
    CU_ASSERT_FATAL(machine_count > 10);
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(NULL, &constants, &error), RONDE_OK);
}

/** A call on a machine that can make it. */
typedef void (*call_visitor)(const struct ronde_nccl_machine *machine,
                             const struct ronde_nccl_call *call);

/** All machines, collectives, one node and several, powers of four bytes. */
static size_t each_call(call_visitor visit)
{
    size_t visited = 0;
    read_all();
    for (unsigned m = 0; m < machine_count; m++)
        for (size_t c = 0; c < COLLECTIVES; c++)
            for (uint32_t nodes = 1; nodes <= 16; nodes *= 4)
                for (uint64_t bytes = 1024; bytes <= (uint64_t)1 << 34; bytes *= 16) {
                    struct ronde_error ignored;
                    const struct ronde_nccl_call call = {collectives[c], nodes * machines[m].gpus,
                                                         nodes, 229, bytes};
                    if (call.ranks < 2 ||
                        ronde_nccl_call_check(&machines[m], &call, &ignored) != RONDE_OK)
                        continue;
                    visit(&machines[m], &call);
                    visited++;
                }
    return visited;
}

static double chosen_us(const struct ronde_nccl_constants *with,
                        const struct ronde_nccl_machine *machine,
                        const struct ronde_nccl_call *call, struct ronde_nccl_choice wish)
{
    struct ronde_nccl_choice choice;
    return isfinite(ronde_nccl_choose(with, machine, call, wish, &choice))
               ? ronde_nccl_execution_us(with, machine, call, choice)
               : INFINITY;
}

static const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};

/** Bytes that leave each node, or each GPU, at the least, as a share of the call's. */
static double least_share(enum ronde_collective collective, double parts)
{
    switch (collective) {
    case RONDE_ALL_REDUCE:
        return 2 * (parts - 1) / parts;
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
        return 1;
    default:
        return (parts - 1) / parts;
    }
}

static void check_wires(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    const bool has_nvlink = machine->link != RONDE_NODE_PCIE &&
                            !(machine->link == RONDE_NODE_PAIRS && machine->gpus > 2);
    const double port_GBps = has_nvlink ? machine->nvlink_GBps : machine->pcie_GBps;
    /* NVSwitch reduces and multicasts: a GPU sends the data once, and receives it once. */
    double inside = machine->link == RONDE_NODE_SWITCH && call->collective == RONDE_ALL_REDUCE
                        ? 1
                        : least_share(call->collective, call->ranks);
    if (machine->gpus == 1)
        inside = 0;
    const double between = call->nodes > 1 ? least_share(call->collective, call->nodes) : 0;
    /* A rack's nodes are one machine: what goes between them need not leave it. */
    if (machine->nvlink_nodes > 1)
        return;
    const double least_us = fmax(inside > 0 ? inside / port_GBps : 0,
                                 between > 0 ? between / (machine->nics * machine->nic_GBps) : 0) *
                            (double)call->bytes / 1e3;
    const double us = chosen_us(&constants, machine, call, any);
    CU_ASSERT(us > least_us);
    if (!(us > least_us))
        suite_note("%s, %s of %u on %u nodes, %llu bytes: %g us, wires alone need %g",
                   machine->name, ronde_collective_text(call->collective), call->ranks, call->nodes,
                   (unsigned long long)call->bytes, us, least_us);
}

static void nothing_is_faster_than_its_wires(void)
{
    CU_ASSERT(each_call(check_wires) > 500);
}

/* Each algorithm and protocol alone, too: whatever can be forced takes longer than a launch, and no time for ever. */
static void check_forced(const struct ronde_nccl_machine *machine,
                         const struct ronde_nccl_call *call)
{
    const double launch_us = ronde_nccl_launch_us(&constants, machine);
    for (unsigned c = 0; c < RONDE_NCCL_ALGORITHM_COUNT * RONDE_NCCL_PROTOCOL_COUNT; c++) {
        const struct ronde_nccl_choice wish = {c / RONDE_NCCL_PROTOCOL_COUNT,
                                               c % RONDE_NCCL_PROTOCOL_COUNT};
        struct ronde_nccl_choice choice;
        const double tuner_us = ronde_nccl_choose(&constants, machine, call, wish, &choice);
        if (!isfinite(tuner_us))
            continue;
        const double us = ronde_nccl_execution_us(&constants, machine, call, choice);
        CU_ASSERT(choice.algorithm == wish.algorithm && choice.protocol == wish.protocol);
        /* NCCL has kernels of trees and NVLS sums for all_reduce alone. */
        CU_ASSERT(call->collective == RONDE_ALL_REDUCE || choice.algorithm == RONDE_NCCL_RING);
        CU_ASSERT(tuner_us > 0 && us >= launch_us && us < 1e10);
    }
}

static void what_is_forced_can_run(void)
{
    CU_ASSERT(each_call(check_forced) > 500);
}

/* The fastest of all is no slower than what NCCL takes, and is one of what can be forced. */
static void check_fastest(const struct ronde_nccl_machine *machine,
                          const struct ronde_nccl_call *call)
{
    struct ronde_nccl_choice fastest, same;
    const double us = ronde_nccl_fastest(&constants, machine, call, &fastest);
    CU_ASSERT(us <= chosen_us(&constants, machine, call, any) * (1 + 1e-12));
    CU_ASSERT(isfinite(ronde_nccl_choose(&constants, machine, call, fastest, &same)));
    CU_ASSERT_EQUAL(us, ronde_nccl_execution_us(&constants, machine, call, fastest));
}

static void the_fastest_is_no_slower_than_the_choice(void)
{
    CU_ASSERT(each_call(check_fastest) > 500);
}

/** What can be made worse of a machine or of constants. */
static void worsen(unsigned what, struct ronde_nccl_machine *machine,
                   struct ronde_nccl_constants *with)
{
    switch (what) {
    case 0:
        with->links *= .8;
        break;
    case 1:
        with->nics *= .8;
        break;
    case 2:
        with->inside *= 1.5;
        break;
    case 3:
        with->between *= 1.5;
        break;
    case 4:
        with->launch_us = 100;
        break;
    default:
        machine->nic_GBps *= .7;
        break;
    }
}

/* By a given choice, a slower part never makes a call faster, and what it does not use changes nothing. */
static void check_worse(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    struct ronde_nccl_choice choice;
    if (!isfinite(ronde_nccl_choose(&constants, machine, call, any, &choice)))
        return;
    const double before_us = ronde_nccl_execution_us(&constants, machine, call, choice);
    for (unsigned what = 0; what < 6; what++) {
        struct ronde_nccl_machine worse = *machine;
        struct ronde_nccl_constants with = constants;
        worsen(what, &worse, &with);
        const double us = ronde_nccl_execution_us(&with, &worse, call, choice);
        const bool is_of_network = what == 1 || what == 3 || what == 5;
        CU_ASSERT(us >= before_us * (1 - 1e-12));
        if (call->nodes == 1 && is_of_network)
            CU_ASSERT_EQUAL(us, before_us);
        if (us < before_us * (1 - 1e-12))
            suite_note("%s, %s of %u, %llu bytes, worse %u: %g, %g", machine->name,
                       ronde_collective_text(call->collective), call->ranks,
                       (unsigned long long)call->bytes, what, before_us, us);
    }
}

static void worse_parts_are_never_faster(void)
{
    CU_ASSERT(each_call(check_worse) > 500);
}

/* Of one algorithm and protocol, between two sizes of which one is twice the other. */
static void check_growth(const struct ronde_nccl_machine *machine,
                         const struct ronde_nccl_call *call)
{
    struct ronde_nccl_call twice = *call;
    twice.bytes *= 2;
    for (unsigned c = 0; c < RONDE_NCCL_ALGORITHM_COUNT * RONDE_NCCL_PROTOCOL_COUNT; c++) {
        const struct ronde_nccl_choice wish = {c / RONDE_NCCL_PROTOCOL_COUNT,
                                               c % RONDE_NCCL_PROTOCOL_COUNT};
        const double us = chosen_us(&constants, machine, call, wish);
        const double twice_us = chosen_us(&constants, machine, &twice, wish);
        CU_ASSERT(!isfinite(us) || twice_us >= us * (1 - 1e-12));
        /*
         * Twice the data is at most twice the time, but for what passes while a pipeline fills: a tree's chunks double, too, and a
         * second channel of a chain by LL shows the latency that one hides (ABCI, 16 nodes: 153 us for 512 KiB, 599 for 1 MiB).
         */
        const bool is_chain =
            call->collective == RONDE_BROADCAST || call->collective == RONDE_REDUCE;
        const double most = (wish.algorithm == RONDE_NCCL_TREE            ? 2.1
                             : is_chain && wish.protocol == RONDE_NCCL_LL ? 9
                                                                          : 2.01) *
                            us;
        CU_ASSERT(!isfinite(us) || twice_us <= most);
        if (isfinite(us) && (twice_us < us || twice_us > most))
            suite_note("%s, %s of %u on %u, %llu bytes, %s %s: %g, then %g us", machine->name,
                       ronde_collective_text(call->collective), call->ranks, call->nodes,
                       (unsigned long long)call->bytes, ronde_nccl_algorithm_text(wish.algorithm),
                       ronde_nccl_protocol_text(wish.protocol), us, twice_us);
    }
}

static void twice_the_bytes_take_once_to_twice_the_time(void)
{
    CU_ASSERT(each_call(check_growth) > 500);
}

/* nccl-tests' PERFORMANCE.md: 2(n-1)/n, (n-1)/n, 1. */
static void bus_factors_are_those_of_nccl_tests(void)
{
    static const struct {
        enum ronde_collective collective;
        double of_2, of_8;
    } rows[] = {
        {RONDE_ALL_REDUCE, 1, 1.75}, {RONDE_ALL_GATHER, .5, .875}, {RONDE_REDUCE_SCATTER, .5, .875},
        {RONDE_BROADCAST, 1, 1},     {RONDE_REDUCE, 1, 1},         {RONDE_ALL_TO_ALL, .5, .875}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_ASSERT_EQUAL(ronde_collective_bus_factor(rows[i].collective, 2), rows[i].of_2);
        CU_ASSERT_EQUAL(ronde_collective_bus_factor(rows[i].collective, 8), rows[i].of_8);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"nothing_is_faster_than_its_wires", nothing_is_faster_than_its_wires},
        {"what_is_forced_can_run", what_is_forced_can_run},
        {"the_fastest_is_no_slower_than_the_choice", the_fastest_is_no_slower_than_the_choice},
        {"worse_parts_are_never_faster", worse_parts_are_never_faster},
        {"twice_the_bytes_take_once_to_twice_the_time", twice_the_bytes_take_once_to_twice_the_time},
        {"bus_factors_are_those_of_nccl_tests", bus_factors_are_those_of_nccl_tests},
    };
    return suite_run("nccl_bounds", cases, sizeof cases / sizeof cases[0]);
}
