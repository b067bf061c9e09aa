/**
 * NCCL's sends and receives: channels, chunks and rates by hand on a made-up machine, the protocol by size, and on every
 * shipped machine that no wire is beaten and that a time is there.
 */
#include "support/files.h"
#include "support/suite.h"

#include "nccl_shipped.h"

#include "ronde/nccl_model.h"

#include <math.h>
#include <string.h>

#define MIB (1u << 20)
#define GIB ((uint64_t)1 << 30)

/** Eight Hoppers of 18 links and 8 NICs; rates of constants are round, and nothing but rates takes time. */
static struct ronde_nccl_constants made_up(void)
{
    struct ronde_nccl_constants made = nccl_shipped();
    static const struct {
        unsigned which;
        double value;
    } common[] = {
        {RONDE_NCCL_COMMON_nvlink_efficiency, .8},
        {RONDE_NCCL_COMMON_p2p_channel_GBps, 10},
        {RONDE_NCCL_COMMON_net_channel_GBps, 48},
        {RONDE_NCCL_COMMON_infiniband_rendezvous_us, 1e-6},
        {RONDE_NCCL_COMMON_p2p_host_channel_GBps, 2},
        {RONDE_NCCL_COMMON_p2p_message_us, 1e-6},
        {RONDE_NCCL_COMMON_infiniband_latency_us, 1e-6},
        {RONDE_NCCL_COMMON_net_simple_us, 1e-6},
        {RONDE_NCCL_COMMON_nvlink_simple_us, 1e-6},
        {RONDE_NCCL_COMMON_infiniband_efficiency, .9},
        {RONDE_NCCL_COMMON_pcie_simple_us, 1e-6},
    };
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        made.all[common[i].which].value = common[i].value;
    made.launch_us = 1e-6;
    return made;
}

static double GBps_of(const struct ronde_nccl_machine *machine, struct ronde_nccl_call call)
{
    const struct ronde_nccl_constants made = made_up();
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_choice choice;
    CU_ASSERT(isinf(ronde_nccl_choose(&made, machine, &call, any, &choice)));
    CU_ASSERT_EQUAL(choice.algorithm, RONDE_NCCL_POINT);
    return (double)call.bytes / 1e3 / ronde_nccl_execution_us(&made, machine, &call, choice);
}

/** The slower of two rates, as setting.c has it. */
static double both(double a, double b)
{
    return pow(pow(a, -6) + pow(b, -6), -1 / 6.);
}

/*
 * A shift by one of great messages, by version and ranks: channels are those of paths.cc. Between nodes 2 of 12 GB/s, a block of 16 and a proxy of 48 in turns, while
 * 2 n <= 4 P, then 1 (to 2.28); since 2.29 50 / 14 rounded up, halved until they fit into P / ceil(n / 8). P is 16 with all 8 NICs and 4 with one.
 */
static void a_shift_gets_the_channels_of_one_peer(void)
{
    static const struct {
        uint32_t ranks, nodes, version;
        double channels;
    } rows[] = {
        {64, 8, 219, 2}, {32, 4, 228, 2},  {40, 5, 228, 1},  {2, 2, 229, 4}, {10, 10, 229, 2},
        {16, 2, 229, 4}, {40, 10, 229, 2}, {80, 10, 229, 1}, {80, 10, 0, 1}, {64, 8, 228, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_call call = {RONDE_SEND_RECV, rows[r].ranks, rows[r].nodes,
                                             rows[r].version, 16 * GIB};
        const double expected = both(45, 12 * rows[r].channels), got = GBps_of(&nccl_h100, call);
        if (fabs(got / expected - 1) > .01)
            suite_note("%u ranks on %u nodes, version %u: %g GB/s, by hand %g", rows[r].ranks,
                       rows[r].nodes, rows[r].version, got, expected);
        CU_ASSERT_DOUBLE_EQUAL(got, expected, .01 * expected);
    }
}

/* On one node of 8 a message is cut over 4 of 32 channels, over more once a part exceeds 16 MiB; 16 GB/s each. */
static void channels_double_with_the_part(void)
{
    static const struct {
        uint64_t bytes;
        double channels;
    } rows[] = {{32 * MIB, 4}, {64 * MIB, 4}, {128 * MIB, 8}, {256 * MIB, 16}, {512 * MIB, 32}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_call call = {RONDE_SEND_RECV, 8, 1, 229, rows[r].bytes};
        const double chunk = 524288 * rows[r].channels / (double)rows[r].bytes;
        const double expected = both(360, 16 * rows[r].channels) / (1 + chunk);
        CU_ASSERT_DOUBLE_EQUAL(GBps_of(&nccl_h100, call), expected, .01 * expected);
    }
}

/* all_to_all: half of a GPU's data leaves a node of two, over all channels; NICs of 45 GB/s are what it meets. */
static void many_peers_share_all_channels(void)
{
    const struct ronde_nccl_call two = {RONDE_ALL_TO_ALL, 16, 2, 229, 16 * GIB};
    const struct ronde_nccl_call one = {RONDE_ALL_TO_ALL, 8, 1, 229, 16 * GIB};
    const double across = both(45, 16 * 12);
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&nccl_h100, two), 2 * across, .01 * across);
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&nccl_h100, one), both(360, 512) * 8 / 7, 4);
    /* A root takes in what all others have, by its own NIC. */
    const struct ronde_nccl_call gather = {RONDE_GATHER, 16, 2, 229, 16 * GIB};
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&nccl_h100, gather), 2 * across, .02 * across);
    const struct ronde_nccl_call scatter = {RONDE_SCATTER, 16, 2, 229, 16 * GIB};
    CU_ASSERT_EQUAL(GBps_of(&nccl_h100, gather), GBps_of(&nccl_h100, scatter));
}

