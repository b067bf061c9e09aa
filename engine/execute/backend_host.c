/*
 * The host backend: one thread, all lanes, one step at a time. The specification every other backend is compared with.
 *
 * With a seed the next lane is drawn at random among those that can go on, and goes on for a random number of steps, so
 * that some runs interleave finely and others let one rank run far ahead. Nothing moves concurrently, hence a state in
 * which no lane can go on is a deadlock, which is reported rather than waited out. Time is virtual and 0; a launch's
 * timeout has no meaning here. Extents and message lengths are checked and consumed slots are overwritten, so that
 * unproved schedules fail visibly instead of reading stale data.
 */
#include "engine/execute/loaded.h"

#include "ronde/mix.h"

#include <string.h>

/* A slot when a launch leaves it open: long enough that pieces are few, short enough to stay in a core's cache. */
#define DEFAULT_SLOT_BYTES 65536u

/* The specification copies unless a launch sets another protocol. */
static const struct ronde_habits habits = {.slot_bytes = DEFAULT_SLOT_BYTES,
                                           .pull_from_bytes = {UINT64_MAX, UINT64_MAX},
                                           .farthest = RONDE_PROTOCOL_PUSH,
                                           .stream_from_bytes = UINT64_MAX,
                                           .level = RONDE_LEVEL_PLAIN};

/* What consumed slots are filled with: no small integer and no plausible float has these bytes. */
#define POISON 0xA5

/* Steps a test executes at most: it must not block. */
#define TEST_STEPS 1024u

/* The open backend: nothing but the allocator, since host needs no machine. */
struct host {
    const struct ronde_mem *mem;
};

/* A loaded program and its one run. */
struct program {
    const struct host *host;
    struct ronde_loaded *loaded;
    uint32_t *waiting; /* lanes that are not done */
    uint32_t waiting_count;
    uint32_t tried; /* lanes found blocked since the last progress; with a seed these stand at the front */
    uint32_t turn;   /* in order: index of the lane whose turn it is */
    uint32_t burst;  /* with a seed: steps the current lane may still go on */
    uint64_t random; /* state of the generator; 0 = in order */
    bool is_running;
    bool is_aborted;
    enum ronde_status status; /* of the run */
    struct ronde_error error; /* of the run */
};

/* Any state is good, and none is stored but the counter. */
static uint64_t draw(uint64_t *state)
{
    return ronde_mix64(*state += RONDE_MIX_STEP);
}

/* Always there, for any number of ranks. */
static enum ronde_status host_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    (void)why_not;
    memset(out_machine, 0, sizeof *out_machine);
    strncpy(out_machine->description, "the specification: one thread, all ranks, no clock",
            sizeof out_machine->description - 1);
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = DEFAULT_SLOT_BYTES;
    return RONDE_OK;
}

static enum ronde_status host_open(const struct ronde_machine *machine, const struct ronde_mem *mem,
                                   void **out_self, struct ronde_error *error)
{
    (void)machine;
    *out_self = NULL;
    struct host *host = ronde_mem_new(mem, 1, sizeof *host);
    if (!host)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to open the host backend");
    host->mem = mem;
    *out_self = host;
    return RONDE_OK;
}

static enum ronde_status host_supports(void *self, const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch,
                                       struct ronde_error *why_not)
{
    (void)self;
    return ronde_launch_check(schedule, launch, why_not);
}

static void host_unload(void *self)
{
    struct program *program = self;
    if (!program)
        return;
    ronde_loaded_destroy(program->loaded);
    ronde_mem_free(program->host->mem, program, 1, sizeof *program);
}

/*
 * Loading is common to all backends of one process; host adds the queue of lanes and enables
 * checks.
 */
