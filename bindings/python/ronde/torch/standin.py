"""
ronde in the place of another backend, for scripts that say "gloo" or "nccl" themselves: RONDE_TORCH_AS=gloo, which
processes that the script starts inherit.
"""
from __future__ import annotations

import os

import torch.distributed as dist

from .group import VARIABLE, create, standins

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
    if name == "gloo":
        module.ProcessGroupGloo = lambda store, rank, size, timeout: create(store, rank, size, timeout)
        module._GLOO_AVAILABLE = True
    else:
        raise ValueError(f"{VARIABLE}={name}: with torch 1.13 only gloo can be replaced")
