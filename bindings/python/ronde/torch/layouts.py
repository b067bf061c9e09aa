"""
Tensors whose memory is not their elements one after another: channels_last, transposed, conjugate and negative views. The
library sees an address and a number of elements: what a call reads of such tensors is copied before it, what it writes of
them is copied back after it. Elements are thus the same ones on all ranks, whatever the layouts.
"""
from __future__ import annotations

from enum import IntEnum
from typing import Callable, Optional, Sequence

import torch


class Layout(IntEnum):
    """Which tensors an operation takes: those with which gloo gives what it should."""

    CONTIGUOUS = 0
    DENSE = 1    # elements without gaps, in any order of dimensions
    STRIDED = 2  # any


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether its memory is its elements."""
    return tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj()


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements are without gaps and overlaps: contiguous, its dimensions in some order."""
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dimension: (strides[dimension], tensor.shape[dimension]), reverse=True)
    return tensor.permute(order).is_contiguous()


def overlaps(tensor: torch.Tensor) -> bool:
    """Whether it surely has elements that share memory, as expanded tensors do: nothing can be written to it."""
    return any(stride == 0 and length > 1 for stride, length in zip(tensor.stride(), tensor.shape))


def _copy(source: torch.Tensor, to: torch.Tensor) -> None:
    # Neither leaves of a graph nor inference tensors refuse to be written to here.
    with torch.inference_mode():
        to.copy_(source)


class Copies:
    """The contiguous tensors that stand in for those of one call."""

    __slots__ = ("_back",)

    def __init__(self) -> None:
        self._back: list[tuple[torch.Tensor, torch.Tensor]] = []

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """What a call reads."""
        if is_plain(tensor):
            return tensor
        plain = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        _copy(tensor, plain)
        return plain

    def written(self, tensor: torch.Tensor) -> torch.Tensor:
        """What a call writes, every element of it."""
        return tensor if is_plain(tensor) else self._later(tensor, tensor.device)

    def received(self, tensor: torch.Tensor) -> torch.Tensor:
        """What a message is written to, which is in the host's memory."""
        return self.written(tensor) if tensor.is_cpu else self._later(tensor, torch.device("cpu"))

    def _later(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        if overlaps(tensor):
            raise ValueError("elements of an expanded tensor share memory: nothing can be written to it; use tensor.clone()")
        plain = torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
        self._back.append((plain, tensor))
        return plain

    def updated(self, tensor: torch.Tensor) -> torch.Tensor:
        """What a call reads and writes."""
        plain = self.read(tensor)
        if plain is not tensor:
            self._back.append((plain, tensor))
        return plain

    def reads(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [self.read(tensor) for tensor in tensors]

    def writes(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [self.written(tensor) for tensor in tensors]

    @property
    def finish(self) -> Optional[Callable[[], None]]:
        """What is to be done when the call is over; None: nothing."""
        return self._write_back if self._back else None

    def _write_back(self) -> None:
        for plain, tensor in self._back:
            _copy(plain, tensor)
