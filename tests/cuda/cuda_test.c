/*
 * The cuda backend on an emulated GPU: what conformance, which compares results, does not show. Limits of time, aborts,
 * folding, lines, memory that only the device may touch.
 */
#include "cuda/emulated_bench.h"
#include "engine/ir/finish.h"
#include "hw/cuda/backend.h"
#include "support/emulated_block.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A ring that can deadlock: it claims to need no more than one slot, and may drop every rank's first message. */
static struct ronde_schedule *unproved_ring(uint32_t ranks, bool drops_message)
{
    struct ronde_schedule *ring = bench_compile("ring", ranks, 1);
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

static const uint64_t counts[] = {1, 5000, 0, 2, 70000, 333, 4096, 17};

/* Runs of all sizes, one after another, on one program. */
static void run_all_counts(void)
{
    for (uint32_t k = 0; k < 3 * sizeof counts / sizeof counts[0]; k++) {
        struct ronde_launch launch = bench_launch(counts[k % (sizeof counts / sizeof counts[0])]);
        launch.depth = k % 3 == 0 ? 0 : k % 7 + bench.schedule->proof.min_depth;
        launch.protocol = k % 2 == 0 ? RONDE_PROTOCOL_AUTO : RONDE_PROTOCOL_STAGED;
        launch.slot_bytes = k % 4 == 3 ? 4096 : 0;
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        CU_ASSERT(bench_is_sum(bench.schedule->ranks, launch.count));
    }
}

/* Waits per command of a broadcast along a chain of blocks, or of ranks folded onto one. */
static double waits_of(uint32_t resident, uint64_t slot_bytes, uint64_t count)
{
    const struct emulated_options options = {.movers = 2,
                                             .resident = resident,
                                             .room_bytes = 8192,
                                             .reaches_host = true};
    bench_open_one(&options, ronde_mem_default());
    bench_load(bench_compile_as(RONDE_BROADCAST, "chain", 4));
    struct ronde_launch launch = bench_launch(count);
    launch.slot_bytes = slot_bytes;
    launch.protocol = RONDE_PROTOCOL_STAGED;
    CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
    const struct emulated_counts done = emulated_gpu_counts(bench.gpu);
    bench_close();
    CU_ASSERT_FATAL(done.commands > 0);
    suite_note("%u blocks: %llu commands, %llu waits for movers", resident,
               (unsigned long long)done.commands, (unsigned long long)done.waits);
    return (double)done.waits / (double)done.commands;
}

/* A command follows the one before while movers are at that, as long as messages and slots are there: these come eight at once. */
static void steps_are_resolved_while_movers_are_at_work(void)
{
    CU_ASSERT(waits_of(4, 4096, 70000) < 0.5);
    CU_ASSERT(waits_of(1, 4096, 70000) < 0.5);
    /* Lines are awaited by the movers themselves. */
    CU_ASSERT_EQUAL(waits_of(4, 0, 100), 1.0);
}

static void the_host_never_touches_memory_of_the_device(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 4096, .is_guarded = true};
    bench_open_one(&options, ronde_mem_default());
    bench_load(bench_compile("double_tree", 5, 2));
    run_all_counts();
    bench_close();
}

/* Access to a device's memory crashes the others until they have joined it. */
static void devices_touch_only_memory_of_devices_they_joined(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 4096, .is_guarded = true};
    for (uint32_t devices = 2; devices <= DEVICES_MAX; devices++) {
        bench_open(&options, devices, ronde_mem_default());
        bench_load(bench_compile("double_tree", 5, 2));
        CU_ASSERT_EQUAL(ronde_cuda_parts(bench.program), devices);
        run_all_counts();
        bench_close();
    }
}

/* Run in a child whose devices have not joined: its first message must crash it. */
static void run_unjoined(void)
{
    const struct emulated_options options = {.movers = 2,
                                             .room_bytes = 4096,
                                             .is_guarded = true,
                                             .join_does_nothing = true};
    bench_open(&options, 2, ronde_mem_default());
    bench_load(bench_compile("ring", 4, 1));
    const struct ronde_launch launch = bench_launch(100);
    (void)bench_run(&launch);
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
    bench_open(&options, 3, ronde_mem_default());
    bench_load(bench_compile("ring", 10, 1));
    CU_ASSERT_EQUAL(ronde_cuda_parts(bench.program), 3);
    for (uint32_t rank = 0; rank < 10; rank++)
        CU_ASSERT_EQUAL(ronde_device_program_of(bench.program, rank), expected[rank]);
    bench_close();
    bench_open(&options, 4, ronde_mem_default());
    bench_load(bench_compile("ring", 2, 1));
    CU_ASSERT_EQUAL(ronde_cuda_parts(bench.program), 2);
    CU_ASSERT_EQUAL(ronde_device_program_of(bench.program, 1), 1);
    bench_close();
}

