/** Bounds and shape. What passes here can be read by every cursor without leaving an array. */
#include "proofs.h"

#include "engine/ir/ends.h"

#include <string.h>

/** Largest chunk number of any buffer. */
#define MAX_CHUNKS (1u << 30)

static struct ronde_step_location nowhere(void)
{
    return (struct ronde_step_location){NULL, RONDE_NONE, RONDE_NONE, RONDE_NONE};
}

/** Most of what is refused here is out of bounds, in the schedule or in a step. */
#define REFUSE(proof, ...) ronde_find((proof), RONDE_FINDING_BOUNDS, nowhere(), __VA_ARGS__)
#define REFUSE_AT(inspection, step, ...)                                                           \
    ronde_find((inspection)->proof, RONDE_FINDING_BOUNDS, at((inspection), (step)), __VA_ARGS__)

/* --- header -------------------------------------------------------------------------------- */

/** The shape of a rotation multiplies to the ranks; xor needs a power of two. */
static void check_group(const struct ronde_schedule *schedule, struct ronde_proof *proof)
{
    uint64_t product = 1;
    if (schedule->shape_count > RONDE_MAX_SHAPE) {
        REFUSE(proof, "a shape of %u digits", schedule->shape_count);
        return;
    }
    for (uint32_t i = 0; i < schedule->shape_count && product <= RONDE_MAX_RANKS; i++)
        product *= schedule->shape[i];
    if (schedule->shape_count > 0 && product != schedule->ranks)
        REFUSE(proof, "the shape does not multiply to %u ranks", schedule->ranks);
    if (schedule->symmetry == RONDE_SYMMETRY_XOR && (schedule->ranks & (schedule->ranks - 1)) != 0)
        REFUSE(proof, "xor symmetry needs a power of two, %u ranks are none", schedule->ranks);
}

/** Which buffers have to rotate follows from the collective: its definition must rotate along. */
static void check_symmetry(const struct ronde_schedule *schedule, struct ronde_proof *proof)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const bool in = schedule->rotates[RONDE_IN], out = schedule->rotates[RONDE_OUT];
    check_group(schedule, proof);
    if (traits->has_root)
        REFUSE(proof, "a collective with a root is not symmetric");
    const bool is_right = traits->in_per_rank == traits->out_per_rank
                              ? in == out && (!traits->in_per_rank || in)
                              : in == traits->in_per_rank && out == traits->out_per_rank;
    if (!is_right)
        REFUSE(proof, "%s does not rotate with input %s and output %s",
               ronde_collective_text(schedule->collective), in ? "rotating" : "fixed",
               out ? "rotating" : "fixed");
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT && schedule->program_count > 0; buffer++) {
        const uint32_t chunks =
            ronde_schedule_chunks(schedule, &schedule->programs[0], (enum ronde_buffer)buffer);
        if (schedule->rotates[buffer] && chunks % schedule->ranks != 0)
            REFUSE(proof, "%u chunks of a rotating buffer are no multiple of %u ranks", chunks,
                   schedule->ranks);
    }
}

/** Blocks of the larger buffer; of a barrier, which has none, one. */
static uint32_t most_blocks(const struct ronde_schedule *schedule)
{
    const uint32_t most = ronde_collective_most_blocks(schedule->collective, schedule->ranks);
    return most > 0 ? most : 1;
}

static void check_header(const struct ronde_schedule *schedule, struct ronde_proof *proof)
{
    if (schedule->ranks == 0 || schedule->ranks > RONDE_MAX_RANKS)
        REFUSE(proof, "ranks %u is outside 1 .. %u", schedule->ranks, RONDE_MAX_RANKS);
    else if (schedule->root >= schedule->ranks)
        REFUSE(proof, "root %u is not below ranks %u", schedule->root, schedule->ranks);
    if (schedule->chunks_per_block == 0 ||
        (uint64_t)schedule->chunks_per_block * most_blocks(schedule) > MAX_CHUNKS)
        REFUSE(proof, "chunks per block %u is out of range", schedule->chunks_per_block);
    if (schedule->channel_count == 0 || schedule->program_count == 0)
        REFUSE(proof, "no channels or no programs");
}

