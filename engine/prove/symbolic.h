/**
 * The symbolic run: values, what it leaves in the programs, and what its parts share (symbolic.c, marks.c, outputs.c).
 *
 * A symbolic value (label, contributions, expression): which input chunk it belongs to, which ranks' inputs were
 * combined, and in which tree.
 *
 * Up to 64 ranks the contributions are a bitset; above, two sums of random 61-bit numbers per rank, so that equal sums
 * mean equal multisets but for a chance of 2^-122 per comparison (Wegman and Carter, JCSS 1981).
 */
#ifndef RONDE_ENGINE_PROVE_SYMBOLIC_H
#define RONDE_ENGINE_PROVE_SYMBOLIC_H

#include "engine/ir/arena.h"
#include "engine/prove/accesses.h"
#include "ronde/ir.h"
#include "ronde/mix.h"

#include <string.h>

/** 2^61 - 1. */
#define RONDE_VALUE_PRIME 0x1fffffffffffffffu

/** What a chunk holds. All zero: nothing yet. */
struct ronde_value {
    uint64_t sum[2];     /**< bitset in sum[0], or two fingerprints */
    uint64_t expression; /**< hash of the tree, equal up to commuting */
    uint32_t label;      /**< input chunk + 1 */
    uint32_t origin; /**< where nothing is reduced: position it came from, RONDE_NONE once mixed */
};

/** A good hash of 64 bits. */
static inline uint64_t ronde_value_mix(uint64_t x)
{
    return ronde_mix64(x + RONDE_MIX_STEP);
}

/** Adds contributions; as bitsets they must be disjoint for that. */
static inline void ronde_value_add(uint64_t sum[2], const uint64_t other[2], bool is_exact)
{
    if (is_exact) {
        sum[0] |= other[0];
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t raw = sum[i] + other[i];
        sum[i] = raw >= RONDE_VALUE_PRIME ? raw - RONDE_VALUE_PRIME : raw;
    }
}

/** The input of the rank that is number `relative`; of which chunk, and whose, is left open. */
static inline struct ronde_value ronde_value_leaf(uint32_t relative, bool is_exact)
{
    struct ronde_value value = {{0, 0}, ronde_value_mix(relative ^ 0x5851f42d4c957f2du), 0, 0};
    value.sum[0] =
        is_exact ? (uint64_t)1 << relative : ronde_value_mix(relative) % RONDE_VALUE_PRIME;
    value.sum[1] = is_exact ? 0 : ronde_value_mix(~(uint64_t)relative) % RONDE_VALUE_PRIME;
    return value;
}

/** Expression of a o b: the same as of b o a. */
static inline uint64_t ronde_value_combined(uint64_t a, uint64_t b)
{
    return ronde_value_mix(a + b) ^ ronde_value_mix((a ^ b) + 0x2545f4914f6cdd1du);
}

/** Whether a mark is set: unknown as long as no chunk has been seen. */
enum ronde_mark_state { RONDE_MARK_UNKNOWN, RONDE_MARK_NO, RONDE_MARK_YES };

/** What was seen of a step, enum ronde_mark_state each. */
struct ronde_step_marks {
    uint8_t raw;   /**< its source is the rank's unmodified input */
    uint8_t final; /**< its result is complete */
};

/** Takes marks per program and step, all unknown; NULL when there is no memory. */
struct ronde_step_marks **ronde_marks_create(const struct ronde_schedule *schedule,
                                             struct ronde_arena *arena);

/**
 * Gives each program the tables scratch_part and scratch_parts, of the schedule, where it has steps that touch nothing
 * but scratch (rs touches nothing at all). False when there is no memory.
 */
bool ronde_marks_make_parts(struct ronde_schedule *schedule);

/** Sets the flags of all steps from what was seen. */
void ronde_marks_keep(struct ronde_schedule *schedule, struct ronde_step_marks *const *marks);

/** One symbolic run. */
struct ronde_symbolic {
    struct ronde_schedule *schedule;
    const struct ronde_model *model;
    const struct ronde_collective_traits *traits;
    struct ronde_proof *proof;
    struct ronde_accesses accesses; /**< of the current step at one position */
    bool is_exact;
    bool is_relative; /**< position 0 stands for all: what a peer sends is its own, shifted */
    struct ronde_value *leaves; /**< inputs by relative rank, label and origin open */
    uint64_t full[2];           /**< contributions of all ranks */
    bool is_in_rows;            /**< a quotient's steps are run at every position */
    uint32_t rows;              /**< of cells: actors, or all positions of a quotient in rows */
    struct ronde_value *cells;  /**< of outputs and scratch: no step writes an input that is not
                                    shared */
    uint64_t *cell_base;        /**< per row + 1 */
    struct ronde_value *items;  /**< of all messages; in rows, those of all rows item by item */
    uint32_t *message_chunks;   /**< chunks of each message */
    uint64_t *passed_items;     /**< per end */
    uint32_t *passed;           /**< per end */
    struct ronde_step_marks **marks; /**< per program and step */
};

/** Whether a value holds the contribution of every rank once. */
static inline bool ronde_symbolic_is_full(const struct ronde_symbolic *symbolic,
                                          const struct ronde_value *value)
{
    return value->label != 0 && memcmp(value->sum, symbolic->full, sizeof value->sum) == 0;
}

/** Holds what a chunk of the current position's output holds in the end against what it must hold. */
void ronde_symbolic_judge(struct ronde_symbolic *symbolic, const struct ronde_value *value,
                          uint32_t chunk);

#endif
