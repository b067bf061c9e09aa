/**
 * Happens-before by vector clocks (Mattern 1989; FastTrack's last-write idea, Flanagan and Freund, PLDI 2009).
 *
 * Only the clocks of one rank's lanes are kept at a time. Each step counts twice: 2i+1 once its source has been read,
 * 2i+2 once it is over. A message carries the first of its sender (it cannot arrive before the source was read, but the
 * sender may still be storing its own copy); lane order and dependencies carry the second.
 */
#include "proofs.h"

#include "engine/prove/accesses.h"

#include <string.h>

/** A recorded access. */
struct access {
    uint32_t lane;
    uint32_t clock; /**< of the lane when the access is over; 0 = none */
    uint32_t step;
    uint32_t next; /**< reads: index of the next in the cell's list */
};

/** Accesses since the last write, per cell of one rank. */
struct history {
    struct access *write; /**< per cell */
    uint32_t *reads;      /**< per cell: head of a list in pool */
    struct access *pool;
    size_t pool_capacity;
    uint32_t pool_count;
};

/** The search through one rank under one placement. */
struct search {
    const struct ronde_schedule *schedule;
    const struct ronde_model *model;
    const struct ronde_mem *mem;
    struct ronde_accesses accesses; /**< of the rank */
    uint32_t lanes;                 /**< of the rank */
    struct history history;
    struct ronde_step_location race; /**< where the later access is */
    uint32_t race_with;              /**< step of the earlier */
    bool has_race;
    bool has_memory;
};

static bool is_ordered(const struct access *access, const uint32_t *clock)
{
    return access->clock == 0 || clock[access->lane] >= access->clock;
}

static void report(struct search *search, uint32_t step, uint32_t chunk, uint32_t with)
{
    if (search->has_race)
        return;
    search->has_race = true;
    search->race = (struct ronde_step_location){search->accesses.view.program,
                                                search->accesses.view.position, step, chunk};
    search->race_with = with;
}

static void add_read(struct search *search, uint32_t cell, struct access access)
{
    struct history *history = &search->history;
    if (!ronde_mem_grow(search->mem, &history->pool, &history->pool_capacity,
                        (size_t)history->pool_count + 1, sizeof *history->pool)) {
        search->has_memory = false;
        return;
    }
    access.next = history->reads[cell];
    history->pool[history->pool_count] = access;
    history->reads[cell] = history->pool_count++;
}

static void note_read(struct search *search, uint32_t cell, struct access access, uint32_t chunk,
                      const uint32_t *clock)
{
    const struct access *write = &search->history.write[cell];
    if (!is_ordered(write, clock))
        report(search, access.step, chunk, write->step);
    add_read(search, cell, access);
}

static void note_write(struct search *search, uint32_t cell, struct access access, uint32_t chunk,
                       const uint32_t *clock)
{
    struct history *history = &search->history;
    if (!is_ordered(&history->write[cell], clock))
        report(search, access.step, chunk, history->write[cell].step);
    for (uint32_t read = history->reads[cell]; read != RONDE_NONE; read = history->pool[read].next)
        if (!is_ordered(&history->pool[read], clock) && history->pool[read].step != access.step)
            report(search, access.step, chunk, history->pool[read].step);
    history->reads[cell] = RONDE_NONE;
    history->write[cell] = access;
}

/** Records what a step of the rank accesses; `clock` is its start. */
static void note_step(struct search *search, uint32_t index, uint32_t lane, const uint32_t *clock)
{
    struct ronde_accesses *accesses = &search->accesses;
    const uint32_t local = index - accesses->view.program->lane_first[lane];
    const struct access read = {lane, 2 * local + 1, index, RONDE_NONE};
    const struct access write = {lane, 2 * local + 2, index, RONDE_NONE};
    ronde_accesses_resolve(accesses, index);
    for (uint32_t item = 0; item < accesses->step->chunk_count; item++) {
        const struct ronde_access access = ronde_accesses_item(accesses, item);
        if (ronde_accesses_nothing(accesses, access))
            continue;
        if (accesses->does.reads)
            note_read(search, access.source, read, access.source_chunk, clock);
        if (accesses->does.writes)
            note_write(search, access.destination, write, access.destination_chunk, clock);
    }
}

