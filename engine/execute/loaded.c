/* Loading: turns a schedule into the structs the step interpreter runs on. See loaded.h. */
#include "engine/execute/loaded.h"

#include "engine/execute/connect.h"

#include <string.h>

/* Structs that other threads write are laid out in multiples of this, against false sharing. */
#define LINE_BYTES 128u

/* The interpreter's padding is counted by hand; a struct that outgrew it would silently share lines. */
_Static_assert(sizeof(struct ronde_counter) == LINE_BYTES, "a counter fills a pair of cache lines");
_Static_assert(sizeof(struct ronde_lane) == LINE_BYTES, "a lane fills a pair of cache lines");
_Static_assert(sizeof(struct ronde_end) == LINE_BYTES / 2, "two ends fill a pair of cache lines");

/* The first place from here that starts a pair of cache lines. */
static unsigned char *align(unsigned char *pointer)
{
    const uintptr_t rest = (uintptr_t)pointer % LINE_BYTES;
    return rest == 0 ? pointer : pointer + (LINE_BYTES - rest);
}

/* An array that starts on a pair of cache lines; lives as long as the arena. */
static void *new_aligned(struct ronde_arena *arena, uint64_t count, size_t element_bytes)
{
    if (count > SIZE_MAX / element_bytes - LINE_BYTES)
        return NULL;
    unsigned char *block = ronde_arena_new(arena, (size_t)count * element_bytes + LINE_BYTES, 1);
    return block ? align(block) : NULL;
}

bool ronde_region_reserve(const struct ronde_mem *mem, struct ronde_region *region, uint64_t bytes)
{
    if (bytes > SIZE_MAX - LINE_BYTES)
        return false;
    if (region->block && bytes + LINE_BYTES <= region->bytes)
        return true;
    ronde_mem_free(mem, region->block, region->bytes, 1);
    region->bytes = (size_t)bytes + LINE_BYTES;
    region->block = ronde_mem_resize(mem, NULL, 0, region->bytes);
    if (!region->block) {
        region->bytes = 0;
        return false;
    }
    region->start = align(region->block);
    return true;
}

/* Whether a step has operands, but none from which the part of the block it moves follows. */
static bool is_scratch_only(const struct ronde_step *step)
{
    const uint32_t source = ronde_act_buffer(step, true);
    const uint32_t destination = ronde_act_buffer(step, false);
    const bool has_operand = source != RONDE_BUFFER_COUNT || destination != RONDE_BUFFER_COUNT;
    return step->chunk_count > 0 && has_operand && !ronde_buffer_has_parts(source) &&
           !ronde_buffer_has_parts(destination);
}

/*
 * Whether a proof has found which parts such a step moves; without one (mutants) it has no length.
 */
static bool has_parts(const struct ronde_schedule *schedule, const struct ronde_program *program,
                      uint32_t step)
{
    if (!program->scratch_part || program->scratch_part[step] == RONDE_NONE)
        return false;
    const uint32_t *parts = &program->scratch_parts[program->scratch_part[step]];
    for (uint32_t item = 0; item < program->steps[step].chunk_count; item++)
        if (parts[item] >= schedule->chunks_per_block)
            return false;
    return true;
}

static enum ronde_status check_scratch(const struct ronde_schedule *schedule,
                                       struct ronde_error *error)
{
    for (uint32_t p = 0; p < schedule->program_count; p++) {
        const struct ronde_program *program = &schedule->programs[p];
        for (uint32_t s = 0; s < program->step_count; s++)
            if (is_scratch_only(&program->steps[s]) && !has_parts(schedule, program, s))
                return ronde_fail(error, RONDE_UNSUPPORTED,
                                  "program %u step %u works in scratch only, and no proof says "
                                  "which part of the block it moves",
                                  p, s);
    }
    return RONDE_OK;
}