/* Between sockets through host memory, unless AMD's bridge joins them: 2 channels of 2 times 1.6 GB/s, or of 16. */
static void sockets_of_intel_part_their_gpus(void)
{
    struct ronde_nccl_machine machine = nccl_h100;
    const struct ronde_nccl_call call = {RONDE_SEND_RECV, 2, 1, 229, GIB};
    machine.link = RONDE_NODE_PCIE;
    machine.pcie_GBps = 1000;
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&machine, call), 6.4, .01);
    machine.cpu = RONDE_NCCL_AMD;
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&machine, call), 32, .05);
    machine.cpu = RONDE_NCCL_INTEL;
    machine.sockets = 1;
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&machine, call), 32, .05);
}

/* Slots carry sends and receives by p2p_slot_ratio faster than rings, but not through host memory. */
static void slots_carry_messages_faster_than_rings(void)
{
    const double ratio = made_up().all[RONDE_NCCL_COMMON_p2p_slot_ratio].value;
    struct ronde_nccl_machine machine = nccl_h100;
    const struct ronde_nccl_call call = {RONDE_SEND_RECV, 2, 1, 229, GIB};
    machine.link = RONDE_NODE_PCIE;
    machine.gpu_path = RONDE_NCCL_GPU_SWITCH;
    machine.pcie_GBps = 10;
    const double share = made_up().all[RONDE_NCCL_COMMON_pcie_switch_efficiency].value;
    CU_ASSERT(ratio > 1);
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&machine, call), 10 * share * ratio, .02);
    machine.gpu_path = RONDE_NCCL_GPU_HOST;
    machine.pcie_GBps = 2;
    CU_ASSERT_DOUBLE_EQUAL(GBps_of(&machine, call),
                           2 * made_up().all[RONDE_NCCL_COMMON_pcie_efficiency].value, .02);
}

/* One message to another node waits for the answer to its question, 500 us; of several one goes on while another asks. */
static void several_messages_hide_each_others_question(void)
{
    struct ronde_nccl_constants made = made_up();
    const struct ronde_nccl_choice simple = {RONDE_NCCL_POINT, RONDE_NCCL_SIMPLE};
    const struct ronde_nccl_call calls[] = {{RONDE_SEND_RECV, 16, 2, 229, MIB},
                                            {RONDE_ALL_TO_ALL, 2, 2, 229, MIB},
                                            {RONDE_ALL_TO_ALL, 16, 2, 229, MIB}};
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        made.all[RONDE_NCCL_COMMON_infiniband_rendezvous_us].value = 0;
        const double us = ronde_nccl_execution_us(&made, &nccl_h100, &calls[c], simple);
        made.all[RONDE_NCCL_COMMON_infiniband_rendezvous_us].value = 500;
        CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &nccl_h100, &calls[c], simple),
                               us + (c < 2 ? 500 : 0), 1);
    }
}

