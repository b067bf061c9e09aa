/**
 * NCCL's model: descriptions and constants are read or refused with their line, NCCL's formula gives the values worked out
 * by hand, and execution does what hardware forces: scale with bytes, cross a slow link as often as the algorithm does.
 */
#include "support/suite.h"

#include "nccl_shipped.h"

#include "ronde/nccl_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct ronde_nccl_choice ring_simple = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
static const struct ronde_nccl_choice tree_simple = {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE};
static const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};

static struct ronde_nccl_machine machine_of(const char *name)
{
    struct ronde_nccl_machine machine;
    struct ronde_error error = {0};
    char relative[128], path[4096];
    snprintf(relative, sizeof relative, "topologies/published/%s.txt", name);
    CU_ASSERT_FATAL(suite_source(path, sizeof path, relative));
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_read(path, &machine, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(machine.name, name);
    return machine;
}

static struct ronde_nccl_call all_reduce(uint32_t ranks, uint32_t nodes, uint64_t bytes)
{
    return (struct ronde_nccl_call){.collective = RONDE_ALL_REDUCE,
                                    .ranks = ranks,
                                    .nodes = nodes,
                                    .version = 229,
                                    .bytes = bytes};
}

/*
 * Four H100 of a switch, Ring/Simple: 8.4 + 6 * 3.4 = 28.8 us, and 478 GB/s in 25 GB/s links count as 393.9: 19 channels of
 * 20 are 380 GB/s, times 4/6 of an all_reduce on four.
 */
static void tuner_is_ncclTopoGetAlgoTime(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of("H100-NVSwitch-slice");
    const struct ronde_nccl_call call = all_reduce(4, 1, 1u << 30);
    const double expected = 28.8 + (1u << 30) / 1e3 / (380 * 4 / 6.);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_tuner_us(&constants, &machine, &call, ring_simple, false),
                           expected, 1e-6);
}

/* No LL128 over PCIe unless NCCL_PROTO forces it; no Tree but for all_reduce; no NVLS before Hopper. */
static void what_nccl_disables_has_no_time(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of("L40S-PCIe-4");
    struct ronde_nccl_call call = all_reduce(4, 1, 1u << 20);
    const struct ronde_nccl_choice ll128 = {RONDE_NCCL_RING, RONDE_NCCL_LL128};
    const struct ronde_nccl_choice nvls = {RONDE_NCCL_NVLS, RONDE_NCCL_SIMPLE};
    CU_ASSERT(isinf(ronde_nccl_tuner_us(&constants, &machine, &call, ll128, false)));
    CU_ASSERT(isfinite(ronde_nccl_tuner_us(&constants, &machine, &call, ll128, true)));
    CU_ASSERT(isinf(ronde_nccl_tuner_us(&constants, &machine, &call, nvls, true)));
    call.collective = RONDE_ALL_GATHER;
    CU_ASSERT(isinf(ronde_nccl_tuner_us(&constants, &machine, &call, tree_simple, false)));
}

/* Four A100s of a mesh: LL up to about 1 MiB, Simple for the largest (NCCL's logs). */
static void nccl_goes_from_LL_to_Simple(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of("Perlmutter-A100");
    struct ronde_nccl_choice choice;
    struct ronde_nccl_call call = all_reduce(4, 1, 32768);
    CU_ASSERT(isfinite(ronde_nccl_choose(&constants, &machine, &call, any, &choice)));
    CU_ASSERT_EQUAL(choice.protocol, RONDE_NCCL_LL);
    call.bytes = 1u << 30;
    CU_ASSERT(isfinite(ronde_nccl_choose(&constants, &machine, &call, any, &choice)));
    CU_ASSERT_EQUAL(choice.protocol, RONDE_NCCL_SIMPLE);
}

/* Two bridged pairs: a ring crosses PCIe on two of four hops, a chain on one of three: a third less time. */
static void chain_beats_ring_over_bridged_pairs(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of("A6000-NV-4");
    const struct ronde_nccl_call call = all_reduce(4, 1, 1u << 30);
    const double ring = ronde_nccl_execution_us(&constants, &machine, &call, ring_simple);
    const double tree = ronde_nccl_execution_us(&constants, &machine, &call, tree_simple);
    CU_ASSERT(tree / ring > .6 && tree / ring < .72);
    /* Two of a pair do not touch PCIe. */
    const struct ronde_nccl_call pair = all_reduce(2, 1, 1u << 30);
    CU_ASSERT(ronde_nccl_execution_us(&constants, &machine, &pair, ring_simple) < ring / 4);
}

