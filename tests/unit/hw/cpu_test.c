/* The cpu backend: threads, limits of time, memory. That it computes the right thing is conformance's matter. */
#include "engine/ir/finish.h"
#include "support/heap.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "ronde/engine.h"
#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <stdlib.h>
#include <string.h>

static const struct ronde_backend *const cpu = &ronde_backend_cpu;

#define RANKS_MAX 64u
#define COUNT_MAX 5000u

/* Ranks, buffers, one program. */
static struct bench {
    struct ronde_error error;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    int32_t in[RANKS_MAX][COUNT_MAX];
    int32_t out[RANKS_MAX][COUNT_MAX];
    void *ins[RANKS_MAX];
    void *outs[RANKS_MAX];
} bench;

/* Opens the backend; false after a visible skip where it was not built. */
static bool open_cpu(void)
{
    struct ronde_machine machine;
    memset(&bench, 0, sizeof bench);
    if (cpu->probe(&machine, &bench.error) == RONDE_UNAVAILABLE) {
        suite_skip("%s", bench.error.message);
        return false;
    }
    CU_ASSERT_FATAL(cpu->open(&machine, ronde_mem_default(), &bench.self, &bench.error) == RONDE_OK);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        bench.ins[rank] = bench.in[rank];
        bench.outs[rank] = bench.out[rank];
        for (uint32_t i = 0; i < COUNT_MAX; i++)
            bench.in[rank][i] = (int32_t)(rank + i);
    }
    return true;
}

static struct ronde_schedule *compile(const char *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &bench.error) ==
                    RONDE_OK);
    return schedule;
}

/* A ring that can deadlock: it claims to need no more than one slot, and may leave out every rank's first message. */
static struct ronde_schedule *unproved_ring(uint32_t ranks, bool drops_message)
{
    struct ronde_schedule *ring = compile("ring", ranks);
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
    CU_ASSERT_FATAL(cpu->load(bench.self, schedule, &bench.program, &bench.error) == RONDE_OK);
}

static void close_cpu(void)
{
    cpu->unload(bench.program);
    ronde_schedule_destroy(bench.schedule);
    cpu->close(bench.self);
}

static struct ronde_launch launch_of(uint64_t count)
{
    return (struct ronde_launch){.count = count,
                                 .dtype = RONDE_INT32,
                                 .in = bench.ins,
                                 .out = bench.outs,
                                 .timeout_ns = UINT64_C(60000000000)};
}

static enum ronde_status run(const struct ronde_launch *launch, struct ronde_result *out_result)
{
    void *handle;
    memset(&bench.error, 0, sizeof bench.error);
    memset(bench.out, 0, sizeof bench.out);
    const enum ronde_status status = cpu->run(bench.program, launch, &handle, &bench.error);
    return status == RONDE_OK ? cpu->wait(handle, out_result, &bench.error) : status;
}

/* Whether all ranks hold the sum of what ranks hold: rank + i each. */
static bool is_sum(uint32_t ranks, uint64_t count)
{
    for (uint32_t rank = 0; rank < ranks; rank++)
        for (uint32_t i = 0; i < count; i++)
            if (bench.out[rank][i] != (int32_t)(ranks * (ranks - 1) / 2 + ranks * i))
                return false;
    return true;
}

static void run_times_out_naming_what_it_waits_for(void)
{
    if (!open_cpu())
        return;
    load(unproved_ring(4, true));
    struct ronde_launch launch = launch_of(100);
    struct ronde_result result;
    launch.timeout_ns = 2000000;
    CU_ASSERT_EQUAL(run(&launch, &result), RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "took longer than 2000000 ns"));
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "lane 0 step 1 (rrs)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "waits for a message from rank"));
    suite_note("%s", bench.error.message);
    close_cpu();
}

static void run_is_right_after_one_that_timed_out(void)
{
    if (!open_cpu())
        return;
    load(unproved_ring(5, false));
    struct ronde_launch launch = launch_of(1000);
    struct ronde_result result;
    for (int turn = 0; turn < 3; turn++) {
        /* With one slot a ring is stuck in mid-flight; with two it is not. */
        launch.depth = 1;
        launch.timeout_ns = 2000000;
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_TIMEOUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "waits for"));
        launch.depth = 2;
        launch.timeout_ns = UINT64_C(60000000000);
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
        CU_ASSERT(is_sum(5, 1000));
    }
    close_cpu();
}