static void join(uint32_t *clock, const uint32_t *other, uint32_t lanes)
{
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (clock[lane] < other[lane])
            clock[lane] = other[lane];
}

static bool open_search(struct search *search, struct ronde_view view, struct ronde_arena *arena)
{
    struct history *history = &search->history;
    if (!ronde_accesses_make(&search->accesses, search->schedule, arena))
        return false;
    ronde_accesses_enter(&search->accesses, view);
    search->lanes = view.program->lane_count;
    const size_t cells = search->accesses.cells.total;
    history->write = ronde_arena_new(arena, cells, sizeof *history->write);
    history->reads = ronde_arena_new(arena, cells, sizeof *history->reads);
    if (!history->write || !history->reads)
        return false;
    memset(history->reads, 0xff, cells * sizeof *history->reads);
    search->has_memory = true;
    return true;
}

static void close_search(struct search *search)
{
    ronde_mem_free(search->mem, search->history.pool, search->history.pool_capacity,
                   sizeof *search->history.pool);
}

/* --- local: lanes and dependencies of the rank --------------------------------------------- */

/** Start clock of a step, in `lanes` lanes, from the ends of its lane predecessor and dependencies. */
static void start_clock(const struct ronde_program *program, uint32_t lanes, const uint32_t *ends,
                        uint32_t index, uint32_t lane, uint32_t *clock)
{
    const struct ronde_step *step = &program->steps[index];
    memset(clock, 0, lanes * sizeof *clock);
    if (index > program->lane_first[lane])
        join(clock, ends + (size_t)(index - 1) * lanes, lanes);
    for (uint32_t i = 0; i < step->dependency_count; i++)
        join(clock, ends + (size_t)program->dependencies[step->first_dependency + i] * lanes, lanes);
}

/** `mine` are the rank's steps in a topological order. */
static void search_local(struct search *search, const uint32_t *mine, uint32_t *ends)
{
    const struct ronde_program *program = search->accesses.view.program;
    for (uint32_t i = 0; i < program->step_count && search->has_memory; i++) {
        const uint32_t index = mine[i];
        const uint32_t lane = ronde_program_lane(program, index);
        uint32_t *clock = ends + (size_t)index * search->lanes;
        start_clock(program, search->lanes, ends, index, lane, clock);
        note_step(search, index, lane, clock);
        clock[lane] = 2 * (index - program->lane_first[lane]) + 2;
    }
}

/* --- global: messages too ------------------------------------------------------------------ */

/** Clocks of the whole graph, in lanes of the searched rank. */
struct global {
    uint32_t *ends;     /**< per step of all actors */
    uint32_t *messages; /**< per message: what it carries */
    uint32_t *passed;   /**< per end */
};

static void carry_message(const struct search *search, struct global *global,
                          struct ronde_event event, uint32_t *clock)
{
    const struct ronde_model *model = search->model;
    const struct ronde_view view = ronde_model_view(model, event.actor);
    const struct ronde_step *step = &view.program->steps[event.step];
    if (!ronde_step_receives((enum ronde_step_op)step->op))
        return;
    const uint32_t end = model->end_base[event.actor] + step->receive;
    const uint32_t message = model->message_base[model->partner[end]] + global->passed[end]++;
    join(clock, global->messages + (size_t)message * search->lanes, search->lanes);
}

