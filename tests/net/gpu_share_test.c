/*
 * Device memory that processes share, in every way there is to share it, with one rank in a process or several: what is
 * computed, what is said when a step of it fails, and that nothing is left.
 */
#include "hw/cuda/backend.h"
#include "net/run.h"
#include "support/emulated_gpu.h"
#include "support/suite.h"

#include "ronde/cuda.h"
#include "ronde/hw.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define DEVICES_MAX 4u

/* Loads at 100 percent; RONDE_TEST_SCALE is their number in percent. */
#define LOADS 40u
#define RUNS_PER_LOAD 3u

static struct team_result results[TEAM_MAX];

/* What a process brings. */
struct share {
    uint32_t ranks;
    uint32_t devices;
    enum ronde_sharing sharing;
    bool lacks_descriptors;
    bool is_isolated;           /* its devices do not reach each other */
    bool reaches_host;          /* buffers need no shadow, as runs in streams want it */
    uint64_t lines_up_to_bytes; /* slots that it would send in lines; 0 = the backend's */
};

/* A team of such processes. */
struct plan {
    const struct share *shares; /* the one of the last process stands for all that follow */
    uint32_t share_count;
    uint32_t loads;
};

/* A process of a team. */
struct gpu_process {
    struct ronde_comm *comm;
    const struct ronde_gpu *gpus[DEVICES_MAX];
    struct share share;
    uint32_t first_rank;
    uint32_t ranks;  /* of all processes */
    int descriptors; /* that were open before */
    void *self;
    void *program;
    struct ronde_schedule *schedule;
};

