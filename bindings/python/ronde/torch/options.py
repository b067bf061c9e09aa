"""
Torch's option structs, from any of the forms in which a group's methods are called: with the struct, as torch's front end
does, or with its first field, a timeout, or nothing, as programs and DDP hooks do.
"""
from __future__ import annotations

from datetime import timedelta
from typing import Any, Optional, Sequence, Union

import torch
from torch._C import _distributed_c10d as _c10d

AllgatherOptions = _c10d.AllgatherOptions
AllreduceOptions = _c10d.AllreduceOptions
AllreduceCoalescedOptions = _c10d.AllreduceCoalescedOptions
AllToAllOptions = _c10d.AllToAllOptions
BarrierOptions = _c10d.BarrierOptions
BroadcastOptions = _c10d.BroadcastOptions
GatherOptions = _c10d.GatherOptions
ReduceOptions = _c10d.ReduceOptions
ReduceScatterOptions = _c10d.ReduceScatterOptions
ScatterOptions = _c10d.ScatterOptions
_STRUCTS = frozenset((AllgatherOptions, AllreduceOptions, AllreduceCoalescedOptions, AllToAllOptions, BarrierOptions,
                      BroadcastOptions, GatherOptions, ReduceOptions, ReduceScatterOptions, ScatterOptions))


def interval(given: Any) -> Any:
    """A time as gloo's methods take it: a timedelta, or a number of seconds; None stays."""
    return timedelta(seconds=given) if isinstance(given, (int, float)) else given


def options(kind: type, given: Any, timeout: Optional[timedelta] = None, first: str = "", **fields: Any) -> Any:
    """The struct itself, or one made of what was given: `first` is the field that a bare value is."""
    if type(given) in _STRUCTS:
        return given
    made = kind()
    if isinstance(given, timedelta):
        timeout = given
    elif given is not None:
        fields[first] = given
    if timeout is not None:
        fields["timeout"] = timeout
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, value)
    return made


def listed(tensors: Union[torch.Tensor, Sequence[Any]]) -> Sequence[Any]:
    """A tensor alone stands for a list of it."""
    return [tensors] if isinstance(tensors, torch.Tensor) else tensors


def nested(lists: Sequence[Any]) -> Sequence[Any]:
    """A list of tensors stands for a list of that."""
    return [lists] if len(lists) > 0 and isinstance(lists[0], torch.Tensor) else lists
