"""
Times of collectives for torch's compiler, by ronde's model of NCCL: what Inductor's overlap scheduling asks of
`custom_runtime_estimation`. Answers depend on the graph, its groups and the machine alone, so that all ranks get the same
ones: where they differ, ranks make different schedules of one graph, and hang.
"""
from __future__ import annotations

import re
import weakref
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from ..nccl_model import Machine
from ..nccl_site import Placed, Site

# By the operator's name without what it says of its outputs.
_COLLECTIVES = {
    "all_reduce": "all_reduce", "broadcast": "broadcast", "all_gather_into_tensor": "all_gather", "all_gather_single": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter", "reduce_scatter_single": "reduce_scatter", "all_to_all_single": "all_to_all",
    "shard_dim_alltoall": "all_to_all"}
_NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd", "_dtensor")
# What torch takes where a size is not known.
_UNKNOWN_ELEMENTS = 4096 * 4096


def _collective_of(target: Any) -> Optional[str]:
    schema = getattr(target, "_schema", None)
    namespace, _, name = str(getattr(schema, "name", "")).partition("::")
    return _COLLECTIVES.get(re.sub(r"(_coalesced)?(_out|_)?$", "", name)) if namespace in _NAMESPACES else None


def _elements(tensor: torch.Tensor) -> int:
    count: Any = 1
    for length in tensor.shape:
        count = count * length
    if type(count) is int:
        return count
    from torch.fx.experimental.symbolic_shapes import optimization_hint
    return int(optimization_hint(count, fallback=_UNKNOWN_ELEMENTS))


def _is_uneven(splits: Any) -> bool:
    return isinstance(splits, (list, tuple)) and all(type(split) is int for split in splits) and len(set(splits)) > 1


class Estimates:
    """A function for torch: the milliseconds of a collective, None for what is none or what the model cannot say."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._site = Site(machine)
        self._collectives: dict[Any, Optional[str]] = {}
        # By name: a weak reference to the group, which tells whether the name is still its, and where its ranks are.
        self._groups: dict[str, tuple[Any, Optional[Placed]]] = {}
        # By identity of the tensor, while there is a tensor of it: a comparison of tensors is one of their elements.
        self._sizes: dict[int, tuple[Any, int]] = {}

    def __reduce__(self) -> Any:
        """Inductor's caches have its settings in their keys."""
        return Estimates, (self.machine,)

    def __repr__(self) -> str:
        return f"<ronde.torch.Estimates on {self._site.name}>"

    def __call__(self, node: Any, override_size: Optional[int] = None) -> Optional[float]:
        """`override_size`: torch's bytes instead of the node's, input and output together; 0 asks for the latency alone."""
        target = node.target
        try:
            collective = self._collectives[target]
        except KeyError:
            collective = self._collectives[target] = _collective_of(target)
        if collective is None:
            return None
        arguments = node.args
        group = self._placed(node.kwargs["group_name"] if "group_name" in node.kwargs else arguments[-1])
        if group is None:
            return None
        size = self._bytes(collective, node, group.size) if override_size is None else \
            self._overridden(collective, override_size, group.size)
        time_us = None if size is None else group.time_us(collective, size)
        return None if time_us is None else time_us * 1e-3

    def _bytes(self, collective: str, node: Any, ranks: int) -> Optional[int]:
        """As nccl-tests counts them. Of uneven splits a rank knows its own only."""
        if collective == "all_to_all" and any(map(_is_uneven, node.args[1:3])):
            return None
        given = self._input_bytes(node.args[0])
        return given if given is None or collective != "all_gather" else given * ranks

    def _input_bytes(self, argument: Any) -> Optional[int]:
        """Of a node, or of the several of a coalesced call."""
        if isinstance(argument, (list, tuple)):
            parts = [self._input_bytes(one) for one in argument]
            return None if None in parts else sum(part for part in parts if part is not None)
        value = argument.meta.get("val")
        key = id(value)
        known = self._sizes.get(key)
        if known is not None and known[0]() is value:
            return known[1]
        if not isinstance(value, torch.Tensor):
            return None
        size = _elements(value) * value.element_size()
        self._sizes[key] = weakref.ref(value, lambda _: self._sizes.pop(key, None)), size
        return size

    @staticmethod
    def _overridden(collective: str, size: int, ranks: int) -> int:
        shares = 1 + 1 / ranks if collective in ("all_gather", "reduce_scatter") else 2
        return max(1, round(size / shares))

    def _placed(self, name: Any) -> Optional[Placed]:
        if not isinstance(name, str):
            # A group itself, or the node that yields it.
            name = getattr(name, "group_name", None) or name.meta["val"].group_name
        try:
            group = distributed_c10d._resolve_process_group(name)
        except (RuntimeError, LookupError):
            return None
        known = self._groups.get(name)
        if known is not None and known[0]() is group:
            return known[1]
        placed = self._site.place(dist.get_process_group_ranks(group))
        self._groups[name] = weakref.ref(group), placed
        return placed


def estimates(machine: Machine) -> Estimates:
    """
    Has torch's compiler take ronde's times of collectives on a machine: ronde.torch.estimates("H100-cluster01"). `machine` is
    what `ronde.nccl` takes; ranks are on its GPUs one by one, node after node. Returns the function that was set.
    """
    import torch._inductor.config as config
    options = getattr(config, "aten_distributed_optimizations", None)
    if not hasattr(options, "custom_runtime_estimation"):
        raise RuntimeError(f"torch {torch.__version__} takes no times of collectives from others: its Inductor has no "
                           "custom_runtime_estimation; install torch 2.15")
    function = Estimates(machine)
    options.custom_runtime_estimation = function
    return function
