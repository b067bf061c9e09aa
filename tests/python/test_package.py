"""The package as it is installed."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib import metadata

import ronde

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(ronde.__file__).parent

# What the hints say of it to users.
EVERYTHING = pathlib.Path(__file__).parent / "scripts/everything.py"
PROGRAM = """
import ronde

machine = ronde.Topology.generate("dgx-h100", nodes=2)
records: ronde.Records = ronde.simulate(ronde.compile("all_reduce", "ring", ranks=16), machine, ["1M", 1 << 30])
print(records[0]["time_ns"], machine.without("n0g0_c").name.upper())


def pending(comm: ronde.Communicator, array: bytearray) -> ronde.Operation:
    comm.all_reduce(array).wait()
    comm.all_reduce(array, wait=False).wait(1.5)
    return comm.broadcast(array, root=1, wait=False)


ronde.compile("all_reduce", "ring", ranks="16")
"""


class PackageTest(unittest.TestCase):
    def test_version_is_that_of_the_build(self) -> None:
        version = re.search(r"project\(ronde VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
        self.assertEqual({ronde.__version__, metadata.version("ronde")}, {version[1]})

    def test_command_and_shipped_files_come_with_it(self) -> None:
        command = pathlib.Path(sys.executable).parent / "ronde"
        said = subprocess.run([str(command), "--version"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(said.startswith(f"ronde {ronde.__version__} "), said)
        self.assertTrue((PACKAGE / "py.typed").exists())
        self.assertTrue((PACKAGE / "share/ronde/topologies/dgx-h100.xml").exists())
        self.assertEqual(ronde.Topology.read("dgx-h100").hosts, 8)

    def test_what_the_command_prints_is_utf8_in_every_locale(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "machine.xml")
            path.write_text(ronde.Topology.generate("crossbar", nodes=2).xml.replace("crossbar", "größte"), encoding="utf-8")
            code = f"from ronde import _command; print(ascii(_command.output('topo', 'show', {str(path)!r})))"
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                  env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
        self.assertIn("gr\\xf6\\xdfte", said.stdout)

    def test_torch_finds_the_backend_by_name(self) -> None:
        entries = {(entry.group, entry.value) for entry in metadata.distribution("ronde").entry_points}
        self.assertIn(("torch.distributed.backends", "ronde.torch:register"), entries)
        self.assertIn(("torch.backends", "ronde_torch_hook:autoload"), entries)

    def test_the_hook_that_torch_calls_never_raises(self) -> None:
        code = "import sys; sys.modules['ronde'] = None\nfrom ronde_torch_hook import autoload\nautoload()"
        said = subprocess.run([sys.executable, "-c", code], env={"RONDE_TORCH_AS": "gloo"}, capture_output=True, text=True,
                              check=True)
        self.assertIn("RONDE_TORCH_AS is not obeyed", said.stderr)
        code = "import sys, ronde_torch_hook; ronde_torch_hook.autoload(); print('ronde' in sys.modules)"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout, "False\n")

    @unittest.skipIf(shutil.which("nm") is None, "no nm here (apt: binutils)")
    def test_the_library_exports_its_own_names_alone(self) -> None:
        said = subprocess.run(["nm", "-D", "--defined-only", str(PACKAGE / "lib/libronde.so")], capture_output=True, text=True,
                              check=True)
        names = [line.split()[-1] for line in said.stdout.splitlines()]
        self.assertIn("ronde_all_reduce", names)
        self.assertEqual([name for name in names if not name.startswith("ronde_")], [])

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "no mypy in build/venv: ./dev python installs it")
    def test_types_hold(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(PROGRAM, encoding="utf-8")
            said = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, "--exclude", "/(torch|_site)/",
                                   str(ROOT / "bindings/python/ronde"), str(program), str(EVERYTHING)], capture_output=True,
                                  text=True)
        # The program has two mistakes.
        self.assertEqual(re.findall(r": error: .*", said.stdout),
                         [': error: "None" has no attribute "wait"  [attr-defined]',
                          ': error: Argument "ranks" to "compile" has incompatible type "str"; expected "int"  [arg-type]'])

    def test_everything_is_there_and_does_what_it_says(self) -> None:
        said = subprocess.run([sys.executable, str(EVERYTHING), str(ROOT / "docs/examples")], capture_output=True, text=True)
        self.assertEqual((said.stdout, said.returncode), (f"ronde {ronde.__version__}\n", 0), said.stderr)
        words = set(re.findall(r"\w+", EVERYTHING.read_text(encoding="utf-8")))
        self.assertEqual(sorted(set(ronde.__all__) - words), [])

    # What ./dev package does in bare roots, here with the environment's own command and Python.
    @unittest.skipIf(shutil.which("bash") is None, "no bash here (apt: bash)")
    def test_four_people_do_their_jobs(self) -> None:
        path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        for job in ("cluster_engineer", "researcher", "ml_engineer", "teacher"):
            with self.subTest(job=job):
                said = subprocess.run(["bash", str(ROOT / f"tests/packages/{job}.sh")], capture_output=True, text=True,
                                      env={**os.environ, "PATH": path})
                self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
                self.assertRegex(said.stdout.splitlines()[-1], r"^ok: .*, ([1-9]|10) commands$")

    # A Pyright whose package has its own node: the one of Microsoft's downloads one when it is first run.
    @unittest.skipIf(importlib.util.find_spec("basedpyright") is None, "no basedpyright in build/venv: ./dev python installs it")
    def test_types_hold_for_pyright(self) -> None:
        said = subprocess.run([sys.executable, "-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable,
                               str(EVERYTHING)], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout)

    def test_importing_it_imports_neither_numpy_nor_torch(self) -> None:
        code = "import sys, ronde; print(sorted({'numpy', 'torch'} & set(sys.modules)))"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.strip(), "[]")


if __name__ == "__main__":
    unittest.main()
