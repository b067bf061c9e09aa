"""The collectives of a communicator on arrays: NumPy's, and whatever else has a buffer of numbers."""
from __future__ import annotations

from itertools import accumulate
from typing import Any, Literal, Optional, Sequence, overload

from . import names
from ._native import ffi, lib
from .arguments import native, whole, wholes
from .communicator import Blocks, Communicator as _Base
from .errors import BadArgumentError
from .operation import Operation, nanoseconds

# The struct module's letters, for buffers that name their type by them.
_FORMATS = {"b": "int8", "B": "uint8", "?": "bool", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "l": "int64",
            "L": "uint64", "q": "int64", "Q": "uint64", "e": "float16", "f": "float32", "d": "float64", "c": "uint8"}


class _Buffer:
    """An array as the library sees it: where it starts, how many elements of which type."""

    __slots__ = ("start", "count", "dtype", "array")

    def __init__(self, array: Any, what: str, writable: bool) -> None:
        name = getattr(getattr(array, "dtype", None), "name", None)
        if name is not None:
            native(array.dtype, what)
        try:
            view = ffi.from_buffer(array, require_writable=writable)
        except (TypeError, ValueError, BufferError) as reason:
            raise BadArgumentError(f"{what}: {reason}") from reason
        if name is None:
            name = _FORMATS.get(memoryview(array).format, memoryview(array).format)
        if name not in names.DTYPES:
            raise BadArgumentError(f"{what}: elements of type {name}: there are {', '.join(names.DTYPES)}")
        self.dtype = names.DTYPES[name]
        self.count = len(view) // lib.ronde_dtype_bytes(self.dtype)
        self.start = ffi.cast("void *", view)
        self.array = view


