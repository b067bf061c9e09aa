"""Pending operations as torch.distributed expects them."""
from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist

from ..operation import Operation
from .options import interval

_Work = getattr(dist, "Work", None) or dist._Work
_NO_LIMIT = timedelta(0)

# C++ that is handed a Work keeps it, but before torch 2.7 not its Python half, without which it waits for ever. A Work that
# Python lets go of before anyone has asked for its end may be C++'s (DDP's reducer), or nobody's: the last ones are kept.
_LOSES_PYTHON_HALF = tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 7)
_let_go: deque[RondeWork] = deque(maxlen=16)

# Reentrant: finishing one for several finishes each.
_finishing = threading.RLock()


class RondeWork(_Work):
    """One call's operations, and the tensors it yields. `finish` is called once when all are over, before anyone is told."""

    def __init__(self, operations: Sequence[Operation], outputs: list[torch.Tensor],
                 finish: Optional[Callable[[], None]] = None) -> None:
        super().__init__()
        self._operations = operations
        self._outputs = outputs
        self._finish = finish
        self._future: Any = None
        self._is_asked_for = False

    @classmethod
    def of(cls, works: Sequence[RondeWork]) -> RondeWork:
        """One for several."""
        finishes = [work._settle for work in works if work._finish is not None]

        def finish() -> None:
            for settle in finishes:
                settle()

        return cls([operation for work in works for operation in work._operations],
                   [tensor for work in works for tensor in work._outputs], finish if finishes else None)

    if _LOSES_PYTHON_HALF:
        def __del__(self) -> None:
            if not self._is_asked_for and _let_go is not None:  # None at the interpreter's end
                _let_go.append(self)

    def _ask(self) -> None:
        self._is_asked_for = True
        if _let_go:
            with suppress(ValueError):
                _let_go.remove(self)

    # C++ asks by these names, too (DDP's reducer, functional collectives).
    def wait(self, timeout: timedelta = _NO_LIMIT) -> bool:
        self._ask()
        limit = interval(timeout)
        seconds = limit.total_seconds() if limit > _NO_LIMIT else None
        for operation in self._operations:
            operation.wait(seconds)
        self._settle()
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        is_over = all(operation.done() for operation in self._operations)
        if is_over and self._finish is not None and self.exception() is None:
            self._settle()
        return is_over

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> Optional[BaseException]:
        found = (operation.exception() for operation in self._operations)
        return next((exception for exception in found if exception is not None), None)

    def result(self) -> list[torch.Tensor]:
        return self._outputs

    def source_rank(self) -> int:
        return self._operations[0].source

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future:
        """A future of the outputs, completed by the thread that ends the last operation."""
        self._ask()
        if self._future is None:
            devices = {tensor.device for tensor in self._outputs if tensor.is_cuda}
            self._future = torch.futures.Future(devices=list(devices)) if devices else torch.futures.Future()
            self._complete(0)
        return self._future

    # 1.13's C++ calls this one.
    getFuture = get_future

    def _complete(self, first: int) -> None:
        """Waits, without blocking, for one operation after another."""
        if first < len(self._operations):
            self._operations[first].add_done_callback(lambda exception: self._after(first, exception))
            return
        self._settle()
        self._future.set_result(self._outputs)

    def _after(self, index: int, exception: Optional[BaseException]) -> None:
        if exception is not None:
            self._future.set_exception(exception)
        else:
            self._complete(index + 1)

    def _settle(self) -> None:
        """Of threads that do this at once, one finishes and the others wait for it."""
        if self._finish is None:
            return
        with _finishing:
            if self._finish is not None:
                self._finish()
                self._finish = None
