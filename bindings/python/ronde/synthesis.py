"""Schedules made for one machine, and the least time that any schedule can take there."""
from __future__ import annotations

import pathlib
import tempfile
from dataclasses import dataclass
from typing import Any, Optional

from . import _command, errors, names
from .arguments import whole
from ._interrupt import interruptible
from ._native import ffi, lib
from .schedule import Schedule
from .sizes import Size, size_of
from .topology import Topology, machine_of

_MEM = lib.ronde_mem_default()


@dataclass(frozen=True)
class Bound:
    """
    The least time of a collective on a machine: 10^9 bytes a second, ns, and the links that say so. `ns` raises for what is no
    size.
    """

    GBps: float
    latency_ns: float
    cut: str

    def ns(self, size: Size) -> float:
        """The least time, in ns, of a launch whose larger buffer has `size` bytes."""
        return max(self.latency_ns, size_of(size) / self.GBps)


def _bound_of(bound: Any) -> Bound:
    return Bound(bound.GBps, bound.latency_ns, ffi.string(bound.cut).decode())


def bound(topology: Topology, collective: str, *, ranks: int = 0, root: int = 0) -> Bound:
    """
    What no schedule of a `collective` on a `topology` can be faster than, and the cut that says so: bound(machine,
    "all_gather").cut. `ranks`: 0: all hosts; `root`: where there is one. Raises BadArgumentError for names and ranks that are none.
    """
    ranks = whole(ranks, "ranks") or machine_of(topology).hosts
    request = ffi.new("struct ronde_compile_request *", {
        "collective": names.collective(collective), "ranks": ranks, "root": whole(root, "root")})
    out = ffi.new("struct ronde_bound *")
    error = errors.record()
    errors.check(lib.ronde_bound_find(machine_of(topology)._handle, request, _MEM, out, error), error)
    return _bound_of(out)


class Forest(Schedule):
    """A synthesised schedule: a Schedule like any other, with its trees, which a notebook shows."""

    def __init__(self, handle: Any, request: Any, topology: Topology, made: Any, words: list[object]) -> None:
        super().__init__(handle, request)
        self._topology, self._request_words = topology, words
        self.bound = _bound_of(made.bound)
        self.trees: int = made.trees
        self.height: int = made.height
        self.connections: int = made.connections
        self.GBps: float = made.GBps

    @property
    def svg(self) -> str:
        """A picture of the trees of one root: the command's `synthesize --plot`."""
        with tempfile.TemporaryDirectory(prefix="ronde") as folder:
            picture = pathlib.Path(folder, "forest.svg")
            _command.output(*self._request_words, "-o", pathlib.Path(folder, "forest.ronde"), "--plot", picture)
            return picture.read_text(encoding="utf-8")

    def _repr_svg_(self) -> Optional[str]:
        return self.svg if self.collective in ("all_gather", "broadcast") else None

    def __repr__(self) -> str:
        return (f"<ronde.Forest {self.collective} on {self.ranks} ranks of {self._topology.name}: "
                f"{self.GBps:g} of {self.bound.GBps:g} GB/s>")


def synthesize(topology: Topology, collective: str, *, ranks: int = 0, root: int = 0, trees: int = 0,
               connections: int = 0, size: Size = 0) -> Forest:
    """
    The schedule of a `collective` that the links of a `topology` allow at best, proved: synthesize(machine, "all_gather").

    `ranks`: 0: all hosts; `root`: where there is one. `size`: bytes it is to be fastest at; 0: large blocks. `trees` a rank and
    `connections` of one: at most so many, 0: as is best. Raises BadArgumentError for names and numbers that are none, RondeError
    (status "unsupported") for machines whose routes do not allow it.
    """
    ranks = whole(ranks, "ranks") or machine_of(topology).hosts
    request = ffi.new("struct ronde_synthesis_request *", {
        "collective": names.collective(collective), "ranks": ranks, "root": whole(root, "root"),
        "trees": whole(trees, "trees"), "connections": whole(connections, "connections"),
        "bytes": size_of(size)})
    words: list[object] = ["synthesize", collective, *machine_of(topology)._words, "-N", ranks]
    for option, value in (("--root", root), ("--trees", trees), ("--connections", connections), ("--for", size_of(size))):
        words += [option, value] if value else []

    def work(cancel: Any) -> Forest:
        del cancel  # balancing does not look at it
        out = ffi.new("struct ronde_schedule **")
        made = ffi.new("struct ronde_synthesis *")
        error = errors.record()
        errors.check(lib.ronde_synthesize(topology._handle, request, _MEM, out, made, error), error)
        asked = ffi.new("struct ronde_compile_request *", lib.ronde_schedule_file_request(out[0]))
        return Forest(out[0], asked, topology, made, words)

    return interruptible(work)
