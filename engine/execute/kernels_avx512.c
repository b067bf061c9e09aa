/* The kernels with AVX-512, in builds whose compiler makes them (CMakeLists.txt says how). See kernels.h. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "engine/execute/reduce.h"

const struct ronde_kernel_set *ronde_kernels_avx512(void)
{
    return &ronde_kernel_set;
}

#else
#include "engine/execute/kernels.h"

#include <stddef.h>

const struct ronde_kernel_set *ronde_kernels_avx512(void)
{
    return NULL;
}

#endif
