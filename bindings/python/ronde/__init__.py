"""Collectives as step schedules: proved, executed, replayed and priced. See README.md beside the package's sources."""
from __future__ import annotations

from ._native import ffi as _ffi, lib as _lib
from .algorithm import IN, OUT, SCRATCH, Chunks, build, copy, reduce, transfer
from .arrays import Communicator
from .conversion import convert
from .errors import BadArgumentError, RondeError, RondeTimeoutError, UnavailableError
from .nccl_model import Diagnosis, doctor, nccl
from .operation import Operation
from .prediction import plan, price, simulate, why
from .records import Records
from .scenario import Scenario
from .schedule import Proof, Schedule, algorithms, compile
from .sweeps import sweep
from .synthesis import Bound, Forest, bound, synthesize
from .timelines import Timeline, timeline
from .topology import Topology, kinds
from .validation import validate
from .workloads import Step, explain, gpt, workload

__version__: str = _ffi.string(_lib.ronde_version()).decode()

__all__ = ["IN", "OUT", "SCRATCH", "BadArgumentError", "Bound", "Chunks", "Communicator", "Diagnosis", "Forest", "Operation",
           "Proof", "Records", "RondeError", "RondeTimeoutError", "Scenario", "Schedule", "Step", "Timeline", "Topology",
           "UnavailableError", "__version__",
           "algorithms", "bound", "build", "compile", "convert", "copy", "doctor", "explain", "gpt", "kinds", "nccl", "plan", "price",
           "reduce", "simulate", "sweep", "synthesize", "timeline", "transfer", "validate", "why", "workload"]
