/**
 * Nodes that are described in some lines, as platform files: what is in the lines is on the routes, and NCCL's model reads
 * the same machine out of the platform again.
 */
#include "support/built_with.h"
#include "support/suite.h"
#include "support/sweep.h"
#include "unit/topologies/imported.h"

#include "nccl_shipped.h"

#include "ronde/nccl_node.h"
#include "ronde/nccl_platform.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SOURCE_DIR "/topologies/published"

/** A node that nothing is wrong with, and a cluster of it. */
static struct ronde_node_description eight(enum ronde_node_link link)
{
    return (struct ronde_node_description){.name = "eight",
                                           .gpus = 8,
                                           .sockets = 2,
                                           .link = link,
                                           .nvlink_GBps = 150,
                                           .pcie_GBps = 15.75,
                                           .socket_GBps = 10,
                                           .nics = 4,
                                           .nic_GBps = 12.5};
}

static bool build(const struct ronde_node_description *node, uint32_t nodes,
                  enum ronde_fabric fabric, struct imported *out)
{
    const struct ronde_import_request request = {.nodes = nodes, .fabric = fabric};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    memset(out, 0, sizeof *out);
    if (!imported_can())
        return false;
    const enum ronde_status status =
        ronde_import_describe(node, &request, ronde_mem_default(), &import, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK) {
        suite_note("%s: %s", node->name, error.message);
        return false;
    }
    out->summary = ronde_import_summary(import);
    const bool is_fine = imported_read_back(import, out);
    ronde_import_destroy(import);
    CU_ASSERT(is_fine);
    return is_fine;
}

/** Rate of the slowest link between two hosts, INFINITY where there is none. */
static double rate_of(const struct imported *machine, uint32_t src, uint32_t dst)
{
    uint32_t links[64], count = 0;
    struct ronde_error error = {0};
    double GBps = INFINITY;
    CU_ASSERT_EQUAL(ronde_platform_route(machine->platform, src, dst, 64, links, &count, &error),
                    RONDE_OK);
    for (uint32_t i = 0; i < count; i++)
        GBps = fmin(GBps, ronde_platform_link(machine->platform, links[i])->rate_GBps);
    return GBps;
}

static void each_joint_has_the_rates_of_its_lines(void)
{
    struct imported machine;
    struct ronde_node_description node = eight(RONDE_NODE_SWITCH);
    if (!build(&node, 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 7), 150, 1e-9);
    imported_close(&machine);
    node = eight(RONDE_NODE_MESH);
    CU_ASSERT_FATAL(build(&node, 1, RONDE_FABRIC_CROSSBAR, &machine));
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 7), 150. / 7, 1e-9);
    imported_close(&machine);
    node = eight(RONDE_NODE_PAIRS);
    CU_ASSERT_FATAL(build(&node, 1, RONDE_FABRIC_CROSSBAR, &machine));
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 2, 3), 150, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 1, 2), 15.75, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 3, 4), 10, 1e-9); /* between sockets */
    imported_close(&machine);
}

/** Six links of each GPU, as nvidia-smi topo shows DGX-1: NV1 to 1 and 2, NV2 to 3 and 4, for GPU 0. */
static void a_cube_has_the_links_of_dgx_1(void)
{
    struct imported machine;
    const struct ronde_node_description volta = eight(RONDE_NODE_CUBE),
                                        pascal = eight(RONDE_NODE_CUBE_4);
    if (!build(&volta, 1, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 1), 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 4), 50, 1e-9);
    CU_ASSERT(rate_of(&machine, 0, 5) <= 15.75);
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        double sum = 0;
        for (uint32_t peer = 0; peer < 8; peer++)
            if (peer != gpu && rate_of(&machine, gpu, peer) > 15.75)
                sum += rate_of(&machine, gpu, peer);
        CU_ASSERT_DOUBLE_EQUAL(sum, 150, 1e-9);
    }
    imported_close(&machine);
    CU_ASSERT_FATAL(build(&pascal, 1, RONDE_FABRIC_CROSSBAR, &machine));
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 4), 37.5, 1e-9);
    imported_close(&machine);
}

