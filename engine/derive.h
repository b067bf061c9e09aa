/**
 * From the facts of one position to its program: fuse, drop dead stores, order lanes, derive dependencies, connect.
 */
#ifndef RONDE_ENGINE_DERIVE_H
#define RONDE_ENGINE_DERIVE_H

#include "arena.h"
#include "facts.h"
#include "place.h"
#include "ronde/cursor.h"

/** A step in the making; operands are contiguous, `step.flags` is empty. */
struct ronde_proto {
    struct ronde_step step;
    uint32_t lane;         /**< the algorithm's number, later the compact one */
    uint32_t index;        /**< final step index */
    uint32_t send_peer;    /**< offset */
    uint32_t send_tag;     /**< of its connection */
    uint32_t receive_peer; /**< offset */
    uint32_t receive_tag;  /**< of its connection */
    bool is_fused_away;    /**< its work is done by the step before it in its lane */
};

/** Room for deriving any position of a schedule, reused from position to position. */
struct ronde_derivation {
    const struct ronde_builder *builder;
    struct ronde_arena *arena; /**< temporary */
    struct ronde_cells cells; /**< of the position being derived */
    uint32_t proto_count;
    struct ronde_proto *protos;   /**< in program order */
    uint32_t lane_limit;          /**< one more than the largest lane number of any fact */
    uint32_t *lane_scratch;       /**< lane_limit + 1 entries */
    uint32_t *cell_writer;        /**< per placement and cell: proto or step */
    uint32_t *cell_readers;       /**< per placement and cell: head of a list in readers */
    uint8_t *cell_next;           /**< per cell: what happens to it next */
    struct ronde_program program; /**< the result; arrays reused */
    size_t dependency_capacity;
    uint32_t *clock; /**< steps x lanes, grown on demand */
    size_t clock_capacity;
    struct ronde_reader *readers;
    size_t reader_capacity;
    uint32_t *slots; /**< hash table of connections */
    uint32_t slot_count;
};

/** Derives `program` from `protos`. Errors: NO_MEMORY. */
enum ronde_status ronde_derive_program(struct ronde_derivation *derivation,
                                       struct ronde_error *error);

/** Fills in dependencies between lanes (depend.c). Errors: NO_MEMORY. */
enum ronde_status ronde_derive_dependencies(struct ronde_derivation *derivation,
                                            struct ronde_error *error);

/** Absolute chunk of item `item` of a contiguous operand. */
static inline uint32_t ronde_proto_chunk(const struct ronde_derivation *derivation,
                                         enum ronde_buffer buffer, uint32_t first, uint32_t item)
{
    const uint64_t sum = (uint64_t)first + item;
    const uint32_t chunks = derivation->cells.chunks[buffer];
    return (uint32_t)(sum < chunks ? sum : sum % chunks);
}

/** Cell of an item under a placement. */
static inline uint32_t ronde_proto_cell(const struct ronde_derivation *derivation, bool in_place,
                                        enum ronde_buffer buffer, uint32_t first, uint32_t item)
{
    return ronde_cell(derivation->builder->schedule, &derivation->cells, in_place, buffer,
                      ronde_proto_chunk(derivation, buffer, first, item));
}

#endif