/* Counts lanes and ends, rounding each task's ends up to whole pairs of cache lines. */
static void count_parts(struct ronde_loaded *loaded, bool has_fifos)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    loaded->task_count = loaded->rank_count * schedule->channel_count;
    for (uint32_t rank = loaded->first_rank; rank < loaded->first_rank + loaded->rank_count; rank++) {
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            const struct ronde_view view = ronde_view_open(schedule, channel, rank);
            loaded->lane_count += view.program->lane_count;
            loaded->end_count += ronde_round_up(view.program->connection_count, 2);
        }
    }
    /*
     * A connection that has lost its other end, in a mutant, still needs counters: at most one per end. Those of a single
     * part lie where the other ranks reach them.
     */
    loaded->fifo_count = has_fifos ? loaded->end_count : 0;
    loaded->counter_count = loaded->lane_count;
}

/* Everything whose size depends on the schedule only. */
static bool allocate(struct ronde_loaded *loaded)
{
    struct ronde_arena *arena = loaded->arena;
    const struct ronde_schedule *schedule = loaded->schedule;
    loaded->tasks = ronde_arena_new(arena, loaded->task_count, sizeof *loaded->tasks);
    loaded->lanes = new_aligned(arena, loaded->lane_count, sizeof *loaded->lanes);
    loaded->ends = new_aligned(arena, loaded->end_count, sizeof *loaded->ends);
    loaded->fifos = new_aligned(arena, loaded->fifo_count, sizeof *loaded->fifos);
    /* A single rank has no access to the memory of the others. */
    const bool reaches_all = loaded->rank_count == schedule->ranks;
    if (reaches_all)
        loaded->remote_ends = ronde_arena_new(arena, loaded->end_count, sizeof *loaded->remote_ends);
    loaded->progress = new_aligned(arena, loaded->counter_count, sizeof *loaded->progress);
    loaded->parts =
        ronde_arena_new(arena, (size_t)schedule->channel_count * schedule->chunks_per_block,
                        sizeof *loaded->parts);
    return loaded->tasks && loaded->lanes && loaded->ends && loaded->fifos && loaded->progress &&
           loaded->parts && (loaded->remote_ends || !reaches_all);
}

/* Until when a step of a program is not over, in the form that is polled. */
static struct ronde_wait wait_for(const struct ronde_program *program, uint32_t step)
{
    const uint32_t lane = ronde_program_lane(program, step);
    return (struct ronde_wait){lane, step - program->lane_first[lane] + 1,
                               program->lane_first[lane + 1] - program->lane_first[lane]};
}

/* Dependencies of a program in the form that is polled. */
static struct ronde_wait *make_waits(struct ronde_arena *arena, const struct ronde_program *program)
{
    struct ronde_wait *waits = ronde_arena_new(arena, program->dependency_count, sizeof *waits);
    if (!waits)
        return NULL;
    for (uint32_t d = 0; d < program->dependency_count; d++)
        waits[d] = wait_for(program, program->dependencies[d]);
    return waits;
}

/* Messages a program sends on each of its connections in a piece. */
static void count_messages(const struct ronde_program *program, uint32_t *messages)
{
    memset(messages, 0, program->connection_count * sizeof *messages);
    for (uint32_t s = 0; s < program->step_count; s++) {
        const uint32_t send = ronde_act_send(&program->steps[s]);
        if (send != RONDE_NONE)
            messages[send]++;
    }
}

/* The step that overwrites what a step sends, if it must wait for the message to be read. */
static uint32_t overwriter_of(const struct ronde_program *program, uint32_t step, bool in_place,
                              uint8_t buffered)
{
    if (!program->lowering || ronde_act_send(&program->steps[step]) == RONDE_NONE ||
        (program->steps[step].flags & buffered) != 0)
        return RONDE_NONE;
    return program->lowering[step].reuse_step[in_place];
}

/* Room for making the holds of a program. */
struct holding {
    uint32_t *first;            /* counts, then ends, then beginnings of each step's holds */
    struct ronde_hold *entries; /* at most one per step */
    uint32_t *messages;         /* per connection, in a piece */
    uint32_t *sent;             /* per connection, so far */
    uint8_t buffered;           /* flags of sends that nothing need wait for */
};

