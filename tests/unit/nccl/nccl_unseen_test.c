/**
 * Machines of kinds that the training table has none of, from words and from descriptions: what their owners have published of
 * them lies within the band that is predicted, the document shows what is predicted, no size is refused, and the fastest time neither falls nor jumps from size to size.
 */
#include "support/files.h"
#include "support/suite.h"

#include "nccl_shipped.h"

#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB ((uint64_t)1 << 30)

static const struct ronde_nccl_constants *constants(void)
{
    static struct ronde_nccl_constants read;
    static bool is_read;
    if (!is_read)
        read = nccl_shipped();
    is_read = true;
    return &read;
}

/** A machine in words, as a table has them. */
struct machine_said {
    const char *name;
    struct ronde_nccl_words_of words;
};

static const struct machine_said dgx1 = {"DGX-1",
                                         {"Tesla V100-SXM2-16GB", "NVLink2 hybrid cube mesh 8 GPU",
                                          "4x EDR IB 100Gb/s", "", 8}};
static const struct machine_said p3 = {"p3.16xlarge",
                                       {"Tesla V100-SXM2-16GB", "NVLink2 mesh 8 GPU", "25Gb/s TCP",
                                        "", 8}};
static const struct machine_said leonardo = {"Leonardo",
                                             {"A100 custom 64GB SXM", "NVLink3 4-GPU mesh",
                                              "2x dual-port HDR100", "", 4}};
static const struct machine_said ndv4 = {"ND A100 v4",
                                         {"NVIDIA A100-SXM4-40GB", "NVSwitch 8 GPU", "8x HDR", "",
                                          8}};
static const struct machine_said p4d = {"p4d.24xlarge",
                                        {"NVIDIA A100-SXM4-40GB", "NVLink3 NVSwitch 8 GPU",
                                         "4x EFA 100Gb/s", "", 8}};
static const struct machine_said a3 = {"a3-highgpu-8g",
                                       {"NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU",
                                        "4x200Gb/s GPUDirect-TCPX", "", 8}};
static const struct machine_said h200 = {"H200",
                                         {"NVIDIA H200", "NVLink4 NVSwitch 8 GPU",
                                          "8x NDR IB 400Gb/s", "", 8}};
static const struct machine_said mi300x = {"MI300X",
                                           {"AMD Instinct MI300X",
                                            "XGMI full mesh 8 GPU (64GB/s per link per dir)",
                                            "8x400Gb/s RoCE", "", 8}};
static const struct machine_said mi250x = {"MI250X",
                                           {"AMD Instinct MI250X", "Infinity Fabric 8 GCD",
                                            "4x Slingshot-11 200Gb/s", "", 8}};
static const struct machine_said nvl72 = {"GB200-NVL72",
                                          {"NVIDIA GB200", "NVLink5 NVL72", "4x NDR IB 400Gb/s", "",
                                           4}};
static const struct machine_said l4 = {"L4", {"NVIDIA L4", "PCIe4 x16 no NVLink", "", "", 4}};
static const struct machine_said a100_pcie = {"A100-PCIe",
                                              {"NVIDIA A100-PCIE-40GB", "PCIe4 x16 no NVLink",
                                               "1x HDR IB 200Gb/s", "", 8}};
static const struct machine_said rtx5090 = {"RTX5090",
                                            {"NVIDIA GeForce RTX 5090", "PCIe5 x16 no NVLink", "",
                                             "1 process -g 8", 8}};
static const struct machine_said one_roce = {"A100-RoCE",
                                             {"NVIDIA A100-PCIE-40GB", "PCIe4 x16", "100Gb/s RoCE",
                                              "", 1}};
static const struct machine_said one_10g = {"V100-10GbE",
                                            {"Tesla V100-PCIE-16GB", "PCIe3 x16", "10GbE TCP", "",
                                             1}};
static const struct machine_said one_100g = {"V100-100GbE",
                                             {"Tesla V100-SXM2-32GB", "", "100Gb/s TCP", "", 1}};
