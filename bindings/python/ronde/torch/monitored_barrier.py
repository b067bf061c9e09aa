"""
A barrier that says who has not come. It goes through the store and not through the communicator, which a rank that stays
away would end: the others go on afterwards, as they do with gloo, whose messages these are.
"""
from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from .store import arrived


def monitored_barrier(state: Any, timeout: timedelta, wait_all_ranks: bool) -> None:
    """Rank 0 waits for a key of each rank, the others for rank 0's verdict."""
    prefix = f"monitored_barrier/{state.barriers}"
    milliseconds = int(timeout.total_seconds() * 1e3)
    until = time.monotonic() + timeout.total_seconds()
    if state.rank != 0:
        state.store.set(f"{prefix}/{state.rank}", "here")
        # Rank 0 may have started later, and takes its whole time: its verdict comes, or it is gone.
        if not arrived(state.store, f"{prefix}/verdict", until + timeout.total_seconds()) or \
                state.store.get(f"{prefix}/verdict") != b"passed":
            raise RuntimeError(
                f"Rank {state.rank} successfully reached monitoredBarrier, but received errors while waiting for "
                "send/recv from rank 0. Please check rank 0 logs for faulty rank.")
        return
    try:
        _collect(state, prefix, until, milliseconds, wait_all_ranks)
    except RuntimeError:
        state.store.set(f"{prefix}/verdict", "failed")
        raise
    state.store.set(f"{prefix}/verdict", "passed")


def _collect(state: Any, prefix: str, until: float, milliseconds: int, wait_all_ranks: bool) -> None:
    missing = []
    for rank in range(1, state.size):
        if time.monotonic() >= until and not missing:
            raise RuntimeError(f"Rank 0 timed out in monitoredBarrier after {milliseconds} ms.")
        if not arrived(state.store, f"{prefix}/{rank}", until):
            missing.append(rank)
            if not wait_all_ranks:
                break
    if missing:
        who = f"Rank {missing[0]}" if len(missing) == 1 else f"Ranks {', '.join(map(str, missing))}"
        raise RuntimeError(f"{who} failed to pass monitoredBarrier in {milliseconds} ms")
