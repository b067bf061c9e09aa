/* The kernels with the instructions that every processor of the architecture has. See kernels.h. */
#include "engine/execute/reduce.h"

const struct ronde_kernel_set *ronde_kernels_plain(void)
{
    return &ronde_kernel_set;
}
