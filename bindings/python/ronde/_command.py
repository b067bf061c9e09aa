"""The `ronde` command that comes with the package: started by its name, and by the parts of the package that need it."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import NoReturn

PROGRAM = pathlib.Path(__file__).parent / "bin" / "ronde"

# What the command ends with: results that are wrong, wrong arguments, a component that is not there.
_STATUSES = {1: "rejected", 2: "bad argument", 3: "unavailable"}


def output(*words: object, answers: tuple[int, ...] = (0,)) -> str:
    """What the command prints. It ends with this process, and with Ctrl-C. `answers`: exit codes that are no failure."""
    from . import errors
    # UTF-8 whatever the locale is: names of hosts and files are printed as they stand in a file.
    done = subprocess.run([str(PROGRAM), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                          errors="replace")
    # 1 is an answer where there are results, and a failure where there are none.
    if done.returncode in answers and (done.returncode == 0 or done.stdout):
        return done.stdout
    said = done.stderr.strip().splitlines() or [f"the command ended with {done.returncode}"]
    status = "timeout" if "took longer than" in said[-1] else _STATUSES.get(done.returncode, "device")
    raise errors.of(said[-1][len("ronde: "):] if said[-1].startswith("ronde: ") else said[-1], status)


def main() -> NoReturn:
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])


if __name__ == "__main__":
    main()
