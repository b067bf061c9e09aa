/**
 * How long NCCL's algorithms take: values by hand on made-up constants. nccl_monotony_test.c has what holds on shipped ones.
 */
#include "support/suite.h"

#include "ronde/nccl_model.h"

#include "nccl/model/setting.h"

#include <math.h>
#include <string.h>

#define MIB (1u << 20)

static void set_of(struct ronde_nccl_constants *constants, enum ronde_nccl_of_generation which,
                   double value)
{
    constants
        ->all[RONDE_NCCL_COMMON_COUNT + (size_t)RONDE_NCCL_HOPPER * RONDE_NCCL_OF_GENERATION_COUNT +
              which]
        .value = value;
}

/* Launch 5, a hop of 2 x 3 us, a link of half 300 GB/s, 10 channels of 20 GB/s, nothing overlaps. */
static struct ronde_nccl_constants made_up(void)
{
    struct ronde_nccl_constants made = {.inside = 1, .between = 1, .links = 1, .nics = 1};
    made.all[RONDE_NCCL_COMMON_launch_us].value = 5;
    set_of(&made, RONDE_NCCL_OF_launch_ratio, 1);
    set_of(&made, RONDE_NCCL_OF_hop_ratio, 2);
    set_of(&made, RONDE_NCCL_OF_link_ratio, 1);
    set_of(&made, RONDE_NCCL_OF_channel_ratio, 1);
    set_of(&made, RONDE_NCCL_OF_channels, 10);
    set_of(&made, RONDE_NCCL_OF_nvls_channels, 16);
    set_of(&made, RONDE_NCCL_OF_nvls_efficiency, .5);
    made.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = .5;
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 3;
    made.all[RONDE_NCCL_COMMON_channel_simple_GBps].value = 20;
    made.all[RONDE_NCCL_COMMON_nvls_us].value = 30;
    made.all[RONDE_NCCL_COMMON_nvls_chunk_us].value = .25;
    made.all[RONDE_NCCL_COMMON_launch_us_per_channel].value = 2;
    made.all[RONDE_NCCL_COMMON_launch_us_per_gpu].value = 4;
    for (unsigned o = RONDE_NCCL_COMMON_overlap_net_ring_ll; o <= RONDE_NCCL_COMMON_overlap_host;
         o++)
        made.all[o].value = 1;
    return made;
}

static const struct ronde_nccl_machine made_machine = {.name = "made",
                                                       .generation = RONDE_NCCL_HOPPER,
                                                       .link = RONDE_NODE_SWITCH,
                                                       .gpus = 8,
                                                       .sockets = 1,
                                                       .nvlink_GBps = 300};

/** A link of 150 GB/s and channels of so many GB/s for operations, of which `work` come to one block on the link. */
static double both(double channels_GBps, double work)
{
    return pow(pow(150, -6) + pow(channels_GBps / work, -6), -1 / 6.);
}

/** What NVLS's first two rounds take through a link of 150 GB/s. */
static double filled(uint64_t bytes, unsigned ranks)
{
    return (double)bytes / 1e3 / (150 / (1 + 1. / ranks));
}

/* By Simple a broadcast's sender is up to 8 slots of 512 KiB ahead in each of 10 channels, and shows one hop at least. A channel is opened for 32 KiB. NVLS's chunks: 16 KiB below 2 rounds of 16 channels times ranks, 32 KiB below 8, 64 KiB
 * below 64; a chunk of 4 GPUs costs half of one of 8. */
