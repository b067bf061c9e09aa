"""The model of NCCL and logs of nccl-tests from Python: what the command says."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ronde

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(sys.executable).parent / "ronde"
LOG = ROOT / "docs/examples/nccl-tests.log"

MINE = """name mine
gpu NVIDIA H100 80GB HBM3
inside NVLink4 NVSwitch 8 GPU
between 8x400Gb/s NDR
"""


class NcclTest(unittest.TestCase):
    def test_times_are_those_of_the_command(self) -> None:
        said = subprocess.run([COMMAND, "sim", "all_reduce", "--style", "nccl", "-N", "16,64", "-b", "1M", "-e", "1G", "-f", "1024",
                               "--topo", "H100-cluster01", "--json"], capture_output=True, text=True, check=True, timeout=60)
        records = ronde.nccl("all_reduce", "H100-cluster01", ["1M", "1G"], ranks=[16, 64])
        self.assertEqual([{key: record[key] for key in record if key not in ("engine", "time_ns")} for record in records],
                         [json.loads(line) for line in said.stdout.splitlines()])
        self.assertAlmostEqual(records[0]["time_ns"], records[0]["time_us"] * 1e3)
        self.assertEqual(ronde.nccl("all_reduce", "H100-cluster01", "1M", ranks=16, nodes=4)[0]["nodes"], 4)

    def test_machines_are_described_or_platforms(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "mine.txt")
            path.write_text(MINE, encoding="utf-8")
            mine = ronde.nccl("all_reduce", path, "1G", ranks=8)
            self.assertEqual(mine[0]["machine"], "mine")
            path.write_text(MINE.replace("H100", "K80"), encoding="utf-8")
            with self.assertRaisesRegex(ronde.BadArgumentError, "mine.txt:2: gpu: .*is no GPU"):
                ronde.nccl("all_reduce", path, "1G", ranks=8)
        platform = ronde.nccl("all_reduce", ronde.Topology.generate("dgx-h100", nodes=2), "1G", ranks=16)
        self.assertEqual(platform[0]["nodes"], 2)
        for text, arguments in (("no-such", ("all_reduce", "no-such", "1M")), ("--help", ("--help", "H100-cluster01", "1M"))):
            with self.assertRaisesRegex(ronde.BadArgumentError, text):
                ronde.nccl(*arguments, ranks=8)

    def test_nccls_choices_are_one_line(self) -> None:
        records = ronde.nccl("all_reduce", "H100-cluster01", ["1K", "1M", "1G"], ranks=16)
        self.assertEqual((len({record["algorithm"] for record in records}), set(records._names())), (2, {"NCCL"}))

    def test_a_log_is_judged(self) -> None:
        found = ronde.doctor(LOG, "H100-cluster01")
        self.assertTrue(found.is_wrong)
        self.assertEqual((found.causes[0]["cause"], found.ranges[0]["is_short"]), ("nvlink_half", False))
        self.assertIn("wrong, likely: half of the NVLinks", repr(found))
        rows = "".join(f"{record['bytes']} {record['bytes'] // 4} float sum -1 {record['time_us']:.2f} "
                       f"{record['algbw_GBps']:.2f} {record['busbw_GBps']:.2f} 0\n"
                       for record in ronde.nccl("all_reduce", "H100-cluster01", [1 << size for size in range(12, 33)], ranks=8))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "healthy.log")
            path.write_text(rows, encoding="utf-8")
            found = ronde.doctor(path, "H100-cluster01", collective="all_reduce", ranks=8)
            self.assertEqual((found.is_wrong, repr(found)), (False, "<ronde.Diagnosis: fine>"))
            with self.assertRaisesRegex(ronde.BadArgumentError, "no row"):
                path.write_text("nothing", encoding="utf-8")
                ronde.doctor(path, "H100-cluster01")


if __name__ == "__main__":
    unittest.main()
