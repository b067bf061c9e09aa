"""Pending operations of a communicator."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import errors
from ._native import ffi, lib

if TYPE_CHECKING:
    from .communicator import Communicator

# Operations whose callback has still to come: the library knows each by its handle alone.
_called_back: "set[Operation]" = set()
_guard = threading.Lock()


def nanoseconds(seconds: Optional[float]) -> int:
    """A time limit as the library takes it; None: none."""
    if seconds is None:
        return 0
    if not seconds > 0:
        raise errors.BadArgumentError(f"a time limit of {seconds} s: must be positive")
    return max(1, min(int(seconds * 1e9), 2**62))


class Operation:
    """
    An operation that was started. Its buffers are kept until it is over, also if nobody waits for it. `wait` raises
    RondeTimeoutError where a limit passes, RondeError where it failed.
    """

    __slots__ = ("_request", "_keep", "_communicator", "_what", "_handle", "_callbacks", "__weakref__")

    def __init__(self, request: Any, keep: Any, communicator: Communicator, what: str) -> None:
        self._request = request
        self._keep = keep
        self._communicator = communicator
        self._what = what
        self._handle: Any = None
        self._callbacks: list[Callable[[Optional[errors.RondeError]], None]] = []

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits until it is over; a `timeout`, in seconds, that passes ends the communicator."""
        self._check()
        error = errors.record()
        status = lib.ronde_request_wait(self._request, nanoseconds(timeout), error)
        self._settle()
        errors.check(status, error, self._what)

    def done(self) -> bool:
        """Moves it on, and says whether it is over, well or not. Never blocks."""
        self._check()
        out = ffi.new("bool *")
        lib.ronde_request_test(self._request, out, ffi.NULL)
        if out[0]:
            self._settle()
        return bool(out[0])

    def is_over(self) -> bool:
        """The same without moving it on."""
        return bool(lib.ronde_request_status(self._request).is_done)

    def exception(self) -> Optional[errors.RondeError]:
        """Why it failed; None if it did not, or is not over."""
        status = lib.ronde_request_status(self._request).status
        if status == lib.RONDE_OK:
            return None
        error = errors.record()
        lib.ronde_request_wait(self._request, 0, error)
        return errors.exception_of(status, errors.message_of(error), self._what)

    @property
    def source(self) -> int:
        """Of a receive that is over: the rank that sent the message."""
        return int(lib.ronde_request_status(self._request).source)

    @property
    def bytes(self) -> int:
        """Of a send or receive that is over: the length of the message."""
        return int(lib.ronde_request_status(self._request).bytes)

    def add_done_callback(self, callback: Callable[[Optional[errors.RondeError]], None]) -> None:
        """Has `callback` called with the exception or None: at once if it is over, else by the thread that ends it."""
        self._check()
        with _guard:
            self._callbacks.append(callback)
            is_first = self._handle is None
            if is_first:
                self._handle = ffi.new_handle(self)
                _called_back.add(self)
            has_been_called = not is_first and self not in _called_back
        if is_first:
            lib.ronde_on_complete(self._request, lib.ronde_python_complete, self._handle)
        elif has_been_called:
            self._call_back()

    def _call_back(self) -> None:
        with _guard:
            _called_back.discard(self)
            callbacks, self._callbacks = self._callbacks, []
        exception = self.exception() if callbacks else None
        for callback in callbacks:
            callback(exception)

    def _check(self) -> None:
        """Refuses what a forked child asks of its parent's operation."""
        if self._communicator._is_foreign:
            self._communicator._alive()

    def _settle(self) -> None:
        self._keep = None
        self._communicator._forget(self)

    def __del__(self) -> None:
        # At the interpreter's end what is called here may be gone already. What is shared with a parent is the parent's.
        if lib is not None and not self._communicator._is_foreign:
            lib.ronde_request_free(self._request)


@ffi.def_extern(name="ronde_python_complete")
def _complete(handle: Any, status: int, error: Any) -> None:
    ffi.from_handle(handle)._call_back()
