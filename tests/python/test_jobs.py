"""What the command does for a job, from Python: scenarios, placements, workloads, traces, files of other tools."""
from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable

import ronde

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/examples"


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = ronde.Topology.read("crossbar-64")
        cls.ring = ronde.compile("all_reduce", "ring", ranks=16)

    def test_the_parts_of_a_time_are_its_whole(self) -> None:
        plain, why = ronde.simulate(self.ring, self.machine, "4M")[0], ronde.why(self.ring, self.machine, "4M")[0]
        self.assertEqual(set(plain) - set(why), set())
        self.assertEqual(why["time_ns"], plain["time_ns"])
        self.assertAlmostEqual(sum(value for key, value in why.items() if key.endswith("_fraction")), 1)
        self.assertTrue(why["bottleneck"].startswith("bandwidth, 84%"), why["bottleneck"])

    def test_a_scenario_slows_what_it_should(self) -> None:
        half = ronde.Scenario(degrade={"hosts_link_3": 0.5})
        alone = ronde.simulate(self.ring, self.machine, "4M")[0]["time_ns"]
        record = ronde.simulate(self.ring, self.machine, "4M", scenario=half, op="max")[0]
        self.assertEqual((record["alone_ns"], record["op"], record["topology"]), (alone, "max", self.machine.path))
        self.assertGreater(record["slowdown"], 1.6)
        chain = ronde.compile("broadcast", "chain", ranks=4)
        for record in (ronde.simulate(chain, self.machine, "4M")[0], ronde.simulate(chain, self.machine, "4M", scenario=half)[0]):
            self.assertIsNone(record["op"])
        many = ronde.Scenario(others=[(chain, "16M", range(4))], background=[(0, 9, "1M")], late_ns={1: 1e4}, slow={2: 1.5})
        self.assertEqual(len(ronde.simulate(self.ring, self.machine, "4M", scenario=many)[0]["parts"]), 3)
        self.assertIn("<svg", ronde.timeline(self.ring, self.machine, "4M", scenario=half).svg)

    def test_placement_matters_where_uplinks_are_few(self) -> None:
        tree = ronde.Topology.read("fat-tree-2to1-64")
        ring = ronde.compile("all_reduce", "ring", ranks=64)
        packed, scattered = (ronde.simulate(ring, tree, "64M", placement=name)[0]["time_ns"] for name in ("packed", "scattered"))
        self.assertGreater(scattered, 1.5 * packed)

    def test_what_is_converted_comes_back(self) -> None:
        ring = ronde.compile("all_reduce", "ring", ranks=4)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ring.xml", "ring.json"):
                path = pathlib.Path(folder, name)
                self.assertIsNone(ronde.convert(ring, path))
                back = ronde.Schedule.read(ronde.convert(path, to="ronde") or "")
                self.assertEqual((back.collective, back.ranks), ("all_reduce", 4))
            self.assertEqual(ronde.Schedule.read(ronde.convert(ring, to="ronde") or "").hash, ring.hash)
            ronde.convert(ring, pathlib.Path(folder, "step.et"), size="1M")
            self.assertEqual(len(list(pathlib.Path(folder).glob("step.*.et"))), 4)

    def test_a_step_is_made_and_replayed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "step.workload")
            ronde.gpt(path, model="7b", layers=4, tp=8, dp=2)
            step = ronde.workload(path, "dgx-h100-pod")
            self.assertEqual({call["groups"] for call in step.calls}, {"tp", "dp"})
            self.assertTrue(0 < step.exposed_ns < step.time_ns)
            by_nccl = ronde.workload(path, "H100-cluster01", nccl=True)
            self.assertNotEqual(by_nccl.time_ns, step.time_ns)

    def test_traces_of_a_job_are_explained(self) -> None:
        calls = ronde.explain(EXAMPLES / "dlrm-v100x8")
        self.assertEqual({call["collective"] for call in calls}, {"all_reduce", "all_to_all"})
        self.assertTrue(all(call["expected_us"] is None for call in calls))
        self.assertTrue(any(call["expected_us"] for call in ronde.explain(EXAMPLES / "dlrm-v100x8", machine="ABCI-V100")))

    def test_messages_name_arguments_and_classes_are_their_kinds(self) -> None:
        refused: tuple[tuple[type[BaseException], str, Callable[[], Any]], ...] = (
            (ValueError, '^placement: unknown "foo"', lambda: ronde.simulate(self.ring, self.machine, "4M", placement="foo")),
            (ValueError, "^late_ns or slow: rank 99 of 16 ranks",
             lambda: ronde.simulate(self.ring, self.machine, "4M", scenario=ronde.Scenario(late_ns={99: 5}))),
            (ValueError, "^nowhere: neither a file", lambda: ronde.nccl("all_reduce", "nowhere", "1M", ranks=8)),
            (ValueError, "expected 'ronde 1'", lambda: ronde.Schedule.read("x")),
            (TypeError, "scenario: expected a ronde.Scenario", lambda: ronde.why(self.ring, self.machine, "4M", scenario=4)),
            (TypeError, "degrade: expected a number",
             lambda: ronde.why(self.ring, self.machine, "4M", scenario=ronde.Scenario(degrade={"x": "half"}))),
            (ronde.RondeError, "^shape 3 x 3 is not that", lambda: ronde.compile("all_reduce", "hierarchical", 8, shape=(3, 3))))
        for kind, text, call in refused:
            with self.assertRaisesRegex(kind, text) as caught:
                call()
            self.assertNotRegex(str(caught.exception), "--[a-z]")
        with self.assertRaisesRegex(ronde.UnavailableError, "CUDA|driver"):
            ronde.validate("all_reduce", self.machine, "1K", algorithms="ring", ranks=2, backend="cuda")

    def test_an_example_without_arguments_says_what_it_wants(self) -> None:
        said = subprocess.run([sys.executable, str(EXAMPLES / "sweep.py")], capture_output=True, text=True)
        self.assertNotEqual(said.returncode, 0)
        self.assertRegex(said.stderr, "^usage: sweep.py FILE SHARE SHARES")


if __name__ == "__main__":
    unittest.main()