/* A part of which one rank runs in place and another does not reads no message in place; nor do the other parts then. */
static void parts_agree_how_messages_travel(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 2000};
    bench_open(&options, 2, ronde_mem_default());
    bench_load(bench_compile("ring", 4, 1));
    struct ronde_launch launch = bench_launch(30000);
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
        CU_ASSERT(bench_is_sum(4, launch.count));
        CU_ASSERT_EQUAL(result.protocol,
                        in_place % 2 == 1 ? RONDE_PROTOCOL_STAGED : RONDE_PROTOCOL_PULL);
    }
    bench_close();
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
        bench_open_one(&options, ronde_mem_default());
        bench_load(bench_compile("tree", 6, 2));
        const struct ronde_launch launch = bench_launch(k % 3 == 0 ? 9 : 3000);
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        CU_ASSERT(bench_is_sum(6, launch.count));
        const struct emulated_counts done = emulated_gpu_counts(bench.gpu);
        CU_ASSERT_EQUAL(done.folded, residents[k / 4] < 1000);
        bench_close();
    }
}

static void small_messages_travel_in_lines(void)
{
    const struct emulated_options options = {.movers = 4, .resident = 100, .room_bytes = 32768};
    bench_open_one(&options, ronde_mem_default());
    bench_load(bench_compile("ring", 8, 1));
    struct ronde_launch launch = bench_launch(1024);
    CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 1);
    /* A slot size set by the launch is used as it is. */
    launch.slot_bytes = 4096;
    CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
    CU_ASSERT(bench_is_sum(8, 1024));
    /* Chunks of 35,000 bytes: too long for lines. */
    launch = bench_launch(70000);
    CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 1);
    /* Lines that were used before, after runs that did not use them. */
    launch = bench_launch(1024);
    CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 2);
    CU_ASSERT(bench_is_sum(8, 1024));
    bench_close();
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
        bench_open_for(&options, 1, cases[c].limit_bytes, ronde_mem_default());
        bench_load(bench_compile("ring", 8, 1));
        const struct ronde_launch launch = bench_launch(cases[c].count);
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        CU_ASSERT(bench_is_sum(8, cases[c].count));
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, cases[c].lines_launches);
        bench_close();
    }
}

static void a_stuck_run_ends_and_names_what_it_waits_for(void)
{
    const struct emulated_options options = {.movers = 2, .resident = 3, .room_bytes = 1000};
    for (uint32_t turn = 0; turn < 4; turn++) {
        bench_open(&options, turn / 2 + 1, ronde_mem_default());
        bench_load(unproved_ring(4, true));
        struct ronde_launch launch = bench_launch(turn % 2 == 0 ? 10 : 20000);
        launch.timeout_ns = 2000000;
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_TIMEOUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "took longer than 2000000 ns"));
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "lane 0 step 1 (rrs)"));
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "waits for a message from rank"));
        suite_note("%s", bench.error.message);
        bench_close();
    }
}

static void a_run_is_right_after_one_that_got_stuck(void)
{
    const struct emulated_options options = {.movers = 2, .room_bytes = 3000};
    bench_open(&options, 2, ronde_mem_default());
    bench_load(unproved_ring(5, false));
    for (uint32_t turn = 0; turn < 6; turn++) {
        /* Small runs use lines, where flags of the stuck run must not match new messages. */
        struct ronde_launch launch = bench_launch(turn % 2 == 0 ? 20 : 20000);
        /* With one slot a ring is stuck in mid-flight; with two it is not. */
        launch.depth = 1;
        launch.timeout_ns = 2000000;
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_TIMEOUT);
        launch.depth = 2;
        launch.timeout_ns = 0;
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        CU_ASSERT(bench_is_sum(5, launch.count));
    }
    bench_close();
}

