"""Packages that parts of this one need and that are installed with it on request alone."""
from __future__ import annotations

import importlib
from typing import Any

from .errors import UnavailableError

# By which name `pip install 'ronde[NAME]'` brings them.
_EXTRAS = {"pandas": "plot", "matplotlib": "plot", "numpy": "numpy"}


def extra(module: str) -> Any:
    """The module; where it is not installed, what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as reason:
        name = module.split(".")[0]
        raise UnavailableError(f"{name} is not here: pip install 'ronde[{_EXTRAS[name]}]' ({reason})") from reason
