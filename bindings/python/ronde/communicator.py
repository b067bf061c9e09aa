"""Communicators: ranks that are processes, and their collectives on memory of the caller."""
from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from typing import Any, Callable, Optional, Sequence, TypeVar

from . import errors, names
from ._native import ffi, lib
from .arguments import text, whole
from .operation import Operation, nanoseconds

_CALL = ffi.typeof("struct ronde_call *")
_VOID = ffi.typeof("void *")
_REQUEST = ffi.typeof("struct ronde_request **")
# Operations that nobody has waited for are looked through when there are so many more of them.
_SWEEP = 32

_open: "weakref.WeakSet[Communicator]" = weakref.WeakSet()
# What a class makes is of that class: collectives on arrays are those of a class that is built on this one.
_Self = TypeVar("_Self", bound="Communicator")


def pointer(address: int) -> Any:
    return ffi.cast(_VOID, address)


class Blocks:
    """Where the blocks of a buffer lie (struct ronde_blocks): a start each and, if they differ in length, a length each."""

    __slots__ = ("table", "_keep")

    def __init__(self, addresses: Optional[Sequence[int]] = None, counts: Optional[Sequence[int]] = None,
                 offsets: Optional[Sequence[int]] = None) -> None:
        self.table = ffi.new("struct ronde_blocks *")
        self._keep = []
        if addresses is not None:
            starts = ffi.new("uintptr_t[]", list(addresses))
            self.table.pointers = ffi.cast("void *const *", starts)
            self._keep.append(starts)
        if counts is not None:
            self.table.counts = self._numbers(counts)
        if offsets is not None:
            self.table.offsets = self._numbers(offsets)

    def _numbers(self, values: Sequence[int]) -> Any:
        numbers = ffi.new("uint64_t[]", list(values))
        self._keep.append(numbers)
        return numbers


class _Exchange:
    """A function of Python that gathers bytes of all ranks, as the library calls it."""

    def __init__(self, ranks: int, allgather: Callable[[bytes], Sequence[bytes]]) -> None:
        self.ranks = ranks
        self.allgather = allgather
        self.exception: Optional[BaseException] = None

    def __call__(self, mine: bytes) -> bytes:
        parts = self.allgather(mine)
        if len(parts) != self.ranks or any(len(part) != len(mine) for part in parts):
            raise ValueError(f"allgather gave {len(parts)} parts: expected {self.ranks} of {len(mine)} bytes each")
        return b"".join(parts)


@ffi.def_extern(name="ronde_python_allgather")
def _allgather(handle: Any, mine: Any, size: int, out_all: Any, error: Any) -> int:
    exchange = ffi.from_handle(handle)
    try:
        everything = exchange(bytes(ffi.buffer(mine, size)))
        ffi.memmove(out_all, everything, len(everything))
    except BaseException as exception:  # noqa: B036 - raised again by who has called the library
        exchange.exception = exception
        text = f"{type(exception).__name__}: {exception}".encode()[:400]
        return int(lib.ronde_fail(error, lib.RONDE_DEVICE, b"%s", ffi.new("char[]", text)))
    return int(lib.RONDE_OK)


def _options(transport: str, timeout: Optional[float], host_id: Optional[str]) -> tuple[Any, Any]:
    texts = {ffi.string(lib.ronde_transport_text(t)).decode(): t for t in range(lib.RONDE_TRANSPORT_COUNT)}
    if transport not in texts:
        raise errors.BadArgumentError(f"transport {transport!r}: there are {', '.join(texts)}")
    host = ffi.new("char[]", text(host_id, "host_id")) if host_id is not None else ffi.NULL
    return ffi.new("struct ronde_comm_options *", {
        "transport": texts[transport], "timeout_ns": nanoseconds(timeout), "host_id": host}), host


