"""
Algorithms of one's own: a generator function that yields who sends what to whom, in order; proved like any other.

    def star(ranks):
        yield ronde.copy(0, ronde.IN[0], ronde.OUT[0])
        for child in range(1, ranks):
            yield ronde.transfer(0, child, ronde.IN[0], ronde.OUT[0])

    schedule = ronde.build("broadcast", star, ranks=8)
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union

from . import errors, names
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
        return {"buffer": self.buffer, "first": self.first, "count": self.count}


class _Memory:
    def __init__(self, buffer: int) -> None:
        self._buffer = buffer

    def __getitem__(self, index: Union[int, slice]) -> Chunks:
        if isinstance(index, int):
            return Chunks(self._buffer, index, 1)
        if index.start is None or index.stop is None or index.step not in (None, 1) or index.stop <= index.start:
            raise errors.BadArgumentError(f"chunks {index}: expected [first:end]", "bad argument")
        return Chunks(self._buffer, index.start, index.stop - index.start)


IN = _Memory(lib.RONDE_IN)
OUT = _Memory(lib.RONDE_OUT)
SCRATCH = _Memory(lib.RONDE_SCRATCH)


@dataclass(frozen=True)
class transfer:
    """A message: `sender` reads `source`, `receiver` keeps it in `target`, combined with its `combine` if that is given."""

    sender: int
    receiver: int
    source: Chunks
    target: Chunks
    combine: Optional[Chunks] = None
    sender_lane: int = 0
    receiver_lane: int = 0

    def state(self, builder: Any) -> None:
        combine = self.combine or self.target
        lib.ronde_builder_transfer(builder, ffi.new("struct ronde_transfer *", {
            "from": self.sender, "to": self.receiver, "from_lane": self.sender_lane, "to_lane": self.receiver_lane,
            "source": self.source.operand(), "with": combine.operand(), "target": self.target.operand(),
            "reduces": self.combine is not None}))


@dataclass(frozen=True)
class _Local:
    function: Any
    rank: int
    source: Chunks
    target: Chunks
    lane: int

    def state(self, builder: Any) -> None:
        operands = [ffi.new("struct ronde_operand *", chunks.operand())[0] for chunks in (self.source, self.target)]
        self.function(builder, self.rank, self.lane, *operands)


def copy(rank: int, source: Chunks, target: Chunks, lane: int = 0) -> _Local:
    """A rank copies within its memory."""
    return _Local(lib.ronde_builder_copy, rank, source, target, lane)


def reduce(rank: int, source: Chunks, target: Chunks, lane: int = 0) -> _Local:
    """A rank combines `source` into `target`."""
    return _Local(lib.ronde_builder_reduce, rank, source, target, lane)


Step = Union[transfer, _Local]


def _state(builder: Any, step: Union[Step, list[Step]]) -> None:
    if isinstance(step, list):
        lib.ronde_builder_round_begin(builder)
        for one in step:
            one.state(builder)
        lib.ronde_builder_round_end(builder)
    else:
        step.state(builder)


def build(collective: str, algorithm: Callable[[int], Iterable[Union[Step, list[Step]]]], ranks: int, *, root: int = 0,
          chunks: int = 1, scratch: int = 0) -> Schedule:
    """
    Builds and proves a schedule of what `algorithm(ranks)` yields. A list that is yielded is a round: everyone sends before
    anyone receives. `chunks`: of a block; `scratch`: chunks of every rank's own memory.
    """
    name = ffi.new("char[]", algorithm.__name__.encode()[:31])
    request = ffi.new("struct ronde_compile_request *", {
        "collective": names.collective(collective), "algorithm": name, "ranks": ranks, "root": root})
    out_builder = ffi.new("struct ronde_builder **")
    error = errors.record()
    errors.check(lib.ronde_builder_create(request, _MEM, out_builder, error), error)
    builder = out_builder[0]
    try:
        lib.ronde_builder_chunks(builder, chunks)
        if scratch:
            lib.ronde_builder_scratch(builder, scratch)
        for step in algorithm(ranks):
            _state(builder, step)
    except BaseException:
        lib.ronde_builder_destroy(builder)
        raise
    out = ffi.new("struct ronde_schedule **")
    error = errors.record()
    errors.check(lib.ronde_schedule_finish(builder, ffi.NULL, out, error), error)
    return Schedule(out[0], ffi.new("struct ronde_compile_request *", lib.ronde_schedule_file_request(out[0])))
