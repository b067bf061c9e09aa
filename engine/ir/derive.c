/**
 * From facts to programs: tags, one derivation per position, equal programs shared.
 *
 * A fact is one transfer, copy or reduction as an algorithm states it, with both ends. Here it is cut into what each
 * position does of it: parts, bucketed by position in the order of statement, which is the program order that
 * derive_program.c turns into lanes, dependencies and connections. Peers become offsets, and operands are seen from
 * the position, so positions that do alike get equal programs; a hash table keeps one of each. Under a symmetry facts
 * are stated for position 0 alone, which then sends and receives both halves of each.
 *
 * A tag tells connections between the same two positions apart: facts of the same pair of lanes share one, since a
 * connection has one lane at each end.
 */
#include "derive.h"

#include "finish.h"

#include <stdlib.h>
#include <string.h>

/** Largest lane number an algorithm may use. */
#define MAX_LANES (1u << 21)

/** What a position does in a fact. */
struct part {
    uint32_t fact;
    bool is_receiver;
};

/** The whole translation. */
struct derive {
    struct ronde_builder *builder;
    struct ronde_arena *arena; /**< temporary */
    uint32_t positions;        /**< 1 when symmetric */
    uint32_t *first_part;      /**< positions + 1 */
    struct part *parts;        /**< by position, in program order */
    struct ronde_derivation derivation;
    uint32_t *program_slots; /**< hash table of distinct programs */
    uint32_t slot_count;
    size_t program_capacity;
};

/* --- tags: a connection has one lane at each end ------------------------------------------- */

/** Orders facts by (from, to), then by statement. */
static int compare_pairs(const void *left, const void *right)
{
    const struct ronde_fact *a = *(const struct ronde_fact *const *)left;
    const struct ronde_fact *b = *(const struct ronde_fact *const *)right;
    if (a->transfer.from != b->transfer.from)
        return a->transfer.from < b->transfer.from ? -1 : 1;
    if (a->transfer.to != b->transfer.to)
        return a->transfer.to < b->transfer.to ? -1 : 1;
    return a < b ? -1 : a > b;
}

/** Tag of a fact among the earlier ones of its pair [first, current): same lanes, same tag. */
static uint32_t tag_of(struct ronde_fact *const *facts, size_t first, size_t current)
{
    const struct ronde_transfer *transfer = &facts[current]->transfer;
    uint32_t tags = 0;
    for (size_t i = current; i-- > first;) {
        if (facts[i]->transfer.from_lane == transfer->from_lane &&
            facts[i]->transfer.to_lane == transfer->to_lane)
            return facts[i]->tag;
        if (facts[i]->tag + 1 > tags)
            tags = facts[i]->tag + 1;
    }
    return tags;
}

static bool assign_tags(struct derive *derive)
{
    struct ronde_builder *builder = derive->builder;
    if (derive->derivation.lane_limit < 2)
        return true;
    struct ronde_fact **facts = ronde_arena_new(derive->arena, builder->fact_count, sizeof *facts);
    if (!facts)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < builder->fact_count; i++)
        if (builder->facts[i].kind == RONDE_FACT_TRANSFER)
            facts[count++] = &builder->facts[i];
    qsort(facts, count, sizeof *facts, compare_pairs);
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        if (facts[i]->transfer.from != facts[first]->transfer.from ||
            facts[i]->transfer.to != facts[first]->transfer.to)
            first = i;
        facts[i]->tag = tag_of(facts, first, i);
    }
    return true;
}

/*
 * --- parts of each position
 * -------------------------------------------------------------------------
 */

static uint32_t receiver_of(const struct derive *derive, const struct ronde_fact *fact)
{
    return derive->positions == 1 ? 0 : fact->transfer.to;
}