static void values_are_those_by_hand(void)
{
    const struct {
        enum ronde_collective collective;
        uint32_t ranks;
        unsigned algorithm;
        uint64_t bytes;
        double latency_us, GBps;
    } rows[] = {
        {RONDE_ALL_REDUCE, 4, RONDE_NCCL_RING, MIB, 6 * 6, both(200, 7 / 6.) * 4 / 6.},
        {RONDE_ALL_REDUCE, 4, RONDE_NCCL_RING, 65536, 6 * 6, both(40, 7 / 6.) * 4 / 6.},
        {RONDE_ALL_REDUCE, 4, RONDE_NCCL_RING, 1024, 6 * 6, both(20, 7 / 6.) * 4 / 6.},
        {RONDE_ALL_REDUCE, 8, RONDE_NCCL_RING, MIB, 14 * 6, both(200, 15 / 14.) * 8 / 14.},
        {RONDE_ALL_GATHER, 4, RONDE_NCCL_RING, MIB, 3 * 6, both(200, 4 / 3.) * 4 / 3.},
        {RONDE_REDUCE_SCATTER, 2, RONDE_NCCL_RING, MIB, 6, both(200, 2) * 2},
        {RONDE_BROADCAST, 4, RONDE_NCCL_RING, MIB, 6, both(200, 1)},
        {RONDE_BROADCAST, 4, RONDE_NCCL_RING, 20 * MIB, 3 * 6 / 2., both(200, 1)},
        {RONDE_BROADCAST, 4, RONDE_NCCL_RING, 80 * MIB, 3 * 6, both(200, 1)},
        {RONDE_REDUCE, 4, RONDE_NCCL_RING, 65536, 6, both(40, 1)},
        {RONDE_ALL_REDUCE, 4, RONDE_NCCL_NVLS, MIB, 30 + filled(2 * MIB, 4) + 64 * .25 / 2,
         300 * .5 / 1.25},
        {RONDE_ALL_REDUCE, 8, RONDE_NCCL_NVLS, 16 * MIB, 30 + filled(8 * MIB, 8) + 512 * .25,
         300 * .5 / 1.125},
        {RONDE_ALL_REDUCE, 8, RONDE_NCCL_NVLS, 64 * MIB, 30 + filled(16 * MIB, 8) + 1024 * .25,
         300 * .5 / 1.125},
        {RONDE_ALL_REDUCE, 8, RONDE_NCCL_NVLS, 1024 * MIB, 30 + filled(32 * MIB, 8) + 8192 * .25,
         300 * .5 / 1.125},
        {RONDE_ALL_GATHER, 4, RONDE_NCCL_NVLS, MIB, 30 + filled(2 * MIB, 4), both(200, 1) * 4 / 3.},
    };
    const struct ronde_nccl_constants made = made_up();
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_call call = {rows[r].collective, rows[r].ranks, 1, 229,
                                             rows[r].bytes};
        const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)rows[r].algorithm,
                                                 RONDE_NCCL_SIMPLE};
        const double us = ronde_nccl_execution_us(&made, &made_machine, &call, choice);
        CU_ASSERT_DOUBLE_EQUAL(us,
                               5 + rows[r].latency_us + (double)rows[r].bytes / 1e3 / rows[r].GBps,
                               1e-6 * us);
    }
}

/* 2 us for each of 4 channels before NCCL 2.14; 4 us for each of 8 GPUs that one process launches on. */
static void hosts_take_their_time(void)
{
    struct ronde_nccl_constants made = made_up();
    struct ronde_nccl_machine machine = made_machine;
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
    struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 8, 1, 214, 131072};
    const double us = ronde_nccl_execution_us(&made, &machine, &call, ring);
    call.version = 0;
    CU_ASSERT_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), us);
    call.version = 213;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), us + 8, 1e-9);
    call.version = 214;
    machine.is_one_process = true;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), us + 32, 1e-9);
    /* Until 2.21 that process writes 3 us of items for each of 4 channels on each GPU. */
    made.all[RONDE_NCCL_COMMON_launch_us_per_gpu_channel].value = 3;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), us + 32 + 96,
                           1e-9);
    call.version = 222;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), us + 32, 1e-9);
    made.all[RONDE_NCCL_COMMON_overlap_host].value = 100;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), us, 1e-9);
}

