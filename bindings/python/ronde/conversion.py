"""Schedules in the formats of other tools."""
from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Optional, Union

from . import _command
from .arguments import path as path_of, text
from .schedule import Schedule
from .sizes import Size, size_of

Path = Union[str, "os.PathLike[str]"]


def convert(source: Union[Schedule, Path], target: Optional[Path] = None, *, to: Optional[str] = None, dialect: Optional[str] = None,
            size: Size = 0) -> Optional[str]:
    """
    A schedule in another tool's format: convert(ring, to="msccl") returns its text, convert("msccl.xml", "mine.ronde") writes a
    file, `target`, and returns None.

    `source`: a Schedule, or a file of ronde's, MSCCL's or MSCCL++'s, which is proved. `to`: "ronde", "msccl", "mscclpp",
    "nccl-graph", "goal" or "chakra"; None: by the target's name (.ronde, .xml, .json, .goal, .et). Chakra's traces are a file a
    rank, which only a target can be: "step.et" becomes step.0.et and so on. `dialect`: of an MSCCL file, "msccl" or "rccl". `size`:
    bytes of the launch, in formats that have them (GOAL, Chakra).

    Raises BadArgumentError for names that are none, files that cannot be read and schedules that the format cannot say; RondeError
    with status "rejected" for a file that is no right schedule.
    """
    words: list[object] = []
    for option, value in (("--to", to), ("--dialect", dialect)):
        if value is not None:
            words += [option, text(value, option.lstrip("-")).decode()]
    if size_of(size):
        words += ["-b", size_of(size)]
    with tempfile.TemporaryDirectory(prefix="ronde") as folder:
        if isinstance(source, Schedule):
            path = pathlib.Path(folder, "schedule.ronde")
            path.write_text(source.text, encoding="utf-8")
        else:
            path = pathlib.Path(path_of(source, "source"))
        names = [os.fspath(path)] + ([] if target is None else [path_of(target, "target")])
        said = _command.output("convert", *words, "--", *names)
    return said if target is None else None