static const struct machine_said b200_efa = {"p6-b200",
                                             {"NVIDIA B200", "NVLink5 NVSwitch 8 GPU",
                                              "8x EFAv4 400Gb/s", "", 8}};

/* Of the blind test (docs/results/validation-nccl.md). */
static const struct machine_said rtx4090_stock = {"RTX4090",
                                                  {"NVIDIA GeForce RTX 4090", "PCIe4 x16 no NVLink",
                                                   "", "1 process -g 8", 8}};
static const struct machine_said rtx4090_p2p = {"RTX4090-P2P",
                                                {"NVIDIA GeForce RTX 4090",
                                                 "PCIe4 x16, P2P by a patched driver", "",
                                                 "1 process -g 4", 4}};
static const struct machine_said v100_pix = {"V100-PCIe",
                                             {"Tesla V100-PCIE-32GB", "PCIe3 x16 (PIX)", "",
                                              "1 process -g 4", 4}};
static const struct machine_said pro6000 = {"RTX-PRO-6000",
                                            {"NVIDIA RTX PRO 6000 Blackwell",
                                             "PCIe5 x16, 2 PCIe switches of 4 GPUs", "", "", 8}};
static const struct machine_said t4 = {"T4",
                                       {"Tesla T4", "PCIe3 x16 no NVLink, no P2P (SHM)", "",
                                        "1 process -g 2", 2}};
static const struct machine_said mi325x = {"MI325X",
                                           {"AMD Instinct MI325X", "xGMI mesh 8 GPU",
                                            "8x400Gb/s RoCE", "", 8}};
static const struct machine_said mi355x = {"MI355X",
                                           {"AMD Instinct MI355X", "xGMI mesh 8 GPU", "",
                                            "1 process -g 8", 8}};
static const struct machine_said a3mega = {"a3-megagpu-8g",
                                           {"NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU",
                                            "8x200Gb/s GPUDirect-TCPXO", "", 8}};
static const struct machine_said h800 = {"H800",
                                         {"NVIDIA H800", "NVLink 400GB/s NVSwitch 8 GPU", "", "", 8}};
static const struct machine_said rtx5090_4 = {"RTX5090-4",
                                              {"NVIDIA GeForce RTX 5090", "PCIe5 x16 no NVLink", "",
                                               "1 process -g 4", 4}};
static const struct machine_said spark = {"DGX-Spark", {"NVIDIA GB10", "", "1x200Gb/s RoCE", "", 1}};

static struct ronde_nccl_machine machine_of(const struct machine_said *said)
{
    struct ronde_nccl_machine machine = {.gpus = 0};
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_of_words(&said->words, &machine, &error), RONDE_OK);
    return machine;
}

static double chosen_us(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call)
{
    struct ronde_nccl_choice choice;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_nccl_call_check(machine, call, &error), RONDE_OK);
    return nccl_chosen_us(constants(), machine, call, &choice);
}