/* LL up to 16 KiB for each channel of a message. */
static void small_messages_go_by_ll(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    static const struct {
        struct ronde_nccl_call call;
        enum ronde_nccl_protocol protocol;
    } rows[] = {
        {{RONDE_SEND_RECV, 80, 10, 229, 16384}, RONDE_NCCL_LL},
        {{RONDE_SEND_RECV, 80, 10, 229, 16385}, RONDE_NCCL_SIMPLE},
        {{RONDE_ALL_TO_ALL, 80, 10, 229, 80 * 16384}, RONDE_NCCL_LL},
        {{RONDE_ALL_TO_ALL, 80, 10, 229, 80 * 16385}, RONDE_NCCL_SIMPLE},
        {{RONDE_ALL_TO_ALL, 8, 1, 229, 8 * 16384}, RONDE_NCCL_LL},
        {{RONDE_ALL_TO_ALL, 8, 1, 229, 8 * MIB}, RONDE_NCCL_SIMPLE},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_choice wish = {RONDE_NCCL_TREE, RONDE_NCCL_LL128};
        struct ronde_nccl_choice choice, fastest;
        CU_ASSERT(isinf(ronde_nccl_choose(&constants, &nccl_h100, &rows[r].call, wish, &choice)));
        CU_ASSERT_EQUAL(choice.algorithm, RONDE_NCCL_POINT);
        CU_ASSERT_EQUAL(choice.protocol, rows[r].protocol);
        const double us = ronde_nccl_fastest(&constants, &nccl_h100, &rows[r].call, &fastest);
        CU_ASSERT_EQUAL(us, ronde_nccl_execution_us(&constants, &nccl_h100, &rows[r].call, choice));
        CU_ASSERT_EQUAL(fastest.protocol, choice.protocol);
    }
}

static const enum ronde_collective collectives[] = {RONDE_SEND_RECV, RONDE_ALL_TO_ALL, RONDE_GATHER,
                                                    RONDE_SCATTER};

/** The bytes that a rank at least sends or takes in through its links. */
static double least_bytes(const struct ronde_nccl_call *call)
{
    const double bytes = (double)call->bytes, n = call->ranks;
    return call->collective == RONDE_SEND_RECV ? bytes : bytes * (n - 1) / n;
}

static void check_call(const struct ronde_nccl_constants *constants,
                       const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    struct ronde_nccl_choice choice;
    const double us = ronde_nccl_fastest(constants, machine, call, &choice);
    const double g = (double)call->ranks / call->nodes;
    const bool has_nvlink =
        machine->link != RONDE_NODE_PCIE && (machine->link != RONDE_NODE_PAIRS || g < 3);
    const double link = has_nvlink ? machine->nvlink_GBps : machine->pcie_GBps;
    const double outside = machine->nics * machine->nic_GBps;
    CU_ASSERT(isfinite(us) && us > 1);
    /* What leaves the node and what stays there go at once; a rack's nodes are one. */
    if (machine->nvlink_nodes > 1)
        return;
    CU_ASSERT(us >= least_bytes(call) / 1e3 / (link * (g > 1) + outside * (call->nodes > 1)));
}

static void check_machine(const char *file, void *context)
{
    const struct ronde_nccl_constants *constants = context;
    struct ronde_nccl_machine machine;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_read(file, &machine, &error), RONDE_OK);
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++)
        for (uint32_t g = 1; g <= machine.gpus; g++)
            for (uint32_t nodes = 1; nodes <= 64; nodes *= 4)
                for (uint64_t bytes = 1; bytes <= 16 * GIB; bytes *= 64) {
                    const struct ronde_nccl_call call = {collectives[c], g * nodes, nodes, 0, bytes};
                    error.status = RONDE_OK;
                    if (ronde_nccl_call_check(&machine, &call, &error) == RONDE_OK)
                        check_call(constants, &machine, &call);
                }
}

static void every_machine_has_a_time_and_no_wire_is_beaten(void)
{
    struct ronde_nccl_constants constants = nccl_shipped();
    CU_ASSERT(files_walk("topologies/published", ".txt", check_machine, &constants) > 10);
}

/*
 * 16 ranks on 2 nodes send 8 messages each to the other node, which a proxy needs 100 us for: one after another where they are short, and
 * by LL all but the first under way where they are long. By Simple each is waited for.
 */
