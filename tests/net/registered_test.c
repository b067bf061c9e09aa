/*
 * Buffers that processes have registered: what is computed when they are read in place, from wherever they lie in whatever
 * memory; that only they are; what is refused; and that memory which is gone is never read for what is there now.
 */
#include "hw/cuda/backend.h"
#include "net/run.h"
#include "support/emulated_gpu.h"
#include "support/suite.h"

#include "ronde/cuda.h"
#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Loads at 100 percent; RONDE_TEST_SCALE is their number in percent. */
#define LOADS 30u
#define RUNS_PER_LOAD 4u

/* The memory that a process registers, and how far buffers lie from its start at most. */
#define SEGMENT_BYTES ((size_t)24 << 20)
#define OFFSETS 100000u

static struct team_result results[TEAM_MAX];

/* What the processes of a team have in common, and what one of them lacks. */
struct plan {
    uint32_t ranks; /* of each process */
    uint32_t devices;
    bool lacks_descriptors;
    uint64_t piece_bytes;
    uint32_t without; /* this process registers nothing; RONDE_NONE = all do */
};

struct proc {
    struct ronde_comm *comm;
    const struct ronde_gpu *gpus[2];
    uint32_t devices;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    unsigned char *segment;
    struct ronde_registration *registration;
    uint64_t random; /* of this process alone */
    struct ronde_mem mem;
};

/* A buffer somewhere in the segment, aligned to any element. One at a time. */
static void *take_part(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct proc *proc = self;
    (void)old;
    (void)old_bytes;
    const size_t offset = buffers_draw(&proc->random) % OFFSETS * 8;
    return new_bytes > 0 && new_bytes + offset <= SEGMENT_BYTES ? proc->segment + offset : NULL;
}

static enum ronde_status open_proc(struct proc *proc, const struct team_member *member,
                                   const struct plan *plan, struct ronde_error *error)
{
    const struct emulated_options options = {.room_bytes = 2000,
                                             .lacks_descriptors = plan->lacks_descriptors,
                                             .piece_bytes = plan->piece_bytes};
    memset(proc, 0, sizeof *proc);
    proc->devices = plan->devices;
    for (uint32_t g = 0; g < plan->devices; g++)
        proc->gpus[g] = g == 0 ? emulated_gpu_open(&options)
                               : emulated_gpu_open_beside(proc->gpus[0], &options);
    const enum ronde_status status = team_join(member, 30, &proc->comm, error);
    if (status != RONDE_OK)
        return status;
    proc->random = 1 + member->join.rank;
    proc->mem = (struct ronde_mem){take_part, proc};
    const struct ronde_cuda_place place = {.mem = ronde_mem_default(),
                                           .gpus = proc->gpus,
                                           .gpu_count = plan->devices,
                                           .comm = proc->comm,
                                           .ranks = plan->ranks};
    return ronde_cuda_open_place(&place, &proc->self, error);
}

static void unload(struct proc *proc)
{
    ronde_cuda_unload(proc->program);
    ronde_schedule_destroy(proc->schedule);
    proc->program = NULL;
    proc->schedule = NULL;
}

static void take_segment(struct proc *proc)
{
    const struct ronde_mem *mem = ronde_cuda_mem(proc->self, proc->devices - 1);
    proc->segment = mem->resize(mem->self, NULL, 0, SEGMENT_BYTES);
}

static void free_segment(struct proc *proc)
{
    const struct ronde_mem *mem = ronde_cuda_mem(proc->self, proc->devices - 1);
    if (proc->segment)
        mem->resize(mem->self, proc->segment, SEGMENT_BYTES, 0);
    proc->segment = NULL;
}

/* Nothing of a device may be left. */
static void close_proc(struct proc *proc, const struct team_member *member)
{
    unload(proc);
    if (proc->self && proc->segment)
        free_segment(proc);
    ronde_cuda_close_on(proc->self);
    ronde_comm_destroy(proc->comm);
    for (uint32_t g = 0; g < proc->devices; g++) {
        (void)team_check(member, emulated_gpu_counts(proc->gpus[g]).live_blocks == 0,
                         "memory of a device is left");
        (void)team_check(member, emulated_gpu_counts(proc->gpus[g]).held == 0,
                         "an allocation is held");
        emulated_gpu_close(proc->gpus[g]);
    }
}

