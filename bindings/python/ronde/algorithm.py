"""
Algorithms of one's own: a generator function that yields who sends what to whom, in order; proved like any other.

    def star(ranks):
        yield ronde.copy(0, ronde.IN[0], ronde.OUT[0])
        for child in range(1, ranks):
            yield ronde.transfer(0, child, ronde.IN[0], ronde.OUT[0])

    schedule = ronde.build("broadcast", star, ranks=8)
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union

from . import errors, names
from .arguments import whole
from ._native import ffi, lib
from .schedule import Schedule

_MEM = lib.ronde_mem_default()


@dataclass(frozen=True)
class Chunks:
    """Chunks of one of a rank's memories: IN[3], OUT[0:4], SCRATCH[1]."""

    buffer: int
    first: int
    count: int

    def operand(self) -> dict[str, int]:
        """As the library takes them."""
        return {"buffer": self.buffer, "first": self.first, "count": self.count}


def _operand(chunks: Any, what: str) -> dict[str, int]:
    if not isinstance(chunks, Chunks):
        raise TypeError(f"{what}: expected chunks such as ronde.IN[0], not {chunks!r}")
    return chunks.operand()


class _Memory:
    def __init__(self, buffer: int) -> None:
        self._buffer = buffer

    def __getitem__(self, index: Union[int, slice]) -> Chunks:
        if not isinstance(index, slice):
            return Chunks(self._buffer, whole(index, "chunk"), 1)
        if index.start is None or index.stop is None or index.step not in (None, 1) or index.stop <= index.start:
            raise errors.BadArgumentError(f"chunks {index}: expected [first:end]")
        first, end = whole(index.start, "first chunk"), whole(index.stop, "end of chunks")
        return Chunks(self._buffer, first, end - first)


IN = _Memory(lib.RONDE_IN)
OUT = _Memory(lib.RONDE_OUT)
SCRATCH = _Memory(lib.RONDE_SCRATCH)


@dataclass(frozen=True)
class transfer:
    """
    A message: `sender` reads `source`, `receiver` keeps it in `target`, combined with its `combine` if that is given. `build`
    raises what is wrong with it.
    """

    sender: int
    receiver: int
    source: Chunks
    target: Chunks
    combine: Optional[Chunks] = None
    sender_lane: int = 0
    receiver_lane: int = 0

    def state(self, builder: Any) -> None:
        """Adds it to the library's `builder`."""
        combine = self.target if self.combine is None else self.combine
        lib.ronde_builder_transfer(builder, ffi.new("struct ronde_transfer *", {
            "from": whole(self.sender, "sender"), "to": whole(self.receiver, "receiver"),
            "from_lane": whole(self.sender_lane, "sender_lane"), "to_lane": whole(self.receiver_lane, "receiver_lane"),
            "source": _operand(self.source, "source"), "with": _operand(combine, "combine"),
            "target": _operand(self.target, "target"), "reduces": self.combine is not None}))


@dataclass(frozen=True)
class _Local:
    function: Any
    rank: int
    source: Chunks
    target: Chunks
    lane: int

    def state(self, builder: Any) -> None:
        operands = [ffi.new("struct ronde_operand *", _operand(chunks, what))[0]
                    for chunks, what in ((self.source, "source"), (self.target, "target"))]
        self.function(builder, whole(self.rank, "rank"), whole(self.lane, "lane"), *operands)


def copy(rank: int, source: Chunks, target: Chunks, lane: int = 0) -> _Local:
    """`rank` copies `source` to `target`, both its own; `lane`: of its lanes. `build` raises what is wrong with it."""
    return _Local(lib.ronde_builder_copy, rank, source, target, lane)


def reduce(rank: int, source: Chunks, target: Chunks, lane: int = 0) -> _Local:
    """`rank` combines `source` into `target`, both its own; `lane`: of its lanes. `build` raises what is wrong with it."""
    return _Local(lib.ronde_builder_reduce, rank, source, target, lane)


Step = Union[transfer, _Local]


Round = Union[list[Step], tuple[Step, ...]]


def _state_one(builder: Any, step: Any) -> None:
    if not isinstance(step, (transfer, _Local)):
        raise TypeError(f"expected ronde.transfer, copy or reduce, or a list of them, not {step!r:.100}")
    step.state(builder)


def _state(builder: Any, step: Union[Step, Round]) -> None:
    if isinstance(step, (list, tuple)):
        lib.ronde_builder_round_begin(builder)
        for one in step:
            _state_one(builder, one)
        lib.ronde_builder_round_end(builder)
    else:
        _state_one(builder, step)


def _name_of(algorithm: Any) -> str:
    """What the schedule's text may call it: a lambda, an object and letters of other alphabets have no such name."""
    name = getattr(algorithm, "__name__", None) or getattr(getattr(algorithm, "func", algorithm), "__name__", None)
    return re.sub(r"\W", "_", (name or type(algorithm).__name__).strip("<>"), flags=re.ASCII)[:lib.RONDE_ALGORITHM_BYTES - 1]


def _state_all(builder: Any, name: str, steps: Any) -> None:
    if not hasattr(steps, "__iter__"):
        raise TypeError(f"{name}: expected a function that yields steps, not one that returns {steps!r:.100}")
    for number, step in enumerate(steps):
        try:
            _state(builder, step)
        except errors.BadArgumentError as reason:
            raise errors.BadArgumentError(f"{name}, what is yielded as number {number}: {reason}", reason.status) from None
        except TypeError as reason:
            raise TypeError(f"{name}, what is yielded as number {number}: {reason}") from None


def build(collective: str, algorithm: Callable[[int], Iterable[Union[Step, Round]]], ranks: int, *, root: int = 0,
          chunks: int = 1, scratch: int = 0) -> Schedule:
    """
    Builds and proves a schedule of a `collective` on `ranks` ranks, and from or to `root`, of what `algorithm`, a function of the
    number of ranks, yields. A list that is yielded is a round: everyone sends before anyone receives. `chunks`: of a block;
    `scratch`: chunks of every rank's own memory. Raises BadArgumentError or TypeError for a step that cannot be, by its number, and
    RondeError (status "rejected") where the proof fails.
    """
    if not callable(algorithm):
        raise TypeError(f"algorithm: expected a function of the number of ranks, not {algorithm!r:.100}")
    name = _name_of(algorithm)
    in_c = ffi.new("char[]", name.encode())
    request = ffi.new("struct ronde_compile_request *", {
        "collective": names.collective(collective), "algorithm": in_c, "ranks": whole(ranks, "ranks"),
        "root": whole(root, "root")})
    out_builder = ffi.new("struct ronde_builder **")
    error = errors.record()
    errors.check(lib.ronde_builder_create(request, _MEM, out_builder, error), error)
    builder = out_builder[0]
    try:
        lib.ronde_builder_chunks(builder, whole(chunks, "chunks"))
        if whole(scratch, "scratch"):
            lib.ronde_builder_scratch(builder, scratch)
        _state_all(builder, name, algorithm(ranks))
    except BaseException:
        lib.ronde_builder_destroy(builder)
        raise
    out = ffi.new("struct ronde_schedule **")
    error = errors.record()
    errors.check(lib.ronde_schedule_finish(builder, ffi.NULL, out, error), error, f"{name}: ")
    return Schedule(out[0], ffi.new("struct ronde_compile_request *", lib.ronde_schedule_file_request(out[0])))
