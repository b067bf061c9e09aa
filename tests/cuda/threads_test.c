/*
 * The order of memory accesses in hw/cuda's blocks, under ThreadSanitizer: fences and acquiring loads are where they have to
 * be, for messages in slots, in lines and read in place, on one device and several; without them races are found.
 */
#include "cuda/emulated_bench.h"
#include "cuda/threads/block.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What ThreadSanitizer ends a program with that had a race. */
#define RACE_EXIT 66

#define QUEUES_MAX 8u
#define BLOCKS_MAX 16u

/* Blocks that run, by the queue they were started in. */
static struct running {
    void *queue;
    uint32_t count;
    struct threaded_block *blocks[BLOCKS_MAX];
} running[QUEUES_MAX];

static struct running *running_of(void *queue)
{
    uint32_t k = 0;
    while (k + 1 < QUEUES_MAX && running[k].queue && running[k].queue != queue)
        k++;
    running[k].queue = queue;
    return &running[k];
}

static void join_blocks(void *queue)
{
    struct running *of = running_of(queue);
    for (uint32_t b = 0; b < of->count; b++)
        threaded_block_join(of->blocks[b]);
    of->count = 0;
}

static enum ronde_status start(void *queue, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error)
{
    struct running *of = running_of(queue);
    (void)stream;
    (void)dtype;
    join_blocks(queue);
    if (blocks > BLOCKS_MAX)
        return ronde_fail(error, RONDE_NO_MEMORY, "no more than %u blocks", BLOCKS_MAX);
    while (of->count < blocks) {
        of->blocks[of->count] = threaded_block_start(job, given, of->count, 2);
        of->count++;
    }
    return RONDE_OK;
}

static enum ronde_status is_over(void *queue, bool *out_over, struct ronde_error *error)
{
    (void)error;
    join_blocks(queue);
    *out_over = true;
    return RONDE_OK;
}

static enum ronde_status finish(void *queue, double *out_elapsed_ns, struct ronde_error *error)
{
    (void)error;
    join_blocks(queue);
    if (out_elapsed_ns)
        *out_elapsed_ns = 1;
    return RONDE_OK;
}

/* What is run: a schedule, on so many devices, and how its messages travel. */
struct plan {
    const char *algorithm;
    uint32_t ranks;
    uint32_t channels;
    uint32_t devices;
    uint64_t count;
    uint64_t slot_bytes;
    enum ronde_protocol protocol;
    uint32_t resident; /* blocks of a device */
};

/* A slot of its own size is never lines (docs/guide/choosing.md). */
static const struct plan plans[] = {
    {"ring", 4, 1, 1, 3000, 4096, RONDE_PROTOCOL_STAGED, 4},
    {"ring", 4, 1, 1, 40, 0, RONDE_PROTOCOL_STAGED, 4},
    {"ring", 3, 1, 1, 30000, 0, RONDE_PROTOCOL_PULL, 4},
    {"ring", 4, 2, 2, 3000, 8192, RONDE_PROTOCOL_STAGED, 4},
    {"recursive_doubling", 4, 1, 1, 700, 4096, RONDE_PROTOCOL_STAGED, 4},
    {"recursive_doubling", 4, 1, 2, 50, 0, RONDE_PROTOCOL_STAGED, 2},
    {"double_tree", 5, 1, 3, 2000, 4096, RONDE_PROTOCOL_STAGED, 4},
    {"double_tree", 4, 1, 1, 100, 0, RONDE_PROTOCOL_STAGED, 3},
    {"direct", 4, 1, 1, 2000, 4096, RONDE_PROTOCOL_STAGED, 2},
    {"direct", 4, 1, 1, 9000, 0, RONDE_PROTOCOL_PULL, 3},
};

static void run_plan(const struct plan *plan, uint32_t runs)
{
    const struct emulated_options options = {.movers = 2,
                                             .resident = plan->resident,
                                             .room_bytes = 8192,
                                             .reaches_host = true};
    memset(running, 0, sizeof running);
    bench_open(&options, plan->devices, ronde_mem_default());
    for (uint32_t d = 0; d < plan->devices; d++) {
        struct ronde_gpu *gpu = (struct ronde_gpu *)(uintptr_t)bench.gpus[d];
        gpu->start = start;
        gpu->is_over = is_over;
        gpu->finish = finish;
    }
    bench_load(bench_compile(plan->algorithm, plan->ranks, plan->channels));
    struct ronde_launch launch = bench_launch(plan->count);
    launch.slot_bytes = plan->slot_bytes;
    launch.protocol = plan->protocol;
    launch.timeout_ns = UINT64_C(60000000000);
    for (uint32_t run = 0; run < runs; run++) {
        CU_ASSERT_EQUAL(bench_run(&launch), RONDE_OK);
        CU_ASSERT(bench_is_sum(plan->ranks, plan->count));
    }
    bench_close();
}

/* In a process of its own, whose races are no failures of this one. Its exit status. */
static int status_of(enum threaded_control control, const struct plan *plan)
{
    int state = 0;
    fflush(NULL);
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
            _exit(1);
        threaded_leave_out(control);
        run_plan(plan, 2);
        exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void a_fence_or_acquire_left_out_is_found(void)
{
    for (int control = THREADED_RIGHT; control < THREADED_CONTROLS; control++)
        CU_ASSERT_EQUAL(status_of((enum threaded_control)control, &plans[0]),
                        control == THREADED_RIGHT ? 0 : RACE_EXIT);
}

/* Lines carry their own order: they need neither. */
static void runs_have_no_race_and_are_right(void)
{
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++)
        run_plan(&plans[p], 2);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_fence_or_acquire_left_out_is_found", a_fence_or_acquire_left_out_is_found},
        {"runs_have_no_race_and_are_right", runs_have_no_race_and_are_right},
    };
    return suite_run("cuda threads", cases, sizeof cases / sizeof cases[0]);
}