/* Sorts the program's sends by the step that overwrites them: count, add up, fill from behind. */
static void sort_holds(const struct ronde_program *program, bool in_place, struct holding *to)
{
    const uint32_t steps = program->step_count;
    memset(to->first, 0, ((size_t)steps + 1) * sizeof *to->first);
    for (uint32_t s = 0; s < steps; s++) {
        const uint32_t by = overwriter_of(program, s, in_place, to->buffered);
        if (by != RONDE_NONE)
            to->first[by]++;
    }
    for (uint32_t s = 0; s < steps; s++)
        to->first[s + 1] += to->first[s];
    memset(to->sent, 0, program->connection_count * sizeof *to->sent);
    for (uint32_t s = 0; s < steps; s++) {
        const uint32_t send = ronde_act_send(&program->steps[s]);
        const uint32_t by = overwriter_of(program, s, in_place, to->buffered);
        if (send != RONDE_NONE)
            to->sent[send]++;
        if (by != RONDE_NONE)
            to->entries[--to->first[by]] =
                (struct ronde_hold){send, to->sent[send], to->messages[send]};
    }
}

/* The holds of a program, out of place and in place. */
static struct ronde_holds *make_holds(const struct ronde_loaded *loaded,
                                      const struct ronde_program *program)
{
    struct ronde_arena *arena = loaded->arena;
    struct ronde_holds *holds = ronde_arena_new(arena, 2, sizeof *holds);
    struct holding to = {0};
    to.messages = ronde_arena_new(arena, program->connection_count, sizeof *to.messages);
    to.sent = ronde_arena_new(arena, program->connection_count, sizeof *to.sent);
    if (!holds || !to.messages || !to.sent)
        return NULL;
    count_messages(program, to.messages);
    for (int in_place = 0; in_place < 2; in_place++) {
        to.first = ronde_arena_new(arena, (size_t)program->step_count + 1, sizeof *to.first);
        to.entries = ronde_arena_new(arena, program->step_count, sizeof *to.entries);
        if (!to.first || !to.entries)
            return NULL;
        to.buffered = ronde_loaded_buffered(loaded, in_place != 0);
        sort_holds(program, in_place != 0, &to);
        holds[in_place] = (struct ronde_holds){to.first, to.entries};
    }
    return holds;
}

/* What a sender needs of a receiving step that it may write for (direct write). */
static struct ronde_landing landing_of(const struct ronde_program *program, uint32_t step)
{
    struct ronde_landing landing = {RONDE_NONE, true, {{RONDE_NONE, 0, 0}, {RONDE_NONE, 0, 0}}};
    if (!program->lowering || !ronde_op_is_in(program->steps[step].op, RONDE_OPS_THAT_STORE))
        return landing;
    const struct ronde_step_lowering *lowering = &program->lowering[step];
    const uint32_t *posts = lowering->post_step;
    if (posts[0] == RONDE_NEVER || posts[1] == RONDE_NEVER)
        return landing;
    for (int in_place = 0; in_place < 2; in_place++)
        if (posts[in_place] != RONDE_NONE)
            landing.free[in_place] = wait_for(program, posts[in_place]);
    landing.step = step;
    landing.is_read = lowering->is_read;
    return landing;
}

/* Sorts the receiving steps by connection: count, add up, fill from behind. */
static void sort_landings(const struct ronde_program *program, uint32_t *first,
                          struct ronde_landing *entries)
{
    for (uint32_t s = 0; s < program->step_count; s++) {
        const uint32_t receive = ronde_act_receive(&program->steps[s]);
        if (receive != RONDE_NONE)
            first[receive]++;
    }
    for (uint32_t c = 0; c < program->connection_count; c++)
        first[c + 1] += first[c];
    for (uint32_t s = program->step_count; s-- > 0;) {
        const uint32_t receive = ronde_act_receive(&program->steps[s]);
        if (receive != RONDE_NONE)
            entries[--first[receive]] = landing_of(program, s);
    }
}

/*
 * The messages of a program; without a proof every result may be read, and there are no direct
 * writes.
 */
