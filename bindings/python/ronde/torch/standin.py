"""
ronde in the place of another backend, for scripts that say "gloo" or "nccl" themselves: RONDE_TORCH_AS=gloo, which
processes that the script starts inherit.
"""
from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from .group import VARIABLE, RondeGroup, create, standins

# What scripts may say; "nccl" for those whose tensors are on the CPU all the same.
NAMES = ("gloo", "nccl", "mpi", "ucc")


def wanted() -> list[str]:
    """The backends whose place ronde takes."""
    found = standins()[1:]
    for name in found:
        if name not in NAMES:
            raise ValueError(f"{VARIABLE}={os.environ[VARIABLE]}: {name!r} is none of {', '.join(NAMES)}")
    return found


def apply() -> None:
    for name in wanted():
        if hasattr(dist.Backend, "_plugins") and hasattr(dist.Backend, "backend_capability"):
            _replace(name)
        else:
            _replace_old(name)


def _replace(name: str) -> None:
    """Since 2.0 torch's own backends are entries of a table, as others are."""
    backend = dist.Backend
    backend._plugins[name.upper()] = backend._BackendPlugin(create, False)
    backend.backend_type_map[name] = dist.ProcessGroup.BackendType.CUSTOM
    backend.backend_capability[name] = ["cpu", "cuda"]


def _replace_old(name: str) -> None:
    """1.13 makes gloo's group by its class, and asks whether NCCL is here."""
    module = dist.distributed_c10d
    if name != "gloo":
        raise ValueError(f"{VARIABLE}={name}: with torch 1.13 only gloo can be replaced")
    gloo = getattr(module, "ProcessGroupGloo", None)

    def checked(wrapped_pg: Any, store_prefix: str, store: Any, rank: int, world_size: int, timeout: timedelta) -> Any:
        """TORCH_DISTRIBUTED_DEBUG=DETAIL: groups of others are checked through gloo's own; ronde's are not, as since 2.0."""
        if gloo is None or isinstance(wrapped_pg, RondeGroup):
            return wrapped_pg
        store = dist.PrefixStore(f"{module.PG_WRAPPER_STORE_PREFIX}:{store_prefix}", store)
        return module._ProcessGroupWrapper(wrapped_pg, gloo(store, rank, world_size, timeout=timeout))

    module.ProcessGroupGloo = lambda store, rank, size, timeout: create(store, rank, size, timeout)
    module._GLOO_AVAILABLE = True
    module._create_process_group_wrapper = checked
