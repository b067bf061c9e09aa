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
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = HERE.parents[2] / "shared" / "torch" / "seeds-scripts"
QUIET = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "TORCH_CPP_LOG_LEVEL": "FATAL"}


# What scripts/spawned.py prints on two ranks; with gloo the last line is "is ProcessGroup".
PRINTED = ["sum 3.0 gathered [0.0, 1.0] gloo", "is RondeGroup"]


# Of scripts/exits.py.
WAYS = ("leaves", "leaves_groups", "leaves_pending", "leaves_a_model", "leaves_a_thread", "leaves_by_exit")


def a_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def said(*command: object, folder: pathlib.Path = HERE, limit_s: int = 180, **environment: str) -> str:
    """What a command prints on its standard output; it must end well and complain of nothing."""
    with tempfile.TemporaryFile("w+") as errors:
        done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **QUIET, **environment},
                              stdout=subprocess.PIPE, stderr=errors, text=True, timeout=limit_s, check=False)
        errors.seek(0)
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{errors.read()}"
        return done.stdout


def spawned(ending: str, *before: object, **environment: str) -> list[str]:
    return said(sys.executable, *before, HERE / "scripts" / "spawned.py", 2, a_port(), ending, **environment).splitlines()


OLD = HERE.parents[1] / "build" / "venv113" / "bin" / "python"


