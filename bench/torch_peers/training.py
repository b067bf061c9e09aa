"""
A step of DistributedDataParallel with the gradients of ResNet-50: how much longer it takes than the same step with a hook
that communicates nothing. Backward computes for some time before each gradient is there, in proportion to its size.
"""
from __future__ import annotations

import statistics
import time
from typing import Any, Callable

from ranks import join, leave, times_us

import torch
import torch.distributed as dist
from torch import nn

BACKWARD_S = 0.05
STEPS = 15
KEY = ("ranks", "pinned")


def resnet50_shapes() -> list[tuple[int, ...]]:
    """Parameters of ResNet-50 (He et al., 2016, table 1) with batch normalisation: 161, 25,557,032 elements."""
    shapes: list[tuple[int, ...]] = [(64, 3, 7, 7), (64,), (64,)]
    width = 64
    for blocks, inner in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            for out, given, kernel in ((inner, width, 1), (inner, inner, 3), (4 * inner, inner, 1)):
                shapes += [(out, given, kernel, kernel), (out,), (out,)]
            if block == 0:
                shapes += [(4 * inner, width, 1, 1), (4 * inner,), (4 * inner,)]
            width = 4 * inner
    return shapes + [(1000, width), (1000,)]


class Layer(torch.autograd.Function):
    """Costs its share of the time in backward, on this layer's own gradient, and passes the rest on."""

    @staticmethod
    def forward(ctx: Any, before: torch.Tensor, parameter: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.parameter, ctx.seconds = parameter, seconds
        return before + 1

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        until = time.thread_time() + ctx.seconds
        own = torch.ones_like(ctx.parameter)
        while time.thread_time() < until:
            own.view(-1)[:1 << 16].mul_(1)
        return gradient, own, None


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ParameterList([nn.Parameter(torch.zeros(shape)) for shape in resnet50_shapes()])
        total = sum(parameter.numel() for parameter in self.layers)
        self.seconds = [BACKWARD_S * parameter.numel() / total for parameter in self.layers]

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        for parameter, seconds in zip(self.layers, self.seconds):
            given = Layer.apply(given, parameter, seconds)
        return given.sum()


def nothing(_state, bucket):  # type: ignore[no-untyped-def] # DDP takes no annotations that are text
    """A hook of DDP that leaves the gradients as they are."""
    future: torch.futures.Future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def measure(rank: int, ranks: int, place: str, pinned: bool, records: Any) -> None:
    groups = join(rank, ranks, place, pinned)
    given = torch.ones(1)
    parallel = {name: nn.parallel.DistributedDataParallel(Network(), process_group=group) for name, group in groups.items()}
    parallel["alone"] = nn.parallel.DistributedDataParallel(Network(), process_group=groups["gloo"])
    parallel["alone"].register_comm_hook(None, nothing)

    def step(model: nn.Module) -> Callable[[], None]:
        return lambda: model(given).backward()

    found = times_us({name: step(model) for name, model in parallel.items()}, STEPS, lambda: dist.barrier(groups["ronde"]))
    if rank == 0:
        records.put({"part": "training", "ranks": ranks, "pinned": pinned,
                     **{f"{name}_ms": statistics.median(found[name]) / 1e3 for name in found}})
    leave()
