"""Pictures of a replay: ranks over time."""
from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any, Optional

from . import _command, errors
from .scenario import Scenario, replay_words
from .schedule import Schedule
from .sizes import Size, size_of
from .topology import Topology


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
             slot: Size = 0, placement: Optional[str] = None, scenario: Optional[Scenario] = None) -> Timeline:
    """
    Replays a schedule at one `size` in bytes and draws it, up to 64 of its ranks: timeline(ring, machine, "1M").svg, the command's
    `sim --timeline`. `schedule`, `topology`, `engine`, `dtype`, `slot`, `placement`, `scenario` and what it raises are as for
    `simulate`; RondeError also where there is nothing to draw.
    """
    with tempfile.TemporaryDirectory(prefix="ronde") as folder, \
            replay_words(schedule, topology, engine=engine, dtype=dtype, slot=slot, placement=placement,
                         scenario=scenario) as words:
        picture = pathlib.Path(folder, "timeline.svg")
        record = json.loads(_command.output(*words, "--json", "-b", size_of(size), "-e", size_of(size), "--timeline", picture))
        if not picture.exists():
            raise errors.RondeError(f"no picture of {schedule.algorithm} on {schedule.ranks} ranks: too many steps to keep "
                                    "their times, or routes that only SimGrid knows", "unsupported")
        return Timeline(picture.read_text(encoding="utf-8"), record)