static const struct share *share_of(const struct plan *plan, uint32_t process)
{
    return &plan->shares[process < plan->share_count ? process : plan->share_count - 1];
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static enum ronde_status open_devices(struct gpu_process *proc, struct ronde_error *error)
{
    const struct emulated_options options = {.room_bytes = 2000,
                                             .has_fabric =
                                                 proc->share.sharing == RONDE_SHARING_FABRIC,
                                             .lacks_descriptors = proc->share.lacks_descriptors,
                                             .is_isolated = proc->share.is_isolated,
                                             .reaches_host = proc->share.reaches_host};
    for (uint32_t g = 0; g < proc->share.devices; g++) {
        proc->gpus[g] = g == 0 ? emulated_gpu_open(&options)
                               : emulated_gpu_open_beside(proc->gpus[0], &options);
        if (!proc->gpus[g])
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for an emulated device");
    }
    return RONDE_OK;
}

static enum ronde_status open_member(struct gpu_process *proc, const struct team_member *member,
                                     const struct plan *plan, struct ronde_error *error)
{
    memset(proc, 0, sizeof *proc);
    proc->descriptors = count_descriptors();
    for (uint32_t process = 0; process < member->join.ranks; process++) {
        proc->first_rank += process < member->join.rank ? share_of(plan, process)->ranks : 0;
        proc->ranks += share_of(plan, process)->ranks;
    }
    proc->share = *share_of(plan, member->join.rank);
    enum ronde_status status = open_devices(proc, error);
    if (status == RONDE_OK)
        status = team_join(member, 30, &proc->comm, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_cuda_place place = {.mem = ronde_mem_default(),
                                           .gpus = proc->gpus,
                                           .gpu_count = proc->share.devices,
                                           .comm = proc->comm,
                                           .ranks = proc->share.ranks,
                                           .sharing = proc->share.sharing,
                                           .may_stage_in_host = proc->share.is_isolated,
                                           .lines_up_to_bytes = proc->share.lines_up_to_bytes};
    return ronde_cuda_open_place(&place, &proc->self, error);
}

static void unload(struct gpu_process *proc)
{
    ronde_cuda_unload(proc->program);
    ronde_schedule_destroy(proc->schedule);
    proc->program = NULL;
    proc->schedule = NULL;
}

/* Nothing of a device may be left, and no descriptor. */
static void close_member(struct gpu_process *proc, const struct team_member *member)
{
    unload(proc);
    ronde_cuda_close_on(proc->self);
    ronde_comm_destroy(proc->comm);
    for (uint32_t g = 0; g < proc->share.devices && proc->gpus[g]; g++) {
        (void)team_check(member, emulated_gpu_counts(proc->gpus[g]).live_blocks == 0,
                         "memory of a device is left");
        emulated_gpu_close(proc->gpus[g]);
    }
    /* A rendezvous that was handed in is closed by then. */
    (void)team_check(member, count_descriptors() <= proc->descriptors, "a descriptor is left");
}

/* Random schedules over all ranks, each run some times; this process's outputs are what host leaves. */
static enum ronde_status soak(const struct team_member *member, struct ronde_error *error)
{
    const struct plan *plan = member->self;
    struct gpu_process proc;
    uint64_t random = 20261122;
    enum ronde_status status = open_member(&proc, member, plan, error);
    for (uint32_t load = 0; load < plan->loads && status == RONDE_OK; load++) {
        proc.schedule = run_draw_schedule(proc.ranks, &random);
        if (!team_check(member, proc.schedule != NULL, "no schedule was drawn"))
            break;
        status = ronde_cuda_load(proc.self, proc.schedule, &proc.program, error);
        for (uint32_t k = 0; k < RUNS_PER_LOAD && status == RONDE_OK; k++) {
            const struct run_target target = {.backend = &ronde_backend_cuda,
                                              .program = proc.program,
                                              .rank = proc.first_rank,
                                              .rank_count = proc.share.ranks};
            status = run_random_on(member, &target, proc.schedule, &random, error);
        }
        unload(&proc);
    }
    for (uint32_t kind = 0; status == RONDE_OK && kind < RONDE_SHARING_COUNT; kind++)
        member->result->number |= (uint64_t)(emulated_gpu_counts(proc.gpus[0]).shared[kind] > 0)
                                  << kind;
    close_member(&proc, member);
    return status;
}

static void run_plan(const struct share *shares, uint32_t share_count, uint32_t processes)
{
    const struct plan plan = {shares, share_count,
                              1 + (uint32_t)(LOADS * suite_number("RONDE_TEST_SCALE", 100) / 100)};
    team_run_expecting(processes, soak, &plan, results, RONDE_OK);
    CU_ASSERT(results[0].checks >= plan.loads * RUNS_PER_LOAD);
}

static void every_way_to_share_carries_collectives(void)
{
    for (uint32_t kind = RONDE_SHARING_IPC; kind < RONDE_SHARING_COUNT; kind++) {
        const struct share share = {.ranks = 1, .devices = 1, .sharing = (enum ronde_sharing)kind};
        run_plan(&share, 1, 3);
        CU_ASSERT_EQUAL(results[0].number, 1u << kind);
    }
}

/* What a device lacks and its process chooses is its own business: each share says what it is. */
static void devices_that_share_differently_understand_each_other(void)
{
    static const struct share shares[] = {{.ranks = 1, .devices = 1, .lacks_descriptors = true},
                                          {.ranks = 1, .devices = 1},
                                          {.ranks = 1, .devices = 1, .sharing = RONDE_SHARING_FABRIC},
                                          {.ranks = 1, .devices = 1, .sharing = RONDE_SHARING_IPC}};
    run_plan(shares, 4, 4);
    CU_ASSERT_EQUAL(results[0].number, 1u << RONDE_SHARING_IPC);
    CU_ASSERT_EQUAL(results[1].number, 1u << RONDE_SHARING_DESCRIPTOR);
    CU_ASSERT_EQUAL(results[2].number, 1u << RONDE_SHARING_FABRIC);
    CU_ASSERT_EQUAL(results[3].number, 1u << RONDE_SHARING_IPC);
}

/* Neighbours on one device, on another of the process, and in other processes. */
static void processes_have_as_many_ranks_and_devices_as_they_like(void)
{
    static const struct share shares[] = {{.ranks = 3, .devices = 2},
                                          {.ranks = 1, .devices = 1},
                                          {.ranks = 4, .devices = 4},
                                          {.ranks = 2, .devices = 1, .lacks_descriptors = true}};
    run_plan(shares, 4, 4);
    run_plan(shares, 1, 2);
    run_plan(shares, 1, 1);
}

/* Devices of a process that do not reach each other, beside processes that are let into them. */
static void stagings_stand_beside_shared_memory(void)
{
    static const struct share shares[] = {
        {.ranks = 4, .devices = 3, .is_isolated = true},
        {.ranks = 2, .devices = 2, .sharing = RONDE_SHARING_IPC, .is_isolated = true},
        {.ranks = 1, .devices = 1, .lacks_descriptors = true}};
    run_plan(shares, 3, 3);
}

/* Both ends of a connection must take a message for the same: of different limits the least counts, whoever has it. */
static void processes_with_different_limits_of_lines_agree(void)
{
    static const struct share shares[] = {{.ranks = 2, .devices = 2, .lines_up_to_bytes = 1 << 20},
                                          {.ranks = 1, .devices = 1, .lines_up_to_bytes = 100},
                                          {.ranks = 2, .devices = 1}};
    run_plan(shares, 3, 3);
    run_plan(shares, 1, 3);
}

/* Loads a ring over all ranks. */
static enum ronde_status load_ring(struct gpu_process *proc, struct ronde_error *error)
{
    const enum ronde_status status =
        run_compile(RONDE_ALL_REDUCE, "ring", proc->ranks, 0, &proc->schedule, error);
    return status == RONDE_OK ? ronde_cuda_load(proc->self, proc->schedule, &proc->program, error)
                              : status;
}

/* A call that fails in one process, the same in all of its devices. */
struct fault {
    struct plan plan;
    enum emulated_call call;
    uint32_t which;
};

static enum ronde_status load_with_fault(const struct team_member *member, struct ronde_error *error)
{
    const struct fault *fault = member->self;
    struct gpu_process proc;
    enum ronde_status status = open_member(&proc, member, &fault->plan, error);
    if (status == RONDE_OK && member->join.rank == 1)
        emulated_gpu_refuse(proc.gpus[0], fault->call, fault->which);
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    close_member(&proc, member);
    return status;
}

/* Lets the first, the second ... call fail until there is none left to fail. */
static void fail_each(enum emulated_call call, enum ronde_status expected, const char *text)
{
    static const struct share share = {.ranks = 2, .devices = 2};
    enum ronde_status status = expected;
    uint32_t which = 0;
    while (status != RONDE_OK && which < 50) {
        const struct fault fault = {{&share, 1, 0}, call, ++which};
        CU_ASSERT_FATAL(team_run(3, load_with_fault, &fault, results));
        status = results[1].status;
        team_expect(results, 3, status == RONDE_OK ? RONDE_OK : expected);
        for (uint32_t process = 0; process < 3 && status != RONDE_OK; process++)
            CU_ASSERT_PTR_NOT_NULL(strstr(results[process].message, text));
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT(which > 1);
    suite_note("%u calls: %s", which - 1, text);
}

static void whatever_one_process_lacks_all_are_told_and_nothing_is_left(void)
{
    fail_each(EMULATED_MEMORY, RONDE_NO_MEMORY, "no memory on the device");
    fail_each(EMULATED_SHARE, RONDE_NO_MEMORY, "the device shares nothing");
    fail_each(EMULATED_ATTACH, RONDE_DEVICE, "device: the driver refuses to import");
}

static enum ronde_status load_once(const struct team_member *member, struct ronde_error *error)
{
    struct gpu_process proc;
    enum ronde_status status = open_member(&proc, member, member->self, error);
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    close_member(&proc, member);
    return status;
}

static void a_way_to_share_that_is_not_there_is_refused(void)
{
    static const struct share shares[] = {
        {.ranks = 1, .devices = 1, .sharing = RONDE_SHARING_IPC},
        {.ranks = 1, .devices = 1, .sharing = RONDE_SHARING_DESCRIPTOR, .lacks_descriptors = true}};
    const struct plan plan = {shares, 2, 0};
    team_run_expecting(2, load_once, &plan, results, RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1: the device makes no handles of kind "
                                                      "descriptor"));
}

static void as_many_ranks_as_the_processes_have_are_loaded(void)
{
    static const struct share share = {.ranks = 2, .devices = 1};
    const struct plan plan = {&share, 1, 0};
    team_run_expecting(2, load_once, &plan, results, RONDE_OK);
}

static enum ronde_status load_too_many(const struct team_member *member, struct ronde_error *error)
{
    struct gpu_process proc;
    enum ronde_status status = open_member(&proc, member, member->self, error);
    proc.ranks++;
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    close_member(&proc, member);
    return status;
}

static void more_ranks_than_the_processes_have_are_refused(void)
{
    static const struct share share = {.ranks = 2, .devices = 1};
    const struct plan plan = {&share, 1, 0};
    team_run_expecting(2, load_too_many, &plan, results, RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(results[0].message, "the schedule is for 5 ranks, the 2 processes have 4"));
}

/* The device of rank 1, whose process ends in one of its calls. */
static struct ronde_gpu living;

static enum ronde_status die_in_attach(void *self, const struct ronde_share *share,
                                       const uint64_t *bytes, uint32_t count, void **out_block,
                                       struct ronde_error *error)
{
    raise(SIGKILL);
    return living.attach(self, share, bytes, count, out_block, error);
}

static enum ronde_status die_in_share(void *self, enum ronde_sharing sharing, uint64_t bytes,
                                      void **out_block, struct ronde_share *out_share,
                                      struct ronde_error *error)
{
    raise(SIGKILL);
    return living.share(self, sharing, bytes, out_block, out_share, error);
}

/* A death, and how memory is shared. */
struct death {
    struct plan plan;
    bool in_attach;
};

static enum ronde_status load_and_die(const struct team_member *member, struct ronde_error *error)
{
    const struct death *death = member->self;
    struct gpu_process proc;
    struct ronde_gpu dying;
    enum ronde_status status = open_member(&proc, member, &death->plan, error);
    if (status == RONDE_OK && member->join.rank == 1) {
        dying = living = *proc.gpus[0];
        dying.attach = death->in_attach ? die_in_attach : dying.attach;
        dying.share = death->in_attach ? dying.share : die_in_share;
        ronde_cuda_close_on(proc.self);
        const struct ronde_gpu *gpus[] = {&dying};
        status = ronde_cuda_open_on(gpus, 1, proc.comm, ronde_mem_default(), &proc.self, error);
    } else if (status == RONDE_OK) {
        ronde_cuda_close_on(proc.self);
        status = ronde_cuda_open_on(proc.gpus, 1, proc.comm, ronde_mem_default(), &proc.self, error);
    }
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    close_member(&proc, member);
    return status;
}

/* Before its handles are out, and while the others hold them. */
static void the_handles_of_a_dead_process_are_let_go(void)
{
    for (uint32_t turn = 0; turn < 4; turn++) {
        const struct share share = {.ranks = 1, .devices = 1, .lacks_descriptors = turn % 2 == 1};
        const struct death death = {{&share, 1, 0}, turn / 2 == 1};
        CU_ASSERT_FATAL(team_run(3, load_and_die, &death, results));
        CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
        for (uint32_t process = 0; process < 3; process += 2) {
            team_expect(&results[process], 1, RONDE_DEVICE);
            suite_note("rank %u: %s", process, results[process].message);
        }
    }
}

/* The ranks of process 1 never come, so that the others' kernels wait on memory they have mapped; then it aborts. */
static enum ronde_status abort_mapped(const struct team_member *member, struct ronde_error *error)
{
    struct gpu_process proc;
    struct ronde_result result;
    float values[8] = {0};
    void *buffers[8];
    void *run = NULL;
    for (uint32_t rank = 0; rank < 8; rank++)
        buffers[rank] = &values[rank];
    const struct ronde_launch launch = {
        .count = 1, .dtype = RONDE_FLOAT32, .op = RONDE_SUM, .in = buffers, .out = buffers};
    enum ronde_status status = open_member(&proc, member, member->self, error);
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    if (status == RONDE_OK)
        status = ronde_cuda_prepare(proc.program, &launch, error);
    (void)team_check(member, status == RONDE_BAD_ARGUMENT, "buffers of the host in a stream");
    memset(error, 0, sizeof *error);
    status = ronde_cuda_run(proc.program, &launch, &run, error);
    if (status == RONDE_OK && member->join.rank == 1)
        ronde_comm_abort(proc.comm);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    if (status == RONDE_OK)
        /* Small runs may be over before the news come. */
        status = ronde_comm_allgather(proc.comm, NULL, 0, NULL, error);
    close_member(&proc, member);
    return status;
}

static void an_abort_leaves_nothing_mapped(void)
{
    static const struct share share = {.ranks = 2, .devices = 2};
    const struct plan plan = {&share, 1, 0};
    team_run_expecting(3, abort_mapped, &plan, results, RONDE_TIMEOUT);
    for (uint32_t process = 0; process < 3; process++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[process].message, "rank 1 aborted the communicator"));
}

/* Runs of one launch that are enqueued at once, and how often. */
#define STREAM_RUNS 4u
#define STREAM_TURNS 3u

/* A team that runs in streams. */
struct flow {
    struct plan plan;
    bool dies;
};

/* Sums in the streams of all devices; the last process may die when some are done. */
static enum ronde_status sum_in_streams(const struct team_member *member, struct ronde_error *error)
{
    const struct flow *flow = member->self;
    void *const streams[DEVICES_MAX] = {&results, &results, &results, &results};
    int32_t in[16] = {0}, out[16] = {0};
    void *ins[16], *outs[16];
    struct gpu_process proc;
    for (uint32_t rank = 0; rank < 16; rank++) {
        ins[rank] = &in[rank];
        outs[rank] = &out[rank];
    }
    const struct ronde_launch launch = {.count = 1, .dtype = RONDE_INT32, .in = ins, .out = outs};
    enum ronde_status status = open_member(&proc, member, &flow->plan, error);
    if (status == RONDE_OK)
        status = load_ring(&proc, error);
    if (status == RONDE_OK)
        status = ronde_cuda_prepare(proc.program, &launch, error);
    for (uint32_t turn = 0; turn < STREAM_TURNS && status == RONDE_OK; turn++) {
        const int32_t total = (int32_t)(proc.ranks * turn);
        bool is_done = false;
        bool is_right = true;
        for (uint32_t rank = 0; rank < 16; rank++)
            in[rank] = (int32_t)turn;
        for (uint32_t run = 0; run < STREAM_RUNS && status == RONDE_OK; run++)
            status = ronde_cuda_enqueue(proc.program, streams, error);
        if (flow->dies && turn == 1 && member->join.rank == member->join.ranks - 1)
            raise(SIGKILL);
        while (status == RONDE_OK && !is_done)
            status = ronde_cuda_test(proc.program, &is_done, error);
        if (status == RONDE_OK)
            status = ronde_cuda_check(proc.program, error);
        for (uint32_t k = 0; k < proc.share.ranks; k++)
            is_right = is_right && out[proc.first_rank + k] == total;
        (void)team_check(member, status != RONDE_OK || is_right, "a sum is wrong");
        /* The next numbers are for all ranks to see only when none adds up the last ones. */
        if (status == RONDE_OK)
            status = ronde_comm_allgather(proc.comm, NULL, 0, NULL, error);
    }
    close_member(&proc, member);
    return status;
}

static const struct share streaming[] = {
    {.ranks = 3, .devices = 2, .reaches_host = true},
    {.ranks = 4, .devices = 3, .is_isolated = true, .reaches_host = true},
    {.ranks = 1, .devices = 1, .lacks_descriptors = true, .reaches_host = true}};

static void streams_of_several_devices_and_processes_run_together(void)
{
    const struct flow flow = {{streaming, 3, 0}, false};
    team_run_expecting(3, sum_in_streams, &flow, results, RONDE_OK);
    CU_ASSERT_EQUAL(results[0].checks, STREAM_TURNS + 2 + 1);
}

static void a_killed_process_ends_the_streams_of_all_devices(void)
{
    const struct flow flow = {{streaming, 3, 0}, true};
    CU_ASSERT_FATAL(team_run(3, sum_in_streams, &flow, results));
    CU_ASSERT_EQUAL(results[2].signal, SIGKILL);
    team_expect(results, 2, RONDE_DEVICE);
    for (uint32_t process = 0; process < 2; process++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[process].message, "rank 2 was lost"));
}

