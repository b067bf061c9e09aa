"""
Memory pools of torch's allocator, registered so that other ranks read what lies in them in place (ronde_register). Built,
never run on a GPU; tests hold it to what it calls.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import torch

from .. import errors
from .._native import ffi, lib
from ..communicator import Communicator, pointer
from . import options as O

if TYPE_CHECKING:
    from .collectives import Collectives

_OUT = ffi.typeof("struct ronde_registration **")


def _segments(pool: Any) -> list[tuple[int, int, int]]:
    """GPU, address and bytes of what the pool's allocator has mapped."""
    return [(segment["device"], segment["address"], segment["total_size"]) for segment in pool.snapshot()]


def _register(communicator: Communicator, segments: Sequence[tuple[int, int, int]], count: int) -> list[Any]:
    """Ranks register together, so often as the one that has most: none, where a rank has no more."""
    made: list[Any] = []
    for k in range(count):
        _, address, size = segments[k] if k < len(segments) else (0, 0, 0)
        error, out = errors.record(), ffi.new(_OUT)
        status = communicator._guarded(lib.ronde_register, pointer(address), size, out, error)
        if status != lib.RONDE_OK:
            # On all ranks alike, as every failure is. What follows uses this thread's record of errors again.
            failure = errors.exception_of(status, errors.message_of(error), "register_mem_pool: ")
            _deregister(communicator, made)
            raise failure
        made.append(out[0])
    return made


def _deregister(communicator: Communicator, registrations: Sequence[Any]) -> None:
    for registration in registrations:
        error = errors.record()
        errors.check(communicator._guarded(lib.ronde_deregister, registration, error), error, "deregister_mem_pool: ")


def register(group: Collectives, pool: Any, symm: bool) -> None:
    state = group._state
    wrong, device = "", 0
    segments: list[tuple[int, int, int]] = []
    try:
        if symm:
            raise ValueError("symm=True asks for windows, which ronde has not; registered memory is read in place without")
        if pool.id in state.pools:
            raise ValueError(f"the pool {pool.id} is registered already: deregister it first, as torch may have added to it")
        segments = _segments(pool)
        device = segments[0][0] if segments else torch.cuda.current_device()
    except Exception as exception:  # noqa: B902 - the other ranks wait for this one
        wrong = f"register_mem_pool: {exception}"
    # How many there are at most, and whether all ranks can.
    agreed = torch.tensor([len(segments), bool(wrong)])
    options = O.AllreduceOptions()
    options.reduceOp = torch.distributed.ReduceOp.MAX
    group.allreduce([agreed], options).wait()
    if agreed[1]:
        raise ValueError(wrong or "register_mem_pool: another rank could not, and says why")
    communicator = state.device_of(torch.device("cuda", device), "register_mem_pool: ").communicator
    state.pools[pool.id] = _register(communicator, segments, int(agreed[0]))


def deregister(group: Collectives, pool: Any) -> None:
    """Together again, before the pool's memory is freed."""
    made = group._state.pools.pop(pool.id, None)
    if made is None:
        raise ValueError(f"deregister_mem_pool: the pool {pool.id} is not registered")
    _deregister(group._state.alive(), made)
