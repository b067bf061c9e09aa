"""What the binding costs: a group of one rank, so that the call itself is left, beside the same call of the library."""
from __future__ import annotations

import statistics
import time
from typing import Any

import ranks  # noqa: F401 - settings come first

import torch
import torch.distributed as dist

KEY = ("call",)


def measure(_rank: int, place: str, records: Any) -> None:
    import ronde.torch  # noqa: F401
    from ronde._native import ffi, lib
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=0, world_size=1)
    tensor = torch.ones(2)
    handle = dist.group.WORLD._state.communicator._handle
    pointer, error = ffi.cast("void *", tensor.data_ptr()), ffi.new("struct ronde_error *")

    def direct() -> None:
        lib.ronde_all_reduce(handle, pointer, pointer, 2, lib.RONDE_FLOAT32, lib.RONDE_SUM, ffi.NULL, ffi.NULL, error)

    class Nothing(ronde.torch.RondeGroup):
        """What torch's front end costs by itself."""

        def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, *, op: Any = None) -> None:
            return None

    def sync() -> None:
        dist.all_reduce(tensor)

    group = dist.group.WORLD
    for name, kind, call in (("ronde_all_reduce, by cffi", type(group), direct),
                             ("dist.all_reduce of a group that does nothing", Nothing, sync),
                             ("dist.all_reduce", type(group), sync),
                             ("dist.all_reduce, async", type(group), lambda: dist.all_reduce(tensor, async_op=True).wait())):
        group.__class__ = kind
        rounds = []
        for _ in range(50):
            started = time.perf_counter()
            for _ in range(200):
                call()
            rounds.append((time.perf_counter() - started) / 200 * 1e6)
        records.put({"part": "overhead", "call": name, "median_us": statistics.median(rounds), "min_us": min(rounds)})
    dist.destroy_process_group()
