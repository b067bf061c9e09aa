/**
 * The kernels: loops over arrays of elements, compiled once per level of instructions (reduce.h) and chosen by the
 * processor when a run is prepared. All levels give the same bits, but for the payload of a NaN.
 */
#ifndef RONDE_ENGINE_EXECUTE_KERNELS_H
#define RONDE_ENGINE_EXECUTE_KERNELS_H

#include "machine.h"

/** The kernels of one level. */
struct ronde_kernel_set {
    /** avg, premul_sum: as sum; NULL: floating types with band, bor, bxor, and bool with all other operators */
    ronde_combine_kernel combine[RONDE_DTYPE_COUNT][RONDE_OP_COUNT];
    /** all but combine; bool has neither scale, scale_sum nor divide (NULL) */
    struct ronde_kernels others[RONDE_DTYPE_COUNT];
};

/** Those that every processor of this architecture runs. */
const struct ronde_kernel_set *ronde_kernels_plain(void);

/** Those with AVX2; NULL where the compiler does not make them. */
const struct ronde_kernel_set *ronde_kernels_avx2(void);

/** Those with AVX-512; NULL where the compiler does not make them. */
const struct ronde_kernel_set *ronde_kernels_avx512(void);

/** The kernels of an element type and operator, both in range, at a level that is here. */
RONDE_API struct ronde_kernels ronde_kernels_find(enum ronde_level level, enum ronde_dtype dtype,
                                                  enum ronde_op op);

#endif
