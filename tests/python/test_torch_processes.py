"""Processes around process groups: forked children, and ranks that torchrun starts again."""
from __future__ import annotations

import datetime
import multiprocessing
import os
import tempfile
import time
import unittest
import warnings
from typing import Any, Callable

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist

import ronde
import ronde.torch  # noqa: F401
from ranks import run

LIMIT = datetime.timedelta(seconds=60)


def in_a_child(calls: list[Callable[[], object]]) -> list[str]:
    """What a forked child is told when it makes each of the calls."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for call in calls:
            try:
                call()
                said.append("nothing")
            except RuntimeError as reason:
                said.append(str(reason))
        os.write(writer, "\n".join(said).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read().split("\n")


def forks(rank: int, size: int, place: str) -> list[str]:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    comm = ronde.Communicator.join(rank, size, token=f"{place}-arrays", timeout=60)
    tensor = torch.ones(4)
    dist.all_reduce(tensor)
    work = dist.irecv(torch.zeros(1), 1 - rank)
    said: list[str] = []
    if rank == 0:
        said = in_a_child([lambda: dist.all_reduce(torch.full((4,), 100.0)), lambda: dist.barrier(), lambda: work.wait(),
                           lambda: dist.monitored_barrier(timeout=LIMIT), lambda: dist.isend(torch.ones(1), 1),
                           comm.barrier, work.is_completed, comm.close, dist.destroy_process_group])
    dist.isend(torch.ones(1), 1 - rank)
    work.wait()
    comm.barrier()
    dist.all_reduce(tensor)
    assert tensor.tolist() == [4.0] * 4
    return said


def starts_anew(rank: int, size: int, place: str) -> str:
    """A child that makes a group of its own; its parent's has been there before."""
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    dist.barrier()

    def again() -> None:
        dist.destroy_process_group()
        dist.init_process_group("ronde", init_method=f"file://{place}-2", rank=rank, world_size=size, timeout=LIMIT)
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        raise RuntimeError(str(tensor.item()))

    said = in_a_child([again])
    dist.barrier()
    return said[0]


class ForksTest(unittest.TestCase):
    def test_a_forked_child_is_refused_and_its_parent_goes_on(self) -> None:
        said = run(2, forks)[0]
        self.assertEqual(len(said), 9)
        for line in said[:7]:
            self.assertRegex(line, "is that of process [0-9]+, of which this one, [0-9]+, is a fork")
        self.assertEqual(said[7:], ["nothing"] * 2)

    def test_a_forked_child_may_make_a_group_of_its_own(self) -> None:
        self.assertEqual(run(2, starts_anew), ["2.0"] * 2)


def attempts(store: Callable[[], object]) -> list[Callable[[int, int, str], object]]:
    """What ranks do that one store sees one after another, as torchrun's does: processes that all end without a word."""
    def joined(rank: int, size: int, timeout: datetime.timedelta = LIMIT) -> None:
        dist.init_process_group("ronde", store=store(), rank=rank, world_size=size, timeout=timeout)

    def all_come(rank: int, size: int, _: str) -> None:
        joined(rank, size)
        dist.monitored_barrier(timeout=LIMIT)
        dist.new_group([0, 1])

    def some_come(missing: int) -> Callable[[int, int, str], str]:
        def comes(rank: int, size: int, _: str) -> str:
            try:
                if rank != missing:
                    joined(rank, size, datetime.timedelta(seconds=0.3))
            except RuntimeError as reason:
                return str(reason)
            return ""
        return comes

    def come_at_last(rank: int, size: int, _: str) -> bool:
        # What waits for rank 0 finds the keys of those before.
        time.sleep(0 if rank else 0.2)
        joined(rank, size)
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        started = time.monotonic()
        time.sleep(0 if rank else 0.2)
        dist.monitored_barrier(timeout=LIMIT)
        has_waited = time.monotonic() - started > 0.1
        dist.all_reduce(tensor, group=dist.new_group([0, 1]))
        return has_waited and tensor.tolist() == [2.0 * size] * 2

    return [all_come, some_come(0), some_come(1), come_at_last]


def leaves(rank: int, size: int, place: str, pipe: Any) -> None:
    """Ranks 0 and 1 exchange messages after the others have returned; rank 0, whom a lost rank is known to first, waits for one."""
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    tensor = torch.full((1,), float(rank))
    if rank == 0:
        pipe.recv()  # all others have ended
        dist.send(torch.full((1,), 7.0), 1)
        dist.recv(tensor, 1)
        pipe.send(tensor.item())
    elif rank == 1:
        dist.recv(tensor, 0)
        time.sleep(0.5)
        dist.send(tensor, 0)
        pipe.send(tensor.item())


class LeavingTest(unittest.TestCase):
    def test_forked_ranks_that_have_returned_are_not_lost(self) -> None:
        fork = multiprocessing.get_context("fork")
        size = 4
        with tempfile.TemporaryDirectory() as folder:
            pipes = [fork.Pipe() for _ in range(size)]
            processes = [fork.Process(target=leaves, args=(rank, size, os.path.join(folder, "place"), pipes[rank][1]))
                         for rank in range(size)]
            for process in processes:
                process.start()
            for _, there in pipes:
                there.close()
            for process in processes[2:]:
                process.join(60)
            pipes[0][0].send("go")
            for process in processes:
                process.join(60)
        self.assertEqual([process.exitcode for process in processes], [0] * size)
        self.assertEqual([here.recv() for here, _ in pipes[:2]], [7.0, 7.0])


class RestartsTest(unittest.TestCase):
    def ranks_come_again(self, store: Callable[[], object]) -> None:
        whole, without_0, without_1, at_last = (run(2, attempt) for attempt in attempts(store))
        self.assertEqual(whole, [None, None])
        self.assertIn("rank 1 waits for rank 0, which has not come within 0.3 s", without_0[1])
        self.assertIn("rank 0 waits for rank 1, which has not come within 0.3 s", without_1[0])
        self.assertEqual(at_last, [True, True])

    def test_keys_of_a_server_belong_to_one_attempt(self) -> None:
        server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        self.ranks_come_again(lambda: dist.TCPStore("127.0.0.1", server.port, is_master=False))

    def test_keys_of_a_file_belong_to_one_attempt(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.ranks_come_again(lambda: dist.FileStore(os.path.join(folder, "store"), 2))


if __name__ == "__main__":
    unittest.main()
