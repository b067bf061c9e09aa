/**
 * From the facts of one position to its program: fuse, drop dead stores, order lanes, derive dependencies, connect.
 */
#ifndef RONDE_ENGINE_IR_DERIVE_H
#define RONDE_ENGINE_IR_DERIVE_H

#include "arena.h"
#include "engine/prove/cells.h"

#include "ronde/builder.h"
#include "ronde/cursor.h"

/* What a builder collected, and its translation into programs (derive.c). */

/** Kind of a fact. */
enum ronde_fact_kind { RONDE_FACT_TRANSFER, RONDE_FACT_COPY, RONDE_FACT_REDUCE };

/** One fact; local ones use `from`, `from_lane`, `source` and `target` of the transfer. */
struct ronde_fact {
    enum ronde_fact_kind kind;
    uint32_t tag;   /**< transfers: tells lane pairs between the same two positions apart */
    uint32_t round; /**< facts of one round are all sent before any is received; 0 = alone */
    struct ronde_transfer transfer;
};

/** The builder. The raw schedule's header is filled in as the algorithm declares it. */
struct ronde_builder {
    const struct ronde_mem *mem;
    struct ronde_schedule *schedule; /**< raw */
    uint32_t *base_orders;     /**< ranks at positions, an order after the other; NULL = identity */
    uint32_t base_order_count; /**< 1, or one per channel of the request */
    uint32_t scratch_chunks;
    bool has_own_channels; /**< the algorithm declared channels: the default ones are gone */
    size_t channel_capacity;
    struct ronde_channel *channels;
    struct ronde_fact *facts;
    size_t fact_count;
    size_t fact_capacity;
    uint32_t rounds;          /**< begun so far */
    bool is_in_round;         /**< facts belong to the last of them */
    struct ronde_error error; /**< the first one */
};

/** Turns the facts into the programs of builder->schedule. Errors: NO_MEMORY. */
enum ronde_status ronde_derive(struct ronde_builder *builder, struct ronde_error *error);

/** Chunks of a step in the making: as ronde_operand, seen from the position. */
struct ronde_proto_operand {
    uint32_t first;  /**< chunk */
    uint32_t run;    /**< 0 = contiguous */
    uint32_t stride; /**< chunks from the start of a run to the next */
};

/** A step in the making; its chunks and flags are filled in last, from the operands here. */
struct ronde_proto {
    struct ronde_step step;
    struct ronde_proto_operand source;      /**< chunks of step.source */
    struct ronde_proto_operand destination; /**< chunks of step.destination */
    uint32_t lane;                          /**< the algorithm's number, later the compact one */
    uint32_t index;                         /**< final step index */
    uint32_t send_peer;                     /**< offset */
    uint32_t send_tag;                      /**< of its connection */
    uint32_t receive_peer;                  /**< offset */
    uint32_t receive_tag;                   /**< of its connection */
    bool is_apart;      /**< a send that the receive before it must not take over */
    bool is_fused_away; /**< its work is done by the step before it in its lane */
};

/** Room for deriving any position of a schedule, reused from position to position. */
struct ronde_derivation {
    const struct ronde_builder *builder;
    struct ronde_arena *arena; /**< temporary */
    struct ronde_cells cells;  /**< of the position being derived */
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

/** Absolute chunk of item `item` of a proto's source or destination. */
static inline uint32_t ronde_proto_chunk(const struct ronde_derivation *derivation,
                                         const struct ronde_proto *proto, bool is_source,
                                         uint32_t item)
{
    const struct ronde_proto_operand *operand = is_source ? &proto->source : &proto->destination;
    const uint8_t buffer = is_source ? proto->step.source : proto->step.destination;
    const uint64_t sum = operand->run == 0
                             ? (uint64_t)operand->first + item
                             : operand->first + (uint64_t)(item / operand->run) * operand->stride +
                                   item % operand->run;
    const uint32_t chunks = derivation->cells.chunks[buffer];
    return (uint32_t)(sum < chunks ? sum : sum % chunks);
}

/** Cell of such an item under a placement. */
static inline uint32_t ronde_proto_cell(const struct ronde_derivation *derivation, bool in_place,
                                        const struct ronde_proto *proto, bool is_source,
                                        uint32_t item)
{
    const uint8_t buffer = is_source ? proto->step.source : proto->step.destination;
    return ronde_cell(derivation->builder->schedule, &derivation->cells, in_place,
                      (enum ronde_buffer)buffer,
                      ronde_proto_chunk(derivation, proto, is_source, item));
}

#endif