static void abort_ends_a_run_without_limit(void)
{
    if (!open_cpu())
        return;
    load(unproved_ring(3, true));
    struct ronde_launch launch = launch_of(100);
    struct ronde_result result;
    void *handle;
    launch.timeout_ns = 0;
    CU_ASSERT_FATAL(cpu->run(bench.program, &launch, &handle, &bench.error) == RONDE_OK);
    cpu->abort(handle);
    CU_ASSERT_EQUAL(cpu->wait(handle, &result, &bench.error), RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "the run was aborted; rank"));
    close_cpu();
}

static void many_ranks_never_wait_for_the_scheduler(void)
{
    if (!open_cpu())
        return;
    load(compile("ring", 64));
    const struct ronde_launch launch = launch_of(2);
    struct ronde_result result;
    double fastest_ns = 1e12;
    for (int turn = 0; turn < 50; turn++) {
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
        CU_ASSERT(is_sum(64, 2));
        CU_ASSERT(!result.is_virtual && result.elapsed_ns > 0);
        fastest_ns = result.elapsed_ns < fastest_ns ? result.elapsed_ns : fastest_ns;
    }
    /* 126 messages in a row: a scheduler tick of 1 ms or more for each would take longer than this. */
    CU_ASSERT(fastest_ns < 100e6);
    suite_note("64 ranks, 8 bytes: fastest %.1f us", fastest_ns / 1e3);
    close_cpu();
}

static void depth_slot_and_count_may_change_from_run_to_run(void)
{
    if (!open_cpu())
        return;
    load(compile("double_tree", 7));
    const uint64_t counts[] = {5000, 1, 0, 333, 4096};
    const uint64_t slots[] = {64, 0, 16, 1000};
    struct ronde_result result;
    for (uint32_t k = 0; k < 60; k++) {
        struct ronde_launch launch = launch_of(counts[k % 5]);
        launch.slot_bytes = slots[k % 4];
        launch.depth = k % 3 == 0 ? 0 : k % 7 + bench.schedule->proof.min_depth;
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
        CU_ASSERT(is_sum(7, counts[k % 5]));
    }
    close_cpu();
}

/* Opens the backend anew: launches of up to so many bytes are run by the caller alone. */
static void reopen_alone(uint64_t alone_bytes)
{
    struct ronde_machine machine;
    cpu->close(bench.self);
    CU_ASSERT_FATAL(cpu->probe(&machine, &bench.error) == RONDE_OK);
    CU_ASSERT(machine.alone_bytes > 0);
    machine.alone_bytes = alone_bytes;
    CU_ASSERT_FATAL(cpu->open(&machine, ronde_mem_default(), &bench.self, &bench.error) == RONDE_OK);
}

/* In every protocol, past the caches or not, again with other buffers; alternating, so that nothing is left over. */
static void try_protocols(uint32_t ranks)
{
    struct ronde_result result;
    for (uint32_t k = 0; k < 12; k++) {
        struct ronde_launch launch = launch_of(k < 6 ? 5000 : 33);
        launch.protocol = (enum ronde_protocol)(RONDE_PROTOCOL_STAGED + k % 3);
        launch.stream_from_bytes = k % 2 == 0 ? 1 : UINT64_MAX;
        launch.slot_bytes = k % 4 < 2 ? 256 : 0;
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
        CU_ASSERT(is_sum(ranks, launch.count));
        CU_ASSERT_EQUAL(result.protocol, launch.protocol);
        /* The same sums, to other places. */
        void *const first = bench.outs[0];
        bench.outs[0] = bench.outs[RANKS_MAX - 1];
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
        CU_ASSERT(memcmp(bench.out[RANKS_MAX - 1], bench.out[1],
                         launch.count * sizeof bench.out[1][0]) == 0);
        bench.outs[0] = first;
    }
}

static void protocols_give_the_same_on_any_worker(void)
{
    static const char *const names[] = {"ring", "direct", "rabenseifner", "double_tree"};
    if (!open_cpu())
        return;
    for (uint32_t k = 0; k < 8; k++) {
        reopen_alone(k % 2 == 0 ? 0 : UINT64_MAX);
        load(compile(names[k / 2], k + 2));
        try_protocols(k + 2);
        cpu->unload(bench.program);
        ronde_schedule_destroy(bench.schedule);
    }
    cpu->close(bench.self);
}