static void post_message(const struct search *search, struct global *global,
                         struct ronde_event event, const uint32_t *clock)
{
    const struct ronde_model *model = search->model;
    const struct ronde_view view = ronde_model_view(model, event.actor);
    const struct ronde_step *step = &view.program->steps[event.step];
    if (!ronde_step_sends((enum ronde_step_op)step->op))
        return;
    const uint32_t end = model->end_base[event.actor] + step->send;
    const uint32_t message = model->message_base[end] + global->passed[end]++;
    memcpy(global->messages + (size_t)message * search->lanes, clock, search->lanes * sizeof *clock);
}

static void run_global(struct search *search, struct global *global, uint32_t actor,
                       struct ronde_event event)
{
    const struct ronde_model *model = search->model;
    const struct ronde_view view = ronde_model_view(model, event.actor);
    const uint32_t lane = ronde_program_lane(view.program, event.step);
    uint32_t *ends = global->ends + (size_t)model->step_base[event.actor] * search->lanes;
    uint32_t *clock = ends + (size_t)event.step * search->lanes;
    start_clock(view.program, search->lanes, ends, event.step, lane, clock);
    carry_message(search, global, event, clock);
    const bool is_mine = event.actor == actor;
    if (is_mine) {
        note_step(search, event.step, lane, clock);
        clock[lane] = 2 * (event.step - view.program->lane_first[lane]) + 1;
    }
    post_message(search, global, event, clock);
    if (is_mine)
        clock[lane]++;
}

static bool search_global(struct search *search, uint32_t actor, struct ronde_arena *arena)
{
    const struct ronde_model *model = search->model;
    const size_t steps = model->step_base[model->actors];
    struct global global = {.ends = ronde_arena_new(arena, steps * search->lanes, sizeof(uint32_t)),
                            .messages =
                                ronde_arena_new(arena, (size_t)model->message_count * search->lanes,
                                                sizeof(uint32_t)),
                            .passed = ronde_arena_new(arena, model->end_base[model->actors],
                                                      sizeof(uint32_t))};
    if (!global.ends || !global.messages || !global.passed)
        return false;
    for (size_t i = 0; i < steps && search->has_memory; i++)
        run_global(search, &global, actor, model->order[i]);
    return search->has_memory;
}

/* --- the verdict --------------------------------------------------------------------------- */

/** Most clock entries a global search may take: 1 GiB. */
#define MAX_GLOBAL_CLOCKS (1u << 28)

/** State of the search over all ranks and placements. */
struct court {
    const struct ronde_schedule *schedule;
    const struct ronde_model *model;
    const struct ronde_mem *mem;
    struct ronde_proof *proof;
    uint32_t *mine;      /**< steps of each actor in topological order, from step_base[actor] */
    uint8_t *of_program; /**< 0 unknown, 1 ordered locally, 2 needs messages */
    enum ronde_race_verdict verdict;
};

/** One rank, one placement. Returns false when there is no memory. */
static bool search_actor(const struct court *court, uint32_t actor, bool is_global,
                         struct search *search)
{
    const struct ronde_model *model = court->model;
    struct ronde_arena *arena = ronde_arena_create(court->mem);
    search->schedule = court->schedule;
    search->model = model;
    search->mem = court->mem;
    bool has_room = arena && open_search(search, ronde_model_view(model, actor), arena);
    if (has_room && is_global) {
        has_room = search_global(search, actor, arena);
    } else if (has_room) {
        uint32_t *ends =
            ronde_arena_new(arena, (size_t)search->accesses.view.program->step_count * search->lanes,
                            sizeof *ends);
        if (ends)
            search_local(search, court->mine + model->step_base[actor], ends);
        has_room = ends != NULL && search->has_memory;
    }
    close_search(search);
    ronde_arena_destroy(arena);
    return has_room;
}

/** Whether what lanes and dependencies order is known from another position of the same program. */
static bool is_known(const struct court *court, uint8_t known, bool in_place)
{
    const struct ronde_collective_traits *traits =
        ronde_collective_traits(court->schedule->collective);
    const bool is_shifting = in_place && traits->in_per_rank != traits->out_per_rank &&
                             court->schedule->symmetry == RONDE_SYMMETRY_NONE;
    return known == 2 || (known == 1 && !is_shifting);
}