/** An order must be a permutation with the root at position 0. */
static void check_order(const struct ronde_schedule *schedule, uint32_t index, uint8_t *seen,
                        struct ronde_proof *proof)
{
    const struct ronde_channel *channel = &schedule->channels[index];
    const bool has_root = ronde_collective_traits(schedule->collective)->has_root;
    if (channel->weight == 0)
        REFUSE(proof, "channel %u has weight 0", index);
    if (has_root && ronde_channel_rank(channel, 0) != schedule->root)
        REFUSE(proof, "channel %u: the root %u is not at position 0 of the order", index,
               schedule->root);
    if (!channel->order)
        return;
    memset(seen, 0, schedule->ranks);
    for (uint32_t q = 0; q < schedule->ranks; q++) {
        const uint32_t rank = channel->order[q];
        if (rank >= schedule->ranks || seen[rank]++)
            REFUSE(proof, "channel %u: rank %u at position %u of the order is out of range or twice",
                   index, rank, q);
    }
}

/* --- programs ------------------------------------------------------------------------------ */

/** A program under inspection. */
struct inspection {
    const struct ronde_schedule *schedule;
    const struct ronde_program *program;
    uint32_t position; /**< the first it serves, for messages */
    struct ronde_proof *proof;
    uint32_t *lane_of_connection; /**< RONDE_NONE until used */
};

static struct ronde_step_location at(const struct inspection *inspection, uint32_t step)
{
    return (struct ronde_step_location){inspection->program, inspection->position, step, RONDE_NONE};
}

static bool check_range(const struct inspection *inspection, uint32_t step, uint32_t index,
                        uint32_t count)
{
    const struct ronde_program *program = inspection->program;
    if (index >= program->range_count) {
        REFUSE_AT(inspection, step, "range %u does not exist", index);
        return false;
    }
    if (program->ranges[index].run == 0 || program->ranges[index].count != count)
        REFUSE_AT(inspection, step, "range %u has run %u and %u chunks for a step of %u", index,
                  program->ranges[index].run, program->ranges[index].count, count);
    return true;
}

static void check_operand(const struct inspection *inspection, uint32_t step, bool is_source)
{
    const struct ronde_step *s = &inspection->program->steps[step];
    const uint8_t buffer = is_source ? s->source : s->destination;
    const uint32_t first = is_source ? s->source_chunk : s->destination_chunk;
    const uint8_t flag = is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE;
    const char *what = is_source ? "source" : "destination";
    if (buffer >= RONDE_BUFFER_COUNT) {
        REFUSE_AT(inspection, step, "the %s is no buffer", what);
        return;
    }
    const uint32_t chunks =
        ronde_schedule_chunks(inspection->schedule, inspection->program, (enum ronde_buffer)buffer);
    if (s->chunk_count > chunks || (!(s->flags & flag) && s->chunk_count > 0 && first >= chunks))
        REFUSE_AT(inspection, step, "%s chunks %u+%u do not fit a buffer of %u", what, first,
                  s->chunk_count, chunks);
    if (s->flags & flag)
        check_range(inspection, step, first, s->chunk_count);
    if (!is_source && buffer == RONDE_IN && !inspection->schedule->clobbers)
        ronde_find(inspection->proof, RONDE_FINDING_INPUT_WRITTEN, at(inspection, step),
                   "the input is written");
}

static void check_connection(const struct inspection *inspection, uint32_t step, bool is_send)
{
    const struct ronde_program *program = inspection->program;
    const struct ronde_step *s = &program->steps[step];
    const uint32_t index = is_send ? s->send : s->receive;
    const char *what = is_send ? "send" : "receive";
    if (index >= program->connection_count || program->connections[index].is_send != is_send) {
        REFUSE_AT(inspection, step, "there is no %s connection %u", what, index);
        return;
    }
    const uint32_t lane = ronde_program_lane(program, step);
    uint32_t *owner = &inspection->lane_of_connection[index];
    if (*owner == RONDE_NONE)
        *owner = lane;
    if (*owner != lane)
        REFUSE_AT(inspection, step, "lanes %u and %u share %s connection %u", *owner, lane, what,
                  index);
}