/** Two GPUs share a NIC of four; of 32 every GPU has four, which are one port. */
static void nics_are_spread_over_gpus(void)
{
    struct imported machine;
    struct ronde_node_description node = eight(RONDE_NODE_SWITCH);
    char route[512], other[512];
    if (!build(&node, 2, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    CU_ASSERT_EQUAL(machine.summary.nics, 4);
    CU_ASSERT_EQUAL(machine.summary.hosts, 16);
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 8), 12.5, 1e-9);
    imported_route(&machine, 2, 8, route);
    imported_route(&machine, 3, 8, other);
    CU_ASSERT_PTR_NOT_NULL(strstr(route, "net-nic1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(other, "net-nic1"));
    imported_close(&machine);
    node.nics = 32;
    CU_ASSERT_FATAL(build(&node, 2, RONDE_FABRIC_RAIL, &machine));
    CU_ASSERT_EQUAL(machine.summary.nics, 8);
    CU_ASSERT_DOUBLE_EQUAL(rate_of(&machine, 0, 8), 15.75, 1e-9); /* the slot, not 4 x 12.5 */
    imported_close(&machine);
    node.is_bridged = true;
    CU_ASSERT_FATAL(build(&node, 2, RONDE_FABRIC_RAIL, &machine));
    CU_ASSERT_EQUAL(machine.summary.switches, 0);
    imported_close(&machine);
}

/** A name is a word of a file; in a platform it is an attribute. */
static void any_name_becomes_one_of_a_platform(void)
{
    struct imported machine;
    struct ronde_node_description node = eight(RONDE_NODE_SWITCH);
    node.name = "a<b\"&c d";
    if (!build(&node, 2, RONDE_FABRIC_CROSSBAR, &machine))
        return;
    CU_ASSERT_STRING_EQUAL(ronde_platform_facts(machine.platform)->name, "a_b__c_d-x2");
    imported_close(&machine);
}

static void what_no_node_can_be_is_refused(void)
{
    struct ronde_node_description nodes[8];
    for (size_t i = 0; i < 8; i++)
        nodes[i] = eight(RONDE_NODE_SWITCH);
    nodes[0].gpus = 0;
    nodes[1].gpus = 257;
    nodes[2].sockets = 0;
    nodes[3].nvlink_GBps = 0;
    nodes[4].nic_GBps = NAN;
    nodes[5].nics = 0; /* of two nodes */
    nodes[6].link = RONDE_NODE_CUBE;
    nodes[6].gpus = 4;
    nodes[7].pcie_GBps = -1;
    for (size_t i = 0; i < 8; i++) {
        const struct ronde_import_request request = {.nodes = 2};
        struct ronde_import *import = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_import_describe(&nodes[i], &request, ronde_mem_default(), &import,
                                              &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(import);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "eight: "));
    }
}

static enum ronde_status describe(const void *context, const struct ronde_mem *mem,
                                  struct ronde_error *error)
{
    const struct ronde_node_description node = eight(RONDE_NODE_CUBE);
    const struct ronde_import_request request = {.nodes = 2};
    struct ronde_import *import = NULL;
    (void)context;
    const enum ronde_status status = ronde_import_describe(&node, &request, mem, &import, error);
    CU_ASSERT((status == RONDE_OK) == (import != NULL));
    ronde_import_destroy(import);
    return status;
}

static void memory_may_end_anywhere(void)
{
    const struct sweep sweep = {.what = "a described node", .operation = describe};
    CU_ASSERT(sweep_run(&sweep) > 5);
}

/** A platform says of links, rates and NICs what its description did; more NICs than GPUs are one a GPU. */
static void check_round(const char *path)
{
    struct ronde_nccl_machine machine, again;
    struct ronde_nccl_constants constants;
    struct ronde_error error = {0};
    struct imported built;
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_read(path, &machine, &error), RONDE_OK);
    constants = nccl_shipped();
    const struct ronde_node_description node = ronde_nccl_node_of_machine(&machine, &constants);
    if (!build(&node, machine.nics > 0 ? 2 : 1, RONDE_FABRIC_CROSSBAR, &built))
        return;
    const enum ronde_status status = ronde_nccl_machine_of_platform(built.platform, &again, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s: %s", path, error.message);
    const uint32_t joined = machine.nvlink_nodes > 1 ? machine.nvlink_nodes : 1;
    CU_ASSERT_EQUAL(again.gpus, machine.gpus * joined);
    /* Bridged pairs look like a mesh of unequal links, two GPUs of a pair like a switch. */
    if (machine.link != RONDE_NODE_PAIRS && machine.gpus > 2) {
        CU_ASSERT_EQUAL(again.link, machine.link);
        if (machine.link != RONDE_NODE_PCIE)
            CU_ASSERT_DOUBLE_EQUAL(again.nvlink_GBps, machine.nvlink_GBps, 1e-6);
    }
    /* A slot carries no more than itself. */
    if (machine.nics == machine.gpus && machine.nic_GBps <= node.pcie_GBps)
        CU_ASSERT_DOUBLE_EQUAL(again.nic_GBps, machine.nic_GBps, 1e-6);
    imported_close(&built);
}

/* Where switches join the GPUs, the link between two processors carries nothing between them. */
static void gpus_behind_switches_hang_on_one_processor(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    struct ronde_nccl_machine machine = {.name = "two sockets",
                                         .generation = RONDE_NCCL_ADA,
                                         .link = RONDE_NODE_PCIE,
                                         .gpus = 4,
                                         .sockets = 2,
                                         .pcie_GBps = 31.5};
    CU_ASSERT_EQUAL(ronde_nccl_node_of_machine(&machine, &constants).sockets, 2);
    machine.gpu_path = RONDE_NCCL_GPU_SWITCH;
    CU_ASSERT_EQUAL(ronde_nccl_node_of_machine(&machine, &constants).sockets, 1);
}

static void published_machines_become_platforms_and_come_back(void)
{
    DIR *folder = opendir(FOLDER);
    uint32_t count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[512];
        if (!strstr(entry->d_name, ".txt"))
            continue;
        snprintf(path, sizeof path, FOLDER "/%s", entry->d_name);
        check_round(path);
        count++;
    }
    closedir(folder);
    CU_ASSERT(count >= 17);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"each_joint_has_the_rates_of_its_lines", each_joint_has_the_rates_of_its_lines},
        {"a_cube_has_the_links_of_dgx_1", a_cube_has_the_links_of_dgx_1},
        {"nics_are_spread_over_gpus", nics_are_spread_over_gpus},
        {"any_name_becomes_one_of_a_platform", any_name_becomes_one_of_a_platform},
        {"what_no_node_can_be_is_refused", what_no_node_can_be_is_refused},
        {"memory_may_end_anywhere", memory_may_end_anywhere},
        {"gpus_behind_switches_hang_on_one_processor", gpus_behind_switches_hang_on_one_processor},
        {"published_machines_become_platforms_and_come_back",
         published_machines_become_platforms_and_come_back},
    };
    return suite_run("described", cases, sizeof cases / sizeof cases[0]);
}
