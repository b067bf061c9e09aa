"""What else happens while a schedule is replayed, and the command's words for such a replay."""
from __future__ import annotations

import contextlib
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Iterable, Iterator, Mapping, Optional, Sequence, Union

from . import names
from ._native import ffi, lib
from .arguments import instance, real, text, whole, wholes
from .records import Records
from .schedule import Schedule
from .sizes import Size, size_of
from .topology import Topology, machine_of


@dataclass(frozen=True)
class Scenario:
    """
    What a replay is disturbed by: Scenario(degrade={"n5g0_c": 0.5}, others=[(schedule, "16M", range(8))]).

    `others`: schedules that run at the same time, each with its size in bytes and, if they are not the first ones, the numbers of
    its hosts. `background`: messages from one host to another, (from, to, bytes), one after the other. `degrade`: links by name,
    and the factor of their rate that is left. `late_ns`: ranks, and by how many nanoseconds they start later. `slow`: ranks, and
    how many times as long their steps take.
    """

    others: Sequence[Union[tuple[Schedule, Size], tuple[Schedule, Size, Iterable[int]]]] = ()
    background: Sequence[tuple[int, int, Size]] = ()
    degrade: Mapping[str, float] = field(default_factory=dict)
    late_ns: Mapping[int, float] = field(default_factory=dict)
    slow: Mapping[int, float] = field(default_factory=dict)

    def _words(self, folder: pathlib.Path) -> list[object]:
        """The command line's words for it; schedules are written into the folder."""
        words: list[object] = []
        for number, (schedule, size, *hosts) in enumerate(self.others):
            path = folder / f"other-{number}.ronde"
            path.write_text(instance(schedule, Schedule, "others", "ronde.compile").text, encoding="utf-8")
            where = "".join(f":{','.join(map(str, wholes(some, 'others')))}" for some in hosts)
            words += ["--with", f"{path}:{size_of(size)}{where}"]
        for source, target, size in self.background:
            words += ["--background", f"{whole(source, 'background')}>{whole(target, 'background')}:{size_of(size)}"]
        for link, factor in self.degrade.items():
            words += ["--degrade", f"{text(link, 'degrade').decode()}={real(factor, 'degrade')!r}"]
        for rank, delay in self.late_ns.items():
            words += ["--straggler", f"rank={whole(rank, 'late_ns')},delay={real(delay, 'late_ns')!r}ns"]
        for rank, factor in self.slow.items():
            words += ["--straggler", f"rank={whole(rank, 'slow')},slow={real(factor, 'slow')!r}"]
        return words


@contextlib.contextmanager
def replay_words(schedule: Schedule, topology: Topology, *, engine: str, dtype: str, slot: Size,
                 placement: Optional[str], scenario: Optional[Scenario]) -> Iterator[list[object]]:
    """The command's words for a replay, but for its sizes. Files that they name are there inside the `with` block."""
    instance(schedule, Schedule, "schedule", "ronde.compile")
    kind = ffi.string(lib.ronde_dtype_text(names.dtype(dtype))).decode()
    with tempfile.TemporaryDirectory(prefix="ronde") as name:
        folder = pathlib.Path(name)
        what: list[object] = schedule._words
        if not schedule._keep:
            what = [folder / "schedule.ronde"]
            (folder / "schedule.ronde").write_text(schedule.text, encoding="utf-8")
        words = ["sim", *what, *machine_of(topology)._words, "--engine", text(engine, "engine").decode(), "-d", kind]
        if size_of(slot):
            words += ["--slot", size_of(slot)]
        if placement is not None:
            words += ["--placement", text(placement, "placement").decode()]
        if scenario is not None:
            words += instance(scenario, Scenario, "scenario", "ronde.Scenario")._words(folder)
        yield words