static struct ronde_landings *make_landings(struct ronde_arena *arena,
                                            const struct ronde_program *program)
{
    struct ronde_landings *landings = ronde_arena_new(arena, 1, sizeof *landings);
    const size_t steps = program->step_count;
    uint32_t *message = ronde_arena_new(arena, steps, sizeof *message);
    uint32_t *first = ronde_arena_new(arena, (size_t)program->connection_count + 1, sizeof *first);
    uint32_t *sent = ronde_arena_new(arena, program->connection_count, sizeof *sent);
    bool *is_read = ronde_arena_new(arena, steps, sizeof *is_read);
    struct ronde_landing *entries = ronde_arena_new(arena, steps, sizeof *entries);
    if (!landings || !message || !first || !sent || !is_read || !entries)
        return NULL;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const uint32_t send = ronde_act_send(&program->steps[s]);
        if (send != RONDE_NONE)
            message[s] = sent[send]++;
        is_read[s] = !program->lowering || program->lowering[s].is_read;
    }
    sort_landings(program, first, entries);
    *landings = (struct ronde_landings){message, first, entries, is_read};
    return landings;
}

/* A lane has its steps and, for operands of several chunks, room to list them in message order. */
static bool make_lane(struct ronde_loaded *loaded, struct ronde_task *task, uint32_t index)
{
    struct ronde_lane *lane = &loaded->lanes[task->first_lane + index];
    lane->task = task;
    lane->index = index;
    lane->first = task->view.program->lane_first[index];
    lane->end = task->view.program->lane_first[index + 1];
    for (uint32_t s = lane->first; s < lane->end; s++) {
        const uint32_t ends[2] = {ronde_act_send(&task->view.program->steps[s]),
                                  ronde_act_receive(&task->view.program->steps[s])};
        for (int k = 0; k < 2; k++)
            if (ends[k] != RONDE_NONE)
                task->ends[ends[k]].lane = index;
    }
    /* A single chunk needs no list. */
    const uint32_t most = loaded->schedule->max_chunk_count;
    if (most == 1)
        return true;
    uint32_t *lists = ronde_arena_new(loaded->arena, most, 3 * sizeof *lists);
    lane->sorted[0] = lists;
    lane->sorted[1] = lists ? lists + most : NULL;
    lane->sorted_there = lists ? lists + (size_t)2 * most : NULL;
    return lists != NULL;
}

/* Where the next task's lanes and ends begin. */
struct place {
    uint32_t lane;
    uint64_t end;
};

/* What the tasks of a program poll alike. */
struct polled {
    struct ronde_wait *waits;
    struct ronde_holds *holds;
    struct ronde_landings *landings;
};

/* What the lanes of a (rank, channel) share; fails for want of memory. */
static bool make_task(struct ronde_loaded *loaded, uint32_t rank, uint32_t channel,
                      const struct polled *polled, struct place *place)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    struct ronde_task *task =
        &loaded->tasks[(rank - loaded->first_rank) * schedule->channel_count + channel];
    task->view = ronde_view_open(schedule, channel, rank);
    task->frame = &loaded->frame;
    task->first_lane = place->lane;
    task->ends = loaded->ends + place->end;
    task->progress = loaded->progress + place->lane;
    task->parts = loaded->parts + (size_t)channel * schedule->chunks_per_block;
    task->waits = polled->waits;
    task->holds = polled->holds;
    task->landings = polled->landings;
    task->remote_ends = loaded->remote_ends ? loaded->remote_ends + place->end : NULL;
    task->weight_before = ronde_weight_before(schedule, channel);
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        task->chunks[buffer] =
            ronde_schedule_chunks(schedule, task->view.program, (enum ronde_buffer)buffer);
    for (uint32_t index = 0; index < task->view.program->lane_count; index++)
        if (!make_lane(loaded, task, index))
            return false;
    place->lane += task->view.program->lane_count;
    place->end += ronde_round_up(task->view.program->connection_count, 2);
    return true;
}