static void abort_ends_a_run_without_limit(void)
{
    const struct emulated_options options = {.movers = 1, .room_bytes = 1000};
    bench_open_one(&options, ronde_mem_default());
    bench_load(unproved_ring(3, true));
    const struct ronde_launch launch = bench_launch(100);
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
    bench_close();
}

/* What is stored then would be taken for a message by the next rank, which may be another process's. */
static void movers_give_up_on_a_line_that_never_comes(void)
{
    const struct emulated_wait wait = emulated_block_await_nothing();
    CU_ASSERT_EQUAL(wait.stop, RONDE_STOP_ABORT);
    CU_ASSERT_FALSE(wait.has_forwarded);
}

/* Lines arrive before the counter of their sender does, and a host that runs ahead begins the next run in between. */
static void a_counter_that_is_late_hides_no_message(void)
{
    CU_ASSERT(emulated_block_hears_behind_a_late_counter());
}

/* Of each line of a chain's messages in turn: ranks behind the one that misses it receive nothing. */
static void a_lost_line_reaches_no_rank_as_data(void)
{
    const struct emulated_options options = {.movers = 3,
                                             .resident = 4,
                                             .room_bytes = 3000,
                                             .reaches_host = true};
    for (uint32_t lost = 1; lost <= 10; lost++) {
        struct ronde_result result;
        void *handle;
        bench_open_one(&options, ronde_mem_default());
        bench_load(bench_compile_as(RONDE_BROADCAST, "chain", 3));
        struct ronde_launch launch = bench_launch(20);
        launch.timeout_ns = 100000000;
        memset(bench.out, 0x77, sizeof bench.out);
        emulated_block_lose_line(lost);
        CU_ASSERT_EQUAL(ronde_cuda_run(bench.program, &launch, &handle, &bench.error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_cuda_wait(handle, &result, &bench.error), RONDE_TIMEOUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "rank 1"));
        CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).lines_launches, 1);
        for (uint32_t i = 0; i < 20; i++)
            CU_ASSERT_EQUAL(bench.out[2][i], 0x77777777);
        /* The next run restarts. */
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        for (uint32_t i = 0; i < 20; i++)
            CU_ASSERT_EQUAL(bench.out[2][i], (int32_t)i);
        bench_close();
    }
}

/* Loads and runs; the status of the first call that failed. */
static enum ronde_status load_and_run(const struct ronde_schedule *schedule)
{
    const struct ronde_launch launch = bench_launch(100);
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
        bench_open(&options, 2, &mem);
        bench.schedule = bench_compile("recursive_doubling", 4, 1);
        heap.refuse_at = heap.requests + fail_at++;
        status = load_and_run(bench.schedule);
        CU_ASSERT(status == RONDE_OK || bench.error.status == RONDE_NO_MEMORY);
        bench_close();
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
    bench_open(&options, 2, &mem);
    bench_load(bench_compile("double_tree", 5, 1));
    const struct ronde_launch large = bench_launch(5000);
    const struct ronde_launch small = bench_launch(50);
    CU_ASSERT_EQUAL(bench_run(&large), RONDE_OK);
    CU_ASSERT_EQUAL(bench_run(&small), RONDE_OK);
    const size_t before = heap.requests;
    const uint64_t live = emulated_gpu_counts(bench.gpu).live_blocks;
    for (uint32_t turn = 0; turn < 6; turn++)
        CU_ASSERT_EQUAL(bench_run(turn % 2 == 0 ? &large : &small), RONDE_OK);
    CU_ASSERT_EQUAL(heap.requests, before);
    CU_ASSERT_EQUAL(emulated_gpu_counts(bench.gpu).live_blocks, live);
    bench_close();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"steps_are_resolved_while_movers_are_at_work", steps_are_resolved_while_movers_are_at_work},
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
        {"a_counter_that_is_late_hides_no_message", a_counter_that_is_late_hides_no_message},
        {"a_lost_line_reaches_no_rank_as_data", a_lost_line_reaches_no_rank_as_data},
        {"abort_ends_a_run_without_limit", abort_ends_a_run_without_limit},
        {"every_failed_allocation_is_reported_and_leaves_nothing",
         every_failed_allocation_is_reported_and_leaves_nothing},
        {"a_repeated_run_allocates_nothing", a_repeated_run_allocates_nothing},
    };
    return suite_run("cuda", cases, sizeof cases / sizeof cases[0]);
}
