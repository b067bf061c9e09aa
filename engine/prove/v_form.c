/*
 * Which block every chunk holds. See proofs.h.
 *
 * Blocks of different lengths can be moved where the length of every item follows from where it ends. So the schedule
 * is run once more, of values only the block being kept: an item may be stored in outputs only where its own block
 * belongs, and a step whose operands are all in scratch has no output to tell its lengths by. Whatever breaks either
 * rule has no v-form; that is no error. What a collective may have at best is ronde_v_form_of.
 */
#include "proofs.h"

#include "engine/prove/accesses.h"

/*
 * Rank whose input data is, and block of it; equal for all contributions to a sum but for the
 * origin.
 */
struct datum {
    uint32_t origin;
    uint32_t block;
};

/* One symbolic run; of values only the block is kept, since the values have been proved already. */
struct trace {
    const struct ronde_schedule *schedule;
    const struct ronde_model *model;
    struct ronde_arena *arena;
    struct ronde_accesses accesses;
    uint32_t actor;      /* of the current step */
    struct datum *cells; /* output and scratch chunks of all actors */
    uint64_t *cell_base; /* per actor + 1 */
    struct datum *items; /* of all messages */
    uint64_t *passed;    /* per end: items */
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

static struct datum *cell_of(const struct trace *trace, uint32_t cell)
{
    return &trace->cells[trace->cell_base[trace->actor] + cell];
}

/* Inputs hold what they held before: no schedule that was proved writes them. */
static struct datum read_source(const struct trace *trace, struct ronde_access access)
{
    if (trace->accesses.step->source == RONDE_IN)
        return (struct datum){trace->accesses.view.rank,
                              access.source_chunk / trace->schedule->chunks_per_block};
    return *cell_of(trace, access.source);
}

/* Whether an output chunk is where a datum ends. */
static bool belongs(const struct trace *trace, uint32_t chunk, struct datum datum)
{
    const struct ronde_schedule *schedule = trace->schedule;
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const uint32_t rank = trace->accesses.view.rank;
    if (schedule->collective == RONDE_SEND_RECV)
        return datum.origin == ronde_schedule_source(schedule, rank);
    if (traits->in_per_rank && datum.block != rank)
        return false;
    return !traits->out_per_rank || datum.origin == chunk / schedule->chunks_per_block;
}

/* The next item of a connection. In the quotient it was sent by position 0 and is shifted like its sender. */
static struct datum take_item(const struct trace *trace)
{
    const struct ronde_model *model = trace->model;
    const struct ronde_schedule *schedule = trace->schedule;
    const struct ronde_accesses *accesses = &trace->accesses;
    const uint32_t end = model->end_base[trace->actor] + accesses->step->receive;
    struct datum datum = trace->items[model->item_base[model->partner[end]] + trace->passed[end]++];
    if (!model->is_quotient)
        return datum;
    const uint32_t offset = accesses->view.program->connections[accesses->step->receive].peer;
    datum.origin = ronde_group_add(schedule, datum.origin, offset);
    if (schedule->rotates[RONDE_IN] && accesses->cells.chunks[RONDE_IN] > schedule->chunks_per_block)
        datum.block = ronde_group_add(schedule, datum.block, offset);
    return datum;
}

static void put_item(const struct trace *trace, struct datum datum)
{
    const uint32_t end = trace->model->end_base[trace->actor] + trace->accesses.step->send;
    trace->items[ronde_model_item(trace->model, end, trace->passed[end]++)] = datum;
}

/* Moves one item; false if it lands where another block belongs. */
static bool move_item(const struct trace *trace, uint32_t item)
{
    const struct ronde_access access = ronde_accesses_item(&trace->accesses, item);
    const struct ronde_operation does = trace->accesses.does;
    const uint8_t destination = trace->accesses.step->destination;
    struct datum datum = {RONDE_NONE, RONDE_NONE};
    if (does.reads)
        datum = read_source(trace, access);
    if (does.receives)
        datum = take_item(trace);
    if (does.sends)
        put_item(trace, datum);
    if (!does.writes)
        return true;
    if (destination == RONDE_OUT && !belongs(trace, access.destination_chunk, datum))
        return false;
    if (destination != RONDE_IN)
        *cell_of(trace, access.destination) = datum;
    return true;
}

/* Whether a step has operands, all of them in scratch. */
static bool is_scratch_only(const struct ronde_step *step, struct ronde_operation does)
{
    return step->chunk_count > 0 && (does.reads || does.writes) &&
           (!does.reads || step->source == RONDE_SCRATCH) &&
           (!does.writes || step->destination == RONDE_SCRATCH);
}

static bool run_step(struct trace *trace, struct ronde_event event)
{
    struct ronde_accesses *accesses = &trace->accesses;
    trace->actor = event.actor;
    ronde_accesses_enter(accesses, ronde_model_view(trace->model, event.actor));
    ronde_accesses_resolve(accesses, event.step);
    if (is_scratch_only(accesses->step, accesses->does))
        return false;
    bool is_right = true;
    for (uint32_t item = 0; item < accesses->step->chunk_count && is_right; item++)
        is_right = move_item(trace, item);
    return is_right;
}

static bool make_room(struct trace *trace)
{
    const struct ronde_model *model = trace->model;
    struct ronde_arena *arena = trace->arena;
    trace->cell_base = ronde_accesses_bases(model, model->actors, false, arena);
    if (!trace->cell_base)
        return false;
    trace->cells = ronde_arena_new(arena, trace->cell_base[model->actors], sizeof *trace->cells);
    trace->items = ronde_arena_new(arena, model->item_count, sizeof *trace->items);
    trace->passed = ronde_arena_new(arena, model->end_base[model->actors], sizeof *trace->passed);
    return ronde_accesses_make(&trace->accesses, trace->schedule, arena) && trace->cells &&
           trace->items && trace->passed;
}

enum ronde_status ronde_prove_v_form(struct ronde_schedule *schedule,
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
