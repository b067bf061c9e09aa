/*
 * The persistent kernel for the element types of one width: included by kernel_<bytes>.cu with RONDE_MOVE_BYTES and
 * RONDE_MOVE_WORD defined (move_width.h). One block per lane or for several; warp 0 decides, the others move. The deciding
 * thread does not depend on the type and needs more registers than movers do: one kernel for all types of a width takes
 * no more of a multiprocessor than one per type, and compiles the interpreter four times instead of once per type.
 * No include guard: the file is a template.
 */
#include "hw/cuda/device.h"

#include "hw/cuda/move_types.h"

#include "hw/cuda/move_width.h"

#define RONDE_KERNEL_PASTE(prefix, bytes) prefix##bytes
#define RONDE_KERNEL_NAME(prefix, bytes) RONDE_KERNEL_PASTE(prefix, bytes)

/* All threads begin together (block.h). */
RONDE_INTERP void begin(struct ronde_block *block, const struct ronde_job *job,
                        const struct ronde_given *given, unsigned char *room, bool is_deciding,
                        struct ronde_mover mover)
{
    if (is_deciding)
        ronde_block_open(block, job, given, blockIdx.x, room, RONDE_ROOM_BYTES);
    else
        ronde_block_fetch_slots(block, job, blockIdx.x, room, RONDE_ROOM_BYTES, mover);
    ronde_port_barrier();
    if (!is_deciding)
        ronde_block_fetch_ends(block, room, mover);
    ronde_port_barrier();
    if (!is_deciding)
        ronde_block_start(block, mover);
    ronde_port_barrier();
}

/* The deciding thread: polls the block's lane slots until the run is over. */
RONDE_INTERP void decide(struct ronde_block *block)
{
    ronde_block_begin(block);
    while (!ronde_block_turn(block))
        continue;
    ronde_block_close(block);
    ronde_port_barrier();
}

/* A moving thread: executes its part of every command until RONDE_MOVE_END. */
RONDE_INTERP void run_mover(struct ronde_block *block, struct ronde_mover mover)
{
    ronde_port_barrier();
    for (uint32_t at = 0; block->commands[at].move != RONDE_MOVE_END; at ^= 1) {
        RONDE_KERNEL_NAME(ronde_movers_, RONDE_MOVE_BYTES)(block, &block->commands[at], mover);
        ronde_port_barrier();
    }
}

/* The rest of the deciding warp exits at once: a barrier counts only threads that have not exited. */
extern "C" __global__ void __launch_bounds__(RONDE_BLOCK_THREADS, 1)
    RONDE_KERNEL_NAME(ronde_kernel_, RONDE_MOVE_BYTES)(const struct ronde_job *job,
                                                       const struct ronde_given given)
{
    __shared__ struct ronde_block block;
    __shared__ __align__(16) unsigned char room[RONDE_ROOM_BYTES];
    const bool is_deciding = threadIdx.x == 0;
    const struct ronde_mover mover = {threadIdx.x - (RONDE_BLOCK_THREADS - RONDE_MOVER_THREADS),
                                      RONDE_MOVER_THREADS};
    if (!is_deciding && threadIdx.x < RONDE_BLOCK_THREADS - RONDE_MOVER_THREADS)
        return;
    begin(&block, job, &given, room, is_deciding, mover);
    if (is_deciding)
        decide(&block);
    else
        run_mover(&block, mover);
}

/* The kernel as the runtime's C interface takes it. */
extern "C" const void *RONDE_KERNEL_NAME(ronde_cuda_kernel_, RONDE_MOVE_BYTES)(void)
{
    return (const void *)RONDE_KERNEL_NAME(ronde_kernel_, RONDE_MOVE_BYTES);
}
