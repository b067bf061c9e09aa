/**
 * Buffers of a run, of all ranks or of the one that runs here, and the views of them in and out of place.
 */
#ifndef RONDE_BUFFERS_H
#define RONDE_BUFFERS_H

#include "ronde/pattern.h"

#include "ronde/bind.h"
#include "ronde/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ronde_comm;

/** Where buffers begin that do not come from the caller's allocator: at pages, as those of devices and of MPI's benchmarks. */
#define RONDE_BUFFER_ALIGNMENT 4096u

/** Buffers of all ranks. */
struct ronde_memory {
    const struct ronde_mem *mem; /**< where everything but inputs and outputs comes from */
    uint32_t ranks;              /**< N */
    size_t in_bytes;             /**< of one rank's input buffer */
    size_t out_bytes;            /**< of one rank's output buffer */
    void **inputs;               /**< per rank; NULL of one that runs elsewhere */
    void **outputs;              /**< likewise */
    void **in;                   /**< view: what a launch reads */
    void **out;                  /**< view: what a launch writes */
    uint32_t only; /**< the one rank that runs here, the others elsewhere; RONDE_NONE = all run here */
    const struct ronde_mem *own; /**< where the buffers of that one come from */
    const struct ronde_bind
        *near; /**< where ranks run, so that what they own is touched first near them; or NULL */
    void *factors; /**< what premul_sum multiplies by: an element per rank, 1 or 2 */
};

/** Allocates for a shape, whose count is the largest that will be used. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_memory_create(const struct ronde_input_range *shape, struct ronde_memory *out_memory,
                    struct ronde_error *error);

/**
 * The same where one rank runs here, the others elsewhere: its inputs and outputs come from `own`, which must outlive the
 * memory, and the others have none. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_memory_create_only(const struct ronde_input_range *shape, uint32_t only,
                         const struct ronde_mem *own, struct ronde_memory *out_memory,
                         struct ronde_error *error);

/** Bytes of a rank's buffers of a shape, input and output. */
RONDE_API uint64_t ronde_memory_bytes(const struct ronde_input_range *shape);

/**
 * Whether the machine has room for `ranks_here` ranks with so many bytes each, before any is taken: the system kills who
 * takes more. With a communicator (else NULL) collective: for the ranks of all its processes, which all get the same
 * answer. Errors: NO_MEMORY naming what is needed, what is left and whose limit that is; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_memory_check(struct ronde_comm *comm, uint32_t ranks_here, uint64_t rank_bytes,
                   struct ronde_error *error);

/** Whether a rank runs here. */
RONDE_API bool ronde_memory_has(const struct ronde_memory *memory, uint32_t rank);

/** Frees the buffers; a zeroed memory is allowed. */
RONDE_API void ronde_memory_destroy(struct ronde_memory *memory);

/** Points the views at the buffers: separate ones, or overlapping as NCCL's in-place convention says. */
RONDE_API void ronde_memory_view(struct ronde_memory *memory, const struct ronde_input_range *shape,
                                 bool in_place);

/** Fills every input here, as the views see it, with such values, and poisons the rest of the outputs. */
RONDE_API void ronde_memory_fill(const struct ronde_memory *memory,
                                 const struct ronde_input_range *shape, enum ronde_pattern pattern);

/** Poisons every output here, as the views see it: with bytes that no run may leave where it has to write. */
RONDE_API void ronde_memory_poison(const struct ronde_memory *memory,
                                   const struct ronde_input_range *shape);

#ifdef __cplusplus
}
#endif
#endif