static void messages_are_handled_while_others_are_under_way(void)
{
    const struct ronde_nccl_choice simple = {RONDE_NCCL_POINT, RONDE_NCCL_SIMPLE},
                                   lines = {RONDE_NCCL_POINT, RONDE_NCCL_LL};
    const struct ronde_nccl_call brief = {RONDE_ALL_TO_ALL, 16, 2, 229, 16},
                                 large = {RONDE_ALL_TO_ALL, 16, 2, 229, 16 * GIB};
    struct ronde_nccl_constants made = made_up();
    const double simple_us = ronde_nccl_execution_us(&made, &nccl_h100, &large, simple),
                 lines_us = ronde_nccl_execution_us(&made, &nccl_h100, &large, lines);
    made.all[RONDE_NCCL_COMMON_p2p_message_us].value = 100;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &nccl_h100, &brief, simple), 800, 1);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &nccl_h100, &brief, lines), 800, 1);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &nccl_h100, &large, simple),
                           simple_us + 800, 1);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &nccl_h100, &large, lines),
                           lines_us + 100, 1);
}

/* Before Hopper a NIC reads back what a message by Simple wrote before the GPU is told of it; lines need it not, nor do sockets. */
static void messages_to_older_gpus_are_flushed(void)
{
    const struct ronde_nccl_choice simple = {RONDE_NCCL_POINT, RONDE_NCCL_SIMPLE},
                                   lines = {RONDE_NCCL_POINT, RONDE_NCCL_LL};
    const struct ronde_nccl_call call = {RONDE_ALL_TO_ALL, 16, 2, 229, 16};
    static const struct {
        enum ronde_nccl_generation generation;
        enum ronde_nccl_fabric fabric;
        bool is_flushed;
    } rows[] = {{RONDE_NCCL_VOLTA, RONDE_NCCL_INFINIBAND, true},
                {RONDE_NCCL_AMPERE, RONDE_NCCL_INFINIBAND, true},
                {RONDE_NCCL_AMPERE, RONDE_NCCL_SLINGSHOT, true},
                {RONDE_NCCL_AMPERE, RONDE_NCCL_ETHERNET, false},
                {RONDE_NCCL_HOPPER, RONDE_NCCL_INFINIBAND, false},
                {RONDE_NCCL_BLACKWELL, RONDE_NCCL_INFINIBAND, false},
                {RONDE_NCCL_CDNA3, RONDE_NCCL_INFINIBAND, false}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct ronde_nccl_machine machine = nccl_h100;
        struct ronde_nccl_constants made = made_up();
        double us[2][2];
        machine.generation = rows[r].generation;
        machine.fabric = rows[r].fabric;
        for (unsigned i = 0; i < 2; i++) {
            made.all[RONDE_NCCL_COMMON_net_flush_us].value = i == 0 ? 1e-6 : 10;
            us[i][0] = ronde_nccl_execution_us(&made, &machine, &call, simple);
            us[i][1] = ronde_nccl_execution_us(&made, &machine, &call, lines);
        }
        CU_ASSERT_DOUBLE_EQUAL(us[1][0] - us[0][0], rows[r].is_flushed ? 80 : 0, 1e-3);
        CU_ASSERT_DOUBLE_EQUAL(us[1][1], us[0][1], 1e-9);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"messages_to_older_gpus_are_flushed", messages_to_older_gpus_are_flushed},
        {"a_shift_gets_the_channels_of_one_peer", a_shift_gets_the_channels_of_one_peer},
        {"channels_double_with_the_part", channels_double_with_the_part},
        {"many_peers_share_all_channels", many_peers_share_all_channels},
        {"sockets_of_intel_part_their_gpus", sockets_of_intel_part_their_gpus},
        {"slots_carry_messages_faster_than_rings", slots_carry_messages_faster_than_rings},
        {"several_messages_hide_each_others_question", several_messages_hide_each_others_question},
        {"small_messages_go_by_ll", small_messages_go_by_ll},
        {"messages_are_handled_while_others_are_under_way",
         messages_are_handled_while_others_are_under_way},
        {"every_machine_has_a_time_and_no_wire_is_beaten",
         every_machine_has_a_time_and_no_wire_is_beaten},
    };
    return suite_run("nccl_point", cases, sizeof cases / sizeof cases[0]);
}