/* Launches of which this process's messages were offered to others. */
static uint64_t pulled(const struct proc *proc)
{
    uint64_t launches = 0;
    for (uint32_t g = 0; g < proc->devices; g++)
        launches += emulated_gpu_counts(proc->gpus[g]).pulled_launches;
    return launches;
}

/* Random schedules and launches, with or without a registered segment. */
static enum ronde_status soak(const struct team_member *member, struct ronde_error *error)
{
    const struct plan *plan = member->self;
    const uint32_t ranks = plan->ranks * member->join.ranks;
    const bool registers = member->join.rank != plan->without;
    const uint64_t loads = 1 + LOADS * suite_number("RONDE_TEST_SCALE", 100) / 100;
    struct proc proc;
    uint64_t random = 20261129;
    enum ronde_status status = open_proc(&proc, member, plan, error);
    if (status == RONDE_OK)
        take_segment(&proc);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, registers ? proc.segment : NULL, SEGMENT_BYTES,
                                     &proc.registration, error);
    for (uint32_t load = 0; load < loads && status == RONDE_OK; load++) {
        proc.schedule = run_draw_schedule(ranks, &random);
        if (!team_check(member, proc.schedule != NULL, "no schedule was drawn"))
            break;
        status = ronde_cuda_load(proc.self, proc.schedule, &proc.program, error);
        for (uint32_t k = 0; k < RUNS_PER_LOAD && status == RONDE_OK; k++) {
            const struct run_target target = {.backend = &ronde_backend_cuda,
                                              .program = proc.program,
                                              .rank = member->join.rank * plan->ranks,
                                              .rank_count = plan->ranks,
                                              .mem = &proc.mem,
                                              .protocol = k % 2 == 0 ? RONDE_PROTOCOL_PULL
                                                                     : RONDE_PROTOCOL_AUTO};
            status = run_random_on(member, &target, proc.schedule, &random, error);
        }
        unload(&proc);
    }
    member->result->number = pulled(&proc);
    if (status == RONDE_OK)
        status = ronde_cuda_deregister(proc.self, proc.registration, error);
    close_proc(&proc, member);
    return status;
}

static void run_plan(struct plan plan, uint32_t processes)
{
    team_run_expecting(processes, soak, &plan, results, RONDE_OK);
    for (uint32_t p = 0; p < processes; p++)
        CU_ASSERT_EQUAL(results[p].number > 0, p != plan.without);
    suite_note("%u processes of %u ranks: %llu launches of the first were read in place", processes,
               plan.ranks, (unsigned long long)results[0].number);
}

static void random_collectives_leave_what_host_leaves(void)
{
    run_plan((struct plan){.ranks = 1, .devices = 1, .without = RONDE_NONE}, 2);
    run_plan((struct plan){.ranks = 1, .devices = 1, .lacks_descriptors = true, .without = RONDE_NONE},
             4);
}

/* What an allocator that grows in place has: allocations one after another, which buffers reach over. */
static void buffers_reach_over_allocations(void)
{
    run_plan((struct plan){.ranks = 1, .devices = 1, .piece_bytes = 1u << 19, .without = RONDE_NONE},
             3);
}

static void processes_have_several_ranks_and_devices(void)
{
    run_plan((struct plan){.ranks = 2, .devices = 1, .without = RONDE_NONE}, 2);
    run_plan((struct plan){.ranks = 3, .devices = 2, .without = RONDE_NONE}, 2);
}

/* It copies what it sends, and reads the others' in place. */
static void one_without_registered_memory_is_no_hindrance(void)
{
    run_plan((struct plan){.ranks = 1, .devices = 1, .without = 1}, 3);
}

/* A sum that is long enough to be read in place. */
#define COUNT 60000u

struct sum {
    struct ronde_launch launch;
    void *in[TEAM_MAX];
    void *out[TEAM_MAX];
};

static void fill_sum(struct sum *sum, const struct proc *proc, const struct team_member *member,
                     int32_t value)
{
    int32_t *in = (int32_t *)(void *)(proc->segment + 4096);
    memset(sum, 0, sizeof *sum);
    for (uint32_t k = 0; k < COUNT; k++)
        in[k] = value + (int32_t)k;
    sum->in[member->join.rank] = in;
    sum->out[member->join.rank] = in + COUNT + 100;
    sum->launch = (struct ronde_launch){
        .count = COUNT, .dtype = RONDE_INT32, .op = RONDE_SUM, .in = sum->in, .out = sum->out};
}

