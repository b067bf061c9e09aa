/*
 * Runs of the cuda backend in streams of the caller's, on emulated GPUs: in what order they run, what they find there, and
 * which streams there are.
 */
#include "cuda/emulated_bench.h"
#include "hw/cuda/backend.h"
#include "support/suite.h"

#include "ronde/engine.h"

#include <string.h>

/* The emulated stream is a word whose value means nothing; a real one is a cudaStream_t. */
static void *const streams[DEVICES_MAX] = {&bench, &bench, &bench, &bench};

/* Devices that need no copies of the host's buffers. */
static const struct emulated_options eager = {.movers = 3,
                                              .resident = 4,
                                              .room_bytes = 3000,
                                              .reaches_host = true};

static void runs_in_a_stream_need_no_preparation_of_their_own(void)
{
    const struct emulated_options options = {.movers = 3,
                                             .resident = 4,
                                             .room_bytes = 3000,
                                             .reaches_host = true};
    bench_open(&options, 3, ronde_mem_default());
    bench_load(bench_compile("ring", 4, 2));
    const struct ronde_launch launch = bench_launch(40);
    CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "no launch of the program was prepared"));
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
    const uint64_t writes = emulated_gpu_counts(bench.gpu).writes;
    for (uint32_t turn = 0; turn < 10; turn++) {
        memset(bench.out, 0, sizeof bench.out);
        CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_OK);
        CU_ASSERT_EQUAL(bench_check_streams(bench.program), RONDE_OK);
        CU_ASSERT(bench_is_sum(4, 40));
    }
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).writes, writes);
    bench_close();
}

/* Enqueues runs of two programs by turns; both are under way when the first is waited for. */
static void enqueue_both(void *const programs[2], uint32_t runs)
{
    for (uint32_t run = 0; run < 2 * runs; run++)
        CU_ASSERT_EQUAL(ronde_cuda_enqueue(programs[run % 2], streams, &bench.error), RONDE_OK);
    for (uint32_t p = 0; p < 2; p++) {
        CU_ASSERT_EQUAL(bench_check_streams(programs[p]), RONDE_OK);
    }
}

/* Lane slots that do not fit shared memory, with ends that would: what one run leaves in them, the next one reads. */
static void runs_in_a_stream_find_what_they_need_again(void)
{
    for (uint32_t room_bytes = 0; room_bytes <= 6000; room_bytes += 500) {
        const struct emulated_options options = {.movers = 2,
                                                 .resident = 1,
                                                 .room_bytes = room_bytes,
                                                 .reaches_host = true};
        bench_open(&options, 1, ronde_mem_default());
        bench_load(bench_compile("ring", 4, 2));
        const struct ronde_launch launch = bench_launch(500);
        CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
        for (uint32_t run = 0; run < 4; run++)
            CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_OK);
        CU_ASSERT_EQUAL(bench_check_streams(bench.program), RONDE_OK);
        CU_ASSERT(bench_is_sum(4, 500));
        bench_close();
    }
}

/* Where a block has one lane, and its lane slot, ends and program fit. */
static void steps_lie_in_shared_memory_where_they_fit(void)
{
    for (uint32_t room_bytes = 0; room_bytes <= 8000; room_bytes += 1000)
        for (uint32_t resident = 4; resident <= 8; resident += 4) {
            const struct emulated_options options = {.movers = 2,
                                                     .resident = resident,
                                                     .room_bytes = room_bytes,
                                                     .reaches_host = true};
            bench_open(&options, 1, ronde_mem_default());
            bench_load(bench_compile("ring", 4, 2));
            const struct ronde_launch launch = bench_launch(500);
            CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
            CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
            CU_ASSERT(bench_is_sum(4, 500));
            const uint64_t near = emulated_gpu_counts(bench.gpu).near_programs;
            CU_ASSERT_EQUAL(near, resident == 8 && room_bytes >= 4000 ? 16 : 0);
            bench_close();
        }
}

static void two_programs_share_the_devices(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 3000, .reaches_host = true};
    static int32_t other[4][100];
    void *outs[4] = {other[0], other[1], other[2], other[3]};
    bench_open(&options, 2, ronde_mem_default());
    struct ronde_schedule *const tree = bench_compile("double_tree", 4, 2);
    void *programs[2];
    bench_load(bench_compile("ring", 4, 2));
    programs[0] = bench.program;
    CU_ASSERT_FATAL(ronde_cuda_load(bench.self, tree, &programs[1], &bench.error) == RONDE_OK);
    struct ronde_launch launch = bench_launch(5000);
    CU_ASSERT_EQUAL(ronde_cuda_prepare(programs[0], &launch, &bench.error), RONDE_OK);
    launch.count = 100;
    launch.out = outs;
    CU_ASSERT_EQUAL(ronde_cuda_prepare(programs[1], &launch, &bench.error), RONDE_OK);
    enqueue_both(programs, 5);
    CU_ASSERT(bench_is_sum(4, 5000));
    for (uint32_t rank = 0; rank < 4; rank++)
        CU_ASSERT(memcmp(other[rank], bench.out[rank], sizeof other[rank]) == 0);
    ronde_cuda_unload(programs[1]);
    ronde_schedule_destroy(tree);
    bench_close();
}

