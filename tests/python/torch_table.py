"""
Writes a table of torch's own tests, each with gloo and with ronde, at 2, 3 and 8 ranks: torch_table.py FILE. Fails where gloo
passes and ronde does not. One command: ./dev python torch
"""
from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile

import torch

HERE = pathlib.Path(__file__).resolve().parent
WORLD_SIZES = (2, 3, 8)
IN_PLACE = "in its place"
# Column, as whom, which tests; of several runs the first counts that does not skip a test. Those of all_to_all are skipped
# unless the backend is MPI's.
RUNS = (("gloo", "", ()), ("ronde", "gloo", ()), ("ronde", "mpi", ("all_to_all",)))
# The front end of torch 1.13 lets nobody pass a monitored_barrier whose name is not gloo: there ronde takes gloo's place.
RUNS_OF_1 = (("ronde", IN_PLACE, ("monitored_barrier",)), *RUNS)


def results(column: str, pretend: str, only: tuple[str, ...], ranks: int) -> dict[str, str]:
    backend = "gloo" if pretend == IN_PLACE else column
    with tempfile.NamedTemporaryFile("r", suffix=".tsv") as file:
        command = [sys.executable]
        if pretend == IN_PLACE:
            command, pretend = [sys.executable, "-m", "ronde.torch", "--as", "gloo"], ""
        command += [str(HERE / "torch_own.py"), "--backend", backend, "--world-size", str(ranks), "--tsv", file.name]
        command += ["--pretend", pretend] if pretend else []
        # Tests of subgroups need three ranks, whatever they ask for.
        command += ["--all"] if only and ranks > 2 else []
        command += [f"-k{text}" for text in only]
        subprocess.run(command, check=False, timeout=1800, stderr=subprocess.DEVNULL)
        return {line.split("\t")[0]: line.split("\t")[1] for line in file.read().splitlines()}


def main() -> int:
    columns: dict[tuple[str, int], dict[str, str]] = {
        (backend, ranks): {} for ranks in WORLD_SIZES for backend in ("gloo", "ronde")}
    runs = RUNS_OF_1 if torch.__version__.startswith("1.") else RUNS
    for ranks in WORLD_SIZES:
        for backend, pretend, only in runs:
            column = columns[backend, ranks]
            for name, result in results(backend, pretend, only, ranks).items():
                if column.get(name) in (None, "skip"):
                    column[name] = result
    names = sorted({name for column in columns.values() for name in column})
    lines = ["test\t" + "\t".join(f"{backend} {ranks}" for backend, ranks in columns)]
    lines += [name + "\t" + "\t".join(column.get(name, "-") for column in columns.values()) for name in names]
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    worse = [f"{name} at {ranks}" for name in names for ranks in WORLD_SIZES
             if columns["ronde", ranks].get(name) != "pass" and columns["gloo", ranks].get(name) == "pass"]
    passes = {(backend, ranks): list(column.values()).count("pass") for (backend, ranks), column in columns.items()}
    for (backend, ranks), count in passes.items():
        print(f"{backend}, {ranks} ranks: {count} of {len(names)} pass")
    print(f"pass with gloo and not with ronde: {', '.join(worse) or 'none'}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
