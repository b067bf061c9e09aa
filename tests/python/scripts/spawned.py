"""Says "gloo" itself and starts its ranks by mp.spawn, as tutorials do; never destroys its group where told so."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size, port, destroys):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group(backend="gloo", rank=rank, world_size=size)
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor)
    gathered = [torch.zeros(1) for _ in range(size)]
    dist.all_gather(gathered, torch.tensor([float(rank)]))
    dist.barrier()
    if rank == 0:
        print("sum", tensor.item(), "gathered", [g.item() for g in gathered], dist.get_backend(), flush=True)
        print("is", dist.group.WORLD.__class__.__name__, flush=True)
    if destroys:
        dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (int(sys.argv[1]), sys.argv[2], sys.argv[3] == "destroys"), nprocs=int(sys.argv[1]))
