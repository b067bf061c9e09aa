"""Collectives in torch's profiler: names, sizes, groups and numbers, as readers of traces know them of NCCL."""
from __future__ import annotations

import datetime
import json
import os
import time
import unittest
import warnings
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist

import ronde.torch  # noqa: F401
from ranks import run
from ronde.torch import param_comms, profiling

LIMIT = datetime.timedelta(seconds=60)

# Of rank 1 of 3: collective, number, elements in and out, type.
CALLS = [("allreduce", 2, 10, 10, "Float"), ("allreduce", 3, 4, 4, "BFloat16"), ("broadcast", 4, 5, 5, "Long"),
         ("reduce", 5, 6, 6, "Float"), ("_allgather_base", 6, 2, 6, "Float"), ("all_gather", 7, 2, 6, "Float"),
         ("_reduce_scatter_base", 8, 6, 2, "Float"), ("reduce_scatter", 9, 6, 2, "Float"), ("gather", 10, 2, 0, "Float"),
         ("scatter", 11, 0, 2, "Float"), ("all_to_all", 12, 3, 3, "Float"), ("all_to_allv", 13, 3, 3, "Float"),
         ("all_to_all", 14, 6, 6, "Float"), ("barrier", 15, 0, 0, "Byte")]


def calls(rank: int, size: int) -> None:
    dist.all_reduce(torch.ones(10))
    dist.all_reduce(torch.ones(4, dtype=torch.bfloat16))
    dist.broadcast(torch.ones(5, dtype=torch.int64), 0)
    dist.reduce(torch.ones(6), 0)
    two, whole = torch.ones(2), torch.ones(2 * size)
    lists = [torch.ones(2) for _ in range(size)]
    dist.all_gather_into_tensor(whole, two)
    dist.all_gather(lists, two)
    dist.reduce_scatter_tensor(two, whole)
    dist.reduce_scatter(two, lists)
    dist.gather(two, lists if rank == 0 else None, 0)
    dist.scatter(two, lists if rank == 0 else None, 0)
    dist.all_to_all_single(torch.ones(size), torch.ones(size))
    dist.all_to_all_single(torch.ones(size), torch.ones(size), [1] * size, [1] * size)
    dist.all_to_all(lists, [torch.ones(2) for _ in range(size)])
    dist.barrier()


def profiles(rank: int, size: int, place: str) -> list[dict[str, Any]]:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    some = dist.new_group([0, 2])
    dist.all_reduce(torch.ones(1))
    with torch.profiler.profile(record_shapes=True) as profile:
        calls(rank, size)
        if rank != 1:
            # Its other rank comes later: that is in the time of the operation, and not of the call.
            time.sleep(0.2 if rank else 0)
            dist.all_reduce(torch.ones(7), group=some, async_op=True).wait()
        work = dist.isend(torch.ones(8), (rank + 1) % size)
        dist.recv(torch.ones(8), (rank - 1) % size)
        work.wait()
        try:
            dist.all_reduce(torch.ones(4, 4)[:, 1])
        except ValueError:
            pass
    dist.barrier()
    profile.export_chrome_trace(f"{place}-{rank}.json")
    with open(f"{place}-{rank}.json", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    return [event for event in events if event["name"] == "record_param_comms" or event["name"].startswith("ronde:")]


def facts(event: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(event["args"][key] for key in ("Collective name", "Seq", "In msg nelems", "Out msg nelems", "dtype"))


@unittest.skipIf(profiling.is_on is profiling._never, "this torch records no events of Python's with facts of their own")
class ProfilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # The profiler loads it, which takes seconds: once, and not on every rank.
        hasattr(torch, "_inductor")
        cls.ranks = [sorted(events, key=lambda event: event["ts"]) for events in run(3, profiles)]

    def events(self, rank: int, name: str) -> list[dict[str, Any]]:
        return [event for event in self.ranks[rank] if event["name"].startswith(name)]

    def test_operations_say_what_they_moved_among_whom(self) -> None:
        self.assertEqual([facts(event) for event in self.events(1, "ronde:")],
                         [*CALLS, ("send", 1, 8, 8, "Float"), ("recv", 2, 8, 8, "Float")])
        for event in self.events(1, "ronde:"):
            self.assertEqual([event["cat"], *(event["args"][key] for key in ("Process Group Ranks", "Group size", "Rank"))],
                             ["user_annotation", "[0, 1, 2]", 3, 1])
        self.assertEqual(self.events(1, "ronde:")[0]["args"]["Input Dims"], [[10]])

    def test_param_comms_are_recorded_as_those_of_nccl(self) -> None:
        if param_comms.found() is None:
            self.skipTest("this torch lets nobody but C++ record them")
        self.assertEqual([facts(event) for event in self.events(1, "record")], [facts(event) for event in self.events(1, "ronde:")])
        first = self.events(1, "record")[0]["args"]
        self.assertEqual([first[key] for key in ("Process Group Ranks", "Global rank start", "Global rank stride", "Group size",
                                                 "Process Group Description", "Is asynchronized op")],
                         ["[0, 1, 2]", 0, 1, 3, "default_pg", False])

    def test_a_group_has_its_own_ranks_and_numbers_and_an_operation_its_own_time(self) -> None:
        for name in ("ronde:", "record") if param_comms.found() else ("ronde:",):
            event, = (event for event in self.events(0, name) if event["args"]["In msg nelems"] == 7)
            self.assertEqual(facts(event), ("allreduce", 1, 7, 7, "Float"))
            self.assertEqual([event["args"][key] for key in ("Process Group Ranks", "Group size")], ["[0, 2]", 2])
            lasts_us = event["dur"]
            self.assertTrue(lasts_us > 100e3 if name == "ronde:" else lasts_us < 100e3, (name, lasts_us))


if __name__ == "__main__":
    unittest.main()
