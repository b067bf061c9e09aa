"""The backend of torch.distributed, as programs call it. What gloo can do is compared with gloo."""
from __future__ import annotations

import datetime
import os
import signal
import time
import unittest
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist
from torch import nn

import ronde.torch
from ranks import run

LIMIT = datetime.timedelta(seconds=60)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def joined(rank: int, size: int, place: str, timeout: datetime.timedelta = LIMIT) -> None:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=timeout)


def values(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    return ((torch.arange(count) % 3 + 1) * (rank + 1)).to(dtype)


def folded(op: str, inputs: list[torch.Tensor]) -> torch.Tensor:
    functions = {"SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
                 "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
    result = inputs[0].clone()
    for other in inputs[1:]:
        result = functions[op](result, other)
    return result


def reduces_every_type(rank: int, size: int, place: str) -> None:
    joined(rank, size, place)
    for dtype in (*INTEGERS, *FLOATS):
        ops = ["SUM", "PRODUCT", "MIN", "MAX"] + (["BAND", "BOR", "BXOR"] if dtype in INTEGERS else [])
        inputs = [values(r, 5, dtype) for r in range(size)]
        for op in ops:
            tensor = inputs[rank].clone()
            dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
            torch.testing.assert_close(tensor, folded(op, inputs), rtol=0, atol=0)
    truth = torch.tensor([rank == 0, True, False])
    dist.all_reduce(truth)
    assert truth.tolist() == [True, True, False] and truth.view(torch.uint8).max() == 1
    tensor = torch.full((3,), float(rank))
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    assert tensor.tolist() == [(size - 1) / 2] * 3
    tensor = torch.ones(3)
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
    assert tensor.tolist() == [size / 2] * 3
    tensor = torch.full((2,), complex(1, rank))
    dist.all_reduce(tensor)
    assert tensor.tolist() == [complex(size, sum(range(size)))] * 2
    for bad in (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND), lambda: dist.all_reduce(torch.ones(4, 4).t()[1:3, :2]),
                lambda: dist.all_reduce(torch.ones(2, device="meta"))):
        try:
            bad()
        except (ValueError, RuntimeError):
            continue
        raise AssertionError("was not refused")
    dist.barrier()


def moves_every_way(rank: int, size: int, place: str) -> None:
    joined(rank, size, place)
    for dtype in (torch.float32, torch.complex64, torch.complex128, torch.bool, torch.float8_e5m2, torch.int16):
        tensor = values(0, 3, torch.float32).to(dtype) if rank == 0 else torch.zeros(3, dtype=dtype)
        dist.broadcast(tensor, 0)
        assert torch.equal(tensor.view(torch.uint8), values(0, 3, torch.float32).to(dtype).view(torch.uint8))
    # Lists of different lengths, gathered and scattered.
    outputs = [torch.full((r + 1,), -1.0) for r in range(size)]
    dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
    assert [output.tolist() for output in outputs] == [[float(r)] * (r + 1) for r in range(size)]
    output = torch.zeros(rank + 1)
    dist.reduce_scatter(output, [torch.full((r + 1,), float(r)) for r in range(size)])
    assert output.tolist() == [float(rank * size)] * (rank + 1)
    # Flat forms, in place too.
    whole = torch.zeros(2 * size)
    whole[2 * rank:2 * rank + 2] = rank
    dist.all_gather_into_tensor(whole, whole[2 * rank:2 * rank + 2])
    assert whole.tolist() == [float(r) for r in range(size) for _ in range(2)]
    given = whole.clone()
    dist.reduce_scatter_tensor(given[2 * rank:2 * rank + 2], given)
    assert given.tolist() == [float(r * size if r == rank else r) for r in range(size) for _ in range(2)], given
    got = torch.zeros(size, 2)
    dist.all_gather_into_tensor(got, torch.full((2,), float(rank)))
    assert got[:, 0].tolist() == list(range(size))
    # all_to_all: equal parts, splits with zeroes among them, lists.
    got = torch.zeros(size)
    dist.all_to_all_single(got, torch.arange(size) + 10.0 * rank)
    assert got.tolist() == [10.0 * r + rank for r in range(size)]
    got = torch.zeros(size * rank, 2)
    dist.all_to_all_single(got, torch.full((sum(range(size)), 2), float(rank)), [rank] * size, list(range(size)))
    assert got[:, 1].tolist() == [float(r) for r in range(size) for _ in range(rank)]
    outputs = [torch.zeros(rank + r) for r in range(size)]
    dist.all_to_all(outputs, [torch.full((rank + r,), float(rank)) for r in range(size)])
    assert [output.tolist() for output in outputs] == [[float(r)] * (rank + r) for r in range(size)]
    gathered = [torch.zeros(2) for _ in range(size)] if rank == size - 1 else None
    dist.gather(torch.full((2,), float(rank)), gathered, dst=size - 1)
    assert gathered is None or [g.tolist() for g in gathered] == [[float(r)] * 2 for r in range(size)]
    part = torch.zeros(2)
    dist.scatter(part, [torch.full((2,), float(r)) for r in range(size)] if rank == 0 else None, src=0)
    assert part.tolist() == [float(rank)] * 2
    everything = [None] * size
    dist.all_gather_object(everything, {"rank": rank})
    assert everything == [{"rank": r} for r in range(size)]


def sends_by_tag(rank: int, size: int, place: str) -> None:
    joined(rank, size, place)
    to, of = (rank + 1) % size, (rank - 1) % size
    got = [torch.zeros(3), torch.zeros(3)]
    works = [dist.irecv(got[0], of, tag=5), dist.irecv(got[1], of, tag=6)]
    works += [dist.isend(torch.full((3,), 6.0), to, tag=6), dist.isend(torch.full((3,), 5.0), to, tag=5)]
    for work in works:
        work.wait()
    assert (got[0][0], got[1][0]) == (5, 6)
    if rank == 0:
        assert sorted(dist.recv(torch.zeros(1)) for _ in range(size - 1)) == list(range(1, size))
    else:
        dist.send(torch.ones(1), 0)
    # What follows has the same tag.
    dist.barrier()
    tensor = torch.zeros(3)
    operations = [dist.P2POp(dist.isend, torch.full((3,), float(rank)), to), dist.P2POp(dist.irecv, tensor, of)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert tensor[0] == of


def completes_futures(rank: int, size: int, place: str) -> None:
    joined(rank, size, place)
    tensor = torch.ones(1000)
    work = dist.all_reduce(tensor, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert doubled.wait()[0] == 2 * size
    assert work.is_completed() and work.is_success() and work.exception() is None
    works = [dist.all_reduce(torch.ones(10), async_op=True) for _ in range(200)]
    assert all(work.wait() for work in works)
    assert all(work.result()[0][0] == size for work in works)
    with dist._coalescing_manager(device=torch.device("cpu")):
        several = [torch.ones(3) * rank for _ in range(3)]
        for one in several:
            dist.all_reduce(one)
    assert all(one[0] == sum(range(size)) for one in several)
    several = [torch.ones(2), torch.ones(5)]
    dist.all_reduce_coalesced(several)
    assert [one[0] for one in several] == [size, size]


def makes_many_groups(rank: int, size: int, place: str) -> int:
    joined(rank, size, place)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        group = dist.new_group(list(range(size)))
        tensor = torch.ones(1)
        dist.all_reduce(tensor, group=group)
        assert tensor[0] == size
        dist.destroy_process_group(group)
    half = dist.split_group(split_ranks=[[0], list(range(1, size))])
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=half)
    assert tensor[0] == (1 if rank == 0 else size - 1)
    some = [dist.new_group([0, r]) for r in range(1, size)]
    works = [dist.all_reduce(torch.ones(100), group=group, async_op=True)
             for group in (some if rank == 0 else [some[rank - 1]])]
    for work in reversed(works):
        work.wait()
    dist.barrier()
    dist.destroy_process_group()
    return len(os.listdir("/proc/self/fd")) - before


def says_who_is_late(rank: int, size: int, place: str) -> list[str]:
    """Limits far above what a busy machine may delay a rank by: a group's also holds while the group is made."""
    joined(rank, size, place)
    said = []
    dist.monitored_barrier(timeout=LIMIT)
    try:
        if rank != 1:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=3))
    except RuntimeError as reason:
        said.append(str(reason))
    dist.barrier()
    group = dist.new_group(list(range(size)), timeout=datetime.timedelta(seconds=3))
    try:
        if rank == 0:
            dist.all_reduce(torch.ones(1), group=group)
    except RuntimeError as reason:
        said.append(str(reason))
    dist.barrier()
    return said


