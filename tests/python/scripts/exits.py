"""
Ranks that end without destroying their groups, in one of several ways: exits.py WAY,... RANKS TIMES. Forked from here, so that
torch is imported once; each runs to the end of the interpreter, as a program does. Prints what did not end with status 0.
"""
import os
import shutil
import sys
import tempfile
import threading

import torch
import torch._dynamo  # noqa: F401 - what DDP imports, once and not in each child
import torch.distributed as dist
from torch import nn

import ronde.torch  # noqa: F401


def joins(rank, size, place):
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size)


def leaves(rank, size):
    dist.all_reduce(torch.ones(8))


def leaves_groups(rank, size):
    global kept
    kept = [dist.new_group(list(range(size))) for _ in range(3)] + [dist.split_group(split_ranks=[list(range(size))])]
    for group in kept:
        dist.all_reduce(torch.ones(8), group=group)


def leaves_pending(rank, size):
    """What never ends, and what is over, with futures and callbacks of both; none is waited for."""
    global kept
    kept = [dist.irecv(torch.ones(1), (rank + 1) % size, tag=7), dist.all_reduce(torch.ones(8), async_op=True)]
    for work in kept:
        work.get_future().then(lambda future: future.value())


def leaves_a_model(rank, size):
    global kept
    kept = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
    for _ in range(3):
        kept(torch.ones(2, 8)).sum().backward()


def leaves_a_thread(rank, size):
    """A thread that is in a call when the interpreter ends."""
    def calls():
        try:
            while True:
                dist.all_reduce(torch.ones(8))
        except RuntimeError:
            pass
    dist.barrier()
    threading.Thread(target=calls, daemon=True).start()


def leaves_by_exit(rank, size):
    dist.all_reduce(torch.ones(8), async_op=True)
    sys.exit(0)


def child(way, rank, size, place):
    joins(rank, size, place)
    globals()[way](rank, size)


def fork(way, size, place, processes):
    """Whether this process is one of the ranks; it has become that then."""
    for rank in range(size):
        processes.append(os.fork())
        if processes[-1] == 0:
            child(way, rank, size, place)
            return True
    return False


ways, size, times = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3])
folder = tempfile.mkdtemp()
bad = []
for turn, way in ((turn, way) for way in ways for turn in range(times)):
    processes = []
    if fork(way, size, f"{folder}/{way}{turn}", processes):
        break
    for rank, process in enumerate(processes):
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status != 0:
            bad.append(f"{way}, turn {turn}: rank {rank} ended with {status}")
else:
    shutil.rmtree(folder)
    print(f"{len(bad)} of {len(ways) * times * size} ended badly", *bad, sep="\n")
