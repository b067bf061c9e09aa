"""Results: lists of dictionaries, as frames of pandas and as pictures."""
from __future__ import annotations

from typing import Any

from ._extra import extra
from .errors import BadArgumentError

# What people read on an axis instead of a record's key, and what one of its units is.
_AXES = {"bytes": ("size in bytes", 1.0), "time_ns": ("time in us", 1e3), "ranks": ("ranks", 1.0),
         "algbw_GBps": ("algorithm bandwidth in GB/s", 1.0), "busbw_GBps": ("bus bandwidth in GB/s", 1.0)}


def _size(value: float, _: object = None) -> str:
    """A tick: 65536 is 64K, as options have it."""
    for unit in ("", "K", "M", "G"):
        if value < 1024:
            return f"{value:g}{unit}"
        value /= 1024
    return f"{value:g}T"


class Records(list[dict[str, Any]]):
    """Results, a dictionary each with the keys of the command's JSON. UnavailableError is raised without pandas or matplotlib."""

    def frame(self) -> Any:
        """As a pandas frame, a row each."""
        return extra("pandas").DataFrame(list(self))

    def _names(self) -> list[str]:
        """Of each record, what tells its line from others: algorithm, and ranks and engine where several are there."""
        has_ranks = len({record["ranks"] for record in self}) > 1
        has_engines = len({(record["algorithm"], record["ranks"], record["bytes"]) for record in self}) < len(self)
        names = []
        for record in self:
            ranks = f", {record['ranks']} ranks" if has_ranks else ""
            word = "measured on" if record["kind"] == "measured" else "by"
            # NCCL chooses by size: what it takes is one line.
            who = "NCCL" if record.get("engine") == "nccl" else record["algorithm"]
            names.append(who + ranks + (f", {word} {record['engine']}" if has_engines else ""))
        return names

    def plot(self, x: str = "bytes", y: str = "time_ns", axes: Any = None) -> Any:
        """
        Lines over the size, on logarithmic axes of matplotlib, `axes` or new ones; returns them. `x` and `y` are keys of the
        records; raises BadArgumentError where a record lacks one.
        """
        for key in (x, y):
            if any(key not in record for record in self):
                raise BadArgumentError(f"no key {key!r} in every record; there are {', '.join(self[0])}")
        if axes is None:
            axes = extra("matplotlib.pyplot").figure(layout="constrained").gca()
        (x_text, x_unit), (y_text, y_unit) = _AXES.get(x, (x, 1.0)), _AXES.get(y, (y, 1.0))
        names = self._names()
        for name in dict.fromkeys(names):
            points = sorted((record[x] / x_unit, record[y] / y_unit) for record, other in zip(self, names) if other == name)
            axes.plot([point[0] for point in points], [point[1] for point in points], marker=".", label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        if x == "bytes":
            axes.xaxis.set_major_formatter(_size)
        axes.set_xlabel(x_text)
        axes.set_ylabel(y_text)
        axes.grid(alpha=0.3)
        axes.legend()
        return axes
