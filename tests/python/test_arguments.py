"""Arguments of the wrong kind: refused by an exception that names them, never by a crash or a wrong number."""
from __future__ import annotations

import functools
import unittest
from typing import Any, Callable

import numpy as np

import ronde
from ronde.sizes import size_of


def ones(dtype: str = "float32", ranks: int = 4) -> list[np.ndarray]:
    return [np.ones(8, dtype) for _ in range(ranks)]


def locked(arrays: list[np.ndarray]) -> list[np.ndarray]:
    for array in arrays:
        array.setflags(write=False)
    return arrays


class ArgumentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = ronde.Topology.generate("dgx-h100", nodes=2)
        cls.ring = ronde.compile("all_reduce", "ring", ranks=4)

    def refused(self, kind: type[BaseException], text: str, call: Callable[[], Any]) -> None:
        with self.assertRaisesRegex(kind, text):
            call()

    def test_numbers_and_names_are_named(self) -> None:
        for kind, text, call in (
                (ronde.BadArgumentError, "ranks -1 is outside", lambda: ronde.compile("all_reduce", "ring", ranks=-1)),
                (ronde.BadArgumentError, "ranks 4294967296 is outside", lambda: ronde.compile("all_reduce", "ring", ranks=2**32)),
                (TypeError, "ranks: expected a whole number, not 8.0", lambda: ronde.compile("all_reduce", "ring", ranks=8.0)),
                (TypeError, "algorithm: expected a text, not None", lambda: ronde.compile("all_reduce", None, ranks=8)),
                (TypeError, "shape: expected whole numbers", lambda: ronde.compile("all_reduce", "ring", ranks=8, shape="2x4")),
                (ronde.BadArgumentError, "has a zero in it", lambda: ronde.compile("all_reduce", "ring\0", ranks=8)),
                (ronde.BadArgumentError, "collective 5: there are", lambda: ronde.compile(5, "ring", ranks=8)),
                (ronde.BadArgumentError, "kind of machine 'dgxx': there are .*dgx-h100", lambda: ronde.Topology.generate("dgxx")),
                (TypeError, "nodes: expected a whole number", lambda: ronde.Topology.generate("dgx-h100", nodes="2")),
                (ronde.BadArgumentError, "--help: cannot be opened", lambda: ronde.Topology.from_description("--help")),
                (TypeError, "text: expected a schedule's text", lambda: ronde.Schedule.read(b"ronde 1")),
                (ronde.BadArgumentError, "rank -1 is outside", lambda: ronde.Communicator.join(-1, 2, token="x")),
                (ronde.BadArgumentError, "no key 'size' in every record",
                 lambda: ronde.simulate(self.ring, self.machine, "1M").plot(x="size"))):
            self.refused(kind, text, call)

    def test_machines_and_schedules_are_told_from_other_things(self) -> None:
        for call in (ronde.simulate, ronde.price, ronde.timeline):
            self.refused(TypeError, "topology: expected a ronde.Topology", functools.partial(call, self.ring, "dgx-h100", "1M"))
            self.refused(TypeError, "schedule: expected a ronde.Schedule", functools.partial(call, "ring", self.machine, "1M"))
        self.refused(TypeError, "expected a ronde.Topology", lambda: ronde.plan("all_reduce", "dgx-h100", "1M", ranks=4))
        self.refused(TypeError, "expected a ronde.Topology", lambda: ronde.bound("dgx-h100", "all_gather", ranks=4))
        self.refused(ronde.RondeError, r"dgx-h100-16\.xml has 16 hosts",
                     lambda: ronde.simulate(ronde.compile("all_reduce", "ring", ranks=17), self.machine, "1M"))

    def test_sizes_are_numbers_of_numpy_as_well(self) -> None:
        expected = ronde.simulate(self.ring, self.machine, [1024, 4096])
        for sizes in (np.array([1024, 4096]), (np.int64(1024), np.uint32(4096)), ["1K", "4K"], iter([1024, 4096])):
            self.assertEqual(ronde.simulate(self.ring, self.machine, sizes), expected)
        for size in (np.int64(1024), np.array(1024), "1K"):
            self.assertEqual(ronde.simulate(self.ring, self.machine, size, dtype=np.float32), expected[:1])
        for size in (-1, 2**63):
            self.refused(ronde.BadArgumentError, "size .* is outside", lambda: ronde.simulate(self.ring, self.machine, size))
        for size in (1.5e6, [1.5e6], None, [None]):
            self.refused(TypeError, "size: expected a whole number", lambda: ronde.simulate(self.ring, self.machine, size))

    def test_sizes_in_words_are_the_commands(self) -> None:
        for size, expected in (("1M", 1 << 20), ("1MiB", 1 << 20), (" 1.5K ", 1536), ("64k", 65536), ("0", 0), ("7B", 7)):
            self.assertEqual(size_of(size), expected)
        for size, text in (("1MB", "size \"1MB\": MB is read as a power of 1000 or of 1024; type 1M or 1MiB"), ("64kB", "KB is read as"),
                           ("99999999999T", "is not a whole number of bytes up to 8P"), ("much", "is not a number"), ("1e3", "is not"),
                           ("1K\0", "has a zero in it")):
            self.refused(ronde.BadArgumentError, text, lambda: ronde.simulate(self.ring, self.machine, size))

    def test_grids_of_one_point_need_no_lists(self) -> None:
        self.assertEqual(ronde.sweep("all_reduce", self.machine, ranks=4, algorithms="ring", sizes="1M"),
                         ronde.sweep("all_reduce", self.machine, ranks=[4], algorithms=["ring"], sizes=["1M"]))
        self.refused(TypeError, "executor: expected", lambda: ronde.sweep("all_reduce", self.machine, ranks=4, algorithms="ring",
                                                                         sizes="1M", executor=4))

    def test_arrays_are_looked_at_before_they_are_read(self) -> None:
        run = self.ring.run
        shared = np.ones(8, "float32")
        for kind, text, call in (
                (ronde.BadArgumentError, r"inputs\[0\]: elements of type >f4 have the bytes", lambda: run(ones(">f4"))),
                (ronde.BadArgumentError, r"outputs\[0\]: .*read-only", lambda: run(ones(), locked(ones()))),
                (ronde.BadArgumentError, r"inputs\[2\]: .*contiguous", lambda: run(ones()[:2] + [np.ones(16, "f4")[::2]] * 2)),
                (ronde.BadArgumentError, "outputs of ranks 0 and 1 share memory", lambda: run([shared] * 4, [shared] * 4)),
                (TypeError, r"inputs\[0\]: expected an array of NumPy's, not list", lambda: run([[1.0] * 8] * 4)),
                (TypeError, "inputs: expected an array for each rank", lambda: run(None)),
                (ronde.BadArgumentError, "slot_bytes -1", lambda: run(ones(), slot_bytes=-1))):
            self.refused(kind, text, call)
        both = np.ones((4, 8), "float32")
        self.assertEqual(run(array for array in both)[3].tolist(), [4.0] * 8)
        self.assertIs(run(list(both), list(both))[0].base, both)
        with ronde.Communicator.join(0, 1, token="arguments") as alone:
            self.refused(ronde.BadArgumentError, "in: elements of type >f4", lambda: alone.all_reduce(np.ones(8, ">f4")))
            self.refused(ronde.BadArgumentError, "root -1", lambda: alone.broadcast(np.ones(8), root=-1))
            self.refused(ronde.BadArgumentError, "lengths -1", lambda: alone.all_gather(np.ones(8), np.ones(8), counts=[-1]))

    def test_algorithms_of_ones_own_say_what_is_wrong_and_where(self) -> None:
        start = ronde.copy(0, ronde.IN[0], ronde.OUT[0])

        def then(step: Any) -> Callable[[], Any]:
            return lambda: ronde.build("broadcast", lambda ranks: [start, step], ranks=2)

        for kind, text, step in (
                (TypeError, "number 1: expected ronde.transfer, copy or reduce, .* not None", None),
                (TypeError, "number 1: .* not 0", (0, 1)),
                (TypeError, "number 1: receiver: expected a whole number, not 1.0", ronde.transfer(0, 1.0, ronde.IN[0], ronde.OUT[0])),
                (TypeError, "number 1: source: expected chunks", ronde.transfer(0, 1, 0, ronde.OUT[0])),
                (ronde.BadArgumentError, "number 1: receiver -1", ronde.transfer(0, -1, ronde.IN[0], ronde.OUT[0])),
                (ronde.BadArgumentError, "lambda: .* from position 0 to 9 of 2", ronde.transfer(0, 9, ronde.IN[0], ronde.OUT[0]))):
            self.refused(kind, text, then(step))
        self.refused(ronde.BadArgumentError, "chunk -1", lambda: ronde.IN[-1])
        self.refused(TypeError, "yields steps, not one that returns None", lambda: ronde.build("broadcast", lambda ranks: None, ranks=2))

    def test_what_has_no_plain_name_has_one_in_the_text(self) -> None:
        def größe(hops: int, ranks: int) -> Any:
            yield ronde.copy(0, ronde.IN[0], ronde.OUT[0])
            yield tuple(ronde.transfer(0, np.int64(child), ronde.IN[0], ronde.OUT[0]) for child in range(hops, ranks))

        for algorithm, name in ((functools.partial(größe, 1), "gr__e"), (lambda ranks: größe(1, ranks), "lambda")):
            schedule = ronde.build("broadcast", algorithm, ranks=4)
            self.assertEqual(schedule.algorithm, name)
            self.assertEqual(ronde.Schedule.read(schedule.text).hash, schedule.hash)


if __name__ == "__main__":
    unittest.main()
