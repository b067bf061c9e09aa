/**
 * Which step overwrites what was sent, which touched what is received, and which sends may be pulled.
 *
 * A message need not be copied into a slot where the receiver may read it at its source (pull), or the sender write
 * it at its destination (push). For the first, the step that overwrites the source must wait until it was read: the
 * reuse step. For the second, the destination must be free: the post step is the last that touched it. Both are found
 * by one walk over each rank's steps in a topological order, by cells, once in place and once out of place.
 *
 * Waiting for readers adds edges to the step graph, and may close cycles that the schedule itself does not have. So
 * the model is run with these waits as a guard, at the least depth; where it stalls, a cycle is followed to a lane
 * that only the guard holds, and the sends it waits for are buffered instead: they go through slots. Each turn
 * buffers at least one send, so it ends. Which results may be written to where receivers keep them is found at the end
 * (spread.c).
 */
#include "finish.h"

#include "engine/prove/accesses.h"

#include <string.h>

/** The last that was done with a cell. */
struct access {
    uint32_t step; /**< RONDE_NONE = nothing; RONDE_NEVER = read by steps of lanes that nothing orders */
    uint32_t is_read; /**< it was read */
    uint32_t writer;  /**< the last step that wrote it, or RONDE_NONE */
};

/** The work on one placement. */
struct lowering {
    struct ronde_schedule *schedule;
    struct ronde_model *model;
    struct ronde_accesses accesses; /**< of the rank being visited */
    uint32_t **message_of; /**< per program and step: which message of its connection it sends */
    struct ronde_readers readers; /**< of what is written */
    struct access *last_access;   /**< per cell of one rank */
    uint32_t *pending;            /**< per cell: head of a list of sends whose source it is */
    uint32_t *pending_next;       /**< per entry */
    uint32_t *pending_step;       /**< per entry */
    uint32_t pending_count;
    uint32_t *visit; /**< per lane of the model */
};

static uint8_t buffered_flag(const struct lowering *lowering)
{
    return lowering->accesses.in_place ? RONDE_FLAG_BUFFERED_IN_PLACE : RONDE_FLAG_BUFFERED;
}

/* --- reuse and post points of one rank ----------------------------------------------------- */

/**
 * From when on a receiver's destination is free, with one more of its cells considered: after the
 * later of two steps of a lane. Steps of two lanes: a remote writer had to poll both, which is
 * rare, so NEVER.
 */
static void touch(const struct lowering *lowering, struct ronde_program *program, uint32_t receiver,
                  uint32_t last)
{
    uint32_t *post = &program->lowering[receiver].post_step[lowering->accesses.in_place];
    if (last == RONDE_NONE || last == receiver || last == *post || *post == RONDE_NEVER)
        return;
    if (*post == RONDE_NONE || last == RONDE_NEVER)
        *post = last;
    else if (ronde_program_lane(program, *post) != ronde_program_lane(program, last))
        *post = RONDE_NEVER;
    else if (last > *post)
        *post = last;
}

/**
 * A send whose source `by` overwrites. The first overwriter of a lane waits for the reader, and so the later ones need
 * not, so their destinations are not free before it is over. Several overwriters in unordered lanes: buffer, it is
 * rare.
 */
static void overwrite(const struct lowering *lowering, struct ronde_program *program,
                      uint32_t sender, uint32_t by)
{
    uint32_t *reuse = &program->lowering[sender].reuse_step[lowering->accesses.in_place];
    if (*reuse == RONDE_NONE || *reuse == by) {
        *reuse = by;
    } else if (ronde_program_lane(program, *reuse) != ronde_program_lane(program, by)) {
        program->steps[sender].flags |= buffered_flag(lowering);
    } else {
        const uint32_t later = by > *reuse ? by : *reuse;
        *reuse = by < *reuse ? by : *reuse;
        touch(lowering, program, later, *reuse);
    }
}

/** A read. Earlier writes are over by then (no races), but not reads in another lane. */
static void note_read(const struct lowering *lowering, const struct ronde_program *program,
                      uint32_t cell, uint32_t step)
{
    struct access *last = &lowering->last_access[cell];
    const bool is_known = last->step != RONDE_NONE && last->step != RONDE_NEVER;
    if (last->step == RONDE_NEVER)
        return;
    const bool is_shared =
        is_known && last->is_read &&
        ronde_program_lane(program, last->step) != ronde_program_lane(program, step);
    last->step = is_shared ? RONDE_NEVER : step;
    last->is_read = true;
}

