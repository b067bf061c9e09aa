"""Torch's C++ starts operations by itself, as DDP has it do, and waits for them: Python holds none of their Works."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import ronde.torch  # noqa: F401  (before torch 2.5 nobody looks for it)


def work(rank, size, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("ronde", rank=rank, world_size=size)
    parameters = [torch.full((3,), float(rank + 1)), torch.full((2, 2), float(rank + 1))]
    dist._verify_params_across_processes(dist.group.WORLD, parameters, None)
    dist._broadcast_coalesced(dist.group.WORLD, parameters, 1024, 1)
    # Nobody ever asks for these; the group ends well all the same.
    for _ in range(40):
        dist.all_reduce(torch.ones(5), async_op=True)
    dist.barrier()
    # In one write: the ranks share a pipe.
    print(f"rank {rank}: {[parameter.sum().item() for parameter in parameters]}\n", end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (int(sys.argv[1]), sys.argv[2]), nprocs=int(sys.argv[1]))
