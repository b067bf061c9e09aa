"""NCCL on machines that are described: what it takes by the model, and whether a log of nccl-tests is what it should be."""
from __future__ import annotations

import json
import os
from typing import Any, Iterable, Optional, Union

from . import _command
from .arguments import path, text, whole, wholes
from .records import Records
from .sizes import Size, sizes_of
from .topology import Topology

Machine = Union[str, "os.PathLike[str]", Topology]


def machine_words(machine: Machine) -> list[object]:
    """The command's words for a machine."""
    return list(machine._words) if isinstance(machine, Topology) else ["--topo", path(machine, "machine")]


def nccl(collective: str, machine: Machine, sizes: Union[Size, Iterable[Size]], *, ranks: Union[int, Iterable[int]],
         nodes: int = 0) -> Records:
    """
    What NCCL would choose and how long it would take: nccl("all_reduce", "H100-cluster01", ["1M", "1G"], ranks=64), the command's
    `sim --style nccl`. `collective`: by ronde's or nccl-tests' name. `machine`: a description of some lines, a shipped one's name,
    or a platform of GPUs. `sizes`: in bytes, or as "64K". `ranks`: GPUs, one number or several; `nodes`: 0: as few as they fit on.
    A record has `time_us`, `time_ns`, and the rates in 10^9 bytes a second. Raises BadArgumentError for names and sizes that are
    none.
    """
    records = Records()
    for count in wholes(ranks if hasattr(ranks, "__iter__") else [ranks], "ranks"):
        where: list[object] = ["-N", count]
        if whole(nodes, "nodes"):
            where += ["--shape", f"{nodes}x{count // nodes}"]
        for size in sizes_of(sizes):
            said = _command.output("sim", "--style", "nccl", "--json", *machine_words(machine), *where, "-b", size, "-e", size,
                                   "--", text(collective, "collective").decode())
            for record in map(json.loads, said.splitlines()):
                records.append({"engine": "nccl", **record, "time_ns": record["time_us"] * 1e3})
    return records


class Diagnosis:
    """What `doctor` says: its records, and whether anything is wrong."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.is_wrong = any(record.get("is_wrong", False) for record in records)

    def _of(self, kind: str) -> Records:
        return Records(record for record in self.records if record["kind"] == kind)

    @property
    def ranges(self) -> Records:
        """Neighbouring sizes that are alike: measured beside expected."""
        return self._of("range")

    @property
    def causes(self) -> Records:
        """What would explain it, the likeliest first, each with its probability and how to make sure."""
        return self._of("cause")

    def __repr__(self) -> str:
        causes = self.causes
        cause = f", likely: {causes[0]['text']} ({causes[0]['probability']:.0%})" if self.is_wrong and causes else ""
        return f"<ronde.Diagnosis: {'wrong' if self.is_wrong else 'fine'}{cause}>"


def doctor(log: Union[str, "os.PathLike[str]"], machine: Machine, *, collective: Optional[str] = None,
           ranks: int = 0) -> Diagnosis:
    """
    Whether nccl-tests' numbers are what the hardware should give: doctor("all_reduce.log", "H100-cluster01").is_wrong.
    `log`: what nccl-tests printed, a file. `machine`: as for `nccl`. `collective` and `ranks`: where the log does not say them.
    Raises BadArgumentError for a file that is no log.
    """
    more: list[Any] = ["-N", ranks] if whole(ranks, "ranks") else []
    said = _command.output("doctor", "--json", *machine_words(machine), *more, "--", path(log, "log"),
                           *([] if collective is None else [text(collective, "collective").decode()]), answers=(0, 1))
    return Diagnosis(Records(json.loads(line) for line in said.splitlines()))
