/*
 * The cuda backend on an emulated GPU: what conformance, which compares results, does not show. Limits of time, aborts,
 * folding, lines, streams, memory that only the device may touch.
 */
#include "engine/ir/finish.h"
#include "hw/cuda/backend.h"
#include "support/emulated_block.h"
#include "support/emulated_gpu.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/cuda.h"
#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MAX 16u
#define COUNT_MAX 70000u
#define DEVICES_MAX 4u

/* Devices, a backend on them, a program, and the ranks' buffers. */
static struct bench {
    struct ronde_error error;
    const struct ronde_gpu *gpus[DEVICES_MAX];
    const struct ronde_gpu *gpu; /* the first of them */
    uint32_t gpu_count;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    int32_t in[RANKS_MAX][COUNT_MAX];
    int32_t out[RANKS_MAX][COUNT_MAX];
    void *ins[RANKS_MAX];
    void *outs[RANKS_MAX];
} bench;

static void open_devices_for(const struct emulated_options *options, uint32_t count,
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

static void open_devices(const struct emulated_options *options, uint32_t count,
                         const struct ronde_mem *mem)
{
    open_devices_for(options, count, 0, mem);
}

static void open_bench(const struct emulated_options *options, const struct ronde_mem *mem)
{
    open_devices(options, 1, mem);
}

static void close_bench(void)
{
    ronde_cuda_unload(bench.program);
    ronde_schedule_destroy(bench.schedule);
    ronde_cuda_close_on(bench.self);
    for (uint32_t g = 0; g < bench.gpu_count; g++) {
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpus[g]).live_blocks, 0);
        emulated_gpu_close(bench.gpus[g]);
    }
}

static struct ronde_schedule *compile(const char *algorithm, uint32_t ranks, uint32_t channels)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .channels = channels,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &bench.error) ==
                    RONDE_OK);
    return schedule;
}

/* A ring that can deadlock: it claims to need no more than one slot, and may drop every rank's first message. */
static struct ronde_schedule *unproved_ring(uint32_t ranks, bool drops_message)
{
    struct ronde_schedule *ring = compile("ring", ranks, 1);
    struct ronde_schedule *raw;
    CU_ASSERT_FATAL(ronde_raw_copy(ring, ronde_mem_default(), &raw, &bench.error) == RONDE_OK);
    ronde_schedule_destroy(ring);
    struct ronde_step *first = &raw->programs[0].steps[0];
    if (drops_message) {
        first->op = RONDE_STEP_NOP;
        first->source = RONDE_BUFFER_COUNT;
        first->send = RONDE_NONE;
        first->chunk_count = 0;
    }
    CU_ASSERT_FATAL(ronde_finish_unproved(raw, 1, &bench.error) == RONDE_OK);
    return raw;
}

static void load(struct ronde_schedule *schedule)
{
    bench.schedule = schedule;
    CU_ASSERT_FATAL(ronde_cuda_load(bench.self, schedule, &bench.program, &bench.error) == RONDE_OK);
}

static struct ronde_launch launch_of(uint64_t count)
{
    return (struct ronde_launch){.count = count,
                                 .dtype = RONDE_INT32,
                                 .in = bench.ins,
                                 .out = bench.outs};
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

/* Whether all ranks hold the sum of what ranks hold, rank + i each, and nothing behind it. */
static bool is_sum(uint32_t ranks, uint64_t count)
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

static const uint64_t counts[] = {1, 5000, 0, 2, 70000, 333, 4096, 17};

/* Runs of all sizes, one after another, on one program. */
static void run_all_counts(void)
{
    for (uint32_t k = 0; k < 3 * sizeof counts / sizeof counts[0]; k++) {
        struct ronde_launch launch = launch_of(counts[k % (sizeof counts / sizeof counts[0])]);
        launch.depth = k % 3 == 0 ? 0 : k % 7 + bench.schedule->proof.min_depth;
        launch.protocol = k % 2 == 0 ? RONDE_PROTOCOL_AUTO : RONDE_PROTOCOL_STAGED;
        launch.slot_bytes = k % 4 == 3 ? 4096 : 0;
        CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
        CU_ASSERT(is_sum(bench.schedule->ranks, launch.count));
    }
}

static void the_host_never_touches_memory_of_the_device(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 4096, .is_guarded = true};
    open_bench(&options, ronde_mem_default());
    load(compile("double_tree", 5, 2));
    run_all_counts();
    close_bench();
}

