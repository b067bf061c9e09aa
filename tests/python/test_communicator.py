"""Communicators and their collectives on arrays."""
from __future__ import annotations

import array
import gc
import time
import unittest

import numpy as np

import ronde
from ranks import run


def joined(rank: int, size: int, place: str, **options: object) -> ronde.Communicator:
    return ronde.Communicator.join(rank, size, token=place, timeout=60, **options)


def numbers(rank: int, count: int, dtype: str = "float32") -> np.ndarray:
    return ((np.arange(count) % 5 + 1) * (rank + 1)).astype(dtype)


def every_collective(rank: int, size: int, place: str) -> None:
    with joined(rank, size, place) as comm:
        for dtype in ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16"):
            reductions(comm, dtype)
        moves(comm)
        unequal(comm)


def reductions(comm: ronde.Communicator, dtype: str) -> None:
    rank, size = comm.rank, comm.size
    inputs = [numbers(r, 7 * size, dtype) for r in range(size)]
    total = np.add.reduce(inputs, dtype=dtype)
    mine = inputs[rank].copy()
    comm.all_reduce(mine)
    np.testing.assert_array_equal(mine, total)
    for op, expected in (("max", np.maximum), ("min", np.minimum), ("prod", np.multiply)):
        out = np.empty_like(mine)
        comm.all_reduce(inputs[rank], out, op)
        np.testing.assert_array_equal(out, expected.reduce(inputs, dtype=dtype))
    out = np.zeros_like(mine)
    comm.reduce(inputs[rank], out, root=size - 1)
    np.testing.assert_array_equal(out, total if rank == size - 1 else 0)
    part = np.empty(7, dtype)
    comm.reduce_scatter(inputs[rank], part)
    np.testing.assert_array_equal(part, total[7 * rank:7 * rank + 7])
    out = np.empty_like(mine)
    comm.all_reduce(inputs[rank], out, "premul_sum", factor=2)
    np.testing.assert_array_equal(out, np.add.reduce([(2 * i).astype(dtype) for i in inputs], dtype=dtype))


def moves(comm: ronde.Communicator) -> None:
    rank, size = comm.rank, comm.size
    blocks = np.concatenate([numbers(r, 3) for r in range(size)])
    out = np.zeros(3 * size, np.float32)
    comm.all_gather(numbers(rank, 3), out)
    np.testing.assert_array_equal(out, blocks)
    out[:] = 0
    comm.gather(numbers(rank, 3), out if rank == 0 else None)
    np.testing.assert_array_equal(out, blocks if rank == 0 else 0)
    part = np.zeros(3, np.float32)
    comm.scatter(blocks if rank == 0 else None, part)
    np.testing.assert_array_equal(part, numbers(rank, 3))
    comm.broadcast(part, root=size - 1)
    np.testing.assert_array_equal(part, numbers(size - 1, 3))
    comm.all_to_all(np.arange(size, dtype=np.int64) + 10 * rank, given := np.zeros(size, np.int64))
    np.testing.assert_array_equal(given, 10 * np.arange(size) + rank)
    comm.shift(numbers(rank, 3), part, 1)
    np.testing.assert_array_equal(part, numbers((rank - 1) % size, 3))
    plain = array.array("i", [rank] * 4)
    comm.all_reduce(plain, op="max")
    assert list(plain) == [size - 1] * 4
    comm.barrier()


def unequal(comm: ronde.Communicator) -> None:
    rank, size = comm.rank, comm.size
    counts = list(range(size))
    out = np.full(sum(counts), -1, np.int32)
    comm.all_gather(np.full(rank, rank, np.int32), out, counts=counts)
    np.testing.assert_array_equal(out, np.repeat(np.arange(size), counts))
    part = np.zeros(rank, np.int32)
    comm.reduce_scatter(np.arange(sum(counts), dtype=np.int32), part, counts=counts)
    np.testing.assert_array_equal(part, size * np.arange(sum(counts))[sum(counts[:rank]):sum(counts[:rank + 1])])
    # Rank r gives s + 1 elements to rank s, and so gets r + 1 of each.
    given = np.concatenate([np.full(s + 1, 10 * rank + s) for s in range(size)])
    got = np.zeros(size * (rank + 1), given.dtype)
    comm.all_to_all(given, got, in_counts=[s + 1 for s in range(size)], out_counts=[rank + 1] * size)
    np.testing.assert_array_equal(got, np.repeat(10 * np.arange(size) + rank, rank + 1))
    out[:] = -1
    comm.gather(np.full(rank, rank, np.int32), out if rank == 0 else None, counts=counts)
    np.testing.assert_array_equal(out, np.repeat(np.arange(size), counts) if rank == 0 else -1)
    part[:] = -1
    comm.scatter(out if rank == 0 else None, part, counts=counts)
    np.testing.assert_array_equal(part, rank)


