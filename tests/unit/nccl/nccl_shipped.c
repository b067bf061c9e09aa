/* See nccl_shipped.h. */
#include "nccl_shipped.h"

#include "support/suite.h"

const struct ronde_nccl_machine nccl_h100 = {.name = "h100",
                                             .generation = RONDE_NCCL_HOPPER,
                                             .link = RONDE_NODE_SWITCH,
                                             .cpu = RONDE_NCCL_INTEL,
                                             .gpus = 8,
                                             .sockets = 2,
                                             .nics = 8,
                                             .nvlink_GBps = 450,
                                             .nic_GBps = 50};

struct ronde_nccl_constants nccl_shipped(void)
{
    struct ronde_nccl_constants constants;
    struct ronde_error error = {0};
    char folder[4096];
    CU_ASSERT_FATAL(suite_source(folder, sizeof folder, "nccl/model/constants"));
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_OK);
    return constants;
}

double nccl_chosen_us(const struct ronde_nccl_constants *constants,
                      const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                      struct ronde_nccl_choice *out_choice)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    (void)ronde_nccl_choose(constants, machine, call, any, out_choice);
    return ronde_nccl_execution_us(constants, machine, call, *out_choice);
}
