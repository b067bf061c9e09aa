/**
 * Buffers of all ranks of a run: inputs, outputs and expected outputs, and the views of them in
 * and out of place.
 */
#ifndef RONDE_CLI_MEMORY_H
#define RONDE_CLI_MEMORY_H

#include "ronde/bind.h"
#include "ronde/collective.h"
#include "ronde/ir.h"
#include "ronde/mem.h"

/** What is run in the memory. */
struct ronde_shape {
    enum ronde_collective collective; /**< decides blocks and aliasing */
    uint32_t ranks;                   /**< N */
    uint32_t root;                    /**< for rooted collectives */
    enum ronde_dtype dtype;           /**< element type */
    enum ronde_op op;                 /**< where something is reduced */
    uint64_t count;                   /**< elements of a block */
};

/** Buffers of all ranks. */
struct ronde_memory {
    const struct ronde_mem *mem; /**< where they come from */
    uint32_t ranks;              /**< N */
    size_t in_bytes;             /**< of one rank's input buffer */
    size_t out_bytes;            /**< of one rank's output buffer */
    void **inputs;               /**< per rank */
    void **outputs;              /**< per rank */
    void **expected;             /**< per rank; NULL unless asked for */
    void **in;                   /**< view: what a launch reads */
    void **out;                  /**< view: what a launch writes */
    uint32_t only; /**< the one rank that runs here, the others elsewhere; RONDE_NONE = all run here */
    const struct ronde_mem *own; /**< where the buffers of that one come from */
    const struct ronde_bind
        *near; /**< where ranks run, so that what they own is touched first near them; or NULL */
    void *factors; /**< what premul_sum multiplies by: an element per rank, 1 or 2 */
};

/** Allocates for a shape, whose count is the largest that will be used. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
ronde_memory_create(const struct ronde_shape *shape, bool with_expected,
                    struct ronde_memory *out_memory, struct ronde_error *error);

/**
 * The same where one rank runs here, the others elsewhere: its inputs and outputs come from `own`, which must outlive the
 * memory. Errors: NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_memory_create_only(const struct ronde_shape *shape, bool with_expected, uint32_t only,
                         const struct ronde_mem *own, struct ronde_memory *out_memory,
                         struct ronde_error *error);

/** Frees the buffers; a zeroed memory is allowed. */
void ronde_memory_destroy(struct ronde_memory *memory);

/** Points the views at the buffers: separate ones, or overlapping as NCCL's in-place convention says. */
void ronde_memory_view(struct ronde_memory *memory, const struct ronde_shape *shape, bool in_place);

/**
 * Fills every rank's input, as the views see it, with values that differ between ranks and
 * elements, and poisons the
 * rest of the outputs. Floating values are in [1, 2) and no short sums of powers of two, so that
 * a different order of
 * reduction gives different bits.
 */
void ronde_memory_fill(const struct ronde_memory *memory, const struct ronde_shape *shape);

/**
 * The same with inputs that every order of reduction turns into the same bits: small numbers whose
 * sums and products fit every type. What nothing reduces is filled as above.
 */
void ronde_memory_fill_exact(const struct ronde_memory *memory, const struct ronde_shape *shape);

/** Elements of the outputs, as the views see them, that differ from `expected` in any bit. */
uint64_t ronde_memory_wrong(const struct ronde_memory *memory, const struct ronde_shape *shape);

/** Points the output view at `expected` and poisons it, so that the reference can write there. */
void ronde_memory_aim_at_expected(struct ronde_memory *memory, const struct ronde_shape *shape);

#endif
