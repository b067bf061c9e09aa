/**
 * What a builder collected, and its translation into programs (derive.c).
 */
#ifndef RONDE_ENGINE_IR_FACTS_H
#define RONDE_ENGINE_IR_FACTS_H

#include "ronde/builder.h"

/** Kind of a fact. */
enum ronde_fact_kind { RONDE_FACT_TRANSFER, RONDE_FACT_COPY, RONDE_FACT_REDUCE };

/** One fact; local ones use `from`, `from_lane`, `source` and `target` of the transfer. */
struct ronde_fact {
    enum ronde_fact_kind kind;
    uint32_t tag;   /**< transfers: tells lane pairs between the same two positions apart */
    uint32_t round; /**< facts of one round are all sent before any is received; 0 = alone */
    struct ronde_transfer transfer;
};

struct ronde_proto;

/** Where the steps of a position come from when not from facts (compose.c). */
struct ronde_proto_maker {
    const void *self;                                       /**< for the functions */
    uint32_t (*count)(const void *self, uint32_t position); /**< steps of a position */
    void (*make)(const void *self, uint32_t position,
                 struct ronde_proto *protos); /**< fills them in, in program order */
    uint32_t lane_limit;                      /**< one more than the largest lane */
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
    uint32_t rounds;                       /**< begun so far */
    bool is_in_round;                      /**< facts belong to the last of them */
    const struct ronde_proto_maker *maker; /**< NULL = the facts */
    struct ronde_error error;              /**< the first one */
};

/** Turns the facts into the programs of builder->schedule. Errors: NO_MEMORY. */
enum ronde_status ronde_derive(struct ronde_builder *builder, struct ronde_error *error);

#endif