def _part(buffer: _Buffer, ranks: int, what: str) -> int:
    if buffer.count % ranks:
        raise BadArgumentError(f"{what}: {buffer.count} elements are no whole number of blocks for {ranks} ranks")
    return int(buffer.count // ranks)


def _same(a: int, b: int, what: str) -> int:
    if a != b:
        raise BadArgumentError(f"{what}: blocks of {a} elements go in and of {b} come out")
    return a


def _table(counts: Sequence[int]) -> Blocks:
    """Blocks of given lengths, one after another."""
    return Blocks(None, counts, [0, *accumulate(counts)][:len(counts)])


def _fits(buffer: _Buffer, counts: Sequence[int], ranks: int, what: str) -> Blocks:
    counts = wholes(counts, f"{what}: lengths", 2**63)
    if len(counts) != ranks or sum(counts) > buffer.count:
        raise BadArgumentError(f"{what}: lengths {list(counts)} for {ranks} ranks and {buffer.count} elements")
    return _table(counts)


class Communicator(_Base):
    """
    Ranks that are processes. Every collective runs to its end and returns None, or returns a pending Operation where `wait` is
    false; arrays must then stay as they are until it is over. All ranks make the same calls in the same order.

    Arrays are NumPy's, or anything else with a contiguous buffer of numbers; of shapes only the number of elements counts, which is
    what the methods mean by (n,): `in_` and `out`, n elements of one type. `op` combines: "sum", "prod", "min", "max", "avg",
    "band", "bor", "bxor"; `factor` multiplies inputs before a sum. `root` and `peer` are ranks, `counts`, `in_counts` and
    `out_counts` numbers of elements by rank, of which `max_count` is the largest on any rank; messages meet by `tag`. `timeout` is
    in seconds, None: the communicator's. `transport`: "auto", "proc", "ucx" or "hybrid"; ranks of one `host_id` share a machine.
    Every method raises BadArgumentError (a ValueError) for arrays that do not fit each other, RondeTimeoutError (a TimeoutError)
    where a limit passes, RondeError where a rank is lost; an Operation raises the last two when it is waited for.
    """

    def _run(self, collective: str, in_: Optional[_Buffer], out: Optional[_Buffer], count: int, wait: bool,
             timeout: Optional[float], in_blocks: Optional[Blocks] = None, out_blocks: Optional[Blocks] = None,
             **more: Any) -> Optional[Operation]:
        some = in_ or out
        if in_ is not None and out is not None and in_.dtype != out.dtype:
            raise BadArgumentError(f"{collective}: in and out have different types")
        fields = {"collective": names.COLLECTIVES[collective], "dtype": some.dtype if some else 0, "count": count,
                  "in": in_.start if in_ else ffi.NULL, "out": out.start if out else ffi.NULL,
                  "timeout_ns": nanoseconds(timeout), "is_v": in_blocks is not None or out_blocks is not None, **more}
        return self.start(f"{collective}: ", fields, wait, (in_, out), in_blocks, out_blocks)

    @staticmethod
    def _operator(op: str, factor: Optional[float], dtype: int) -> dict[str, Any]:
        more: dict[str, Any] = {"op": names.op(op)}
        if factor is not None:
            more["factor"] = ffi.new("uint64_t *")
            lib.ronde_element_store(dtype, more["factor"], float(factor))
        return more

    @overload
    def all_reduce(self, in_: Any, out: Any = ..., op: str = ..., *, factor: Optional[float] = ..., wait: Literal[True] = ...,
                   timeout: Optional[float] = ...) -> None: ...

    @overload
    def all_reduce(self, in_: Any, out: Any = ..., op: str = ..., *, factor: Optional[float] = ..., wait: Literal[False],
                   timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def all_reduce(self, in_: Any, out: Any = ..., op: str = ..., *, factor: Optional[float] = ..., wait: bool,
                   timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def all_reduce(self, in_: Any, out: Any = None, op: str = "sum", *, factor: Optional[float] = None, wait: bool = True,
                   timeout: Optional[float] = None) -> Optional[Operation]:
        """
        All inputs combined element by element, to `out` of all ranks; None: in place. (n,) to (n,) on every rank.
        """
        source = _Buffer(in_, "in", out is None)
        target = source if out is None else _Buffer(out, "out", True)
        count = _same(source.count, target.count, "all_reduce")
        more = self._operator(op, factor, source.dtype)
        return self._run("all_reduce", source, target, count, wait, timeout, **more)

    @overload
    def reduce(self, in_: Any, out: Any = ..., op: str = ..., *, root: int = ..., factor: Optional[float] = ...,
               wait: Literal[True] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def reduce(self, in_: Any, out: Any = ..., op: str = ..., *, root: int = ..., factor: Optional[float] = ...,
               wait: Literal[False], timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def reduce(self, in_: Any, out: Any = ..., op: str = ..., *, root: int = ..., factor: Optional[float] = ..., wait: bool,
               timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def reduce(self, in_: Any, out: Any = None, op: str = "sum", *, root: int = 0, factor: Optional[float] = None,
               wait: bool = True, timeout: Optional[float] = None) -> Optional[Operation]:
        """All inputs combined, to the root's `out`; None: the root's in place. (n,) on every rank to (n,) on rank `root`."""
        is_root = self.rank == root
        source = _Buffer(in_, "in", is_root and out is None)
        target = (source if out is None else _Buffer(out, "out", True)) if is_root else None
        if target is not None:
            _same(source.count, target.count, "reduce")
        more = self._operator(op, factor, source.dtype)
        return self._run("reduce", source, target, source.count, wait, timeout, root=whole(root, "root"), **more)

    @overload
    def broadcast(self, array: Any, *, root: int = ..., wait: Literal[True] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def broadcast(self, array: Any, *, root: int = ..., wait: Literal[False], timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def broadcast(self, array: Any, *, root: int = ..., wait: bool, timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def broadcast(self, array: Any, *, root: int = 0, wait: bool = True, timeout: Optional[float] = None) -> Optional[Operation]:
        """The root's `array` to all: (n,) on every rank."""
        buffer = _Buffer(array, "array", self.rank != root)
        return self._run("broadcast", buffer, buffer, buffer.count, wait, timeout, root=whole(root, "root"))

    @overload
    def all_gather(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = ..., wait: Literal[True] = ...,
                   timeout: Optional[float] = ...) -> None: ...

    @overload
    def all_gather(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = ..., wait: Literal[False],
                   timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def all_gather(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = ..., wait: bool,
                   timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def all_gather(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = None, wait: bool = True,
                   timeout: Optional[float] = None) -> Optional[Operation]:
        """
        `in_` of rank r to block r of `out` of all ranks: (n,) to (size * n,). `counts`: elements of each, where they differ:
        (counts[r],) to (sum(counts),).
        """
        source, target = _Buffer(in_, "in", False), _Buffer(out, "out", True)
        if counts is not None:
            blocks = _fits(target, counts, self.size, "all_gather: out")
            _same(source.count, counts[self.rank], "all_gather")
            return self._run("all_gather", source, target, max(counts), wait, timeout, _table([source.count]), blocks)
        count = _same(source.count, _part(target, self.size, "all_gather: out"), "all_gather")
        return self._run("all_gather", source, target, count, wait, timeout)

    @overload
    def gather(self, in_: Any, out: Any = ..., *, counts: Optional[Sequence[int]] = ..., root: int = ..., max_count: int = ...,
               wait: Literal[True] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def gather(self, in_: Any, out: Any = ..., *, counts: Optional[Sequence[int]] = ..., root: int = ..., max_count: int = ...,
               wait: Literal[False], timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def gather(self, in_: Any, out: Any = ..., *, counts: Optional[Sequence[int]] = ..., root: int = ..., max_count: int = ...,
               wait: bool, timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def gather(self, in_: Any, out: Any = None, *, counts: Optional[Sequence[int]] = None, root: int = 0, max_count: int = 0,
               wait: bool = True, timeout: Optional[float] = None) -> Optional[Operation]:
        """
        `in_` of rank r to block r of the root's `out`: (n,) to (size * n,) on rank `root`. Where lengths differ every rank gives
        `counts`: the root a length per rank, the others anything that is not None.
        """
        source = _Buffer(in_, "in", False)
        target = _Buffer(out, "out", True) if self.rank == root else None
        if counts is not None:
            blocks = _fits(target, counts, self.size, "gather: out") if target is not None else None
            return self._run("gather", source, target, max_count, wait, timeout, _table([source.count]), blocks, root=whole(root, "root"))
        if target is not None:
            _same(source.count, _part(target, self.size, "gather: out"), "gather")
        return self._run("gather", source, target, source.count, wait, timeout, root=whole(root, "root"))

    @overload
    def scatter(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = ..., root: int = ..., max_count: int = ...,
                wait: Literal[True] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def scatter(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = ..., root: int = ..., max_count: int = ...,
                wait: Literal[False], timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def scatter(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = ..., root: int = ..., max_count: int = ...,
                wait: bool, timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def scatter(self, in_: Any, out: Any, *, counts: Optional[Sequence[int]] = None, root: int = 0, max_count: int = 0,
                wait: bool = True, timeout: Optional[float] = None) -> Optional[Operation]:
        """Block r of the root's `in_` to `out` of rank r: (size * n,) on rank `root` to (n,). `counts` as for gather."""
        source = _Buffer(in_, "in", False) if self.rank == root else None
        target = _Buffer(out, "out", True)
        if counts is not None:
            blocks = _fits(source, counts, self.size, "scatter: in") if source is not None else None
            return self._run("scatter", source, target, max_count, wait, timeout, blocks, _table([target.count]), root=whole(root, "root"))
        if source is not None:
            _same(_part(source, self.size, "scatter: in"), target.count, "scatter")
        return self._run("scatter", source, target, target.count, wait, timeout, root=whole(root, "root"))

    @overload
    def reduce_scatter(self, in_: Any, out: Any, op: str = ..., *, counts: Optional[Sequence[int]] = ...,
                       factor: Optional[float] = ..., wait: Literal[True] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def reduce_scatter(self, in_: Any, out: Any, op: str = ..., *, counts: Optional[Sequence[int]] = ...,
                       factor: Optional[float] = ..., wait: Literal[False], timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def reduce_scatter(self, in_: Any, out: Any, op: str = ..., *, counts: Optional[Sequence[int]] = ...,
                       factor: Optional[float] = ..., wait: bool, timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def reduce_scatter(self, in_: Any, out: Any, op: str = "sum", *, counts: Optional[Sequence[int]] = None,
                       factor: Optional[float] = None, wait: bool = True, timeout: Optional[float] = None) -> Optional[Operation]:
        """
        Blocks r of all inputs combined, to `out` of rank r: (size * n,) to (n,). `counts`: elements of each block, where they
        differ.
        """
        source, target = _Buffer(in_, "in", False), _Buffer(out, "out", True)
        more = self._operator(op, factor, source.dtype)
        if counts is not None:
            blocks = _fits(source, counts, self.size, "reduce_scatter: in")
            _same(counts[self.rank], target.count, "reduce_scatter")
            return self._run("reduce_scatter", source, target, max(counts), wait, timeout, blocks, _table([target.count]), **more)
        count = _same(_part(source, self.size, "reduce_scatter: in"), target.count, "reduce_scatter")
        return self._run("reduce_scatter", source, target, count, wait, timeout, **more)

    @overload
    def all_to_all(self, in_: Any, out: Any, *, in_counts: Optional[Sequence[int]] = ...,
                   out_counts: Optional[Sequence[int]] = ..., max_count: int = ..., wait: Literal[True] = ...,
                   timeout: Optional[float] = ...) -> None: ...

    @overload
    def all_to_all(self, in_: Any, out: Any, *, in_counts: Optional[Sequence[int]] = ...,
                   out_counts: Optional[Sequence[int]] = ..., max_count: int = ..., wait: Literal[False],
                   timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def all_to_all(self, in_: Any, out: Any, *, in_counts: Optional[Sequence[int]] = ...,
                   out_counts: Optional[Sequence[int]] = ..., max_count: int = ..., wait: bool,
                   timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def all_to_all(self, in_: Any, out: Any, *, in_counts: Optional[Sequence[int]] = None,
                   out_counts: Optional[Sequence[int]] = None, max_count: int = 0, wait: bool = True,
                   timeout: Optional[float] = None) -> Optional[Operation]:
        """
        Block r of `in_` of rank s to block s of `out` of rank r: (size * n,) to (size * n,). The counts: elements of each block,
        where they differ.
        """
        source, target = _Buffer(in_, "in", False), _Buffer(out, "out", True)
        if (in_counts is None) != (out_counts is None):
            raise BadArgumentError("all_to_all: in_counts and out_counts go together")
        if in_counts is not None and out_counts is not None:
            tables = [_fits(source, in_counts, self.size, "all_to_all: in"),
                      _fits(target, out_counts, self.size, "all_to_all: out")]
            return self._run("all_to_all", source, target, max_count, wait, timeout, *tables)
        parts = [_part(buffer, self.size, "all_to_all") for buffer in (source, target)]
        return self._run("all_to_all", source, target, _same(parts[0], parts[1], "all_to_all"), wait, timeout)

    @overload
    def shift(self, in_: Any, out: Any, distance: int = ..., *, wait: Literal[True] = ...,
              timeout: Optional[float] = ...) -> None: ...

    @overload
    def shift(self, in_: Any, out: Any, distance: int = ..., *, wait: Literal[False],
              timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def shift(self, in_: Any, out: Any, distance: int = ..., *, wait: bool,
              timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def shift(self, in_: Any, out: Any, distance: int = 1, *, wait: bool = True,
              timeout: Optional[float] = None) -> Optional[Operation]:
        """Rank r gets the input of rank r - `distance`, modulo ranks: (n,) to (n,)."""
        source, target = _Buffer(in_, "in", False), _Buffer(out, "out", True)
        count = _same(source.count, target.count, "shift")
        return self._run("send_recv", source, target, count, wait, timeout, shift=distance % self.size)

    @overload
    def barrier(self, *, wait: Literal[True] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def barrier(self, *, wait: Literal[False], timeout: Optional[float] = ...) -> Operation: ...

    @overload
    def barrier(self, *, wait: bool, timeout: Optional[float] = ...) -> Optional[Operation]: ...

    def barrier(self, *, wait: bool = True, timeout: Optional[float] = None) -> Optional[Operation]:
        """No rank goes on before all have called."""
        return self._run("barrier", None, None, 0, wait, timeout)

    @overload
    def send_array(self, array: Any, peer: int, tag: int = ..., *, wait: Literal[True] = ...) -> None: ...

    @overload
    def send_array(self, array: Any, peer: int, tag: int = ..., *, wait: Literal[False]) -> Operation: ...

    @overload
    def send_array(self, array: Any, peer: int, tag: int = ..., *, wait: bool) -> Optional[Operation]: ...

    def send_array(self, array: Any, peer: int, tag: int = 0, *, wait: bool = True) -> Optional[Operation]:
        """Sends `array`, of any shape, to rank `peer`; messages with equal tags arrive in order."""
        buffer = _Buffer(array, "array", False)
        operation = self.send(int(ffi.cast("uintptr_t", buffer.start)), buffer.count, buffer.dtype, whole(peer, "peer"),
                              whole(tag, "tag", 2**64 - 1), buffer)
        if not wait:
            return operation
        operation.wait()
        return None

    def recv_array(self, array: Any, peer: Optional[int] = None, tag: int = 0, *, wait: bool = True) -> Operation:
        """
        Receives into `array`, at most its length, of `peer`, None: of any. The operation says of whom (`source`), and how many
        bytes.
        """
        buffer = _Buffer(array, "array", True)
        of = None if peer is None else whole(peer, "peer")
        operation = self.recv(int(ffi.cast("uintptr_t", buffer.start)), buffer.count, buffer.dtype, of,
                              whole(tag, "tag", 2**64 - 1), buffer)
        if wait:
            operation.wait()
        return operation