/* Access to a device's memory crashes the others until they have joined it. */
static void devices_touch_only_memory_of_devices_they_joined(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 4096, .is_guarded = true};
    for (uint32_t devices = 2; devices <= DEVICES_MAX; devices++) {
        open_devices(&options, devices, ronde_mem_default());
        load(compile("double_tree", 5, 2));
        CU_ASSERT_EQUAL(ronde_cuda_parts(bench.program), devices);
        run_all_counts();
        close_bench();
    }
}

/* Run in a child whose devices have not joined: its first message must crash it. */
static void run_unjoined(void)
{
    const struct emulated_options options = {.movers = 2,
                                             .room_bytes = 4096,
                                             .is_guarded = true,
                                             .join_does_nothing = true};
    open_devices(&options, 2, ronde_mem_default());
    load(compile("ring", 4, 1));
    const struct ronde_launch launch = launch_of(100);
    (void)run(&launch);
}

static void a_missing_join_is_a_crash(void)
{
    int state = 0;
    fflush(NULL);
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        /* A sanitizer would report the fault and exit by itself. */
        signal(SIGSEGV, SIG_DFL);
        run_unjoined();
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
    CU_ASSERT(WIFSIGNALED(state) && WTERMSIG(state) == SIGSEGV);
}

static void ranks_that_are_neighbours_share_a_device(void)
{
    static const uint32_t expected[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 2};
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    open_devices(&options, 3, ronde_mem_default());
    load(compile("ring", 10, 1));
    CU_ASSERT_EQUAL(ronde_cuda_parts(bench.program), 3);
    for (uint32_t rank = 0; rank < 10; rank++)
        CU_ASSERT_EQUAL(ronde_device_program_of(bench.program, rank), expected[rank]);
    close_bench();
    open_devices(&options, 4, ronde_mem_default());
    load(compile("ring", 2, 1));
    CU_ASSERT_EQUAL(ronde_cuda_parts(bench.program), 2);
    CU_ASSERT_EQUAL(ronde_device_program_of(bench.program, 1), 1);
    close_bench();
}

/* A part of which one rank runs in place and another does not reads no message in place; nor do the other parts then. */
static void parts_agree_how_messages_travel(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 2000};
    open_devices(&options, 2, ronde_mem_default());
    load(compile("ring", 4, 1));
    struct ronde_launch launch = launch_of(30000);
    struct ronde_result result;
    void *handle;
    for (uint32_t in_place = 0; in_place <= 4; in_place++) {
        launch.protocol = RONDE_PROTOCOL_PULL;
        memset(bench.out, 0, sizeof bench.out);
        for (uint32_t rank = 0; rank < 4; rank++) {
            bench.ins[rank] = rank < in_place ? bench.out[rank] : bench.in[rank];
            if (rank < in_place)
                memcpy(bench.out[rank], bench.in[rank], launch.count * sizeof bench.in[rank][0]);
        }
        CU_ASSERT_EQUAL(ronde_cuda_run(bench.program, &launch, &handle, &bench.error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_cuda_wait(handle, &result, &bench.error), RONDE_OK);
        CU_ASSERT(is_sum(4, launch.count));
        CU_ASSERT_EQUAL(result.protocol,
                        in_place % 2 == 1 ? RONDE_PROTOCOL_STAGED : RONDE_PROTOCOL_PULL);
    }
    close_bench();
}

