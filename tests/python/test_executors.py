"""Sweeps on what runs them elsewhere: the same records as here, also where an earlier run left some."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import ronde

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRID = {"ranks": [8, 16], "algorithms": ["ring", "double_tree"], "sizes": ["1K", "1M"]}

# Sweeps on an executor that `{make}` makes, and says how many workers it has had. The records of an earlier run are in the
# file of the first argument.
SCRIPT = """
import os, sys
import ronde

if __name__ == "__main__":
    machine = ronde.Topology.generate("dgx-h100", nodes=2)
    {make}
        records = ronde.sweep("all_reduce", machine, records=sys.argv[1], executor=executor, ranks=[8, 16],
                              algorithms=["ring", "double_tree"], sizes=["1K", "1M"])
        print("workers", {workers})
"""
DASK = SCRIPT.format(make="""from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = client.get_executor()""", workers="len(cluster.workers)")
MPI = SCRIPT.format(make="""from mpi4py.futures import MPIPoolExecutor
    with MPIPoolExecutor() as executor:""", workers="executor.num_workers")


def mpi_launcher() -> list[str]:
    """What starts ranks of the MPI that mpi4py has found; raises SkipTest where there is none."""
    if importlib.util.find_spec("mpi4py") is None:
        raise unittest.SkipTest("no mpi4py in build/venv: ./dev python installs it")
    done = subprocess.run([sys.executable, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
                          capture_output=True, text=True)
    if done.returncode:
        raise unittest.SkipTest("mpi4py finds no MPI library here (apt: openmpi-bin)")
    is_open = done.stdout.startswith("Open MPI")
    program = shutil.which("mpirun.openmpi" if is_open else "mpirun.mpich") or shutil.which("mpirun")
    if program is None:
        raise unittest.SkipTest(f"no mpirun here (apt: {'openmpi-bin' if is_open else 'mpich'})")
    return [program, *(["--allow-run-as-root", "--oversubscribe"] if is_open else [])]


class ExecutorsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.records = pathlib.Path(self.folder.name, "records.jsonl")

    def check(self, script: str, *command: str) -> None:
        """Runs a script that sweeps; what it leaves in the file is what a sweep here finds."""
        machine = ronde.Topology.generate("dgx-h100", nodes=2)
        alone = ronde.sweep("all_reduce", machine, **GRID)
        program = pathlib.Path(self.folder.name, "sweeps.py")
        program.write_text(script, encoding="utf-8")
        # Of three tasks nothing is left, of the other one half.
        self.records.write_text(json.dumps(alone[0]) + "\n" + json.dumps(alone[1])[:40], encoding="utf-8")
        done = subprocess.run([*command, str(program), str(self.records)], capture_output=True, text=True, timeout=240,
                              cwd=self.folder.name)
        self.assertEqual((done.stdout.splitlines()[-1:], done.returncode), (["workers 2"], 0), done.stderr)
        stored = [json.loads(line) for line in self.records.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(stored), len(alone))
        self.assertEqual(ronde.sweep("all_reduce", machine, records=self.records, **GRID), alone)

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "no dask.distributed in build/venv: ./dev python installs it")
    def test_dask(self) -> None:
        self.check(DASK, sys.executable)

    def test_mpi4py(self) -> None:
        self.check(MPI, *mpi_launcher(), "-n", "3", sys.executable, "-m", "mpi4py.futures")

    def test_shares_are_the_whole(self) -> None:
        machine = ronde.Topology.generate("dgx-h100", nodes=2)
        for share in range(3):
            ronde.sweep("all_reduce", machine, records=f"{self.records}{share}", shard=(share, 3), **GRID)
        parts = [pathlib.Path(f"{self.records}{share}").read_text(encoding="utf-8") for share in range(3)]
        self.assertTrue(all(parts))
        self.records.write_text("".join(parts), encoding="utf-8")
        whole = ronde.sweep("all_reduce", machine, **GRID)
        self.assertEqual(ronde.sweep("all_reduce", machine, records=self.records, **GRID), whole)
        self.assertEqual(self.records.read_text(encoding="utf-8"), "".join(parts))
        with self.assertRaisesRegex(ronde.BadArgumentError, r"shard \(3, 3\): expected which of how many"):
            ronde.sweep("all_reduce", machine, shard=(3, 3), **GRID)

    def test_a_file_may_hold_other_sweeps(self) -> None:
        grid = {**GRID, "ranks": [8]}
        machines = [ronde.Topology.generate("dgx-h100", nodes=1), ronde.Topology.read("crossbar-64")]
        alone = [ronde.sweep("all_reduce", machine, **grid) for machine in machines]
        for _ in range(2):
            for machine, records in zip(machines, alone):
                self.assertEqual(ronde.sweep("all_reduce", machine, records=self.records, **grid), records)
        self.records.write_text("my notes\n", encoding="utf-8")
        with self.assertRaisesRegex(ronde.BadArgumentError, "records.jsonl:1: no record"):
            ronde.sweep("all_reduce", machines[0], records=self.records, **grid)
        self.assertEqual(self.records.read_text(encoding="utf-8"), "my notes\n")

    def test_a_slurm_array(self) -> None:
        environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"}
        done = subprocess.run([str(ROOT / "tests/launch/with-slurm"), f"{self.folder.name}/slurm", "bash", "-c",
                               f"sed 's:docs/:{ROOT}/docs/:' {ROOT}/docs/examples/sweep.sbatch >array && "
                               "sbatch --wait --output=%a.log array"],
                              capture_output=True, text=True, timeout=240, cwd=self.folder.name, env=environment)
        if done.returncode == 77:
            raise unittest.SkipTest(done.stdout.strip())
        logs = [pathlib.Path(self.folder.name, f"{share}.log").read_text(encoding="utf-8") for share in range(4)]
        self.assertEqual(logs, [f"share {share} of 4: {count} results in sweep-{share}.jsonl\n"
                                for share, count in enumerate((6, 6, 3, 3))], done.stderr)


if __name__ == "__main__":
    unittest.main()
