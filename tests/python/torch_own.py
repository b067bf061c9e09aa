"""
Runs torch's own tests of torch.distributed (torch.testing._internal.distributed.distributed_test) with a backend, each on
processes forked from this one: torch_own.py --backend ronde --world-size 2 [-k TEXT] [--tsv FILE]

The tests read the backend's name when they are imported and many skip unless it is one that torch knows. Under `--pretend
gloo` they are decided on as gloo's, and run with the backend that was asked for; `mpi` unlocks all_to_all on the CPU.
"""
from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import logging
import os
import shutil
import sys
import tempfile
import time
import unittest
import warnings
from typing import Any

FOLDERS = ("barrier", "test_dir", "init_dir")


def prepare(options: argparse.Namespace, folder: str) -> None:
    os.environ.update(BACKEND=options.pretend or options.backend, WORLD_SIZE=str(options.world_size), TMPDIR=folder,
                      TEMP_DIR=folder, INIT_METHOD=f"file://{folder}/init_dir/shared")
    for name, value in (("CUDA_VISIBLE_DEVICES", ""), ("OMP_NUM_THREADS", "1"), ("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "90")):
        os.environ.setdefault(name, value)
    tempfile.tempdir = None
    for name in FOLDERS:
        os.makedirs(os.path.join(folder, name))
    warnings.filterwarnings("ignore")


class Both(str):
    """The backend's name, equal to the pretended one as well: tests ask for it in their bodies, too."""

    pretended = ""

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or other == self.pretended

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def import_ddp() -> None:
    """
    DDP of torch 1.13, which was made for Python 3.10, has dataclasses as defaults that Python 3.11 refuses unless they can
    be hashed. Does nothing with other versions: theirs load either way.
    """
    made = dataclasses.dataclass

    def hashable(cls: Any = None, /, **given: Any) -> Any:
        if cls is None:
            return functools.partial(hashable, **given)
        return made(cls, **{"unsafe_hash": "__hash__" not in vars(cls), **given})

    import torch.distributed
    if not torch.__version__.startswith("1."):
        return
    dataclasses.dataclass = hashable
    try:
        importlib.import_module("torch.distributed._shard")
    finally:
        dataclasses.dataclass = made


def load(options: argparse.Namespace) -> type:
    import_ddp()
    if options.backend == "ronde":
        importlib.import_module("ronde.torch")
    from torch.testing._internal.common_distributed import DistTestCases
    for feature in ("ddp", "subgroup", "plugin"):
        DistTestCases.backend_feature[feature].add(options.backend)
    from torch.testing._internal.distributed import distributed_test as tests
    import torch
    logging.getLogger("torch").setLevel(logging.WARNING)
    if options.pretend:
        tests.BACKEND = Both(options.backend)
        Both.pretended = options.pretend
        # With gloo some tests of subgroups ask for more ranks; the other backends run them with two.
        if not options.all:
            os.environ["BACKEND"] = options.backend

    class Own(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            tests.INIT_METHOD = os.environ["INIT_METHOD"]
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return Own


class Table(unittest.TestResult):
    """A line per test: name, result, seconds, reason."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.file = open(path, "w", encoding="utf-8")
        self.counts: dict[str, int] = {}
        self.started = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.started = time.monotonic()

    def note(self, test: unittest.TestCase, result: str, reason: str = "") -> None:
        self.counts[result] = self.counts.get(result, 0) + 1
        name = test.id().split(".")[-1]
        reason = " ".join(reason.split())[-400:]
        self.file.write(f"{name}\t{result}\t{time.monotonic() - self.started:.2f}\t{reason}\n")
        self.file.flush()
        if result not in ("pass", "skip"):
            print(name, result, reason, flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.note(test, "pass")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.note(test, "skip", reason)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        self.note(test, "FAIL", self._exc_info_to_string(err, test))

    addError = addFailure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="ronde")
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--pretend", default="")
    parser.add_argument("--all", action="store_true", help="also those that ask for more ranks unless the backend is listed")
    parser.add_argument("--tsv", default=os.devnull)
    parser.add_argument("-k", action="append", default=[])
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="own")
    try:
        prepare(options, folder)
        case = load(options)
        result = Table(options.tsv)
        for name in unittest.TestLoader().getTestCaseNames(case):
            if not options.k or any(text in name for text in options.k):
                case(name).run(result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"torch's own tests, {options.backend}, {options.world_size} ranks: "
          + ", ".join(f"{count} {what}" for what, count in sorted(result.counts.items())))
    return 1 if result.counts.get("FAIL") or not result.counts.get("pass") else 0


if __name__ == "__main__":
    sys.exit(main())