static void any_number_of_movers_blocks_and_room_gives_the_same(void)
{
    static const uint32_t movers[] = {1, 3, 64, 480};
    static const uint32_t residents[] = {1, 2, 5, 1000};
    static const uint32_t rooms[] = {0, 700, 3000, 32768};
    for (uint32_t k = 0; k < 16; k++) {
        const struct emulated_options options = {.movers = movers[k % 4],
                                                 .resident = residents[k / 4],
                                                 .room_bytes = rooms[(k + k / 4) % 4]};
        open_bench(&options, ronde_mem_default());
        load(compile("tree", 6, 2));
        const struct ronde_launch launch = launch_of(k % 3 == 0 ? 9 : 3000);
        CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
        CU_ASSERT(is_sum(6, launch.count));
        const struct emulated_counts done = emulated_gpu_counts(bench.gpu);
        CU_ASSERT_EQUAL(done.folded, residents[k / 4] < 1000);
        close_bench();
    }
}

static void small_messages_travel_in_lines(void)
{
    const struct emulated_options options = {.movers = 4, .resident = 100, .room_bytes = 32768};
    open_bench(&options, ronde_mem_default());
    load(compile("ring", 8, 1));
    struct ronde_launch launch = launch_of(1024);
    CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 1);
    /* A slot size set by the launch is used as it is. */
    launch.slot_bytes = 4096;
    CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
    CU_ASSERT(is_sum(8, 1024));
    /* Chunks of 35,000 bytes: too long for lines. */
    launch = launch_of(70000);
    CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 1);
    /* Lines that were used before, after runs that did not use them. */
    launch = launch_of(1024);
    CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 2);
    CU_ASSERT(is_sum(8, 1024));
    close_bench();
}

/* Chunks of 512 and 20,000 bytes, and a line at the head of each message: what is set aside for lines is the limit of limits. */
static void lines_are_as_long_as_the_machine_says(void)
{
    static const struct {
        uint64_t limit_bytes, count;
        uint32_t lines_launches;
    } cases[] = {{0, 1024, 1},
                 {0, 40000, 0},
                 {1 << 20, 40000, 1},
                 {1 << 20, 70000, 0},
                 {512, 1024, 0},
                 {512 + 64, 1024, 1},
                 {1, 8, 0}};
    const struct emulated_options options = {.movers = 4, .resident = 100, .room_bytes = 32768};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        open_devices_for(&options, 1, cases[c].limit_bytes, ronde_mem_default());
        load(compile("ring", 8, 1));
        const struct ronde_launch launch = launch_of(cases[c].count);
        CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
        CU_ASSERT(is_sum(8, cases[c].count));
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, cases[c].lines_launches);
        close_bench();
    }
}

static void a_stuck_run_ends_and_names_what_it_waits_for(void)
{
    const struct emulated_options options = {.movers = 2, .resident = 3, .room_bytes = 1000};
    for (uint32_t turn = 0; turn < 4; turn++) {
        open_devices(&options, turn / 2 + 1, ronde_mem_default());
        load(unproved_ring(4, true));
        struct ronde_launch launch = launch_of(turn % 2 == 0 ? 10 : 20000);
        launch.timeout_ns = 2000000;
        CU_ASSERT_EQUAL(run(&launch), RONDE_TIMEOUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "took longer than 2000000 ns"));
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "lane 0 step 1 (rrs)"));
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "waits for a message from rank"));
        suite_note("%s", bench.error.message);
        close_bench();
    }
}

static void a_run_is_right_after_one_that_got_stuck(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 3000};
    open_devices(&options, 2, ronde_mem_default());
    load(unproved_ring(5, false));
    for (uint32_t turn = 0; turn < 6; turn++) {
        /* Small runs use lines, where flags of the stuck run must not match new messages. */
        struct ronde_launch launch = launch_of(turn % 2 == 0 ? 20 : 20000);
        /* With one slot a ring is stuck in mid-flight; with two it is not. */
        launch.depth = 1;
        launch.timeout_ns = 2000000;
        CU_ASSERT_EQUAL(run(&launch), RONDE_TIMEOUT);
        launch.depth = 2;
        launch.timeout_ns = 0;
        CU_ASSERT_EQUAL(run(&launch), RONDE_OK);
        CU_ASSERT(is_sum(5, launch.count));
    }
    close_bench();
}

