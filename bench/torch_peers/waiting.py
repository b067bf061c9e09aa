"""
Ranks that wait beside one that computes with as many threads as there are processors: how much longer that takes than
while the others sleep.
"""
from __future__ import annotations

import os
import statistics
import time
from typing import Any

from ranks import BACKENDS, join, leave

import torch
import torch.distributed as dist

ROUNDS = 15
KEY = ("ranks",)


def work() -> float:
    """Milliseconds of some tens of ms of multiplications, by all threads of this rank."""
    matrix = torch.ones(512, 512)
    started = time.perf_counter()
    for _ in range(12):
        matrix = (matrix @ matrix).clamp_(0, 1)
    return (time.perf_counter() - started) * 1e3


def measure(rank: int, ranks: int, place: str, records: Any) -> None:
    groups = join(rank, ranks, place, False, os.cpu_count() or 1)
    found: dict[str, list[float]] = {name: [] for name in ("asleep", *BACKENDS)}
    tensor = torch.ones(1 << 16)
    for _ in range(ROUNDS):
        for name in found:
            dist.barrier(groups["gloo"])
            if rank == 0:
                time.sleep(0.005)
                found[name].append(work())
            elif name == "asleep":
                time.sleep(0.15)
            if name != "asleep":
                dist.all_reduce(tensor, dist.ReduceOp.MAX, group=groups[name])
    if rank == 0:
        records.put({"part": "waiting", "ranks": ranks, "threads": os.cpu_count(),
                     **{f"{name}_ms": statistics.median(found[name]) for name in found}})
    leave()