static void large_launches_push_and_small_ones_do_not(void)
{
    if (!open_cpu())
        return;
    load(compile("ring", 2));
    struct ronde_result result;
    const struct ronde_launch small = launch_of(100);
    CU_ASSERT_EQUAL(run(&small, &result), RONDE_OK);
    CU_ASSERT_EQUAL(result.protocol, RONDE_PROTOCOL_STAGED);
    CU_ASSERT(result.elapsed_ns > 0);
    struct ronde_launch large = launch_of(UINT64_C(1) << 16);
    static int32_t in[2][1 << 16], out[2][1 << 16];
    void *ins[] = {in[0], in[1]}, *outs[] = {out[0], out[1]};
    large.in = ins;
    large.out = outs;
    in[0][1234] = 5;
    CU_ASSERT_EQUAL(run(&large, &result), RONDE_OK);
    CU_ASSERT_EQUAL(result.protocol, RONDE_PROTOCOL_PUSH);
    CU_ASSERT(out[0][1234] == 5 && out[1][1234] == 5 && out[1][1235] == 0);
    close_cpu();
}

static void programs_run_side_by_side(void)
{
    if (!open_cpu())
        return;
    load(compile("ring", 4));
    struct ronde_schedule *tree = compile("tree", 4);
    void *second;
    CU_ASSERT_FATAL(cpu->load(bench.self, tree, &second, &bench.error) == RONDE_OK);
    static int32_t out[4][100];
    void *outs[] = {out[0], out[1], out[2], out[3]};
    const struct ronde_launch first_launch = launch_of(100);
    struct ronde_launch second_launch = launch_of(100);
    second_launch.out = outs;
    struct ronde_result result;
    void *runs[2];
    CU_ASSERT_FATAL(cpu->run(bench.program, &first_launch, &runs[0], &bench.error) == RONDE_OK);
    CU_ASSERT_FATAL(cpu->run(second, &second_launch, &runs[1], &bench.error) == RONDE_OK);
    void *third;
    CU_ASSERT_EQUAL(cpu->run(second, &second_launch, &third, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(bench.error.message, "the program is running already");
    CU_ASSERT_EQUAL(cpu->wait(runs[1], &result, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(cpu->wait(runs[0], &result, NULL), RONDE_OK);
    CU_ASSERT(is_sum(4, 100));
    CU_ASSERT(memcmp(out[3], bench.out[3], sizeof out[3]) == 0);
    cpu->unload(second);
    ronde_schedule_destroy(tree);
    close_cpu();
}

static void test_drives_the_callers_share(void)
{
    if (!open_cpu())
        return;
    load(compile("ring", 6));
    const struct ronde_launch launch = launch_of(1000);
    struct ronde_result result;
    void *handle;
    bool is_done = false;
    CU_ASSERT_FATAL(cpu->run(bench.program, &launch, &handle, &bench.error) == RONDE_OK);
    enum ronde_status status = RONDE_OK;
    while (!is_done && status == RONDE_OK)
        status = cpu->test(handle, &is_done, &bench.error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT_EQUAL(cpu->wait(handle, &result, &bench.error), RONDE_OK);
    CU_ASSERT(is_sum(6, 1000));
    close_cpu();
}

static void run_allocates_nothing_once_slots_are_there(void)
{
    if (!open_cpu())
        return;
    cpu->close(bench.self);
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_machine machine;
    CU_ASSERT_FATAL(cpu->probe(&machine, &bench.error) == RONDE_OK);
    CU_ASSERT_FATAL(cpu->open(&machine, &mem, &bench.self, &bench.error) == RONDE_OK);
    load(compile("double_tree", 5));
    struct ronde_result result;
    const struct ronde_launch large = launch_of(5000);
    CU_ASSERT_EQUAL(run(&large, &result), RONDE_OK);
    const size_t before = heap.requests;
    for (uint64_t count = 0; count <= 5000; count += 500) {
        const struct ronde_launch launch = launch_of(count);
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
    }
    CU_ASSERT_EQUAL(heap.requests, before);
    close_cpu();
    CU_ASSERT_EQUAL(heap.live_bytes, 0);
}

static enum ronde_status run_on(const void *context, const struct ronde_mem *mem,
                                struct ronde_error *error)
{
    const struct ronde_backend *backend = context;
    struct ronde_machine machine;
    struct ronde_result result;
    const struct ronde_launch launch = launch_of(100);
    void *self;
    CU_ASSERT_FATAL(backend->probe(&machine, error) == RONDE_OK);
    enum ronde_status status = backend->open(&machine, mem, &self, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_backend_run_once(backend, self, bench.schedule, &launch, &result, error);
    backend->close(self);
    return status;
}

static void allocation_failures_are_clean(void)
{
    if (!open_cpu())
        return;
    load(compile("tree", 3));
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        const struct sweep sweep = {.what = executors[e].name,
                                    .operation = run_on,
                                    .context = executors[e].backend};
        struct ronde_machine machine;
        if (executors[e].ranks != RONDE_RANKS_PROCESSES &&
            ronde_executor_probe(&executors[e], &machine, NULL) == RONDE_OK)
            CU_ASSERT(sweep_run(&sweep) > 3);
    }
    close_cpu();
}

/* Launches that were run a moment ago are not prepared again: only they. */
static void a_launch_is_repeated_only_if_nothing_has_changed(void)
{
    enum { RANKS = 3, COUNT = 50 };
    static int32_t other[COUNT];
    if (!open_cpu())
        return;
    load(compile("ring", RANKS));
    const struct ronde_launch launch = launch_of(COUNT);
    struct ronde_launch scaled = launch;
    struct ronde_result result;
    int32_t factors[RANKS] = {2, 2, 2};
    for (int turn = 0; turn < 3; turn++) {
        CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
        CU_ASSERT(is_sum(RANKS, COUNT));
    }
    /* The same array of other buffers. */
    bench.outs[1] = other;
    CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
    CU_ASSERT_EQUAL(other[5], 3 + RANKS * 5);
    CU_ASSERT_EQUAL(bench.out[1][5], 0);
    bench.outs[1] = NULL;
    CU_ASSERT_EQUAL(run(&launch, &result), RONDE_BAD_ARGUMENT);
    bench.outs[1] = bench.out[1];
    /* The same factors in other memory, and none. */
    scaled.op = RONDE_PREMUL_SUM;
    scaled.factors = factors;
    for (int turn = 0; turn < 3; turn++) {
        factors[0] = factors[1] = factors[2] = 2 + turn;
        CU_ASSERT_EQUAL(run(&scaled, &result), RONDE_OK);
        CU_ASSERT_EQUAL(bench.out[2][5], (2 + turn) * (3 + RANKS * 5));
    }
    scaled.factors = NULL;
    CU_ASSERT_EQUAL(run(&scaled, &result), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(run(&launch, &result), RONDE_OK);
    CU_ASSERT(is_sum(RANKS, COUNT));
    close_cpu();
}

static void find_lists_the_backends_there_are(void)
{
    struct ronde_error error = {0};
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    CU_ASSERT(count >= 2);
    for (uint32_t e = 0; e < count; e++)
        CU_ASSERT_PTR_EQUAL(ronde_backend_find(executors[e].name, NULL),
                            executors[e].ranks == RONDE_RANKS_PROCESSES ? NULL
                                                                        : executors[e].backend);
    CU_ASSERT_PTR_NULL(ronde_backend_find("abacus", &error));
    CU_ASSERT_EQUAL(error.status, RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(error.message,
                           "no backend \"abacus\", there are: host, cpu, cuda, null; and, "
                           "with processes as ranks, proc, ucx, hybrid (ronde/comm.h)");
    CU_ASSERT(ronde_usable_cores() >= 1);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"run_times_out_naming_what_it_waits_for", run_times_out_naming_what_it_waits_for},
        {"run_is_right_after_one_that_timed_out", run_is_right_after_one_that_timed_out},
        {"abort_ends_a_run_without_limit", abort_ends_a_run_without_limit},
        {"many_ranks_never_wait_for_the_scheduler", many_ranks_never_wait_for_the_scheduler},
        {"depth_slot_and_count_may_change_from_run_to_run",
         depth_slot_and_count_may_change_from_run_to_run},
        {"protocols_give_the_same_on_any_worker", protocols_give_the_same_on_any_worker},
        {"large_launches_push_and_small_ones_do_not", large_launches_push_and_small_ones_do_not},
        {"programs_run_side_by_side", programs_run_side_by_side},
        {"test_drives_the_callers_share", test_drives_the_callers_share},
        {"run_allocates_nothing_once_slots_are_there", run_allocates_nothing_once_slots_are_there},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
        {"a_launch_is_repeated_only_if_nothing_has_changed",
         a_launch_is_repeated_only_if_nothing_has_changed},
        {"find_lists_the_backends_there_are", find_lists_the_backends_there_are},
    };
    return suite_run("cpu", cases, sizeof cases / sizeof cases[0]);
}
