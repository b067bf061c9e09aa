/**
 * Dependencies between the lanes of a position, from what each step reads and writes in program order.
 *
 * A step depends on the last write of every cell it touches and, where it writes, on all reads since. Steps of its
 * own lane need no dependency. Of each other lane only the last such step is wanted, since lanes run in order; and
 * what the lane before it, or another wanted step, implies is left out: each step has a clock, per lane one more than
 * the last step it is behind, as in races.c. In place and out of place have cells of their own, and one program
 * serves both, so the dependencies are those of both. Time: items, and lanes squared for each step; memory: a number
 * a step and lane.
 */
#include "derive.h"

#include <string.h>

/** A step that has read a cell since its last write. */
struct ronde_reader {
    uint32_t step;
    uint32_t next; /**< in the cell's list */
};

/** The walk over one program. */
struct walk {
    struct ronde_derivation *derivation;
    uint32_t lane;    /**< of the current step */
    uint32_t *wanted; /**< per lane: one more than the last step the current one conflicts with */
    uint32_t reader_count;
};

static void want(struct walk *walk, uint32_t step)
{
    const struct ronde_program *program = &walk->derivation->program;
    const uint32_t lane = ronde_program_lane(program, step);
    if (lane != walk->lane && walk->wanted[lane] < step + 1)
        walk->wanted[lane] = step + 1;
}

static bool note_read(struct walk *walk, uint32_t cell, uint32_t step)
{
    struct ronde_derivation *derivation = walk->derivation;
    if (derivation->cell_writer[cell] != RONDE_NONE)
        want(walk, derivation->cell_writer[cell]);
    if (!ronde_mem_grow(derivation->builder->mem, &derivation->readers, &derivation->reader_capacity,
                        (size_t)walk->reader_count + 1, sizeof *derivation->readers))
        return false;
    derivation->readers[walk->reader_count].step = step;
    derivation->readers[walk->reader_count].next = derivation->cell_readers[cell];
    derivation->cell_readers[cell] = walk->reader_count++;
    return true;
}

static void note_write(struct walk *walk, uint32_t cell, uint32_t step)
{
    struct ronde_derivation *derivation = walk->derivation;
    if (derivation->cell_writer[cell] != RONDE_NONE)
        want(walk, derivation->cell_writer[cell]);
    for (uint32_t reader = derivation->cell_readers[cell]; reader != RONDE_NONE;
         reader = derivation->readers[reader].next)
        want(walk, derivation->readers[reader].step);
    derivation->cell_readers[cell] = RONDE_NONE;
    derivation->cell_writer[cell] = step;
}

/** One item of a step under one placement; the placements have cells of their own. */
static bool note_item(struct walk *walk, const struct ronde_proto *proto, bool in_place,
                      uint32_t item)
{
    const struct ronde_derivation *derivation = walk->derivation;
    const enum ronde_step_op op = (enum ronde_step_op)proto->step.op;
    const uint32_t offset = in_place ? derivation->cells.total : 0;
    const bool reads = ronde_step_reads_source(op), writes = ronde_step_writes(op);
    const uint32_t source =
        reads ? ronde_proto_cell(derivation, in_place, proto, true, item) : RONDE_NONE;
    const uint32_t destination =
        writes ? ronde_proto_cell(derivation, in_place, proto, false, item) : RONDE_NONE;
    if (ronde_is_copy_onto_itself(derivation->builder->schedule, op, source, destination))
        return true;
    if (reads && !note_read(walk, offset + source, proto->index))
        return false;
    if (writes)
        note_write(walk, offset + destination, proto->index);
    return true;
}

static bool note_accesses(struct walk *walk, const struct ronde_proto *proto)
{
    const struct ronde_schedule *schedule = walk->derivation->builder->schedule;
    for (unsigned in_place = 0; in_place < 2; in_place++) {
        if (!ronde_schedule_has_form(schedule, in_place == 1))
            continue;
        for (uint32_t item = 0; item < proto->step.chunk_count; item++)
            if (!note_item(walk, proto, in_place == 1, item))
                return false;
    }
    return true;
}

static void join(uint32_t *clock, const uint32_t *other, uint32_t lanes)
{
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (clock[lane] < other[lane])
            clock[lane] = other[lane];
}

static bool add_dependency(struct ronde_derivation *derivation, struct ronde_step *step,
                           uint32_t dependency)
{
    struct ronde_program *program = &derivation->program;
    if (!ronde_mem_grow(derivation->builder->mem, &program->dependencies,
                        &derivation->dependency_capacity, (size_t)program->dependency_count + 1,
                        sizeof *program->dependencies))
        return false;
    program->dependencies[program->dependency_count++] = dependency;
    step->dependency_count++;
    return true;
}

/** Keeps the wanted steps that no kept one implies, and advances the step's clock. */
static bool settle(struct walk *walk, const struct ronde_proto *proto)
{
    struct ronde_derivation *derivation = walk->derivation;
    struct ronde_program *program = &derivation->program;
    const uint32_t lanes = program->lane_count;
    uint32_t *clock = derivation->clock + (size_t)proto->index * lanes;
    if (proto->index > program->lane_first[proto->lane])
        memcpy(clock, clock - lanes, lanes * sizeof *clock);
    else
        memset(clock, 0, lanes * sizeof *clock);
    struct ronde_step *step = &program->steps[proto->index];
    step->first_dependency = program->dependency_count;
    /* a dependency of another wanted lane may imply this one: take the implying ones first */
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t lane = 0; lane < lanes; lane++) {
            const uint32_t end = walk->wanted[lane];
            if (end == 0 || clock[lane] >= end)
                continue;
            bool is_implied = false;
            for (uint32_t other = 0; other < lanes && pass == 0 && !is_implied; other++)
                is_implied =
                    other != lane && walk->wanted[other] != 0 &&
                    derivation->clock[(size_t)(walk->wanted[other] - 1) * lanes + lane] >= end;
            if (is_implied)
                continue;
            if (!add_dependency(derivation, step, end - 1))
                return false;
            join(clock, derivation->clock + (size_t)(end - 1) * lanes, lanes);
        }
    }
    clock[proto->lane] = proto->index + 1;
    return true;
}

static void reset(struct ronde_derivation *derivation)
{
    const size_t cells = 2 * (size_t)derivation->cells.total;
    memset(derivation->cell_writer, 0xff, cells * sizeof *derivation->cell_writer);
    memset(derivation->cell_readers, 0xff, cells * sizeof *derivation->cell_readers);
    derivation->program.dependency_count = 0;
}

enum ronde_status ronde_derive_dependencies(struct ronde_derivation *derivation,
                                            struct ronde_error *error)
{
    const struct ronde_program *program = &derivation->program;
    reset(derivation);
    if (program->lane_count < 2)
        return RONDE_OK;
    if (!ronde_mem_grow(derivation->builder->mem, &derivation->clock, &derivation->clock_capacity,
                        (size_t)program->step_count * program->lane_count, sizeof *derivation->clock))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the clocks of %u lanes",
                          program->lane_count);
    struct walk walk = {.derivation = derivation, .wanted = derivation->lane_scratch};
    for (uint32_t i = 0; i < derivation->proto_count; i++) {
        const struct ronde_proto *proto = &derivation->protos[i];
        if (proto->is_fused_away)
            continue;
        walk.lane = proto->lane;
        memset(walk.wanted, 0, program->lane_count * sizeof *walk.wanted);
        if (!note_accesses(&walk, proto) || !settle(&walk, proto))
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for dependencies");
    }
    return RONDE_OK;
}
