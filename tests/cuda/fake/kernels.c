/*
 * A library of kernels as the package ronde-cuda brings it, on a machine of two devices. With OTHER_VERSION it lacks a call.
 */
#include "hw/cuda/gpu.h"
#include "ronde/gpus.h"

#include <string.h>

uint32_t ronde_gpu_runtime(void)
{
    return 13020;
}

enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not)
{
    (void)why_not;
    *out_count = 2;
    return RONDE_OK;
}

enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    memset(out_machine, 0, sizeof *out_machine);
    strcpy(out_machine->description, "two devices of a fake");
    out_machine->max_ranks = 2;
    return ronde_gpu_count(&out_machine->devices, why_not);
}

enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                 const struct ronde_gpu **out_gpu, struct ronde_error *error)
{
    (void)mem;
    (void)number;
    *out_gpu = NULL;
    if (error) {
        error->status = RONDE_DEVICE;
        strcpy(error->message, "the fake does not open");
    }
    return RONDE_DEVICE;
}

#ifndef OTHER_VERSION
void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu)
{
    (void)mem;
    (void)gpu;
}
#endif