static void abort_ends_a_run_without_limit(void)
{
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    open_bench(&options, ronde_mem_default());
    load(unproved_ring(3, true));
    const struct ronde_launch launch = launch_of(100);
    struct ronde_result result;
    void *handle;
    bool is_done;
    CU_ASSERT_FATAL(ronde_cuda_run(bench.program, &launch, &handle, &bench.error) == RONDE_OK);
    CU_ASSERT_EQUAL(ronde_cuda_test(handle, &is_done, &bench.error), RONDE_OK);
    CU_ASSERT_FALSE(is_done);
    void *second;
    CU_ASSERT_EQUAL(ronde_cuda_run(bench.program, &launch, &second, &bench.error),
                    RONDE_BAD_ARGUMENT);
    memset(&bench.error, 0, sizeof bench.error);
    ronde_cuda_abort(handle);
    CU_ASSERT_EQUAL(ronde_cuda_wait(handle, &result, &bench.error), RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "the run was aborted; rank"));
    close_bench();
}

static void movers_give_up_on_a_line_that_never_comes(void)
{
    CU_ASSERT_EQUAL(emulated_block_await_nothing(), RONDE_STOP_ABORT);
}

/* The emulated stream is a word whose value means nothing; a real one is a cudaStream_t. */
static void *const streams[DEVICES_MAX] = {&bench, &bench, &bench, &bench};

static void runs_in_a_stream_need_no_preparation_of_their_own(void)
{
    const struct emulated_options options = {.movers = 3,
                                             .resident = 4,
                                             .room_bytes = 3000,
                                             .reaches_host = true};
    open_devices(&options, 3, ronde_mem_default());
    load(compile("ring", 4, 2));
    const struct ronde_launch launch = launch_of(40);
    CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "no launch of the program was prepared"));
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
    const uint64_t writes = emulated_gpu_counts(bench.gpu).writes;
    for (uint32_t turn = 0; turn < 10; turn++) {
        memset(bench.out, 0, sizeof bench.out);
        CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_OK);
        bool is_done = false;
        while (!is_done)
            CU_ASSERT_FATAL(ronde_cuda_test(bench.program, &is_done, &bench.error) == RONDE_OK);
        CU_ASSERT_EQUAL(ronde_cuda_check(bench.program, &bench.error), RONDE_OK);
        CU_ASSERT(is_sum(4, 40));
    }
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).writes, writes);
    close_bench();
}

/* Enqueues runs of two programs by turns; both are under way when the first is waited for. */
static void enqueue_both(void *const programs[2], uint32_t runs)
{
    for (uint32_t run = 0; run < 2 * runs; run++)
        CU_ASSERT_EQUAL(ronde_cuda_enqueue(programs[run % 2], streams, &bench.error), RONDE_OK);
    for (uint32_t p = 0; p < 2; p++) {
        bool is_done = false;
        while (!is_done)
            CU_ASSERT_FATAL(ronde_cuda_test(programs[p], &is_done, &bench.error) == RONDE_OK);
        CU_ASSERT_EQUAL(ronde_cuda_check(programs[p], &bench.error), RONDE_OK);
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
        open_devices(&options, 1, ronde_mem_default());
        load(compile("ring", 4, 2));
        const struct ronde_launch launch = launch_of(500);
        CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
        for (uint32_t run = 0; run < 4; run++)
            CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_OK);
        bool is_done = false;
        while (!is_done)
            CU_ASSERT_FATAL(ronde_cuda_test(bench.program, &is_done, &bench.error) == RONDE_OK);
        CU_ASSERT_EQUAL(ronde_cuda_check(bench.program, &bench.error), RONDE_OK);
        CU_ASSERT(is_sum(4, 500));
        close_bench();
    }
}

