"""CUDA tensors where no GPU is: what is refused, with what words, and which stream is chosen."""
from __future__ import annotations

import os
import types
import unittest
import warnings
from unittest import mock

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist

from ranks import run
from ronde._native import ffi, lib
from ronde.torch import device as D
from ronde.torch import pools as P
from ronde.torch.work import RondeWork

try:
    from torch._subclasses.fake_tensor import FakeTensorMode
except ImportError:
    FakeTensorMode = None


def refused(call: object) -> str:
    try:
        call()
    except (ValueError, RuntimeError) as reason:
        return str(reason)
    return "was not refused"


def says_what_to_do(rank: int, size: int, place: str) -> list[str]:
    dist.init_process_group("cpu:ronde,cuda:ronde", init_method=f"file://{place}", rank=rank, world_size=size)
    with FakeTensorMode():
        on_gpu, on_cpu = torch.ones(4, device="cuda"), torch.ones(4)
        said = [refused(lambda: dist.all_reduce(on_gpu)),
                refused(lambda: dist.all_gather([on_cpu, on_gpu], on_gpu)),
                refused(lambda: dist.all_reduce(torch.ones(4, device="meta")))]
    # The group goes on.
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor[0] == size
    return said


def names_the_other_backend(rank: int, size: int, place: str) -> str:
    dist.init_process_group("cpu:ronde,cuda:nccl", init_method=f"file://{place}", rank=rank, world_size=size)
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor[0] == size
    with FakeTensorMode():
        on_gpu = torch.ones(4, device="cuda")
        return refused(lambda: dist.all_reduce(on_gpu))


class Stream:
    """As torch.cuda.Stream: what it was told."""

    def __init__(self, number: int) -> None:
        self.cuda_stream = number
        self.told: list[object] = []

    def wait_stream(self, other: Stream) -> None:
        self.told.append(("follows", other.cuda_stream))

    def wait_event(self, event: object) -> None:
        self.told.append(("waits", event))


class Operation:
    def __init__(self, over: bool) -> None:
        self.over = over
        self.waits = 0

    def is_over(self) -> bool:
        return self.over

    def wait(self, timeout: object) -> None:
        self.waits += 1


def given_device() -> D.Device:
    """A device that a communicator has already."""
    found = D.Device.__new__(D.Device)
    found.device = torch.device("cuda", 0)
    found._side = None
    return found


class Pool:
    """As torch.cuda.MemPool: its segments."""

    def __init__(self, *segments: tuple[int, int]) -> None:
        self.id = (0, 7)
        self.segments = segments

    def snapshot(self) -> list[dict[str, int]]:
        return [{"device": 0, "address": address, "total_size": size} for address, size in self.segments]


class Library:
    """Registers anything, but for the call that is to fail."""

    RONDE_OK = lib.RONDE_OK

    def __init__(self, fails_at: int) -> None:
        self.fails_at = fails_at
        self.calls: list[object] = []

    def ronde_comm_use_device(self, _comm: object, device: int, _error: object) -> int:
        self.calls.append(("device", device))
        return int(lib.RONDE_OK)

    def ronde_register(self, _comm: object, start: object, size: int, out: object, error: object) -> int:
        address = int(ffi.cast("uintptr_t", start))
        self.calls.append((address, size))
        if len(self.calls) == self.fails_at:
            return int(lib.ronde_fail(error, lib.RONDE_DEVICE, b"%s", ffi.new("char[]", b"this one fails")))
        out[0] = ffi.cast("struct ronde_registration *", len(self.calls))
        return int(lib.RONDE_OK)

    def ronde_deregister(self, _comm: object, registration: object, _error: object) -> int:
        self.calls.append(("not", int(ffi.cast("uintptr_t", registration))))
        return int(lib.RONDE_OK)


