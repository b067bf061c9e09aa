/*
 * Devices of a process without peer access: refused by name, or connected through the host's memory when the caller
 * allows it. Here accesses to each other's memory crash.
 */
#include "engine/ir/finish.h"
#include "hw/cuda/backend.h"
#include "support/emulated_gpu.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/cuda.h"
#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <string.h>

#define RANKS 6u
#define DEVICES 3u
#define COUNT_MAX 40000u

/* Three devices, of which the last has no peer access. */
static struct bench {
    struct ronde_error error;
    const struct ronde_gpu *gpus[DEVICES];
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    int32_t in[RANKS][COUNT_MAX];
    int32_t out[RANKS][COUNT_MAX];
    void *ins[RANKS];
    void *outs[RANKS];
} bench;

static enum ronde_status open_bench(bool may_stage_in_host, const struct ronde_mem *mem)
{
    struct emulated_options options = {.movers = 2, .room_bytes = 3000, .is_guarded = true};
    memset(&bench, 0, sizeof bench);
    for (uint32_t g = 0; g < DEVICES; g++) {
        options.is_isolated = g == DEVICES - 1;
        bench.gpus[g] = g == 0 ? emulated_gpu_open(&options)
                               : emulated_gpu_open_beside(bench.gpus[0], &options);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bench.gpus[g]);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        bench.ins[rank] = bench.in[rank];
        bench.outs[rank] = bench.out[rank];
        for (uint32_t i = 0; i < COUNT_MAX; i++)
            bench.in[rank][i] = (int32_t)(rank + i);
    }
    const struct ronde_cuda_place place = {.mem = mem,
                                           .gpus = bench.gpus,
                                           .gpu_count = DEVICES,
                                           .may_stage_in_host = may_stage_in_host};
    return ronde_cuda_open_place(&place, &bench.self, &bench.error);
}

static void close_bench(void)
{
    ronde_cuda_unload(bench.program);
    ronde_schedule_destroy(bench.schedule);
    ronde_cuda_close_on(bench.self);
    for (uint32_t g = 0; g < DEVICES; g++) {
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[g]).live_blocks, 0);
        emulated_gpu_close(bench.gpus[g]);
    }
}

static struct ronde_schedule *compile(const char *algorithm)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .channels = 2,
                                                  .ranks = RANKS};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &bench.error),
                          RONDE_OK);
    return schedule;
}

static void load(struct ronde_schedule *schedule)
{
    bench.schedule = schedule;
    CU_ASSERT_EQUAL_FATAL(ronde_cuda_load(bench.self, schedule, &bench.program, &bench.error),
                          RONDE_OK);
}

static enum ronde_status run(const struct ronde_launch *launch)
{
    struct ronde_result result;
    void *handle;
    memset(&bench.error, 0, sizeof bench.error);
    memset(bench.out, 0, sizeof bench.out);
    const enum ronde_status status = ronde_cuda_run(bench.program, launch, &handle, &bench.error);
    return status == RONDE_OK ? ronde_cuda_wait(handle, &result, &bench.error) : status;
}

static struct ronde_launch launch_of(uint64_t count)
{
    return (struct ronde_launch){.count = count,
                                 .dtype = RONDE_INT32,
                                 .in = bench.ins,
                                 .out = bench.outs};
}

static uint64_t count_wrong(uint64_t count)
{
    uint64_t wrong = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < count; i++)
            wrong += bench.out[rank][i] != (int32_t)(RANKS * (RANKS - 1) / 2 + RANKS * i);
    return wrong;
}

/* Lines, slots, and slots that get longer; one loaded program after another. */
static void messages_are_staged_in_the_host(void)
{
    static const char *const algorithms[] = {"ring", "double_tree", "direct"};
    static const uint64_t counts[] = {1, 5000, 0, 40000, 17, 333, 40000, 4096};
    for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        CU_ASSERT_EQUAL_FATAL(open_bench(true, ronde_mem_default()), RONDE_OK);
        load(compile(algorithms[a]));
        for (size_t k = 0; k < 2 * sizeof counts / sizeof counts[0]; k++) {
            struct ronde_launch launch = launch_of(counts[k % (sizeof counts / sizeof counts[0])]);
            launch.depth = k % 3 == 0 ? 0 : (uint32_t)k % 7 + bench.schedule->proof.min_depth;
            launch.slot_bytes = k % 4 == 3 ? 4096 : 0;
            CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
            CU_ASSERT_EQUAL(count_wrong(launch.count), 0);
        }
        CU_ASSERT(emulated_gpu_counts(bench.gpus[0]).lines_launches > 0);
        CU_ASSERT(emulated_gpu_counts(bench.gpus[0]).pins > 0);
        close_bench();
    }
}

