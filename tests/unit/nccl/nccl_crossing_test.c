/**
 * Where lines stop paying: by hand on a machine made up; that what our own kernels do without being told is within what NCCL's
 * model says, on every kind of machine whose GPUs are joined; and what devices that were probed are told.
 */
#include "support/suite.h"

#include "nccl_shipped.h"

#include "ronde/device_lines.h"
#include "ronde/nccl_model.h"

#include "hw/cuda/backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct ronde_nccl_machine machine_of(enum ronde_nccl_generation generation,
                                            enum ronde_node_link link)
{
    return (struct ronde_nccl_machine){.generation = generation,
                                       .link = link,
                                       .gpus = 8,
                                       .sockets = 2,
                                       .nvlink_GBps = 300,
                                       .pcie_GBps = 31.5};
}

/* 10 us by Simple and 2 by LL a hop, of all_gather, whose blocks by Simple do 8/7 operations: channels of 8/7 times 20 and 5 GB/s. */
static void crossings_are_those_by_hand(void)
{
    struct ronde_nccl_constants made = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of(RONDE_NCCL_AMPERE, RONDE_NODE_SWITCH);
    struct ronde_nccl_constant *ampere =
        &made.all[RONDE_NCCL_COMMON_COUNT + RONDE_NCCL_AMPERE * RONDE_NCCL_OF_GENERATION_COUNT];
    ampere[RONDE_NCCL_OF_hop_ratio].value = 2;
    ampere[RONDE_NCCL_OF_channel_ratio].value = 1;
    made.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = 1e3;
    made.all[RONDE_NCCL_COMMON_nvlink_ll_us].value = 1;
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 5;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 5;
    made.all[RONDE_NCCL_COMMON_channel_simple_GBps].value = 20 * 8 / 7.;
    const double bytes = ronde_nccl_lines_up_to_bytes(&made, &machine, 8);
    CU_ASSERT_DOUBLE_EQUAL(bytes, 8e3 / (1 / 5. - 1 / 20.), .01 * bytes);
    /* What is no later is never worse; what is as fast always better. */
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 1;
    CU_ASSERT_EQUAL(ronde_nccl_lines_up_to_bytes(&made, &machine, 8), 0);
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 5;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 20;
    made.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = 1e6;
    CU_ASSERT(ronde_nccl_lines_up_to_bytes(&made, &machine, 8) > 1e6);
}

static void our_lines_end_before_theirs_stop_paying(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    static const enum ronde_node_link links[] = {RONDE_NODE_SWITCH, RONDE_NODE_MESH};
    for (unsigned g = RONDE_NCCL_PASCAL; g < RONDE_NCCL_GENERATION_COUNT; g++)
        for (size_t l = 0; l < sizeof links / sizeof links[0]; l++) {
            const struct ronde_nccl_machine machine =
                machine_of((enum ronde_nccl_generation)g, links[l]);
            const double bytes = ronde_nccl_lines_up_to_bytes(&constants, &machine, 8);
            if (!(bytes >= RONDE_CUDA_LINES_UP_TO_BYTES))
                suite_note("%s, %s: %g bytes", ronde_nccl_generation_text(machine.generation),
                           ronde_nccl_link_text(machine.link), bytes);
            CU_ASSERT(bytes >= RONDE_CUDA_LINES_UP_TO_BYTES);
        }
}

/* Through PCIe flags cost packets besides, and few channels share the link: lines pay a fraction as far as through NVLink. */
static void pcie_ends_lines_sooner(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine nvlink = machine_of(RONDE_NCCL_AMPERE, RONDE_NODE_SWITCH);
    const struct ronde_nccl_machine pcie = machine_of(RONDE_NCCL_AMPERE, RONDE_NODE_PCIE);
    const double far = ronde_nccl_lines_up_to_bytes(&constants, &nvlink, 8);
    const double near = ronde_nccl_lines_up_to_bytes(&constants, &pcie, 8);
    suite_note("NVLink %g, PCIe %g bytes a channel", far, near);
    CU_ASSERT(near < far / 2);
    CU_ASSERT(near > RONDE_CUDA_LINES_UP_TO_BYTES / 2.);
}

static uint64_t lines_of(const char *product, bool has_links, uint32_t devices)
{
    struct ronde_machine machine = {.devices = devices, .has_device_links = has_links};
    snprintf(machine.product, sizeof machine.product, "%s", product);
    return ronde_device_lines_up_to_bytes(&machine);
}

/* The product names the data sheet, the probe what joins devices; a process that sees one device alone is one of many. */
static void devices_are_told_by_their_product(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    const struct ronde_nccl_machine sheet = machine_of(RONDE_NCCL_AMPERE, RONDE_NODE_SWITCH);
    const double bytes = ronde_nccl_lines_up_to_bytes(&constants, &sheet, 8);
    CU_ASSERT_EQUAL(lines_of("NVIDIA A100-SXM4-80GB", true, 8), (uint64_t)bytes);
    CU_ASSERT_EQUAL(lines_of("NVIDIA A100-SXM4-80GB", true, 1), (uint64_t)bytes);
    CU_ASSERT(lines_of("NVIDIA A100-PCIE-40GB", false, 8) < (uint64_t)bytes / 2);
    CU_ASSERT(lines_of("NVIDIA H200", true, 1) > RONDE_CUDA_LINES_UP_TO_BYTES);
    CU_ASSERT_EQUAL(lines_of("Abacus 1", true, 8), 0);
    CU_ASSERT_EQUAL(lines_of("", false, 8), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"crossings_are_those_by_hand", crossings_are_those_by_hand},
        {"our_lines_end_before_theirs_stop_paying", our_lines_end_before_theirs_stop_paying},
        {"pcie_ends_lines_sooner", pcie_ends_lines_sooner},
        {"devices_are_told_by_their_product", devices_are_told_by_their_product},
    };
    return suite_run("nccl_crossing", cases, sizeof cases / sizeof cases[0]);
}
