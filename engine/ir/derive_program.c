/**
 * One position's program: the passes that turn its facts, in program order, into steps.
 *
 * 1. fuse: a receive and the send behind it in the same lane, of the very chunks it stored, become one step;
 * 2. drop_dead_stores: where nothing reads what such a step keeps, it only passes on;
 * 3. order_lanes: steps are numbered lane by lane, without gaps;
 * 4. ronde_derive_dependencies (depend.c): what lanes wait for in one another;
 * 5. connect and place_operands: connections and ranges in the order of their first use. The last order is canonical:
 * equal behaviour gives equal bytes, by which programs are shared and schedules hashed.
 */
#include "derive.h"

#include <string.h>

enum next_access { NEXT_NONE, NEXT_READ, NEXT_WRITE };

static void set_writer(struct ronde_derivation *derivation, uint32_t proto)
{
    const struct ronde_proto *writer = &derivation->protos[proto];
    if (!ronde_step_writes((enum ronde_step_op)writer->step.op))
        return;
    for (uint32_t item = 0; item < writer->step.chunk_count; item++)
        derivation->cell_writer[ronde_proto_cell(derivation, true, writer, false, item)] = proto;
}

/** Whether `sender` passes on exactly what `receiver`, the step before it in its lane, has just stored. */
static bool can_fuse(const struct ronde_derivation *derivation, uint32_t receiver, uint32_t sender)
{
    const struct ronde_proto *from = &derivation->protos[receiver];
    const struct ronde_proto *to = &derivation->protos[sender];
    if (to->is_apart || (from->step.op != RONDE_STEP_RECV && from->step.op != RONDE_STEP_RRC) ||
        from->step.destination != to->step.source ||
        from->step.chunk_count != to->step.chunk_count || to->step.chunk_count == 0 ||
        memcmp(&from->destination, &to->source, sizeof to->source) != 0)
        return false;
    for (uint32_t item = 0; item < to->step.chunk_count; item++)
        if (derivation->cell_writer[ronde_proto_cell(derivation, true, to, true, item)] != receiver)
            return false;
    return true;
}

/** receive + send of the same chunks becomes one step, so that a hop needs no trip through memory. */
static void fuse(struct ronde_derivation *derivation)
{
    memset(derivation->cell_writer, 0xff, derivation->cells.total * sizeof *derivation->cell_writer);
    uint32_t *last = derivation->lane_scratch;
    memset(last, 0xff, derivation->lane_limit * sizeof *last);
    for (uint32_t i = 0; i < derivation->proto_count; i++) {
        struct ronde_proto *proto = &derivation->protos[i];
        const uint32_t before = last[proto->lane];
        if (proto->step.op == RONDE_STEP_SEND && before != RONDE_NONE &&
            can_fuse(derivation, before, i)) {
            struct ronde_proto *receiver = &derivation->protos[before];
            receiver->step.op =
                receiver->step.op == RONDE_STEP_RECV ? RONDE_STEP_RCS : RONDE_STEP_RRCS;
            receiver->send_peer = proto->send_peer;
            receiver->send_tag = proto->send_tag;
            proto->is_fused_away = true;
            continue;
        }
        set_writer(derivation, i);
        last[proto->lane] = i;
    }
}

/**
 * Whether what a step stores is overwritten, or is scratch and dropped, before any step reads it.
 */
static bool is_dead_store(const struct ronde_derivation *derivation, const struct ronde_proto *proto)
{
    for (uint32_t item = 0; item < proto->step.chunk_count; item++) {
        const uint8_t next =
            derivation->cell_next[ronde_proto_cell(derivation, true, proto, false, item)];
        if (next == NEXT_READ || (next == NEXT_NONE && proto->step.destination != RONDE_SCRATCH))
            return false;
    }
    return true;
}

static void set_next(struct ronde_derivation *derivation, const struct ronde_proto *proto,
                     bool is_source, enum next_access access)
{
    for (uint32_t item = 0; item < proto->step.chunk_count; item++)
        derivation->cell_next[ronde_proto_cell(derivation, true, proto, is_source, item)] =
            (uint8_t)access;
}

/** rcs becomes rs and rrcs becomes rrs where the kept copy is never used. Backwards over the program. */
static void drop_dead_stores(struct ronde_derivation *derivation)
{
    memset(derivation->cell_next, NEXT_NONE, derivation->cells.total);
    for (uint32_t i = derivation->proto_count; i-- > 0;) {
        struct ronde_proto *proto = &derivation->protos[i];
        struct ronde_step *step = &proto->step;
        if (proto->is_fused_away)
            continue;
        const bool is_fused = step->op == RONDE_STEP_RCS || step->op == RONDE_STEP_RRCS;
        if (is_fused && is_dead_store(derivation, proto)) {
            step->op = step->op == RONDE_STEP_RCS ? RONDE_STEP_RS : RONDE_STEP_RRS;
            step->destination = RONDE_BUFFER_COUNT;
        }
        if (ronde_step_writes((enum ronde_step_op)step->op))
            set_next(derivation, proto, false, NEXT_WRITE);
        if (ronde_step_reads_destination((enum ronde_step_op)step->op))
            set_next(derivation, proto, false, NEXT_READ);
        if (ronde_step_reads_source((enum ronde_step_op)step->op))
            set_next(derivation, proto, true, NEXT_READ);
    }
}