static void without_permission_both_devices_are_named(void)
{
    CU_ASSERT_EQUAL(open_bench(false, ronde_mem_default()), RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NULL(bench.self);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "device 0 does not reach device 2"));
    close_bench();
}

static void buffers_are_not_read_where_messages_are_staged(void)
{
    CU_ASSERT_EQUAL_FATAL(open_bench(true, ronde_mem_default()), RONDE_OK);
    load(compile("ring"));
    struct ronde_launch launch = launch_of(30000);
    launch.protocol = RONDE_PROTOCOL_PULL;
    CU_ASSERT_EQUAL(run(&launch), RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "devices behind a bridge share slots"));
    close_bench();
}

/* What a stuck run left in the host's memory must not be read as the next run's. */
static void a_run_after_one_that_got_stuck_is_right(void)
{
    struct ronde_schedule *raw;
    CU_ASSERT_EQUAL_FATAL(open_bench(true, ronde_mem_default()), RONDE_OK);
    struct ronde_schedule *ring = compile("ring");
    CU_ASSERT_EQUAL_FATAL(ronde_raw_copy(ring, ronde_mem_default(), &raw, &bench.error), RONDE_OK);
    ronde_schedule_destroy(ring);
    CU_ASSERT_EQUAL_FATAL(ronde_finish_unproved(raw, 1, &bench.error), RONDE_OK);
    load(raw);
    for (uint32_t turn = 0; turn < 6; turn++) {
        struct ronde_launch launch = launch_of(turn % 2 == 0 ? 20 : 20000);
        /* With one slot a ring is stuck in mid-flight; with two it is not. */
        launch.depth = 1;
        launch.timeout_ns = 2000000;
        CU_ASSERT_EQUAL(run(&launch), RONDE_TIMEOUT);
        launch.depth = 2;
        launch.timeout_ns = 0;
        CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
        CU_ASSERT_EQUAL(count_wrong(launch.count), 0);
    }
    close_bench();
}

/* Loads and runs; the status of the first call that failed. */
static enum ronde_status load_and_run(void)
{
    const struct ronde_launch launch = launch_of(100);
    enum ronde_status status =
        ronde_cuda_load(bench.self, bench.schedule, &bench.program, &bench.error);
    return status == RONDE_OK ? run(&launch) : status;
}

static void what_fails_while_staging_is_reported_and_leaves_nothing(void)
{
    enum ronde_status status = RONDE_NO_MEMORY;
    size_t fail_at = 0;
    while (status == RONDE_NO_MEMORY && fail_at < 1000) {
        struct heap heap = heap_start(SIZE_MAX, true);
        const struct ronde_mem mem = heap_mem(&heap);
        CU_ASSERT_EQUAL_FATAL(open_bench(true, &mem), RONDE_OK);
        bench.schedule = compile("ring");
        heap.refuse_at = heap.requests + fail_at++;
        status = load_and_run();
        CU_ASSERT(status == RONDE_OK || bench.error.status == RONDE_NO_MEMORY);
        close_bench();
        CU_ASSERT_EQUAL(heap.live_bytes, 0);
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT(fail_at > 10);
    for (uint32_t pin = 1; pin <= 2; pin++) {
        CU_ASSERT_EQUAL_FATAL(open_bench(true, ronde_mem_default()), RONDE_OK);
        bench.schedule = compile("ring");
        emulated_gpu_refuse(bench.gpus[0], EMULATED_PIN, pin);
        CU_ASSERT_EQUAL(load_and_run(), RONDE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "the device pins nothing"));
        close_bench();
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"messages_are_staged_in_the_host", messages_are_staged_in_the_host},
        {"without_permission_both_devices_are_named", without_permission_both_devices_are_named},
        {"buffers_are_not_read_where_messages_are_staged",
         buffers_are_not_read_where_messages_are_staged},
        {"a_run_after_one_that_got_stuck_is_right", a_run_after_one_that_got_stuck_is_right},
        {"what_fails_while_staging_is_reported_and_leaves_nothing",
         what_fails_while_staging_is_reported_and_leaves_nothing},
    };
    return suite_run("host_staging", cases, sizeof cases / sizeof cases[0]);
}