class Communicator:
    """Ranks that are processes. Made by `launch`, `join` or `from_allgather`; ends with `close` or a `with` block."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.rank: int = lib.ronde_comm_rank(handle)
        self.size: int = lib.ronde_comm_ranks(handle)
        self._pending: set[Operation] = set()
        # Threads in a call of the library; one that calls again, from a callback, is there twice.
        self._inside: list[int] = []
        self._sweep_at = _SWEEP
        self._owner = os.getpid()
        # Whether this process is a fork of the one that made it.
        self._is_foreign = False
        _open.add(self)
        _close_with_child()

    # -- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def launch(cls: type[_Self], *, transport: str = "auto", timeout: Optional[float] = None,
               host_id: Optional[str] = None) -> _Self:
        """The ranks that a launcher has started: RONDE_* variables, torchrun, mpirun, srun, ...; else this process alone."""
        launcher = ffi.new("struct ronde_launcher *")
        error = errors.record()
        errors.check(lib.ronde_launcher_find(ffi.NULL, ffi.NULL, launcher, error), error)
        options, _host = _options(transport, timeout, host_id)
        out = ffi.new("struct ronde_comm **")
        errors.check(lib.ronde_comm_launch(launcher, options, lib.ronde_mem_default(), out, error), error)
        return cls(out[0])

    @classmethod
    def join(cls: type[_Self], rank: int, size: int, *, token: str, host: Optional[str] = None, port: int = 0,
             transport: str = "auto", timeout: Optional[float] = None, host_id: Optional[str] = None) -> _Self:
        """
        This process as `rank` of `size`: they meet at rank 0's `host` and `port`, or by the `token` alone where they share a
        machine.
        """
        texts = [ffi.new("char[]", text(value, what)) if value is not None else ffi.NULL
                 for value, what in ((host, "host"), (token, "token"))]
        options, _host = _options(transport, timeout, host_id)
        error = errors.record()
        request = ffi.new("struct ronde_join *", {
            "host": texts[0], "port": whole(port, "port", 65535), "token": texts[1], "rank": whole(rank, "rank"),
            "ranks": whole(size, "size")})
        out = ffi.new("struct ronde_comm **")
        errors.check(lib.ronde_comm_join(request, options, lib.ronde_mem_default(), out, error), error)
        return cls(out[0])

    @classmethod
    def from_allgather(cls: type[_Self], rank: int, size: int, allgather: Callable[[bytes], Sequence[bytes]], *,
                       transport: str = "auto", timeout: Optional[float] = None,
                       host_id: Optional[str] = None) -> _Self:
        """
        `rank` of `size` that a function reaches: `allgather` is given this rank's bytes and returns those of all ranks, in their
        order.
        """
        exchange = _Exchange(size, allgather)
        handle = ffi.new_handle(exchange)
        options, _host = _options(transport, timeout, host_id)
        error = errors.record()
        bootstrap = ffi.new("struct ronde_bootstrap *", {
            "self": handle, "rank": whole(rank, "rank"), "ranks": whole(size, "size"), "allgather": lib.ronde_python_allgather})
        out = ffi.new("struct ronde_comm **")
        status = lib.ronde_comm_create(bootstrap, options, lib.ronde_mem_default(), out, error)
        if exchange.exception is not None:
            raise exchange.exception
        errors.check(status, error)
        return cls(out[0])

    def split(self: _Self, color: Optional[int], key: int = 0) -> Optional[_Self]:
        """Ranks of one `color` form a new communicator, in order of `key`; None takes no part. Collective."""
        out = ffi.new("struct ronde_comm **")
        error = errors.record()
        number = lib.RONDE_NONE if color is None else whole(color, "color")
        errors.check(lib.ronde_comm_split(self._alive(), number, key, out, error), error)
        return type(self)(out[0]) if out[0] else None

    # -- its end ------------------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """Ends the communicator on all ranks; every pending and later operation fails. From any thread."""
        if self._handle:
            lib.ronde_comm_abort(self._handle)

    def close(self) -> None:
        """Ends it on this rank; pending operations fail. May be called twice."""
        handle, self._handle = self._handle, None
        if handle:
            self._expel(handle)
            lib.ronde_comm_destroy(handle)
        self._pending.clear()

    def _expel(self, handle: Any) -> None:
        """Waits until no other thread is in a call: daemon threads are when an interpreter ends."""
        me = threading.get_ident()
        while any(thread != me for thread in tuple(self._inside)):
            lib.ronde_comm_abort(handle)
            time.sleep(1e-3)

    def _guarded(self, function: Any, *arguments: Any) -> int:
        """Calls the library with the communicator, which is not destroyed meanwhile."""
        me = threading.get_ident()
        self._inside.append(me)
        try:
            return int(function(self._alive(), *arguments))
        finally:
            self._inside.remove(me)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if lib is not None and getattr(self, "_handle", None):
            self.close()

    def _alive(self) -> Any:
        if self._is_foreign:
            raise errors.BadArgumentError(
                f"the communicator is that of process {self._owner}, of which this one, {os.getpid()}, is a fork: it cannot take "
                "part in the parent's place; make a communicator (a process group) after the fork")
        if not self._handle:
            raise errors.BadArgumentError("the communicator is closed")
        return self._handle

    # -- settings -----------------------------------------------------------------------------------------------------

    def set_timeout(self, timeout: Optional[float]) -> None:
        """`timeout`: time limit, in seconds, of later operations that have none of their own; None: none."""
        error = errors.record()
        errors.check(lib.ronde_comm_timeout(self._alive(), nanoseconds(timeout), error), error)

    def choose(self, collective: str, algorithm: str = "auto") -> None:
        """Has later operations of a `collective` run an `algorithm`, by name. All ranks alike."""
        error = errors.record()
        errors.check(lib.ronde_comm_choose(self._alive(), names.collective(collective), text(algorithm, "algorithm"), error), error)

    @property
    def algorithm(self) -> str:
        """The algorithm that the last operation ran."""
        text = ffi.new("char[]", lib.RONDE_ALGORITHM_BYTES)
        lib.ronde_comm_algorithm(self._alive(), text)
        return ffi.string(text).decode()

    @property
    def transport(self) -> str:
        """How its messages travel: proc (shared memory), ucx or hybrid."""
        return ffi.string(lib.ronde_transport_text(lib.ronde_comm_transport(self._alive()))).decode()

    # -- operations on addresses: arrays.py and ronde.torch are made of these ---------------------------------------------

    def start(self, what: str, fields: dict[str, Any], wait: bool, keep: Any,
              in_blocks: Optional[Blocks] = None, out_blocks: Optional[Blocks] = None) -> Optional[Operation]:
        """
        Starts the collective that `fields` says (struct ronde_call), or runs it, and returns None, where `wait` is true.
        `keep` is kept until it is over; `what` stands before an error's message.
        """
        call = ffi.new(_CALL, fields)
        if in_blocks is not None:
            call.in_blocks = in_blocks.table
        if out_blocks is not None:
            call.out_blocks = out_blocks.table
        error = errors.record()
        if wait:
            errors.check(self._guarded(lib.ronde_start, call, ffi.NULL, error), error, what)
            return None
        out = ffi.new(_REQUEST)
        errors.check(self._guarded(lib.ronde_start, call, out, error), error, what)
        return self._kept(Operation(out[0], (keep, in_blocks, out_blocks), self, what))

    def start_plain(self, what: str, collective: int, dtype: int, op: int, root: int, in_: int, out: int, count: int,
                    timeout_ns: int, stream: int, wait: bool, keep: Any) -> Optional[Operation]:
        """The same of a call that needs no tables and no factor, by numbers alone: twice as fast."""
        error = errors.record()
        request = ffi.NULL if wait else ffi.new(_REQUEST)
        me = threading.get_ident()
        self._inside.append(me)
        try:
            status = lib.ronde_python_start(self._handle or self._alive(), collective, dtype, op, root, in_, out, count,
                                            timeout_ns, stream, request, error)
        finally:
            self._inside.remove(me)
        if status:
            errors.check(status, error, what)
        return None if wait else self._kept(Operation(request[0], keep, self, what))

    def send(self, address: int, count: int, dtype: int, peer: int, tag: int, keep: Any) -> Operation:
        """
        Starts sending `count` elements of `dtype` (the library's number) at `address` to `peer`; `keep` lives as long as it takes.
        """
        error = errors.record()
        out = ffi.new(_REQUEST)
        status = self._guarded(lib.ronde_send, pointer(address), count, dtype, peer, tag, out, error)
        errors.check(status, error, "send: ")
        return self._kept(Operation(out[0], keep, self, "send: "))

    def recv(self, address: int, count: int, dtype: int, peer: Optional[int], tag: int, keep: Any) -> Operation:
        """Starts receiving at most `count` elements, as for `send`, of a rank, or of any where `peer` is None."""
        error = errors.record()
        out = ffi.new(_REQUEST)
        if peer is None:
            status = self._guarded(lib.ronde_recv_any, pointer(address), count, dtype, tag, ffi.NULL, out, error)
        else:
            status = self._guarded(lib.ronde_recv, pointer(address), count, dtype, peer, tag, out, error)
        errors.check(status, error, "recv: ")
        return self._kept(Operation(out[0], keep, self, "recv: "))

    def _kept(self, operation: Operation) -> Operation:
        self._pending.add(operation)
        if len(self._pending) > self._sweep_at:
            for pending in list(self._pending):
                if pending.is_over():
                    pending._settle()
            self._sweep_at = 2 * len(self._pending) + _SWEEP
        return operation

    def _forget(self, operation: Operation) -> None:
        self._pending.discard(operation)


def _disown_all() -> None:
    """In a forked child, which shares memory and connections of its parent's communicators: to it they are closed."""
    for communicator in list(_open):
        communicator._handle = None
        communicator._is_foreign = True


os.register_at_fork(after_in_child=_disown_all)


@atexit.register
def _close_all() -> None:
    """A program that closes nothing ends as one that does: the library's thread stops while Python is still whole."""
    for communicator in list(_open):
        communicator.close()


# The child of multiprocessing that closes its communicators when it ends.
_closing = 0


def _close_with_child() -> None:
    """
    A child that multiprocessing forks ends by os._exit, without atexit's functions but with multiprocessing's own: else it would
    leave its communicators as a rank that is lost, while others still send each other messages.
    """
    global _closing
    util, process = sys.modules.get("multiprocessing.util"), sys.modules.get("multiprocessing.process")
    if util is None or process is None or process.parent_process() is None or _closing == os.getpid():
        return
    _closing = os.getpid()
    util.Finalize(None, _close_all, exitpriority=-1)
