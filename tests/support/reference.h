/**
 * What each collective is, as plain loops over all ranks' memory. Knows no schedule.
 *
 * Reductions run in rank order and in a wide type: exact as long as every partial result fits the element type, or
 * wraps like it. tests/support/buffers.c fills inputs so that this holds.
 */
#ifndef RONDE_TESTS_REFERENCE_H
#define RONDE_TESTS_REFERENCE_H

#include "ronde/collective.h"

/** A collective on given memory. Buffers are arrays of one pointer per rank, aligned to the element type. */
struct reference {
    enum ronde_collective collective; /**< what */
    uint32_t ranks;                   /**< how many */
    uint32_t root;                    /**< rank */
    uint64_t count;                   /**< elements of a block */
    enum ronde_dtype dtype;           /**< element type */
    enum ronde_op op;                 /**< operator, where something is reduced */
    void *const *in;                  /**< inputs; left alone */
    void *const *out;                 /**< outputs; must not overlap the inputs */
};

/** Writes the outputs the collective defines, and nothing else. */
void reference_run(const struct reference *reference);

/** local o received for one element of each, by the written rules: wrapping, NaN, signed zero. */
void reference_combine(enum ronde_dtype dtype, enum ronde_op op, const void *local,
                       const void *received, void *out);

/** Stores a small integer as an element. */
void reference_store(enum ronde_dtype dtype, void *element, int value);

/** Whether an element is a NaN; false for integers. */
bool reference_is_nan(enum ronde_dtype dtype, const void *element);

/** Whether the type is a floating one. */
bool reference_is_floating(enum ronde_dtype dtype);

#endif
