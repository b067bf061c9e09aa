"""Called by torch at the end of every `import torch`; what is raised here would make that import fail."""
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