/* Rank 0 of a chain adds the others' numbers to its own, run after run. */
static void add_runs(uint64_t count, uint32_t runs, uint64_t slot_bytes, void *const *in)
{
    struct ronde_launch launch = bench_launch(count);
    launch.depth = bench.schedule->proof.min_depth;
    launch.slot_bytes = slot_bytes;
    launch.timeout_ns = 100000000;
    bench.outs[0] = bench.ins[0];
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
    for (uint32_t turn = 0; turn < runs; turn++)
        CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, in, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(bench_check_streams(bench.program), RONDE_OK);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += bench.in[0][i] != (int32_t)(i + runs * (1 + 2 + 2 * i));
    CU_ASSERT_EQUAL(wrong, 0);
}

/* A rank that only sends finishes a run early: in the next one it must not overwrite slots that are still unread. */
static void a_device_may_be_a_run_ahead_of_another(void)
{
    static const uint64_t slots[] = {64, 0};
    for (uint32_t k = 0; k < 2; k++) {
        bench_open(&eager, 3, ronde_mem_default());
        bench_load(bench_compile_as(RONDE_REDUCE, "chain", 3));
        add_runs(200, 8, slots[k], streams);
        bench_close();
    }
}

/* CUDA's default stream is NULL, and a stream like any other: nothing else may be taken for it. */
static void runs_in_the_default_stream_follow_one_another(void)
{
    static void *const defaults[DEVICES_MAX];
    for (uint32_t devices = 1; devices <= 3; devices++) {
        bench_open(&eager, devices, ronde_mem_default());
        bench_load(bench_compile_as(RONDE_REDUCE, "chain", 3));
        add_runs(200, 8, 0, defaults);
        for (uint32_t d = 0; d < devices; d++) {
            CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[d]).kernels, 8);
            CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[d]).own_kernels, 0);
        }
        bench_close();
    }
}

/* When the second device refuses, the first one's kernel must not go on: it would touch counters that were reset. */
static void a_failed_start_leaves_no_kernel_running(void)
{
    for (uint32_t in_streams = 0; in_streams < 2; in_streams++) {
        void *handle;
        bench_open(&eager, 3, ronde_mem_default());
        bench_load(bench_compile("ring", 4, 2));
        const struct ronde_launch launch = bench_launch(40);
        CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
        emulated_gpu_refuse(bench.gpus[2], EMULATED_START, 1);
        const enum ronde_status status =
            in_streams ? ronde_cuda_enqueue(bench.program, streams, &bench.error)
                       : ronde_cuda_run(bench.program, &launch, &handle, &bench.error);
        CU_ASSERT_EQUAL(status, RONDE_DEVICE);
        for (uint32_t d = 0; d < 3; d++)
            CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[d]).running, 0);
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        CU_ASSERT(bench_is_sum(4, 40));
        bench_close();
    }
}

static void buffers_of_the_host_are_refused_in_a_stream(void)
{
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    bench_open_one(&options, ronde_mem_default());
    bench_load(bench_compile("ring", 4, 1));
    const struct ronde_launch launch = bench_launch(40);
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "not memory of the device"));
    bench_close();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"runs_in_a_stream_need_no_preparation_of_their_own",
         runs_in_a_stream_need_no_preparation_of_their_own},
        {"runs_in_a_stream_find_what_they_need_again", runs_in_a_stream_find_what_they_need_again},
        {"steps_lie_in_shared_memory_where_they_fit", steps_lie_in_shared_memory_where_they_fit},
        {"two_programs_share_the_devices", two_programs_share_the_devices},
        {"a_device_may_be_a_run_ahead_of_another", a_device_may_be_a_run_ahead_of_another},
        {"buffers_of_the_host_are_refused_in_a_stream", buffers_of_the_host_are_refused_in_a_stream},
        {"a_failed_start_leaves_no_kernel_running", a_failed_start_leaves_no_kernel_running},
        {"runs_in_the_default_stream_follow_one_another",
         runs_in_the_default_stream_follow_one_another},
    };
    return suite_run("cuda streams", cases, sizeof cases / sizeof cases[0]);
}
