"""NCCL's model of one machine, opened once and asked often: what `ronde.nccl` says, without a process for every question."""
from __future__ import annotations

import os
from typing import Any, Optional, Sequence

from . import errors, names
from ._native import ffi, lib
from .arguments import text
from .nccl_model import Machine
from .topology import Topology

_MEM = lib.ronde_mem_default()


def _constants() -> Any:
    constants = ffi.new("struct ronde_nccl_constants *")
    error = errors.record()
    errors.check(lib.ronde_nccl_constants_read(ffi.NULL, constants, error), error)
    return constants


class Placed:
    """A group of ranks on the machine: the times of its collectives."""

    def __init__(self, site: Site, ranks: tuple[int, ...], nodes: int) -> None:
        self._site = site
        self.size = len(ranks)
        self._ranks = ranks
        self._nodes = nodes
        # By collective: machine with its limits, and what has to live as long; None: there is no such call.
        self._machines: dict[str, Optional[tuple[Any, Any]]] = {}
        self._times: dict[tuple[str, int], Optional[float]] = {}

    def time_us(self, collective: str, size: int) -> Optional[float]:
        """How long a call takes of so many bytes as nccl-tests counts them; None where the model has no such call."""
        key = collective, size
        try:
            return self._times[key]
        except KeyError:
            time_us = self._times[key] = self._asked(collective, size)
            return time_us

    def _asked(self, collective: str, size: int) -> Optional[float]:
        if collective not in self._machines:
            self._machines[collective] = self._site._machine_for(collective, self._ranks, self._nodes)
        machine = self._machines[collective]
        if machine is None or size < 1:
            return None
        time_us: float = lib.ronde_python_nccl_us(self._site._constants, machine[0], names.COLLECTIVES[collective], self.size,
                                                  self._nodes, size)
        return None if time_us < 0 else time_us


class Site:
    """A machine as `ronde.nccl` takes it: a description, a shipped one's name, or a platform of GPUs."""

    def __init__(self, machine: Machine) -> None:
        self._constants = _constants()
        self._machine = ffi.new("struct ronde_nccl_machine *")
        self._platform: Optional[Topology] = machine if isinstance(machine, Topology) else self._read(machine)
        if self._platform is not None:
            self._open(self._platform)
        self.name: str = ffi.string(self._machine.name).decode()
        self.gpus: int = self._machine.gpus

    def _read(self, machine: Any) -> Optional[Topology]:
        """Reads a description, or returns the platform that it is."""
        path = ffi.new("char[]", lib.RONDE_PATH_BYTES)
        lib.ronde_find_nccl_machine(text(os.fsdecode(machine), "machine"), path, lib.RONDE_PATH_BYTES)
        if not lib.ronde_is_nccl_machine(path):
            return Topology.read(machine)
        error = errors.record()
        errors.check(lib.ronde_nccl_machine_read(path, self._machine, error), error)
        return None

    def _open(self, platform: Topology) -> None:
        """NCCL takes links for whole: what is out or slow only the limits know."""
        whole = platform
        while whole._base is not None:
            whole = whole._base
        error = errors.record()
        errors.check(lib.ronde_nccl_machine_of_platform(whole._handle, self._machine, error), error)
        if lib.ronde_platform_facts(platform._handle).node_hosts != self._machine.gpus:
            raise errors.RondeError(f"{platform.name}: what is left are nodes of unequal numbers of GPUs, and NCCL's model has equal "
                                    "ones; take whole nodes out", "unsupported")

    def place(self, ranks: Sequence[int]) -> Optional[Placed]:
        """
        Ranks of a job that has a rank on each GPU, node after node; None where the model has no such group: nodes with
        different numbers of its ranks, or ranks beyond the machine.
        """
        on_node: dict[int, int] = {}
        for rank in ranks:
            on_node[rank // self.gpus] = on_node.get(rank // self.gpus, 0) + 1
        if len(set(on_node.values())) != 1 or (self._platform is not None and max(ranks) >= self._platform.hosts):
            return None
        return Placed(self, tuple(sorted(ranks)), len(on_node))

    def _machine_for(self, collective: str, ranks: tuple[int, ...], nodes: int) -> Optional[tuple[Any, Any]]:
        call = ffi.new("struct ronde_nccl_call *", (names.COLLECTIVES[collective], len(ranks), nodes, 0, 1))
        error = errors.record()
        if not lib.ronde_nccl_models(call.collective) or \
                lib.ronde_nccl_call_check(self._machine, call, error) != lib.RONDE_OK:
            return None
        machine = ffi.new("struct ronde_nccl_machine *", self._machine[0])
        if self._platform is None:
            return machine, None
        limits = ffi.new("struct ronde_nccl_limit[]", lib.RONDE_NCCL_LIMITS)
        hosts = ffi.new("uint32_t[]", ranks)
        errors.check(lib.ronde_nccl_limits_find(self._platform._handle, self._machine, call, hosts, _MEM, limits, error), error)
        machine.limits = limits
        return machine, limits