/** Bus bandwidth of a call that is all bytes, by ring and a protocol. */
static double ring_GBps(const struct ronde_nccl_constants *made,
                        const struct ronde_nccl_machine *machine, uint32_t g, uint32_t nodes,
                        enum ronde_nccl_protocol protocol)
{
    const struct ronde_nccl_call call = {RONDE_ALL_GATHER, g * nodes, nodes, 229, 1ull << 40};
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, protocol};
    const double n = call.ranks;
    return (double)call.bytes / 1e3 / ronde_nccl_execution_us(made, machine, &call, ring) *
           (n - 1) / n;
}

/** Constants by which links and NICs are all that counts. */
static struct ronde_nccl_constants links_alone(void)
{
    struct ronde_nccl_constants made = made_up();
    set_of(&made, RONDE_NCCL_OF_ll128_ratio, .6);
    made.all[RONDE_NCCL_COMMON_channel_simple_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_channel_ll128_share].value = 1;
    made.all[RONDE_NCCL_COMMON_net_channel_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_infiniband_efficiency].value = 1;
    made.all[RONDE_NCCL_COMMON_slot_efficiency].value = 1;
    made.all[RONDE_NCCL_COMMON_pcie_efficiency].value = .5;
    made.all[RONDE_NCCL_COMMON_pcie_pairs_efficiency].value = .25;
    made.all[RONDE_NCCL_COMMON_pcie_switch_efficiency].value = .75;
    made.all[RONDE_NCCL_COMMON_p2p_host_channel_GBps].value = 1;
    return made;
}

/* A link of 150 GB/s carries 7 of 8 of a ring's hops when NICs carry the eighth; a chain's root sends all through it. */
static void nics_relieve_links_of_rings(void)
{
    const struct ronde_nccl_constants made = links_alone();
    const struct ronde_nccl_call chain = {RONDE_BROADCAST, 16, 2, 229, 1ull << 40};
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
    struct ronde_nccl_machine machine = made_machine;
    machine.nics = 8;
    machine.nic_GBps = 1e4;
    machine.pcie_GBps = 1e5;
    CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 8, 1, RONDE_NCCL_SIMPLE), 150, .01);
    CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 8, 2, RONDE_NCCL_SIMPLE), 150 * 8 / 7., .01);
    CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 2, 4, RONDE_NCCL_SIMPLE), 150 * 2, .01);
    machine.nics = 4;
    CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 8, 2, RONDE_NCCL_SIMPLE), 150, .01);
    CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 8, 1, RONDE_NCCL_LL128), 150 * .6 * 15 / 16,
                           .01);
    CU_ASSERT_DOUBLE_EQUAL((double)chain.bytes / 1e3 /
                               ronde_nccl_execution_us(&made, &machine, &chain, ring),
                           150, .01);
}

/*
 * Broadcasts by LL over 4 nodes of 2, a channel for every 32 KiB: 64 threads carry 0.3 of 20 GB/s up to 4 KiB, 128 twice that, 512 no
 * more than all, and no latency shows. With two channels 4 hops of 2 x 1 us and 3 of 10 us do.
 */
static void chains_by_one_channel_hide_their_latency(void)
{
    static const struct {
        uint64_t bytes;
        double GBps;
    } rows[] = {{1024, 6}, {4096, 6}, {8192, 12}, {16384, 20}, {65535, 20}};
    struct ronde_nccl_constants made = links_alone();
    struct ronde_nccl_machine machine = made_machine;
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_LL};
    machine.nics = 8;
    machine.nic_GBps = 1e4;
    machine.pcie_GBps = 1e5;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 20;
    made.all[RONDE_NCCL_COMMON_net_channel_ll_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_socket_ll_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_nvlink_ll_us].value = 1;
    made.all[RONDE_NCCL_COMMON_infiniband_latency_us].value = 10;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_call call = {RONDE_BROADCAST, 8, 4, 217, rows[r].bytes};
        CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring),
                               5 + (double)rows[r].bytes / 1e3 / rows[r].GBps, 1e-9);
    }
    const struct ronde_nccl_call two = {RONDE_BROADCAST, 8, 4, 217, 65536};
    CU_ASSERT(ronde_nccl_execution_us(&made, &machine, &two, ring) >
              5 + (4 * 2 + 3 * 10) * 65536. / (16 * 32768));
}

