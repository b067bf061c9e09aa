"""Scripts that know nothing of ronde, and what they print."""
from __future__ import annotations

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = HERE.parents[2] / "shared" / "torch" / "seeds-scripts"
QUIET = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "TORCH_CPP_LOG_LEVEL": "FATAL"}


def a_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def said(*command: object, folder: pathlib.Path = HERE, **environment: str) -> str:
    """What a command prints on its standard output; it must end well and complain of nothing."""
    with tempfile.TemporaryFile("w+") as errors:
        done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **QUIET, **environment},
                              stdout=subprocess.PIPE, stderr=errors, text=True, timeout=180, check=False)
        errors.seek(0)
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{errors.read()}"
        return done.stdout


def spawned(ending: str, *before: object, **environment: str) -> list[str]:
    return said(sys.executable, *before, HERE / "scripts" / "spawned.py", 2, a_port(), ending, **environment).splitlines()


class ScriptsTest(unittest.TestCase):
    def test_a_script_that_says_gloo_runs_on_ronde_in_spawned_processes(self) -> None:
        expected = "sum 3.0 gathered [0.0, 1.0] gloo"
        self.assertEqual(spawned("destroys"), [expected, "is ProcessGroup"])
        self.assertEqual(spawned("destroys", "-m", "ronde.torch", "--as", "gloo"), [expected, "is RondeGroup"])
        self.assertEqual(spawned("destroys", RONDE_TORCH_AS="gloo,nccl"), [expected, "is RondeGroup"])

    def test_a_script_that_never_destroys_its_group_ends(self) -> None:
        # Exiting with an operation's thread alive went wrong in one exit of many: RONDE_TEST_EXITS asks for more.
        for _ in range(int(os.environ.get("RONDE_TEST_EXITS", "3"))):
            self.assertEqual(spawned("leaves", "-m", "ronde.torch", "--as", "gloo")[1], "is RondeGroup")

    def test_torchrun_starts_ranks_by_the_name_ronde(self) -> None:
        run = ("-m", "torch.distributed.run", "--nproc-per-node", 4, "--master-port", a_port())
        lines = sorted(said(sys.executable, *run, HERE / "scripts" / "started.py", "ronde").splitlines())
        self.assertEqual(lines, [f"rank {rank} of 4: [4.0, 4.0, 4.0] RondeGroup" for rank in range(4)])

    def test_torchrun_inherits_whose_place_is_taken(self) -> None:
        run = ("-m", "ronde.torch", "--as", "gloo", "-m", "torch.distributed.run", "--nproc-per-node", 2)
        lines = said(sys.executable, *run, "--master-port", a_port(), HERE / "scripts" / "started.py", "gloo").splitlines()
        self.assertEqual(sorted(lines), [f"rank {rank} of 2: [2.0, 2.0] RondeGroup".replace("[2.0, 2.0]", "[2.0, 2.0, 2.0]")
                                         for rank in range(2)])

    def test_a_name_that_is_no_backend_is_refused(self) -> None:
        done = subprocess.run([sys.executable, "-m", "ronde.torch", "--as", "glue", "x.py"], capture_output=True, text=True,
                              env={**os.environ, **QUIET}, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'glue' is none of gloo, nccl, mpi, ucc", done.stderr)


# The seeds' scripts: file, arguments before it (a driver for those without a main), arguments after it.
SEEDS_SCRIPTS = (
    ("000_collective_cheatsheet", (), ()),
    ("002_functions", ("drive.py",), (4,)),
    ("003_repaired", (), ()),
    ("004_do_all_gather", (), ()), ("004_do_all_reduce", (), ()), ("004_do_broadcast", (), ()), ("004_do_gather", (), ()),
    ("004_do_reduce", (), ()), ("004_do_scatter", (), ()), ("004_hello_world", (), ()),
)


if __name__ == "__main__":
    unittest.main()
