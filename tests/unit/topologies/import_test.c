/** Importers: bandwidths survive the way into a platform file, and data goes the way NCCL would send it. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"
#include "unit/topologies/imported.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a GPU sends over all its NVLinks: those that begin or end with its name. */
static double nvlink_of(const struct imported *machine, uint32_t gpu)
{
    char name[32];
    double sum = 0;
    snprintf(name, sizeof name, "-gpu%u", gpu);
    for (uint32_t i = 0; i < ronde_platform_link_count(machine->platform); i++) {
        const struct ronde_link *link = ronde_platform_link(machine->platform, i);
        const char *at = strstr(link->name, name);
        if ((strncmp(link->name, "nvlink-", 7) == 0 || strncmp(link->name, "xgmi-", 5) == 0) &&
            strstr(link->name, "_UP") && at && strchr("-_", at[strlen(name)]))
            sum += link->rate_GBps;
    }
    return sum;
}

/* All network ports of a node together. */
static double net_of(const struct imported *machine)
{
    double sum = 0;
    for (uint32_t i = 0; i < ronde_platform_link_count(machine->platform); i++) {
        const struct ronde_link *link = ronde_platform_link(machine->platform, i);
        if (strncmp(link->name, "net-", 4) == 0 && strstr(link->name, "_UP"))
            sum += link->rate_GBps;
    }
    return sum;
}

/* A row of expected.tsv; texts are cut out of the line. */
struct expected {
    const char *file, *gpus, *nics, *nets, *nvlink, *pci, *net_sum, *cpu;
};

static bool parse_row(char *line, struct expected *out_row)
{
    char *cells[15] = {0};
    uint32_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *cell = line; cell && count < 15; count++) {
        cells[count] = cell;
        cell = strchr(cell, '\t');
        if (cell)
            *cell++ = '\0';
    }
    *out_row = (struct expected){cells[0], cells[4],  cells[5],  cells[6],
                                 cells[9], cells[10], cells[12], cells[13]};
    return count >= 14 && strcmp(cells[0], "file") != 0;
}

/* "252" or "216..252", printed with one decimal at most. */
static void assert_range(double value, const char *range, const char *what)
{
    const double low = strtod(range, NULL);
    const char *dots = strstr(range, "..");
    const double high = dots ? strtod(dots + 2, NULL) : low;
    const bool is_inside = value > low - 0.051 && value < high + 0.051;
    CU_ASSERT(is_inside);
    if (!is_inside)
        suite_note("%s is %g, expected %s", what, value, range);
}

/* Links of GPUs and between CPUs, from the platform that was read back. */
static void compare_rates(const struct imported *machine, const struct expected *row)
{
    double across = 0;
    char name[32];
    for (uint32_t gpu = 0; gpu < machine->summary.gpus; gpu++) {
        /* What the file counts as links of a GPU to itself is nothing that data could use. */
        const char *nvlink = strstr(machine->remarks, "to itself") ? "0" : row->nvlink;
        if (strcmp(nvlink, "-") != 0)
            assert_range(nvlink_of(machine, gpu), nvlink, "NVLink of a GPU");
        snprintf(name, sizeof name, "pcie-gpu%u_UP", gpu);
        assert_range(imported_rate(machine, name), row->pci, "PCI of a GPU");
    }
    for (uint32_t i = 0; i < ronde_platform_link_count(machine->platform); i++) {
        const struct ronde_link *link = ronde_platform_link(machine->platform, i);
        if (strncmp(link->name, "cpu-", 4) == 0)
            across = link->rate_GBps;
    }
    if (machine->summary.cpus > 1)
        assert_range(across, row->cpu, "CPU to CPU");
    assert_range(net_of(machine), row->net_sum, "network");
}

/* Every pair of GPUs has a route both ways. */
static void assert_all_routes(const struct imported *machine)
{
    char text[512];
    const uint32_t hosts = ronde_platform_facts(machine->platform)->hosts;
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++) {
            imported_route(machine, i, j, text);
            CU_ASSERT((text[0] != '\0') == (i != j));
        }
}

