/* Which block every chunk holds. See blocks.h. */
#include "blocks.h"

/* Whose input data is, and which block of it; equal for all contributions to a sum but for the origin. */
struct datum {
    uint32_t origin;
    uint32_t block;
};

/* One symbolic run; of values only the block is kept, since the values have been proved already. */
struct trace {
    const struct ronde_schedule *schedule;
    const struct ronde_model *model;
    struct ronde_arena *arena;
    struct datum *cells;   /* output and scratch chunks of all actors */
    uint64_t *cell_base;   /* per actor + 1 */
    struct datum *items;   /* of all messages */
    uint64_t *passed;      /* per end: items */
    uint32_t *source;      /* chunks of the current step, in message order */
    uint32_t *destination; /* the same */
};

/* A step of an actor. */
struct scene {
    struct ronde_view view;
    uint32_t actor;
    const struct ronde_step *step;
    uint32_t chunks[RONDE_BUFFER_COUNT];
};

enum ronde_v_form ronde_v_form_of(enum ronde_collective collective)
{
    switch (collective) {
    case RONDE_ALL_GATHER:
    case RONDE_REDUCE_SCATTER:
        return RONDE_V_KNOWN_TO_ALL;
    case RONDE_SCATTER:
    case RONDE_GATHER:
    case RONDE_ALL_TO_ALL:
    case RONDE_SEND_RECV:
        return RONDE_V_DIRECT;
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
    case RONDE_ALL_REDUCE:
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
    return RONDE_V_NONE;
}

static struct datum *cell_of(const struct trace *trace, const struct scene *scene, uint32_t buffer,
                             uint32_t chunk)
{
    const uint32_t skipped = buffer == RONDE_SCRATCH ? scene->chunks[RONDE_OUT] : 0;
    return &trace->cells[trace->cell_base[scene->actor] + skipped + chunk];
}

/* Inputs hold what they held before: no schedule that was proved writes them. */
static struct datum read_chunk(const struct trace *trace, const struct scene *scene,
                               uint32_t buffer, uint32_t chunk)
{
    if (buffer == RONDE_IN)
        return (struct datum){scene->view.rank, chunk / trace->schedule->chunks_per_block};
    return *cell_of(trace, scene, buffer, chunk);
}

/* Whether an output chunk is where a datum ends. */
static bool belongs(const struct trace *trace, const struct scene *scene, uint32_t chunk,
                    struct datum datum)
{
    const struct ronde_schedule *schedule = trace->schedule;
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    if (schedule->collective == RONDE_SEND_RECV)
        return datum.origin == ronde_schedule_source(schedule, scene->view.rank);
    if (traits->in_per_rank && datum.block != scene->view.rank)
        return false;
    return !traits->out_per_rank || datum.origin == chunk / schedule->chunks_per_block;
}

/* The next item of a connection. In the quotient it was sent by position 0 and is shifted like its sender. */
static struct datum take_item(const struct trace *trace, const struct scene *scene)
{
    const struct ronde_model *model = trace->model;
    const struct ronde_schedule *schedule = trace->schedule;
    const uint32_t end = model->end_base[scene->actor] + scene->step->receive;
    struct datum datum = trace->items[model->item_base[model->partner[end]] + trace->passed[end]++];
    if (!model->is_quotient)
        return datum;
    const uint32_t offset = scene->view.program->connections[scene->step->receive].peer;
    datum.origin = ronde_group_add(schedule, datum.origin, offset);
    if (schedule->rotates[RONDE_IN] && scene->chunks[RONDE_IN] > schedule->chunks_per_block)
        datum.block = ronde_group_add(schedule, datum.block, offset);
    return datum;
}

static void put_item(const struct trace *trace, const struct scene *scene, struct datum datum)
{
    const uint32_t end = trace->model->end_base[scene->actor] + scene->step->send;
    trace->items[ronde_model_item(trace->model, end, trace->passed[end]++)] = datum;
}

/* Moves one item; false if it lands where another block belongs. */
static bool move_item(const struct trace *trace, const struct scene *scene, uint32_t item)
{
    const struct ronde_step *step = scene->step;
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    struct datum datum = {RONDE_NONE, RONDE_NONE};
    if (ronde_step_reads_source(op))
        datum = read_chunk(trace, scene, step->source, trace->source[item]);
    if (ronde_step_receives(op))
        datum = take_item(trace, scene);
    if (ronde_step_sends(op))
        put_item(trace, scene, datum);
    if (!ronde_step_writes(op))
        return true;
    const uint32_t chunk = trace->destination[item];
    if (step->destination == RONDE_OUT && !belongs(trace, scene, chunk, datum))
        return false;
    if (step->destination != RONDE_IN)
        *cell_of(trace, scene, step->destination, chunk) = datum;
    return true;
}

/* Whether a step has operands, all of them in scratch. */
static bool is_scratch_only(const struct ronde_step *step)
{
    const bool reads = ronde_step_reads_source((enum ronde_step_op)step->op);
    const bool writes = ronde_step_writes((enum ronde_step_op)step->op);
    return step->chunk_count > 0 && (reads || writes) && (!reads || step->source == RONDE_SCRATCH) &&
           (!writes || step->destination == RONDE_SCRATCH);
}

static bool run_step(const struct trace *trace, struct ronde_event event)
{
    struct scene scene = {.view = ronde_model_view(trace->model, event.actor), .actor = event.actor};
    scene.step = &scene.view.program->steps[event.step];
    if (is_scratch_only(scene.step))
        return false;
    for (uint32_t buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        scene.chunks[buffer] =
            ronde_schedule_chunks(trace->schedule, scene.view.program, (enum ronde_buffer)buffer);
    const enum ronde_step_op op = (enum ronde_step_op)scene.step->op;
    if (ronde_step_reads_source(op))
        ronde_view_chunks(&scene.view, scene.step, true, scene.chunks[scene.step->source],
                          trace->source);
    if (ronde_step_writes(op))
        ronde_view_chunks(&scene.view, scene.step, false, scene.chunks[scene.step->destination],
                          trace->destination);
    bool is_right = true;
    for (uint32_t item = 0; item < scene.step->chunk_count && is_right; item++)
        is_right = move_item(trace, &scene, item);
    return is_right;
}

static bool make_room(struct trace *trace)
{
    const struct ronde_model *model = trace->model;
    struct ronde_arena *arena = trace->arena;
    trace->cell_base = ronde_arena_new(arena, (size_t)model->actors + 1, sizeof *trace->cell_base);
    if (!trace->cell_base)
        return false;
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_program *program = ronde_model_view(model, actor).program;
        trace->cell_base[actor + 1] = trace->cell_base[actor] + program->scratch_chunks +
                                      ronde_schedule_chunks(trace->schedule, program, RONDE_OUT);
    }
    const uint32_t most = trace->schedule->max_chunk_count;
    trace->cells = ronde_arena_new(arena, trace->cell_base[model->actors], sizeof *trace->cells);
    trace->items = ronde_arena_new(arena, model->item_count, sizeof *trace->items);
    trace->passed = ronde_arena_new(arena, model->end_base[model->actors], sizeof *trace->passed);
    trace->source = ronde_arena_new(arena, most, sizeof *trace->source);
    trace->destination = ronde_arena_new(arena, most, sizeof *trace->destination);
    return trace->cells && trace->items && trace->passed && trace->source && trace->destination;
}

enum ronde_status ronde_prove_blocks(struct ronde_schedule *schedule,
                                     const struct ronde_model *model, struct ronde_error *error)
{
    if (schedule->v_form == RONDE_V_NONE)
        return RONDE_OK;
    struct trace trace = {.schedule = schedule,
                          .model = model,
                          .arena = ronde_arena_create(ronde_arena_mem(schedule->arena))};
    enum ronde_status status = RONDE_OK;
    if (!trace.arena || !make_room(&trace)) {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to follow the blocks of %u ranks",
                            schedule->ranks);
    } else {
        const uint32_t steps = model->step_base[model->actors];
        bool is_right = true;
        for (uint32_t i = 0; i < steps && is_right; i++)
            is_right = run_step(&trace, model->order[i]);
        if (!is_right)
            schedule->v_form = RONDE_V_NONE;
    }
    ronde_arena_destroy(trace.arena);
    return status;
}
