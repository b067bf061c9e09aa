"""
CUDA tensors: the stream that an operation runs in, and how torch's streams follow it. Built, never run on a GPU; tests hold
it to what it calls.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from .. import errors
from .._native import lib
from ..communicator import Communicator
from ..operation import Operation


class Device:
    """The GPU of this rank, given to the communicator at the first operation on its tensors, which all ranks call."""

    def __init__(self, communicator: Communicator, device: torch.device, what: str) -> None:
        error = errors.record()
        status = communicator._guarded(lib.ronde_comm_use_device, device.index, error)
        errors.check(status, error, f"{what}tensors are on {device}; move them to the CPU, use dist.new_group(backend=\"nccl\"),"
                     " or install ronde where the CUDA toolkit is (-C cmake.define.RONDE_CUDA=ON): ")
        self.communicator = communicator
        self.device = device
        self._side: Any = None

    def stream(self) -> Any:
        """The caller's current stream. An operation cannot run in the default one: a stream of ronde's follows it then."""
        current = torch.cuda.current_stream(self.device)
        if current.cuda_stream != 0:
            return current
        if self._side is None:
            self._side = torch.cuda.Stream(self.device)
        self._side.wait_stream(current)
        return self._side


class StreamOperation:
    """An operation that was enqueued. Waiting for it has the current stream wait, and never the caller, as torch has it."""

    def __init__(self, operation: Operation, device: torch.device, stream: Any) -> None:
        self._operation = operation
        self._device = device
        self._stream = stream
        self._end = torch.cuda.Event()
        self._end.record(stream)

    def wait(self, timeout: Optional[float] = None) -> None:
        if self._operation.is_over():
            self._operation.wait(timeout)
        else:
            torch.cuda.current_stream(self._device).wait_event(self._end)

    def done(self) -> bool:
        return self._operation.done()

    def is_over(self) -> bool:
        return self._operation.is_over()

    def exception(self) -> Optional[BaseException]:
        return self._operation.exception()

    @property
    def source(self) -> int:
        return self._operation.source

    def add_done_callback(self, callback: Callable[[Optional[BaseException]], None]) -> None:
        """Called at once: what a future is given here is there when the stream is, which the future follows."""
        with torch.cuda.stream(self._stream):
            callback(self._operation.exception())
