/**
 * What inputs hold: values that follow from the rank and the element, so that any part of an input can be told without
 * the rest of it, or the rank whose it is.
 */
#ifndef RONDE_PATTERN_H
#define RONDE_PATTERN_H

#include "ronde/collective.h"
#include "ronde/ir.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is run. */
struct ronde_input_range {
    enum ronde_collective collective; /**< decides blocks and aliasing */
    uint32_t ranks;                   /**< N */
    uint32_t root;                    /**< for rooted collectives */
    enum ronde_dtype dtype;           /**< element type */
    enum ronde_op op;                 /**< where something is reduced */
    uint64_t count;                   /**< elements of a block */
};

/** Which values. */
enum ronde_pattern {
    /** Floating values are in [1, 2) and no short sums of powers of two: a different order of reduction gives different
     * bits. */
    RONDE_PATTERN_ANY,
    /** Small numbers whose sums and products fit every type, so that every order gives the same bits; for bitwise
     * operators and bool few bits that decide alone. What nothing reduces is as above. */
    RONDE_PATTERN_EXACT,
};

/** Elements after which the values of an input of so many elements begin anew. */
RONDE_API size_t ronde_pattern_period(size_t elements);

/** Stores the values of a rank's first elements, at most a period of them. */
RONDE_API void ronde_pattern_begin(enum ronde_pattern pattern, const struct ronde_input_range *shape,
                                   uint32_t rank, size_t elements, void *out);

/**
 * Stores `elements` values from element `first` on. `period` holds a period of `length` elements of `element_bytes`;
 * `out` may be what follows it.
 */
RONDE_API void ronde_pattern_read(const void *period, size_t length, size_t element_bytes,
                                  size_t first, size_t elements, void *out);

#ifdef __cplusplus
}
#endif
#endif