def registers_pools(rank: int, size: int, place: str) -> tuple[list[object], list[str]]:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size)
    group = dist.group.WORLD
    pool = Pool((4096, 100), (8192, 200)) if rank == 0 else Pool((65536, 300))
    calls: list[object] = []
    # Both segments of rank 0, nothing besides the one of rank 1; then the second fails.
    for fails_at in (0, 3):
        library = Library(fails_at)
        group._state.device = None
        with mock.patch.object(P, "lib", library), mock.patch.object(D, "lib", library):
            said = refused(lambda: group.register_mem_pool(pool))
            if fails_at == 0:
                again = refused(lambda: group.register_mem_pool(pool))
                group.deregister_mem_pool(pool)
        calls += library.calls
    symmetric = refused(lambda: group.register_mem_pool(pool, symm=rank == 1))
    unknown = refused(lambda: group.deregister_mem_pool(pool))
    group._state.device = None
    return calls, [again, said, symmetric, unknown, refused(lambda: group.register_mem_pool(pool))]


class StreamsTest(unittest.TestCase):
    def test_the_callers_stream_is_used_as_it_is(self) -> None:
        current = Stream(77)
        with mock.patch.object(torch.cuda, "current_stream", lambda _device: current):
            self.assertIs(given_device().stream(), current)
        self.assertEqual(current.told, [])

    def test_the_default_stream_is_followed_by_one_of_rondes(self) -> None:
        current, side, made = Stream(0), Stream(5), []
        device = given_device()
        with mock.patch.object(torch.cuda, "current_stream", lambda _device: current), \
                mock.patch.object(torch.cuda, "Stream", lambda _device: made.append(1) or side):
            self.assertIs(device.stream(), side)
            self.assertIs(device.stream(), side)
        self.assertEqual(made, [1])
        self.assertEqual(side.told, [("follows", 0)] * 2)

    def test_a_wait_has_the_current_stream_wait_and_not_the_caller(self) -> None:
        enqueued_in, current = Stream(5), Stream(9)
        event = types.SimpleNamespace(record=lambda stream: self.assertIs(stream, enqueued_in))
        for over in (False, True):
            operation = Operation(over)
            with mock.patch.object(torch.cuda, "Event", lambda: event), \
                    mock.patch.object(torch.cuda, "current_stream", lambda _device: current):
                work = RondeWork([D.StreamOperation(operation, torch.device("cuda", 0), enqueued_in)], [])
                work.wait()
            # One that is over may have failed: its own wait says so.
            self.assertEqual(operation.waits, 1 if over else 0)
        self.assertEqual(current.told, [("waits", event)])


class PoolsTest(unittest.TestCase):
    def test_every_segment_is_registered_on_all_ranks_together(self) -> None:
        both = run(2, registers_pools)
        for (calls, said), (first, second) in zip(both, (((4096, 100), (8192, 200)), ((65536, 300), (0, 0)))):
            self.assertEqual(calls, [("device", 0), first, second, ("not", 2), ("not", 3),
                                     ("device", 0), first, second, ("not", 2)])
            self.assertIn("is registered already", said[0])
            self.assertIn("register_mem_pool: this one fails", said[1])
            self.assertIn("is not registered", said[3])
        self.assertIn("another rank could not", both[0][1][2])
        self.assertIn("symm=True asks for windows", both[1][1][2])

    @unittest.skipIf(torch.cuda.is_available(), "a GPU is here")
    def test_a_build_without_cuda_says_what_to_do(self) -> None:
        for _calls, said in run(2, registers_pools):
            self.assertIn("register_mem_pool: ", said[4])
            self.assertIn("cuda: ", said[4])


@unittest.skipUnless(FakeTensorMode, "this torch has no tensors without memory, which stand for a GPU's")
@unittest.skipIf(torch.cuda.is_available(), "a GPU is here, and its tensors are not refused")
class RefusalTest(unittest.TestCase):
    def test_a_build_without_cuda_says_what_to_do(self) -> None:
        for gpu, mixed, meta in run(2, says_what_to_do):
            self.assertIn("all_reduce: tensors are on cuda:0; move them to the CPU", gpu)
            self.assertIn("cuda: ", gpu)
            self.assertIn("tensors are on cpu and cuda:0: must be the same", mixed)
            self.assertIn("not on meta", meta)

    def test_cuda_tensors_that_were_to_be_anothers_are_refused_by_its_name(self) -> None:
        for said in run(2, names_the_other_backend):
            self.assertIn('torch was asked for nccl there', said)
            self.assertIn('dist.new_group(backend="nccl")', said)


if __name__ == "__main__":
    unittest.main()
