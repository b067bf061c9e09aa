#include "support/mutate.h"

#include "engine/ir/arena.h"
#include "engine/ir/finish.h"
#include "ronde/cursor.h"
#include "support/buffers.h"

#include <string.h>

const char *mutate_text(enum mutate_kind kind)
{
    static const char *const texts[] = {
#define MUTATE_TEXT(name, text) text,
        MUTATE_LIST(MUTATE_TEXT)
#undef MUTATE_TEXT
    };
    return texts[kind];
}

static uint32_t below(uint64_t *random, uint32_t limit)
{
    return (uint32_t)(buffers_draw(random) % limit);
}

/** A random step of a program. */
static struct ronde_step *any_step(struct ronde_program *program, uint64_t *random)
{
    return &program->steps[below(random, program->step_count)];
}

static bool change_chunk(const struct ronde_schedule *schedule, struct ronde_program *program,
                         uint64_t *random)
{
    struct ronde_step *step = any_step(program, random);
    const bool reads = ronde_step_reads_source((enum ronde_step_op)step->op);
    const bool writes = ronde_step_writes((enum ronde_step_op)step->op);
    const bool is_source = reads && (!writes || below(random, 2) == 0);
    if (!reads && !writes)
        return false;
    const uint32_t chunks =
        ronde_schedule_chunks(schedule, program,
                              (enum ronde_buffer)(is_source ? step->source : step->destination));
    const uint8_t flag = is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE;
    if (chunks == 0)
        return false;
    uint32_t *chunk = is_source ? &step->source_chunk : &step->destination_chunk;
    *(step->flags & flag ? &program->ranges[*chunk].first : chunk) = below(random, chunks);
    return true;
}

static bool change_buffer(struct ronde_program *program, uint64_t *random)
{
    struct ronde_step *step = any_step(program, random);
    if (!ronde_step_reads_source((enum ronde_step_op)step->op))
        return false;
    step->source = step->source == RONDE_IN ? RONDE_OUT : RONDE_IN;
    return true;
}

/** Rebuilds the step array without step `gone`, or with step `again` twice; the other is RONDE_NONE. */
static bool edit_steps(struct ronde_schedule *schedule, struct ronde_program *program,
                       uint32_t gone, uint32_t again)
{
    const uint32_t place = gone != RONDE_NONE ? gone : again;
    const uint32_t lane = ronde_program_lane(program, place);
    const int change = gone != RONDE_NONE ? -1 : 1;
    struct ronde_step *steps =
        ronde_arena_new(schedule->arena, program->step_count + (size_t)1, sizeof *steps);
    if (!steps)
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        if (i != gone)
            steps[count++] = program->steps[i];
        if (i == again)
            steps[count++] = program->steps[i];
    }
    program->steps = steps;
    program->step_count = count;
    for (uint32_t i = lane + 1; i <= program->lane_count; i++)
        program->lane_first[i] = (uint32_t)((int)program->lane_first[i] + change);
    for (uint32_t i = 0; i < program->dependency_count; i++)
        if (program->dependencies[i] > place || (program->dependencies[i] == gone && gone > 0))
            program->dependencies[i] = (uint32_t)((int)program->dependencies[i] + change);
    if (program->lane_first[lane] == program->lane_first[lane + 1]) {
        for (uint32_t i = lane; i < program->lane_count; i++)
            program->lane_first[i] = program->lane_first[i + 1];
        program->lane_count--;
    }
    return true;
}

static bool swap_steps(struct ronde_program *program, uint64_t *random)
{
    const uint32_t first = below(random, program->step_count);
    const uint32_t lane = ronde_program_lane(program, first);
    const uint32_t length = program->lane_first[lane + 1] - program->lane_first[lane];
    const uint32_t second = program->lane_first[lane] + below(random, length);
    const struct ronde_step kept = program->steps[first];
    program->steps[first] = program->steps[second];
    program->steps[second] = kept;
    return first != second;
}

/** Another operation, with operands and connections made up where the old one had none. */
static bool change_op(struct ronde_program *program, uint64_t *random)
{
    struct ronde_step *step = any_step(program, random);
    step->op = (uint8_t)below(random, RONDE_STEP_OP_COUNT);
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    if (ronde_step_reads_source(op) && step->source == RONDE_BUFFER_COUNT) {
        step->source = RONDE_IN;
        step->source_chunk = step->destination_chunk;
    }
    if (ronde_step_writes(op) && step->destination == RONDE_BUFFER_COUNT) {
        step->destination = RONDE_OUT;
        step->destination_chunk = step->source_chunk;
    }
    if (!ronde_step_sends(op))
        step->send = RONDE_NONE;
    if (!ronde_step_receives(op))
        step->receive = RONDE_NONE;
    return true;
}

