/* The kernels with AVX2, in builds whose compiler makes them (CMakeLists.txt says how). See kernels.h. */
#if defined(__AVX2__) && defined(__F16C__)
#include "engine/execute/reduce.h"

const struct ronde_kernel_set *ronde_kernels_avx2(void)
{
    return &ronde_kernel_set;
}

#else
#include "engine/execute/kernels.h"

#include <stddef.h>

const struct ronde_kernel_set *ronde_kernels_avx2(void)
{
    return NULL;
}

#endif