/** One past the last fact of the round that fact `first` opens; a fact outside rounds is alone. */
static size_t round_end(const struct ronde_builder *builder, size_t first)
{
    size_t end = first + 1;
    while (builder->facts[first].round != 0 && end < builder->fact_count &&
           builder->facts[end].round == builder->facts[first].round)
        end++;
    return end;
}

/** Buckets the parts of all facts by position, keeping the order of statement. */
static bool collect_parts(struct derive *derive)
{
    const struct ronde_builder *builder = derive->builder;
    uint32_t *first = ronde_arena_new(derive->arena, (size_t)derive->positions + 2, sizeof *first);
    derive->parts = ronde_arena_new(derive->arena, builder->fact_count * 2, sizeof *derive->parts);
    if (!first || !derive->parts)
        return false;
    for (size_t i = 0; i < builder->fact_count; i++) {
        const struct ronde_fact *fact = &builder->facts[i];
        first[fact->transfer.from + 2]++;
        if (fact->kind == RONDE_FACT_TRANSFER)
            first[receiver_of(derive, fact) + 2]++;
    }
    for (uint32_t position = 0; position < derive->positions; position++)
        first[position + 2] += first[position + 1];
    for (size_t i = 0; i < builder->fact_count;) {
        const size_t end = round_end(builder, i);
        for (size_t sent = i; sent < end; sent++)
            derive->parts[first[builder->facts[sent].transfer.from + 1]++] =
                (struct part){(uint32_t)sent, false};
        for (; i < end; i++)
            if (builder->facts[i].kind == RONDE_FACT_TRANSFER)
                derive->parts[first[receiver_of(derive, &builder->facts[i]) + 1]++] =
                    (struct part){(uint32_t)i, true};
    }
    derive->first_part = first;
    return true;
}

/** First chunk of an operand stated in the receiver's coordinates, seen from position 0 under a symmetry. */
static uint32_t shifted(const struct derive *derive, struct ronde_operand operand, uint32_t to)
{
    const struct ronde_schedule *schedule = derive->builder->schedule;
    if (schedule->symmetry == RONDE_SYMMETRY_NONE || !schedule->rotates[operand.buffer])
        return operand.first;
    const uint32_t parts = derive->derivation.cells.chunks[operand.buffer] / schedule->ranks;
    const uint32_t digit =
        ronde_group_add(schedule, operand.first / parts, ronde_group_negate(schedule, to));
    return digit * parts + operand.first % parts;
}

static void set_source(struct ronde_proto *proto, struct ronde_operand operand, uint32_t first)
{
    proto->step.source = (uint8_t)operand.buffer;
    proto->source = (struct ronde_proto_operand){first, operand.run, operand.stride};
}

static void set_destination(struct ronde_proto *proto, struct ronde_operand operand, uint32_t first)
{
    proto->step.destination = (uint8_t)operand.buffer;
    proto->destination = (struct ronde_proto_operand){first, operand.run, operand.stride};
}

static void make_receiver(const struct derive *derive, const struct ronde_fact *fact,
                          struct ronde_proto *proto)
{
    const struct ronde_transfer *transfer = &fact->transfer;
    const struct ronde_schedule *schedule = derive->builder->schedule;
    proto->step.op = transfer->reduces ? RONDE_STEP_RRC : RONDE_STEP_RECV;
    proto->lane = transfer->to_lane;
    proto->receive_peer =
        ronde_group_add(schedule, transfer->from, ronde_group_negate(schedule, transfer->to));
    proto->receive_tag = fact->tag;
    set_destination(proto, transfer->target, shifted(derive, transfer->target, transfer->to));
    if (transfer->reduces)
        set_source(proto, transfer->with, shifted(derive, transfer->with, transfer->to));
}

