"""Collectives, warm and cold: cold is after 1 ms of computing on other memory, as in training."""
from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, Callable, Iterator

from ranks import join, leave, times_us

import torch
import torch.distributed as dist

SIZES = (8, 1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)
NAMES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all_single")
# Bytes that a point moves in all, at most, which bounds its time.
BYTES = 1 << 28
KEY = ("collective", "ranks", "pinned", "cold", "bytes")


def call_of(collective: str, size: int, ranks: int, group: Any) -> Callable[[], None]:
    """The call, on memory of its own; `size` is nccl-tests': the larger of the two buffers."""
    whole, part = torch.ones(max(size // 4, ranks)), torch.ones(max(size // 4 // ranks, 1))
    if collective == "all_reduce":
        return lambda: dist.all_reduce(whole, dist.ReduceOp.MAX, group=group)
    if collective == "broadcast":
        return lambda: dist.broadcast(whole, 0, group=group)
    whole = torch.ones(part.numel() * ranks)
    if collective == "all_gather":
        return lambda: dist.all_gather_into_tensor(whole, part, group=group)
    if collective == "reduce_scatter":
        return lambda: dist.reduce_scatter_tensor(part, whole, dist.ReduceOp.MAX, group=group)
    out = torch.empty_like(whole)
    return lambda: dist.all_to_all_single(out, whole, group=group)


def compute(memory: torch.Tensor) -> None:
    until = time.perf_counter() + 1e-3
    while time.perf_counter() < until:
        memory.add_(1)


def points(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for ranks in options.ranks:
        for pinned in (False, True):
            for collective in options.collectives:
                for size in options.sizes:
                    for cold in (False, True):
                        yield {"part": "collectives", "collective": collective, "ranks": ranks, "pinned": pinned,
                               "cold": cold, "bytes": size}


def measure(rank: int, ranks: int, place: str, wanted: list[dict[str, Any]], options: argparse.Namespace,
            records: Any) -> None:
    """The points of processes that are pinned or not."""
    groups = join(rank, ranks, place, wanted[0]["pinned"])
    memory = torch.ones(1 << 18)
    for point in wanted:
        calls = {name: call_of(point["collective"], point["bytes"], ranks, group) for name, group in groups.items()}
        repeats = max(8, min(options.repeats, BYTES // point["bytes"]))
        found = times_us(calls, repeats, (lambda: compute(memory)) if point["cold"] else (lambda: None))
        if rank == 0:
            records.put({**point, **{f"{name}_us": statistics.median(found[name]) for name in found},
                         **{f"{name}_min_us": min(found[name]) for name in found}})
    leave()