def pending(rank: int, size: int, place: str) -> None:
    with joined(rank, size, place) as comm:
        arrays = [np.full(100, rank + k, np.float32) for k in range(100)]
        operations = [comm.all_reduce(a, wait=False) for a in arrays]
        ended = []
        operations[-1].add_done_callback(ended.append)
        for operation in operations:
            operation.wait()
        for k, a in enumerate(arrays):
            np.testing.assert_array_equal(a, sum(r + k for r in range(size)))
        while not ended:
            time.sleep(0.001)
        operations[-1].add_done_callback(ended.append)
        assert ended == [None, None], ended
        assert all(operation.done() for operation in operations)
        # Buffers of what nobody waits for stay until it is over.
        for _ in range(200):
            comm.all_reduce(np.ones(1000), wait=False)
        gc.collect()
        comm.barrier()


def messages(rank: int, size: int, place: str) -> None:
    with joined(rank, size, place) as comm:
        to, of = (rank + 1) % size, (rank - 1) % size
        got = np.zeros(5)
        receive = comm.recv_array(got, of, 7, wait=False)
        comm.send_array(np.full(5, float(rank)), to, 7)
        receive.wait()
        assert (receive.source, receive.bytes) == (of, 40)
        np.testing.assert_array_equal(got, of)
        if rank == 0:
            assert sorted(comm.recv_array(got, None, 9).source for _ in range(size - 1)) == list(range(1, size))
        else:
            comm.send_array(np.ones(2), 0, 9)


def errors(rank: int, size: int, place: str) -> list[str]:
    said = []
    comm = joined(rank, size, place)
    for call in (lambda: comm.all_reduce(np.zeros(3), np.zeros(4)), lambda: comm.all_reduce(np.zeros(3, "complex64")),
                 lambda: comm.all_reduce(np.zeros((4, 4))[:, 1]), lambda: comm.all_reduce(np.zeros(3), op="average"),
                 lambda: comm.all_reduce(b"no"), lambda: comm.broadcast(np.zeros(3), root=99),
                 lambda: comm.all_gather(np.zeros(3), np.zeros(3 * size + 1)), lambda: comm.choose("all_reduce", "no-such"),
                 lambda: comm.all_reduce(np.zeros(3), timeout=-1)):
        try:
            call()
        except ronde.BadArgumentError as reason:
            said.append(str(reason))
    comm.choose("all_reduce", "ring")
    comm.all_reduce(np.ones(3))
    assert comm.algorithm == "ring", comm.algorithm
    comm.close()
    try:
        comm.barrier()
    except ronde.RondeError as reason:
        said.append(str(reason))
    return said


def times_out(rank: int, size: int, place: str) -> str:
    with joined(rank, size, place) as comm:
        comm.barrier()
        if rank == 0:
            comm.set_timeout(0.2)
        try:
            if rank == 0:
                comm.all_reduce(np.ones(2))
            else:
                # Not the call that rank 0 waits for: the end of the communicator comes of itself.
                comm.recv_array(np.ones(1), 0)
        except ronde.RondeTimeoutError as reason:
            return str(reason)
    return ""


def is_aborted(rank: int, size: int, place: str) -> str:
    with joined(rank, size, place) as comm:
        comm.barrier()
        operation = comm.recv_array(np.ones(1), (rank + 1) % size, wait=False)
        failures = []
        operation.add_done_callback(failures.append)
        if rank == 1:
            comm.abort()
        try:
            operation.wait()
        except ronde.RondeError as reason:
            while not failures:
                time.sleep(0.001)
            assert str(failures[0]) == str(reason) == str(operation.exception())
            return str(reason)
    return ""


def splits(rank: int, size: int, place: str) -> None:
    with joined(rank, size, place) as comm:
        half = comm.split(rank % 2, size - rank)
        given = np.zeros(half.size, np.int64)
        half.all_gather(np.array([rank]), given)
        np.testing.assert_array_equal(given, [r for r in reversed(range(size)) if r % 2 == rank % 2])
        assert comm.split(None if rank else 0) is None or rank == 0


class CommunicatorTest(unittest.TestCase):
    def test_one_rank_is_enough(self) -> None:
        run(1, every_collective)

    def test_every_collective_on_two_and_three_ranks(self) -> None:
        run(2, every_collective)
        run(3, every_collective)

    def test_pending_operations_end_and_keep_their_buffers(self) -> None:
        run(2, pending)

    def test_messages_arrive_by_tag_and_from_any_rank(self) -> None:
        run(3, messages)

    def test_bad_arguments_are_named_and_leave_the_communicator_whole(self) -> None:
        for said in run(2, errors):
            self.assertEqual(len(said), 10, said)
            self.assertIn("blocks of 3 elements go in and of 4 come out", said[0])
            self.assertIn("complex64", said[1])
            self.assertIn("average", said[3])
            self.assertEqual(said[5], "broadcast: root 99, the communicator has 2 ranks")
            self.assertIn("no-such", said[7])
            self.assertEqual(said[9], "the communicator is closed")

    def test_a_limit_that_passes_names_the_rank(self) -> None:
        said = run(2, times_out)
        self.assertIn("Timed out waiting: ", said[0])
        self.assertIn("rank 1", said[0])

    def test_abort_ends_pending_operations_everywhere(self) -> None:
        for said in run(3, is_aborted):
            self.assertIn("rank 1 aborted the communicator", said)

    def test_split_makes_communicators(self) -> None:
        run(4, splits)


if __name__ == "__main__":
    unittest.main()