static void make_sender(const struct derive *derive, const struct ronde_fact *fact,
                        struct ronde_proto *proto)
{
    const struct ronde_transfer *transfer = &fact->transfer;
    const struct ronde_schedule *schedule = derive->builder->schedule;
    proto->step.op = RONDE_STEP_SEND;
    if (fact->kind != RONDE_FACT_TRANSFER) {
        proto->step.op = fact->kind == RONDE_FACT_COPY ? RONDE_STEP_COPY : RONDE_STEP_REDUCE;
        set_destination(proto, transfer->target, transfer->target.first);
    } else {
        proto->send_peer =
            ronde_group_add(schedule, transfer->to, ronde_group_negate(schedule, transfer->from));
        proto->send_tag = fact->tag;
        proto->is_apart = transfer->is_apart;
    }
    proto->lane = transfer->from_lane;
    set_source(proto, transfer->source, transfer->source.first);
}

/** Steps of a position before any pass. */
static uint32_t part_count(const struct derive *derive, uint32_t position)
{
    return derive->first_part[position + 1] - derive->first_part[position];
}

static void make_protos(struct derive *derive, uint32_t position)
{
    struct ronde_derivation *derivation = &derive->derivation;
    const uint32_t first = derive->first_part[position];
    derivation->cells.position = position;
    derivation->cells.block = position;
    derivation->proto_count = part_count(derive, position);
    for (uint32_t i = 0; i < derivation->proto_count; i++) {
        const struct part part = derive->parts[first + i];
        const struct ronde_fact *fact = &derive->builder->facts[part.fact];
        struct ronde_proto *proto = &derivation->protos[i];
        memset(proto, 0, sizeof *proto);
        proto->step.source = RONDE_BUFFER_COUNT;
        proto->step.destination = RONDE_BUFFER_COUNT;
        proto->step.chunk_count = fact->transfer.source.count;
        if (part.is_receiver)
            make_receiver(derive, fact, proto);
        else
            make_sender(derive, fact, proto);
    }
}

/* --- sharing equal programs ---------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_program(const struct ronde_program *program)
{
    uint64_t hash = 0xcbf29ce484222325u;
    hash = hash_bytes(hash, program->steps, program->step_count * sizeof *program->steps);
    hash = hash_bytes(hash, program->ranges, program->range_count * sizeof *program->ranges);
    hash = hash_bytes(hash, program->lane_first,
                      (program->lane_count + (size_t)1) * sizeof *program->lane_first);
    return hash_bytes(hash, program->connections,
                      program->connection_count * sizeof *program->connections);
}

/** Arrays without elements may be NULL. */
static bool are_same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool are_equal(const struct ronde_program *a, const struct ronde_program *b)
{
    return a->step_count == b->step_count && a->lane_count == b->lane_count &&
           a->connection_count == b->connection_count &&
           a->dependency_count == b->dependency_count && a->range_count == b->range_count &&
           are_same(a->steps, b->steps, a->step_count * sizeof *a->steps) &&
           are_same(a->ranges, b->ranges, a->range_count * sizeof *a->ranges) &&
           are_same(a->lane_first, b->lane_first,
                    (a->lane_count + (size_t)1) * sizeof *a->lane_first) &&
           are_same(a->connections, b->connections, a->connection_count * sizeof *a->connections) &&
           are_same(a->dependencies, b->dependencies, a->dependency_count * sizeof *a->dependencies);
}

/** Whether fusing left any step that keeps something in scratch. */
static bool touches_scratch(const struct ronde_program *program)
{
    for (uint32_t s = 0; s < program->step_count; s++)
        if (program->steps[s].source == RONDE_SCRATCH ||
            program->steps[s].destination == RONDE_SCRATCH)
            return true;
    return false;
}

/** Copies the derivation's program into the schedule as program `index`. */
static bool keep_program(struct derive *derive, uint32_t index)
{
    struct ronde_schedule *schedule = derive->builder->schedule;
    const struct ronde_program *from = &derive->derivation.program;
    if (!ronde_mem_grow(derive->builder->mem, &schedule->programs, &derive->program_capacity,
                        (size_t)index + 1, sizeof *from))
        return false;
    struct ronde_program *to = &schedule->programs[index];
    if (!ronde_program_copy(schedule->arena, to, from))
        return false;
    to->scratch_chunks = touches_scratch(from) ? derive->builder->scratch_chunks : 0;
    schedule->program_count = index + 1;
    return true;
}