/** Bus bandwidths that are published, or what wires and neighbours of a kind leave; where no source stands, the latter. */
static const struct {
    const struct machine_said *said;
    enum ronde_collective collective;
    uint32_t ranks, nodes;
    uint64_t bytes;
    double least_GBps, most_GBps;
} plateaus[] = {
    {&dgx1, RONDE_ALL_REDUCE, 8, 1, GIB, 100, 140},
    {&dgx1, RONDE_ALL_REDUCE, 32, 4, GIB, 36, 49},
    /* Four GPUs of a hybrid cube: 4 of 6 links of 25 GB/s stay among them; two: one link. */
    {&dgx1, RONDE_ALL_REDUCE, 4, 1, GIB, 60, 100},
    {&dgx1, RONDE_ALL_REDUCE, 2, 1, GIB, 15, 25},
    {&p3, RONDE_ALL_REDUCE, 16, 2, GIB, 2, 5.5},
    {&leonardo, RONDE_ALL_REDUCE, 64, 16, 8 * GIB, 40, 50},
    {&ndv4, RONDE_ALL_REDUCE, 128, 16, 8 * GIB, 160, 200},
    {&p3, RONDE_ALL_GATHER, 32, 4, GIB, 2, 3.1},
    /* github.com/NVIDIA/nccl/issues/527: 231 GB/s on one node, 57 on two. */
    {&p4d, RONDE_ALL_REDUCE, 8, 1, GIB, 210, 250},
    {&p4d, RONDE_ALL_REDUCE, 16, 2, GIB, 40, 94},
    {&p4d, RONDE_ALL_REDUCE, 64, 8, GIB, 33, 48},
    /* Two clusters of two: 50 and 71 GB/s (GoogleCloudPlatform/cluster-toolkit, dstackai/dstack). */
    {&a3, RONDE_ALL_GATHER, 16, 2, 8 * GIB, 50, 75},
    {&h200, RONDE_ALL_REDUCE, 8, 1, 8 * GIB, 440, 500},
    {&h200, RONDE_ALL_REDUCE, 16, 2, 8 * GIB, 330, 520},
    {&h200, RONDE_ALL_TO_ALL, 16, 2, 8 * GIB, 55, 95},
    /* The training table's own, which no fit uses; two nodes: github.com/ROCm/rccl/pull/2078, 360 GB/s. */
    {&mi300x, RONDE_ALL_REDUCE, 8, 1, GIB, 290, 340},
    {&mi300x, RONDE_ALL_GATHER, 8, 1, GIB, 280, 335},
    {&mi300x, RONDE_ALL_REDUCE, 16, 2, 8 * GIB, 290, 390},
    {&mi250x, RONDE_ALL_REDUCE, 32, 4, GIB, 75, 100},
    /* github.com/coreweave/nccl-tests/pull/43: 586, 681, 839, 835 GB/s. */
    {&nvl72, RONDE_ALL_REDUCE, 72, 18, GIB / 2, 500, 680},
    {&nvl72, RONDE_ALL_REDUCE, 72, 18, GIB, 580, 780},
    {&nvl72, RONDE_ALL_REDUCE, 72, 18, 4 * GIB, 750, 920},
    {&nvl72, RONDE_ALL_REDUCE, 72, 18, 8 * GIB, 750, 920},
    {&l4, RONDE_ALL_REDUCE, 4, 1, GIB, 5, 20},
    {&a100_pcie, RONDE_ALL_REDUCE, 8, 1, GIB, 8, 20},
    {&a100_pcie, RONDE_ALL_REDUCE, 32, 4, GIB, 7, 20},
    /* github.com/NVIDIA/nccl/issues/1639: 28 GB/s. */
    {&rtx5090, RONDE_ALL_REDUCE, 8, 1, GIB, 22, 36},
    {&one_roce, RONDE_ALL_REDUCE, 2, 2, GIB, 9.5, 12.3},
    {&one_10g, RONDE_ALL_REDUCE, 2, 2, GIB, .9, 1.24},
    /* github.com/NVIDIA/nccl/issues/398: 4.7 GB/s. */
    {&one_100g, RONDE_ALL_REDUCE, 2, 2, GIB, 3.7, 6},
    /* 15.0; 25.3; 11.2; 46.4; 4.0; 350 on 2 to 8 nodes; 322; 189 and 331; 23 GB/s. */
    {&rtx4090_stock, RONDE_ALL_REDUCE, 8, 1, GIB, 12, 18},
    {&rtx4090_p2p, RONDE_ALL_REDUCE, 4, 1, GIB, 21, 29},
    {&v100_pix, RONDE_ALL_REDUCE, 4, 1, GIB, 9, 13.5},
    {&pro6000, RONDE_ALL_REDUCE, 8, 1, GIB, 40, 53},
    {&t4, RONDE_ALL_REDUCE, 2, 1, GIB, 3.2, 5.5},
    {&mi325x, RONDE_ALL_REDUCE, 64, 8, 8 * GIB, 330, 370},
    {&mi355x, RONDE_ALL_TO_ALL, 8, 1, GIB, 270, 380},
    {&a3mega, RONDE_ALL_GATHER, 16, 2, 8 * GIB, 175, 200},
    {&a3mega, RONDE_ALL_REDUCE, 16, 2, 8 * GIB, 280, 380},
    {&spark, RONDE_ALL_GATHER, 2, 2, GIB, 20, 25},
};

