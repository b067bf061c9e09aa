/**
 * Who reads what a step writes: whether anybody does, and which steps are joined.
 *
 * A step is joined to the next one of its lane where that combines the result with one operand more, and nobody else reads
 * it: no other step, no peer, not the user. Several in a row combine n operands in order, and an executor that finds
 * their messages there may read all of them once, and write the last result alone.
 *
 * What follows from the program alone is proposed for all ranks. Then one walk over each rank's steps, by cells and for
 * either placement, backwards through their order, drops what is read by others; and one forwards along each lane
 * drops what would be written before it was read.
 */
#include "finish.h"

#include "engine/prove/accesses.h"

#include <string.h>

/* Who reads what a cell holds, beside a step's number and RONDE_NONE. */
#define READ_BY_MANY RONDE_NEVER
#define READ_BY_USER (RONDE_NEVER - 1)

/** Operations whose result the next step may take over: recv, rrc, reduce. */
#define OPS_THAT_JOIN                                                                              \
    (RONDE_OPS_THAT_WRITE & ~RONDE_OPS_THAT_SEND & (RONDE_OPS_THAT_RECEIVE | RONDE_OPS_THAT_REDUCE))

/* --- what follows from the program alone --------------------------------------------------- */

/** Whether `next` combines what `step` writes with another operand, and has it on the left, as `step` does its own. */
static bool takes_over(const struct ronde_program *program, const struct ronde_step *step,
                       const struct ronde_step *next)
{
    const bool rereads = ronde_op_is_in(next->op, RONDE_OPS_THAT_REREAD);
    const uint32_t chunk = rereads ? next->destination_chunk : next->source_chunk;
    const uint8_t range = rereads ? RONDE_FLAG_DESTINATION_RANGE : RONDE_FLAG_SOURCE_RANGE;
    const bool is_range = (next->flags & range) != 0;
    if (!ronde_op_is_in(step->op, OPS_THAT_JOIN) || !ronde_op_is_in(next->op, RONDE_OPS_THAT_REDUCE))
        return false;
    if (step->chunk_count == 0 || step->chunk_count != next->chunk_count ||
        step->destination != (rereads ? next->destination : next->source) ||
        ((step->flags & RONDE_FLAG_DESTINATION_RANGE) != 0) != is_range)
        return false;
    return step->destination_chunk == chunk ||
           (is_range && memcmp(&program->ranges[step->destination_chunk], &program->ranges[chunk],
                               sizeof *program->ranges) == 0);
}

/** Whether step `next` has room behind those joined from `first` on, and a connection of its own. */
static bool fits(const struct ronde_program *program, uint32_t first, uint32_t next)
{
    const struct ronde_step *steps = program->steps;
    if ((uint64_t)(next - first + 2) * steps[next].chunk_count > RONDE_JOINED_OPERANDS)
        return false;
    if (!ronde_op_is_in(steps[next].op, RONDE_OPS_THAT_RECEIVE))
        return true;
    for (uint32_t s = first; s < next; s++)
        if (ronde_op_is_in(steps[s].op, RONDE_OPS_THAT_RECEIVE) &&
            steps[s].receive == steps[next].receive)
            return false;
    return true;
}

void ronde_readers_propose(struct ronde_program *program)
{
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        uint32_t first = program->lane_first[lane];
        for (uint32_t s = first; s < program->lane_first[lane + 1]; s++) {
            struct ronde_step *step = &program->steps[s];
            step->flags &= (uint8_t)~RONDE_FLAG_JOINED;
            if (s + 1 < program->lane_first[lane + 1] && takes_over(program, step, step + 1) &&
                fits(program, first, s + 1))
                step->flags |= RONDE_FLAG_JOINED;
            else
                first = s + 1;
        }
    }
}

/* --- who reads what, backwards ------------------------------------------------------------- */

/** Notes who reads what a step writes; what a cell held before may have other readers. */
static void note_writes(struct ronde_readers *readers, struct ronde_program *program, uint32_t index)
{
    const struct ronde_accesses *accesses = readers->accesses;
    bool is_read = false, is_others = false;
    for (uint32_t item = 0; item < accesses->step->chunk_count; item++) {
        uint32_t *reader = &readers->reader[ronde_accesses_item(accesses, item).destination];
        is_read |= *reader != RONDE_NONE && *reader != READ_BY_USER;
        is_others |= *reader != index + 1;
        *reader = accesses->does.reads_destination ? index : RONDE_NONE;
    }
    program->lowering[index].is_read |= is_read;
    if (is_others)
        program->steps[index].flags &= (uint8_t)~RONDE_FLAG_JOINED;
}