static enum ronde_status host_load(void *self, const struct ronde_schedule *schedule,
                                   void **out_program, struct ronde_error *error)
{
    *out_program = NULL;
    struct host *host = self;
    struct program *program = ronde_mem_new(host->mem, 1, sizeof *program);
    if (!program)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    program->host = host;
    enum ronde_status status = ronde_loaded_create(schedule, host->mem, &program->loaded, error);
    if (status == RONDE_OK) {
        program->loaded->frame.checks = true;
        program->waiting =
            ronde_arena_new(program->loaded->arena, program->loaded->lane_count, sizeof(uint32_t));
        if (!program->waiting)
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    }
    if (status != RONDE_OK) {
        host_unload(program);
        return status;
    }
    *out_program = program;
    return RONDE_OK;
}

/*
 * Only prepares: the steps are executed by test and wait, since there is no other thread that could. Slots are poisoned
 * as a whole, so that an empty slot cannot be mistaken for a message.
 */
static enum ronde_status host_run(void *self, const struct ronde_launch *launch, void **out_run,
                                  struct ronde_error *error)
{
    struct program *program = self;
    struct ronde_loaded *loaded = program->loaded;
    *out_run = NULL;
    if (program->is_running)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is running already");
    RONDE_TRY(ronde_launch_check(loaded->schedule, launch, error));
    RONDE_TRY(ronde_loaded_prepare(loaded, launch, &habits, error));
    memset(loaded->slots.start, POISON,
           loaded->fifo_count * loaded->frame.depth * loaded->frame.slot_stride);
    program->waiting_count = loaded->lane_count;
    for (uint32_t l = 0; l < program->waiting_count; l++)
        program->waiting[l] = l;
    program->turn = 0;
    program->tried = 0;
    program->burst = 0;
    program->random = launch->seed;
    program->is_running = true;
    program->is_aborted = false;
    program->status = RONDE_OK;
    memset(&program->error, 0, sizeof program->error);
    *out_run = program;
    return RONDE_OK;
}

/* Exchanges two lanes of the queue. */
static void swap_waiting(struct program *program, uint32_t a, uint32_t b)
{
    const uint32_t lane = program->waiting[a];
    program->waiting[a] = program->waiting[b];
    program->waiting[b] = lane;
}

/* Index of the lane to poll: the next in turn, or one drawn among those not found blocked since the last progress. */
static uint32_t choose(struct program *program)
{
    if (program->random == 0)
        return program->turn < program->waiting_count ? program->turn : 0;
    if (program->burst > 0)
        return program->tried;
    const uint32_t left = program->waiting_count - program->tried;
    swap_waiting(program, program->tried,
                 program->tried + (uint32_t)(draw(&program->random) % left));
    /* Mostly one step, sometimes a few, sometimes until it blocks. */
    const uint64_t kind = draw(&program->random) % 16;
    program->burst = kind < 12 ? 1 : kind < 15 ? 8 : UINT32_MAX;
    return program->tried;
}

/*
 * A lane that progressed makes every other worth polling again; it stays first in the queue while
 * its burst lasts.
 */
static void progressed(struct program *program, uint32_t at)
{
    if (program->random == 0) {
        program->turn = at + 1;
    } else {
        swap_waiting(program, 0, at);
        program->burst--;
    }
    program->tried = 0;
}

/* A lane that cannot go on waits until another has; when none can, the run is deadlocked. */
static bool is_last_hope_gone(struct program *program, uint32_t at)
{
    program->turn = at + 1;
    program->burst = 0;
    program->tried++;
    return program->tried == program->waiting_count;
}

/* A lane that is done leaves the queue; order among the others does not matter for the result. */
static void retire(struct program *program, uint32_t at)
{
    program->waiting_count--;
    swap_waiting(program, at, program->waiting_count);
    program->burst = 0;
    program->tried = 0;
}

/* Ends the run with what this lane is stopped by. */
static void stuck(struct program *program, const struct ronde_lane *lane, const char *what)
{
    char text[RONDE_LANE_TEXT_BYTES];
    ronde_lane_describe(lane, text);
    program->status = ronde_fail(&program->error, RONDE_DEVICE, "%s: %s", what, text);
    program->waiting_count = 0;
}

