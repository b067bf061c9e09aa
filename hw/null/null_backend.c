/*
 * The null backend: all that a backend does except moving data. It is the one to copy (CONTRIBUTING.md, "Add a backend").
 *
 * It loads every schedule, checks and prepares every launch as the others do, and ends the run without executing a step,
 * so that outputs stay as they were. What `ronde run --backend null` measures is therefore the part of a launch's time in
 * which nothing moves: a bound from below for every backend that prepares launches on a processor.
 *
 * The comment of a slot says what callers rely on, and what a backend that does move data does there instead. The
 * contract is that of ronde/backend.h; tests/conformance holds all backends to it.
 */
#include "engine/execute/loaded.h"

#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>

/*
 * The slot of launches that name none, and with it the length of a piece. Measure it: long slots mean few pieces and
 * little overhead, short ones overlap more and stay in a cache. Here nothing travels, so any will do.
 */
#define DEFAULT_SLOT_BYTES 65536u

/*
 * How messages travel unless the launch says otherwise (engine/execute/loaded.h). Staged messages are all that a backend
 * needs to begin with: every other protocol is an optimisation that lowering refuses to a backend which does not ask.
 */
static const struct ronde_habits habits = {.slot_bytes = DEFAULT_SLOT_BYTES,
                                           .pull_from_bytes = {UINT64_MAX, UINT64_MAX},
                                           .farthest = RONDE_PROTOCOL_STAGED,
                                           .stream_from_bytes = UINT64_MAX,
                                           .level = RONDE_LEVEL_PLAIN};

/* The open backend: whatever belongs to the machine and not to a schedule, such as devices, streams, a thread pool. */
struct null {
    const struct ronde_mem *mem; /* the only source of memory: a test makes each of its calls fail */
};

/* A loaded program. A program has one run at a time, so it is the run as well and run allocates nothing. */
struct program {
    const struct null *null;
    struct ronde_loaded
        *loaded; /* tasks, lanes, connections and their slots: the state of the step interpreter */
    double start_ns; /* of the run */
    double end_ns;   /* of the run */
    bool is_running;
    bool is_aborted;
};

/*
 * Says whether the backend works here and describes the machine. It must be cheap and must not fail where something is
 * merely absent: that is UNAVAILABLE with the missing package by name, which `ronde list` prints. A backend that needs a
 * library has a second file, backend_absent.c, which CMake compiles in its place and whose probe says so.
 * `cores` and `devices` are 0 where ranks are not bound to any: more ranks than these label a record as oversubscribed.
 */
static enum ronde_status null_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    (void)why_not;
    memset(out_machine, 0, sizeof *out_machine);
    snprintf(out_machine->description, sizeof out_machine->description,
             "moves no data: what a launch costs before it moves any");
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = DEFAULT_SLOT_BYTES;
    return RONDE_OK;
}

/*
 * Takes what programs share. `machine` is what probe found, with choices of the caller's. On failure *out_self is NULL
 * and everything is released: the caller will not call close.
 */
static enum ronde_status null_open(const struct ronde_machine *machine, const struct ronde_mem *mem,
                                   void **out_self, struct ronde_error *error)
{
    (void)machine;
    *out_self = NULL;
    struct null *null = ronde_mem_new(mem, 1, sizeof *null);
    if (!null)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to open the null backend");
    null->mem = mem;
    *out_self = null;
    return RONDE_OK;
}

/*
 * Whether a launch can run, asked before it is run; run must refuse the same. ronde_launch_check refuses what no backend
 * can do. Add after it what yours cannot do yet, UNSUPPORTED with a reason: a new backend begins by refusing everything
 * and widens this function as conformance passes. Never run something else instead of refusing.
 */
static enum ronde_status null_supports(void *self, const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch,
                                       struct ronde_error *why_not)
{
    (void)self;
    return ronde_launch_check(schedule, launch, why_not);
}

/* Releases a program that is not running. It is called with NULL, and with what a failed load has left behind. */
static void null_unload(void *self)
{
    struct program *program = self;
    if (!program)
        return;
    ronde_loaded_destroy(program->loaded);
    ronde_mem_free(program->null->mem, program, 1, sizeof *program);
}

/*
 * Prepares a schedule, which outlives the program and is not to be copied. All that costs time belongs here: the tables
 * of the interpreter (ronde_loaded_create), memory of a device, worker threads. A backend whose ranks are elsewhere
 * builds its own image of the steps (hw/cuda/flatten.c) or loads one rank (ronde_loaded_create_rank, hw/comm/comm_program.c).
 */
