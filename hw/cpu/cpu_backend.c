/*
 * The cpu backend: ranks share the cores of this process; messages go through FIFOs in memory.
 *
 * With at most as many ranks as cores every rank has a thread. With more, each core's thread takes a block of
 * neighbouring ranks and polls their lanes in turn, so that a rank never waits for the scheduler to run another. The
 * calling thread is worker 0: it polls its share while it is in wait or test, and runs small launches of few ranks alone.
 * Workers are started by load and parked between runs. Slots are allocated by the first run that needs so many; a run that
 * needs no more allocates nothing.
 */
#include "engine/execute/loaded.h"
#include "hw/cpu/thread_pool.h"
#include "hw/streams.h"

#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>

/* See hw/README.md for the measurements behind these. */

/* A slot when a launch leaves it open, and what all slots of a schedule may take before they become shorter. */
#define DEFAULT_SLOT_BYTES ((uint64_t)1 << 18)
#define LEAST_SLOT_BYTES ((uint64_t)1 << 14)
#define ALL_SLOTS_BYTES ((uint64_t)1 << 31)

/* From this share of a chunk on messages are read or written where they lie. */
#define PULL_FROM_BYTES 16384u

/*
 * What the calling thread runs alone, since that takes less than waking others: up to so many bytes of all buffers times
 * the workers that could share them, and so many ranks.
 */
#define ALONE_BYTES ((uint64_t)1 << 19)
#define ALONE_RANKS 8u

/* The clock is read once in so many sweeps: a sweep may be as short as a clock reading. */
#define SWEEPS_PER_CLOCK 64u

/* Why a run ends early; the first reason stands. */
enum stop {
    STOP_NOT,    /* the run goes on */
    STOP_ABORT,  /* abort was called */
    STOP_TIMEOUT /* the launch's time limit has passed */
};

/* The open backend. */
struct cpu {
    const struct ronde_mem *mem;
    uint32_t cores;
    uint64_t alone_bytes;
    struct ronde_bind bind; /* without processors where threads are left to the system */
    bool is_incoming;       /* the list of processors is the caller's */
};

/* The lanes of one worker. */
struct share {
    uint32_t *lanes; /* those not done, in the order of their ranks */
    uint32_t lane_count;
    uint32_t first; /* lanes of the share when a run begins */
    uint32_t end;
    uint32_t idle;             /* sweeps since a lane progressed */
    uint32_t sweeps;           /* since the clock was read */
    double end_ns;             /* when its last lane was done */
    unsigned char padding[88]; /* up to two cache lines: neighbours belong to other threads */
};

_Static_assert(sizeof(struct share) == 128, "a share fills a pair of cache lines");

/* A loaded program and its one run. */
struct program {
    const struct cpu *cpu;
    struct ronde_loaded *loaded;
    struct ronde_habits habits;
    struct ronde_thread_pool *pool;
    uint32_t worker_count;
    struct share *shares;
    uint32_t *lanes; /* backing of the shares' lists */
    bool is_alone;   /* the last launch ran on worker 0 alone: the others are not woken */
    bool is_running;
    double start_ns;
    double deadline_ns; /* 0 = none */
    int stop;           /* atomic: enum stop */
};

static enum ronde_status cpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    memset(out_machine, 0, sizeof *out_machine);
    if (ronde_threads_check("cpu", why_not) != RONDE_OK)
        return RONDE_UNAVAILABLE;
    out_machine->cores = ronde_usable_cores();
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = DEFAULT_SLOT_BYTES;
    out_machine->alone_bytes = ALONE_BYTES;
    snprintf(out_machine->description, sizeof out_machine->description,
             "ranks share %u core%s of this process; sums with %s", out_machine->cores,
             out_machine->cores == 1 ? "" : "s", ronde_level_text(ronde_level_widest()));
    return RONDE_OK;
}