static bool drop_dependency(struct ronde_program *program, uint64_t *random)
{
    struct ronde_step *step = any_step(program, random);
    if (step->dependency_count == 0)
        return false;
    if (below(random, 2) == 0)
        step->first_dependency++;
    step->dependency_count--;
    return true;
}

static bool change_peer(const struct ronde_schedule *schedule, struct ronde_program *program,
                        uint64_t *random)
{
    if (program->connection_count == 0)
        return false;
    struct ronde_connection *connection =
        &program->connections[below(random, program->connection_count)];
    connection->peer = below(random, schedule->ranks);
    return true;
}

static bool change_connection(struct ronde_program *program, uint64_t *random)
{
    struct ronde_step *step = any_step(program, random);
    if (program->connection_count == 0)
        return false;
    uint32_t *end = ronde_step_sends((enum ronde_step_op)step->op) ? &step->send : &step->receive;
    if (*end == RONDE_NONE)
        return false;
    *end = below(random, program->connection_count);
    return true;
}

/** The steps of a lane from a random one on become a lane of their own, unordered with the rest. */
static bool split_lane(struct ronde_schedule *schedule, struct ronde_program *program,
                       uint64_t *random)
{
    const uint32_t place = below(random, program->step_count);
    const uint32_t lane = ronde_program_lane(program, place);
    if (program->lane_first[lane] == place)
        return false;
    uint32_t *first =
        ronde_arena_new(schedule->arena, program->lane_count + (size_t)2, sizeof *first);
    if (!first)
        return false;
    memcpy(first, program->lane_first, (lane + (size_t)1) * sizeof *first);
    first[lane + 1] = place;
    memcpy(first + lane + 2, program->lane_first + lane + 1,
           (program->lane_count - lane) * sizeof *first);
    program->lane_first = first;
    program->lane_count++;
    return true;
}

bool mutate(struct ronde_schedule *schedule, enum mutate_kind kind, uint64_t *random)
{
    struct ronde_program *program = &schedule->programs[below(random, schedule->program_count)];
    if (program->step_count == 0)
        return false;
    switch (kind) {
    case MUTATE_CHUNK:
        return change_chunk(schedule, program, random);
    case MUTATE_BUFFER:
        return change_buffer(program, random);
    case MUTATE_DROP:
        return edit_steps(schedule, program, below(random, program->step_count), RONDE_NONE);
    case MUTATE_DUPLICATE:
        return edit_steps(schedule, program, RONDE_NONE, below(random, program->step_count));
    case MUTATE_SWAP:
        return swap_steps(program, random);
    case MUTATE_OP:
        return change_op(program, random);
    case MUTATE_DEPENDENCY:
        return drop_dependency(program, random);
    case MUTATE_PEER:
        return change_peer(schedule, program, random);
    case MUTATE_CONNECTION:
        return change_connection(program, random);
    case MUTATE_LANE:
        return split_lane(schedule, program, random);
    case MUTATE_COUNT:
        break;
    }
    return false;
}

/** Whether chunks in this order, starting anywhere, are runs of one length a stride apart. */
static bool are_runs(const uint32_t *items, uint32_t count, uint32_t start, uint32_t chunks,
                     struct ronde_range *out_range)
{
    const uint32_t first = items[start];
    uint32_t run = 1;
    while (run < count && items[(start + run) % count] == (first + run) % chunks)
        run++;
    const uint32_t next = items[(start + run) % count];
    *out_range = (struct ronde_range){first, count, run,
                                      run < count ? (next + chunks - first) % chunks : run};
    for (uint32_t i = 0; i < count; i++)
        if (items[(start + i) % count] !=
            (first + (uint64_t)(i / run) * out_range->stride + i % run) % chunks)
            return false;
    return true;
}

