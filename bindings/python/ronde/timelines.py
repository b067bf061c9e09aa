"""Pictures of a replay: ranks over time."""
from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any

from . import _command, errors
from .arguments import instance
from .prediction import Size, size_of
from .schedule import Schedule
from .topology import Topology, machine_of


class Timeline:
    """A replay as a picture, which a notebook shows: a row per rank, a bar per step, a line along the critical path."""

    def __init__(self, svg: str, record: dict[str, Any]) -> None:
        self.svg = svg
        self.record = record

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<ronde.Timeline {self.record['algorithm']} on {self.record['machine']}: {self.record['time_ns'] / 1e3:g} us>"


def timeline(schedule: Schedule, topology: Topology, size: Size, *, engine: str = "auto", dtype: str = "float32",
             slot: Size = 0) -> Timeline:
    """Replays a schedule at one size and draws it, up to 64 of its ranks: the command's `sim --timeline`."""
    instance(schedule, Schedule, "schedule", "ronde.compile")
    machine_of(topology)
    with tempfile.TemporaryDirectory(prefix="ronde") as folder:
        steps, picture = pathlib.Path(folder, "schedule.ronde"), pathlib.Path(folder, "timeline.svg")
        what = schedule._words if schedule._keep else [steps]
        if not schedule._keep:
            steps.write_text(schedule.text, encoding="utf-8")
        words: list[object] = ["sim", *what, "--json", *topology._words, "-b", size_of(size), "-e", size_of(size),
                               "--engine", engine, "-d", dtype, "--timeline", picture]
        if size_of(slot):
            words += ["--slot", size_of(slot)]
        record = json.loads(_command.output(*words))
        if not picture.exists():
            raise errors.RondeError(f"no picture of {schedule.algorithm} on {schedule.ranks} ranks: too many steps to keep "
                                    "their times, or routes that only SimGrid knows", "unsupported")
        return Timeline(picture.read_text(encoding="utf-8"), record)