/** Numbers the lanes without gaps and the steps lane after lane. */
static void order_lanes(struct ronde_derivation *derivation)
{
    struct ronde_program *program = &derivation->program;
    uint32_t *counts = derivation->lane_scratch;
    memset(counts, 0, (derivation->lane_limit + 1) * sizeof *counts);
    for (uint32_t i = 0; i < derivation->proto_count; i++)
        counts[derivation->protos[i].lane] += !derivation->protos[i].is_fused_away;
    uint32_t first = 0;
    program->lane_count = 0;
    for (uint32_t lane = 0; lane < derivation->lane_limit; lane++) {
        const uint32_t count = counts[lane];
        if (count > 0)
            program->lane_first[program->lane_count++] = first;
        counts[lane] = first;
        first += count;
    }
    program->lane_first[program->lane_count] = first;
    program->step_count = first;
    for (uint32_t i = 0; i < derivation->proto_count; i++) {
        struct ronde_proto *proto = &derivation->protos[i];
        if (proto->is_fused_away)
            continue;
        proto->index = counts[proto->lane]++;
        proto->lane = ronde_program_lane(program, proto->index);
        program->steps[proto->index] = proto->step;
    }
}

static uint32_t hash_end(uint32_t peer, uint32_t tag, bool is_send)
{
    uint64_t hash = ((uint64_t)peer << 33) ^ ((uint64_t)tag << 1) ^ (uint64_t)is_send;
    hash *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32);
}

/** Index of a connection of the program, added on first use. */
static uint32_t connection_index(struct ronde_derivation *derivation, uint32_t peer, uint32_t tag,
                                 bool is_send)
{
    struct ronde_program *program = &derivation->program;
    uint32_t slot = hash_end(peer, tag, is_send) & (derivation->slot_count - 1);
    for (; derivation->slots[slot] != RONDE_NONE; slot = (slot + 1) & (derivation->slot_count - 1)) {
        const struct ronde_connection *have = &program->connections[derivation->slots[slot]];
        if (have->peer == peer && have->tag == tag && have->is_send == is_send)
            return derivation->slots[slot];
    }
    derivation->slots[slot] = program->connection_count;
    struct ronde_connection *connection = &program->connections[program->connection_count];
    memset(connection, 0, sizeof *connection); /* padding too: programs are compared bytewise */
    connection->peer = peer;
    connection->tag = tag;
    connection->is_send = is_send;
    return program->connection_count++;
}

/** Connections in order of first use by steps, the receive before the send: the canonical order. */
static void connect(struct ronde_derivation *derivation, const uint32_t *proto_of)
{
    struct ronde_program *program = &derivation->program;
    program->connection_count = 0;
    memset(derivation->slots, 0xff, derivation->slot_count * sizeof *derivation->slots);
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_proto *proto = &derivation->protos[proto_of[i]];
        struct ronde_step *step = &program->steps[i];
        step->receive = RONDE_NONE;
        step->send = RONDE_NONE;
        if (ronde_step_receives((enum ronde_step_op)step->op))
            step->receive =
                connection_index(derivation, proto->receive_peer, proto->receive_tag, false);
        if (ronde_step_sends((enum ronde_step_op)step->op))
            step->send = connection_index(derivation, proto->send_peer, proto->send_tag, true);
    }
}

/** The chunk number a step stores for an operand: its first chunk, or that of a new range. */
static uint32_t place_operand(struct ronde_program *program,
                              const struct ronde_proto_operand *operand, struct ronde_step *step,
                              uint8_t range_flag)
{
    if (operand->run == 0)
        return operand->first;
    struct ronde_range *range = &program->ranges[program->range_count];
    *range = (struct ronde_range){operand->first, step->chunk_count, operand->run, operand->stride};
    step->flags |= range_flag;
    return program->range_count++;
}

/** Ranges in order of first use by steps, the source's before the destination's: the canonical order. */
static void place_operands(struct ronde_derivation *derivation, const uint32_t *proto_of)
{
    struct ronde_program *program = &derivation->program;
    program->range_count = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_proto *proto = &derivation->protos[proto_of[i]];
        struct ronde_step *step = &program->steps[i];
        if (ronde_step_reads_source((enum ronde_step_op)step->op))
            step->source_chunk =
                place_operand(program, &proto->source, step, RONDE_FLAG_SOURCE_RANGE);
        if (ronde_step_writes((enum ronde_step_op)step->op))
            step->destination_chunk =
                place_operand(program, &proto->destination, step, RONDE_FLAG_DESTINATION_RANGE);
    }
}

enum ronde_status ronde_derive_program(struct ronde_derivation *derivation,
                                       struct ronde_error *error)
{
    fuse(derivation);
    drop_dead_stores(derivation);
    order_lanes(derivation);
    RONDE_TRY(ronde_derive_dependencies(derivation, error));
    /* cell_writer has done its work: it now says which proto became which step */
    uint32_t *proto_of = derivation->cell_writer;
    for (uint32_t i = 0; i < derivation->proto_count; i++)
        if (!derivation->protos[i].is_fused_away)
            proto_of[derivation->protos[i].index] = i;
    connect(derivation, proto_of);
    place_operands(derivation, proto_of);
    return RONDE_OK;
}
