"""
Called by torch at the end of every `import torch`. A package of its own: what is raised here, or by what is imported for it,
makes that import fail, and nobody who does not ask for ronde is to load its library.
"""
from __future__ import annotations

import os
import sys


def autoload() -> None:
    if not os.environ.get("RONDE_TORCH_AS"):
        return
    try:
        import ronde.torch  # noqa: F401 - takes the place of the backends that the variable names
    except Exception as reason:
        sys.stderr.write(f"ronde: RONDE_TORCH_AS is not obeyed: {reason}\n")