static enum ronde_status load_ring(struct proc *proc, struct ronde_error *error)
{
    const enum ronde_status status =
        run_compile(RONDE_ALL_REDUCE, "ring", ronde_comm_ranks(proc->comm), 0, &proc->schedule,
                    error);
    return status == RONDE_OK ? ronde_cuda_load(proc->self, proc->schedule, &proc->program, error)
                              : status;
}

/* Sums `value` of every rank, and says whether this rank's messages were read in place. */
static enum ronde_status run_sum(struct proc *proc, const struct team_member *member, int32_t value,
                                 bool *out_pulled, struct ronde_error *error)
{
    struct sum sum;
    struct ronde_result result;
    void *run = NULL;
    const uint64_t before = pulled(proc);
    fill_sum(&sum, proc, member, value);
    enum ronde_status status = ronde_cuda_run(proc->program, &sum.launch, &run, error);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    *out_pulled = pulled(proc) > before;
    const int32_t *out = sum.out[member->join.rank];
    bool is_right = true;
    for (uint32_t k = 0; k < COUNT && status == RONDE_OK; k++)
        is_right &= out[k] == (int32_t)member->join.ranks * (value + (int32_t)k);
    (void)team_check(member, is_right, "a sum is wrong");
    (void)team_check(member,
                     status != RONDE_OK || (result.protocol == RONDE_PROTOCOL_PULL) == *out_pulled,
                     "the protocol is not what was done");
    return status;
}

/* Other memory at the same address: only rank 1's is exchanged. */
static void exchange_segment(struct proc *proc, const struct team_member *member)
{
    unsigned char *const before = proc->segment;
    free_segment(proc);
    emulated_gpu_wish(proc->gpus[0], before);
    take_segment(proc);
    (void)team_check(member, proc->segment == before, "the address is another one");
}

/* Freed without a word, and something else where it was; then registered properly again. */
static enum ronde_status reuse(const struct team_member *member, struct ronde_error *error)
{
    const struct plan *plan = member->self;
    const bool exchanges = member->join.rank == 1;
    struct ronde_registration *again = NULL;
    struct proc proc;
    bool is_pulled = false;
    enum ronde_status status = open_proc(&proc, member, plan, error);
    if (status == RONDE_OK)
        take_segment(&proc);
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 1, &is_pulled, error);
    (void)team_check(member, !is_pulled, "it was not registered yet");
    if (status == RONDE_OK)
        status =
            ronde_cuda_register(proc.self, proc.segment, SEGMENT_BYTES, &proc.registration, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 10, &is_pulled, error);
    (void)team_check(member, is_pulled, "it is registered");
    if (status == RONDE_OK && exchanges)
        exchange_segment(&proc, member);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 100, &is_pulled, error);
    (void)team_check(member, is_pulled == !exchanges, "other memory at the address is another's");
    /* A registration of what is there now stands beside the one of what was. */
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment, SEGMENT_BYTES, &again, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 1000, &is_pulled, error);
    (void)team_check(member, is_pulled, "it is registered again");
    if (status == RONDE_OK)
        status = ronde_cuda_deregister(proc.self, proc.registration, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 3, &is_pulled, error);
    if (status == RONDE_OK)
        status = ronde_cuda_deregister(proc.self, again, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 4, &is_pulled, error);
    (void)team_check(member, !is_pulled, "it is registered no more");
    if (status == RONDE_OK && exchanges)
        exchange_segment(&proc, member);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment, SEGMENT_BYTES, &again, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 5, &is_pulled, error);
    (void)team_check(member, is_pulled, "it is registered for the third time");
    /* What is registered at the end goes with the backend. */
    close_proc(&proc, member);
    return status;
}

static void memory_that_is_gone_is_not_taken_for_what_is_there_now(void)
{
    static const struct plan plans[] = {{.ranks = 1, .devices = 1},
                                        {.ranks = 1, .devices = 1, .lacks_descriptors = true},
                                        {.ranks = 1, .devices = 1, .piece_bytes = 1u << 19}};
    for (size_t k = 0; k < sizeof plans / sizeof plans[0]; k++)
        team_run_expecting(3, reuse, &plans[k], results, RONDE_OK);
}

/* An algorithm, and what all its ranks read and write, in blocks, before its buffers are registered and after. */
struct traffic {
    enum ronde_collective collective;
    const char *algorithm;
    double blocks[2];
};

#define TRAFFIC_RANKS 4u
#define TRAFFIC_COUNT 80000u

