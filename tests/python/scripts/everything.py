"""Uses what the package exports, each thing once, with the types that it says: is run, and read by checkers of types."""
from __future__ import annotations

import array
import pathlib
import sys
import tempfile
from typing import Iterator, Optional

import ronde
from ronde import IN, OUT, SCRATCH, BadArgumentError, RondeError, RondeTimeoutError, UnavailableError
from ronde.algorithm import Step


def star(ranks: int) -> Iterator[Step]:
    yield ronde.copy(0, IN[0], OUT[0])
    for child in range(1, ranks):
        yield ronde.transfer(0, child, IN[0], OUT[0])


def added(ranks: int) -> Iterator[Step]:
    yield ronde.copy(0, IN[0], OUT[0])
    for child in range(1, ranks):
        yield ronde.transfer(child, 0, IN[0], SCRATCH[child - 1])
        yield ronde.reduce(0, SCRATCH[child - 1], OUT[0])


def schedules(folder: pathlib.Path) -> ronde.Schedule:
    own: ronde.Schedule = ronde.build("broadcast", star, ranks=4)
    proof: ronde.Proof = ronde.build("reduce", added, ranks=4, scratch=3).proof
    chunks: ronde.Chunks = OUT[0:2]
    ring = ronde.compile("all_reduce", "ring", ranks=8)
    msccl: Optional[str] = ronde.convert(ring, to="msccl")
    ronde.convert(ring, folder / "ring.xml")
    assert own.collective == "broadcast" and proof.messages == 3 and chunks.count == 2 and msccl is not None
    assert "ring" in ronde.algorithms("all_reduce") and ronde.Schedule.read(ring.text).hash == ring.hash
    return ring


def predictions(ring: ronde.Schedule) -> None:
    kinds: dict[str, str] = ronde.kinds()
    machine: ronde.Topology = ronde.Topology.generate("dgx-h100", nodes=1)
    sizes: list[str] = ["64K", "1M"]
    slow = ronde.Scenario(degrade={"n0g0_v_UP": 0.5}, late_ns={1: 1000.0})
    rows: ronde.Records = ronde.simulate(ring, machine, sizes, scenario=slow)
    least: ronde.Bound = ronde.bound(machine, "all_reduce")
    time_ns: float = rows[0]["time_ns"]
    assert "dgx-h100" in kinds and time_ns > 0 and least.ns("1M") > 0 and machine.without("n0g7_v_UP").hosts == 8
    assert len(ronde.price(ring, machine, 1 << 20)) == 2
    assert ronde.plan("all_reduce", machine, sizes)[1]["algorithm"] and ronde.why(ring, machine, "1M")
    assert len(ronde.sweep("all_reduce", machine, ranks=[4, 8], algorithms="ring", sizes=sizes)) == 4
    forest: ronde.Forest = ronde.synthesize(machine, "broadcast")
    drawn: ronde.Timeline = ronde.timeline(ring, machine, "1M")
    assert "<svg" in forest.svg and "<svg" in drawn.svg


def systems(folder: pathlib.Path, examples: pathlib.Path) -> None:
    rows: ronde.Records = ronde.nccl("all_reduce", "H100-cluster01", "1M", ranks=64)
    found: ronde.Diagnosis = ronde.doctor(examples / "nccl-tests.log", "H100-cluster01")
    late: ronde.Records = ronde.explain(examples / "dlrm-v100x8")
    ronde.gpt(folder / "step.workload", model="7b", tp=8, dp=1)
    step: ronde.Step = ronde.workload(folder / "step.workload", "dgx-h100")
    assert rows and found.causes and late and step.calls
    crossbar = ronde.Topology.read("crossbar-64")
    assert ronde.validate("all_reduce", crossbar, "1K", algorithms="ring", ranks=2, iters=2)


def ranks() -> None:
    numbers = array.array("f", [1, 2, 3])
    with ronde.Communicator.launch() as comm:
        comm.all_reduce(numbers)
        pending: ronde.Operation = comm.broadcast(numbers, root=0, wait=False)
        pending.wait(10.0)
        half: Optional[ronde.Communicator] = comm.split(0)
        assert comm.size == 1 and half is not None and list(numbers) == [1, 2, 3]


def refusals() -> None:
    for wrong in ("1MB", "x"):
        try:
            ronde.bound(ronde.Topology.read("dgx-h100"), "all_reduce").ns(wrong)
        except BadArgumentError as error:
            assert wrong in str(error) and "--" not in str(error)
    assert all(issubclass(kind, RondeError) for kind in (BadArgumentError, RondeTimeoutError, UnavailableError))


def main(examples: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        predictions(schedules(pathlib.Path(folder)))
        systems(pathlib.Path(folder), pathlib.Path(examples))
    ranks()
    refusals()
    print("ronde", ronde.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
