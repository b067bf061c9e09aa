"""Collectives as step schedules: proved, executed, replayed and priced. See README.md beside the package's sources."""
from __future__ import annotations

from ._native import ffi as _ffi, lib as _lib
from .arrays import Communicator
from .errors import BadArgumentError, RondeError, RondeTimeoutError
from .operation import Operation

__version__: str = _ffi.string(_lib.ronde_version()).decode()

__all__ = ["BadArgumentError", "Communicator", "Operation", "RondeError", "RondeTimeoutError", "__version__"]