/* A search has 16 channels: of a rack's 72 GPUs those of 16 NICs of 10 GB/s. */
static void racks_use_the_nics_that_a_search_has_channels_for(void)
{
    const struct ronde_nccl_constants made = links_alone();
    struct ronde_nccl_machine machine = made_machine;
    machine.gpus = 4;
    machine.nvlink_nodes = 18;
    machine.nvlink_GBps = 1e6;
    machine.nics = 4;
    machine.nic_GBps = 10;
    machine.pcie_GBps = 1e5;
    CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 4, 36, RONDE_NCCL_SIMPLE), 160, .1);
}

/* Half of a slot by host bridges, a quarter between bridged pairs, 3/4 by switches; by host memory 1 GB/s a channel of 2, gen4 2 of 4. */
static void slots_reach_what_lies_between_them(void)
{
    static const struct {
        enum ronde_node_link link;
        enum ronde_nccl_gpu_path path;
        double slot_GBps, GBps;
    } rows[] = {
        {RONDE_NODE_PCIE, RONDE_NCCL_GPU_BRIDGE, 31.5, 15.75},
        {RONDE_NODE_PAIRS, RONDE_NCCL_GPU_BRIDGE, 31.5, 7.875},
        {RONDE_NODE_PCIE, RONDE_NCCL_GPU_SWITCH, 31.5, 23.625},
        {RONDE_NODE_PAIRS, RONDE_NCCL_GPU_SWITCH, 31.5, 23.625},
        {RONDE_NODE_PCIE, RONDE_NCCL_GPU_HOST, 31.5, 4 * 2 * 3 / 4.},
        {RONDE_NODE_PCIE, RONDE_NCCL_GPU_HOST, 15.75, 2 * 1 * 3 / 4.},
    };
    const struct ronde_nccl_constants made = links_alone();
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct ronde_nccl_machine machine = made_machine;
        machine.link = rows[r].link;
        machine.gpu_path = rows[r].path;
        machine.pcie_GBps = rows[r].slot_GBps;
        machine.nvlink_GBps = 1e6;
        CU_ASSERT_DOUBLE_EQUAL(ring_GBps(&made, &machine, 4, 1, RONDE_NCCL_SIMPLE), rows[r].GBps,
                               1e-3 * rows[r].GBps);
    }
}

/** 4 nodes of 8 on 2 sockets, whose NICs and links are out of the way; LL before 2.18, which opens more channels on such NICs. */
static double lines_us(struct ronde_nccl_constants *made, uint32_t g, uint64_t bytes)
{
    struct ronde_nccl_machine machine = made_machine;
    const struct ronde_nccl_call call = {RONDE_ALL_GATHER, 4 * g, 4, 217, bytes};
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_LL};
    machine.nics = 8;
    machine.nic_GBps = 1e5;
    machine.sockets = 2;
    machine.nvlink_GBps = 1e6;
    machine.pcie_GBps = 1e6;
    made->all[RONDE_NCCL_COMMON_slot_efficiency].value = 1;
    made->all[RONDE_NCCL_COMMON_infiniband_efficiency].value = 1;
    made->all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 1e5;
    set_of(made, RONDE_NCCL_OF_channels, 8);
    return ronde_nccl_execution_us(made, &machine, &call, ring);
}

