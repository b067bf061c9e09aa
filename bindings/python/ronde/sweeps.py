"""Grids of replays: algorithms, numbers of ranks and sizes, on any executor of concurrent.futures."""
from __future__ import annotations

import functools
import json
import os
import pathlib
import sys
from concurrent.futures import Executor, as_completed
from typing import Any, Iterable, Iterator, Optional, Sequence, Union

from . import schedule as schedules
from .prediction import Records, Size, simulate, size_of
from .topology import Topology

# What a worker is given: the platform file's path and text, and a row of the grid.
Task = Any


@functools.lru_cache(maxsize=4)
def _topology(path: Optional[str], xml: str) -> Topology:
    return Topology.read(path) if path is not None and os.path.exists(path) else Topology.from_xml(xml)


def _replay(task: Task) -> list[dict[str, Any]]:
    """One algorithm on one number of ranks, at all sizes. Runs wherever the executor has it run."""
    path, xml, collective, algorithm, ranks, sizes, dtype, engine = task
    compiled = schedules.compile(collective, algorithm, ranks)
    return list(simulate(compiled, _topology(path, xml), sizes, dtype=dtype, engine=engine))


def _key(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["collective"], record["algorithm"], record["ranks"], record["dtype"], record["count"]


def _stored(path: Optional[pathlib.Path]) -> Records:
    """What an earlier run has written; a line that was being written when it ended is dropped."""
    records = Records()
    for line in path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else ():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def _open(tasks: Sequence[Task], done: Records, topology: str) -> Iterator[Task]:
    """The tasks that have a size without a result."""
    for task in tasks:
        has = {record["bytes"] for record in done if record["algorithm"] == task[3] and record["ranks"] == task[4]
               and record["collective"] == task[2] and record["dtype"] == task[6] and record["machine"] == topology}
        # Sizes are rounded down to whole elements, so a result's may be smaller.
        if len(has) < len(task[5]):
            yield task


def _results(tasks: Sequence[Task], executor: Optional[Executor]) -> Iterator[list[dict[str, Any]]]:
    if executor is None:
        yield from map(_replay, tasks)
        return
    for future in as_completed([executor.submit(_replay, task) for task in tasks]):
        yield future.result()


def sweep(collective: str, topology: Topology, *, ranks: Iterable[int], algorithms: Iterable[str], sizes: Iterable[Size],
          dtype: str = "float32", engine: str = "auto", executor: Optional[Executor] = None, progress: bool = False,
          records: Union[str, os.PathLike[str], None] = None) -> Records:
    """
    Replays every algorithm on every number of ranks at every size. `executor` runs them: any of concurrent.futures (also
    those of mpi4py.futures and dask.distributed); None: here, one after another. `records` is a file of JSON lines to which
    results are added as they come, and from which a sweep that was broken off goes on.
    """
    counts = tuple(size_of(size) for size in sizes)
    tasks: list[Task] = [(topology.path, topology.xml, collective, algorithm, count, counts, dtype, engine)
                         for count in ranks for algorithm in algorithms]
    path = None if records is None else pathlib.Path(records)
    found = _stored(path)
    left = list(_open(tasks, found, topology.name))
    has = {_key(record) for record in found}
    if path is not None:
        path.write_text("".join(json.dumps(record) + "\n" for record in found), encoding="utf-8")
    for number, fresh in enumerate(_results(left, executor), 1):
        fresh = [record for record in fresh if _key(record) not in has]
        found.extend(fresh)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in fresh)
        if progress:
            print(f"\rsweep: {number} of {len(left)}", end="" if number < len(left) else "\n", file=sys.stderr, flush=True)
    order = {(task[3], task[4]): number for number, task in enumerate(tasks)}
    return Records(sorted((record for record in found if (record["algorithm"], record["ranks"]) in order),
                          key=lambda record: (order[record["algorithm"], record["ranks"]], record["bytes"])))
