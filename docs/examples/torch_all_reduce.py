"""Four ranks on this machine, started by this script."""
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size):
    dist.init_process_group("ronde", init_method="tcp://127.0.0.1:29511", rank=rank, world_size=size)
    tensor = torch.full((3,), float(rank))
    dist.all_reduce(tensor)
    print(f"rank {rank}: {tensor.tolist()}")


if __name__ == "__main__":
    mp.spawn(work, (4,), nprocs=4)