static void convict(struct court *court, const struct search *search)
{
    const struct ronde_program *program = search->accesses.view.program;
    const uint32_t lane = ronde_program_lane(program, search->race_with);
    court->verdict = RONDE_RACE_FOUND;
    ronde_find(court->proof, RONDE_FINDING_RACE, search->race, "races with lane %u step %u%s", lane,
               search->race_with - program->lane_first[lane],
               search->accesses.in_place ? " (in place)" : "");
}

/** Looks at the whole graph. Returns false when there is no memory. */
static bool appeal(struct court *court, uint32_t actor, bool in_place)
{
    const struct ronde_model *model = court->model;
    const uint64_t steps = model->step_base[model->actors] + (uint64_t)model->message_count;
    if (model->is_quotient) {
        court->verdict = RONDE_RACE_UNDECIDED;
        return true;
    }
    struct search search = {.accesses.in_place = in_place};
    if (steps * ronde_model_view(model, actor).program->lane_count > MAX_GLOBAL_CLOCKS) {
        court->verdict = RONDE_RACE_FOUND;
        ronde_find(court->proof, RONDE_FINDING_NOT_PROVED,
                   ronde_model_place(model, actor, RONDE_NONE, RONDE_NONE),
                   "too large to prove that messages order its lanes; add dependencies");
        return true;
    }
    if (!search_actor(court, actor, true, &search))
        return false;
    if (search.has_race)
        convict(court, &search);
    return true;
}

/** Searches an actor, locally once per program, globally where that did not do. */
static bool judge(struct court *court, uint32_t actor)
{
    const struct ronde_program *program = ronde_model_view(court->model, actor).program;
    uint8_t *known = &court->of_program[program - court->schedule->programs];
    if (program->lane_count < 2)
        return true;
    for (unsigned in_place = 0; in_place < 2 && court->verdict == RONDE_RACE_FREE; in_place++) {
        if (!ronde_schedule_has_form(court->schedule, in_place == 1))
            continue;
        if (!is_known(court, *known, in_place == 1)) {
            struct search search = {.accesses.in_place = in_place == 1};
            if (!search_actor(court, actor, false, &search))
                return false;
            if (search.has_race)
                *known = 2;
        }
        if (*known == 2 && !appeal(court, actor, in_place == 1))
            return false;
    }
    if (*known == 0)
        *known = 1;
    return true;
}

enum ronde_status ronde_prove_races(const struct ronde_schedule *schedule,
                                    const struct ronde_model *model, struct ronde_proof *proof,
                                    enum ronde_race_verdict *out_verdict, struct ronde_error *error)
{
    *out_verdict = RONDE_RACE_FREE;
    if (schedule->max_lane_count < 2)
        return RONDE_OK;
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    struct court court = {.schedule = schedule,
                          .model = model,
                          .mem = ronde_arena_mem(schedule->arena),
                          .proof = proof,
                          .verdict = RONDE_RACE_FREE};
    uint32_t *dealt = NULL;
    if (arena) {
        court.of_program = ronde_arena_new(arena, schedule->program_count, 1);
        court.mine = ronde_arena_new(arena, model->step_base[model->actors], sizeof *court.mine);
        dealt = ronde_arena_new(arena, model->actors, sizeof *dealt);
    }
    bool has_room = court.of_program && court.mine && dealt;
    if (has_room)
        ronde_model_deal(model, dealt, court.mine);
    for (uint32_t actor = 0; actor < model->actors && has_room && court.verdict == RONDE_RACE_FREE;
         actor++)
        has_room = judge(&court, actor);
    ronde_arena_destroy(arena);
    *out_verdict = court.verdict;
    return has_room ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory to search races");
}
