/**
 * Concatenation of two schedules: what the first outputs is the input of the second.
 *
 * The result is derived anew: the steps of both, position by position in an order that respects lanes, dependencies and
 * messages, go through the same passes as an algorithm's facts. So the last receive of the first fuses with the first
 * send of the second (reduce_scatter;all_gather by rings becomes the ring all_reduce), lanes are not joined by barriers
 * but by the dependencies that memory requires, and the whole is proved against the collective it claims to be.
 */
#include "ronde/compose.h"
#include "derive.h"
#include "engine/prove/model.h"
#include "finish.h"

#include <string.h>

/** One of the two, with its steps in a valid order. */
struct half {
    const struct ronde_schedule *schedule;
    struct ronde_model model;
    uint32_t *steps;                              /**< from model.step_base[actor] */
    enum ronde_buffer buffer[RONDE_BUFFER_COUNT]; /**< what its buffers become */
    uint32_t offset[RONDE_BUFFER_COUNT];          /**< chunk its buffers start at */
    uint32_t first_tag;                           /**< added to its tags */
};

/** The composition. */
struct composition {
    struct half halves[2];
    struct ronde_proto_maker maker;
};

static bool have_equal_channels(const struct ronde_schedule *a, const struct ronde_schedule *b)
{
    if (a->channel_count != b->channel_count)
        return false;
    for (uint32_t k = 0; k < a->channel_count; k++) {
        const struct ronde_channel *left = &a->channels[k], *right = &b->channels[k];
        if (left->weight != right->weight)
            return false;
        for (uint32_t q = 0; q < a->ranks; q++)
            if (ronde_channel_rank(left, q) != ronde_channel_rank(right, q))
                return false;
    }
    return true;
}

static uint32_t most_scratch(const struct ronde_schedule *schedule)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < schedule->program_count; i++)
        if (schedule->programs[i].scratch_chunks > most)
            most = schedule->programs[i].scratch_chunks;
    return most;
}

static uint32_t chunks_of(const struct ronde_schedule *schedule, enum ronde_buffer buffer)
{
    return ronde_schedule_chunks(schedule, &schedule->programs[0], buffer);
}

static enum ronde_status check_groups(const struct ronde_schedule *a,
                                      const struct ronde_schedule *b, struct ronde_error *error)
{
    if (a->ranks != b->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "cannot compose %u ranks with %u", a->ranks,
                          b->ranks);
    if (a->symmetry != b->symmetry || a->shape_count != b->shape_count ||
        memcmp(a->shape, b->shape, a->shape_count * sizeof a->shape[0]) != 0 || a->absolute_peers ||
        b->absolute_peers)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "cannot compose %s with %s: their symmetries differ", a->algorithm,
                          b->algorithm);
    if (!have_equal_channels(a, b))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "cannot compose %s with %s: their channels differ", a->algorithm,
                          b->algorithm);
    return RONDE_OK;
}

/** What lies between the halves lives in scratch, followed by the scratch of both. */
static enum ronde_status check_scratch(const struct ronde_schedule *a,
                                       const struct ronde_schedule *b, struct ronde_error *error)
{
    const uint32_t between = chunks_of(a, RONDE_OUT);
    if (between != chunks_of(b, RONDE_IN))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "cannot compose: %s outputs %u chunks, %s takes %u",
                          ronde_collective_text(a->collective), between,
                          ronde_collective_text(b->collective), chunks_of(b, RONDE_IN));
    const bool rotates = a->symmetry != RONDE_SYMMETRY_NONE && a->rotates[RONDE_OUT];
    if (a->symmetry != RONDE_SYMMETRY_NONE &&
        (rotates != b->rotates[RONDE_IN] ||
         (most_scratch(a) > 0 && (rotates || a->rotates[RONDE_SCRATCH])) ||
         (most_scratch(b) > 0 && (rotates || b->rotates[RONDE_SCRATCH]))))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "cannot compose %s with %s: their buffers rotate differently",
                          a->algorithm, b->algorithm);
    return RONDE_OK;
}

/* --- halves -------------------------------------------------------------------------------- */

