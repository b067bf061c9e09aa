/*
 * Buffers of the caller's that not every device may access, as an allocator's that maps them for one: they are staged, or
 * messages are copied through slots, and no device reads memory it has no access to.
 */
#include "hw/cuda/backend.h"
#include "support/emulated_gpu.h"
#include "support/suite.h"

#include "ronde/cuda.h"
#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <string.h>

#define RANKS 4u
#define COUNT 30000u

static struct bench {
    struct ronde_error error;
    const struct ronde_gpu *gpus[2];
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    int32_t in[RANKS][COUNT];
    int32_t out[RANKS][COUNT];
    void *ins[RANKS];
    void *outs[RANKS];
} bench;

static void open_bench(void)
{
    static const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                         .algorithm = "ring",
                                                         .ranks = RANKS};
    const struct emulated_options options = {.movers = 2, .room_bytes = 3000, .reaches_host = true};
    memset(&bench, 0, sizeof bench);
    bench.gpus[0] = emulated_gpu_open(&options);
    bench.gpus[1] = emulated_gpu_open_beside(bench.gpus[0], &options);
    CU_ASSERT_EQUAL_FATAL(ronde_cuda_open_on(bench.gpus, 2, NULL, ronde_mem_default(), &bench.self,
                                             &bench.error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &bench.schedule,
                                        &bench.error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_cuda_load(bench.self, bench.schedule, &bench.program, &bench.error),
                          RONDE_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        bench.ins[rank] = bench.in[rank];
        bench.outs[rank] = bench.out[rank];
        for (uint32_t i = 0; i < COUNT; i++)
            bench.in[rank][i] = (int32_t)(rank + i);
    }
}

static void close_bench(void)
{
    ronde_cuda_unload(bench.program);
    ronde_schedule_destroy(bench.schedule);
    ronde_cuda_close_on(bench.self);
    for (uint32_t g = 0; g < 2; g++) {
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[g]).live_blocks, 0);
        emulated_gpu_close(bench.gpus[g]);
    }
}

/* A run whose messages are to be read in place; the protocol that was used. */
static enum ronde_protocol pull(void)
{
    const struct ronde_launch launch = {.count = COUNT,
                                        .dtype = RONDE_INT32,
                                        .protocol = RONDE_PROTOCOL_PULL,
                                        .in = bench.ins,
                                        .out = bench.outs};
    struct ronde_result result = {0};
    void *handle;
    uint64_t wrong = 0;
    memset(bench.out, 0, sizeof bench.out);
    CU_ASSERT_EQUAL_FATAL(ronde_cuda_run(bench.program, &launch, &handle, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_cuda_wait(handle, &result, &bench.error), RONDE_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < COUNT; i++)
            wrong += bench.out[rank][i] != (int32_t)(RANKS * (RANKS - 1) / 2 + RANKS * i);
    CU_ASSERT_EQUAL(wrong, 0);
    return result.protocol;
}

/* Ranks 0 and 1 are on the first device, 2 and 3 on the second. */
static void what_another_device_may_not_read_is_copied(void)
{
    open_bench();
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_PULL);
    emulated_gpu_hide(bench.gpus[0], &bench.in[2][COUNT - 1]);
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_STAGED);
    emulated_gpu_hide(bench.gpus[0], NULL);
    emulated_gpu_hide(bench.gpus[1], &bench.out[1][7]);
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_STAGED);
    emulated_gpu_hide(bench.gpus[1], NULL);
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_PULL);
    close_bench();
}

/* A shadow is memory of the device's own, which all may access. */
static void what_its_own_device_may_not_use_has_a_shadow(void)
{
    open_bench();
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_PULL);
    const uint64_t writes = emulated_gpu_counts(bench.gpus[1]).writes;
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_PULL);
    const uint64_t usual = emulated_gpu_counts(bench.gpus[1]).writes - writes;
    emulated_gpu_hide(bench.gpus[1], &bench.in[3][5]);
    CU_ASSERT_EQUAL(pull(), RONDE_PROTOCOL_PULL);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[1]).writes - writes, 2 * usual + 1);
    const struct ronde_launch launch = {.count = COUNT,
                                        .dtype = RONDE_INT32,
                                        .in = bench.ins,
                                        .out = bench.outs};
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(bench.error.message, "bytes of the buffers are not memory of the device"));
    close_bench();
}

static void buffers_come_from_every_device(void)
{
    open_bench();
    for (uint32_t g = 0; g < 2; g++) {
        const struct ronde_mem *mem = ronde_cuda_mem(bench.self, g);
        CU_ASSERT_PTR_NOT_NULL_FATAL(mem);
        const uint64_t before = emulated_gpu_counts(bench.gpus[g]).live_blocks;
        void *block = mem->resize(mem->self, NULL, 0, 5000);
        CU_ASSERT_PTR_NOT_NULL(block);
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[g]).live_blocks, before + 1);
        ronde_mem_free(mem, block, 5000, 1);
    }
    CU_ASSERT_PTR_NULL(ronde_cuda_mem(bench.self, 2));
    close_bench();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_another_device_may_not_read_is_copied", what_another_device_may_not_read_is_copied},
        {"what_its_own_device_may_not_use_has_a_shadow",
         what_its_own_device_may_not_use_has_a_shadow},
        {"buffers_come_from_every_device", buffers_come_from_every_device},
    };
    return suite_run("reach", cases, sizeof cases / sizeof cases[0]);
}