/* On two nodes a tree sends through NICs what a ring sends 2 (n-1)/n of; on more, twice that. */
static void tree_uses_nics_twice_beyond_two_nodes(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of("Alps-GH200");
    const struct ronde_nccl_call two = all_reduce(8, 2, (uint64_t)1 << 32);
    const struct ronde_nccl_call four = all_reduce(16, 4, (uint64_t)1 << 32);
    const double on_two = ronde_nccl_execution_us(&constants, &machine, &two, tree_simple);
    const double on_four = ronde_nccl_execution_us(&constants, &machine, &four, tree_simple);
    CU_ASSERT(on_four / on_two > 1.9 && on_four / on_two < 2.1);
}

/* One process launches on eight GPUs in turn, which hides what is shorter. */
static void one_process_is_bound_by_its_launches(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    struct ronde_nccl_machine machine = machine_of("H100-together-8");
    const struct ronde_nccl_choice ll = {RONDE_NCCL_RING, RONDE_NCCL_LL};
    const struct ronde_nccl_call call = all_reduce(8, 1, 1024);
    const double one = ronde_nccl_execution_us(&constants, &machine, &call, ll);
    const double host = 8 * constants.all[RONDE_NCCL_COMMON_launch_us_per_gpu].value;
    machine.is_one_process = machine.is_one_on_one_node = false;
    const double alone = ronde_nccl_execution_us(&constants, &machine, &call, ll);
    CU_ASSERT(one >= host && one < host + .5 * alone && alone < one);
}

/* Of every machine, algorithm and protocol: finite, above the launch, and longer for more bytes in the large. */
static void times_grow_with_bytes(void)
{
    static const char *const names[] = {"A6000-NV-4", "Alps-GH200", "B200-slinky", "L40S-PCIe-4"};
    const struct ronde_nccl_constants constants = nccl_shipped();
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        const struct ronde_nccl_machine machine = machine_of(names[m]);
        for (unsigned a = 0; a < RONDE_NCCL_NVLS; a++)
            for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
                const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)a,
                                                         (enum ronde_nccl_protocol)p};
                double last = 0;
                for (uint64_t bytes = 1u << 20; bytes <= (uint64_t)1 << 34; bytes *= 4) {
                    const struct ronde_nccl_call call = all_reduce(4, 1, bytes);
                    const double us = ronde_nccl_execution_us(&constants, &machine, &call, choice);
                    CU_ASSERT(isfinite(us) && us > last);
                    last = us;
                }
            }
    }
}

/* Nothing that NCCL can be made to run is faster than the fastest, which is one of them. */
static void the_fastest_is_the_least(void)
{
    static const char *const names[] = {"A6000-NV-4", "Alps-GH200", "B200-slinky", "L40S-PCIe-4"};
    const struct ronde_nccl_constants constants = nccl_shipped();
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++)
        for (uint64_t bytes = 1024; bytes <= 1u << 30; bytes *= 16) {
            const struct ronde_nccl_machine machine = machine_of(names[m]);
            const struct ronde_nccl_call call = all_reduce(machine.gpus, 1, bytes);
            struct ronde_nccl_choice fastest, choice;
            const double us = ronde_nccl_fastest(&constants, &machine, &call, &fastest);
            CU_ASSERT_EQUAL(us, ronde_nccl_execution_us(&constants, &machine, &call, fastest));
            for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
                for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
                    choice = (struct ronde_nccl_choice){(enum ronde_nccl_algorithm)a,
                                                        (enum ronde_nccl_protocol)p};
                    if (isfinite(ronde_nccl_tuner_us(&constants, &machine, &call, choice, true)))
                        CU_ASSERT(ronde_nccl_execution_us(&constants, &machine, &call, choice) >= us);
                }
        }
}

