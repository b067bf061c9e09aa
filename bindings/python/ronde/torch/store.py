"""Gathering bytes through torch's store: how ranks find each other."""
from __future__ import annotations

from datetime import timedelta
from typing import Any


def allgather(store: Any, rank: int, size: int, mine: bytes, timeout: timedelta) -> list[bytes]:
    """Every rank writes a key and reads those of all. The store holds text: bytes go as hexadecimal digits."""
    keys = [f"ronde/{other}" for other in range(size)]
    store.set(keys[rank], mine.hex())
    for other, key in enumerate(keys):
        try:
            store.wait([key], timeout)
        except RuntimeError as reason:
            raise RuntimeError(f"ronde: rank {rank} waits for rank {other}, which has not come within "
                               f"{timeout.total_seconds():g} s: Timed out waiting for its key: {reason}") from reason
    return [bytes.fromhex(store.get(key).decode()) for key in keys]
