/* The loops in the versions of this processor family. */
#include "symmetric_run.h"

#define LOOP(name) plain_##name
#define TARGET
#include "symmetric_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)

#define LOOP(name) avx2_##name
#define TARGET __attribute__((target("avx2")))
#include "symmetric_loops.h"

const struct ronde_sim_kernels *ronde_sim_kernels_here(void)
{
    return __builtin_cpu_supports("avx2") ? &avx2_kernels : &plain_kernels;
}

#else

const struct ronde_sim_kernels *ronde_sim_kernels_here(void)
{
    return &plain_kernels;
}

#endif
