"""`python -m ronde.torch --as gloo SCRIPT ARGUMENTS`: runs a script unmodified, with ronde where it says "gloo"."""
from __future__ import annotations

import argparse
import os
import pathlib
import runpy
import sys

import torch

from . import standin


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ronde.torch", description=__doc__)
    parser.add_argument("--as", dest="names", required=True, metavar="BACKEND",
                        help=f"whose place ronde takes, separated by commas: {', '.join(standin.NAMES)}")
    parser.add_argument("-m", dest="module", action="store_true",
                        help="SCRIPT is a module, as for python -m (torch.distributed.run)")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    os.environ[standin.VARIABLE] = options.names
    if not hasattr(torch, "_is_device_backend_autoload_enabled"):
        # Processes that the script starts find ronde by themselves only with torch 2.5 and newer.
        site = str(pathlib.Path(__file__).parent.parent / "_site")
        os.environ["PYTHONPATH"] = os.pathsep.join([site, *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        standin.apply()
    except ValueError as reason:
        parser.error(str(reason))
    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