/** What a step sends from a cell may be read there until a later step overwrites it. */
static void note_send(struct lowering *lowering, uint32_t cell, uint32_t step)
{
    lowering->pending_step[lowering->pending_count] = step;
    lowering->pending_next[lowering->pending_count] = lowering->pending[cell];
    lowering->pending[cell] = lowering->pending_count++;
}

static void note_write(struct lowering *lowering, struct ronde_program *program, uint32_t cell,
                       uint32_t step)
{
    for (uint32_t entry = lowering->pending[cell]; entry != RONDE_NONE;
         entry = lowering->pending_next[entry])
        overwrite(lowering, program, lowering->pending_step[entry], step);
    lowering->pending[cell] = RONDE_NONE;
    if (lowering->accesses.does.receives)
        touch(lowering, program, step, lowering->last_access[cell].step);
    lowering->last_access[cell] = (struct access){step, false, step};
}

/** Whether the step is a copy that leaves every chunk as it is. */
static bool is_idle(const struct ronde_accesses *accesses)
{
    if (!ronde_op_is_in(accesses->step->op, RONDE_OPS_THAT_COPY))
        return false;
    for (uint32_t item = 0; item < accesses->step->chunk_count; item++)
        if (!ronde_accesses_nothing(accesses, ronde_accesses_item(accesses, item)))
            return false;
    return true;
}

/** All that a step reads comes before anything it writes. */
static void visit_step(struct lowering *lowering, struct ronde_program *program, uint32_t index)
{
    struct ronde_accesses *accesses = &lowering->accesses;
    ronde_accesses_resolve(accesses, index);
    const struct ronde_step *step = accesses->step;
    if (is_idle(accesses))
        return;
    for (uint32_t item = 0; accesses->does.reads && item < step->chunk_count; item++) {
        const uint32_t cell = ronde_accesses_item(accesses, item).source;
        note_read(lowering, program, cell, index);
        if (!ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND_SOURCE))
            continue;
        note_send(lowering, cell, index);
        ronde_spread_note(program, index, lowering->last_access[cell].writer);
    }
    for (uint32_t item = 0; accesses->does.writes && item < step->chunk_count; item++) {
        const uint32_t cell = ronde_accesses_item(accesses, item).destination;
        note_write(lowering, program, cell, index);
        /* What is sent is read from where it is kept: the destination is a source too. */
        if (ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND_KEPT))
            note_send(lowering, cell, index);
    }
}

static void visit_actor(struct lowering *lowering, uint32_t actor, const uint32_t *mine)
{
    const struct ronde_view view = ronde_model_view(lowering->model, actor);
    struct ronde_program *program =
        &lowering->schedule->programs[view.program - lowering->schedule->programs];
    ronde_accesses_enter(&lowering->accesses, view);
    const size_t cells = lowering->accesses.cells.total;
    memset(lowering->last_access, 0xff, cells * sizeof *lowering->last_access);
    memset(lowering->pending, 0xff, cells * sizeof *lowering->pending);
    lowering->pending_count = 0;
    for (uint32_t i = 0; i < program->step_count; i++)
        visit_step(lowering, program, mine[i]);
    ronde_readers_visit(&lowering->readers, program, mine);
}

/* --- cycles through reuse edges ------------------------------------------------------------ */

/** The lane that has yet to receive what `step` would overwrite, or RONDE_NONE. */
static uint32_t reuse_blocker(const struct ronde_model *model, uint32_t actor, uint32_t step)
{
    const struct lowering *lowering = model->guard_self;
    const struct ronde_program *program = ronde_model_view(model, actor).program;
    const uint32_t index = (uint32_t)(program - lowering->schedule->programs);
    struct ronde_program *mine = &lowering->schedule->programs[index];
    /* the list of senders a step overwrites is short: it is kept in pending, see link_reuse */
    for (uint32_t sender = lowering->pending[model->step_base[actor] + step]; sender != RONDE_NONE;
         sender = lowering->pending_next[model->step_base[actor] + sender]) {
        if (mine->steps[sender].flags & buffered_flag(lowering))
            continue;
        const uint32_t end = model->end_base[actor] + mine->steps[sender].send;
        const uint32_t message = lowering->message_of[index][sender];
        if (ronde_model_passed(model, model->partner[end]) <= message)
            return model->lane_of_end[model->partner[end]];
    }
    return RONDE_NONE;
}