static uint32_t tag_limit(const struct ronde_schedule *schedule)
{
    uint32_t limit = 0;
    for (uint32_t i = 0; i < schedule->program_count; i++)
        for (uint32_t c = 0; c < schedule->programs[i].connection_count; c++)
            if (schedule->programs[i].connections[c].tag + 1 > limit)
                limit = schedule->programs[i].connections[c].tag + 1;
    return limit;
}

/** Orders the steps of a proved schedule. */
static enum ronde_status open_half(struct half *half, const struct ronde_schedule *schedule,
                                   const struct ronde_mem *mem, struct ronde_error *error)
{
    struct ronde_proof unused = {.ok = true};
    half->schedule = schedule;
    enum ronde_status status =
        ronde_model_create(schedule, schedule->symmetry != RONDE_SYMMETRY_NONE, NULL, mem, &unused,
                           &half->model, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_arena *arena = half->model.arena;
    const uint32_t actors = half->model.actors;
    uint32_t *dealt = ronde_arena_new(arena, actors, sizeof *dealt);
    half->steps = ronde_arena_new(arena, half->model.step_base[actors], sizeof *half->steps);
    if (!dealt || !half->steps)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to compose %s", schedule->algorithm);
    ronde_model_complete(&half->model, 0);
    ronde_model_deal(&half->model, dealt, half->steps);
    return RONDE_OK;
}

static uint32_t count_steps(const void *self, uint32_t position)
{
    const struct composition *composition = self;
    uint32_t count = 0;
    for (unsigned h = 0; h < 2; h++) {
        const uint32_t *base = composition->halves[h].model.step_base;
        count += base[position + 1] - base[position];
    }
    return count;
}

static struct ronde_proto_operand make_operand(const struct half *half,
                                               const struct ronde_program *program,
                                               const struct ronde_step *step, bool is_source)
{
    const uint8_t flag = is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE;
    const uint32_t chunk = is_source ? step->source_chunk : step->destination_chunk;
    const uint32_t offset = half->offset[is_source ? step->source : step->destination];
    if (!(step->flags & flag))
        return (struct ronde_proto_operand){chunk + offset, 0, 0};
    const struct ronde_range *range = &program->ranges[chunk];
    return (struct ronde_proto_operand){range->first + offset, range->run, range->stride};
}

static void make_proto(const struct half *half, const struct ronde_program *program, uint32_t index,
                       struct ronde_proto *proto)
{
    const struct ronde_step *step = &program->steps[index];
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    memset(proto, 0, sizeof *proto);
    proto->step.op = step->op;
    proto->step.chunk_count = step->chunk_count;
    proto->step.source = RONDE_BUFFER_COUNT;
    proto->step.destination = RONDE_BUFFER_COUNT;
    proto->lane = ronde_program_lane(program, index);
    if (ronde_step_reads_source(op)) {
        proto->step.source = (uint8_t)half->buffer[step->source];
        proto->source = make_operand(half, program, step, true);
    }
    if (ronde_step_writes(op)) {
        proto->step.destination = (uint8_t)half->buffer[step->destination];
        proto->destination = make_operand(half, program, step, false);
    }
    if (ronde_step_sends(op)) {
        proto->send_peer = program->connections[step->send].peer;
        proto->send_tag = program->connections[step->send].tag + half->first_tag;
    }
    if (ronde_step_receives(op)) {
        proto->receive_peer = program->connections[step->receive].peer;
        proto->receive_tag = program->connections[step->receive].tag + half->first_tag;
    }
}

static void make_protos(const void *self, uint32_t position, struct ronde_proto *protos)
{
    const struct composition *composition = self;
    for (unsigned h = 0; h < 2; h++) {
        const struct half *half = &composition->halves[h];
        const struct ronde_program *program = ronde_model_view(&half->model, position).program;
        const uint32_t *mine = half->steps + half->model.step_base[position];
        for (uint32_t i = 0; i < program->step_count; i++)
            make_proto(half, program, mine[i], protos++);
    }
}

/* --- the whole ----------------------------------------------------------------------------- */

/** Where the buffers of both go. */
static void place_buffers(struct composition *composition)
{
    struct half *first = &composition->halves[0], *second = &composition->halves[1];
    const uint32_t between = chunks_of(first->schedule, RONDE_OUT);
    first->buffer[RONDE_IN] = RONDE_IN;
    first->buffer[RONDE_OUT] = RONDE_SCRATCH;
    first->buffer[RONDE_SCRATCH] = RONDE_SCRATCH;
    first->offset[RONDE_SCRATCH] = between;
    second->buffer[RONDE_IN] = RONDE_SCRATCH;
    second->buffer[RONDE_OUT] = RONDE_OUT;
    second->buffer[RONDE_SCRATCH] = RONDE_SCRATCH;
    second->offset[RONDE_SCRATCH] = between + most_scratch(first->schedule);
    second->first_tag = tag_limit(first->schedule);
}

static void declare_channels(struct ronde_builder *builder, const struct ronde_schedule *schedule)
{
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        ronde_builder_channel(builder, schedule->channels[k].weight, schedule->channels[k].order);
}

/** The header of the whole. The chunks of the first's input are those of the whole's. */
static void declare(struct ronde_builder *builder, const struct composition *composition)
{
    const struct ronde_schedule *first = composition->halves[0].schedule;
    const struct ronde_schedule *second = composition->halves[1].schedule;
    struct ronde_schedule *whole = builder->schedule;
    const uint32_t blocks = ronde_collective_in_blocks(whole->collective, whole->ranks);
    const uint32_t chunks = chunks_of(first, RONDE_IN);
    const uint32_t each = blocks > 0 && chunks % blocks == 0 ? chunks / blocks : 0;
    if (each == 0 || each * ronde_collective_out_blocks(whole->collective, whole->ranks) !=
                         chunks_of(second, RONDE_OUT))
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT, "%s;%s is no %s: %u chunks in, %u out",
                           ronde_collective_text(first->collective),
                           ronde_collective_text(second->collective),
                           ronde_collective_text(whole->collective), chunks,
                           chunks_of(second, RONDE_OUT));
    ronde_builder_chunks(builder, each);
    ronde_builder_scratch(builder,
                          chunks_of(first, RONDE_OUT) + most_scratch(first) + most_scratch(second));
    declare_channels(builder, first);
    whole->symmetry = first->symmetry;
    whole->shape_count = first->shape_count;
    memcpy(whole->shape, first->shape, sizeof whole->shape);
    whole->rotates[RONDE_IN] = first->rotates[RONDE_IN];
    whole->rotates[RONDE_OUT] = second->rotates[RONDE_OUT];
    whole->rotates[RONDE_SCRATCH] = first->rotates[RONDE_OUT];
    whole->allow_dead_work = first->allow_dead_work || second->allow_dead_work;
}