/* The slot a lane's next step consumes, to be overwritten afterwards; NULL if it receives nothing. */
static unsigned char *consumed_slot(const struct ronde_lane *lane, uint64_t *out_bytes)
{
    const struct ronde_task *task = lane->task;
    const struct ronde_step *step = &task->view.program->steps[lane->step];
    const uint32_t receive = ronde_act_receive(step);
    if (receive == RONDE_NONE)
        return NULL;
    const struct ronde_end *end = &task->ends[receive];
    const uint64_t length = end->lengths[end->slot];
    *out_bytes = length;
    if ((length & RONDE_LENGTH_OFFERED) != 0)
        *out_bytes = step->chunk_count * sizeof(struct ronde_offer);
    if ((length & RONDE_LENGTH_PUSHED) != 0)
        *out_bytes = 0;
    return end->slots + end->slot * task->frame->slot_stride;
}

/* Polls one lane. */
static void advance(struct program *program)
{
    const uint32_t at = choose(program);
    struct ronde_lane *lane = &program->loaded->lanes[program->waiting[at]];
    const bool is_over = lane->piece == program->loaded->frame.piece_count;
    uint64_t bytes = 0;
    unsigned char *slot = is_over ? NULL : consumed_slot(lane, &bytes);
    switch (ronde_lane_poll(lane)) {
    case RONDE_POLL_PROGRESSED:
        if (slot)
            memset(slot, POISON, bytes);
        progressed(program, at);
        break;
    case RONDE_POLL_BLOCKED:
        if (is_last_hope_gone(program, at))
            stuck(program, lane, "no lane can go on");
        break;
    case RONDE_POLL_DONE:
        retire(program, at);
        break;
    case RONDE_POLL_WRONG:
        stuck(program, lane, "step contradicts its operands");
        break;
    }
}

/* Whether the run is over; ends it early after an abort. */
static bool is_over(struct program *program)
{
    if (program->is_aborted && program->waiting_count > 0) {
        program->waiting_count = 0;
        program->status = ronde_fail(&program->error, RONDE_TIMEOUT, "the run was aborted");
    }
    return program->waiting_count == 0;
}

/* A bounded number of steps, so that it never blocks for long. */
static enum ronde_status host_test(void *self, bool *out_done, struct ronde_error *error)
{
    struct program *program = self;
    for (uint32_t step = 0; step < TEST_STEPS && !is_over(program); step++)
        advance(program);
    *out_done = is_over(program);
    if (program->status != RONDE_OK)
        return ronde_fail(error, program->status, "%s", program->error.message);
    return RONDE_OK;
}

/* Every run ends: each poll executes a step, retires a lane or brings the deadlock check closer. */
static enum ronde_status host_wait(void *self, struct ronde_result *out_result,
                                   struct ronde_error *error)
{
    struct program *program = self;
    while (!is_over(program))
        advance(program);
    program->is_running = false;
    ronde_loaded_finish(program->loaded, program->status == RONDE_OK);
    if (program->status != RONDE_OK)
        return ronde_fail(error, program->status, "%s", program->error.message);
    out_result->elapsed_ns = 0;
    out_result->is_virtual = true;
    out_result->protocol = ronde_loaded_protocol(program->loaded);
    return RONDE_OK;
}

static void host_abort(void *self)
{
    struct program *program = self;
    program->is_aborted = true;
}

static void host_close(void *self)
{
    struct host *host = self;
    if (host)
        ronde_mem_free(host->mem, host, 1, sizeof *host);
}

const struct ronde_backend ronde_backend_host = {
    .name = "host",
    .probe = host_probe,
    .open = host_open,
    .supports = host_supports,
    .load = host_load,
    .run = host_run,
    .test = host_test,
    .wait = host_wait,
    .abort = host_abort,
    .unload = host_unload,
    .close = host_close,
};