/** Finds or keeps the derivation's program; false when there is no memory. */
static bool share_program(struct derive *derive, uint32_t *out_index)
{
    const struct ronde_schedule *schedule = derive->builder->schedule;
    const uint32_t mask = derive->slot_count - 1;
    uint32_t slot = (uint32_t)(hash_program(&derive->derivation.program) >> 20) & mask;
    for (; derive->program_slots[slot] != RONDE_NONE; slot = (slot + 1) & mask) {
        *out_index = derive->program_slots[slot];
        if (are_equal(&schedule->programs[*out_index], &derive->derivation.program))
            return true;
    }
    *out_index = schedule->program_count;
    derive->program_slots[slot] = *out_index;
    return keep_program(derive, *out_index);
}

/* --- room ---------------------------------------------------------------------------------- */

static uint32_t power_of_two_above(uint64_t count)
{
    uint32_t power = 16;
    while (power < count * 2 && power < (1u << 31))
        power *= 2;
    return power;
}

static enum ronde_status find_lane_limit(struct derive *derive, struct ronde_error *error)
{
    uint32_t limit = 0;
    for (size_t i = 0; i < derive->builder->fact_count; i++) {
        const struct ronde_transfer *transfer = &derive->builder->facts[i].transfer;
        limit = transfer->from_lane > limit ? transfer->from_lane : limit;
        limit = transfer->to_lane > limit ? transfer->to_lane : limit;
    }
    if (limit >= MAX_LANES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "lane %u is not below %u", limit, MAX_LANES);
    derive->derivation.lane_limit = limit + 1;
    return RONDE_OK;
}

/** Whether any operand is strided; few are, and a ring of 16,384 should not pay for them. */
static bool may_have_ranges(const struct derive *derive)
{
    const struct ronde_builder *builder = derive->builder;
    for (size_t i = 0; i < builder->fact_count; i++)
        if (builder->facts[i].transfer.source.run > 0 || builder->facts[i].transfer.with.run > 0 ||
            builder->facts[i].transfer.target.run > 0)
            return true;
    return false;
}

/** Allocates what deriving the largest position needs. */
static bool make_room(struct derive *derive)
{
    struct ronde_derivation *derivation = &derive->derivation;
    struct ronde_arena *arena = derive->arena;
    uint32_t most = 1;
    for (uint32_t p = 0; p < derive->positions; p++)
        if (part_count(derive, p) > most)
            most = part_count(derive, p);
    const size_t cells = derivation->cells.total > most ? derivation->cells.total : most;
    derivation->slot_count = power_of_two_above((uint64_t)most * 2);
    derivation->protos = ronde_arena_new(arena, most, sizeof *derivation->protos);
    derivation->lane_scratch = ronde_arena_new(arena, (size_t)derivation->lane_limit + 1,
                                               sizeof *derivation->lane_scratch);
    derivation->cell_writer = ronde_arena_new(arena, 2 * cells, sizeof *derivation->cell_writer);
    derivation->cell_readers = ronde_arena_new(arena, 2 * cells, sizeof *derivation->cell_readers);
    derivation->cell_next = ronde_arena_new(arena, cells, sizeof *derivation->cell_next);
    derivation->slots = ronde_arena_new(arena, derivation->slot_count, sizeof *derivation->slots);
    struct ronde_program *program = &derivation->program;
    program->steps = ronde_arena_new(arena, most, sizeof *program->steps);
    program->lane_first = ronde_arena_new(arena, most + (size_t)1, sizeof *program->lane_first);
    program->connections = ronde_arena_new(arena, (size_t)most * 2, sizeof *program->connections);
    program->ranges = ronde_arena_new(arena, may_have_ranges(derive) ? (size_t)most * 2 : 0,
                                      sizeof *program->ranges);
    derive->slot_count = power_of_two_above(derive->positions);
    derive->program_slots =
        ronde_arena_new(arena, derive->slot_count, sizeof *derive->program_slots);
    if (derive->program_slots)
        memset(derive->program_slots, 0xff, derive->slot_count * sizeof *derive->program_slots);
    return derivation->protos && derivation->lane_scratch && derivation->cell_writer &&
           derivation->cell_readers && derivation->cell_next && derivation->slots &&
           program->steps && program->lane_first && program->connections && program->ranges &&
           derive->program_slots;
}

