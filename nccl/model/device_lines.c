/** Which messages between GPUs travel in lines. See device_lines.h. */
#include "ronde/device_lines.h"

#include "ronde/catalogue.h"
#include "ronde/nccl_model.h"

/** Where one GPU is seen: each process has its own, and how many there are beside it is not known. */
#define USUAL_GPUS 8u

/** More than any slot: what lines are no slower for, whatever its size. */
static const double most_bytes = 1e9;

uint64_t ronde_device_lines_up_to_bytes(const struct ronde_machine *machine)
{
    const struct ronde_gpu_sheet *part = ronde_gpu_find(machine->product);
    enum ronde_nccl_generation generation;
    struct ronde_nccl_constants constants;
    struct ronde_error ignored = {0};
    if (!part || !ronde_nccl_generation_find(machine->product, &generation) ||
        ronde_nccl_constants_read(NULL, &constants, &ignored) != RONDE_OK)
        return 0;
    const uint32_t gpus = machine->devices > 1 ? machine->devices : USUAL_GPUS;
    const struct ronde_nccl_machine node = {.generation = generation,
                                            .link = machine->has_device_links ? RONDE_NCCL_SWITCH
                                                                              : RONDE_NCCL_PCIE,
                                            .gpus = gpus,
                                            .sockets = gpus > 4 ? 2 : 1,
                                            .nvlink_GBps =
                                                machine->has_device_links ? part->nvlink_GBps : 0,
                                            .pcie_GBps = part->pcie_GBps};
    const double bytes = ronde_nccl_lines_up_to_bytes(&constants, &node, gpus);
    /* 1 is no line's worth, and 0 would leave it to the backend. */
    return bytes < 1 ? 1 : bytes < most_bytes ? (uint64_t)bytes : (uint64_t)most_bytes;
}
