"""
Times torch.distributed with ronde beside gloo: python bench/torch_peers [--quick] [--parts ...] [--resume] [--page FILE]

Records are written as they are measured; `--resume` measures what they lack, so that a long run may be done in parts.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import platform
import tempfile
from itertools import groupby
from typing import Any, Callable

import collectives
import limits
import overhead
import table
import training
import waiting
from records import Records

import torch
import torch.multiprocessing as mp

PARTS = {"overhead": overhead, "collectives": collectives, "limits": limits, "training": training, "waiting": waiting}
QUICK_SIZES = (8, 1 << 16, 1 << 20, 1 << 24)


def machine() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"torch {torch.__version__}, {os.cpu_count()} processors ({name}), Linux {platform.release()}; " \
           "more ranks than processors take turns."


def run(options: argparse.Namespace, records: Records, folder: str) -> None:
    done = {(r["part"], *(r[name] for name in PARTS[r["part"]].KEY)) for r in records.read()}

    def is_new(part: str, *key: Any) -> bool:
        return part in options.parts and (part, *key) not in done

    def spawn(function: Callable[..., None], ranks: int, *rest: Any) -> None:
        mp.spawn(function, (ranks, tempfile.mktemp(dir=folder), *rest), nprocs=ranks)

    if is_new("overhead", "dist.all_reduce"):
        mp.spawn(overhead.measure, (tempfile.mktemp(dir=folder), records))
    for ranks in options.ranks:
        if is_new("waiting", ranks):
            spawn(waiting.measure, ranks, records)
        for pinned in (False, True):
            if is_new("training", ranks, pinned):
                spawn(training.measure, ranks, pinned, records)
    for part in (collectives, limits):
        points = [p for p in part.points(options) if is_new(p["part"], *(p[name] for name in part.KEY))]
        for (ranks, _pinned), alike in groupby(points, lambda point: (point["ranks"], point["pinned"])):
            spawn(part.measure, ranks, list(alike), options, records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 ranks, all_reduce, four sizes")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=collectives.SIZES)
    parser.add_argument("--collectives", nargs="+", default=collectives.NAMES, choices=collectives.NAMES)
    parser.add_argument("--records", type=pathlib.Path, help="file of records; without it they are forgotten")
    parser.add_argument("--resume", action="store_true", help="keep what the file of records has")
    parser.add_argument("--page", type=pathlib.Path, help="file to write the tables to, as Markdown")
    options = parser.parse_args()
    if options.quick:
        options.ranks, options.sizes, options.collectives = [2], QUICK_SIZES, collectives.NAMES[:1]
        options.parts = ["overhead", "collectives"]
    with tempfile.TemporaryDirectory() as folder:
        records = Records(options.records or pathlib.Path(folder) / "records.jsonl")
        records.path.parent.mkdir(parents=True, exist_ok=True)
        if not options.resume:
            records.path.unlink(missing_ok=True)
        print(f"# {machine()} Load {os.getloadavg()[0]:.1f}", flush=True)
        run(options, records, folder)
        page = table.page(machine(), records.read())
    if options.page:
        options.page.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
