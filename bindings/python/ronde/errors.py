"""Errors of the library as exceptions: the code picks the class, the message is the library's."""
from __future__ import annotations

import re
import threading
from typing import Any, NoReturn

from ._native import ffi, lib


class RondeError(RuntimeError):
    """
    A call of ronde failed. `status` is the library's word for the kind of failure: "rejected" (a schedule that is not right),
    "unsupported", "device", "io", "no memory", "cancelled", or that of a subclass.
    """

    def __init__(self, message: str, status: str = "device") -> None:
        super().__init__(message)
        self.status = status


class BadArgumentError(RondeError, ValueError):
    """An argument, or a file or text that it names, is wrong; nothing was done."""

    def __init__(self, message: str, status: str = "bad argument") -> None:
        super().__init__(message, status)


class UnavailableError(RondeError):
    """Something is not installed, or not built in; the message says what to install."""

    def __init__(self, message: str, status: str = "unavailable") -> None:
        super().__init__(message, status)


class RondeTimeoutError(RondeError, TimeoutError):
    """A time limit has passed, or the communicator was aborted."""

    def __init__(self, message: str, status: str = "timeout") -> None:
        super().__init__(message, status)


# By the library's word for a status.
_CLASSES: dict[str, type[RondeError]] = {
    "bad argument": BadArgumentError,
    "bad input": BadArgumentError,
    "unavailable": UnavailableError,
    "timeout": RondeTimeoutError,
}

# The arguments of this package by the options of the command, which messages name.
_ARGUMENTS = {
    "--topo": "topology", "-N": "ranks", "-a": "algorithm", "--algorithm": "algorithm", "-b": "sizes", "-e": "sizes", "--bytes": "sizes",
    "--minbytes": "sizes", "--maxbytes": "sizes", "-d": "dtype", "--datatype": "dtype",
    "--output": "target", "--with": "others", "--straggler": "late_ns or slow", "--style": "nccl", "--what-if": "what_if", "--for": "size",
    "--sequence-parallel": "sequence_parallel", "--synthesize": "synthesize=True",
    **{f"--{name}": name for name in ("background", "backend", "channels", "connections", "degrade", "dialect", "dp", "dtype", "engine",
                                      "fabric", "flops", "gpus", "hidden", "iters", "layers", "micro", "model", "multicast", "nics",
                                      "nodes", "op", "placement", "pp", "ranks", "root", "shape", "slot", "step", "to", "tp", "trees",
                                      "vocab", "without")},
}
_OPTION = re.compile(r"(?<![\w\"'-])--?[A-Za-z][a-z-]*(?![\w\"'-])")


def in_words_of_python(message: str) -> str:
    """The message of a library whose users type options: names of arguments in their place."""
    return _OPTION.sub(lambda found: _ARGUMENTS.get(found[0], found[0]), message)


def of(message: str, status: str) -> RondeError:
    """The exception for the library's word for a status."""
    return _CLASSES.get(status, RondeError)(in_words_of_python(message), status)


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
    """The exception for a status; `before` says what failed, where the message does not begin with it (wrong arguments)."""
    word = ffi.string(lib.ronde_status_text(status)).decode()
    if message.startswith(before.rstrip(": ")):
        before = ""
    # Only a limit that has passed: an abort has the same status.
    if any(text in message for text in ("took longer than", "waited too long")):
        before += "Timed out waiting: "
    return of(f"{before}{message or word}", word)


def fail(status: int, error: Any, before: str = "") -> NoReturn:
    raise exception_of(status, message_of(error), before)


def check(status: int, error: Any, before: str = "") -> None:
    """Raises what a call returned, unless all went well."""
    if status:
        fail(status, error, before)
