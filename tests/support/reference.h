/**
 * What each collective is, as plain loops over all ranks' memory. Independent of schedules.
 *
 * Reductions run in rank order and in a wide type: exact as long as every partial result fits the element type, or
 * wraps like it. A bool is any byte until it is combined, and 0 or 1 then. tests/support/buffers.c fills inputs so that this holds.
 */
#ifndef RONDE_TESTS_REFERENCE_H
#define RONDE_TESTS_REFERENCE_H

#include "ronde/backend.h"

/** Inputs or outputs: one pointer per rank, aligned to the element type, and where the blocks lie in each. */
struct reference_side {
    void *const *buffers;              /**< per rank */
    const struct ronde_blocks *blocks; /**< per rank, with counts and offsets; NULL = one after another */
};

/** A collective on given memory. */
struct reference {
    enum ronde_collective collective; /**< what */
    uint32_t ranks;                   /**< how many */
    uint32_t root;                    /**< rank */
    uint64_t count;                   /**< elements of a block */
    enum ronde_dtype dtype;           /**< element type */
    enum ronde_op op;                 /**< operator, where something is reduced */
    const void *factors;              /**< premul_sum: an element per rank */
    struct reference_side in;         /**< left alone */
    struct reference_side out;        /**< must not overlap the inputs */
};

/** Writes the outputs the collective defines, and nothing else. */
void reference_run(const struct reference *reference);

/** local o received for one element of each, by the written rules: wrapping, NaN, signed zero. */
void reference_combine(enum ronde_dtype dtype, enum ronde_op op, const void *local,
                       const void *received, void *out);

/** An element divided by a number of ranks, by the written rules: integers truncate toward zero. */
void reference_divide(enum ronde_dtype dtype, void *element, uint32_t ranks);

/** Whether elements of a type can be reduced by an operator: bits of integers and bool, numbers of all but bool. */
bool reference_is_defined(enum ronde_dtype dtype, enum ronde_op op);

/** Stores a number as an element, rounded; integers wrap, a bool is 1 unless the number is 0. */
void reference_store(enum ronde_dtype dtype, void *element, double value);

/** The number an element holds. */
double reference_load(enum ronde_dtype dtype, const void *element);

/** Whether an element is a NaN; false for integers. */
bool reference_is_nan(enum ronde_dtype dtype, const void *element);

/** Whether the type is a floating one. */
bool reference_is_floating(enum ronde_dtype dtype);

#endif
