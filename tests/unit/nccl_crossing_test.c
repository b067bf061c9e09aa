/**
 * Where lines stop paying: by hand on a machine made up, and that our own kernels send lines only where NCCL's model says that
 * lines are faster, on every kind of machine whose GPUs are joined.
 */
#include "support/suite.h"

#include "nccl_shipped.h"

#include "ronde/nccl_model.h"

#include "hw/cuda/backend.h"

#include <math.h>
#include <string.h>

static struct ronde_nccl_machine machine_of(enum ronde_nccl_generation generation,
                                            enum ronde_nccl_link link)
{
    return (struct ronde_nccl_machine){.generation = generation,
                                       .link = link,
                                       .gpus = 8,
                                       .sockets = 2,
                                       .nvlink_GBps = 300,
                                       .pcie_GBps = 31.5};
}

/* 10 us by Simple and 2 by LL a hop, of all_gather, whose blocks do 8/7 operations: channels of 8/7 times 20 and 5 GB/s. */
static void crossings_are_those_by_hand(void)
{
    struct ronde_nccl_constants made = nccl_shipped();
    const struct ronde_nccl_machine machine = machine_of(RONDE_NCCL_AMPERE, RONDE_NCCL_SWITCH);
    struct ronde_nccl_constant *ampere =
        &made.all[RONDE_NCCL_COMMON_COUNT + RONDE_NCCL_AMPERE * RONDE_NCCL_OF_GENERATION_COUNT];
    ampere[RONDE_NCCL_OF_hop_ratio].value = 2;
    ampere[RONDE_NCCL_OF_channel_ratio].value = 1;
    made.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = 1e3;
    made.all[RONDE_NCCL_COMMON_nvlink_ll_us].value = 1;
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 5;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 5 * 8 / 7.;
    made.all[RONDE_NCCL_COMMON_channel_simple_GBps].value = 20 * 8 / 7.;
    const double bytes = ronde_nccl_lines_up_to_bytes(&made, &machine, 8);
    CU_ASSERT_DOUBLE_EQUAL(bytes, 8e3 / (1 / 5. - 1 / 20.), .01 * bytes);
    /* What is no later is never worse; what is as fast always better. */
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 1;
    CU_ASSERT_EQUAL(ronde_nccl_lines_up_to_bytes(&made, &machine, 8), 0);
    made.all[RONDE_NCCL_COMMON_nvlink_simple_us].value = 5;
    made.all[RONDE_NCCL_COMMON_channel_ll_GBps].value = 20 * 8 / 7.;
    made.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = 1e6;
    CU_ASSERT(ronde_nccl_lines_up_to_bytes(&made, &machine, 8) > 1e6);
}

static void our_lines_end_before_theirs_stop_paying(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    static const enum ronde_nccl_link links[] = {RONDE_NCCL_SWITCH, RONDE_NCCL_MESH};
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
    const struct ronde_nccl_machine nvlink = machine_of(RONDE_NCCL_AMPERE, RONDE_NCCL_SWITCH);
    const struct ronde_nccl_machine pcie = machine_of(RONDE_NCCL_AMPERE, RONDE_NCCL_PCIE);
    const double far = ronde_nccl_lines_up_to_bytes(&constants, &nvlink, 8);
    const double near = ronde_nccl_lines_up_to_bytes(&constants, &pcie, 8);
    suite_note("NVLink %g, PCIe %g bytes a channel", far, near);
    CU_ASSERT(near < far / 2);
    CU_ASSERT(near > RONDE_CUDA_LINES_UP_TO_BYTES / 2.);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"crossings_are_those_by_hand", crossings_are_those_by_hand},
        {"our_lines_end_before_theirs_stop_paying", our_lines_end_before_theirs_stop_paying},
        {"pcie_ends_lines_sooner", pcie_ends_lines_sooner},
    };
    return suite_run("nccl_crossing", cases, sizeof cases / sizeof cases[0]);
}
