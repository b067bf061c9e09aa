"""
`ronde` as a backend of torch.distributed: import this, or have the package installed, and call
`dist.init_process_group("ronde")`.
"""
from __future__ import annotations

import torch.distributed as dist

from . import standin
from .estimation import Estimates, estimates
from .group import NAME, RondeGroup, create

__all__ = ["NAME", "Estimates", "RondeGroup", "estimates", "register"]


def register() -> None:
    """Makes the name known to torch. The entry point of `torch.distributed.backends`; may be called again."""
    if hasattr(dist.Backend, NAME.upper()):
        return
    try:
        dist.Backend.register_backend(NAME, create, devices=["cpu", "cuda"])
    except TypeError:  # torch 1.13 does not ask for devices
        dist.Backend.register_backend(NAME, create)


if dist.is_available():
    register()
    standin.apply()
