"""Processes that have a group of either backend, and what they measure in turns."""
from __future__ import annotations

import os
import time
import warnings
from typing import Any, Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist

BACKENDS = ("gloo", "ronde")
# Calls that are not counted.
FIRST = 3


def join(rank: int, ranks: int, place: str, pinned: bool, threads: int = 1) -> dict[str, Any]:
    """A group of each backend, of the same processes."""
    if pinned:
        os.sched_setaffinity(0, {rank % (os.cpu_count() or 1)})
    torch.set_num_threads(threads)
    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=ranks)
    import ronde.torch  # noqa: F401
    return {name: dist.new_group(list(range(ranks)), backend=name) for name in BACKENDS}


def leave() -> None:
    dist.barrier()
    dist.destroy_process_group()


def times_us(calls: dict[str, Callable[[], None]], repeats: int,
             before: Callable[[], None] = lambda: None) -> dict[str, list[float]]:
    """Times of calls that alternate, so that what disturbs the machine disturbs all alike; `before` is not timed."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for repeat in range(repeats + FIRST):
        for name in (names if repeat % 2 else names[::-1]):
            before()
            started = time.perf_counter()
            calls[name]()
            if repeat >= FIRST:
                found[name].append((time.perf_counter() - started) * 1e6)
    return found