/* A call that the machine cannot make has no time at all. */
static void impossible_calls_are_refused(void)
{
    const struct ronde_nccl_machine lone = machine_of("L40S-PCIe-4");
    struct ronde_error error = {0};
    struct ronde_nccl_call call = all_reduce(8, 1, 1024);
    CU_ASSERT_EQUAL(ronde_nccl_call_check(&lone, &call, &error), RONDE_BAD_ARGUMENT);
    error = (struct ronde_error){0};
    call = all_reduce(8, 2, 1024);
    CU_ASSERT_EQUAL(ronde_nccl_call_check(&lone, &call, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "without NICs") != NULL);
    error = (struct ronde_error){0};
    call = all_reduce(4, 1, 1024);
    call.collective = RONDE_BARRIER;
    CU_ASSERT_EQUAL(ronde_nccl_call_check(&lone, &call, &error), RONDE_UNSUPPORTED);
}

static void malformed_descriptions_are_refused_with_their_line(void)
{
    static const struct {
        const char *text;
        uint32_t line;
        const char *says;
    } cases[] = {
        {"name x\ngeneration turing\n", 2, "pascal, volta"},
        {"name x\nname y\n", 2, "twice"},
        {"# none\nname x\ngpus 2.5\n", 3, "whole number"},
        {"gpus\n", 1, "one value"},
        {"gpus 0\n", 1, "from 1 to"},
        {"wheels 4\n", 1, "no such line of a machine's description: there are name, "},
        {"nic 8\n", 1, "sockets, nics, nic_GBps"},
        {"nvlink_GBps nan\n", 1, "not a number"},
        {"name x\ngeneration volta\ngpus 4\nlink switch\n", 0, "nvlink_GBps"},
        {"name x\ngeneration volta\ngpus 4\nlink pcie\npcie_GBps 16\nnics 1\n", 0, "nic_GBps"},
        {"name a b c d e f g h i j k l m n o p q r s t u v w x\n", 1, "more than 24 words"},
        {"name x\ngpu Gaudi 3\ngpus 8\n", 2, "\"Gaudi 3\" is no GPU"},
        {"name x\ngpu H100\ninside PCIe\n", 0, "no line says gpus"},
        {"name x\ngpu H100\ninside PCIe, 1 GPU\nnics\n", 4, "one value"},
        {"name x\ngpu H100\ninside NVSwitch 8 GPU\nnics 8\n", 0, "no line says nic_GBps"},
        {"name x\ngpu H100\ngpus 8\ninside PCIe\nlink switch\n", 0, "no line says nvlink_GBps"},
        {"name x\ngpu H100\ninside PCIe, 1 GPU\nnics 1\nnic_GBps 50\n", 0, "no line says fabric"},
        {"name x\ngpu H100\ngpu H200\n", 3, "twice"},
        {"name x\ngpu\n", 2, "one value"},
        {"name x\ngpu H100\ngpus 8\nbetween pigeons\n", 4,
         "between: \"PIGEONS\" names no fabric and rate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char path[] = "nccl_model_test.txt";
        struct ronde_nccl_machine machine;
        struct ronde_error error = {0};
        FILE *file = fopen(path, "w");
        CU_ASSERT_FATAL(file != NULL);
        fputs(cases[i].text, file);
        fclose(file);
        CU_ASSERT_EQUAL(ronde_nccl_machine_read(path, &machine, &error), RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, cases[i].line);
        CU_ASSERT(strstr(error.message, cases[i].says) != NULL);
        unlink(path);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"tuner_is_ncclTopoGetAlgoTime", tuner_is_ncclTopoGetAlgoTime},
        {"what_nccl_disables_has_no_time", what_nccl_disables_has_no_time},
        {"nccl_goes_from_LL_to_Simple", nccl_goes_from_LL_to_Simple},
        {"chain_beats_ring_over_bridged_pairs", chain_beats_ring_over_bridged_pairs},
        {"tree_uses_nics_twice_beyond_two_nodes", tree_uses_nics_twice_beyond_two_nodes},
        {"one_process_is_bound_by_its_launches", one_process_is_bound_by_its_launches},
        {"times_grow_with_bytes", times_grow_with_bytes},
        {"the_fastest_is_the_least", the_fastest_is_the_least},
        {"impossible_calls_are_refused", impossible_calls_are_refused},
        {"malformed_descriptions_are_refused_with_their_line",
         malformed_descriptions_are_refused_with_their_line},
    };
    return suite_run("nccl_model", cases, sizeof cases / sizeof cases[0]);
}