static enum ronde_status count_moves(const struct team_member *member, struct ronde_error *error)
{
    const struct traffic *traffic = member->self;
    const struct plan plan = {.ranks = 1, .devices = 1};
    void *in[TRAFFIC_RANKS] = {NULL}, *out[TRAFFIC_RANKS] = {NULL};
    struct proc proc;
    struct ronde_result result;
    void *run = NULL;
    enum ronde_status status = open_proc(&proc, member, &plan, error);
    if (status == RONDE_OK)
        take_segment(&proc);
    if (status == RONDE_OK)
        status = run_compile(traffic->collective, traffic->algorithm, TRAFFIC_RANKS, 0,
                             &proc.schedule, error);
    if (status == RONDE_OK)
        status = ronde_cuda_load(proc.self, proc.schedule, &proc.program, error);
    in[member->join.rank] = proc.segment;
    out[member->join.rank] = proc.segment + SEGMENT_BYTES / 2;
    const struct ronde_launch launch = {.count = TRAFFIC_COUNT,
                                        .dtype = RONDE_INT32,
                                        .in = in,
                                        .out = out};
    uint64_t moved[2] = {0};
    for (int registers = 0; registers < 2; registers++) {
        const uint64_t before = emulated_gpu_counts(proc.gpus[0]).moved_bytes;
        if (status == RONDE_OK)
            status = ronde_cuda_run(proc.program, &launch, &run, error);
        if (status == RONDE_OK)
            status = ronde_cuda_wait(run, &result, error);
        moved[registers] = emulated_gpu_counts(proc.gpus[0]).moved_bytes - before;
        if (status == RONDE_OK && registers == 0)
            status = ronde_cuda_register(proc.self, proc.segment, SEGMENT_BYTES, &proc.registration,
                                         error);
    }
    member->result->number = moved[0] << 32 | moved[1];
    close_proc(&proc, member);
    return status;
}

/* Registered buffers are moved as often as those of one process's ranks (docs/reference/golden/cuda-floors.md). */
static void what_is_read_in_place_is_moved_once(void)
{
    static const struct traffic traffics[] = {{RONDE_BROADCAST, "chain", {14, 8}},
                                              {RONDE_BROADCAST, "direct", {14, 8}},
                                              {RONDE_ALL_GATHER, "ring", {56, 32}},
                                              {RONDE_ALL_GATHER, "direct", {56, 32}},
                                              {RONDE_REDUCE_SCATTER, "ring", {44, 36}},
                                              {RONDE_ALL_REDUCE, "ring", {23, 15}},
                                              {RONDE_ALL_TO_ALL, "direct", {56, 32}}};
    const double block = (double)TRAFFIC_COUNT * sizeof(int32_t);
    for (size_t k = 0; k < sizeof traffics / sizeof traffics[0]; k++) {
        double blocks[2] = {0};
        team_run_expecting(TRAFFIC_RANKS, count_moves, &traffics[k], results, RONDE_OK);
        for (uint32_t p = 0; p < TRAFFIC_RANKS; p++) {
            blocks[0] += (double)(results[p].number >> 32) / block;
            blocks[1] += (double)(results[p].number & UINT32_MAX) / block;
        }
        CU_ASSERT_EQUAL(blocks[0], traffics[k].blocks[0]);
        CU_ASSERT_EQUAL(blocks[1], traffics[k].blocks[1]);
        suite_note("%s %s: %g blocks in slots, %g in place",
                   ronde_collective_text(traffics[k].collective), traffics[k].algorithm, blocks[0],
                   blocks[1]);
    }
}

/* What is wrong at one rank, and what all say of it. */
struct mistake {
    uint32_t which;
    enum ronde_status status;
    const char *text;
};