class ScriptsTest(unittest.TestCase):
    def test_a_script_that_says_gloo_runs_on_ronde_in_spawned_processes(self) -> None:
        self.assertEqual(spawned("destroys", "-m", "ronde.torch", "--as", "gloo"), PRINTED)

    @unittest.skipUnless(OLD.exists(), "no torch 1.13 here: ./dev python old installs it")
    def test_the_same_with_torch_1_13(self) -> None:
        script = HERE / "scripts" / "spawned.py"
        lines = said(OLD, "-m", "ronde.torch", "--as", "gloo", script, 2, a_port(), "destroys").splitlines()
        self.assertEqual(lines, PRINTED)

    def asked_by_cpp(self, python: object) -> None:
        lines = said(python, HERE / "scripts" / "asked_by_cpp.py", 2, a_port(), limit_s=60).splitlines()
        self.assertEqual(sorted(lines), [f"rank {rank}: [6.0, 8.0]" for rank in range(2)])

    def test_cpp_waits_for_works_that_python_does_not_hold(self) -> None:
        self.asked_by_cpp(sys.executable)

    @unittest.skipUnless(OLD.exists(), "no torch 1.13 here: ./dev python old installs it")
    def test_so_does_that_of_torch_1_13(self) -> None:
        self.asked_by_cpp(OLD)

    @unittest.skipUnless(OLD.exists(), "no torch 1.13 here: ./dev python old installs it")
    def test_torch_1_13_in_gloos_place_with_its_checks_on(self) -> None:
        script = HERE / "scripts" / "spawned.py"
        lines = said(OLD, "-m", "ronde.torch", "--as", "gloo", script, 2, a_port(), "destroys", TORCH_DISTRIBUTED_DEBUG="DETAIL")
        self.assertEqual(lines.splitlines(), PRINTED)

    def test_a_script_that_never_destroys_its_group_ends(self) -> None:
        self.assertEqual(spawned("leaves", RONDE_TORCH_AS="gloo,nccl"), PRINTED)

    def test_interpreters_end_whatever_is_left_of_their_groups(self) -> None:
        # An exit beside running threads goes wrong once in many times, if it does: RONDE_TEST_EXITS asks for more.
        turns = int(os.environ.get("RONDE_TEST_EXITS", "1"))
        printed = said(sys.executable, HERE / "scripts" / "exits.py", ",".join(WAYS), 2, turns, limit_s=180 + 60 * turns)
        self.assertEqual(printed, f"0 of {len(WAYS) * turns * 2} ended badly\n")

    def test_torchrun_starts_ranks_by_the_name_ronde(self) -> None:
        run = ("-m", "torch.distributed.run", "--nproc-per-node", 4, "--master-port", a_port())
        lines = sorted(said(sys.executable, *run, HERE / "scripts" / "started.py", "ronde").splitlines())
        self.assertEqual(lines, [f"rank {rank} of 4: [4.0, 4.0, 4.0] RondeGroup" for rank in range(4)])

    def test_torchrun_inherits_whose_place_is_taken(self) -> None:
        run = ("-m", "ronde.torch", "--as", "gloo", "-m", "torch.distributed.run", "--nproc-per-node", 2)
        lines = said(sys.executable, *run, "--master-port", a_port(), HERE / "scripts" / "started.py", "gloo").splitlines()
        self.assertEqual(sorted(lines), [f"rank {rank} of 2: [2.0, 2.0, 2.0] RondeGroup" for rank in range(2)])

    def test_a_name_that_is_no_backend_is_refused(self) -> None:
        done = subprocess.run([sys.executable, "-m", "ronde.torch", "--as", "glue", "x.py"], capture_output=True, text=True,
                              env={**os.environ, **QUIET}, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'glue' is none of gloo, nccl, mpi, ucc", done.stderr)


# The seeds' scripts, those without a main by a driver of theirs. Two run always, all where RONDE_TEST_SEEDS=all: each
# starts four Pythons or more.
DRIVEN = {"001": ("drive001.py",), "002_functions": ("drive.py", "002_functions.py", 3),
          "003_repaired": ("drive.py", "003_repaired.py", 3)}
QUICK = ("000_collective_cheatsheet", "004_do_reduce")
SLOW = ("001", "002_functions", "003_repaired", "004_do_all_gather", "004_do_all_reduce", "004_do_broadcast", "004_do_gather",
        "004_do_scatter", "004_hello_world")


def lines_of(text: str) -> Counter[str]:
    """Lines without an order, since ranks print when they like, and without times."""
    apart = re.sub(r"(?=\[\d\] (?:data|say)| Rank \d)", "\n", text)
    return Counter(re.sub(r"delta: [0-9.]+", "delta", line.strip()) for line in apart.splitlines() if line.strip())


def leftovers(name: str, lines: Counter[str]) -> Counter[str]:
    """What a reduce leaves on ranks that are not its root, which torch says nothing of: the lines that show it."""
    shown = {"004_do_reduce": r"\[[123]\] data = [0-9.]+", "000_collective_cheatsheet": r"Rank [123]: \[[0-9.]+\]"}
    return Counter({line: count for line, count in lines.items()
                                if name in shown and re.fullmatch(shown[name], line)})


class SeedsTest(unittest.TestCase):
    def compare(self, name: str, python: object = sys.executable) -> None:
        words = DRIVEN.get(name, (f"{name}.py",))
        stored = SEEDS / "printed-2.15" / f"{name}.out"
        gloos = lines_of(stored.read_text() if stored.exists() else said(python, *words, folder=SEEDS))
        ours = lines_of(said(python, "-m", "ronde.torch", "--as", "gloo", *words, folder=SEEDS))
        self.assertGreater(len(gloos), 0)
        undefined = leftovers(name, gloos), leftovers(name, ours)
        self.assertEqual(undefined[0].total(), undefined[1].total())
        self.assertEqual(gloos - undefined[0], ours - undefined[1])
        # A cheatsheet's reduce leaves three such lines; the rest of them must be the same, too.
        self.assertLessEqual((undefined[0] - undefined[1]).total(), 3)

    @unittest.skipUnless(SEEDS.is_dir(), f"the seeds' scripts are not here: {SEEDS}")
    def test_quick_ones_print_what_they_print_on_gloo(self) -> None:
        for name in QUICK:
            with self.subTest(name):
                self.compare(name)

    @unittest.skipUnless(OLD.exists(), "no torch 1.13 here: ./dev python old installs it")
    @unittest.skipUnless(SEEDS.is_dir(), f"the seeds' scripts are not here: {SEEDS}")
    def test_the_same_with_torch_1_13_whose_gloo_cannot_reduce_scatter(self) -> None:
        every = os.environ.get("RONDE_TEST_SEEDS") == "all"
        for name in (QUICK + SLOW if every else QUICK[:1]):
            with self.subTest(name):
                self.compare(name, OLD)

    @unittest.skipUnless(os.environ.get("RONDE_TEST_SEEDS") == "all", "RONDE_TEST_SEEDS=all runs the seeds' other scripts")
    @unittest.skipUnless(SEEDS.is_dir(), f"the seeds' scripts are not here: {SEEDS}")
    def test_all_others_print_what_they_print_on_gloo(self) -> None:
        for name in SLOW:
            with self.subTest(name):
                self.compare(name)


WAVE2 = SEEDS.parent / "wave2.py"


class Wave2Test(unittest.TestCase):
    @unittest.skipUnless(WAVE2.is_file(), f"the second wave's script is not here: {WAVE2}")
    def test_ddp_fsdp2_dtensor_and_functional_collectives_give_what_they_give_on_gloo(self) -> None:
        printed = {}
        for plugin, backend in (("", "gloo"), ("ronde.torch", "ronde")):
            lines = said(sys.executable, WAVE2, plugin, backend).splitlines()
            printed[backend] = {line.split()[1]: line.split(maxsplit=2)[2].strip() for line in lines}
        self.assertEqual(set(printed["ronde"]), set(printed["gloo"]))
        for name, ours in printed["ronde"].items():
            with self.subTest(name):
                self.assertTrue(ours.startswith("ok "), ours)
                # gloo has no coalescing, and its processes may fail as they end: their exit codes stand behind the answer.
                gloos = re.sub(r" \[(?:-?\d+|None), (?:-?\d+|None)\]$", "", printed["gloo"][name])
                if gloos.startswith("ok "):
                    self.same(ours, gloos)

    def same(self, ours: str, gloos: str) -> None:
        """Numbers within rounding, all else as it is."""
        try:
            self.assertAlmostEqual(float(ours[3:]), float(gloos[3:]), places=4)
        except ValueError:
            self.assertEqual(ours, gloos)


if __name__ == "__main__":
    unittest.main()
