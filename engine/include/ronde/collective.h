/**
 * Names of the field: collectives, data types, reduction operators, and what a collective requires
 * of its buffers.
 *
 * Each list is one X-macro that yields the enumeration, the printer and the parser.
 */
#ifndef RONDE_COLLECTIVE_H
#define RONDE_COLLECTIVE_H

#include "ronde/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of ranks a schedule may have; more is refused. */
#define RONDE_MAX_RANKS (1u << 20)

/** enumerator, text */
#define RONDE_COLLECTIVE_LIST(X)                                                                   \
    X(BROADCAST, "broadcast")                                                                      \
    X(SCATTER, "scatter")                                                                          \
    X(GATHER, "gather")                                                                            \
    X(ALL_GATHER, "all_gather")                                                                    \
    X(REDUCE, "reduce")                                                                            \
    X(ALL_REDUCE, "all_reduce")                                                                    \
    X(REDUCE_SCATTER, "reduce_scatter")                                                            \
    X(ALL_TO_ALL, "all_to_all")                                                                    \
    X(BARRIER, "barrier")                                                                          \
    X(SEND_RECV, "send_recv")

/** The collectives, with PyTorch's names. */
enum ronde_collective {
#define RONDE_ENUMERATOR(name, text) RONDE_##name,
    RONDE_COLLECTIVE_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_COLLECTIVE_COUNT /**< number of collectives */
};

/** enumerator, text, bytes. More types join at the end of this list; nothing else names them. */
#define RONDE_DTYPE_LIST(X)                                                                        \
    X(UINT8, "uint8", 1)                                                                           \
    X(INT32, "int32", 4)                                                                           \
    X(FLOAT32, "float32", 4)                                                                       \
    X(FLOAT64, "float64", 8)                                                                       \
    X(INT8, "int8", 1)                                                                             \
    X(UINT32, "uint32", 4)                                                                         \
    X(INT64, "int64", 8)                                                                           \
    X(UINT64, "uint64", 8)                                                                         \
    X(FLOAT16, "float16", 2)                                                                       \
    X(BFLOAT16, "bfloat16", 2)                                                                     \
    X(FLOAT8_E4M3, "float8_e4m3", 1)                                                               \
    X(FLOAT8_E5M2, "float8_e5m2", 1)                                                               \
    X(BOOL, "bool", 1)                                                                             \
    X(INT16, "int16", 2)                                                                           \
    X(UINT16, "uint16", 2)

/**
 * Element types. A bool is a byte: 0 is false, any other value is true. Operators write 0 or 1; what is only moved, a
 * broadcast or a reduction over a single rank, keeps its byte as it is.
 */
enum ronde_dtype {
#define RONDE_ENUMERATOR(name, text, bytes) RONDE_##name,
    RONDE_DTYPE_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_DTYPE_COUNT /**< number of element types */
};

/** enumerator, text. More operators join at the end of this list. */
#define RONDE_OP_LIST(X)                                                                           \
    X(SUM, "sum")                                                                                  \
    X(PROD, "prod")                                                                                \
    X(MIN, "min")                                                                                  \
    X(MAX, "max")                                                                                  \
    X(AVG, "avg")                                                                                  \
    X(PREMUL_SUM, "premul_sum")                                                                    \
    X(BAND, "band")                                                                                \
    X(BOR, "bor")                                                                                  \
    X(BXOR, "bxor")

/**
 * Reduction operators. Every application rounds to the element type (16-bit floats: computed in float32, rounded once
 * to nearest even), integers wrap. min and max return the operand that is not NaN, and order -0 before +0. avg is the
 * sum divided by the number of ranks, rounded again; integers truncate toward zero. premul_sum multiplies every rank's
 * input by that rank's factor (ronde_launch), rounds, then sums. band, bor and bxor combine the bits of integers. Of
 * bool, sum, max and bor are "or", prod, min and band are "and", bxor is "exclusive or". ronde_op_refusal returns which
 * operator a type does not have.
 */
enum ronde_op {
#define RONDE_ENUMERATOR(name, text) RONDE_##name,
    RONDE_OP_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_OP_COUNT /**< number of operators */
};