static enum ronde_status err(const struct team_member *member, struct ronde_error *error)
{
    const struct mistake *mistake = member->self;
    const struct plan plan = {.ranks = 1, .devices = 1, .piece_bytes = 1u << 20};
    const bool is_wrong = member->join.rank == 1;
    struct ronde_registration *other = NULL;
    struct proc proc;
    enum ronde_status status = open_proc(&proc, member, &plan, error);
    if (status == RONDE_OK)
        take_segment(&proc);
    void *start = proc.segment;
    uint64_t bytes = SEGMENT_BYTES;
    if (is_wrong && mistake->which == 0)
        start = &proc;
    if (is_wrong && mistake->which == 1)
        bytes += 1;
    if (is_wrong && mistake->which == 2)
        emulated_gpu_refuse(proc.gpus[0], EMULATED_OFFER, 3);
    if (is_wrong && mistake->which == 3)
        emulated_gpu_refuse(proc.gpus[0], EMULATED_ATTACH, 1);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, start, bytes, &proc.registration, error);
    (void)team_check(member, (status == RONDE_OK) == (proc.registration != NULL),
                     "a registration that failed");
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment + 100, 1000, &other, error);
    if (status == RONDE_OK && mistake->which == 4)
        status = ronde_cuda_deregister(proc.self, is_wrong ? other : proc.registration, error);
    if (status == RONDE_OK && mistake->which == 5)
        status = ronde_cuda_deregister(proc.self, is_wrong ? (void *)&proc : other, error);
    close_proc(&proc, member);
    return status;
}

static void what_one_process_cannot_register_none_does(void)
{
    static const struct mistake mistakes[] = {{0, RONDE_BAD_ARGUMENT, "is no memory of the device"},
                                              {1, RONDE_BAD_ARGUMENT, "is no memory of the device"},
                                              {2, RONDE_DEVICE, "the driver refuses to export"},
                                              {3, RONDE_DEVICE, "registered memory of rank 0: "},
                                              {4, RONDE_REJECTED,
                                               "disagree about which buffer is registered no more"},
                                              {5, RONDE_BAD_ARGUMENT,
                                               "no buffer is registered by that"}};
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        team_run_expecting(3, err, &mistakes[k], results, mistakes[k].status);
        for (uint32_t p = 0; p < 3; p++)
            if (!strstr(results[p].message, mistakes[k].text)) {
                CU_FAIL("another error");
                suite_note("%s", results[p].message);
            }
    }
}

/* What the last rank waits for before it looks at its kernel, and rank 0 writes when its buffer is its own again. */
static int gate[2];

/*
 * Rank 0's run ends by its time limit while its messages are offered and not read; then its buffer is its caller's, who writes there.
 * Rank 1 finds the offers, and must not take what is there now for the message.
 */
static enum ronde_status withdraw(const struct team_member *member, struct ronde_error *error)
{
    const struct plan plan = {.ranks = 1, .devices = 1};
    struct proc proc;
    struct sum sum;
    struct ronde_result result;
    void *run = NULL;
    char byte = 0;
    enum ronde_status status = open_proc(&proc, member, &plan, error);
    if (status == RONDE_OK)
        take_segment(&proc);
    if (status == RONDE_OK)
        status =
            ronde_cuda_register(proc.self, proc.segment, SEGMENT_BYTES, &proc.registration, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_BROADCAST, "chain", 2, 0, &proc.schedule, error);
    if (status == RONDE_OK)
        status = ronde_cuda_load(proc.self, proc.schedule, &proc.program, error);
    fill_sum(&sum, &proc, member, 1);
    sum.launch.timeout_ns = member->join.rank == 0 ? 20000000 : 0;
    if (status == RONDE_OK)
        status = ronde_cuda_run(proc.program, &sum.launch, &run, error);
    if (member->join.rank == 1)
        (void)team_check(member, read(gate[0], &byte, 1) == 1, "the gate");
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    (void)team_check(member, pulled(&proc) == 1, "nothing was offered");
    if (member->join.rank == 0) {
        memset(sum.in[0], 0x77, COUNT * sizeof(int32_t));
        (void)team_check(member, write(gate[1], "", 1) == 1, "the gate");
    }
    close_proc(&proc, member);
    return status;
}

static void what_is_withdrawn_is_no_message(void)
{
    CU_ASSERT_FATAL(pipe(gate) == 0);
    team_run_expecting(2, withdraw, NULL, results, RONDE_TIMEOUT);
    suite_note("rank 1: %s", results[1].message);
    close(gate[0]);
    close(gate[1]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(random_collectives_leave_what_host_leaves),
        SUITE_CASE(buffers_reach_over_allocations),
        SUITE_CASE(processes_have_several_ranks_and_devices),
        SUITE_CASE(one_without_registered_memory_is_no_hindrance),
        SUITE_CASE(memory_that_is_gone_is_not_taken_for_what_is_there_now),
        SUITE_CASE(what_is_read_in_place_is_moved_once),
        SUITE_CASE(what_one_process_cannot_register_none_does),
        SUITE_CASE(what_is_withdrawn_is_no_message),
    };
    return suite_run("registered", cases, sizeof cases / sizeof cases[0]);
}
