"""Measured on this machine, and predicted for it: the same points side by side."""
from __future__ import annotations

import json
from typing import Iterable, Union

from . import _command, names
from .arguments import text, texts, whole, wholes
from .records import Records
from .sizes import Size, size_of, sizes_of
from .topology import Topology, machine_of


def validate(collective: str, topology: Topology, sizes: Union[Size, Iterable[Size]], *, algorithms: Union[str, Iterable[str]],
             ranks: Union[int, Iterable[int]], backend: str = "cpu", dtype: str = "float32", op: str = "sum", slot: Size = 0,
             iters: int = 20) -> Records:
    """
    Measures `algorithms` of a `collective` on this machine, at least `iters` times each, and predicts the same from its platform
    file, `topology` (as `ronde calibrate` writes one): a record that is "measured", then one per engine, times in ns.

    `sizes`: in bytes; `ranks`: one number or several, threads or, of `backend` "proc", processes; `dtype`, `op` and `slot` are as
    for `simulate`. Raises BadArgumentError for arguments, RondeError where a run fails or its results are wrong (status
    "rejected").
    """
    counts = wholes(ranks if hasattr(ranks, "__iter__") else [ranks], "ranks")
    names.collective(collective), names.dtype(dtype), names.op(op)
    words: list[object] = ["validate", collective, "--json", *machine_of(topology)._words, "-d", dtype, "--op", op,
                           "--backend", text(backend, "backend").decode(), "-n", whole(iters, "iters"),
                           "-a", ",".join(texts(algorithms, "algorithms")), "-N", ",".join(map(str, counts))]
    if size_of(slot):
        words += ["--slot", size_of(slot)]
    records = Records()
    for size in sizes_of(sizes):
        lines = map(json.loads, _command.output(*words, "-b", size, "-e", size).splitlines())
        # Behind the points come scores of whole grids.
        records.extend(line for line in lines if line["kind"] != "score")
    return records