static void plateaus_are_those_of_their_owners(void)
{
    for (size_t p = 0; p < sizeof plateaus / sizeof plateaus[0]; p++) {
        const struct ronde_nccl_machine machine = machine_of(plateaus[p].said);
        const struct ronde_nccl_call call = {plateaus[p].collective, plateaus[p].ranks,
                                             plateaus[p].nodes, 0, plateaus[p].bytes};
        const double busbw_GBps = (double)call.bytes / 1e3 / chosen_us(&machine, &call) *
                                  ronde_collective_bus_factor(call.collective, call.ranks);
        const bool is_within =
            busbw_GBps >= plateaus[p].least_GBps && busbw_GBps <= plateaus[p].most_GBps;
        if (!is_within)
            suite_note("%s, %s of %u on %u nodes: %g GB/s, not from %g to %g",
                       plateaus[p].said->name, ronde_collective_text(call.collective), call.ranks,
                       call.nodes, busbw_GBps, plateaus[p].least_GBps, plateaus[p].most_GBps);
        CU_ASSERT(is_within);
    }
}

/** Rows of the document's table: how they begin, and the all_reduces that are predicted there. */
static const struct {
    const char *row; /**< its cells but the last */
    const struct machine_said *said;
    uint32_t ranks, nodes;
    uint64_t bytes[4]; /**< 0 = no further; below a KiB times are shown */
} shown[] = {
    {"| GB200 NVL72, 72 GPUs,", &nvl72, 72, 18, {GIB / 2, GIB, 4 * GIB, 8 * GIB}},
    {"| p4d.24xlarge, 8 A100, 1 GiB", &p4d, 8, 1, {GIB}},
    {"| the same, 2 nodes by 4 EFA", &p4d, 16, 2, {GIB}},
    {"| 8 H800, NVLS", &h800, 8, 1, {GIB}},
    {"| 8 RTX 5090, PCIe gen5", &rtx5090, 8, 1, {GIB}},
    {"| 4 of them", &rtx5090_4, 4, 1, {GIB}},
    {"| 2 nodes of a V100, TCP", &one_100g, 2, 2, {GIB}},
    {"| 2 nodes of 8 MI300X, RoCE", &mi300x, 16, 2, {8 * GIB}},
    {"| p6-b200, 2 nodes, 8 B", &b200_efa, 16, 2, {8}},
};

/** The last cell of a row, as the document has it. */
static void predicted_cell(size_t row, char *out, size_t capacity)
{
    const struct ronde_nccl_machine machine = machine_of(shown[row].said);
    size_t used = 0;
    for (size_t b = 0; b < 4 && shown[row].bytes[b] > 0; b++) {
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, shown[row].ranks, shown[row].nodes,
                                             0, shown[row].bytes[b]};
        const double us = chosen_us(&machine, &call);
        const double value = call.bytes < 1024
                                 ? us
                                 : (double)call.bytes / 1e3 / us *
                                       ronde_collective_bus_factor(call.collective, call.ranks);
        used += (size_t)snprintf(out + used, capacity - used, "%s%.*f", b > 0 ? ", " : "",
                                 value < 10 ? 1 : 0, value);
        CU_ASSERT_FATAL(used < capacity);
    }
    if (shown[row].bytes[0] < 1024)
        snprintf(out + used, capacity - used, " us");
}