/* LL by 8 channels of 1 GB/s each, 5 GB/s a socket; then by 1 of 8 GPUs, which has 2 channels. */
static void ll_between_nodes_goes_through_proxies(void)
{
    static const struct {
        uint32_t g;
        double channel, socket, GBps;
    } rows[] = {{8, 1, 5, 8}, {8, 1, 2, 4}, {1, 1, 5, 2}, {1, 10, 5, 5}, {4, 10, 5, 5}};
    struct ronde_nccl_constants made = made_up();
    made.all[RONDE_NCCL_COMMON_overlap_net_ring_ll].value = 100;
    made.all[RONDE_NCCL_COMMON_net_message_us].value = 0;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const double n = 4. * rows[r].g, bytes = 256. * MIB;
        made.all[RONDE_NCCL_COMMON_net_channel_ll_GBps].value = rows[r].channel;
        made.all[RONDE_NCCL_COMMON_socket_ll_GBps].value = rows[r].socket;
        const double us = lines_us(&made, rows[r].g, 256 * MIB);
        CU_ASSERT(isfinite(us));
        CU_ASSERT_DOUBLE_EQUAL(us, 5 + bytes * (n - 1) / n / 1e3 / rows[r].GBps, 1e-3 * us);
    }
}

/*
 * 32 ranks, 31 steps, 4 of them between nodes, 256 KiB: blocks of 8 KiB by 2 channels. Nothing is in the way of a block: 4 times a
 * channel's 4 KiB by its rate. Where messages cost a processor 10 us, 2 processors take 31 times 10 us; the longer counts.
 */
static void rings_by_ll_take_the_longer_of_path_and_messages(void)
{
    struct ronde_nccl_constants made = made_up();
    made.all[RONDE_NCCL_COMMON_overlap_net_ring_ll].value = 100;
    made.all[RONDE_NCCL_COMMON_net_channel_ll_GBps].value = .5;
    made.all[RONDE_NCCL_COMMON_socket_ll_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_net_message_us].value = 0;
    made.all[RONDE_NCCL_COMMON_nvlink_ll_us].value = 2;
    made.all[RONDE_NCCL_COMMON_infiniband_latency_us].value = 10;
    /* A hop inside is twice 2 us (hop_ratio). */
    const double hops = 27 * 4 + 4 * 10;
    /* The two channels' own 31 blocks of 4 KiB are longer than that of one block. */
    CU_ASSERT_DOUBLE_EQUAL(lines_us(&made, 8, 262144), 5 + 31 * 8.192, 1);
    made.all[RONDE_NCCL_COMMON_net_channel_ll_GBps].value = 10;
    CU_ASSERT_DOUBLE_EQUAL(lines_us(&made, 8, 262144), 5 + hops + 4 * .4096, 1);
    made.all[RONDE_NCCL_COMMON_net_message_us].value = 10;
    CU_ASSERT_DOUBLE_EQUAL(lines_us(&made, 8, 262144), 5 + 31 * 10, 1);
    made.all[RONDE_NCCL_COMMON_overlap_net_ring_ll].value = 1;
    CU_ASSERT_DOUBLE_EQUAL(lines_us(&made, 8, 262144), 5 + hops + 4 * .4096 + 31 * 10, 1);
}

/*
 * all_gather of four nodes by Simple, NICs of 8 GB/s: three hops of 30 us. A block of 4 MB takes 500 us and goes in two slices, so all of them
 * in a row are longer than one slice's way. A block of 40 kB is one slice: its way of 100 us, or what each step takes at
 * least, twice as long where GPUs share a NIC. Processors that move EFA's messages hide no hop.
 */