static enum ronde_status cpu_open(const struct ronde_machine *machine, const struct ronde_mem *mem,
                                  void **out_self, struct ronde_error *error)
{
    *out_self = NULL;
    if (ronde_threads_check("cpu", error) != RONDE_OK)
        return RONDE_UNAVAILABLE;
    struct cpu *cpu = ronde_mem_new(mem, 1, sizeof *cpu);
    if (!cpu)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to open the cpu backend");
    cpu->mem = mem;
    cpu->cores = machine->cores > 0 ? machine->cores : 1;
    cpu->alone_bytes = machine->alone_bytes;
    cpu->is_incoming = machine->bind != NULL && !machine->is_unbound;
    if (cpu->is_incoming)
        cpu->bind = *machine->bind;
    cpu->bind.mem = mem;
    const enum ronde_status status =
        cpu->is_incoming || machine->is_unbound ? RONDE_OK : ronde_bind_open(mem, &cpu->bind, error);
    if (status != RONDE_OK) {
        ronde_mem_free(mem, cpu, 1, sizeof *cpu);
        return status;
    }
    *out_self = cpu;
    return RONDE_OK;
}

static enum ronde_status cpu_supports(void *self, const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch, struct ronde_error *why_not)
{
    (void)self;
    return ronde_launch_check(schedule, launch, why_not);
}

/* Read once per sweep by every worker; the line stays shared, so this costs next to nothing. */
static int stop_reason(const struct program *program)
{
    return __atomic_load_n(&program->stop, __ATOMIC_ACQUIRE);
}