/* Refused with the line, and for a reason. */
static void compare_refusal(const char *path, const char *file)
{
    const struct ronde_import_request request = {.path = path, .nodes = 1};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    const bool is_graph = strstr(file, "graph") != NULL;
    CU_ASSERT_EQUAL(ronde_import_read(&request, ronde_mem_default(), &import, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NULL(import);
    CU_ASSERT(error.line > 0 && strstr(error.message, is_graph ? ":1: " : ":12: ") != NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, is_graph ? "graph of NCCL" : "no GPU"));
}

static void compare_vector(const struct expected *row)
{
    char path[512];
    char relative[600];
    struct imported machine;
    const struct ronde_import_request request = {.path = path, .nodes = 1};
    snprintf(relative, sizeof relative, "vectors/nccl-topo/%s", row->file);
    if (!suite_shared(path, sizeof path, relative))
        return;
    if (atoi(row->gpus) == 0) {
        compare_refusal(path, row->file);
        return;
    }
    CU_ASSERT_FATAL(imported_machine(&request, &machine));
    CU_ASSERT_EQUAL(machine.summary.gpus, (uint32_t)atoi(row->gpus));
    CU_ASSERT_EQUAL(ronde_platform_facts(machine.platform)->hosts, machine.summary.gpus);
    CU_ASSERT_EQUAL(machine.summary.ports, (uint32_t)atoi(row->nets));
    if (machine.summary.ports > 0)
        CU_ASSERT_EQUAL(machine.summary.nics, (uint32_t)atoi(row->nics));
    compare_rates(&machine, row);
    assert_all_routes(&machine);
    imported_close(&machine);
}

static void every_vector_keeps_its_bandwidths_or_is_refused(void)
{
    char path[512];
    char line[512];
    struct expected row;
    uint32_t rows = 0;
    if (!imported_can() || !suite_shared(path, sizeof path, "vectors/nccl-topo/expected.tsv"))
        return;
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof line, file))
        if (parse_row(line, &row)) {
            compare_vector(&row);
            rows++;
        }
    fclose(file);
    CU_ASSERT_EQUAL(rows, 20);
}

static void nvlink_comes_before_pci_and_never_through_a_gpu(void)
{
    struct imported machine;
    if (!imported_can() || !imported_sample("mesh.xml", 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    imported_assert_route(&machine, 0, 1, "xgmi-gpu0-gpu1");
    imported_assert_route(&machine, 1, 0, "xgmi-gpu1-gpu0");
    imported_assert_route(&machine, 1, 2, "xgmi-gpu1-gpu2_UP");
    imported_assert_route(&machine, 2, 1, "xgmi-gpu1-gpu2_DOWN");
    imported_assert_route(&machine, 0, 2, "pcie-gpu0_UP pcie-gpu2_DOWN");
    CU_ASSERT_EQUAL(imported_rate(&machine, "xgmi-gpu0-gpu1"), 96);
    CU_ASSERT_EQUAL(imported_rate(&machine, "xgmi-gpu1-gpu0"), 48);
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.remarks, "to itself"));
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.remarks, "not in the file"));
    imported_close(&machine);
}

static void a_gpu_takes_its_nearest_nic(void)
{
    struct imported machine;
    if (!imported_can() || !imported_sample("nearest-nic.xml", 2, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    imported_assert_route(
        &machine, 0, 5,
        "n0-pcie-gpu0_UP n0-pcie-nic0_DOWN n0-net-nic0_UP port-n0 port-n1 n1-net-nic1_DOWN "
        "n1-pcie-nic1_UP n1-pcie-0000:07:00.0_UP n1-pcie-gpu1_DOWN");
    imported_assert_route(&machine, 2, 7,
                          "n0-pcie-gpu2_UP n0-net-nic3_UP port-n0 port-n1 n1-net-nic3_DOWN "
                          "n1-pcie-gpu3_DOWN");
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.remarks, "taken as Gen3 like NCCL does: 1 (line 31)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.remarks, "skipped: 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.remarks, "not used: 1"));
    imported_close(&machine);
}