static void slices_hide_hops_of_rings_between_nodes(void)
{
    struct ronde_nccl_constants made = links_alone();
    struct ronde_nccl_machine machine = made_machine;
    struct ronde_nccl_call call = {RONDE_ALL_GATHER, 4, 4, 229, 16000000};
    const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
    machine.nics = 8;
    machine.nic_GBps = 8;
    machine.pcie_GBps = 1e5;
    made.all[RONDE_NCCL_COMMON_infiniband_latency_us].value = 10;
    made.all[RONDE_NCCL_COMMON_net_simple_us].value = 20;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring),
                           5 + 500 + ronde_nccl_overlapped(90 + 2 * 250, 2 * 500, 4), .1);
    call.bytes = 160000;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), 5 + 5 + 100, .1);
    made.all[RONDE_NCCL_COMMON_net_ring_step_us].value = 200;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring),
                           5 + 5 + ronde_nccl_overlapped(100, 400, 4), .1);
    machine.nics = 2;
    machine.nic_GBps = 1e4;
    call = (struct ronde_nccl_call){RONDE_ALL_GATHER, 16, 2, 229, 1600};
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), 5 + 14 * 400, 2);
    made.all[RONDE_NCCL_COMMON_overlap_hosted].value = .5;
    made.all[RONDE_NCCL_COMMON_efa_latency_us].value = 10;
    made.all[RONDE_NCCL_COMMON_efa_efficiency].value = 1;
    machine.fabric = RONDE_NCCL_EFA;
    machine.nics = 8;
    machine.nic_GBps = 8;
    call = (struct ronde_nccl_call){RONDE_ALL_GATHER, 4, 4, 229, 16000000};
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, ring), 5 + 90 + 3 * 500,
                           .1);
}

/*
 * 4 ranks, 16 KiB: six steps of 4 KiB by one channel of 4.096 GB/s, which is 1 us, and hops of 1 us. Since 2.10 these go together, as sides
 * of a right angle do, but not through host memory. By Simple a call begins later, by its generation.
 */
static void first_lines_ride_on_hops(void)
{
    const struct ronde_nccl_choice lines = {RONDE_NCCL_RING, RONDE_NCCL_LL},
                                   simple = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
    struct ronde_nccl_machine machine = made_machine;
    struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 4, 1, 217, 16384};
    struct ronde_nccl_constants made = made_up();
    machine.nvlink_GBps = 1e6;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 4.096;
    made.all[RONDE_NCCL_COMMON_nvlink_ll_us].value = .5;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, lines), 5 + 6 * sqrt(2),
                           .01);
    call.version = 208;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, lines), 5 + 2 + 6 * 2,
                           .01);
    call.version = 217;
    const double us = ronde_nccl_execution_us(&made, &machine, &call, simple);
    set_of(&made, RONDE_NCCL_OF_launch_ratio, 2);
    made.all[RONDE_NCCL_COMMON_launch_simple_us].value = 3;
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, simple), us + 5 + 6, .01);
}

/* Two bridged pairs: a ring goes over PCIe on 2 of 4 hops, a chain on 1 of 3, up and down; two GPUs of a pair never do. */
static void hops_between_bridges_are_counted(void)
{
    static const struct {
        enum ronde_nccl_algorithm algorithm;
        uint32_t ranks;
        double hops_us;
    } rows[] = {{RONDE_NCCL_RING, 4, 6 * (9 + 3) / 2.},
                {RONDE_NCCL_TREE, 4, 2 * (9 + 2 * 3)},
                {RONDE_NCCL_RING, 2, 2 * 3},
                {RONDE_NCCL_TREE, 2, 2 * 3}};
    struct ronde_nccl_constants made = made_up();
    struct ronde_nccl_machine machine = made_machine;
    machine.link = RONDE_NODE_PAIRS;
    machine.gpus = 4;
    machine.pcie_GBps = 1e6;
    machine.nvlink_GBps = 1e6;
    made.all[RONDE_NCCL_COMMON_pcie_pairs_efficiency].value = 1;
    made.all[RONDE_NCCL_COMMON_tree_nvlink_efficiency].value = 1;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_pcie_ll_share].value = 1;
    made.all[RONDE_NCCL_COMMON_pcie_ll_us].value = 9;
    made.all[RONDE_NCCL_COMMON_nvlink_ll_us].value = 3 / 2.;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, rows[r].ranks, 1, 229, 1024};
        const struct ronde_nccl_choice choice = {rows[r].algorithm, RONDE_NCCL_LL};
        CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, choice),
                               5 + rows[r].hops_us, .1);
    }
}

