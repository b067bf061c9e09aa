/*
 * The persistent kernel for one element type: included by kernel_<type>.cu with RONDE_MOVE_TYPE defined. One block per
 * seat or several; warp 0 decides, the others move. No include guard: the file is a template.
 */
#include "hw/cuda/device.h"

#include "engine/elements.h"
#include "hw/cuda/move.h"

#define RONDE_KERNEL_PASTE(prefix, type) prefix##type
#define RONDE_KERNEL_NAME(prefix, type) RONDE_KERNEL_PASTE(prefix, type)

/* The deciding thread: polls the block's seats until the run is over. */
RONDE_INTERP void decide(struct ronde_block *block, const struct ronde_job *job, unsigned char *room)
{
    ronde_block_open(block, job, blockIdx.x, room, RONDE_ROOM_BYTES);
    while (!ronde_block_turn(block))
        continue;
    ronde_block_close(block);
    ronde_port_barrier();
}

/* A moving thread: does its part of every command until it is dismissed. */
RONDE_INTERP void move_along(const struct ronde_block *block, struct ronde_mover mover)
{
    ronde_port_barrier();
    while (block->command.move != RONDE_MOVE_END) {
        RONDE_KERNEL_NAME(ronde_move_, RONDE_MOVE_TYPE)(&block->command, mover);
        ronde_port_barrier();
        ronde_port_barrier();
    }
}

/* The rest of the deciding warp leaves at once: a barrier counts only threads that are still there. */
extern "C" __global__ void __launch_bounds__(RONDE_BLOCK_THREADS, 1)
    RONDE_KERNEL_NAME(ronde_kernel_, RONDE_MOVE_TYPE)(const struct ronde_job *job)
{
    __shared__ struct ronde_block block;
    __shared__ __align__(16) unsigned char room[RONDE_ROOM_BYTES];
    if (threadIdx.x == 0)
        decide(&block, job, room);
    else if (threadIdx.x >= RONDE_BLOCK_THREADS - RONDE_MOVER_THREADS)
        move_along(&block,
                   {threadIdx.x - (RONDE_BLOCK_THREADS - RONDE_MOVER_THREADS), RONDE_MOVER_THREADS});
}

/* The kernel as the runtime's C interface wants it. */
extern "C" const void *RONDE_KERNEL_NAME(ronde_cuda_kernel_, RONDE_MOVE_TYPE)(void)
{
    return (const void *)RONDE_KERNEL_NAME(ronde_kernel_, RONDE_MOVE_TYPE);
}