/** Lists, per step of each actor, the sends it must not overtake. */
static void link_reuse(struct lowering *lowering)
{
    const struct ronde_model *model = lowering->model;
    memset(lowering->pending, 0xff, model->step_base[model->actors] * sizeof *lowering->pending);
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_program *program = ronde_model_view(model, actor).program;
        const uint32_t base = model->step_base[actor];
        for (uint32_t step = 0; step < program->step_count; step++) {
            const uint32_t by = program->lowering[step].reuse_step[lowering->accesses.in_place];
            if (by == RONDE_NONE)
                continue;
            lowering->pending_next[base + step] = lowering->pending[base + by];
            lowering->pending[base + by] = step;
        }
    }
}

/** Marks the sends a lane's step waits for because it would overwrite them. */
static void buffer_senders(struct lowering *lowering, uint32_t lane)
{
    const struct ronde_model *model = lowering->model;
    const struct ronde_event event = ronde_model_at(model, lane);
    const struct ronde_program *program = ronde_model_view(model, event.actor).program;
    struct ronde_program *mine =
        &lowering->schedule->programs[program - lowering->schedule->programs];
    const uint32_t base = model->step_base[event.actor];
    for (uint32_t sender = lowering->pending[base + event.step]; sender != RONDE_NONE;
         sender = lowering->pending_next[base + sender])
        mine->steps[sender].flags |= buffered_flag(lowering);
}

/** Walks round a cycle of waiting lanes until the guard is what holds one, and buffers what it guards. */
static void break_cycle(struct lowering *lowering, uint32_t lane)
{
    bool by_guard = false;
    uint32_t next = ronde_model_blocker(lowering->model, lane, &by_guard);
    while (!by_guard) {
        lane = next;
        next = ronde_model_blocker(lowering->model, lane, &by_guard);
    }
    buffer_senders(lowering, lane);
}

/** Every lane waits for at most one other: follow each until it ends, or comes back to itself. */
static void break_cycles(struct lowering *lowering)
{
    struct ronde_model *model = lowering->model;
    const uint32_t lanes = model->lane_base[model->actors];
    uint32_t *visit = lowering->visit;
    memset(visit, 0, lanes * sizeof *visit);
    for (uint32_t start = 0; start < lanes; start++) {
        uint32_t lane = start;
        bool by_guard = false;
        while (lane != RONDE_NONE && visit[lane] == 0) {
            visit[lane] = start + 1;
            lane = ronde_model_blocker(model, lane, &by_guard);
        }
        if (lane != RONDE_NONE && visit[lane] == start + 1)
            break_cycle(lowering, lane);
    }
}

/* --- both placements ----------------------------------------------------------------------- */

static void number_messages(struct ronde_program *program, uint32_t *message_of, uint32_t *sent_on)
{
    memset(sent_on, 0, program->connection_count * sizeof *sent_on);
    for (uint32_t i = 0; i < program->step_count; i++)
        if (ronde_step_sends((enum ronde_step_op)program->steps[i].op))
            message_of[i] = sent_on[program->steps[i].send]++;
}

