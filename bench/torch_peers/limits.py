"""
What no backend can go below on this machine: ranks that only wait for one another, and memory that all of them copy at once.
"""
from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import time
from typing import Any, Callable, Iterator

from collectives import BYTES, compute
from ranks import join, leave, times_us

import torch
import torch.distributed as dist

KEY = ("ranks", "pinned", "cold", "bytes")
# Less is in the caches, where a copy is not what a call takes.
COPIED_FROM = 1 << 20
# Of a file that all ranks map: a counter each, a cache line apart.
LINE = 8


def meeting(rank: int, ranks: int, place: str) -> Callable[[], None]:
    """A call that returns once all ranks are in it: a counter each, and a processor that is given away while one lacks."""
    counters = torch.from_file(f"{place}.meeting", shared=True, size=ranks * LINE, dtype=torch.int64).numpy()[::LINE]

    def meet() -> None:
        counters[rank] += 1
        while counters.min() < counters[rank]:
            os.sched_yield()

    return meet


def copy_of(size: int, meet: Callable[[], None]) -> Callable[[], None]:
    """libc's memcpy of `size` bytes on all ranks, over once the last is."""
    given, out = torch.ones(size // 4), torch.ones(size // 4)

    def copy() -> None:
        ctypes.memmove(out.data_ptr(), given.data_ptr(), size)
        meet()

    return copy


def points(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """With 0 bytes ranks only wait."""
    for ranks in options.ranks:
        for pinned in (False, True):
            for size in (0, *(size for size in options.sizes if size >= COPIED_FROM)):
                for cold in (False, True):
                    yield {"part": "limits", "ranks": ranks, "pinned": pinned, "cold": cold, "bytes": size}


def measure(rank: int, ranks: int, place: str, wanted: list[dict[str, Any]], options: argparse.Namespace,
            records: Any) -> None:
    """Calls alternate with gloo's, as ronde's do where the two are compared."""
    groups = join(rank, ranks, place, wanted[0]["pinned"])
    meet, memory, one = meeting(rank, ranks, place), torch.ones(1 << 18), torch.ones(2)
    for point in wanted:
        calls = {"gloo": lambda: dist.all_reduce(one, group=groups["gloo"]),
                 "limit": copy_of(point["bytes"], meet) if point["bytes"] else meet}
        repeats = max(8, min(options.repeats, BYTES // max(point["bytes"], 1)))
        found = times_us(calls, repeats, (lambda: compute(memory)) if point["cold"] else (lambda: None))["limit"]
        if rank == 0:
            records.put({**point, "limit_us": statistics.median(found), "limit_min_us": min(found)})
    leave()
