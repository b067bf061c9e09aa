"""Every public name says what it takes, in which unit, and what it raises; wrong arguments are refused in Python's words."""
from __future__ import annotations

import inspect
import os
import pathlib
import random
import re
import tempfile
import unittest
from typing import Any, Callable, Iterator

import ronde

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/examples"
# An option of the command, unless it is quoted: what a caller gave is repeated.
OPTION = re.compile(r"(?<![\w\"'/-])-{1,2}[A-Za-z][\w-]*(?![\w\"'])")
WRONG = (None, -1, 1.5, 2**70, "", "no such", "--help", "-n", "1MB", "a\0b", (), [None], object(), "x" * 300)


def public() -> Iterator[tuple[str, Any, str]]:
    """Classes, functions and methods: name, object, and the texts in which its arguments may be described."""
    for name in ronde.__all__:
        item = getattr(ronde, name)
        if not callable(item):
            continue
        yield name, item, item.__doc__ or ""
        for base in item.__mro__ if inspect.isclass(item) else ():
            for key, member in vars(base).items() if base.__module__.startswith("ronde.") else ():
                member = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if not key.startswith("_") and callable(member):
                    yield f"{name}.{key}", member, f"{member.__doc__ or ''}\n{item.__doc__}\n{base.__doc__}"


class PublicTest(unittest.TestCase):
    def test_every_name_is_described_with_its_arguments_and_errors(self) -> None:
        lacking = []
        for name, item, words in public():
            if not item.__doc__:
                lacking.append(f"{name}: no docstring")
            if inspect.isclass(item):
                continue
            given = [key for key in inspect.signature(item).parameters if key != "self" and key != "cls"]
            # By address, for this package's own backend of torch.
            if "keep" in given:
                continue
            lacking += [f"{name}: `{key}`" for key in given if f"`{key}`" not in words]
            if given and not re.search(r"[Rr]aises", words):
                lacking.append(f"{name}: errors")
        self.assertEqual(lacking, [])

    def test_wrong_arguments_are_refused_in_words_of_python(self) -> None:
        chance = random.Random(36)
        machine = ronde.Topology.generate("crossbar", nodes=4)
        ring = ronde.compile("all_reduce", "ring", ranks=4)
        log = str(EXAMPLES / "nccl-tests.log")
        with tempfile.TemporaryDirectory() as folder:
            # A wrong name may be one of a file that can be written.
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            step = f"{folder}/step.workload"
            ronde.gpt(step, model="7b", tp=2, dp=2, layers=1)
            calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
                (ronde.compile, {"collective": "all_reduce", "algorithm": "ring", "ranks": 4}),
                (ronde.algorithms, {"collective": "all_reduce"}),
                (ronde.build, {"collective": "broadcast", "algorithm": lambda ranks: [ronde.copy(0, ronde.IN[0], ronde.OUT[0])], "ranks": 1}),
                (ronde.simulate, {"schedule": ring, "topology": machine, "sizes": "1M"}),
                (ronde.why, {"schedule": ring, "topology": machine, "sizes": "1M"}),
                (ronde.price, {"schedule": ring, "topology": machine, "sizes": "1M"}),
                (ronde.timeline, {"schedule": ring, "topology": machine, "size": "1M"}),
                (ronde.plan, {"collective": "all_reduce", "topology": machine, "sizes": "1M"}),
                (ronde.bound, {"topology": machine, "collective": "all_reduce"}),
                (ronde.synthesize, {"topology": machine, "collective": "all_reduce"}),
                (ronde.sweep, {"collective": "all_reduce", "topology": machine, "ranks": 4, "algorithms": "ring", "sizes": "1M"}),
                (ronde.validate, {"collective": "all_reduce", "topology": machine, "sizes": 8, "algorithms": "ring", "ranks": 2, "iters": 1}),
                (ronde.nccl, {"collective": "all_reduce", "machine": "H100-cluster01", "sizes": "1M", "ranks": 8}),
                (ronde.doctor, {"log": log, "machine": "H100-cluster01"}),
                (ronde.convert, {"source": ring, "to": "msccl"}),
                (ronde.workload, {"source": step, "machine": machine}),
                (ronde.gpt, {"target": step, "model": "7b", "layers": 1}),
                (ronde.explain, {"machine": "H100-cluster01"}),
                (ronde.Topology.generate, {"kind": "crossbar", "nodes": 4}),
                (ronde.Topology.read, {"path": "dgx-h100"}),
                (ronde.Topology.from_description, {"machine": "H100-cluster01"}),
                (ronde.Topology.from_nccl, {"path": log})]
            for call, right in calls:
                for key in inspect.signature(call).parameters:
                    if key in ("traces", "records", "progress", "executor"):
                        continue
                    for wrong in chance.sample(WRONG, 3):
                        self.refuse(call, {**right, key: wrong}, key)

    def refuse(self, call: Callable[..., Any], arguments: dict[str, Any], key: str) -> None:
        """What may be taken is; else an exception says why, of the library's or a TypeError, and names no option."""
        try:
            call(**arguments)
        except Exception as reason:  # pylint: disable=broad-except # any other class is what is looked for
            wrong = arguments[key]
            said = str(reason).replace(str(wrong), "") if isinstance(wrong, str) and wrong else str(reason)
            with self.subTest(call=call.__qualname__, key=key, wrong=wrong):
                self.assertIsInstance(reason, (ronde.RondeError, TypeError))
                self.assertIsNone(OPTION.search(said), str(reason))
                if isinstance(reason, ronde.RondeError):
                    self.assertIn(reason.status, ("bad argument", "bad input", "io", "unsupported", "unavailable", "rejected"), str(reason))


if __name__ == "__main__":
    unittest.main()
