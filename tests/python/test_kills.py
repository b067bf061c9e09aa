"""
Ranks that end or stop anywhere: the others are told which, in time. Where RONDE_TEST_SCALE asks for all, each is tried 20 times,
RONDE_TEST_KILLS says how often else.
"""
from __future__ import annotations

import datetime
import multiprocessing
import os
import random
import signal
import threading
import time
import unittest
import warnings
from typing import Any, Callable, Optional

import numpy as np

import ronde
from ranks import run

try:
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist

    import ronde.torch
except ImportError:
    torch = dist = None  # type: ignore[assignment]

RANKS = 3
LIMIT_S = 3.0
# Until ranks are joined, and then some.
SPREAD_S = 0.6
TURNS = int(os.environ.get("RONDE_TEST_KILLS", "20" if int(os.environ.get("RONDE_TEST_SCALE", "100")) > 100 else "1"))


def by_signal(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


HOW: dict[str, Callable[[], None]] = {
    "killed": by_signal(signal.SIGKILL), "terminated": by_signal(signal.SIGTERM), "aborted": os.abort,
    "left": lambda: os._exit(3), "stopped": by_signal(signal.SIGSTOP)}


def arrays(transport: str) -> Callable[[int, int, str], Any]:
    def calls(rank: int, size: int, place: str) -> None:
        comm = ronde.Communicator.join(rank, size, token=place, timeout=LIMIT_S, transport=transport)
        comm.set_timeout(LIMIT_S)
        for k in range(1 << 30):
            comm.all_reduce(np.ones(1 << k % 12))
    return calls


def tensors(rank: int, size: int, place: str) -> None:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=LIMIT_S))
    for k in range(1 << 30):
        dist.all_reduce(torch.ones(1 << k % 12))


def until_told(calls: Callable[[int, int, str], Any], victim: int, how: str,
               moment_s: float) -> Callable[[int, int, str], Optional[str]]:
    """What the ranks but the victim are told, and whether in time."""
    def work(rank: int, size: int, place: str) -> Optional[str]:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        started = time.monotonic()
        if rank == victim:
            threading.Timer(moment_s, HOW[how]).start()
        try:
            calls(rank, size, place)
        except Exception as reason:
            took_s = time.monotonic() - started
            return str(reason) if took_s < moment_s + 2 * LIMIT_S + 4 else f"only after {took_s:.1f} s: {reason}"
        return None
    return work


class KillsTest(unittest.TestCase):
    def others_are_told(self, name: str, calls: Callable[[int, int, str], Any]) -> None:
        seed = int(os.environ.get("RONDE_TEST_SEED", "34"))
        for how in HOW:
            draw = random.Random(f"{seed} {name} {how}")
            for turn in range(TURNS):
                victim, moment_s = draw.randrange(RANKS), draw.uniform(0, SPREAD_S)
                with self.subTest(name, how=how, turn=turn, victim=victim, moment_s=round(moment_s, 3)):
                    said = run(RANKS, until_told(calls, victim, how, moment_s), dies=victim)
                    for rank, line in enumerate(said):
                        if rank != victim:
                            self.assertRegex(line or "", f"^(?!only after).*ranks?\\b.*\\b{victim}\\b")

    def test_arrays_between_processes_of_a_machine(self) -> None:
        self.others_are_told("proc", arrays("proc"))

    def test_arrays_over_ucx(self) -> None:
        os.environ.setdefault("UCX_TLS", "tcp,self")
        self.others_are_told("ucx", arrays("ucx"))

    @unittest.skipIf(torch is None, "no torch (./dev python)")
    def test_tensors(self) -> None:
        self.others_are_told("torch", tensors)

    @unittest.skipUnless(hasattr(dist, "DistNetworkError"), "no torch, or one that says of all alike that it failed")
    def test_a_store_that_is_gone_is_rank_0s(self) -> None:
        here, there = multiprocessing.get_context("fork").Pipe(False)
        holder = os.fork()
        if holder == 0:
            held = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
            there.send(held.port)
            time.sleep(2 * LIMIT_S)
            os._exit(1)
        limit = datetime.timedelta(seconds=LIMIT_S)
        store = dist.TCPStore("127.0.0.1", here.recv(), is_master=False, timeout=limit)
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
        with self.assertRaisesRegex(RuntimeError, "rank 1 has lost torch's store, which rank 0 of the job held"):
            ronde.torch.store.allgather(store, 1, 2, b"", limit)

    @unittest.skipIf(torch is None, "no torch (./dev python)")
    def test_whoever_has_not_come_is_named_where_rank_0_waits_for_them(self) -> None:
        store, limit = dist.HashStore(), datetime.timedelta(seconds=0.05)
        with self.assertRaisesRegex(RuntimeError, "waits for ranks 0, 1, which have not come"):
            ronde.torch.store.allgather(store, 2, 3, b"", limit)
        with self.assertRaisesRegex(RuntimeError, "waits for rank 0, which has not come"):
            ronde.torch.store.allgather(store, 1, 3, b"", limit)


if __name__ == "__main__":
    unittest.main()