/* Every rank of a class polls the same dependencies and holds: one list of each per program. */
static bool make_tasks(struct ronde_loaded *loaded)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    struct polled *polled = ronde_arena_new(loaded->arena, schedule->program_count, sizeof *polled);
    if (!polled)
        return false;
    for (uint32_t p = 0; p < schedule->program_count; p++) {
        polled[p].waits = make_waits(loaded->arena, &schedule->programs[p]);
        polled[p].holds = make_holds(loaded, &schedule->programs[p]);
        polled[p].landings = make_landings(loaded->arena, &schedule->programs[p]);
        if (!polled[p].waits || !polled[p].holds || !polled[p].landings)
            return false;
    }
    struct place place = {0, 0};
    for (uint32_t rank = loaded->first_rank; rank < loaded->first_rank + loaded->rank_count; rank++) {
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            const struct ronde_view view = ronde_view_open(schedule, channel, rank);
            const ptrdiff_t program = view.program - schedule->programs;
            if (!make_task(loaded, rank, channel, &polled[program], &place))
                return false;
        }
    }
    return true;
}

static enum ronde_status fail_memory(const struct ronde_schedule *schedule, unsigned long long ends,
                                     struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY,
                      "no memory to load the schedule: %u ranks, %llu connection ends",
                      schedule->ranks, ends);
}

/* Loads some ranks, up to their connections, in `part`; whether these have memory here is `has_fifos`. */
static enum ronde_status create_ranks(const struct ronde_schedule *schedule,
                                      const struct ronde_loaded *part, bool has_fifos,
                                      struct ronde_loaded **out_loaded, struct ronde_error *error)
{
    const struct ronde_mem *mem = part->mem;
    *out_loaded = NULL;
    RONDE_TRY(check_scratch(schedule, error));
    struct ronde_loaded *loaded = ronde_mem_new(mem, 1, sizeof *loaded);
    if (!loaded)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    *loaded = *part;
    loaded->schedule = schedule;
    loaded->data = mem;
    loaded->arena = ronde_arena_create(mem);
    count_parts(loaded, has_fifos);
    if (!loaded->arena || !allocate(loaded) || !make_tasks(loaded)) {
        const unsigned long long ends = loaded->end_count;
        ronde_loaded_destroy(loaded);
        return fail_memory(schedule, ends, error);
    }
    *out_loaded = loaded;
    return RONDE_OK;
}

enum ronde_status ronde_loaded_create(const struct ronde_schedule *schedule,
                                      const struct ronde_mem *mem, struct ronde_loaded **out_loaded,
                                      struct ronde_error *error)
{
    const struct ronde_loaded all = {.mem = mem, .rank_count = schedule->ranks};
    RONDE_TRY(create_ranks(schedule, &all, true, out_loaded, error));
    if (ronde_loaded_connect(*out_loaded))
        return RONDE_OK;
    const unsigned long long ends = (*out_loaded)->end_count;
    ronde_loaded_destroy(*out_loaded);
    *out_loaded = NULL;
    return fail_memory(schedule, ends, error);
}

enum ronde_status
ronde_loaded_create_part(const struct ronde_schedule *schedule, uint32_t first_rank,
                         uint32_t rank_count, const struct ronde_mem *mem,
                         struct ronde_loaded **out_loaded, struct ronde_error *error)
{
    const struct ronde_loaded part = {.mem = mem, .first_rank = first_rank, .rank_count = rank_count};
    enum ronde_status status = create_ranks(schedule, &part, false, out_loaded, error);
    RONDE_THEN(status, ronde_loaded_find_ports(*out_loaded, error));
    if (status != RONDE_OK) {
        ronde_loaded_destroy(*out_loaded);
        *out_loaded = NULL;
    }
    return status;
}

void ronde_loaded_destroy(struct ronde_loaded *loaded)
{
    if (!loaded)
        return;
    ronde_mem_free(loaded->data, loaded->slots.block, loaded->slots.bytes, 1);
    ronde_mem_free(loaded->data, loaded->lines.block, loaded->lines.bytes, 1);
    ronde_mem_free(loaded->data, loaded->scratch.block, loaded->scratch.bytes, 1);
    ronde_arena_destroy(loaded->arena);
    ronde_mem_free(loaded->mem, loaded, 1, sizeof *loaded);
}

uint32_t ronde_loaded_first_lane(const struct ronde_loaded *loaded, uint32_t rank)
{
    if (rank == loaded->first_rank + loaded->rank_count)
        return loaded->lane_count;
    return loaded->tasks[(rank - loaded->first_rank) * loaded->schedule->channel_count].first_lane;
}