def aborts(rank: int, size: int, place: str) -> str:
    joined(rank, size, place)
    dist.barrier()
    work = dist.irecv(torch.ones(1), (rank + 1) % size)
    if rank == 1:
        dist.group.WORLD.abort()
    try:
        work.wait()
    except RuntimeError as reason:
        return str(reason)
    return ""


def survives_a_death(rank: int, size: int, place: str) -> str:
    joined(rank, size, place)
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    started = time.monotonic()
    try:
        dist.all_reduce(torch.ones(10))
    except RuntimeError as reason:
        assert time.monotonic() - started < 30
        return str(reason)
    return ""


def notices_one_that_stopped(rank: int, size: int, place: str) -> str:
    joined(rank, size, place, datetime.timedelta(seconds=2))
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        for _ in range(100):
            dist.all_reduce(torch.ones(1000))
    except RuntimeError as reason:
        return str(reason)
    return ""


def takes_its_name_by_device(rank: int, size: int, place: str) -> None:
    dist.init_process_group("cpu:ronde,cuda:ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor[0] == size and isinstance(dist.group.WORLD, ronde.torch.RondeGroup)


def trained(backend: str) -> object:
    def train(rank: int, size: int, place: str) -> list[bytes]:
        dist.init_process_group(backend, init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        parallel = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
        optimizer = torch.optim.SGD(parallel.parameters(), 0.1)
        for step in range(50):
            torch.manual_seed(100 * step + rank)
            optimizer.zero_grad()
            parallel(torch.randn(8, 16)).square().mean().backward()
            optimizer.step()
        result = [p.detach().numpy().tobytes() for p in model.parameters()]
        dist.destroy_process_group()
        return result
    return train


def shards(rank: int, size: int, place: str) -> float:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    import torch.distributed._functional_collectives as functional
    joined(rank, size, place)
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    fully_shard(model, mesh=mesh)
    model(torch.randn(8, 16)).square().mean().backward()
    total = sum(p.full_tensor().double().sum().item() for p in model.parameters())
    spread = distribute_tensor(torch.arange(24.).reshape(8, 3), mesh, [Shard(0)])
    assert spread.redistribute(mesh, [Replicate()]).to_local().sum() == 276
    assert spread.redistribute(mesh, [Shard(1)]).full_tensor().sum() == 276
    ones = functional.all_reduce(torch.ones(4), "sum", dist.group.WORLD)
    assert ones.sum() == 4 * size
    assert functional.all_gather_tensor(torch.full((2,), float(rank)), 0, dist.group.WORLD).sum() == 2 * sum(range(size))
    assert functional.reduce_scatter_tensor(torch.ones(4 * size), "sum", 0, dist.group.WORLD).tolist() == [size] * 4
    return total


class TorchTest(unittest.TestCase):
    def test_every_type_is_reduced_by_every_operator(self) -> None:
        run(2, reduces_every_type)
        run(3, reduces_every_type)

    def test_everything_moves_also_in_lists_of_different_lengths(self) -> None:
        run(3, moves_every_way)

    def test_messages_have_tags_and_come_from_any_rank(self) -> None:
        run(3, sends_by_tag)

    def test_futures_are_completed_and_calls_coalesced(self) -> None:
        run(2, completes_futures)

    def test_groups_are_made_used_at_once_and_freed(self) -> None:
        for left in run(3, makes_many_groups):
            self.assertLess(left, 12)

    def test_a_late_rank_is_named(self) -> None:
        said = run(3, says_who_is_late)
        self.assertIn("Rank 1 failed to pass monitoredBarrier in 3000 ms", said[0][0])
        self.assertIn("Rank 2 successfully reached monitoredBarrier", said[2][0])
        self.assertRegex(said[0][1], "all_reduce: Timed out waiting: .*rank")

    def test_abort_ends_what_is_pending(self) -> None:
        for said in run(2, aborts):
            self.assertIn("rank 1 aborted", said)

    def test_a_lost_rank_is_named(self) -> None:
        for rank, said in enumerate(run(3, survives_a_death, dies=1)):
            if rank != 1:
                self.assertIn("rank 1", said)

    def test_a_stopped_rank_is_named_when_the_limit_passes(self) -> None:
        for rank, said in enumerate(run(3, notices_one_that_stopped, dies=1)):
            if rank != 1:
                self.assertIn("rank 1", said)

    def test_names_may_say_the_device(self) -> None:
        run(2, takes_its_name_by_device)

    def test_ddp_gives_the_same_bits_everywhere_and_gloos_numbers(self) -> None:
        ours, gloos = run(2, trained("ronde")), run(2, trained("gloo"))
        self.assertEqual(ours[0], ours[1])
        for one, other in zip(ours[0], gloos[0]):
            torch.testing.assert_close(torch.frombuffer(bytearray(one), dtype=torch.float32),
                                       torch.frombuffer(bytearray(other), dtype=torch.float32))

    def test_fsdp2_dtensor_and_functional_collectives(self) -> None:
        totals = run(2, shards)
        self.assertEqual(totals[0], totals[1])


if __name__ == "__main__":
    unittest.main()