/* What the document shows as predicted is what is predicted; a row that is not is printed as it should end. */
static void the_document_shows_what_is_predicted(void)
{
    char path[4096];
    CU_ASSERT_FATAL(suite_source(path, sizeof path, "docs/results/validation-nccl.md"));
    char *page = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    for (size_t r = 0; r < sizeof shown / sizeof shown[0]; r++) {
        char cell[128], end[160];
        predicted_cell(r, cell, sizeof cell);
        snprintf(end, sizeof end, "| %s |", cell);
        const char *at = strstr(page, shown[r].row);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        const size_t length = strcspn(at, "\n"), tail = strlen(end);
        const bool is_shown = length > tail && strncmp(at + length - tail, end, tail) == 0;
        if (!is_shown)
            suite_note("\"%s\" should end with \"%s\"", shown[r].row, end);
        CU_ASSERT(is_shown);
    }
    free(page);
}

/** all_reduce of 8 B, us. */
static const struct {
    const struct machine_said *said;
    uint32_t ranks, nodes;
    double least_us, most_us;
} floors[] = {
    {&dgx1, 8, 1, 10, 30},
    {&p3, 16, 2, 50, 250},
    {&leonardo, 8, 2, 15, 40},
    {&ndv4, 128, 16, 40, 120},
    /* By Simple alone: 161 to 195 us (awslabs/awsome-distributed-ai, aws-samples/aws-efa-eks). */
    {&p4d, 16, 2, 140, 230},
    /* The same: 1 ms for whatever is small. */
    {&a3, 16, 2, 700, 2500},
    {&h200, 8, 1, 8, 25},
    {&h200, 16, 2, 15, 45},
    {&mi300x, 8, 1, 12, 22},
    {&mi250x, 8, 1, 12, 30},
    {&nvl72, 72, 18, 15, 120},
    {&l4, 4, 1, 6, 25},
    {&a100_pcie, 8, 1, 10, 35},
    {&rtx5090, 8, 1, 30, 60},
    {&one_roce, 2, 2, 8, 30},
    {&one_10g, 2, 2, 35, 120},
    /* github.com/dstackai/dstack/pull/3961: 51 to 56 us. */
    {&b200_efa, 16, 2, 40, 75},
};

static void small_calls_take_what_hops_take(void)
{
    for (size_t f = 0; f < sizeof floors / sizeof floors[0]; f++) {
        const struct ronde_nccl_machine machine = machine_of(floors[f].said);
        const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, floors[f].ranks, floors[f].nodes, 0,
                                             8};
        const double us = chosen_us(&machine, &call);
        if (us < floors[f].least_us || us > floors[f].most_us)
            suite_note("%s, %u ranks on %u nodes: %g us, not from %g to %g", floors[f].said->name,
                       call.ranks, call.nodes, us, floors[f].least_us, floors[f].most_us);
        CU_ASSERT(us >= floors[f].least_us && us <= floors[f].most_us);
    }
}

/*
 * The fastest setting grows with its bytes, and by no more than threefold when they double. NCCL changes protocols too early or
 * too late, by which what it takes may well fall; it takes less than four times the fastest, but for broadcasts by LL through long
 * chains (github.com/NVIDIA/nccl/issues/1810).
 */
static void shows_steps(const struct machine_said *said, enum ronde_collective collective,
                        uint32_t ranks, uint32_t nodes)
{
    const struct ronde_nccl_machine machine = machine_of(said);
    const bool is_chain = collective == RONDE_BROADCAST;
    /* RCCL gives a node of MI250X a tree by Simple where LL would take 20 us. */
    const bool is_rccl = machine.generation <= RONDE_NCCL_CDNA3;
    const double most = is_chain ? 8 : is_rccl ? 4.6 : 3.8, most_step = is_chain ? 4.5 : 3;
    /* Sends and receives have one way, which changes to Simple at the size that NCCL says: by MI250X's slow blocks 7.3 % late. */
    const double least = collective == RONDE_SEND_RECV ? .92 : .97;
    double last_us = 0;
    for (uint64_t bytes = 8; bytes <= 8 * GIB; bytes *= 2) {
        const struct ronde_nccl_call call = {collective, ranks, nodes, 0, bytes};
        struct ronde_nccl_choice choice;
        const double us = ronde_nccl_fastest(constants(), &machine, &call, &choice);
        const double taken_us = chosen_us(&machine, &call);
        const bool is_smooth = isfinite(us) && us > 0 &&
                               (bytes == 8 || (us > least * last_us && us < most_step * last_us));
        if (!is_smooth || taken_us > most * us)
            suite_note("%s, %s of %u on %u nodes, %llu bytes: %g, then %g us; NCCL's %g us",
                       said->name, ronde_collective_text(collective), ranks, nodes,
                       (unsigned long long)bytes, last_us, us, taken_us);
        CU_ASSERT(is_smooth);
        CU_ASSERT(taken_us <= most * us);
        last_us = us;
    }
}

