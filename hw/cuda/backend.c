/*
 * The cuda backend: all ranks as virtual ranks of one GPU, a block per lane while they fit, else several lanes per block.
 *
 * This file knows no CUDA: gpu.h is all it sees of a device. Buffers of the host are copied to the device for the run;
 * with buffers of the device nothing is copied, and ronde/cuda.h enqueues runs in the caller's streams.
 */
#include "hw/cuda/backend.h"

#include "hw/cuda/program.h"
#include "ronde/cuda.h"
#include "ronde/hw.h"

#include <string.h>

/* The open backend. */
struct cuda {
    const struct ronde_mem *mem;
    const struct ronde_gpu *gpu;
};

enum ronde_status ronde_cuda_open_on(const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                     void **out_self, struct ronde_error *error)
{
    *out_self = NULL;
    struct cuda *cuda = ronde_mem_new(mem, 1, sizeof *cuda);
    if (!cuda)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to open the cuda backend");
    cuda->mem = mem;
    cuda->gpu = gpu;
    *out_self = cuda;
    return RONDE_OK;
}

void ronde_cuda_close_on(void *self)
{
    struct cuda *cuda = self;
    if (cuda)
        ronde_mem_free(cuda->mem, cuda, 1, sizeof *cuda);
}

const struct ronde_gpu *ronde_cuda_gpu(const void *self)
{
    return ((const struct cuda *)self)->gpu;
}

enum ronde_status ronde_cuda_supports(void *self, const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch, struct ronde_error *why_not)
{
    const struct cuda *cuda = self;
    uint32_t resident;
    enum ronde_status status = ronde_launch_check(schedule, launch, why_not);
    if (status == RONDE_OK)
        status = cuda->gpu->resident_blocks(cuda->gpu->self, launch->dtype, &resident, why_not);
    if (status == RONDE_OK && resident == 0)
        status = ronde_fail(why_not, RONDE_UNSUPPORTED,
                            "no block of %u threads and %u bytes of shared memory fits the device",
                            RONDE_BLOCK_THREADS, RONDE_ROOM_BYTES);
    return status;
}

void ronde_cuda_unload(void *self)
{
    struct ronde_cuda_program *program = self;
    if (!program)
        return;
    ronde_cuda_program_fini(program);
    ronde_mem_free(program->mem, program, 1, sizeof *program);
}

enum ronde_status ronde_cuda_load(void *self, const struct ronde_schedule *schedule,
                                  void **out_program, struct ronde_error *error)
{
    *out_program = NULL;
    struct cuda *cuda = self;
    struct ronde_cuda_program *program = ronde_mem_new(cuda->mem, 1, sizeof *program);
    if (!program)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    const enum ronde_status status =
        ronde_cuda_program_init(program, cuda->gpu, cuda->mem, schedule, error);
    if (status != RONDE_OK) {
        ronde_cuda_unload(program);
        return status;
    }
    *out_program = program;
    return RONDE_OK;
}

/* Stages, prepares and starts. */
static enum ronde_status begin(struct ronde_cuda_program *program,
                               const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_launch staged;
    enum ronde_status status =
        ronde_staging_enter(&program->staging, launch, program->queue, &staged, error);
    if (status == RONDE_OK)
        status = ronde_cuda_program_prepare(program, &staged, error);
    if (status == RONDE_OK)
        status = ronde_cuda_program_start(program, NULL, error);
    return status;
}

enum ronde_status ronde_cuda_run(void *self, const struct ronde_launch *launch, void **out_run,
                                 struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    *out_run = NULL;
    if (program->is_running)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is running already");
    enum ronde_status status = ronde_launch_check(program->loaded->schedule, launch, error);
    if (status == RONDE_OK)
        status = begin(program, launch, error);
    if (status != RONDE_OK)
        return status;
    program->launch = *launch;
    program->is_running = true;
    *out_run = program;
    return RONDE_OK;
}

enum ronde_status ronde_cuda_test(void *self, bool *out_done, struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    return program->gpu->is_over(program->queue, out_done, error);
}

enum ronde_status ronde_cuda_wait(void *self, struct ronde_result *out_result,
                                  struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    double elapsed_ns;
    program->is_running = false;
    enum ronde_status status = program->gpu->finish(program->queue, &elapsed_ns, error);
    if (status != RONDE_OK) {
        ronde_loaded_finish(program->loaded, false);
        return status;
    }
    status = ronde_cuda_program_outcome(program, error);
    if (status == RONDE_OK)
        status = ronde_staging_leave(&program->staging, &program->launch, program->queue, error);
    if (status != RONDE_OK)
        return status;
    out_result->elapsed_ns = elapsed_ns;
    out_result->is_virtual = false;
    out_result->protocol = ronde_loaded_protocol(program->loaded);
    return RONDE_OK;
}

/* May be called from any thread, also while another is in wait. */
void ronde_cuda_abort(void *self)
{
    const struct ronde_cuda_program *program = self;
    __atomic_store_n(&program->gpu->words(program->queue)[0], 1, __ATOMIC_RELEASE);
}

enum ronde_status ronde_cuda_prepare(void *self, const struct ronde_launch *launch,
                                     struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    struct ronde_launch staged;
    if (program->is_running)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is running already");
    enum ronde_status status = ronde_launch_check(program->loaded->schedule, launch, error);
    if (status == RONDE_OK)
        status = ronde_staging_enter(&program->staging, launch, program->queue, &staged, error);
    if (status == RONDE_OK && program->staging.image.bytes > 0)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "%llu bytes of the buffers are not memory of the device, which runs in "
                            "a stream need",
                            (unsigned long long)program->staging.image.bytes);
    if (status == RONDE_OK)
        status = ronde_cuda_program_prepare(program, &staged, error);
    /* What was sent must be there before any stream starts. */
    if (status == RONDE_OK)
        status = program->gpu->finish(program->queue, NULL, error);
    return status;
}

enum ronde_status ronde_cuda_enqueue(void *self, void *stream, struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    if (!program->is_prepared)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "no launch of the program was prepared");
    return ronde_cuda_program_start(program, stream, error);
}

enum ronde_status ronde_cuda_check(void *self, struct ronde_error *error)
{
    return ronde_cuda_program_outcome(self, error);
}

/* Probe has said what there is; the device is opened again, since it belongs to the open backend. */
static enum ronde_status cuda_open(const struct ronde_machine *machine, const struct ronde_mem *mem,
                                   void **out_self, struct ronde_error *error)
{
    const struct ronde_gpu *gpu;
    (void)machine;
    *out_self = NULL;
    enum ronde_status status = ronde_gpu_open(mem, &gpu, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_cuda_open_on(gpu, mem, out_self, error);
    if (status != RONDE_OK)
        ronde_gpu_close(mem, gpu);
    return status;
}

static void cuda_close(void *self)
{
    const struct cuda *cuda = self;
    if (cuda)
        ronde_gpu_close(cuda->mem, cuda->gpu);
    ronde_cuda_close_on(self);
}

const struct ronde_backend ronde_backend_cuda = {
    .name = "cuda",
    .probe = ronde_gpu_probe,
    .open = cuda_open,
    .supports = ronde_cuda_supports,
    .load = ronde_cuda_load,
    .run = ronde_cuda_run,
    .test = ronde_cuda_test,
    .wait = ronde_cuda_wait,
    .abort = ronde_cuda_abort,
    .unload = ronde_cuda_unload,
    .close = cuda_close,
};
