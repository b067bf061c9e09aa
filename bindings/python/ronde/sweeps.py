"""Grids of replays: algorithms, numbers of ranks and sizes, on any executor of concurrent.futures."""
from __future__ import annotations

import functools
import json
import os
import pathlib
import sys
from concurrent.futures import Executor, as_completed
from typing import Any, Iterable, Iterator, Optional, Sequence, Union

from . import errors, names, schedule as schedules
from ._native import ffi, lib
from .arguments import texts, wholes
from .prediction import simulate
from .records import Records
from .sizes import Size, sizes_of
from .topology import Topology, machine_of

# What a worker is given: the platform file's path and text, what is out of it, and a row of the grid.
Task = tuple[Optional[str], str, tuple[str, ...], str, str, int, tuple[int, ...], str, str]

# What a line with a record begins with, as far as it was written.
_BEGINNING = '{"kind": '

# Machine, collective, algorithm, ranks, type, elements of a block.
Key = tuple[str, str, str, int, str, int]


@functools.lru_cache(maxsize=4)
def _topology(path: Optional[str], xml: str, without: tuple[str, ...]) -> Topology:
    whole = Topology.read(path) if path is not None and os.path.exists(path) else Topology.from_xml(xml)
    return whole.without(*without) if without else whole


def _replay(task: Task) -> list[dict[str, Any]]:
    """One algorithm on one number of ranks, at all sizes. Runs wherever the executor has it run."""
    path, xml, without, collective, algorithm, ranks, sizes, dtype, engine = task
    compiled = schedules.compile(collective, algorithm, ranks)
    return list(simulate(compiled, _topology(path, xml, without), sizes, dtype=dtype, engine=engine))


def _key(record: dict[str, Any]) -> Key:
    """Equal keys, equal results."""
    return (record["machine"], record["collective"], record["algorithm"], record["ranks"], record["dtype"], record["count"])


def _keys(task: Task, machine: str) -> list[Key]:
    """Those of a task's results. Sizes that come to the same number of elements have one."""
    _, _, _, collective, algorithm, ranks, sizes, dtype, _ = task
    what, kind = names.collective(collective), names.dtype(dtype)
    words = ffi.string(lib.ronde_collective_text(what)).decode(), ffi.string(lib.ronde_dtype_text(kind)).decode()
    counts = dict.fromkeys(int(lib.ronde_collective_count(what, ranks, size, kind)) for size in sorted(sizes))
    return [(machine, words[0], algorithm, ranks, words[1], count) for count in counts]


def _stored(path: Optional[pathlib.Path]) -> dict[Key, dict[str, Any]]:
    """What earlier runs have written; a line that was being written when one ended is dropped."""
    records: dict[Key, dict[str, Any]] = {}
    if path is None or not path.exists():
        return records
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            record = json.loads(line)
            records.setdefault(_key(record), record)
        except (ValueError, KeyError, TypeError) as reason:
            if not isinstance(reason, ValueError) or not line.startswith(_BEGINNING[:len(line)]):
                raise errors.BadArgumentError(f"{path}:{number}: no record of a sweep; it stays as it is") from None
    return records


def _results(tasks: Sequence[Task], executor: Optional[Executor]) -> Iterator[list[dict[str, Any]]]:
    if executor is None:
        yield from map(_replay, tasks)
        return
    futures = [executor.submit(_replay, task) for task in tasks]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        # Left early, by Ctrl-C or a failure: what has not begun is not to begin.
        for future in futures:
            future.cancel()


def sweep(collective: str, topology: Topology, *, ranks: Union[int, Iterable[int]], algorithms: Union[str, Iterable[str]],
          sizes: Union[Size, Iterable[Size]],
          dtype: str = "float32", engine: str = "auto", executor: Optional[Executor] = None, progress: bool = False,
          records: Union[str, os.PathLike[str], None] = None, shard: tuple[int, int] = (0, 1)) -> Records:
    """
    Replays a `collective` on a machine, `topology`: every one of `algorithms` on every number of `ranks` at all `sizes`, in bytes.
    `dtype` and `engine` are as for `simulate`. `progress`: say on stderr how far it is. `executor` runs them: any of
    concurrent.futures (also those of mpi4py.futures and dask.distributed); None: here, one after another. `records` is a file of
    JSON lines to which results are added as they come, and from which a sweep that was broken off goes on. `shard`: (1, 4) is the
    second of four equal shares of the grid, each with a file of its own; their files together are those of the whole. Raises as
    `simulate` does, and BadArgumentError for a file of something else.
    """
    topology = machine_of(topology)
    counts, names_of_algorithms = tuple(sizes_of(sizes)), texts(algorithms, "algorithms")
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor: expected one of concurrent.futures, not {executor!r}")
    tasks: list[Task] = [(topology.path, topology.xml, topology._without, collective, algorithm, count, counts, dtype, engine)
                         for count in wholes(ranks if hasattr(ranks, "__iter__") else [ranks], "ranks") for algorithm in names_of_algorithms]
    index, shares = pair if len(pair := wholes(shard, "shard")) == 2 else (0, 0)
    if index >= shares:
        raise errors.BadArgumentError(f"shard {shard!r:.100}: expected which of how many, as (0, 4)")
    tasks = tasks[index::shares]
    path = None if records is None else pathlib.Path(records)
    found = _stored(path)
    left = [task for task in tasks if any(key not in found for key in _keys(task, topology.name))]
    if path is not None:
        path.write_text("".join(json.dumps(record) + "\n" for record in found.values()), encoding="utf-8")
    for number, results in enumerate(_results(left, executor), 1):
        fresh = {_key(record): record for record in results if _key(record) not in found}
        found.update(fresh)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in fresh.values())
        if progress:
            print(f"\rsweep: {number} of {len(left)}", end="" if number < len(left) else "\n", file=sys.stderr, flush=True)
    return Records(found[key] for task in tasks for key in _keys(task, topology.name))
