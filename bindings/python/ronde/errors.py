"""Errors of the library as exceptions: the code picks the class, the message is the library's."""
from __future__ import annotations

import threading
from typing import Any, NoReturn

from ._native import ffi, lib


class RondeError(RuntimeError):
    """A call of ronde failed; `status` is the library's word for the kind of failure ("rejected", "device", ...)."""

    def __init__(self, message: str, status: str = "device") -> None:
        super().__init__(message)
        self.status = status


class BadArgumentError(RondeError, ValueError):
    """An argument is wrong; nothing was done."""


class RondeTimeoutError(RondeError, TimeoutError):
    """A time limit has passed, or the communicator was aborted."""


_CLASSES: dict[int, type[RondeError]] = {
    lib.RONDE_BAD_ARGUMENT: BadArgumentError,
    lib.RONDE_TIMEOUT: RondeTimeoutError,
}
_ERROR = ffi.typeof("struct ronde_error *")
_of_thread = threading.local()


def record() -> Any:
    """This thread's error record, empty: what the library writes the reason of a failure into."""
    try:
        error = _of_thread.error
    except AttributeError:
        error = _of_thread.error = ffi.new(_ERROR)
    if error.status:
        error.status = lib.RONDE_OK
        error.line = 0
        error.message[0] = b"\0"
    return error


def message_of(error: Any) -> str:
    return ffi.string(error.message).decode(errors="replace")


def exception_of(status: int, message: str, before: str = "") -> RondeError:
    """The exception for a status; `before` says what failed."""
    word = ffi.string(lib.ronde_status_text(status)).decode()
    # Only a limit that has passed: an abort has the same status.
    if any(text in message for text in ("took longer than", "waited too long")):
        before += "Timed out waiting: "
    return _CLASSES.get(status, RondeError)(f"{before}{message or word}", word)


def fail(status: int, error: Any, before: str = "") -> NoReturn:
    raise exception_of(status, message_of(error), before)


def check(status: int, error: Any, before: str = "") -> None:
    """Raises what a call returned, unless all went well."""
    if status:
        fail(status, error, before)