/* May be called by any thread. A run that has been stopped for one reason keeps that reason. */
static void request_stop(struct program *program, enum stop reason)
{
    int expected = STOP_NOT;
    (void)__atomic_compare_exchange_n(&program->stop, &expected, (int)reason, false,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Polls every lane of a share once; those that are done are removed, the others keep their order. */
static void poll_lanes(struct program *program, struct share *share)
{
    bool has_progressed = false;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < share->lane_count; k++) {
        const uint32_t lane = share->lanes[k];
        if (ronde_lane_burst(&program->loaded->lanes[lane], &has_progressed) != RONDE_POLL_DONE)
            share->lanes[kept++] = lane;
    }
    share->lane_count = kept;
    if (kept == 0)
        share->end_ns = ronde_clock_ns();
    share->idle = has_progressed ? 0 : share->idle + 1;
}

/* A worker's part of a run. */
static void work(void *self, uint32_t worker)
{
    struct program *program = self;
    struct share *share = &program->shares[worker];
    while (share->lane_count > 0 && stop_reason(program) == STOP_NOT) {
        poll_lanes(program, share);
        if (share->idle > 0 && share->lane_count > 0)
            ronde_thread_pool_relax(share->idle);
    }
}

/* The caller checks the time limit for all workers. */
static void check_clock(struct program *program)
{
    struct share *share = &program->shares[0];
    share->sweeps++;
    if (program->deadline_ns > 0 && share->sweeps % SWEEPS_PER_CLOCK == 0 &&
        ronde_clock_ns() > program->deadline_ns)
        request_stop(program, STOP_TIMEOUT);
}

/* The calling thread's part: polls its share once and reads whether the others are done. Returns whether the run is over. */
static bool poll_once(struct program *program)
{
    struct share *share = &program->shares[0];
    check_clock(program);
    const bool has_stopped = stop_reason(program) != STOP_NOT;
    if (share->lane_count > 0 && !has_stopped)
        poll_lanes(program, share);
    return (share->lane_count == 0 || has_stopped) && ronde_thread_pool_is_done(program->pool);
}

static void cpu_unload(void *self)
{
    struct program *program = self;
    if (!program)
        return;
    ronde_thread_pool_destroy(program->pool);
    ronde_loaded_destroy(program->loaded);
    ronde_mem_free(program->cpu->mem, program, 1, sizeof *program);
}

/* Neighbouring ranks share a worker: most messages of most algorithms then stay within one core. */
static void assign_lanes(struct program *program)
{
    const struct ronde_loaded *loaded = program->loaded;
    const uint64_t ranks = loaded->schedule->ranks;
    for (uint32_t w = 0; w < program->worker_count; w++) {
        struct share *share = &program->shares[w];
        const uint32_t first_rank = (uint32_t)(ranks * w / program->worker_count);
        const uint32_t end_rank = (uint32_t)(ranks * (w + 1) / program->worker_count);
        share->first = ronde_loaded_first_lane(loaded, first_rank);
        share->end = ronde_loaded_first_lane(loaded, end_rank);
        share->lanes = program->lanes + share->first;
    }
}

/* What depends on the schedule and the processor; slots that are never used cost no memory, only addresses. */
static void choose_habits(struct program *program)
{
    const struct ronde_launch open = {0};
    const uint64_t depth = ronde_launch_depth(program->loaded->schedule, &open);
    uint64_t slot_bytes = DEFAULT_SLOT_BYTES;
    while (slot_bytes > LEAST_SLOT_BYTES &&
           program->loaded->fifo_count > ALL_SLOTS_BYTES / (depth * slot_bytes))
        slot_bytes /= 2;
    program->habits =
        (struct ronde_habits){.slot_bytes = slot_bytes,
                              .pull_from_bytes = {PULL_FROM_BYTES, PULL_FROM_BYTES},
                              .farthest = RONDE_PROTOCOL_PUSH,
                              .stream_from_bytes = ronde_stream_from_bytes(program->worker_count),
                              .join_from_bytes = RONDE_JOIN_FROM_BYTES};
}

/* One worker per rank while there are cores for them, else one per core. */
static enum ronde_status load_parts(struct program *program, const struct ronde_schedule *schedule,
                                    struct ronde_error *error)
{
    RONDE_TRY(ronde_loaded_create(schedule, program->cpu->mem, &program->loaded, error));
    program->worker_count =
        schedule->ranks < program->cpu->cores ? schedule->ranks : program->cpu->cores;
    struct ronde_arena *arena = program->loaded->arena;
    program->lanes = ronde_arena_new(arena, program->loaded->lane_count, sizeof *program->lanes);
    program->shares = ronde_arena_new(arena, program->worker_count, sizeof *program->shares);
    if (!program->lanes || !program->shares)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    assign_lanes(program);
    choose_habits(program);
    return ronde_thread_pool_create(program->worker_count, work, program, &program->cpu->bind,
                                    &program->pool, error);
}

static enum ronde_status cpu_load(void *self, const struct ronde_schedule *schedule,
                                  void **out_program, struct ronde_error *error)
{
    *out_program = NULL;
    struct cpu *cpu = self;
    struct program *program = ronde_mem_new(cpu->mem, 1, sizeof *program);
    if (!program)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    program->cpu = cpu;
    const enum ronde_status status = load_parts(program, schedule, error);
    if (status != RONDE_OK) {
        cpu_unload(program);
        return status;
    }
    *out_program = program;
    return RONDE_OK;
}

/* Assigns all lanes again, to worker 0 or to all workers: the last run has emptied the lists. */
static void start_shares(struct program *program, bool is_alone)
{
    for (uint32_t w = 0; w < program->worker_count; w++) {
        struct share *share = &program->shares[w];
        share->lane_count = share->end - share->first;
        if (is_alone)
            share->lane_count = w == 0 ? program->loaded->lane_count : 0;
        for (uint32_t k = 0; k < share->lane_count; k++)
            share->lanes[k] = share->first + k;
        share->idle = 0;
        share->sweeps = 0;
        share->end_ns = 0;
    }
}

/* Whether worker 0 runs a launch alone, and the others are not woken. */
static bool runs_alone(const struct program *program, const struct ronde_launch *launch)
{
    return program->loaded->schedule->ranks <= ALONE_RANKS &&
           ronde_loaded_touched_bytes(program->loaded, launch) <=
               program->cpu->alone_bytes / program->worker_count;
}

/* Prepares a launch. Preparing takes longer than a short run, so it is skipped for a repetition of the last launch. */
static enum ronde_status prepare(struct program *program, const struct ronde_launch *launch,
                                 struct ronde_error *error)
{
    struct ronde_loaded *loaded = program->loaded;
    if (loaded->is_prepared && ronde_launch_is_alike(launch, &loaded->last) &&
        ronde_loaded_has_buffers(loaded, launch)) {
        ronde_loaded_repeat(loaded);
        return RONDE_OK;
    }
    RONDE_TRY(ronde_launch_check(loaded->schedule, launch, error));
    RONDE_TRY(ronde_loaded_prepare(loaded, launch, &program->habits, error));
    program->is_alone = runs_alone(program, launch);
    return RONDE_OK;
}

/*
 * The clock starts after everything has been prepared and before the workers are woken: waking them is part of what a
 * collective costs.
 */
static enum ronde_status cpu_run(void *self, const struct ronde_launch *launch, void **out_run,
                                 struct ronde_error *error)
{
    struct program *program = self;
    *out_run = NULL;
    if (program->is_running)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is running already");
    RONDE_TRY(prepare(program, launch, error));
    start_shares(program, program->is_alone);
    program->is_running = true;
    program->stop = STOP_NOT;
    program->start_ns = ronde_clock_ns();
    program->deadline_ns =
        launch->timeout_ns > 0 ? program->start_ns + (double)launch->timeout_ns : 0;
    if (!program->is_alone)
        ronde_thread_pool_start(program->pool);
    *out_run = program;
    return RONDE_OK;
}

/* Polls the caller's lanes once; errors are returned by wait. */
static enum ronde_status cpu_test(void *self, bool *out_done, struct ronde_error *error)
{
    struct program *program = self;
    (void)error;
    *out_done = poll_once(program);
    return RONDE_OK;
}

/* All workers have left the run, so every lane can be read. */
static enum ronde_status report_stop(const struct program *program, const struct ronde_lane *lane,
                                     struct ronde_error *error)
{
    char text[RONDE_LANE_TEXT_BYTES];
    ronde_lane_describe(lane, text);
    if (stop_reason(program) == STOP_ABORT)
        return ronde_fail(error, RONDE_TIMEOUT, "the run was aborted; %s", text);
    return ronde_fail(error, RONDE_TIMEOUT, "the run took longer than %.0f ns; %s",
                      program->deadline_ns - program->start_ns, text);
}

static enum ronde_status cpu_wait(void *self, struct ronde_result *out_result,
                                  struct ronde_error *error)
{
    struct program *program = self;
    uint32_t idle = 0;
    while (!poll_once(program)) {
        /* Once its own share is done the caller is idle until the others are. */
        const struct share *share = &program->shares[0];
        idle = share->lane_count == 0 ? idle + 1 : share->idle;
        if (idle > 0)
            ronde_thread_pool_relax(idle);
    }
    program->is_running = false;
    const struct ronde_lane *blocked = ronde_loaded_blocked(program->loaded);
    ronde_loaded_finish(program->loaded, !blocked);
    if (blocked)
        return report_stop(program, blocked, error);
    double end_ns = program->start_ns;
    for (uint32_t w = 0; w < program->worker_count; w++)
        if (program->shares[w].end_ns > end_ns)
            end_ns = program->shares[w].end_ns;
    out_result->elapsed_ns = end_ns - program->start_ns;
    out_result->is_virtual = false;
    out_result->protocol = ronde_loaded_protocol(program->loaded);
    return RONDE_OK;
}

/* May be called from any thread, also while another is in wait. */
static void cpu_abort(void *self)
{
    request_stop(self, STOP_ABORT);
}

static void cpu_close(void *self)
{
    struct cpu *cpu = self;
    if (!cpu)
        return;
    if (!cpu->is_incoming)
        ronde_bind_close(&cpu->bind);
    ronde_mem_free(cpu->mem, cpu, 1, sizeof *cpu);
}

const struct ronde_backend ronde_backend_cpu = {
    .name = "cpu",
    .probe = cpu_probe,
    .open = cpu_open,
    .supports = cpu_supports,
    .load = cpu_load,
    .run = cpu_run,
    .test = cpu_test,
    .wait = cpu_wait,
    .abort = cpu_abort,
    .unload = cpu_unload,
    .close = cpu_close,
};
