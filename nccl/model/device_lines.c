/* Up to which size LL's lines are faster than Simple on a node, and so on the devices of the `cuda` backend. See ronde/device_lines.h. */
#include "ronde/device_lines.h"

#include "setting.h"

#include "ronde/catalogue.h"

#include <math.h>

/** A size at which every channel is in use, so that rates are those of all of them. */
static const uint64_t large_bytes = (uint64_t)1 << 30;

static struct ronde_nccl_setting
setting_by(const struct ronde_nccl_constants *constants, const struct ronde_nccl_machine *machine,
           const struct ronde_nccl_call *call, enum ronde_nccl_protocol protocol)
{
    const struct ronde_nccl_choice choice = {RONDE_NCCL_RING, protocol};
    return ronde_nccl_setting_of(constants, machine, call, choice);
}

double ronde_nccl_lines_up_to_bytes(const struct ronde_nccl_constants *constants,
                                    const struct ronde_nccl_machine *machine, uint32_t gpus)
{
    const struct ronde_nccl_call call = {RONDE_ALL_GATHER, gpus, 1, 0, large_bytes};
    const struct ronde_nccl_setting lines = setting_by(constants, machine, &call, RONDE_NCCL_LL),
                                    plain = setting_by(constants, machine, &call, RONDE_NCCL_SIMPLE);
    const double dearer = lines.channels / lines.inside_GBps - plain.channels / plain.inside_GBps;
    const double sooner_us = plain.hop_us - lines.hop_us;
    if (sooner_us <= 0)
        return 0;
    return dearer > 0 ? sooner_us * 1e3 / dearer : INFINITY;
}

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
                                            .link = machine->has_device_links ? RONDE_NODE_SWITCH
                                                                              : RONDE_NODE_PCIE,
                                            .gpus = gpus,
                                            .sockets = gpus > 4 ? 2 : 1,
                                            .nvlink_GBps =
                                                machine->has_device_links ? part->nvlink_GBps : 0,
                                            .pcie_GBps = part->pcie_GBps};
    const double bytes = ronde_nccl_lines_up_to_bytes(&constants, &node, gpus);
    /* 1 is no line's worth, and 0 would leave it to the backend. */
    return bytes < 1 ? 1 : bytes < most_bytes ? (uint64_t)bytes : (uint64_t)most_bytes;
}