/** What a collective requires of its buffers, in blocks of `count` elements. One table, `ronde_collective_traits`. */
struct ronde_collective_traits {
    bool in_per_rank;  /**< the input holds one block per rank (else one block) */
    bool out_per_rank; /**< the output holds one block per rank (else one block) */
    bool has_root;     /**< broadcast, scatter, gather, reduce */
    bool reduces;      /**< results combine the blocks of all ranks */
    bool in_at_root;   /**< only the root's input is read (broadcast, scatter) */
    bool out_at_root;  /**< only the root's output is written (gather, reduce) */
    bool has_in_place; /**< input and output may share memory; all_to_all and send_recv would overwrite what is still to
                            be sent, and NCCL leaves it undefined */
};

/** The traits of a collective; never NULL for a valid one. barrier has no data: both buffers hold 0 blocks. */
RONDE_API const struct ronde_collective_traits *
ronde_collective_traits(enum ronde_collective collective);

/** Number of blocks of a rank's input for this many ranks (barrier: 0). */
RONDE_API uint32_t ronde_collective_in_blocks(enum ronde_collective collective, uint32_t ranks);
/** Number of blocks of a rank's output for this many ranks (barrier: 0). */
RONDE_API uint32_t ronde_collective_out_blocks(enum ronde_collective collective, uint32_t ranks);

/** Blocks of the larger of the two. */
RONDE_API uint32_t ronde_collective_most_blocks(enum ronde_collective collective, uint32_t ranks);

/** nccl-tests' size of a launch: the larger of a rank's two buffers with `count` elements in a block, bytes. */
RONDE_API uint64_t ronde_collective_bytes(enum ronde_collective collective, uint32_t ranks,
                                          uint64_t count, enum ronde_dtype dtype);

/**
 * From algbw to busbw: what a link carries for each byte of the size column. Source: nccl-tests, doc/PERFORMANCE.md; that of
 * gather and scatter is its code's.
 */
RONDE_API double ronde_collective_bus_factor(enum ronde_collective collective, uint32_t ranks);
/** Elements of a block so that this size is at most `bytes`; at least 1 unless bytes, or the size of any count, is 0. */
RONDE_API uint64_t ronde_collective_count(enum ronde_collective collective, uint32_t ranks,
                                          uint64_t bytes, enum ronde_dtype dtype);

/** Printed name of a collective; "?" if out of range. */
RONDE_API const char *ronde_collective_text(enum ronde_collective collective);
/** Printed name of an element type; "?" if out of range. */
RONDE_API const char *ronde_dtype_text(enum ronde_dtype dtype);
/** Printed name of an operator; "?" if out of range. */
RONDE_API const char *ronde_op_text(enum ronde_op op);
/** Bytes of one element: 1, 2, 4 or 8, always a divisor of the 16-byte grain. */
RONDE_API uint32_t ronde_dtype_bytes(enum ronde_dtype dtype);

/** Reads a collective's name; false if there is none such. allreduce, all-reduce and all_reduce are the same. */
RONDE_API bool ronde_collective_parse(const char *text, enum ronde_collective *out);
/**
 * Reads an element type's name; accepts NCCL's and MPI's (char, short, ushort, int, half, float, double) and short ones
 * (f32, i16, u8, bf16).
 */
RONDE_API bool ronde_dtype_parse(const char *text, enum ronde_dtype *out);
/** Reads an operator's name; accepts PyTorch's "product" and nccl-tests' "mulsum" (premul_sum). */
RONDE_API bool ronde_op_parse(const char *text, enum ronde_op *out);

/**
 * Why elements of a type cannot be reduced by an operator, as the end of a sentence; NULL if they can. Floating types have
 * no band, bor and bxor; bool has no avg and no premul_sum. Both arguments in range.
 */
RONDE_API const char *ronde_op_refusal(enum ronde_op op, enum ronde_dtype dtype);

/**
 * Stores a number as an element: rounded once to nearest even, integers truncated; a bool is 1 unless the number is 0. A
 * number out of an integer's range is the caller's mistake.
 */
RONDE_API void ronde_element_store(enum ronde_dtype dtype, void *element, double value);
/** The number an element holds; 64-bit integers round to double, a bool is 0 or 1 whatever its byte. */
RONDE_API double ronde_element_load(enum ronde_dtype dtype, const void *element);
/** Whether the type has fractions, infinities and NaN. */
RONDE_API bool ronde_dtype_is_floating(enum ronde_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
