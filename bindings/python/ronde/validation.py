"""Measured on this machine, and predicted for it: the same points side by side."""
from __future__ import annotations

import json
from typing import Iterable, Union

from . import _command
from .prediction import Size, size_of, sizes_of
from .records import Records
from .topology import Topology


def validate(collective: str, topology: Topology, sizes: Union[Size, Iterable[Size]], *, algorithms: Iterable[str],
             ranks: Iterable[int], backend: str = "cpu", dtype: str = "float32", op: str = "sum", slot: Size = 0,
             iters: int = 20) -> Records:
    """
    Measures algorithms on this machine, at least `iters` times each, and predicts the same from its platform file (as
    `ronde calibrate` writes one): a record that is "measured", then one per engine. Wrong results are an error.
    """
    words: list[object] = ["validate", collective, "--json", "--topo", topology.file, "--backend", backend, "-d", dtype,
                           "--op", op, "-n", iters, "-a", ",".join(algorithms), "-N", ",".join(map(str, ranks))]
    if size_of(slot):
        words += ["--slot", size_of(slot)]
    records = Records()
    for size in sizes_of(sizes):
        lines = map(json.loads, _command.output(*words, "-b", size, "-e", size).splitlines())
        # Behind the points come scores of whole grids.
        records.extend(line for line in lines if line["kind"] != "score")
    return records