/* Over a network a communicator's program has one rank per process. */
static void several_ranks_on_several_hosts_are_refused(void)
{
    static const struct share share = {.ranks = 2, .devices = 1};
    const struct plan plan = {&share, 1, 0};
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("%s", reason);
        return;
    }
    team_transport = RONDE_TRANSPORT_UCX;
    CU_ASSERT_FATAL(team_run(2, load_once, &plan, results));
    team_transport = RONDE_TRANSPORT_SHM;
    team_expect(results, 2, RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "only where all are on one host"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(every_way_to_share_carries_collectives),
        SUITE_CASE(devices_that_share_differently_understand_each_other),
        SUITE_CASE(processes_have_as_many_ranks_and_devices_as_they_like),
        SUITE_CASE(stagings_stand_beside_shared_memory),
        SUITE_CASE(processes_with_different_limits_of_lines_agree),
        SUITE_CASE(whatever_one_process_lacks_all_are_told_and_nothing_is_left),
        SUITE_CASE(a_way_to_share_that_is_not_there_is_refused),
        SUITE_CASE(as_many_ranks_as_the_processes_have_are_loaded),
        SUITE_CASE(more_ranks_than_the_processes_have_are_refused),
        SUITE_CASE(the_handles_of_a_dead_process_are_let_go),
        SUITE_CASE(an_abort_leaves_nothing_mapped),
        SUITE_CASE(streams_of_several_devices_and_processes_run_together),
        SUITE_CASE(a_killed_process_ends_the_streams_of_all_devices),
        SUITE_CASE(several_ranks_on_several_hosts_are_refused),
    };
    return suite_run("gpu_share", cases, sizeof cases / sizeof cases[0]);
}
