"""Machines, schedules and what they are predicted to take: the same numbers as the command's."""
from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import ronde

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(sys.executable).parent / "ronde"


def said(*words: object) -> list[dict[str, object]]:
    """The records that the command prints."""
    done = subprocess.run([str(COMMAND), *map(str, words), "--json"], capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


class PredictionTest(unittest.TestCase):
    def test_one_question_has_one_answer(self) -> None:
        """simulate, price and plan give what the command gives, to the last digit, on eight machines."""
        pod = ronde.Topology.generate("dgx-h100", nodes=2, fabric="rail")
        machines = [(pod, 16), (pod.without("n0g3_c"), 16), (pod.without("n1g7"), 15), (ronde.Topology.read("fat-tree-2to1-64"), 16),
                    (ronde.Topology.read("dragonfly-72"), 16), (ronde.Topology.read("torus-8x8"), 16), (ronde.Topology.read("pcie-8"), 8),
                    (ronde.Topology.from_description("AWS-p5-2node", nodes=2), 16)]
        sizes = ["1K", "1M", "1G"]
        questions = [("all_reduce", "nccl_tree"), ("all_gather", "ring"), ("broadcast", "double_tree"), ("reduce_scatter", "ring"),
                     ("all_to_all", "direct")]
        # Of pairs every fifth: each machine once, each question at least once; tests/cli/consistency_test.c asks the command.
        stride = 1 if int(os.environ.get("RONDE_TEST_SCALE", "100")) > 100 else 5
        for m, (machine, ranks) in enumerate(machines):
            for collective, algorithm in questions[m % stride::stride]:
                words = [collective, "-N", ranks, *machine._words, "-b", "1K", "-e", "1G", "-f", 1024]
                schedule = ronde.compile(collective, algorithm, ranks=ranks)
                with self.subTest(machine=machine.name, collective=collective):
                    for call, engine in ((ronde.simulate, "auto"), (ronde.price, "price")):
                        told = [row for row in said("sim", *words, "-a", algorithm, "--engine", engine) if row["engine"] != "dag"]
                        self.assertEqual([row["time_ns"] for row in call(schedule, machine, sizes) if row["engine"] != "dag"],
                                         [row["time_ns"] for row in told])
                    told = [row for row in said("plan", *words) if row["kind"] == "plan"]
                    self.assertEqual([(row["algorithm"], row["time_ns"]) for row in ronde.plan(collective, machine, sizes, ranks=ranks)],
                                     [(row["algorithm"], row["time_ns"]) for row in told])

    def test_a_schedule_is_proved_printed_and_read_back(self) -> None:
        ring = ronde.compile("all_reduce", "ring", ranks=8)
        self.assertEqual((ring.collective, ring.algorithm, ring.ranks), ("all_reduce", "ring", 8))
        self.assertEqual((ring.proof.messages, ring.proof.critical_path, ring.proof.quotient), (112, 14, True))
        self.assertTrue(ring.text.startswith("ronde 1\ncollective all_reduce\nalgorithm ring\nranks 8\n"))
        self.assertEqual(ronde.Schedule.read(ring.text).hash, ring.hash)
        with self.assertRaisesRegex(ronde.RondeError, "mine:"):
            ronde.Schedule.read("ronde 1\ncollective all_reduce\nnonsense\n", "mine")
        with self.assertRaisesRegex(ronde.BadArgumentError, "ring"):
            ronde.compile("all_reduce", "rnig", ranks=8)
        self.assertIn("double_tree", ronde.algorithms("all_reduce"))

    def test_every_algorithm_runs_on_arrays(self) -> None:
        inputs = [np.arange(12, dtype=np.float64) + rank for rank in range(4)]
        for algorithm in ronde.algorithms("all_reduce"):
            try:
                schedule = ronde.compile("all_reduce", algorithm, ranks=4)
            except ronde.RondeError as reason:
                self.assertEqual(reason.status, "unsupported")
                continue
            for output in schedule.run(inputs):
                np.testing.assert_array_equal(output, sum(inputs))
        gathered = ronde.compile("all_gather", "ring", ranks=4).run(inputs)
        np.testing.assert_array_equal(gathered[2], np.concatenate(inputs))
        outputs = ronde.compile("reduce", "binomial", ranks=4).run(inputs, op="max")
        np.testing.assert_array_equal(outputs[0], inputs[3])
        self.assertIsNone(outputs[1])
        copies = [array.copy() for array in inputs]
        ronde.compile("all_reduce", "ring", ranks=4).run(copies, copies)
        np.testing.assert_array_equal(copies[1], sum(inputs))
        with self.assertRaisesRegex(ronde.BadArgumentError, "3 inputs"):
            ronde.compile("all_reduce", "ring", ranks=4).run(inputs[:3], inputs)

    def test_times_are_those_of_the_command(self) -> None:
        topology = ronde.Topology.read("fat-tree-2to1-64")
        for algorithm in ("ring", "tree"):
            schedule = ronde.compile("all_reduce", algorithm, ranks=16)
            arguments = ("all_reduce", "-a", algorithm, "-N", 16, "-b", "64K", "-e", "1M", "-f", 16, "--topo", "fat-tree-2to1-64")
            for engine, records in (("auto", ronde.simulate(schedule, topology, ["64K", "1M"])),
                                    ("price", ronde.price(schedule, topology, ["64K", "1M"]))):
                expected = said("sim", *arguments, "--engine", engine)
                self.assertEqual([r["time_ns"] for r in records], [r["time_ns"] for r in expected])
                self.assertEqual([r["engine"] for r in records], [r["engine"] for r in expected])
                # ronde.bound says the bound itself, and a price knows no links.
                links = {"busiest_link", "busiest_utilisation"} if engine == "price" else set()
                self.assertEqual(set(expected[0]) - set(records[0]), {"bound_share"} | links)

    def test_machines_are_generated_and_planned_for(self) -> None:
        topology = ronde.Topology.generate("dgx-h100", nodes=4)
        self.assertEqual(topology.hosts, 32)
        self.assertIn("<platform", topology.xml)
        self.assertIn("dgx-h100", ronde.kinds())
        by_numbers = ronde.Topology.generate("dgx", gpus=16, nvlink="900GB/s", nics="16x800Gbps", nodes=2)
        self.assertEqual(by_numbers.hosts, 32)
        self.assertIn("900 GB/s into NVSwitch; 100 GB/s NICs", by_numbers.xml)
        with self.assertRaisesRegex(ronde.RondeError, "8x50GBps"):
            ronde.Topology.generate("dgx", nics="8")
        plan = ronde.plan("all_reduce", topology, ["1K", "64M"])
        self.assertEqual([row["bytes"] for row in plan], [1024, 64 << 20])
        with self.assertRaisesRegex(ronde.BadArgumentError, "dgx"):
            ronde.Topology.generate("dgx-h1000")
        with self.assertRaisesRegex(ronde.RondeError, "no-such"):
            ronde.Topology.read("no-such")
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(topology.xml)
            file.flush()
            self.assertEqual(ronde.Topology.read(file.name).hosts, 32)
        with self.assertRaisesRegex(ronde.RondeError, "33"):
            ronde.simulate(ronde.compile("all_reduce", "ring", ranks=33), topology, "1M")

    def test_switches_may_copy_and_add(self) -> None:
        schedule = ronde.compile("all_reduce", "hierarchical_direct_tree", ranks=8)
        sizes = ["256M"]
        makers = [lambda **words: ronde.Topology.generate("dgx-h100", nodes=1, **words),
                  lambda **words: ronde.Topology.from_description("H100-NVSwitch-slice", **words)]
        for make in makers:
            plain, copying = (next(iter(ronde.simulate(schedule, make(**words), sizes, slot="1M")))["time_ns"]
                              for words in ({}, {"multicast": True}))
            self.assertLess(copying, 0.75 * plain)
        with self.assertRaisesRegex(ronde.RondeError, "no switch copies or adds"):
            ronde.Topology.generate("mi300x", multicast=True)

    def test_a_machine_stays_when_a_forked_process_ends(self) -> None:
        machine = ronde.Topology.generate("dgx-h100", nodes=2)
        child = os.fork()
        if child == 0:
            del machine
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(pathlib.Path(machine.file).is_file())
        folder = pathlib.Path(machine.file).parent
        del machine
        self.assertFalse(folder.exists())

    def test_described_machines_are_in_the_package(self) -> None:
        cluster = ronde.Topology.from_description("H100-cluster01", nodes=2, fabric="rail")
        self.assertEqual((cluster.hosts, cluster.name), (16, "H100-cluster01-x2"))
        ring = ronde.compile("all_gather", "ring", ranks=16, channels=8)
        self.assertGreater(next(iter(ronde.simulate(ring, cluster, ["1G"])))["time_ns"], 1e6)
        with self.assertRaisesRegex(ronde.BadArgumentError, "no NIC"):
            ronde.Topology.from_description("B300-8", nodes=2)
        # Not those of the sources, which may be gone when the package is used.
        data = pathlib.Path(ronde.__file__).parent / "share" / "ronde"
        self.assertTrue((data / "machines" / "H100-cluster01.txt").is_file())
        self.assertTrue((data / "nccl" / "common.txt").is_file())

    def test_plans_are_those_of_the_command(self) -> None:
        rows = ronde.plan("all_reduce", ronde.Topology.read("fat-tree-2to1-64"), ["1K", "1M"], ranks=16)
        expected = said("plan", "all_reduce", "-N", 16, "--topo", "fat-tree-2to1-64", "-b", "1K", "-e", "1M", "-f", 1024)
        for row, other in zip(rows, [line for line in expected if line["kind"] == "plan"]):
            self.assertEqual(row, {key: other[key] for key in row})

    def test_a_plan_weighs_what_is_made_for_the_machine(self) -> None:
        machine = ronde.Topology.generate("dgx-h100", nodes=2)
        unasked, none, every = (ronde.plan("all_gather", machine, "1M", synthesize=asked)[0] for asked in (None, False, True))
        self.assertTrue(unasked["algorithm"].startswith("forest_"))
        self.assertEqual(unasked["runner_up"], none["algorithm"])
        self.assertIn("--synthesize", every["options"])
        self.assertLessEqual(every["time_ns"], unasked["time_ns"])

    def test_algorithms_of_ones_own_are_proved(self) -> None:
        def star(ranks: int) -> object:
            yield ronde.copy(0, ronde.IN[0], ronde.OUT[0])
            for child in range(1, ranks):
                yield ronde.transfer(0, child, ronde.IN[0], ronde.OUT[0])

        def forgets(ranks: int) -> object:
            yield from list(star(ranks))[1:]

        def swaps(ranks: int) -> object:
            # In place the input is gone once the output is written: what comes waits in scratch.
            yield [ronde.transfer(a, 1 - a, ronde.IN[0], ronde.SCRATCH[0]) for a in range(ranks)]
            for a in range(ranks):
                yield ronde.copy(a, ronde.IN[0], ronde.OUT[0])
                yield ronde.reduce(a, ronde.SCRATCH[0], ronde.OUT[0])

        schedule = ronde.build("broadcast", star, ranks=8)
        self.assertEqual((schedule.algorithm, schedule.proof.messages), ("star", 7))
        outputs = schedule.run([np.arange(5.0)] + [None] * 7)
        self.assertTrue(all((output == np.arange(5.0)).all() for output in outputs))
        with self.assertRaisesRegex(ronde.RondeError, "rank 0"):
            ronde.build("broadcast", forgets, ranks=8)
        both = ronde.build("all_reduce", swaps, ranks=2, scratch=1).run([np.ones(3), np.full(3, 2.0)])
        self.assertEqual([output.tolist() for output in both], [[3.0] * 3] * 2)
        record = ronde.simulate(schedule, ronde.Topology.read("crossbar-64"), "1M")[0]
        self.assertEqual((record["algorithm"], record["bytes"]), ("star", 1 << 20))

    def test_sweeps_run_on_executors_and_go_on(self) -> None:
        topology = ronde.Topology.generate("dgx-h100", nodes=2)
        grid = {"ranks": [8, 16], "algorithms": ["ring", "double_tree"], "sizes": ["1K", "1M"]}
        alone = ronde.sweep("all_reduce", topology, **grid)
        self.assertEqual([(r["ranks"], r["algorithm"], r["bytes"]) for r in alone],
                         [(n, a, b) for n in (8, 16) for a in ("ring", "double_tree") for b in (1024, 1 << 20)])
        self.assertIsNone(alone[0]["topology"])
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
            self.assertEqual(ronde.sweep("all_reduce", topology, executor=executor, **grid), alone)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "records.jsonl")
            file.write_text("".join(json.dumps(record) + "\n" for record in alone[:5]) + '{"kind": "simul')
            self.assertEqual(ronde.sweep("all_reduce", topology, records=file, **grid), alone)
            self.assertEqual(len(file.read_text().splitlines()), len(alone))

    def test_the_example_prints_what_the_tour_shows(self) -> None:
        done = subprocess.run([sys.executable, str(ROOT / "docs/examples/predict.py")], capture_output=True, text=True,
                              check=True, timeout=120)
        shown = (ROOT / "docs/guide/tour.md").read_text(encoding="utf-8").split("$ python docs/examples/predict.py\n")[1].split("$ ")[0]
        self.assertEqual(done.stdout, shown)


if __name__ == "__main__":
    unittest.main()
