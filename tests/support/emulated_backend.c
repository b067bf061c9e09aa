/* The cuda backend on emulated GPUs. See emulated_gpu.h. */
#include "support/emulated_gpu.h"

#include "hw/cuda/backend.h"
#include "hw/cuda/job.h"

#include <stdlib.h>
#include <string.h>

/* On how many devices programs run, in turn. */
static const uint32_t device_counts[] = {1, 2, 4};

#define COUNTS (sizeof device_counts / sizeof device_counts[0])

/* Devices of one machine, and the cuda backend on the first of them. */
struct emulated {
    const struct ronde_gpu *gpus[4];
    void *selves[COUNTS];
    uint32_t loads;
};

static enum ronde_status emulated_probe(struct ronde_machine *out_machine,
                                        struct ronde_error *why_not)
{
    (void)why_not;
    memset(out_machine, 0, sizeof *out_machine);
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = RONDE_CUDA_SLOT_BYTES;
    return RONDE_OK;
}

static void emulated_close(void *self)
{
    struct emulated *emulated = self;
    if (!emulated)
        return;
    for (size_t c = 0; c < COUNTS; c++)
        ronde_cuda_close_on(emulated->selves[c]);
    for (size_t g = 0; g < 4; g++)
        if (emulated->gpus[g])
            emulated_gpu_close(emulated->gpus[g]);
    free(emulated);
}

static enum ronde_status emulated_open(const struct ronde_machine *machine,
                                       const struct ronde_mem *mem, void **out_self,
                                       struct ronde_error *error)
{
    /* Large enough for a few lane slots of few connections, so that some fit and some do not. */
    const struct emulated_options options = {.room_bytes = 2000};
    struct emulated *emulated = calloc(1, sizeof *emulated);
    enum ronde_status status = emulated ? RONDE_OK : RONDE_NO_MEMORY;
    (void)machine;
    *out_self = NULL;
    for (size_t g = 0; g < 4 && status == RONDE_OK; g++) {
        emulated->gpus[g] = g == 0 ? emulated_gpu_open(&options)
                                   : emulated_gpu_open_beside(emulated->gpus[0], &options);
        status = emulated->gpus[g] ? RONDE_OK : RONDE_NO_MEMORY;
    }
    for (size_t c = 0; c < COUNTS && status == RONDE_OK; c++)
        status = ronde_cuda_open_on(emulated->gpus, device_counts[c], NULL, mem,
                                    &emulated->selves[c], error);
    if (status != RONDE_OK) {
        emulated_close(emulated);
        return ronde_fail(error, status, "no memory for emulated devices");
    }
    *out_self = emulated;
    return RONDE_OK;
}

static enum ronde_status emulated_supports(void *self, const struct ronde_schedule *schedule,
                                           const struct ronde_launch *launch,
                                           struct ronde_error *why_not)
{
    const struct emulated *emulated = self;
    return ronde_cuda_supports(emulated->selves[COUNTS - 1], schedule, launch, why_not);
}

static enum ronde_status emulated_load(void *self, const struct ronde_schedule *schedule,
                                       void **out_program, struct ronde_error *error)
{
    struct emulated *emulated = self;
    return ronde_cuda_load(emulated->selves[emulated->loads++ % COUNTS], schedule, out_program,
                           error);
}

const struct ronde_backend emulated_backend = {
    .name = "cuda, emulated",
    .probe = emulated_probe,
    .open = emulated_open,
    .supports = emulated_supports,
    .load = emulated_load,
    .run = ronde_cuda_run,
    .test = ronde_cuda_test,
    .wait = ronde_cuda_wait,
    .abort = ronde_cuda_abort,
    .unload = ronde_cuda_unload,
    .close = emulated_close,
};
