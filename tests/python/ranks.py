"""Runs a function on ranks that are forked processes, and hands back what each returned."""
from __future__ import annotations

import multiprocessing
import os
import tempfile
import traceback
from typing import Any, Callable, Optional

LIMIT_S = 120
_fork = multiprocessing.get_context("fork")


def _child(work: Callable[..., Any], rank: int, size: int, place: str, pipe: Any) -> None:
    try:
        pipe.send(("returned", work(rank, size, place)))
    except BaseException:
        pipe.send(("raised", traceback.format_exc()))
    finally:
        pipe.close()
        # Handlers of the parent's, the test runner's among them, are not this process's.
        os._exit(0)


def run(size: int, work: Callable[[int, int, str], Any], dies: Optional[int] = None) -> list[Any]:
    """
    `work(rank, size, place)` on `size` ranks; `place` is a path none else knows, for a file or as a token. `dies`: the rank
    that is to return nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        pipes, processes = [], []
        for rank in range(size):
            here, there = _fork.Pipe(False)
            process = _fork.Process(target=_child, args=(work, rank, size, os.path.join(folder, "place"), there))
            process.start()
            there.close()
            pipes.append(here)
            processes.append(process)
        try:
            return [None if rank == dies else _result(rank, pipe) for rank, pipe in enumerate(pipes)]
        finally:
            if dies is not None:
                processes[dies].kill()
            for process in processes:
                process.join(10)
                if process.exitcode is None:
                    process.kill()
                    process.join()


def _result(rank: int, pipe: Any) -> Any:
    if not pipe.poll(LIMIT_S):
        raise AssertionError(f"rank {rank} has not ended within {LIMIT_S} s")
    try:
        kind, value = pipe.recv()
    except EOFError:
        raise AssertionError(f"rank {rank} has died") from None
    if kind == "raised":
        raise AssertionError(f"rank {rank}:\n{value}")
    return value
