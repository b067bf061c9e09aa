"""
Writes results/torch-tests.tsv: each of torch's own tests with gloo and with ronde, at 2, 3 and 8 ranks. Fails where gloo
passes and ronde does not. One command: ./dev torch
"""
from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WORLD_SIZES = (2, 3, 8)
# Backend, as whom, which tests. Those of all_to_all are skipped unless the backend is MPI's.
RUNS = (("gloo", "", ()), ("ronde", "gloo", ()), ("ronde", "mpi", ("all_to_all",)))


def results(backend: str, pretend: str, only: tuple[str, ...], ranks: int) -> dict[str, str]:
    with tempfile.NamedTemporaryFile("r", suffix=".tsv") as file:
        command = [sys.executable, str(HERE / "torch_own.py"), "--backend", backend, "--world-size", str(ranks), "--tsv", file.name]
        command += ["--pretend", pretend] if pretend else []
        # Tests of subgroups need three ranks, whatever they ask for.
        command += ["--all"] if only and ranks > 2 else []
        command += [f"-k{text}" for text in only]
        subprocess.run(command, check=False, timeout=1800, stderr=subprocess.DEVNULL)
        return {line.split("\t")[0]: line.split("\t")[1] for line in file.read().splitlines()}


def main() -> int:
    columns: dict[tuple[str, int], dict[str, str]] = {}
    for ranks in WORLD_SIZES:
        for backend, pretend, only in RUNS:
            column = columns.setdefault((backend, ranks), {})
            for name, result in results(backend, pretend, only, ranks).items():
                if column.get(name) in (None, "skip"):
                    column[name] = result
    names = sorted({name for column in columns.values() for name in column})
    lines = ["test\t" + "\t".join(f"{backend} {ranks}" for backend, ranks in columns)]
    lines += [name + "\t" + "\t".join(column.get(name, "-") for column in columns.values()) for name in names]
    target = HERE.parent.parent / "results" / "torch-tests.tsv"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    worse = [f"{name} at {ranks}" for name in names for ranks in WORLD_SIZES
             if columns["ronde", ranks].get(name) != "pass" and columns["gloo", ranks].get(name) == "pass"]
    passes = {(backend, ranks): list(column.values()).count("pass") for (backend, ranks), column in columns.items()}
    for (backend, ranks), count in passes.items():
        print(f"{backend}, {ranks} ranks: {count} of {len(names)} pass")
    print(f"pass with gloo and not with ronde: {', '.join(worse) or 'none'}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
