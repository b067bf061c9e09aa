/**
 * What all outputs should be, worked out in windows: some elements of every chunk of every rank at a time, by the same
 * schedule on host, or by the definition where host itself is checked. So a process that has one rank needs no room for
 * the others, however many there are and however long their buffers.
 *
 * What a schedule does to an element depends on the chunk it lies in and on nothing else, so a run over a window has
 * the bits of a run over the whole, provided that every element is in the chunk it belongs to.
 */
#ifndef RONDE_LAB_REFERENCE_H
#define RONDE_LAB_REFERENCE_H

#include "ronde/benchmark.h"
#include "ronde/buffers.h"

/** A window, and what runs in it. */
struct ronde_reference {
    const struct ronde_benchmark *benchmark; /**< what is checked; outlives it */
    struct ronde_window_cut *cuts;           /**< per channel and chunk of a block */
    uint32_t cut_count;                      /**< channels times chunks of a block */
    uint64_t windows;                        /**< that cover the longest chunk */
    struct ronde_input_range shape;          /**< of a window */
    struct ronde_memory memory;              /**< all ranks' buffers of a window */
    unsigned char *periods;                  /**< per rank the values its input repeats */
    size_t period;                           /**< elements of one */
    size_t period_bytes;                     /**< of one */
    void *host;                              /**< NULL where the definition is the reference */
    void *program;                           /**< the schedule, loaded there */
};

/**
 * Gets ready to check runs of a benchmark that has been aimed. The caller closes *out_reference in every case. Errors:
 * NO_MEMORY; those of host's load.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_reference_open(const struct ronde_benchmark *benchmark, struct ronde_reference *out_reference,
                     struct ronde_error *error);

/**
 * Elements of the outputs of the ranks that run here, as the benchmark's memory views them, that differ in any bit from what
 * they should be after a run on inputs of ronde_reference_pattern. Errors: those of host's runs.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_reference_wrong(struct ronde_reference *reference,
                                                                   uint64_t *out_wrong,
                                                                   struct ronde_error *error);

/** The inputs that a benchmark is checked on: host against itself would show nothing, so its definition has to be exact. */
RONDE_API enum ronde_pattern ronde_reference_pattern(const struct ronde_benchmark *benchmark);

/** Frees everything; a zeroed reference is allowed. */
RONDE_API void ronde_reference_close(struct ronde_reference *reference);

/* What each collective is, as plain loops over all ranks' memory. Knows no schedule. What `host`, the specification
 * of all other backends, is itself compared with. Reductions run in rank order and in doubles, rounded once at the
 * end: right to the bit for inputs from RONDE_PATTERN_EXACT, whose partial results are small whole numbers (of
 * bool: counts of what is true). */

/** Writes the outputs that the collective defines through the memory's views, which must not overlap, and nothing
 * else. source_of is that of the request or schedule: for send_recv with listed pairs, else NULL. */
void ronde_definition_run(const struct ronde_memory *memory, const struct ronde_input_range *shape,
                          const uint32_t *source_of);

#endif