static void the_fastest_neither_falls_nor_jumps(void)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_ALL_GATHER,
                                                        RONDE_ALL_TO_ALL, RONDE_BROADCAST,
                                                        RONDE_SEND_RECV};
    for (size_t f = 0; f < sizeof floors / sizeof floors[0]; f++)
        for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++)
            shows_steps(floors[f].said, collectives[c], floors[f].ranks, floors[f].nodes);
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
        shows_steps(&p4d, collectives[c], 64, 8);
        shows_steps(&h200, collectives[c], 256, 32);
        shows_steps(&nvl72, collectives[c], 144, 36);
        shows_steps(&mi250x, collectives[c], 128, 16);
    }
}

/* A rack of NVL72 is one machine however many of its nodes take part; two racks meet over NICs. */
static void racks_are_one_machine(void)
{
    const struct ronde_nccl_machine machine = machine_of(&nvl72);
    struct ronde_nccl_machine lone = machine, whole = machine;
    struct ronde_nccl_call call = {RONDE_ALL_REDUCE, 16, 4, 0, GIB};
    CU_ASSERT_EQUAL(machine.gpus, 4);
    CU_ASSERT_EQUAL(machine.nvlink_nodes, 18);
    const double joined_us = chosen_us(&machine, &call);
    lone.nvlink_nodes = 0;
    CU_ASSERT(chosen_us(&lone, &call) > 2 * joined_us);
    whole.gpus = 72;
    whole.nvlink_nodes = 0;
    call.nodes = 1;
    CU_ASSERT_DOUBLE_EQUAL(chosen_us(&whole, &call), joined_us, 1e-9 * joined_us);
    lone.nics = 0;
    lone.nvlink_nodes = 18;
    call.nodes = 4;
    CU_ASSERT_DOUBLE_EQUAL(chosen_us(&lone, &call), joined_us, 1e-9 * joined_us);
    call = (struct ronde_nccl_call){RONDE_ALL_REDUCE, 144, 36, 0, 8 * GIB};
    const double two_us = chosen_us(&machine, &call);
    call = (struct ronde_nccl_call){RONDE_ALL_REDUCE, 72, 18, 0, 8 * GIB};
    CU_ASSERT(two_us >= chosen_us(&machine, &call));
    /* 16 of 18 nodes of two racks are whole machines to NCCL: 820 GB/s (coreweave/nccl-tests), by NVLSTree, not by rings of 560. */
    call = (struct ronde_nccl_call){RONDE_ALL_REDUCE, 128, 32, 0, 8 * GIB};
    CU_ASSERT((double)call.bytes / 1e3 / chosen_us(&machine, &call) *
                  ronde_collective_bus_factor(call.collective, call.ranks) >
              700);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"plateaus_are_those_of_their_owners", plateaus_are_those_of_their_owners},
        {"the_document_shows_what_is_predicted", the_document_shows_what_is_predicted},
        {"small_calls_take_what_hops_take", small_calls_take_what_hops_take},
        {"the_fastest_neither_falls_nor_jumps", the_fastest_neither_falls_nor_jumps},
        {"racks_are_one_machine", racks_are_one_machine},
    };
    return suite_run("nccl_unseen", cases, sizeof cases / sizeof cases[0]);
}