static void two_programs_share_the_devices(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 3000, .reaches_host = true};
    static int32_t other[4][100];
    void *outs[4] = {other[0], other[1], other[2], other[3]};
    open_devices(&options, 2, ronde_mem_default());
    struct ronde_schedule *const tree = compile("double_tree", 4, 2);
    void *programs[2];
    load(compile("ring", 4, 2));
    programs[0] = bench.program;
    CU_ASSERT_FATAL(ronde_cuda_load(bench.self, tree, &programs[1], &bench.error) == RONDE_OK);
    struct ronde_launch launch = launch_of(5000);
    CU_ASSERT_EQUAL(ronde_cuda_prepare(programs[0], &launch, &bench.error), RONDE_OK);
    launch.count = 100;
    launch.out = outs;
    CU_ASSERT_EQUAL(ronde_cuda_prepare(programs[1], &launch, &bench.error), RONDE_OK);
    enqueue_both(programs, 5);
    CU_ASSERT(is_sum(4, 5000));
    for (uint32_t rank = 0; rank < 4; rank++)
        CU_ASSERT(memcmp(other[rank], bench.out[rank], sizeof other[rank]) == 0);
    ronde_cuda_unload(programs[1]);
    ronde_schedule_destroy(tree);
    close_bench();
}

/* Rank 0 of a chain adds the others' numbers to its own, run after run. */
static void add_runs(uint64_t count, uint32_t runs, uint64_t slot_bytes)
{
    struct ronde_launch launch = launch_of(count);
    launch.depth = bench.schedule->proof.min_depth;
    launch.slot_bytes = slot_bytes;
    launch.timeout_ns = 100000000;
    bench.outs[0] = bench.ins[0];
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_OK);
    for (uint32_t turn = 0; turn < runs; turn++)
        CU_ASSERT_EQUAL(ronde_cuda_enqueue(bench.program, streams, &bench.error), RONDE_OK);
    bool is_done = false;
    while (!is_done)
        CU_ASSERT_FATAL(ronde_cuda_test(bench.program, &is_done, &bench.error) == RONDE_OK);
    CU_ASSERT_EQUAL(ronde_cuda_check(bench.program, &bench.error), RONDE_OK);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += bench.in[0][i] != (int32_t)(i + runs * (1 + 2 + 2 * i));
    CU_ASSERT_EQUAL(wrong, 0);
}

/* A rank that only sends finishes a run early: in the next one it must not overwrite slots that are still unread. */
static void a_device_may_be_a_run_ahead_of_another(void)
{
    const struct emulated_options options = {.movers = 3,
                                             .resident = 4,
                                             .room_bytes = 3000,
                                             .reaches_host = true};
    static const uint64_t slots[] = {64, 0};
    for (uint32_t k = 0; k < 2; k++) {
        const struct ronde_compile_request request = {.collective = RONDE_REDUCE,
                                                      .algorithm = "chain",
                                                      .ranks = 3};
        struct ronde_schedule *schedule = NULL;
        open_devices(&options, 3, ronde_mem_default());
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule,
                                      &bench.error) == RONDE_OK);
        load(schedule);
        add_runs(200, 8, slots[k]);
        close_bench();
    }
}

static void buffers_of_the_host_are_refused_in_a_stream(void)
{
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    open_bench(&options, ronde_mem_default());
    load(compile("ring", 4, 1));
    const struct ronde_launch launch = launch_of(40);
    CU_ASSERT_EQUAL(ronde_cuda_prepare(bench.program, &launch, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "not memory of the device"));
    close_bench();
}

/* Loads and runs; the status of the first call that failed. */
static enum ronde_status load_and_run(const struct ronde_schedule *schedule)
{
    const struct ronde_launch launch = launch_of(100);
    struct ronde_result result;
    void *program;
    void *handle;
    enum ronde_status status = ronde_cuda_load(bench.self, schedule, &program, &bench.error);
    if (status != RONDE_OK)
        return status;
    status = ronde_cuda_run(program, &launch, &handle, &bench.error);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(handle, &result, &bench.error);
    ronde_cuda_unload(program);
    return status;
}