/* By host memory a hop takes a flag's way across the slot longer, by every protocol. */
static void flags_in_host_memory_lie_across_the_slot(void)
{
    static const double hops_us[] = {7, 20, 40};
    struct ronde_nccl_constants made = made_up();
    struct ronde_nccl_machine machine = made_machine;
    machine.link = RONDE_NODE_PCIE;
    machine.pcie_GBps = 1e6;
    static const enum ronde_nccl_common ones[] = {RONDE_NCCL_COMMON_pcie_efficiency,
                                                  RONDE_NCCL_COMMON_pcie_ll_share,
                                                  RONDE_NCCL_COMMON_pcie_ll128_share,
                                                  RONDE_NCCL_COMMON_channel_ll128_share};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++)
        made.all[ones[i]].value = 1;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 1e6;
    made.all[RONDE_NCCL_COMMON_p2p_host_channel_GBps].value = 1e6;
    for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
        const struct ronde_nccl_call call = {RONDE_ALL_GATHER, 4, 1, 229, 4};
        const struct ronde_nccl_choice choice = {RONDE_NCCL_RING, (enum ronde_nccl_protocol)p};
        made.all[RONDE_NCCL_COMMON_pcie_ll_us + p].value = hops_us[p];
        machine.gpu_path = RONDE_NCCL_GPU_BRIDGE;
        const double direct_us = ronde_nccl_execution_us(&made, &machine, &call, choice);
        machine.gpu_path = RONDE_NCCL_GPU_HOST;
        CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_execution_us(&made, &machine, &call, choice),
                               direct_us + 3 * hops_us[RONDE_NCCL_LL], 1);
    }
}

/* Packets of PCIe leave LL and LL128 less than their flags do; NVLink's do not. */
static void pcie_leaves_ll_less(void)
{
    struct ronde_nccl_constants made = made_up();
    struct ronde_nccl_machine machine = made_machine;
    machine.pcie_GBps = 100;
    set_of(&made, RONDE_NCCL_OF_channels, 4);
    made.all[RONDE_NCCL_COMMON_pcie_efficiency].value = .5;
    made.all[RONDE_NCCL_COMMON_pcie_ll_share].value = .4;
    made.all[RONDE_NCCL_COMMON_pcie_ll128_share].value = .6;
    static const double pcie[] = {20, 30, 50}, nvlink[] = {75, 150 * 15 / 16., 150};
    for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
        const struct ronde_nccl_call call = {RONDE_ALL_GATHER, 4, 1, 229, 1024 * MIB};
        const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, (enum ronde_nccl_protocol)p};
        made.all[RONDE_NCCL_COMMON_channel_ll_GBps + p].value = 1e5;
        made.all[RONDE_NCCL_COMMON_nvlink_ll_us + p].value = 0;
        for (int is_pcie = 0; is_pcie < 2; is_pcie++) {
            machine.link = is_pcie ? RONDE_NODE_PCIE : RONDE_NODE_SWITCH;
            const double us = ronde_nccl_execution_us(&made, &machine, &call, ring);
            CU_ASSERT_DOUBLE_EQUAL(us,
                                   5 + (double)call.bytes * .75 / 1e3 /
                                           (is_pcie ? pcie[p] : nvlink[p]),
                                   1e-6 * us);
        }
    }
}

static void the_shorter_of_two_times_hides(void)
{
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_overlapped(3, 4, 1), 7, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_overlapped(3, 4, 2), 5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_overlapped(4, 3, 2), 5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ronde_nccl_overlapped(3, 4, 1000), 4, 1e-12);
    CU_ASSERT(ronde_nccl_overlapped(3, 4, .5) > 7);
    CU_ASSERT_EQUAL(ronde_nccl_overlapped(0, 0, 2), 0);
    CU_ASSERT_EQUAL(ronde_nccl_overlapped(0, 4, .5), 4);
    CU_ASSERT_EQUAL(ronde_nccl_overlapped(INFINITY, 4, 2), INFINITY);
}

