"""The `ronde` command that comes with the package."""
from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn


def main() -> NoReturn:
    program = pathlib.Path(__file__).parent / "bin" / "ronde"
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