static void every_failed_allocation_is_reported_and_leaves_nothing(void)
{
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    enum ronde_status status = RONDE_NO_MEMORY;
    uint64_t fail_at = 0;
    while (status == RONDE_NO_MEMORY && fail_at < 1000) {
        struct heap heap = heap_start(SIZE_MAX, true);
        const struct ronde_mem mem = heap_mem(&heap);
        open_devices(&options, 2, &mem);
        bench.schedule = compile("recursive_doubling", 4, 1);
        heap.refuse_at = heap.requests + fail_at++;
        status = load_and_run(bench.schedule);
        CU_ASSERT(status == RONDE_OK || bench.error.status == RONDE_NO_MEMORY);
        close_bench();
        CU_ASSERT_EQUAL(heap.live_bytes, 0);
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT(fail_at > 10);
    suite_note("%llu allocations of the host", (unsigned long long)fail_at - 1);
}

static void a_repeated_run_allocates_nothing(void)
{
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    open_devices(&options, 2, &mem);
    load(compile("double_tree", 5, 1));
    const struct ronde_launch large = launch_of(5000);
    const struct ronde_launch small = launch_of(50);
    CU_ASSERT_EQUAL(run(&large), RONDE_OK);
    CU_ASSERT_EQUAL(run(&small), RONDE_OK);
    const size_t before = heap.requests;
    const uint64_t live = emulated_gpu_counts(bench.gpu).live_blocks;
    for (uint32_t turn = 0; turn < 6; turn++)
        CU_ASSERT_EQUAL(run(turn % 2 == 0 ? &large : &small), RONDE_OK);
    CU_ASSERT_EQUAL(heap.requests, before);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).live_blocks, live);
    close_bench();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_host_never_touches_memory_of_the_device", the_host_never_touches_memory_of_the_device},
        {"devices_touch_only_memory_of_devices_they_joined",
         devices_touch_only_memory_of_devices_they_joined},
        {"a_missing_join_is_a_crash", a_missing_join_is_a_crash},
        {"ranks_that_are_neighbours_share_a_device", ranks_that_are_neighbours_share_a_device},
        {"parts_agree_how_messages_travel", parts_agree_how_messages_travel},
        {"any_number_of_movers_blocks_and_room_gives_the_same",
         any_number_of_movers_blocks_and_room_gives_the_same},
        {"small_messages_travel_in_lines", small_messages_travel_in_lines},
        {"lines_are_as_long_as_the_machine_says", lines_are_as_long_as_the_machine_says},
        {"a_stuck_run_ends_and_names_what_it_waits_for",
         a_stuck_run_ends_and_names_what_it_waits_for},
        {"a_run_is_right_after_one_that_got_stuck", a_run_is_right_after_one_that_got_stuck},
        {"movers_give_up_on_a_line_that_never_comes", movers_give_up_on_a_line_that_never_comes},
        {"abort_ends_a_run_without_limit", abort_ends_a_run_without_limit},
        {"runs_in_a_stream_need_no_preparation_of_their_own",
         runs_in_a_stream_need_no_preparation_of_their_own},
        {"runs_in_a_stream_find_what_they_need_again", runs_in_a_stream_find_what_they_need_again},
        {"two_programs_share_the_devices", two_programs_share_the_devices},
        {"a_device_may_be_a_run_ahead_of_another", a_device_may_be_a_run_ahead_of_another},
        {"buffers_of_the_host_are_refused_in_a_stream", buffers_of_the_host_are_refused_in_a_stream},
        {"every_failed_allocation_is_reported_and_leaves_nothing",
         every_failed_allocation_is_reported_and_leaves_nothing},
        {"a_repeated_run_allocates_nothing", a_repeated_run_allocates_nothing},
    };
    return suite_run("cuda", cases, sizeof cases / sizeof cases[0]);
}