static bool make_tables(struct lowering *lowering, struct ronde_arena *arena)
{
    struct ronde_schedule *schedule = lowering->schedule;
    lowering->message_of =
        ronde_arena_new(arena, schedule->program_count, sizeof *lowering->message_of);
    bool is_made = lowering->message_of != NULL;
    for (uint32_t i = 0; i < schedule->program_count && is_made; i++) {
        struct ronde_program *program = &schedule->programs[i];
        uint32_t *sent_on = ronde_arena_new(arena, program->connection_count, sizeof *sent_on);
        lowering->message_of[i] = ronde_arena_new(arena, program->step_count, sizeof(uint32_t));
        program->lowering =
            ronde_arena_new(schedule->arena, program->step_count, sizeof *program->lowering);
        program->spread =
            ronde_arena_new(schedule->arena, program->step_count, sizeof *program->spread);
        is_made = sent_on && lowering->message_of[i] && program->lowering && program->spread;
        if (!is_made)
            break;
        for (uint32_t s = 0; s < program->step_count; s++) {
            program->spread[s] = RONDE_NEVER;
            program->lowering[s] = (struct ronde_step_lowering){{RONDE_NONE, RONDE_NONE},
                                                                {RONDE_NONE, RONDE_NONE},
                                                                false};
        }
        number_messages(program, lowering->message_of[i], sent_on);
        ronde_readers_propose(program);
    }
    return is_made;
}

/** Room for the lists: entries per message item of a rank, or per step of all. */
static bool make_lists(struct lowering *lowering, struct ronde_arena *arena)
{
    const struct ronde_model *model = lowering->model;
    size_t cells = model->step_base[model->actors];
    size_t entries = cells;
    for (uint32_t i = 0; i < lowering->schedule->program_count; i++) {
        const struct ronde_program *program = &lowering->schedule->programs[i];
        const size_t total = ronde_cells_of(lowering->schedule, program, 0, 0).total;
        size_t items = 0;
        for (uint32_t s = 0; s < program->step_count; s++)
            items += program->steps[s].chunk_count;
        cells = total > cells ? total : cells;
        entries = items > entries ? items : entries;
    }
    lowering->last_access = ronde_arena_new(arena, cells, sizeof *lowering->last_access);
    lowering->pending = ronde_arena_new(arena, cells, sizeof(uint32_t));
    lowering->pending_next = ronde_arena_new(arena, entries, sizeof(uint32_t));
    lowering->pending_step = ronde_arena_new(arena, entries, sizeof(uint32_t));
    lowering->visit = ronde_arena_new(arena, model->lane_base[model->actors], sizeof(uint32_t));
    lowering->readers.accesses = &lowering->accesses;
    return ronde_accesses_make(&lowering->accesses, lowering->schedule, arena) &&
           ronde_readers_make(&lowering->readers, cells, arena) && lowering->visit &&
           lowering->last_access && lowering->pending && lowering->pending_next &&
           lowering->pending_step;
}

/** `mine` holds each actor's steps in a topological order. */
static void lower_placement(struct lowering *lowering, bool in_place, const uint32_t *mine,
                            uint32_t min_depth)
{
    static const struct ronde_guard guard = {reuse_blocker};
    struct ronde_model *model = lowering->model;
    lowering->accesses.in_place = in_place;
    for (uint32_t actor = 0; actor < model->actors; actor++)
        visit_actor(lowering, actor, mine + model->step_base[actor]);
    link_reuse(lowering);
    model->guard = &guard;
    model->guard_self = lowering;
    bool is_complete = ronde_model_complete(model, min_depth);
    while (!is_complete) {
        break_cycles(lowering);
        is_complete = ronde_model_resume(model);
    }
    model->guard = NULL;
}

enum ronde_status ronde_lower(struct ronde_schedule *schedule, struct ronde_model *model,
                              uint32_t min_depth, struct ronde_error *error)
{
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    struct lowering lowering = {.schedule = schedule, .model = model};
    const uint32_t steps = model->step_base[model->actors];
    uint32_t *mine = NULL, *dealt = NULL;
    if (arena) {
        mine = ronde_arena_new(arena, steps, sizeof *mine);
        dealt = ronde_arena_new(arena, model->actors, sizeof *dealt);
    }
    const bool has_room =
        mine && dealt && make_tables(&lowering, arena) && make_lists(&lowering, arena);
    if (has_room) {
        ronde_model_deal(model, dealt, mine);
        for (int in_place = 0; in_place < 2; in_place++)
            if (ronde_schedule_has_form(schedule, in_place != 0))
                lower_placement(&lowering, in_place != 0, mine, min_depth);
        ronde_spread_find(schedule, model, lowering.message_of);
    }
    ronde_arena_destroy(arena);
    return has_room ? RONDE_OK
                    : ronde_fail(error, RONDE_NO_MEMORY, "no memory to lower %u steps", steps);
}
