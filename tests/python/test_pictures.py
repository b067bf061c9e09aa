"""What people look at: pictures of machines and replays, plots and frames of results, measurements beside predictions."""
from __future__ import annotations

import importlib.util
import pathlib
import tempfile
import unittest
from xml.etree import ElementTree

import ronde

ROOT = pathlib.Path(__file__).resolve().parents[2]


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


class PicturesTest(unittest.TestCase):
    def texts(self, svg: str) -> set[str]:
        """What a picture says."""
        return {text.strip() for text in ElementTree.fromstring(svg).itertext() if text.strip()}

    def test_machines_are_drawn_as_the_command_does(self) -> None:
        machine = ronde.Topology.generate("dgx-h100", nodes=2)
        self.assertTrue(any("dgx-h100-16" in text for text in self.texts(machine._repr_svg_())))
        self.assertEqual(machine.svg, machine._repr_svg_())

    def test_replays_are_drawn_as_the_command_does(self) -> None:
        ring = ronde.compile("all_reduce", "ring", ranks=4)
        machine = ronde.Topology.read("crossbar-64")
        timeline = ronde.timeline(ring, machine, "1M")
        said = self.texts(timeline._repr_svg_())
        self.assertIn("When does which rank do what in all_reduce ring, 4 ranks on crossbar-64, 1 MiB?", said)
        self.assertEqual(timeline.record["time_ns"], ronde.simulate(ring, machine, "1M")[0]["time_ns"])
        self.assertIn("ring on crossbar-64", repr(timeline))
        with self.assertRaisesRegex(ronde.BadArgumentError, "engine"):
            ronde.timeline(ring, machine, "1M", engine="nonsense")

    def test_links_can_be_lost(self) -> None:
        machine = ronde.Topology.generate("dgx-h100", nodes=4)
        lost = machine.without("n0g0_c")
        self.assertEqual((lost.hosts, lost.name), (32, "dgx-h100-32-without-n0g0_c"))
        schedule = ronde.compile("all_reduce", "hierarchical", ranks=32, shape=(4, 8))
        whole, less = (ronde.simulate(schedule, of, "1G")[0]["time_ns"] for of in (machine, lost))
        # Eight NICs a node are used, and one of them by two GPUs now.
        self.assertGreater(less, 1.3 * whole)
        with self.assertRaisesRegex(ronde.BadArgumentError, "n0g9_c"):
            machine.without("n0g9_c")
        for collective in ("all_reduce", "all_to_all"):
            best = ronde.plan(collective, lost, "16M", ranks=32)[0]["time_ns"]
            self.assertGreaterEqual(best, ronde.bound(lost, collective, ranks=32).ns("16M") * (1 - 1e-9))
        again = lost.without("n3g*")
        self.assertEqual((again.hosts, ronde.timeline(ronde.compile("all_reduce", "ring", ranks=24), again, "1M").record["ranks"]), (24, 24))
        self.assertGreater(ronde.nccl("all_reduce", lost, "1G", ranks=32)[0]["time_us"],
                           1.3 * ronde.nccl("all_reduce", machine, "1G", ranks=32)[0]["time_us"])
        with self.assertRaisesRegex(ronde.RondeError, "no way is left"):
            full = ronde.Topology.from_xml(FULL)
            ronde.simulate(ronde.compile("all_reduce", "ring", ranks=2), full.without("wire"), "1M")

    @unittest.skipUnless(has("pandas"), "no pandas in build/venv: ./dev python installs it")
    def test_results_are_frames(self) -> None:
        machine = ronde.Topology.read("fat-tree-2to1-64")
        ring = ronde.compile("all_reduce", "ring", ranks=16)
        grid = ronde.sweep("all_reduce", machine, ranks=[16], algorithms=["ring"], sizes=["1K", "1M"])
        for records in (ronde.simulate(ring, machine, ["1K", "1M"]), ronde.price(ring, machine, ["1K", "1M"]), grid,
                        ronde.plan("all_reduce", machine, ["1K", "1M"], ranks=16)):
            frame = records.frame()
            self.assertEqual(list(frame["time_ns"]), [record["time_ns"] for record in records])
            self.assertEqual(set(frame["bytes"]), {1024, 1 << 20})

    @unittest.skipUnless(has("matplotlib"), "no matplotlib in build/venv: ./dev python installs it")
    def test_results_are_plotted(self) -> None:
        import matplotlib
        matplotlib.use("Agg")
        machine = ronde.Topology.read("fat-tree-2to1-64")
        ring = ronde.compile("all_reduce", "ring", ranks=16)
        grid = ronde.sweep("all_reduce", machine, ranks=[8, 16], algorithms=["ring", "tree"], sizes=["1K", "1M"])
        for records, lines in ((ronde.simulate(ring, machine, ["1K", "1M"]), ["ring"]),
                               (ronde.price(ring, machine, ["1K", "1M"]), ["ring, by closed_form", "ring, by dag"]),
                               (grid, ["ring, 8 ranks", "tree, 8 ranks", "ring, 16 ranks", "tree, 16 ranks"])):
            axes = records.plot()
            self.assertEqual([line.get_label() for line in axes.get_lines()], lines)
            self.assertEqual(list(axes.get_lines()[0].get_xdata()), [1024, 1 << 20])
            self.assertEqual(axes.get_lines()[0].get_ydata()[0], records[0]["time_ns"] / 1e3)
            self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("size in bytes", "time in us"))
        self.assertIs(grid.plot(y="busbw_GBps", axes=axes), axes)
        with tempfile.TemporaryDirectory() as folder:
            axes.figure.savefig(pathlib.Path(folder, "sweep.svg"))
            self.assertIn("64K", (pathlib.Path(folder, "sweep.svg")).read_text(encoding="utf-8"))

    def test_measurements_stand_beside_predictions(self) -> None:
        machine = ronde.Topology.read(ROOT / "docs/results/cpu-validate.xml")
        records = ronde.validate("all_reduce", machine, ["1K", "64K"], algorithms=["ring", "tree"], ranks=[2], iters=3)
        expected = [(size, algorithm, kind, engine) for size in (1024, 65536) for algorithm in ("ring", "tree")
                    for kind, engine in (("measured", "cpu"), ("simulated", "cores"), ("simulated", "simgrid"),
                                         ("modelled", "closed_form"))]
        self.assertEqual([(r["bytes"], r["algorithm"], r["kind"], r["engine"]) for r in records], expected)
        self.assertTrue(all(record["time_ns"] > 0 for record in records))
        self.assertEqual({record["wrong"] for record in records if record["kind"] == "measured"}, {0})
        self.assertEqual(records._names()[:2], ["ring, measured on cpu", "ring, by cores"])
        with self.assertRaisesRegex(ronde.BadArgumentError, "did you mean ring"):
            ronde.validate("all_reduce", machine, "1K", algorithms=["rnig"], ranks=[2])


# Two hosts whose one route is written down: a link that is lost leaves none.
FULL = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="pair" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="wire" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="wire"/></route></zone></platform>
"""


if __name__ == "__main__":
    unittest.main()