static void versions_follow_dates(void)
{
    static const struct {
        uint32_t year, month, version;
    } rows[] = {{2015, 1, 207}, {2021, 6, 208},  {2024, 2, 218}, {2024, 3, 219},
                {2024, 7, 220}, {2024, 12, 222}, {2025, 2, 223}, {2040, 1, 230}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        CU_ASSERT_EQUAL(ronde_nccl_version_at(rows[r].year, rows[r].month), rows[r].version);
}

static void calls_that_cannot_be_are_refused(void)
{
    static const struct {
        struct ronde_nccl_call call;
        uint32_t nics;
        const char *says; /**< NULL = fine */
    } cases[] = {
        {{RONDE_ALL_REDUCE, 4, 1, 0, 1}, 0, NULL},
        {{RONDE_ALL_REDUCE, 8, 2, 0, 1}, 1, NULL},
        {{RONDE_ALL_REDUCE, 1, 1, 0, 1}, 1, "at least 2 ranks"},
        {{RONDE_ALL_REDUCE, 0, 1, 0, 1}, 1, "0 ranks on 1 nodes"},
        {{RONDE_ALL_REDUCE, 4, 0, 0, 1}, 1, "4 ranks on 0 nodes"},
        {{RONDE_ALL_REDUCE, 4, 3, 0, 1}, 1, "equally many on each"},
        {{RONDE_ALL_REDUCE, 4, 8, 0, 1}, 1, "equally many on each"},
        {{RONDE_ALL_REDUCE, 5, 1, 0, 1}, 1, "made has 4 GPUs a node, not 5"},
        {{RONDE_ALL_REDUCE, 10, 2, 0, 1}, 1, "made has 4 GPUs a node, not 5"},
        {{RONDE_ALL_REDUCE, 8, 2, 0, 1}, 0, "made is described without NICs"},
        {{RONDE_ALL_REDUCE, 4, 1, 0, 0}, 1, "a call of 0 bytes has no time"},
        {{RONDE_BARRIER, 4, 1, 0, 1}, 1, "barrier is not modelled"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_nccl_machine machine = {.name = "made", .gpus = 4, .nics = cases[i].nics};
        struct ronde_error error = {.status = RONDE_OK};
        const enum ronde_status status = ronde_nccl_call_check(&machine, &cases[i].call, &error);
        CU_ASSERT_EQUAL(status == RONDE_OK, cases[i].says == NULL);
        CU_ASSERT(!cases[i].says || strstr(error.message, cases[i].says));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(values_are_those_by_hand),
        SUITE_CASE(hosts_take_their_time),
        SUITE_CASE(nics_relieve_links_of_rings),
        SUITE_CASE(chains_by_one_channel_hide_their_latency),
        SUITE_CASE(racks_use_the_nics_that_a_search_has_channels_for),
        SUITE_CASE(slots_reach_what_lies_between_them),
        SUITE_CASE(ll_between_nodes_goes_through_proxies),
        SUITE_CASE(rings_by_ll_take_the_longer_of_path_and_messages),
        SUITE_CASE(slices_hide_hops_of_rings_between_nodes),
        SUITE_CASE(first_lines_ride_on_hops),
        SUITE_CASE(hops_between_bridges_are_counted),
        SUITE_CASE(flags_in_host_memory_lie_across_the_slot),
        SUITE_CASE(pcie_leaves_ll_less),
        SUITE_CASE(the_shorter_of_two_times_hides),
        SUITE_CASE(versions_follow_dates),
        SUITE_CASE(calls_that_cannot_be_are_refused),
    };
    return suite_run("nccl_execution", cases, sizeof cases / sizeof cases[0]);
}
