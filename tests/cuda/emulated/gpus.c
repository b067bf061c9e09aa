/*
 * `ronde` on emulated GPUs: runtime.c's interface, for these instead of real ones. EMULATED_GPUS is how many there are,
 * EMULATED_PRODUCT what they are called, EMULATED_LINKS set that they have NVLink.
 */
#include "hw/cuda/backend.h"
#include "support/emulated_gpu.h"

#include "ronde/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks that a device runs at once. */
#define BLOCKS 4u

/* Devices opened by one thread, from number 0 on, belong together. */
static _Thread_local const struct ronde_gpu *first;

uint32_t ronde_gpu_runtime(void)
{
    return 13000;
}

enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not)
{
    const char *text = getenv("EMULATED_GPUS");
    (void)why_not;
    *out_count = text ? (uint32_t)strtoul(text, NULL, 10) : 1;
    return RONDE_OK;
}

enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    memset(out_machine, 0, sizeof *out_machine);
    const char *product = getenv("EMULATED_PRODUCT");
    snprintf(out_machine->description, sizeof out_machine->description, "emulated");
    snprintf(out_machine->product, sizeof out_machine->product, "%s", product ? product : "");
    out_machine->has_device_links = getenv("EMULATED_LINKS") != NULL;
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = RONDE_CUDA_SLOT_BYTES;
    const enum ronde_status status = ronde_gpu_count(&out_machine->devices, why_not);
    out_machine->cores = out_machine->devices * BLOCKS;
    return status;
}

enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                 const struct ronde_gpu **out_gpu, struct ronde_error *error)
{
    const struct emulated_options options = {.movers = 4, .resident = BLOCKS, .room_bytes = 8192};
    (void)mem;
    *out_gpu = number == 0 ? emulated_gpu_open(&options) : emulated_gpu_open_beside(first, &options);
    first = number == 0 ? *out_gpu : first;
    return *out_gpu ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a device");
}

void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu)
{
    (void)mem;
    if (gpu)
        emulated_gpu_close(gpu);
}
