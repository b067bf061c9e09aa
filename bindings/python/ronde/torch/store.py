"""
Gathering bytes through torch's store: how ranks find each other. A store may hold keys of earlier ranks of the same numbers:
torchrun keeps its own when it starts ranks again, and a file stays when a job is killed. So every attempt has a name that
rank 0 makes up, and all keys but the one that says it begin with it.
"""
from __future__ import annotations

import contextlib
import os
import time
import uuid
from datetime import timedelta
from typing import Any, Iterator, Optional

import torch.distributed as dist

# What torch raises where the process that holds the store is gone, and before torch 2.2 nothing of its own.
_GONE: Any = getattr(dist, "DistNetworkError", ())
_LATEST = "ronde/attempt"
_CAME = "ronde/came"
_LEAST = timedelta(milliseconds=1)
# Between questions: short at first, since ranks mostly come together.
_FIRST_S, _MOST_S = 1e-3, 0.1


def prefix(attempt: str) -> str:
    return f"ronde/{attempt}"


def arrived(store: Any, key: str, until: float) -> bool:
    """Whether a key is there, or comes in time."""
    left = timedelta(seconds=until - time.monotonic())
    try:
        store.wait([key], max(left, _LEAST))
    except _GONE:
        raise
    except RuntimeError:
        return False
    return True


@contextlib.contextmanager
def holder_named(rank: int) -> Iterator[None]:
    """Says whose process held a store that is gone: torch's own message is of a socket."""
    try:
        yield
    except _GONE as reason:
        has_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        holder = "torchrun's first agent" if has_agent else "rank 0 of the job"
        raise RuntimeError(f"ronde: rank {rank} has lost torch's store, which {holder} held: has it ended? "
                           f"({str(reason).splitlines()[0]})") from reason


class _Meeting:
    """One rank's part. The store holds text: bytes go as hexadecimal digits, behind what tells them from earlier ones."""

    def __init__(self, store: Any, rank: int, size: int, mine: bytes, timeout: timedelta) -> None:
        self.store, self.rank, self.size, self.timeout = store, rank, size, timeout
        self.until = time.monotonic() + timeout.total_seconds()
        self.mine = f"{uuid.uuid4().hex}:{mine.hex()}"

    def key(self, attempt: str, what: object) -> str:
        return f"{prefix(attempt)}/{what}"

    def fail(self, attempt: Optional[str]) -> None:
        now = time.monotonic()
        # Rank 0 may wait, in torch, for one that has not even reached the store.
        keys = [self.key(attempt, rank) if attempt else f"{_CAME}/{rank}" for rank in range(self.size)]
        missing = [rank for rank, key in enumerate(keys) if not arrived(self.store, key, now)]
        who = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))}" if missing else "rank 0"
        raise RuntimeError(f"ronde: rank {self.rank} waits for {who}, which {'has' if len(missing) < 2 else 'have'} not come within "
                           f"{self.timeout.total_seconds():g} s: Timed out waiting for a key of the store")

    def lead(self) -> tuple[str, list[str]]:
        attempt = uuid.uuid4().hex
        self.store.set(_LATEST, attempt)
        self.store.set(self.key(attempt, self.rank), self.mine)
        parts = []
        for rank in range(self.size):
            if not arrived(self.store, self.key(attempt, rank), self.until):
                self.fail(attempt)
            parts.append(self.store.get(self.key(attempt, rank)).decode())
        self.store.set(self.key(attempt, "all"), ",".join(parts))
        self.store.add(self.key(attempt, "gathered"), 1)
        return attempt, parts

    def follow(self) -> tuple[str, list[str]]:
        """Answers to the attempt that is latest, until one has this very answer."""
        told: Optional[str] = None
        pause_s = _FIRST_S
        self.store.set(f"{_CAME}/{self.rank}", "here")
        if not arrived(self.store, _LATEST, self.until):
            self.fail(None)
        while True:
            latest = self.store.get(_LATEST).decode()
            # Asked after the name: where a later attempt is there already, the one that was answered is complete.
            if told is not None and self.store.add(self.key(told, "gathered"), 0):
                parts = self.store.get(self.key(told, "all")).decode().split(",")
                if self.mine in parts:
                    return told, parts
            if latest != told:
                self.store.set(self.key(latest, self.rank), self.mine)
                told = latest
                continue
            if time.monotonic() > self.until:
                self.fail(told)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _MOST_S)


def allgather(store: Any, rank: int, size: int, mine: bytes, timeout: timedelta) -> tuple[str, list[bytes]]:
    """What all ranks give, and the name of their attempt: the same one on all of them."""
    meeting = _Meeting(store, rank, size, mine, timeout)
    with holder_named(rank):
        attempt, parts = meeting.lead() if rank == 0 else meeting.follow()
    return attempt, [bytes.fromhex(part.split(":")[1]) for part in parts]