/** An operand as it is at the position of a view, as a range; false if no range describes it. */
static bool describe(const struct ronde_view *view, const struct ronde_step *step, bool is_source,
                     struct ronde_range *out_range)
{
    const enum ronde_buffer buffer =
        (enum ronde_buffer)(is_source ? step->source : step->destination);
    const uint32_t chunks = ronde_schedule_chunks(view->schedule, view->program, buffer);
    uint32_t *items = ronde_mem_new(ronde_mem_default(), step->chunk_count, sizeof *items);
    bool is_found = false;
    if (items)
        ronde_view_chunks(view, step, is_source, chunks, items);
    for (uint32_t start = 0; items && start < step->chunk_count && !is_found; start++)
        is_found = are_runs(items, step->chunk_count, start, chunks, out_range);
    ronde_mem_free(ronde_mem_default(), items, step->chunk_count, sizeof *items);
    return is_found;
}

/** Writes an operand of the step as it is at a position; one that needs a range appends it. */
static bool unroll_operand(const struct ronde_view *view, const struct ronde_step *stored,
                           bool is_source, struct ronde_program *program, struct ronde_step *step)
{
    const uint8_t flag = is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE;
    struct ronde_range range;
    if (stored->chunk_count == 0)
        return true;
    if (!describe(view, stored, is_source, &range))
        return false;
    const bool is_strided = range.run < range.count;
    step->flags = (uint8_t)(is_strided ? step->flags | flag : step->flags & ~flag);
    *(is_source ? &step->source_chunk : &step->destination_chunk) =
        is_strided ? program->range_count : range.first;
    if (is_strided)
        program->ranges[program->range_count++] = range;
    return true;
}

static bool unroll_step(const struct ronde_view *view, const struct ronde_step *stored,
                        struct ronde_program *program, struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)stored->op;
    *step = *stored;
    return (!ronde_step_reads_source(op) || unroll_operand(view, stored, true, program, step)) &&
           (!ronde_step_writes(op) || unroll_operand(view, stored, false, program, step));
}

/** The program of one position: peers become offsets modulo ranks, operands what they are there. */
static bool unroll_position(struct ronde_schedule *copy, const struct ronde_schedule *schedule,
                            uint32_t position)
{
    struct ronde_program *program = &copy->programs[position];
    *program = copy->programs[0];
    const struct ronde_channel identity = {1, NULL, NULL};
    const struct ronde_view view = {schedule, &identity, &schedule->programs[0], position, position};
    const struct ronde_program *stored = &schedule->programs[0];
    const uint32_t n = schedule->ranks;
    program->range_count = 0;
    program->steps = ronde_arena_new(copy->arena, program->step_count, sizeof *program->steps);
    program->ranges =
        ronde_arena_new(copy->arena, 2 * (size_t)program->step_count, sizeof *program->ranges);
    program->connections =
        ronde_arena_new(copy->arena, program->connection_count, sizeof *program->connections);
    if (!program->steps || !program->ranges || !program->connections)
        return false;
    for (uint32_t i = 0; i < program->connection_count; i++) {
        program->connections[i] = stored->connections[i];
        program->connections[i].peer = (ronde_view_peer_position(&view, i) + n - position) % n;
    }
    bool is_made = true;
    for (uint32_t i = 0; i < program->step_count && is_made; i++)
        is_made = unroll_step(&view, &stored->steps[i], program, &program->steps[i]);
    return is_made;
}

struct ronde_schedule *mutate_unroll(const struct ronde_schedule *schedule)
{
    struct ronde_schedule *copy = NULL;
    if (ronde_raw_copy(schedule, ronde_mem_default(), &copy, NULL) != RONDE_OK)
        return NULL;
    if (schedule->symmetry == RONDE_SYMMETRY_NONE)
        return copy;
    struct ronde_program *programs = ronde_arena_new(copy->arena, schedule->ranks, sizeof *programs);
    uint32_t *program_of = ronde_arena_new(copy->arena, schedule->ranks, sizeof *program_of);
    bool is_made = programs && program_of;
    if (is_made) {
        programs[0] = copy->programs[0];
        copy->programs = programs;
        copy->program_count = schedule->ranks;
        copy->program_of = program_of;
        copy->symmetry = RONDE_SYMMETRY_NONE;
        memset(copy->rotates, 0, sizeof copy->rotates);
        copy->shape_count = 0;
    }
    for (uint32_t position = schedule->ranks; is_made && position-- > 0;) {
        program_of[position] = position;
        is_made = unroll_position(copy, schedule, position);
    }
    if (!is_made) {
        ronde_schedule_destroy(copy);
        return NULL;
    }
    return copy;
}