static void check_dependencies(const struct inspection *inspection, uint32_t step)
{
    const struct ronde_program *program = inspection->program;
    const struct ronde_step *s = &program->steps[step];
    if ((uint64_t)s->first_dependency + s->dependency_count > program->dependency_count) {
        REFUSE_AT(inspection, step, "dependencies %u+%u do not exist", s->first_dependency,
                  s->dependency_count);
        return;
    }
    const uint32_t lane = ronde_program_lane(program, step);
    for (uint32_t i = 0; i < s->dependency_count; i++) {
        const uint32_t on = program->dependencies[s->first_dependency + i];
        if (on >= program->step_count || ronde_program_lane(program, on) == lane)
            REFUSE_AT(inspection, step, "dependency on step %u, which is no step of another lane",
                      on);
    }
}

static void check_step(const struct inspection *inspection, uint32_t step)
{
    const struct ronde_step *s = &inspection->program->steps[step];
    const enum ronde_step_op op = (enum ronde_step_op)s->op;
    if (s->op >= RONDE_STEP_OP_COUNT) {
        REFUSE_AT(inspection, step, "operation %u does not exist", s->op);
        return;
    }
    const enum ronde_collective collective = inspection->schedule->collective;
    if (ronde_step_reduces(op) && !ronde_collective_traits(collective)->reduces)
        ronde_find(inspection->proof, RONDE_FINDING_WRONG_VALUE, at(inspection, step),
                   "%s reduces, which %s does not", ronde_step_op_text(op),
                   ronde_collective_text(collective));
    if (ronde_step_reads_source(op))
        check_operand(inspection, step, true);
    if (ronde_step_writes(op))
        check_operand(inspection, step, false);
    if (ronde_step_receives(op))
        check_connection(inspection, step, false);
    if (ronde_step_sends(op))
        check_connection(inspection, step, true);
    check_dependencies(inspection, step);
}

/** Lanes are non-empty, in order, and cover the steps. */
static bool check_lanes(const struct inspection *inspection)
{
    const struct ronde_program *program = inspection->program;
    bool is_right = program->lane_first[0] == 0 &&
                    program->lane_first[program->lane_count] == program->step_count;
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        is_right = is_right && program->lane_first[lane] < program->lane_first[lane + 1];
    if (!is_right)
        REFUSE_AT(inspection, RONDE_NONE, "the lanes do not cover the %u steps",
                  program->step_count);
    return is_right;
}

/** Peers exist, no position is its own peer, and no end is listed twice. */
static void check_peers(const struct inspection *inspection, const struct ronde_ends *ends)
{
    const struct ronde_program *program = inspection->program;
    const struct ronde_schedule *schedule = inspection->schedule;
    for (uint32_t i = 0; i < program->connection_count; i++) {
        const uint32_t peer = program->connections[i].peer;
        const uint32_t self = schedule->absolute_peers ? inspection->position : 0;
        if (peer >= schedule->ranks || peer == self)
            REFUSE_AT(inspection, RONDE_NONE, "connection %u leads to %u, which is no other rank",
                      i, peer);
    }
    for (uint32_t i = 1; i < ends->count; i++)
        if (ronde_ends_are_same(&ends->entries[i - 1], &ends->entries[i]))
            REFUSE_AT(inspection, RONDE_NONE, "two connections with peer %u and tag %u",
                      (uint32_t)(ends->entries[i].key >> 32), (uint32_t)ends->entries[i].key);
}

static enum ronde_status check_program(struct inspection *inspection, const struct ronde_mem *mem,
                                       struct ronde_error *error)
{
    const struct ronde_program *program = inspection->program;
    if (program->scratch_chunks > MAX_CHUNKS)
        REFUSE_AT(inspection, RONDE_NONE, "%u scratch chunks are too many", program->scratch_chunks);
    if (!check_lanes(inspection))
        return RONDE_OK;
    const size_t count = program->connection_count;
    struct ronde_ends ends;
    struct ronde_arena *arena = ronde_arena_create(mem);
    inspection->lane_of_connection =
        arena ? ronde_arena_new(arena, count, sizeof *inspection->lane_of_connection) : NULL;
    const bool has_room = inspection->lane_of_connection && ronde_ends_list(&ends, program, arena);
    if (has_room) {
        memset(inspection->lane_of_connection, 0xff, count * sizeof *inspection->lane_of_connection);
        check_peers(inspection, &ends);
        for (uint32_t step = 0; step < program->step_count; step++)
            check_step(inspection, step);
    }
    ronde_arena_destroy(arena);
    return has_room
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory to check %zu connections", count);
}

