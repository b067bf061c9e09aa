/**
 * What the readers of a plan's JSON share: plan_parse.c reads ranks and threadblocks, plan_parse_op.c operations, and
 * plan_place.c the numbers in both. Only for files that are built with jansson.
 */
#ifndef RONDE_FORMATS_MSCCLPP_PLAN_PARSE_H
#define RONDE_FORMATS_MSCCLPP_PLAN_PARSE_H

#include "plan.h"

#include <jansson.h>

/** Most spans and channels of an operation. */
#define MSCCLPP_MOST_SPANS 64u

/** The operation being read, and what its numbers mean. */
struct mscclpp_place {
    struct mscclpp_plan *plan;
    const json_t *gpu;       /**< object of the rank */
    const json_t *tb;        /**< object of the threadblock */
    struct mscclpp_act base; /**< who acts: rank, tb, op */
};

/** A source or destination of an operation. */
struct mscclpp_side {
    struct mscclpp_span span;
    uint32_t rank;
};

/** An operation's sides. */
struct mscclpp_sides {
    struct mscclpp_side in[MSCCLPP_MOST_SPANS], out[MSCCLPP_MOST_SPANS];
    uint32_t in_count, out_count;
};

/** Refuses where the reader is. Returns false, as do the others where something is refused. */
bool mscclpp_refuse(const struct mscclpp_place *place, enum ronde_status status, const char *format,
                    ...) RONDE_FORMAT(3, 4);

/** A whole number from 0 to below `end`; false for anything else. Numbers are read as reals: 2^64 - 1 is in most plans. */
bool mscclpp_whole(const json_t *value, uint32_t end, uint32_t *out_number);

/** A whole number from 0 to 2^24 of an object. Errors: BAD_INPUT where it is missing or none. */
bool mscclpp_take(const struct mscclpp_place *place, const json_t *object, const char *name,
                  uint32_t *out_number);

/** The rank and the number among the channels between both of a channel that an operation names. */
bool mscclpp_find_channel(const struct mscclpp_place *place, const json_t *op, size_t index,
                          struct mscclpp_act *io_act);

/** The rank and kind of memory of a remote buffer that an operation names. */
bool mscclpp_find_remote(const struct mscclpp_place *place, const json_t *op, uint32_t id,
                         uint32_t *out_rank, uint8_t *out_buffer);

/** i, o or s. Errors: BAD_INPUT. */
bool mscclpp_take_buffer(const struct mscclpp_place *place, const json_t *object,
                         uint8_t *out_buffer);

/** An operation as acts. Errors: BAD_INPUT, UNSUPPORTED, NO_MEMORY. */
bool mscclpp_parse_op(struct mscclpp_place *place, const json_t *op);

#endif