static void rates_may_differ_by_direction_and_hosts_may_share_busids(void)
{
    struct imported machine;
    if (!imported_can() || !imported_sample("nearest-nic.xml", 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    imported_assert_route(&machine, 1, 2,
                          "pcie-gpu1_UP pcie-0000:05:00.0_UP pcie-0000:01:00.0_UP cpu-cpu0-cpu-1 "
                          "pcie-gpu2_DOWN");
    CU_ASSERT_EQUAL(imported_rate(&machine, "cpu-cpu0-cpu-1"), 22);
    CU_ASSERT_EQUAL(imported_rate(&machine, "cpu-cpu-1-cpu0"), 40);
    imported_close(&machine);
    if (!imported_sample("chip-to-chip.xml", 2, RONDE_FABRIC_RAIL, &machine))
        return;
    imported_assert_route(&machine, 0, 1, "n0-nvlink-gpu0_UP n0-nvlink-gpu1_DOWN");
    imported_assert_route(
        &machine, 0, 3,
        "n0-c2c-gpu0-host1-cpu0_UP n0-pcie-nic1_DOWN n0-net-nic1_UP port-n0 port-n1 "
        "n1-net-nic0_DOWN n1-pcie-nic0_UP n1-c2c-gpu1-cpu0_DOWN");
    CU_ASSERT_EQUAL(imported_rate(&machine, "n0-c2c-gpu1-cpu0_UP"), 450);
    CU_ASSERT_DOUBLE_EQUAL(imported_rate(&machine, "n1-nvlink-gpu0_DOWN"), 721.8, 1e-9);
    imported_close(&machine);
}

/* NCCL 2.30: parts of a GPU have each their share of its NVLinks, ranks on one GPU have them together. */
static void gpus_of_one_device_share_its_links(void)
{
    struct imported machine;
    if (!imported_can())
        return;
    if (!imported_sample("shared-gpu.xml", 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    CU_ASSERT_EQUAL(machine.summary.gpus, 5);
    CU_ASSERT_DOUBLE_EQUAL(imported_rate(&machine, "nvlink-gpu0_UP"), 185.4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(imported_rate(&machine, "nvlink-0000:02:00.0_UP"), 370.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(imported_rate(&machine, "nvlink-gpu4_UP"), 370.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(imported_rate(&machine, "c2c-0000:01:00.0-cpu0_UP"), 440, 1e-9);
    imported_assert_route(&machine, 0, 1, "local-gpu0_UP local-gpu1_DOWN");
    imported_assert_route(&machine, 0, 4, "nvlink-gpu0_UP nvlink-gpu4_DOWN");
    imported_assert_route(&machine, 2, 3, "local-gpu2_UP local-gpu3_DOWN");
    imported_assert_route(&machine, 2, 4, "local-gpu2_UP nvlink-0000:02:00.0_UP nvlink-gpu4_DOWN");
    imported_assert_route(&machine, 1, 3, "nvlink-gpu1_UP nvlink-0000:02:00.0_DOWN local-gpu3_DOWN");
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.remarks, "which share its links: 2"));
    imported_close(&machine);
}

static void a_nic_that_answers_by_no_link_is_none(void)
{
    char path[512];
    struct imported machine = {0};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    if (!imported_can() || !imported_sample("one-way.xml", 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    imported_assert_route(&machine, 0, 1, "nvlink-gpu0-0000:01:00.0 pcie-gpu1_DOWN");
    imported_assert_route(&machine, 1, 0, "pcie-gpu1_UP pcie-gpu0_DOWN");
    imported_close(&machine);
    CU_ASSERT_FATAL(suite_source(path, sizeof path, "tests/data/import/one-way.xml"));
    const struct ronde_import_request request = {.path = path, .nodes = 2, .nic_GBps = 10};
    CU_ASSERT_EQUAL(ronde_import_read(&request, ronde_mem_default(), &import, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "gpu0 reaches no NIC"));
}

/*
 * A link between switches saves the way through the processor; those that lead nowhere are left out
 * with a remark.
 */
static void switches_may_have_links_of_their_own(void)
{
    struct imported machine = {0};
    if (!imported_can() || !imported_sample("pcilink.xml", 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    imported_assert_route(&machine, 0, 1, "pcie-gpu0_UP pcie-gpu1_DOWN");
    imported_assert_route(&machine, 1, 0, "pcie-gpu1_UP pcie-gpu0_DOWN");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(machine.remarks, "not in the file, left out: 2 (line 7 and others)"));
    imported_close(&machine);
}

static void files_of_several_nodes_are_linear_and_routable(void)
{
    for (uint32_t fabric = 0; fabric < RONDE_FABRIC_COUNT; fabric++) {
        struct imported machine;
        long bytes[3] = {0};
        for (uint32_t i = 0; i < 3; i++) {
            if (!imported_can() ||
                !imported_sample("chip-to-chip.xml", 16u << i, (enum ronde_fabric)fabric, &machine))
                return;
            bytes[i] = machine.file_bytes;
            CU_ASSERT_EQUAL(machine.summary.hosts, 32u << i);
            CU_ASSERT_EQUAL(ronde_platform_facts(machine.platform)->node_hosts, 2);
            if (i == 0)
                assert_all_routes(&machine);
            imported_close(&machine);
        }
        CU_ASSERT(bytes[2] - bytes[1] < 2.1 * (double)(bytes[1] - bytes[0]));
    }
}

static void leaves_of_a_fat_tree_hold_as_many_nodes_as_they_have_ports(void)
{
    struct imported machine;
    /* Four ports a node: eight nodes on a leaf of 32; the last leaf of twelve holds four. */
    if (!imported_can() || !imported_sample("nearest-nic.xml", 12, RONDE_FABRIC_FAT_TREE, &machine))
        return;
    CU_ASSERT_EQUAL(imported_rate(&machine, "up-leaf0_UP"), 8 * 45.0);
    CU_ASSERT_EQUAL(imported_rate(&machine, "up-leaf1_UP"), 4 * 45.0);
    imported_assert_route(
        &machine, 0, 44,
        "n0-pcie-gpu0_UP n0-pcie-nic0_DOWN n0-net-nic0_UP port-n0 up-leaf0_UP "
        "up-leaf1_DOWN port-n11 n11-net-nic0_DOWN n11-pcie-nic0_UP n11-pcie-gpu0_DOWN");
    imported_close(&machine);
}

static void hwloc_files_give_gpus_their_links(void)
{
    struct imported machine;
    if (!imported_can() || !imported_sample("hwloc.xml", 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    /* The matrix joins gpu0 and gpu1; gpu2's own link has no speed, so Gen3's; the display adapter is no GPU. */
    CU_ASSERT_EQUAL(machine.summary.gpus, 3);
    imported_assert_route(&machine, 0, 1, "nvlink-gpu0-gpu1_UP");
    imported_assert_route(&machine, 0, 2,
                          "pcie-gpu0_UP pcie-0000:01:00.0_UP cpu-cpu0-cpu1_UP pcie-gpu2_DOWN");
    CU_ASSERT_EQUAL(imported_rate(&machine, "pcie-gpu2_DOWN"), 15.75);
    CU_ASSERT_EQUAL(imported_rate(&machine, "nvlink-gpu0-gpu1_DOWN"), 25);
    CU_ASSERT_EQUAL(imported_rate(&machine, "pcie-0000:01:00.0_UP"), 15.753846);
    CU_ASSERT_EQUAL(imported_rate(&machine, "cpu-cpu0-cpu1_UP"), 10);
    CU_ASSERT_EQUAL(imported_rate(&machine, "net-nic0_UP"), 12.5);
    imported_close(&machine);
}

/* A file of the vectors, whose memory has a rate that is given. */
static bool import_hwloc_vector(const char *name, double memory_GBps, struct imported *out_machine)
{
    char path[512];
    const struct ronde_import_request request = {.path = path,
                                                 .nodes = 1,
                                                 .memory_GBps = memory_GBps};
    if (!suite_shared(path, sizeof path, name))
        return false;
    const bool is_fine = imported_machine(&request, out_machine);
    CU_ASSERT(is_fine);
    return is_fine;
}

static void hwloc_vectors_are_what_they_are_known_for(void)
{
    struct imported machine;
    if (!imported_can() || !import_hwloc_vector("vectors/hwloc/nvidiaDGX2.xml", 0, &machine))
        return;
    /* Six links of 25 GB/s into the NVSwitches. */
    CU_ASSERT_EQUAL(machine.summary.gpus, 16);
    for (uint32_t gpu = 0; gpu < 16; gpu++)
        CU_ASSERT_EQUAL(nvlink_of(&machine, gpu), 150);
    imported_assert_route(&machine, 3, 12, "nvlink-gpu3_UP nvlink-gpu12_DOWN");
    imported_close(&machine);
    if (!import_hwloc_vector("vectors/hwloc/power8gpudistances.xml", 0, &machine))
        return;
    imported_assert_route(&machine, 0, 1, "nvlink-gpu0-gpu1_UP");
    imported_assert_route(&machine, 1, 2,
                          "nvlink-gpu1-cpu0_UP cpu-cpu0-cpu1_UP nvlink-gpu2-cpu1_DOWN");
    CU_ASSERT_EQUAL(imported_rate(&machine, "nvlink-gpu0-gpu1_UP"), 40);
    CU_ASSERT_EQUAL(imported_rate(&machine, "cpu-cpu0-cpu1_UP"), 32);
    imported_close(&machine);
}

static void without_gpus_the_ranks_are_cores(void)
{
    struct imported machine;
    if (!imported_can() ||
        !import_hwloc_vector("vectors/hwloc/96em64t-4n4d3ca2co-pci.xml", 30, &machine))
        return;
    const struct ronde_platform_facts *facts = ronde_platform_facts(machine.platform);
    CU_ASSERT_EQUAL(machine.summary.gpus, 0);
    CU_ASSERT_EQUAL(facts->hosts, 96);
    CU_ASSERT_EQUAL(facts->shared.cores, 96);
    CU_ASSERT_EQUAL(facts->shared.memory_GBps, 30);
    CU_ASSERT_PTR_NOT_NULL(strstr(facts->measured_by, "nothing"));
    imported_close(&machine);
}

static void this_machine_can_be_asked(void)
{
    const struct ronde_import_request request = {.nodes = 1, .memory_GBps = 10};
    const char *reason;
    struct imported machine;
    if (!imported_can())
        return;
    if (!ronde_import_can_ask_machine(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    CU_ASSERT_FATAL(imported_machine(&request, &machine));
    CU_ASSERT(machine.summary.hosts >= 1 && machine.summary.cores >= 1);
    CU_ASSERT_EQUAL(ronde_platform_facts(machine.platform)->hosts, machine.summary.hosts);
    imported_close(&machine);
}

/* Time of one replay by the command. */
static double replay_ns(const char *path, const char *engine)
{
    char command[1024];
    char *text = NULL;
    snprintf(command, sizeof command,
             "'%s' sim all_reduce -a ring -N 6 --topo '%s' -b 1M -e 1M --csv --engine %s | tail -1 "
             "| cut -d, -f15",
             suite_ronde(), path, engine);
    CU_ASSERT_EQUAL(files_command(command, &text), 0);
    const double time_ns = text ? strtod(text, NULL) : 0;
    free(text);
    return time_ns;
}

static void simgrid_loads_what_the_command_writes(void)
{
    static const char path[] = RONDE_SCRATCH_DIR "/imported.xml";
    char source[512];
    char command[1400];
    char *text = NULL;
    if (!suite_has_components())
        return;
    if (!suite_source(source, sizeof source, "tests/data/import/chip-to-chip.xml"))
        return;
    snprintf(command, sizeof command, "'%s' topo import '%s' --nodes 3 --fabric fat-tree -o '%s'",
             suite_ronde(), source, path);
    CU_ASSERT_EQUAL_FATAL(files_command(command, &text), 0);
    free(text);
    const double flat_ns = replay_ns(path, "flat");
    CU_ASSERT(flat_ns > 0);
    CU_ASSERT_DOUBLE_EQUAL(replay_ns(path, "simgrid"), flat_ns, flat_ns * 1e-9);
    unlink(path);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_vector_keeps_its_bandwidths_or_is_refused",
         every_vector_keeps_its_bandwidths_or_is_refused},
        {"nvlink_comes_before_pci_and_never_through_a_gpu",
         nvlink_comes_before_pci_and_never_through_a_gpu},
        {"a_gpu_takes_its_nearest_nic", a_gpu_takes_its_nearest_nic},
        {"rates_may_differ_by_direction_and_hosts_may_share_busids",
         rates_may_differ_by_direction_and_hosts_may_share_busids},
        {"gpus_of_one_device_share_its_links", gpus_of_one_device_share_its_links},
        {"a_nic_that_answers_by_no_link_is_none", a_nic_that_answers_by_no_link_is_none},
        {"switches_may_have_links_of_their_own", switches_may_have_links_of_their_own},
        {"files_of_several_nodes_are_linear_and_routable",
         files_of_several_nodes_are_linear_and_routable},
        {"leaves_of_a_fat_tree_hold_as_many_nodes_as_they_have_ports",
         leaves_of_a_fat_tree_hold_as_many_nodes_as_they_have_ports},
        {"hwloc_files_give_gpus_their_links", hwloc_files_give_gpus_their_links},
        {"hwloc_vectors_are_what_they_are_known_for", hwloc_vectors_are_what_they_are_known_for},
        {"without_gpus_the_ranks_are_cores", without_gpus_the_ranks_are_cores},
        {"this_machine_can_be_asked", this_machine_can_be_asked},
        {"simgrid_loads_what_the_command_writes", simgrid_loads_what_the_command_writes},
    };
    return suite_run("import", cases, sizeof cases / sizeof cases[0]);
}