/** send_recv: sources exist; the pairs are named by rank, so positions must be ranks. */
static void check_sources(const struct ronde_schedule *schedule, struct ronde_proof *proof)
{
    if (schedule->collective != RONDE_SEND_RECV)
        return;
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        if (schedule->channels[k].order)
            REFUSE(proof, "channel %u: send_recv names ranks and takes no order", k);
    for (uint32_t r = 0; schedule->source_of && r < schedule->ranks; r++)
        if (schedule->source_of[r] >= schedule->ranks && schedule->source_of[r] != RONDE_NONE)
            REFUSE(proof, "rank %u receives from %u, which does not exist", r,
                   schedule->source_of[r]);
    if (schedule->source_of && schedule->symmetry != RONDE_SYMMETRY_NONE)
        REFUSE(proof, "listed pairs are not symmetric");
}

static void check_positions(const struct ronde_schedule *schedule, struct ronde_proof *proof)
{
    if ((schedule->symmetry == RONDE_SYMMETRY_NONE) != (schedule->program_of != NULL))
        REFUSE(proof, "a symmetric schedule has one program for all positions");
    if (schedule->symmetry != RONDE_SYMMETRY_NONE && schedule->absolute_peers)
        REFUSE(proof, "a symmetric schedule has no absolute peers");
    for (uint32_t p = 0; schedule->program_of && p < schedule->ranks; p++)
        if (schedule->program_of[p] >= schedule->program_count)
            ronde_find(proof, RONDE_FINDING_BOUNDS,
                       (struct ronde_step_location){NULL, p, RONDE_NONE, RONDE_NONE},
                       "there is no program %u", schedule->program_of[p]);
}

/** First position each program serves, for messages; RONDE_NONE for a program that serves none. */
static void find_positions(const struct ronde_schedule *schedule, uint32_t *out_first)
{
    memset(out_first, 0xff, schedule->program_count * sizeof *out_first);
    if (!schedule->program_of)
        out_first[0] = 0;
    for (uint32_t p = schedule->ranks; schedule->program_of && p-- > 0;)
        if (schedule->program_of[p] < schedule->program_count)
            out_first[schedule->program_of[p]] = p;
}

static enum ronde_status check_programs(const struct ronde_schedule *schedule,
                                        const struct ronde_mem *mem, struct ronde_proof *proof,
                                        struct ronde_error *error)
{
    uint32_t *first = ronde_mem_new(mem, schedule->program_count, sizeof *first);
    if (!first)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to check %u programs",
                          schedule->program_count);
    find_positions(schedule, first);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < schedule->program_count && status == RONDE_OK; i++) {
        struct inspection inspection = {.schedule = schedule,
                                        .program = &schedule->programs[i],
                                        .position = first[i],
                                        .proof = proof};
        status = check_program(&inspection, mem, error);
    }
    ronde_mem_free(mem, first, schedule->program_count, sizeof *first);
    return status;
}

static enum ronde_status check_parts(const struct ronde_schedule *schedule,
                                     const struct ronde_mem *mem, uint8_t *seen,
                                     struct ronde_proof *proof, struct ronde_error *error)
{
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        check_order(schedule, k, seen, proof);
    check_positions(schedule, proof);
    check_sources(schedule, proof);
    if (schedule->symmetry != RONDE_SYMMETRY_NONE)
        check_symmetry(schedule, proof);
    return check_programs(schedule, mem, proof, error);
}

enum ronde_status ronde_check(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                              struct ronde_proof *proof, struct ronde_error *error)
{
    check_header(schedule, proof);
    if (!proof->ok)
        return RONDE_OK;
    uint8_t *seen = ronde_mem_new(mem, schedule->ranks, 1);
    if (!seen)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to check %u ranks", schedule->ranks);
    const enum ronde_status status = check_parts(schedule, mem, seen, proof, error);
    ronde_mem_free(mem, seen, schedule->ranks, 1);
    return status;
}