static enum ronde_status null_load(void *self, const struct ronde_schedule *schedule,
                                   void **out_program, struct ronde_error *error)
{
    struct null *null = self;
    *out_program = NULL;
    struct program *program = ronde_mem_new(null->mem, 1, sizeof *program);
    if (!program)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    program->null = null;
    const enum ronde_status status =
        ronde_loaded_create(schedule, null->mem, &program->loaded, error);
    if (status != RONDE_OK) {
        null_unload(program);
        return status;
    }
    *out_program = program;
    return RONDE_OK;
}

/* Makes the interpreter ready for a launch. One that is the last one again needs neither check nor preparation. */
static enum ronde_status prepare(struct ronde_loaded *loaded, const struct ronde_launch *launch,
                                 struct ronde_error *error)
{
    if (loaded->is_prepared && ronde_launch_is_alike(launch, &loaded->last) &&
        ronde_loaded_has_buffers(loaded, launch)) {
        ronde_loaded_repeat(loaded);
        return RONDE_OK;
    }
    RONDE_TRY(ronde_launch_check(loaded->schedule, launch, error));
    return ronde_loaded_prepare(loaded, launch, &habits, error);
}

/*
 * Starts a run and returns at once. The launch is the caller's and may be gone afterwards; the buffers stay until wait.
 *
 * Here a backend sets its lanes going: hw/cpu wakes its threads, hw/cuda starts a kernel, host leaves all to test and
 * wait. Each lane is driven by ronde_lane_poll (engine/execute/interp.h) until that returns RONDE_POLL_DONE; any lanes in
 * any order will do, for a poll never blocks. This backend polls none.
 *
 * Its clock starts on entry, since to prepare is all that it does. Others start theirs after they have prepared.
 */
static enum ronde_status null_run(void *self, const struct ronde_launch *launch, void **out_run,
                                  struct ronde_error *error)
{
    struct program *program = self;
    const double start_ns = ronde_clock_ns();
    *out_run = NULL;
    if (program->is_running)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is running already");
    RONDE_TRY(prepare(program->loaded, launch, error));
    program->start_ns = start_ns;
    program->end_ns = ronde_clock_ns();
    program->is_running = true;
    program->is_aborted = false;
    *out_run = program;
    return RONDE_OK;
}

/*
 * Whether the run is over; it never blocks, and moves the run on where no other thread does. An error of the run may be
 * told here or left to wait, which the caller calls in any case.
 */
static enum ronde_status null_test(void *self, bool *out_done, struct ronde_error *error)
{
    (void)self;
    (void)error;
    *out_done = true;
    return RONDE_OK;
}

/*
 * Waits for the end and releases the run, whatever came of it. The launch's timeout and abort end a run with TIMEOUT;
 * ronde_lane_describe then says what a lane waits for. A backend that has polled its lanes calls ronde_loaded_finish,
 * which counts the pieces that travelled, or resets the connections after a run that was abandoned. Where no lane has
 * moved there is nothing to count.
 */
static enum ronde_status null_wait(void *self, struct ronde_result *out_result,
                                   struct ronde_error *error)
{
    struct program *program = self;
    program->is_running = false;
    if (program->is_aborted)
        return ronde_fail(error, RONDE_TIMEOUT, "the run was aborted");
    out_result->elapsed_ns = program->end_ns - program->start_ns;
    out_result->is_virtual = false;
    out_result->protocol = ronde_loaded_protocol(program->loaded);
    return RONDE_OK;
}

/* Asks a run to end early and returns at once. It may be called from any thread where the backend has several (hw/cpu). */
static void null_abort(void *self)
{
    struct program *program = self;
    program->is_aborted = true;
}

/* Closes the backend, after its programs; NULL is allowed. */
static void null_close(void *self)
{
    struct null *null = self;
    if (null)
        ronde_mem_free(null->mem, null, 1, sizeof *null);
}

/* Declared in ronde/hw.h, named by a row of hw/executors.c: list, command, tests and benchmarks take it from there. */
const struct ronde_backend ronde_backend_null = {
    .name = "null",
    .probe = null_probe,
    .open = null_open,
    .supports = null_supports,
    .load = null_load,
    .run = null_run,
    .test = null_test,
    .wait = null_wait,
    .abort = null_abort,
    .unload = null_unload,
    .close = null_close,
};
