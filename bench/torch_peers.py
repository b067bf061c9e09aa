"""
Times collectives through torch.distributed, ronde beside gloo, and what the binding costs: torch_peers.py [--quick]

Both backends have a group of the same processes; calls alternate, so that what disturbs the machine disturbs both. A time
is that of one call on rank 0, waited for. "cold": 1 ms of computing on other memory comes before each call, as in training.
"""
from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from typing import Any, Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

BACKENDS = ("gloo", "ronde")
SIZES = (8, 1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)
QUICK_SIZES = (8, 1 << 16, 1 << 20, 1 << 24)
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all_single")


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


def times(calls: dict[str, Callable[[], None]], repeats: int, cold: bool) -> dict[str, list[float]]:
    memory = torch.ones(1 << 18)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(repeats + 3):
        for name in (BACKENDS if repeat % 2 else BACKENDS[::-1]):
            if cold:
                compute(memory)
            started = time.perf_counter()
            calls[name]()
            if repeat >= 3:
                found[name].append((time.perf_counter() - started) * 1e6)
    return found


def measure(rank: int, ranks: int, place: str, options: argparse.Namespace) -> None:
    if options.pinned:
        os.sched_setaffinity(0, {rank % (os.cpu_count() or 1)})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=ranks)
    import ronde.torch  # noqa: F401
    groups = {name: dist.new_group(list(range(ranks)), backend=name) for name in BACKENDS}
    for collective in options.collectives:
        for size in options.sizes:
            calls = {name: call_of(collective, size, ranks, group) for name, group in groups.items()}
            for cold in (False, True):
                repeats = max(8, min(options.repeats, (1 << 28) // max(size, 1)))
                found = times(calls, repeats, cold)
                if rank == 0:
                    gloo, ronde = (statistics.median(found[name]) for name in BACKENDS)
                    print(f"{collective:18s} {ranks:2d} {size:10d}  {'cold' if cold else 'warm'} {gloo:11.1f} {ronde:11.1f} "
                          f"{min(found['gloo']):11.1f} {min(found['ronde']):11.1f} {gloo / ronde:7.2f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def overhead(_rank: int, place: str) -> None:
    """A group of one rank: what is left is the call itself, beside the same call of the library."""
    import ronde.torch
    from ronde._native import ffi, lib
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=0, world_size=1)
    tensor = torch.ones(2)
    handle = dist.group.WORLD._state.communicator._handle
    pointer, error = ffi.cast("void *", tensor.data_ptr()), ffi.new("struct ronde_error *")

    def direct() -> None:
        lib.ronde_all_reduce(handle, pointer, pointer, 2, lib.RONDE_FLOAT32, lib.RONDE_SUM, ffi.NULL, ffi.NULL, error)

    for name, call in (("dist.all_reduce", lambda: dist.all_reduce(tensor)), ("ronde_all_reduce", direct),
                       ("dist.all_reduce, async", lambda: dist.all_reduce(tensor, async_op=True).wait())):
        rounds = []
        for _ in range(50):
            started = time.perf_counter()
            for _ in range(200):
                call()
            rounds.append((time.perf_counter() - started) / 200 * 1e6)
        print(f"{name:24s} {statistics.median(rounds):7.2f} us a call, at least {min(rounds):.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 ranks, all_reduce, four sizes")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--collectives", nargs="+", default=COLLECTIVES, choices=COLLECTIVES)
    options = parser.parse_args()
    if options.quick:
        options.ranks, options.sizes, options.collectives = [2], QUICK_SIZES, COLLECTIVES[:1]
    print(f"# torch {torch.__version__}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(overhead, (f"{folder}/alone",))
        print("# us: median of a call with gloo and ronde, least, and how many times as fast ronde is in the median\n"
              "# collective    ranks      bytes             gloo       ronde   gloo min   ronde min   ratio")
        for pinned in (False, True):
            options.pinned = pinned
            for ranks in options.ranks:
                print(f"# {ranks} ranks, {'pinned to a processor each' if pinned else 'not pinned'}", flush=True)
                mp.spawn(measure, (ranks, f"{folder}/{ranks}{pinned}", options), nprocs=ranks)


if __name__ == "__main__":
    main()
