"""Long calls into the library that Ctrl-C ends."""
from __future__ import annotations

import threading
from typing import Any, Callable, TypeVar

from ._native import ffi, lib

Result = TypeVar("Result")


def interruptible(work: Callable[[Any], Result]) -> Result:
    """
    Runs a long call in another thread, so that Ctrl-C is obeyed at once. `work` is given a request to end (struct
    ronde_cancel) that it may pass on; what does not look at it goes on unheard, and what it needs lives as long.
    """
    cancel = ffi.new("struct ronde_cancel *")
    results: list[Result] = []
    failures: list[BaseException] = []
    # Not Thread.join: where Ctrl-C interrupts one, CPython before 3.13 takes the thread for ended.
    is_over = threading.Event()

    def run() -> None:
        try:
            results.append(work(cancel))
        except BaseException as reason:  # noqa: B036 - raised again below
            failures.append(reason)
        finally:
            is_over.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        is_over.wait()
    except BaseException:
        lib.ronde_cancel_request(cancel)
        is_over.wait(0.5)
        raise
    if failures:
        raise failures[0]
    return results[0]
