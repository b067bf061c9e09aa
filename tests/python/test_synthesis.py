"""Bounds and synthesised schedules."""
from __future__ import annotations

import pathlib
import unittest

import ronde

ROOT = pathlib.Path(__file__).resolve().parents[2]


class SynthesisTest(unittest.TestCase):
    def setUp(self) -> None:
        self.machine = ronde.Topology.read(str(ROOT / "docs" / "examples" / "pod-dead-nic.xml"))

    def test_a_bound_has_its_cut(self) -> None:
        bound = ronde.bound(self.machine, "all_gather")
        self.assertAlmostEqual(bound.GBps, 200)
        self.assertIn("n2g0 .. n2g3", bound.cut)
        self.assertAlmostEqual(bound.ns("1G"), (1 << 30) / 200)

    def test_a_schedule_is_made_for_the_machine(self) -> None:
        forest = ronde.synthesize(self.machine, "all_gather")
        self.assertAlmostEqual(forest.GBps, 200)
        self.assertEqual(forest.ranks, 16)
        self.assertTrue(forest.proof.exact)
        self.assertGreater(ronde.simulate(forest, self.machine, "1G")[0]["algbw_GBps"], 190)
        self.assertIn("all_gather on 16 ranks", repr(forest))
        self.assertEqual(ronde.Schedule.read(forest.text).hash, forest.hash)

    def test_its_trees_are_drawn(self) -> None:
        svg = ronde.synthesize(self.machine, "all_gather")._repr_svg_()
        self.assertTrue(svg is not None and "n3g3" in svg)
        self.assertIsNone(ronde.synthesize(self.machine, "all_reduce")._repr_svg_())

    def test_a_size_wants_other_trees(self) -> None:
        small = ronde.synthesize(self.machine, "all_gather", size="1K")
        self.assertLessEqual(small.height, ronde.synthesize(self.machine, "all_gather").height)

    def test_what_has_no_trees_is_refused(self) -> None:
        with self.assertRaisesRegex(ronde.RondeError, "not made of trees"):
            ronde.synthesize(self.machine, "all_to_all")


if __name__ == "__main__":
    unittest.main()