/** The programs move from a growing array into the arena. */
static bool settle_programs(struct derive *derive, bool is_kept)
{
    struct ronde_schedule *schedule = derive->builder->schedule;
    struct ronde_program *grown = schedule->programs;
    schedule->programs = NULL;
    if (is_kept)
        schedule->programs =
            ronde_arena_new(schedule->arena, schedule->program_count, sizeof *grown);
    if (schedule->programs)
        memcpy(schedule->programs, grown, schedule->program_count * sizeof *grown);
    ronde_mem_free(derive->builder->mem, grown, derive->program_capacity, sizeof *grown);
    return schedule->programs != NULL;
}

static enum ronde_status derive_positions(struct derive *derive, struct ronde_error *error)
{
    struct ronde_schedule *schedule = derive->builder->schedule;
    if (derive->positions > 1 || schedule->symmetry == RONDE_SYMMETRY_NONE) {
        schedule->program_of =
            ronde_arena_new(schedule->arena, schedule->ranks, sizeof *schedule->program_of);
        if (!schedule->program_of)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u positions", schedule->ranks);
    }
    for (uint32_t position = 0; position < derive->positions; position++) {
        uint32_t index = 0;
        make_protos(derive, position);
        RONDE_TRY(ronde_derive_program(&derive->derivation, error));
        if (!share_program(derive, &index))
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for program %u",
                              schedule->program_count);
        if (schedule->program_of)
            schedule->program_of[position] = index;
    }
    return RONDE_OK;
}

static void release(struct derive *derive)
{
    const struct ronde_mem *mem = derive->builder->mem;
    struct ronde_derivation *derivation = &derive->derivation;
    ronde_mem_free(mem, derivation->clock, derivation->clock_capacity, sizeof(uint32_t));
    ronde_mem_free(mem, derivation->readers, derivation->reader_capacity, 2 * sizeof(uint32_t));
    ronde_mem_free(mem, derivation->program.dependencies, derivation->dependency_capacity,
                   sizeof(uint32_t));
    ronde_arena_destroy(derive->arena);
}

enum ronde_status ronde_derive(struct ronde_builder *builder, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = builder->schedule;
    const struct ronde_program shape = {.scratch_chunks = builder->scratch_chunks};
    struct derive derive = {.builder = builder, .arena = ronde_arena_create(builder->mem)};
    derive.positions = schedule->symmetry == RONDE_SYMMETRY_NONE ? schedule->ranks : 1;
    derive.derivation.builder = builder;
    derive.derivation.cells = ronde_cells_of(schedule, &shape, 0, 0);
    enum ronde_status status = find_lane_limit(&derive, error);
    if (status == RONDE_OK &&
        (!derive.arena || !assign_tags(&derive) || !collect_parts(&derive) || !make_room(&derive)))
        status =
            ronde_fail(error, RONDE_NO_MEMORY, "no memory to derive %u programs", derive.positions);
    RONDE_THEN(status, derive_positions(&derive, error));
    if (!settle_programs(&derive, status == RONDE_OK) && status == RONDE_OK)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u programs",
                            schedule->program_count);
    release(&derive);
    return status;
}