static void note_reads(struct ronde_readers *readers, uint32_t index)
{
    const struct ronde_accesses *accesses = readers->accesses;
    for (uint32_t item = 0; item < accesses->step->chunk_count; item++) {
        uint32_t *reader = &readers->reader[ronde_accesses_item(accesses, item).source];
        *reader = *reader == RONDE_NONE ? index : READ_BY_MANY;
    }
}

/** The user reads the output at the end. */
static void find_readers(struct ronde_readers *readers, struct ronde_program *program,
                         const uint32_t *mine)
{
    struct ronde_accesses *accesses = readers->accesses;
    for (uint32_t cell = 0; cell < accesses->cells.total; cell++)
        readers->reader[cell] = cell < accesses->cells.chunks[RONDE_OUT] ? READ_BY_USER : RONDE_NONE;
    for (uint32_t i = program->step_count; i-- > 0;) {
        ronde_accesses_resolve(accesses, mine[i]);
        if (accesses->does.writes)
            note_writes(readers, program, mine[i]);
        if (accesses->does.reads)
            note_reads(readers, mine[i]);
    }
}

/* --- what is written before it is read, forwards ------------------------------------------- */

/** Whether a step would overwrite what those joined before it have yet to read for a later item. */
static bool overwrites(const struct ronde_readers *readers, uint32_t first)
{
    const struct ronde_accesses *accesses = readers->accesses;
    for (uint32_t item = 0; item < accesses->step->chunk_count && accesses->does.writes; item++) {
        const struct ronde_joined_read *read =
            &readers->joined[ronde_accesses_item(accesses, item).destination];
        if (read->first == first && read->item != item)
            return true;
    }
    return false;
}

/** Notes what a step reads of the rank's memory, but not what it takes over from the step before it. */
static void note_operands(struct ronde_readers *readers, uint32_t first, uint32_t index)
{
    const struct ronde_accesses *accesses = readers->accesses;
    for (uint32_t item = 0; item < accesses->step->chunk_count; item++) {
        const struct ronde_access access = ronde_accesses_item(accesses, item);
        const struct ronde_joined_read read = {first, item};
        if (accesses->does.reads && (index == first || accesses->does.reads_destination))
            readers->joined[access.source] = read;
        if (accesses->does.reads_destination && index == first)
            readers->joined[access.destination] = read;
    }
}

/** Looks at one lane; steps of several chunks read all of them before they write. */
static void part_lane(struct ronde_readers *readers, struct ronde_program *program, uint32_t lane)
{
    uint32_t first = program->lane_first[lane];
    for (uint32_t s = first; s < program->lane_first[lane + 1]; s++) {
        const bool is_joined = (program->steps[s].flags & RONDE_FLAG_JOINED) != 0;
        if ((!is_joined && s == first) || program->steps[s].chunk_count < 2) {
            first = is_joined ? first : s + 1;
            continue;
        }
        ronde_accesses_resolve(readers->accesses, s);
        if (s > first && overwrites(readers, first)) {
            program->steps[s - 1].flags &= (uint8_t)~RONDE_FLAG_JOINED;
            first = s;
        }
        note_operands(readers, first, s);
        first = is_joined ? first : s + 1;
    }
}

bool ronde_readers_make(struct ronde_readers *readers, size_t cells, struct ronde_arena *arena)
{
    readers->reader = ronde_arena_new(arena, cells, sizeof *readers->reader);
    readers->joined = ronde_arena_new(arena, cells, sizeof *readers->joined);
    return readers->reader && readers->joined;
}

void ronde_readers_visit(struct ronde_readers *readers, struct ronde_program *program,
                         const uint32_t *mine)
{
    find_readers(readers, program, mine);
    memset(readers->joined, 0xff, readers->accesses->cells.total * sizeof *readers->joined);
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        part_lane(readers, program, lane);
}
