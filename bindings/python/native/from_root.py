"""Hooks of `pip install .` and of `python -m build --sdist` in a clone's root: those of bindings/python, called there."""
import io
import os
import pathlib
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
os.chdir(ROOT / "bindings/python")
# With `pip install -v .` every file that is compiled is a line: what is done, and what of it after how long.
os.environ.setdefault("NINJA_STATUS", "[%f/%t, %p after %es] ")

from scikit_build_core.build import *  # noqa: E402, F401, F403
from scikit_build_core.build import prepare_metadata_for_build_wheel  # noqa: E402

# What a build of the package does not read: results of measurements, tests, benchmarks.
_LEFT_OUT = (".ci", "tests", "bench", "docs/results", "docs/notes")


def _sources() -> "list[str]":
    """The files of the clone, or of an unpacked source distribution."""
    if (ROOT / ".git").exists():
        said = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        files = [name for name in said.split("\0") if name and (ROOT / name).is_file()]
    else:
        files = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    return sorted(name for name in files if name != "PKG-INFO"
                  and not any(name.startswith(f"{folder}/") for folder in (*_LEFT_OUT, "build")))


def build_sdist(sdist_directory: str, config_settings: "dict[str, str] | None" = None) -> str:
    """The whole library's sources: the package is a part of it."""
    with tempfile.TemporaryDirectory() as folder:
        about = pathlib.Path(folder, prepare_metadata_for_build_wheel(folder, config_settings), "METADATA").read_bytes()
    version = next(line[len("Version: "):] for line in about.decode().splitlines() if line.startswith("Version: "))
    top = f"ronde-{version}"
    with tarfile.open(pathlib.Path(sdist_directory, f"{top}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in _sources():
            archive.add(ROOT / name, f"{top}/{name}")
        entry = tarfile.TarInfo(f"{top}/PKG-INFO")
        entry.size = len(about)
        archive.addfile(entry, io.BytesIO(about))
    return f"{top}.tar.gz"
