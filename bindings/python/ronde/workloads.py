"""Steps of programs: made, and replayed on a machine."""
from __future__ import annotations

import json
import os
from typing import Optional, Union

from . import _command
from .arguments import path, real, text, whole
from .nccl_model import Machine, machine_words
from .records import Records

Path = Union[str, "os.PathLike[str]"]


class Step(Records):
    """What a step costs: records of kind "step", "family" (a kind of groups) and "call" (calls that are alike)."""

    def _of(self, kind: str) -> Records:
        return Records(record for record in self if record["kind"] == kind)

    @property
    def time_ns(self) -> float:
        """How long the step takes, ns."""
        return float(self._of("step")[0]["time_ns"])

    @property
    def exposed_ns(self) -> float:
        """How much of it a rank waits for communication on average, ns."""
        return float(self._of("step")[0]["exposed_ns"])

    @property
    def calls(self) -> Records:
        """The calls, those with most of the critical path (`path_ns`) first."""
        return self._of("call")

    def __repr__(self) -> str:
        return f"<ronde.Step: {self.time_ns / 1e6:g} ms, {self.exposed_ns / 1e6:g} ms of them exposed communication>"


def workload(source: Path, machine: Machine, *, ranks: int = 0, algorithm: str = "auto", nccl: bool = False,
             what_if: int = 0) -> Step:
    """
    Replays a step of a program: workload("step.workload", "dgx-h100-pod").exposed_ns.

    `source`: a file in ronde's own form, GOAL, or a Chakra trace (docs/guide/workloads.md). `machine`: a Topology, a file, or a
    shipped one's name. `ranks`: of a trace of one rank, how many there are. `algorithm`: of all collectives. `nccl`: their times by
    the model of NCCL, no replay. `what_if`: try other algorithms for so many kinds of calls; their records then have `better` and
    `saves_ns`. Times are in ns. Raises BadArgumentError for files and names that are none, RondeError where a replay fails.
    """
    words: list[object] = machine_words(machine)
    words += ["-N", ranks] if whole(ranks, "ranks") else []
    words += ["-a", text(algorithm, "algorithm").decode()] if algorithm != "auto" else []
    words += ["--style", "nccl"] if nccl else []
    words += ["--what-if", what_if] if whole(what_if, "what_if") else []
    said = _command.output("workload", "sim", "--json", *words, "--", path(source, "source"))
    return Step(json.loads(line) for line in said.splitlines())


def gpt(target: Path, *, model: Optional[str] = None, layers: int = 0, hidden: int = 0, seq: int = 0, batch: int = 0,
        vocab: Optional[int] = None, tp: int = 1, dp: int = 1, pp: int = 1, micro: int = 0, flops: float = 0, sequence_parallel: bool = False) -> None:
    """
    Writes the step of a GPT-like model into a file, `target`, which `workload` replays: gpt("step.workload", model="7b", tp=8,
    dp=4).

    `model`: "7b", "13b", "llama2-70b", "llama3-8b", "llama3-70b", "405b" or "gpt3-175b", whose sizes the other arguments change; 0:
    the model's: `layers`, `hidden` width, `seq` and `batch` in tokens and sequences, `vocab` in tokens. `tp`, `dp`, `pp`: ranks
    that share a layer, replicas, stages. `micro`: microbatches. `sequence_parallel`: norms and dropout share a layer's ranks, too.
    `flops`: operations a second that a rank attains. Raises BadArgumentError for sizes that do not fit together.
    """
    words: list[object] = ["--model", text(model, "model").decode()] if model is not None else []
    for name, value in (("layers", layers), ("hidden", hidden), ("seq", seq), ("batch", batch), ("tp", tp), ("dp", dp), ("pp", pp),
                        ("micro", micro)):
        words += [f"--{name}", value] if whole(value, name) else []
    words += ["--vocab", whole(vocab, "vocab")] if vocab is not None else []
    words += ["--flops", repr(real(flops, "flops"))] if flops else []
    words += ["--sequence-parallel"] if sequence_parallel else []
    _command.output("workload", "gpt", *words, "-o", path(target, "target"))


def explain(*traces: Path, machine: Optional[Machine] = None, step: Optional[int] = None) -> Records:
    """
    Which collectives of a job are slow, what they should cost, and who was late: explain("traces/", machine="H100-cluster01").

    `traces`: files or folders of torch.profiler, NCCL Inspector or torch's flight recorder, of one job (docs/guide/explain.md).
    `machine`: what the collectives ran on; without it nothing is expected. `step`: only the calls of ProfilerStep#N. A record for
    each kind of call: `time_us`, `expected_us`, `late_rank`, `waiting_us`, in microseconds as profilers have them, and
    `busbw_GBps`. Raises BadArgumentError for files that cannot be read.
    """
    words: list[object] = machine_words(machine) if machine is not None else []
    words += ["--step", whole(step, "step")] if step is not None else []
    said = _command.output("explain", "--json", *words, "--", *(path(trace, "traces") for trace in traces), answers=(0, 1))
    return Records(json.loads(line) for line in said.splitlines())
