"""
Collectives in torch's profiler: `record_param_comms`, as NCCL's have it, while a call is made, and `ronde:all_reduce`, as
"gloo:all_reduce", until it is over, waiting for other ranks included. Both say group, sizes and number of the call.
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import torch
from torch.autograd import profiler

from . import param_comms
from .param_comms import Facts

try:
    from torch._C._profiler import _RecordFunctionFast
    _RecordFunctionFast("", [], {})
except (ImportError, TypeError):  # before torch 2.2
    _RecordFunctionFast = None

# Torch's names of calls and types in C++, by which readers of traces know them.
_FLAT = {"all_reduce": "allreduce", "all_gather": "_allgather_base", "reduce_scatter": "_reduce_scatter_base"}
_UNEVEN = {"all_to_all": "all_to_allv"}
_LISTS = {"all_reduce": "allreduce"}
_TYPES = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half", "float32": "Float",
          "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
          "bool": "Bool", "bfloat16": "BFloat16", "float8_e5m2": "Float8_e5m2", "float8_e4m3fn": "Float8_e4m3fn",
          "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}
_asked = False
_comms: Optional[param_comms.ParamComms] = None


def _never() -> bool:
    return False


def _is_on() -> bool:
    return profiler._is_profiler_enabled


is_on: Callable[[], bool] = _is_on if _RecordFunctionFast is not None and hasattr(profiler, "_is_profiler_enabled") else _never


def _found() -> Optional[param_comms.ParamComms]:
    """Looked for when a profile begins, and only then."""
    global _asked, _comms
    if not _asked:
        _asked, _comms = True, param_comms.found()
    return _comms


def _listed(tensors: Any) -> list[torch.Tensor]:
    if isinstance(tensors, torch.Tensor):
        return [tensors]
    return list(tensors) if isinstance(tensors, (list, tuple)) else []


def _stride(ranks: Sequence[int]) -> int:
    """From each rank to the next; -1 where that differs."""
    steps = {after - before for before, after in zip(ranks, ranks[1:])}
    return 1 if not steps else steps.pop() if len(steps) == 1 else -1


class Group:
    """What calls of one group have in common."""

    def __init__(self, name: str, about: str, rank: int, ranks: Sequence[int]) -> None:
        self.name, self.about, self.rank, self.ranks = name, about, rank, list(ranks)
        self.stride = _stride(self.ranks)


class Call:
    """One call, from before it is made; `leave` is for when it has been, whatever came of it."""

    def __init__(self, group: Group, name: str, number: int, tensors: Any, is_async: bool, is_v: bool = False) -> None:
        """`tensors`: what goes in and what comes out, a tensor or a list each, or one tensor that is both."""
        given, got = tensors if isinstance(tensors, tuple) else (tensors, tensors)
        names = _LISTS if isinstance(given, (list, tuple)) or isinstance(got, (list, tuple)) else _UNEVEN if is_v else _FLAT
        self._inputs, outputs = _listed(given), _listed(got)
        sample = next(iter((*self._inputs, *outputs)), None)
        self._name = name
        self._number = number
        self._group = group
        self._facts = Facts(group.name, group.about, group.rank, names.get(name, name.split()[0]),
                            sum(tensor.numel() for tensor in self._inputs), sum(tensor.numel() for tensor in outputs),
                            None if sample is None else sample.dtype, group.ranks[0], group.stride, len(group.ranks), is_async)
        self._span: Any = _RecordFunctionFast(f"ronde:{self._name}", self._inputs, self._said())
        self._record: Any = None
        self._guard: Any = None
        self._enter()

    def _said(self) -> dict[str, Any]:
        facts = self._facts
        kind = str(facts.dtype).partition(".")[2]
        return {"scope": "user_scope", "Collective name": facts.collective, "In msg nelems": facts.given,
                "Out msg nelems": facts.got, "dtype": _TYPES.get(kind, kind or "Byte"), "Group size": facts.size,
                "Process Group Name": facts.group, "Process Group Description": facts.about,
                "Process Group Ranks": str(self._group.ranks), "Rank": facts.rank, "Seq": self._number}

    def _enter(self) -> None:
        self._span.__enter__()
        comms = _found()
        if comms is not None:
            self._guard = comms.enter(self._facts)
            # Ranks that are no start and stride C++ does not know.
            more = {"Process Group Ranks": str(self._group.ranks)} if self._facts.stride < 0 else {}
            self._record = _RecordFunctionFast("record_param_comms", self._inputs, {"Seq": self._number, **more})
            self._record.__enter__()

    def goes_on(self, operation: Any) -> None:
        """It is over when the operation is; None: now."""
        if operation is not None:
            span, self._span = self._span, None
            operation.add_done_callback(lambda _: span.__exit__(None, None, None))

    def leave(self) -> None:
        if self._record is not None:
            self._record.__exit__(None, None, None)
            _comms.leave(self._guard)  # type: ignore[union-attr]
        if self._span is not None:
            self._span.__exit__(None, None, None)
