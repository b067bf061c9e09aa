"""
The process group: a ProcessGroup, whose methods Python callers reach without a detour, in which a Backend is registered for
the CPU, where torch's C++ looks for one. Either alone lacks something (coalescing, monitored_barrier; queries of Work).
"""
from __future__ import annotations

import os
import weakref
from datetime import timedelta
from typing import Any, Optional, Sequence

import torch
import torch.distributed as dist

from ..communicator import Communicator
from .collectives import Collectives, State
from .options import interval
from .profiling import Group
from .store import allgather, prefix

_CBackend = getattr(torch._C._distributed_c10d, "Backend", None)
NAME = "ronde"
VARIABLE = "RONDE_TORCH_AS"


def standins() -> list[str]:
    """Names of backends that are ronde: its own, and those whose place it takes."""
    return [NAME, *(name.strip().lower() for name in os.environ.get(VARIABLE, "").split(",") if name.strip())]


class _Names:
    """What both halves say of themselves. Never "gloo", also in its place: C++ casts a group of that name to its own."""

    _state: State

    def getBackendName(self) -> str:
        return NAME

    name = getBackendName
    _get_backend_name = getBackendName

    def getSize(self) -> int:
        return self._state.size

    def getRank(self) -> int:
        return self._state.rank

    size = getSize
    rank = getRank

    def _get_sequence_number_for_group(self) -> int:
        return 0

    def _set_sequence_number_for_group(self) -> None:
        pass

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self._state.timeout = interval(timeout)
        self._state.alive().set_timeout(self._state.timeout.total_seconds())

    set_timeout = _set_default_timeout
    setTimeout = _set_default_timeout

    def abort(self) -> None:
        if self._state.communicator is not None:
            self._state.communicator.abort()

    def shutdown(self) -> None:
        self._state.close()


def _unsupported(_self: Any) -> bool:
    return False


if _CBackend is not None:
    class RondeBackend(_Names, Collectives, _CBackend):
        """What C++ finds in the group for a device."""

        # Without these the trampoline of the base class calls itself for ever.
        supports_coalescing = property(_unsupported)
        supports_splitting = property(lambda _self: True)  # RondeGroup.split_group does it
        supports_shrinking = property(_unsupported)
        supports_reconfigure = property(_unsupported)
        supports_window = property(_unsupported)
        _supports_time_estimate = property(_unsupported)

        def __init__(self, state: State) -> None:
            super().__init__(state.rank, state.size)
            self._state = state

        def eager_connect_single_device(self, _device: Any) -> None:
            """Ranks are connected when the group is made."""


def _cuda_backend(group: Any) -> str:
    """Which backend `init_process_group` or `new_group` was to have for CUDA tensors: "ronde" also where it stands in."""
    known = dist.distributed_c10d._world.pg_backend_config.get(group, "")
    for part in str(known).split(","):
        device, _, name = part.partition(":")
        if device == "cuda" and name not in standins():
            return name
    return NAME


def _described(group: Any, state: State) -> Group:
    """Name, description and ranks as torch knows them; a group that torch has not been told of yet has ranks of its own."""
    ranks = getattr(dist.distributed_c10d._world, "pg_group_ranks", {}).get(group, range(state.size))
    made = Group(group.group_name, getattr(group, "group_desc", ""), state.rank, ranks)
    # From now on the same.
    state.described = lambda: made
    return made


class RondeGroup(_Names, Collectives, dist.ProcessGroup):
    """What `dist.init_process_group` and `dist.new_group` return."""

    def __init__(self, state: State) -> None:
        super().__init__(state.rank, state.size)
        self._state = state
        self._group_name = ""
        if _CBackend is None:
            return
        # C++ does not keep the Python half of a backend alive.
        self._backend = RondeBackend(state)
        custom = dist.ProcessGroup.BackendType.CUSTOM
        for device in ("cpu", "cuda"):
            self._register_backend(torch.device(device), custom, self._backend)
        # Not the group itself: it would keep itself alive.
        group = weakref.ref(self)
        state.cuda_backend = lambda: _cuda_backend(group())
        state.described = lambda: _described(group(), state)
        self._set_default_backend(custom)

    # Without these destroying a group finds that it has no name.
    def setGroupName(self, name: str) -> None:
        self._group_name = name

    def getGroupName(self) -> str:
        return self._group_name

    def get_group_store(self) -> Any:
        return self._state.store

    def split_group(self, new_ranks: Sequence[int], timeout: Optional[timedelta] = None, opts: Any = None,
                    group_name: Optional[str] = None, group_desc: Optional[str] = None,
                    device_types: Any = None) -> Optional[RondeGroup]:
        """`dist.split_group`: the group of some of this one's ranks, on those ranks alone."""
        ranks = sorted(new_ranks)
        if self._state.rank not in ranks:
            return None
        name = group_name or f"{self._group_name}/{'-'.join(map(str, ranks))}"
        store = dist.PrefixStore(f"{name}/", self._state.store)
        group = create(store, ranks.index(self._state.rank), len(ranks), timeout or self._state.timeout)
        group._set_group_name(name)
        group._set_group_desc(group_desc or "")
        return group


def create(store: Any, rank: int, size: int, timeout: timedelta) -> RondeGroup:
    """Called by torch on every rank of a new group."""
    attempt = ""

    def gathered(mine: bytes) -> list[bytes]:
        nonlocal attempt
        attempt, parts = allgather(store, rank, size, mine, timeout)
        return parts

    seconds = timeout.total_seconds()
    communicator = Communicator.from_allgather(rank, size, gathered, timeout=seconds)
    communicator.set_timeout(seconds)
    return RondeGroup(State(communicator, dist.PrefixStore(prefix(attempt), store), timeout))
