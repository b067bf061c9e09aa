/**
 * Machines from words: what a table says of the training systems comes to what their descriptions say, other ways of putting
 * it are understood, and what is not known is refused, not guessed.
 */
#include "support/suite.h"

#include "ronde/nccl_model.h"

#include <stdio.h>
#include <string.h>

static struct ronde_nccl_machine machine_of(const char *name)
{
    struct ronde_nccl_machine machine;
    struct ronde_error error = {.status = RONDE_OK};
    char file[128], path[4096];
    snprintf(file, sizeof file, "topologies/published/%s.txt", name);
    CU_ASSERT_FATAL(suite_source(path, sizeof path, file));
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_read(path, &machine, &error), RONDE_OK);
    return machine;
}

static struct ronde_nccl_machine understood(struct ronde_nccl_words_of said)
{
    struct ronde_nccl_machine machine = {.gpus = 0};
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_nccl_machine_of_words(&said, &machine, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return machine;
}

static void words_come_to_what_descriptions_say(void)
{
    static const struct {
        const char *system;
        struct ronde_nccl_words_of said;
    } rows[] = {
        {"L40S-PCIe-4", {"NVIDIA L40S", "PCIe4 x16 no NVLink (NODE/SYS)", "", "single process", 4}},
        {"Alps-GH200",
         {"NVIDIA GH200", "NVLink4 4-GPU all-to-all (6 links per pair)", "4x Slingshot-11 200Gb/s",
          NULL, 4}},
        {"ABCI-A100",
         {"NVIDIA A100-SXM4-40GB", "NVLink3 NVSwitch 8 GPU", "4x HDR IB 200Gb/s", "", 8}},
        {"ABCI-V100",
         {"NVIDIA V100-SXM2-16GB", "NVLink2 4-GPU mesh (2 links per pair)", "2x EDR IB 100Gb/s", "",
          4}},
        {"eX3-A100PCIe-2node",
         {"NVIDIA A100-PCIE-40GB", "PCIe4 x16 no NVLink", "IB HDR mlx5", "", 1}},
        {"H100-cluster01",
         {"NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU", "IB NDR 400Gb/s", "", 4}},
        {"AWS-p5-2node",
         {"NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU", "32x EFAv2 100Gb/s (3200Gb/s)", "", 8}},
        {"Chameleon-P100-2",
         {"Tesla P100-PCIE-16GB", "PCIe3 x16 across sockets", NULL, "1 process", 2}},
        {"A6000-NV-4",
         {"NVIDIA RTX A6000", "2 NVLink3 bridged pairs (NV4 56GB/s) + PCIe4/host between pairs", "",
          "", 4}},
        {"B200-slinky",
         {"NVIDIA B200", "NVLink5 NVSwitch 8 GPU (900GB/s per GPU per dir)",
          "12x NDR IB 400Gb/s HCAs listed (8 compute rails)", "1 process -g 8", 8}},
        {"Perlmutter-A100",
         {"NVIDIA A100-SXM4-40GB", "NVLink3 4-GPU mesh (4 links per pair)",
          "4x Slingshot-11 200Gb/s", "", 4}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_machine wanted = machine_of(rows[r].system);
        const struct ronde_nccl_machine got = understood(rows[r].said);
        const bool is_same =
            got.generation == wanted.generation && got.link == wanted.link &&
            got.gpus == wanted.gpus && got.nics == wanted.nics &&
            (wanted.link == RONDE_NODE_PCIE || got.nvlink_GBps == wanted.nvlink_GBps) &&
            (wanted.link < RONDE_NODE_PAIRS || got.pcie_GBps == wanted.pcie_GBps) &&
            (wanted.nics == 0 || (got.nic_GBps == wanted.nic_GBps && got.fabric == wanted.fabric &&
                                  got.behind_bridge == wanted.behind_bridge)) &&
            got.is_one_process == wanted.is_one_process;
        if (!is_same)
            suite_note("%s: %u GPUs, link %s, %g GB/s, %u NICs of %g GB/s", rows[r].system, got.gpus,
                       ronde_nccl_link_text(got.link), got.nvlink_GBps, got.nics, got.nic_GBps);
        CU_ASSERT(is_same);
    }
}

static void rates_and_counts_are_found_in_words(void)
{
    static const struct {
        struct ronde_nccl_words_of said;
        enum ronde_node_link link;
        double nvlink_GBps, pcie_GBps;
        uint32_t gpus, nics;
        double nic_GBps;
        enum ronde_nccl_fabric fabric;
    } rows[] = {
        {{"H100", "NVLink4 NVSwitch (18x26.56GB/s)", "", "", 6},
         RONDE_NODE_SWITCH,
         478.08,
         63,
         8,
         0,
         0,
         0},
        {{"h200 sxm", "NVLink", "8x50GB/s RoCE", "", 8},
         RONDE_NODE_SWITCH,
         450,
         63,
         8,
         8,
         50,
         RONDE_NCCL_ROCE},
        {{"A100 80GB", "NVLink", "2 x 100GbE TCP", "", 4},
         RONDE_NODE_MESH,
         300,
         31.5,
         4,
         2,
         12.5,
         RONDE_NCCL_ETHERNET},
        {{"NVIDIA A10G", "PCIe gen4 x8", "25 Gbit/s Ethernet", "", 4},
         RONDE_NODE_PCIE,
         0,
         15.75,
         4,
         1,
         3.125,
         RONDE_NCCL_ETHERNET},
        {{"Tesla V100", "NVLink", "1x HDR100", "", 4},
         RONDE_NODE_MESH,
         150,
         15.75,
         4,
         1,
         12.5,
         RONDE_NCCL_INFINIBAND},
        {{"GB200", "NVLink5 NVSwitch 72 GPU", "4x NDR", "", 4},
         RONDE_NODE_SWITCH,
         900,
         63,
         4,
         4,
         50,
         RONDE_NCCL_INFINIBAND},
        {{"RTX 3090", "PCIe4", "InfiniBand 56Gb/s", "", 2},
         RONDE_NODE_PCIE,
         0,
         31.5,
         2,
         1,
         7,
         RONDE_NCCL_INFINIBAND},
        {{"AMD Instinct MI250X", "Infinity Fabric", "4x Slingshot-11 200Gb/s", "", 8},
         RONDE_NODE_SWITCH,
         150,
         31.5,
         8,
         4,
         25,
         RONDE_NCCL_SLINGSHOT},
        {{"MI300X", "XGMI mesh 8 GPU (64GB/s per link)", "400G RoCE per GPU", "", 8},
         RONDE_NODE_MESH,
         448,
         63,
         8,
         8,
         50,
         RONDE_NCCL_ROCE},
        {{"H100 NVL", "NVLink bridges", "100 Gb Ethernet", "", 2},
         RONDE_NODE_PAIRS,
         300,
         63,
         2,
         1,
         12.5,
         RONDE_NCCL_ETHERNET},
        {{"NVIDIA H100 80GB HBM3", "NVSwitch 8 GPU", "8x ConnectX-7 400Gb/s", "", 8},
         RONDE_NODE_SWITCH,
         450,
         63,
         8,
         8,
         50,
         RONDE_NCCL_INFINIBAND},
        {{"NVIDIA A100-SXM4-80GB", "", "Omni-Path", "", 8},
         RONDE_NODE_SWITCH,
         300,
         31.5,
         8,
         8,
         12.5,
         RONDE_NCCL_INFINIBAND},
        /* The sum of a node's NICs. */
        {{"A100-SXM4-40GB", "NVLink3 NVSwitch 8 GPU", "EFA 400Gb/s", "", 8},
         RONDE_NODE_SWITCH,
         300,
         31.5,
         8,
         4,
         12.5,
         RONDE_NCCL_EFA},
        {{"B200", "NVSwitch NVLink 8 GPU", "InfiniBand 3200Gb/s", "", 8},
         RONDE_NODE_SWITCH,
         900,
         63,
         8,
         8,
         50,
         RONDE_NCCL_INFINIBAND},
        /* One GPU of eight took part: its NIC is one of eight; of four NICs one of four. */
        {{"H100", "NVSwitch NVLink4", "8x 400Gb/s NDR", "", 1},
         RONDE_NODE_SWITCH,
         450,
         63,
         8,
         8,
         50,
         RONDE_NCCL_INFINIBAND},
        {{"A100-SXM4", "NVLink3", "4x HDR", "", 1},
         RONDE_NODE_MESH,
         300,
         31.5,
         4,
         4,
         25,
         RONDE_NCCL_INFINIBAND},
        {{"A100-PCIE", "PCIe4", "2x HDR", "", 1},
         RONDE_NODE_PCIE,
         0,
         31.5,
         1,
         2,
         25,
         RONDE_NCCL_INFINIBAND},
        /* A switch of PCIe is none of NVLink. */
        {{"A100-SXM4", "NVLink3, NICs behind a switch", "4x HDR", "", 4},
         RONDE_NODE_MESH,
         300,
         31.5,
         4,
         4,
         25,
         RONDE_NCCL_INFINIBAND},
        /* Both directions together, and a mesh's links to one other GPU. */
        {{"NVIDIA A800-SXM4-80GB", "NVLink 400GB/s", "4x200G RoCE", "", 8},
         RONDE_NODE_SWITCH,
         200,
         31.5,
         8,
         4,
         25,
         RONDE_NCCL_ROCE},
        {{"A100 custom 64GB SXM", "NVLink 3.0 200GB/s", "2x dual-port HDR100", "", 4},
         RONDE_NODE_MESH,
         300,
         31.5,
         4,
         4,
         12.5,
         RONDE_NCCL_INFINIBAND},
        {{"B200", "NVSwitch 1800GB/s", "", "", 8}, RONDE_NODE_SWITCH, 900, 63, 8, 0, 0, 0},
        /* A rate without a fabric's name. */
        {{"MI300X", "xGMI", "8x400Gb/s", "", 8}, RONDE_NODE_MESH, 448, 63, 8, 8, 50, RONDE_NCCL_ROCE},
        {{"L4", "PCIe 4.0 x8", "25 Gbps", "", 4},
         RONDE_NODE_PCIE,
         0,
         15.75,
         4,
         1,
         3.125,
         RONDE_NCCL_ETHERNET},
        /* A package of two chiplets has one NIC. */
        {{"MI250X", "Infinity Fabric", "Slingshot-11", "", 8},
         RONDE_NODE_SWITCH,
         150,
         31.5,
         8,
         4,
         25,
         RONDE_NCCL_SLINGSHOT},
        {{"Tesla V100-SXM3-32GB", "NVLink (DGX-2)", "8x EDR", "", 16},
         RONDE_NODE_SWITCH,
         150,
         15.75,
         16,
         8,
         12.5,
         RONDE_NCCL_INFINIBAND},
        {{"TITAN RTX", "NVLink bridge", "", "", 2}, RONDE_NODE_PAIRS, 50, 15.75, 2, 0, 0, 0},
        {{"H100", "NVLink NVSwitch 8 GPU", "GPUDirect-TCPXO 200Gb/s x8", "", 8},
         RONDE_NODE_SWITCH,
         450,
         63,
         8,
         8,
         25,
         RONDE_NCCL_TCPXO},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_machine got = understood(rows[r].said);
        CU_ASSERT_EQUAL(got.link, rows[r].link);
        CU_ASSERT_DOUBLE_EQUAL(got.nvlink_GBps, rows[r].nvlink_GBps, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(got.pcie_GBps, rows[r].pcie_GBps, 1e-9);
        CU_ASSERT_EQUAL(got.gpus, rows[r].gpus);
        CU_ASSERT_EQUAL(got.nics, rows[r].nics);
        CU_ASSERT_DOUBLE_EQUAL(got.nic_GBps, rows[r].nic_GBps, 1e-9);
        CU_ASSERT_EQUAL(got.fabric, rows[r].fabric);
    }
}

/* A superchip's processor joins GPU and NIC without a slot between. */
static void bridges_are_those_of_slots(void)
{
    const struct ronde_nccl_words_of superchip = {"GH200 480GB", "1 GPU per node", "NDR200", "", 1};
    const struct ronde_nccl_words_of slot = {"A100-PCIE-40GB", "PCIe4 x16", "HDR", "", 1};
    CU_ASSERT(!understood(superchip).behind_bridge);
    CU_ASSERT(understood(slot).behind_bridge);
}

/* GPUs that NVLink does not join: boards for games copy through the host unless their driver is said to let them. */
static void paths_between_gpus_are_as_said_or_as_drivers_have_them(void)
{
    static const struct {
        const char *gpu, *inside;
        enum ronde_nccl_gpu_path path;
    } rows[] = {
        {"NVIDIA L40S", "PCIe4 x16 no NVLink (NODE/SYS)", RONDE_NCCL_GPU_BRIDGE},
        {"NVIDIA A100-PCIE-40GB", "PCIe4 x16 no NVLink", RONDE_NCCL_GPU_BRIDGE},
        {"Tesla V100-PCIE-32GB", "PCIe3 x16, no NVLink (one switch)", RONDE_NCCL_GPU_SWITCH},
        {"NVIDIA A30", "PCIe4, PIX", RONDE_NCCL_GPU_SWITCH},
        {"NVIDIA RTX PRO 6000 Blackwell", "PCIe5 x16, 4 PCIe switches", RONDE_NCCL_GPU_SWITCH},
        {"NVIDIA GeForce RTX 4090", "PCIe4 x16", RONDE_NCCL_GPU_HOST},
        {"NVIDIA GeForce RTX 4090", "PCIe4 x16, PIX", RONDE_NCCL_GPU_HOST},
        {"NVIDIA GeForce RTX 4090", "PCIe4 x16, P2P by a patched driver", RONDE_NCCL_GPU_SWITCH},
        {"RTX 2080 Ti", "PCIe3 x16", RONDE_NCCL_GPU_HOST},
        {"NVIDIA RTX 4000 Ada", "PCIe4 x16", RONDE_NCCL_GPU_BRIDGE},
        {"Quadro RTX 5000", "PCIe3 x16", RONDE_NCCL_GPU_BRIDGE},
        {"Tesla T4", "PCIe3 x16, no P2P (SHM)", RONDE_NCCL_GPU_HOST},
        {"NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU", RONDE_NCCL_GPU_BRIDGE},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_words_of said = {rows[r].gpu, rows[r].inside, "", "", 4};
        const enum ronde_nccl_gpu_path got = understood(said).gpu_path;
        if (got != rows[r].path)
            suite_note("%s, %s", rows[r].gpu, rows[r].inside);
        CU_ASSERT_EQUAL(got, rows[r].path);
    }
}

/* NICs that hang on packages of GPUs do not go through the processor; those of processors do. */
static void nics_of_packages_have_no_bridge(void)
{
    const struct ronde_nccl_words_of package = {"MI250X", "xGMI", "4x Slingshot-11", "", 8};
    const struct ronde_nccl_words_of processor = {"A100-SXM4", "NVLink", "2x Slingshot-11", "", 4};
    CU_ASSERT(!understood(package).behind_bridge);
    CU_ASSERT(understood(processor).behind_bridge);
}

static void processors_are_as_said_or_as_usual(void)
{
    static const struct {
        struct ronde_nccl_words_of said;
        enum ronde_nccl_vendor cpu;
        bool is_one_process;
    } rows[] = {
        {{"A100", "NVSwitch, AMD EPYC 7742", "8x HDR", "", 8}, RONDE_NCCL_AMD, false},
        {{"A100", "NVSwitch", "4x EFA 100Gb/s", "", 8}, RONDE_NCCL_INTEL, false},
        {{"H100", "NVSwitch", "32x EFA 100Gb/s", "", 8}, RONDE_NCCL_AMD, false},
        {{"H100", "NVSwitch", "8x NDR", "EPYC Genoa, -g 1", 8}, RONDE_NCCL_AMD, false},
        {{"L4", "PCIe4", "", "Xeon; -g 4", 4}, RONDE_NCCL_INTEL, true},
        {{"H100", "NVLink, Grace", "", "one process", 1}, RONDE_NCCL_ARM, true},
        {{"GH200", "NVLink", "NDR", "", 1}, RONDE_NCCL_ARM, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_nccl_machine got = understood(rows[r].said);
        CU_ASSERT_EQUAL(got.cpu, rows[r].cpu);
        CU_ASSERT_EQUAL(got.is_one_process, rows[r].is_one_process);
    }
}

/* One node needs no network. */
static void unknown_networks_leave_one_node(void)
{
    const struct ronde_nccl_words_of said = {"H100", "NVSwitch", "carrier pigeons", "", 8};
    struct ronde_nccl_machine machine;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_nccl_machine_of_words(&said, &machine, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(machine.gpus, 8);
    CU_ASSERT_EQUAL(machine.nics, 0);
    const struct ronde_nccl_words_of unknown = {"Gaudi 3", "mesh", "", "", 8};
    error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_nccl_machine_of_words(&unknown, &machine, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(machine.gpus, 0);
}

static void what_is_not_known_is_refused(void)
{
    static const struct {
        struct ronde_nccl_words_of said;
        const char *says;
    } rows[] = {
        {{"Intel Gaudi 3", "RoCE mesh 8 GPU", "", "", 8}, "Gaudi"},
        {{NULL, NULL, NULL, NULL, 0}, "no GPU"},
        {{"H100", "NVSwitch", "carrier pigeons", "", 8}, "no fabric"},
        {{"H100", "NVSwitch", "InfiniBand", "", 8}, "no fabric and rate"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct ronde_nccl_machine machine;
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL(ronde_nccl_machine_of_words(&rows[r].said, &machine, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[r].says));
    }
}

/* Whatever is written: a machine or a refusal, and no rate of nothing. */
static void any_text_is_survived(void)
{
    static const char signs[] = "4x 200Gb/s.(-)NDR IB NVLink GPU pair 9999999999999999999";
    char text[512];
    for (size_t length = 0; length < 400; length++) {
        for (size_t i = 0; i < length; i++)
            text[i] = signs[(i * 7 + length * 13) % (sizeof signs - 1)];
        text[length] = '\0';
        const struct ronde_nccl_words_of said = {"H100", text, text, text, 8};
        struct ronde_nccl_machine machine;
        struct ronde_error error = {.status = RONDE_OK};
        if (ronde_nccl_machine_of_words(&said, &machine, &error) == RONDE_OK) {
            CU_ASSERT(machine.gpus >= 8 && machine.gpus <= 1024 && machine.nics <= 1024);
            CU_ASSERT(machine.nics == 0 || machine.nic_GBps > 0);
        } else
            CU_ASSERT(error.message[0] != '\0');
    }
}

/* A line of a description has the GPUs of a node before or behind their name; a table's may be all that took part. */
static void gpus_are_counted_where_they_are_named(void)
{
    static const struct {
        struct ronde_nccl_words_of said;
        uint32_t gpus;
    } rows[] = {
        {{"8x H100", "NVSwitch", "", "", 0}, 8},
        {{"8 x NVIDIA H100 80GB HBM3", "NVSwitch", "", "", 0}, 8},
        {{"NVIDIA V100-SXM3-32GB x16", "NVSwitch", "", "", 0}, 16},
        {{"2x RTX 4090", "PCIe gen4", "", "", 0}, 2},
        {{"4x MI300X", "xGMI", "", "", 0}, 4},
        {{"4x A100", "NVSwitch 8 GPU", "", "", 0}, 8},
        {{"16x A100 40GB", "NVSwitch", "8x HDR", "", 8}, 8},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        CU_ASSERT_EQUAL(understood(rows[r].said).gpus, rows[r].gpus);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"words_come_to_what_descriptions_say", words_come_to_what_descriptions_say},
        {"rates_and_counts_are_found_in_words", rates_and_counts_are_found_in_words},
        {"bridges_are_those_of_slots", bridges_are_those_of_slots},
        {"paths_between_gpus_are_as_said_or_as_drivers_have_them",
         paths_between_gpus_are_as_said_or_as_drivers_have_them},
        {"nics_of_packages_have_no_bridge", nics_of_packages_have_no_bridge},
        {"processors_are_as_said_or_as_usual", processors_are_as_said_or_as_usual},
        {"unknown_networks_leave_one_node", unknown_networks_leave_one_node},
        {"what_is_not_known_is_refused", what_is_not_known_is_refused},
        {"any_text_is_survived", any_text_is_survived},
        {"gpus_are_counted_where_they_are_named", gpus_are_counted_where_they_are_named},
    };
    return suite_run("nccl_describe", cases, sizeof cases / sizeof cases[0]);
}
