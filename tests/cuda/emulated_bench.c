/* The cuda backend on emulated devices. See emulated_bench.h. */
#include "cuda/emulated_bench.h"

#include "hw/cuda/backend.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <string.h>

struct bench bench;

void bench_open_for(const struct emulated_options *options, uint32_t count,
                    uint64_t lines_up_to_bytes, const struct ronde_mem *mem)
{
    memset(&bench, 0, sizeof bench);
    bench.gpu_count = count;
    for (uint32_t g = 0; g < count; g++) {
        bench.gpus[g] =
            g == 0 ? emulated_gpu_open(options) : emulated_gpu_open_beside(bench.gpus[0], options);
        CU_ASSERT_FATAL(bench.gpus[g] != NULL);
    }
    bench.gpu = bench.gpus[0];
    const struct ronde_cuda_place place = {.mem = mem,
                                           .gpus = bench.gpus,
                                           .gpu_count = count,
                                           .lines_up_to_bytes = lines_up_to_bytes};
    CU_ASSERT_FATAL(ronde_cuda_open_place(&place, &bench.self, &bench.error) == RONDE_OK);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        bench.ins[rank] = bench.in[rank];
        bench.outs[rank] = bench.out[rank];
        for (uint32_t i = 0; i < COUNT_MAX; i++)
            bench.in[rank][i] = (int32_t)(rank + i);
    }
}

void bench_open(const struct emulated_options *options, uint32_t count, const struct ronde_mem *mem)
{
    bench_open_for(options, count, 0, mem);
}

void bench_open_one(const struct emulated_options *options, const struct ronde_mem *mem)
{
    bench_open(options, 1, mem);
}

void bench_close(void)
{
    ronde_cuda_unload(bench.program);
    ronde_schedule_destroy(bench.schedule);
    ronde_cuda_close_on(bench.self);
    for (uint32_t g = 0; g < bench.gpu_count; g++) {
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[g]).live_blocks, 0);
        emulated_gpu_close(bench.gpus[g]);
    }
}

static struct ronde_schedule *compile(const struct ronde_compile_request *request)
{
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_FATAL(ronde_compile(request, ronde_mem_default(), NULL, &schedule, &bench.error) ==
                    RONDE_OK);
    return schedule;
}

struct ronde_schedule *bench_compile(const char *algorithm, uint32_t ranks, uint32_t channels)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .channels = channels,
                                                  .ranks = ranks};
    return compile(&request);
}

struct ronde_schedule *bench_compile_as(enum ronde_collective collective, const char *algorithm,
                                        uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    return compile(&request);
}

void bench_load(struct ronde_schedule *schedule)
{
    bench.schedule = schedule;
    CU_ASSERT_FATAL(ronde_cuda_load(bench.self, schedule, &bench.program, &bench.error) == RONDE_OK);
}

struct ronde_launch bench_launch(uint64_t count)
{
    return (struct ronde_launch){.count = count,
                                 .dtype = RONDE_INT32,
                                 .in = bench.ins,
                                 .out = bench.outs};
}

enum ronde_status bench_run(const struct ronde_launch *launch)
{
    struct ronde_result result;
    void *handle;
    memset(&bench.error, 0, sizeof bench.error);
    memset(bench.out, 0, sizeof bench.out);
    const enum ronde_status status = ronde_cuda_run(bench.program, launch, &handle, &bench.error);
    return status == RONDE_OK ? ronde_cuda_wait(handle, &result, &bench.error) : status;
}

enum ronde_status bench_check_streams(void *program)
{
    bool is_done = false;
    while (!is_done)
        CU_ASSERT_FATAL(ronde_cuda_test(program, &is_done, &bench.error) == RONDE_OK);
    return ronde_cuda_check(program, &bench.error);
}

bool bench_is_sum(uint32_t ranks, uint64_t count)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 0; i < count; i++)
            if (bench.out[rank][i] != (int32_t)(ranks * (ranks - 1) / 2 + ranks * i))
                return false;
        if (count < COUNT_MAX && bench.out[rank][count] != 0)
            return false;
    }
    return true;
}