static enum ronde_status build(struct composition *composition, enum ronde_collective collective,
                               const struct ronde_mem *mem, struct ronde_schedule **out_schedule,
                               struct ronde_error *error)
{
    const struct ronde_schedule *first = composition->halves[0].schedule;
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = "composed",
                                                  .ranks = first->ranks,
                                                  .root = first->root};
    struct ronde_builder *builder = NULL;
    enum ronde_status status = ronde_builder_create(&request, mem, &builder, error);
    if (status != RONDE_OK)
        return status;
    builder->base_orders = NULL; /* the channels bring whole orders */
    place_buffers(composition);
    declare(builder, composition);
    const uint32_t lanes[2] = {first->max_lane_count,
                               composition->halves[1].schedule->max_lane_count};
    composition->maker = (struct ronde_proto_maker){composition, count_steps, make_protos,
                                                    lanes[0] > lanes[1] ? lanes[0] : lanes[1]};
    builder->maker = &composition->maker;
    return ronde_schedule_finish(builder, NULL, out_schedule, error);
}

enum ronde_status
ronde_schedule_compose(const struct ronde_schedule *first, const struct ronde_schedule *second,
                       enum ronde_collective collective, const struct ronde_mem *mem,
                       struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct composition composition = {0};
    *out_schedule = NULL;
    enum ronde_status status = check_groups(first, second, error);
    if (status == RONDE_OK)
        status = check_scratch(first, second, error);
    if (status == RONDE_OK)
        status = open_half(&composition.halves[0], first, mem, error);
    if (status == RONDE_OK)
        status = open_half(&composition.halves[1], second, mem, error);
    if (status == RONDE_OK)
        status = build(&composition, collective, mem, out_schedule, error);
    ronde_model_destroy(&composition.halves[0].model);
    ronde_model_destroy(&composition.halves[1].model);
    return status;
}
