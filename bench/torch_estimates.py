"""
torch_estimates.py TABLE.csv...: how far off estimates of collectives are that a compiler can have, on published measurements:
torch's own (torch._inductor.comm_analysis), NCCL's formula, and the model that ronde.torch.estimates answers from. Prints
docs/results/torch-estimates.md, from its mark on. Tables are those of `ronde validate --published`.

Rows are those that NCCL chose itself, on GPUs that torch has constants of. Torch is told what it has no way to see here:
generation, NVLink or not, GPUs of a node.
"""
from __future__ import annotations

import csv
import json
import pathlib
import subprocess
import sys
from collections import defaultdict
from statistics import median
from typing import Any, Iterator, Optional

import torch
import torch._inductor.comm_analysis as comm

import ronde

COMMAND = pathlib.Path(ronde.__file__).parent / "bin" / "ronde"
KINDS = {"all_reduce": comm.NCCL_COLL.ALL_REDUCE, "all_gather": comm.NCCL_COLL.ALL_GATHER,
         "reduce_scatter": comm.NCCL_COLL.REDUCE_SCATTER, "all_to_all": comm.NCCL_COLL.ALL_TO_ALL}
# Torch's generations by words of a product's name, the first that fits.
GENERATIONS = (("B200", "BLACKWELL"), ("B300", "BLACKWELL"), ("GH200", "HOPPER"), ("GB", "BLACKWELL"), ("5090", "BLACKWELL"),
               ("H100", "HOPPER"), ("H200", "HOPPER"), ("H20", "HOPPER"), ("H800", "HOPPER"), ("V100", "VOLTA"),
               ("A100", "AMPERE"), ("A800", "AMPERE"), ("A10", "AMPERE"), ("A40", "AMPERE"), ("A6000", "AMPERE"), ("L4", "AMPERE"),
               ("4090", "AMPERE"), ("3090", "AMPERE"))
AUTO = ("auto", None)
# What is compared, and of which bytes torch is told.
COLUMNS = {"ronde": "ronde", "formula": "NCCL's formula", "passed": "torch, input and output (overlap scheduling)",
           "total": "torch, nccl-tests' size", "input": "torch, input (Inductor's IR)"}


def generation(gpu: str) -> Optional[Any]:
    for word, name in GENERATIONS:
        if word in gpu.upper():
            return getattr(comm.NVIDIA_GPU_TYPE, name)
    return None


def sizes(collective: str, size: int, ranks: int) -> dict[str, int]:
    part = size // ranks
    given, got = {"all_gather": (part, size), "reduce_scatter": (size, part)}.get(collective, (size, size))
    return {"passed": given + got, "total": size, "input": given}


class Hardware:
    """What torch asks of the machine it runs on."""

    def __init__(self) -> None:
        self.gpu: Any = None
        self.has_nvlink = False
        self.gpus = 1
        comm.get_gpu_type = lambda: self.gpu
        comm._has_nvlink = lambda: self.has_nvlink
        torch.cuda.is_available = lambda: True
        torch.cuda.device_count = lambda: self.gpus


def rows(path: str, hardware: Hardware) -> Iterator[tuple[str, dict[str, float]]]:
    """Per row its system and the errors of what has an answer."""
    with open(path, encoding="utf-8", newline="") as file:
        parts = {row["system"]: (row["gpu"], row["interconnect_intra"]) for row in csv.DictReader(file)}
    said = subprocess.run([COMMAND, "validate", "--published", path, "--auto-topo", "--json"], stdout=subprocess.PIPE, text=True,
                          check=True)
    for row in map(json.loads, said.stdout.splitlines()):
        gpu, inside = parts[row["system"]]
        hardware.gpu = generation(gpu)
        if row["predicted_us"] is None or row["collective"] not in KINDS or hardware.gpu is None or \
                row["forced_algorithm"] not in AUTO or row["forced_protocol"] not in AUTO:
            continue
        hardware.has_nvlink = "NV" in inside.upper()
        hardware.gpus = max(1, row["ranks"] // max(1, row["nodes"]))
        times = {"ronde": row["predicted_us"], "formula": row["nccl_us"]}
        for told, size in sizes(row["collective"], row["bytes"], row["ranks"]).items():
            times[told] = 1e3 * comm.estimate_nccl_collective_runtime_impl(size, row["ranks"], KINDS[row["collective"]])
        yield row["system"], {name: abs(us / row["measured_us"] - 1) for name, us in times.items() if us}


def percent(error: Optional[float]) -> str:
    return "-" if error is None else f"{100 * error:.1f} %"


def line(name: str, count: int, errors: dict[str, Optional[float]]) -> str:
    return f"| {name} | {count:,} | " + " | ".join(percent(errors[column]) for column in COLUMNS) + " |"


def medians(errors: list[dict[str, Any]]) -> dict[str, Optional[float]]:
    """None where nothing has an answer: NCCL's formula of sends and receives."""
    known = {column: [error[column] for error in errors if error.get(column) is not None] for column in COLUMNS}
    return {column: median(values) if values else None for column, values in known.items()}


def report(path: str, hardware: Hardware) -> None:
    of: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for system, errors in rows(path, hardware):
        of[system].append(errors)
    found = {system: medians(errors) for system, errors in of.items()}
    print(f"\n## {pathlib.Path(path).name}\n\n| system | rows | {' | '.join(COLUMNS.values())} |")
    print(f"|---|---:|{'---:|' * len(COLUMNS)}")
    for system in sorted(of):
        print(line(system, len(of[system]), found[system]))
    everything = [error for errors in of.values() for error in errors]
    print(line("**all rows**", len(everything), medians(everything)))
    print(line(f"**median of {len(of)} systems**", len(everything), medians(list(found.values()))))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(f"Medians of |estimated / measured - 1|, torch {torch.__version__.split('+')[0]}.")
    hardware = Hardware()
    for path in sys.argv[1:]:
        report(path, hardware)


if __name__ == "__main__":
    main()
