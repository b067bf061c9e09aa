/**
 * The axes along which conformance varies, and which pairs of their values have been met.
 *
 * The full product is far too large: a random sample with a fixed seed is taken and the pairs it covers are counted, so
 * that "every dtype with every depth" is a fact that is checked and not a hope.
 */
#ifndef RONDE_TESTS_SAMPLE_H
#define RONDE_TESTS_SAMPLE_H

#include "ronde/engine.h"

#include "support/buffers.h"

/** What varies from launch to launch of one schedule. */
enum sample_axis {
    SAMPLE_DTYPE,     /**< enum ronde_dtype */
    SAMPLE_OP,        /**< enum ronde_op */
    SAMPLE_PLACE,     /**< out of place, in place */
    SAMPLE_COUNT,     /**< see sample_count */
    SAMPLE_DEPTH,     /**< least, default */
    SAMPLE_SLOT,      /**< 64 bytes, default */
    SAMPLE_PROTOCOL,  /**< staged, pull, push */
    SAMPLE_STREAM,    /**< never past the caches, always */
    SAMPLE_LEVEL,     /**< enum ronde_level from PLAIN on */
    SAMPLE_DATA,      /**< enum buffers_data */
    SAMPLE_BLOCKS,    /**< enum buffers_blocks */
    SAMPLE_AXIS_COUNT /**< number of axes */
};

/** Values of the count axis: 0 .. 17 elements, then nine numbers of grains, each -1, +0, +1 element. */
#define SAMPLE_COUNT_VALUES (18u + 9u * 3u)

/** One value per axis. */
struct sample {
    uint32_t at[SAMPLE_AXIS_COUNT]; /**< indices of values */
};

/** Number of values of an axis. */
uint32_t sample_values(enum sample_axis axis);

/** Draws a sample; more likely one with pairs not met yet. */
struct sample sample_draw(uint64_t *random);

/** Elements of a block for a sample: grains refer to the schedule's chunks over all channels and to the slot. */
uint64_t sample_count(const struct sample *sample, const struct ronde_schedule *schedule,
                      uint64_t slot_bytes);

/** Notes that a sample ran. */
void sample_met(const struct sample *sample);

/** Pairs of values of different axes that go together, and how many of them no sample that ran has met. */
uint32_t sample_pairs(uint32_t *out_missing);

#endif
