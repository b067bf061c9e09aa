"""Predicted times: replayed, by formula, and which algorithm is best at which size."""
from __future__ import annotations

import functools
import json
from typing import Any, Iterable, Optional, Union

from . import _command, errors, names
from .arguments import instance, text, texts, whole
from ._interrupt import interruptible
from ._native import ffi, lib
from .records import Records
from .scenario import Scenario, replay_words
from .schedule import Schedule
from .sizes import Size, size_of, sizes_of
from .topology import Topology, machine_of

_MEM = lib.ronde_mem_default()


def _text(value: Any) -> Optional[str]:
    return None if value == ffi.NULL else ffi.string(value).decode()


def _value(field: Any) -> Any:
    if field.kind == lib.RONDE_FIELD_TEXT:
        return _text(field.text)
    if field.kind == lib.RONDE_FIELD_INTEGER:
        return field.integer
    if field.kind == lib.RONDE_FIELD_REAL:
        return field.real
    if field.kind == lib.RONDE_FIELD_BOOLEAN:
        return bool(field.integer)
    if field.kind == lib.RONDE_FIELD_TEXTS:
        return [_text(field.texts[k]) for k in range(field.count)]
    return None


def _record(record: Any) -> dict[str, Any]:
    row = ffi.new("struct ronde_record_row *")
    lib.ronde_record_layout(ffi.addressof(record), row)
    return {_text(row.row.fields[k].name) or "": _value(row.row.fields[k]) for k in range(row.row.count)}


class _Forecast:
    """One schedule on one machine (struct ronde_forecast)."""

    def __init__(self, schedule: Schedule, topology: Topology, dtype: str, op: str, slot: Size, engine: str) -> None:
        schedule = instance(schedule, Schedule, "schedule", "ronde.compile")
        topology = machine_of(topology)
        self._keep = (schedule, topology)
        self.topology = topology.path
        self._engine = ffi.new("char[]", text(engine, "engine"))
        self.options = ffi.new("struct ronde_tune_options *", {
            "dtype": names.dtype(dtype), "op": names.op(op), "slot_bytes": size_of(slot), "engine": self._engine})
        error = errors.record()
        setup = ffi.new("struct ronde_setup *", {
            "platform": topology._handle, "request": schedule._request[0],
            "given": ffi.NULL if schedule._keep else schedule._handle})
        candidate = ffi.new("struct ronde_candidate *")
        errors.check(lib.ronde_candidate_open(setup, _MEM, candidate, error), error)
        self._candidate = ffi.gc(candidate, lambda it: lib.ronde_candidate_close(it, _MEM))
        self.forecast = ffi.new("struct ronde_forecast *", lib.ronde_candidate_forecast(
            candidate, topology._handle, self.options))
        errors.check(lib.ronde_forecast_check(self.forecast, error), error)
        self.collective, self.ranks = schedule._handle.collective, schedule.ranks

    def row(self, record: Any) -> dict[str, Any]:
        """What the command prints; a machine that was made here has no file."""
        return {**_record(record[0]), "topology": self.topology}

    def at(self, size: int) -> Any:
        count = lib.ronde_collective_count(self.collective, self.ranks, size, self.options.dtype)
        lib.ronde_forecast_set_count(self.forecast, count)
        return self.forecast


def _by_command(more: tuple[str, ...], schedule: Schedule, topology: Topology, sizes: Union[Size, Iterable[Size]],
                op: str, **how: Any) -> Records:
    """Replays that the command makes: those that are explained, placed or disturbed."""
    records = Records()
    # A machine that was made here has no file. Which operator reduces changes no time, and the command is not told.
    path, operator = machine_of(topology).path, _text(lib.ronde_op_text(names.op(op)))

    def ours(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "topology": path, "op": None if row["op"] is None else operator}

    with replay_words(schedule, topology, **how) as words:
        for size in sizes_of(sizes):
            said = _command.output(*words, *more, "--json", "-b", size, "-e", size)
            records.extend(ours(json.loads(line)) for line in said.splitlines())
    return records


def simulate(schedule: Schedule, topology: Topology, sizes: Union[Size, Iterable[Size]], *, engine: str = "auto",
             dtype: str = "float32", op: str = "sum", slot: Size = 0, placement: Optional[str] = None,
             scenario: Optional[Scenario] = None) -> Records:
    """
    Replays a `schedule` on a machine, `topology`, at each size: simulate(ring, machine, ["1M", "1G"])[0]["time_ns"].

    `sizes`: nccl-tests' size, bytes, as numbers or texts such as "64K" (2^16). `dtype`: by name or NumPy's; `op`: "sum", ...
    `engine`: docs/guide/simulation.md has them. `slot`: bytes of a connection's slot, 0: as NCCL's by size. `placement`: where
    ranks sit, "auto" (None likewise), "file", "packed" or "scattered" (docs/guide/topologies.md). `scenario`: what else happens; a
    record then has `alone_ns`, `slowdown` and `parts` as well. Times in records are in ns, rates in 10^9 bytes a second.

    Raises BadArgumentError for what is no argument, RondeError where a replay fails, TypeError for what is of another kind.
    """
    if placement is not None or scenario is not None:
        return _by_command((), schedule, topology, sizes, engine=engine, dtype=dtype, op=op, slot=slot, placement=placement,
                           scenario=scenario)
    forecast = _Forecast(schedule, topology, dtype, op, slot, engine)

    def replay(size: int, cancel: Any) -> dict[str, Any]:
        error = errors.record()
        forecast.forecast.sim.cancel = cancel
        record = ffi.new("struct ronde_record *")
        result = ffi.new("struct ronde_sim_result *")
        errors.check(lib.ronde_record_replay(forecast.at(size), forecast._engine, record, result, error), error)
        return {**forecast.row(record), "busiest_link": _text(result.busiest_link),
                "busiest_utilisation": result.busiest_utilisation}

    return Records(interruptible(functools.partial(replay, size)) for size in sizes_of(sizes))


def why(schedule: Schedule, topology: Topology, sizes: Union[Size, Iterable[Size]], *, engine: str = "auto",
        dtype: str = "float32", op: str = "sum", slot: Size = 0, placement: Optional[str] = None,
        scenario: Optional[Scenario] = None) -> Records:
    """
    What the time at each size is made of, and what limits it: why(ring, machine, "1G")[0]["bottleneck"].

    `schedule`, `topology`, `sizes`, `engine`, `dtype`, `op`, `slot`, `placement`, `scenario`, most keys and what it raises are as
    for `simulate`. Besides, a record has `bottleneck`, a sentence; the parts of the critical path, which add up to 1:
    `latency_fraction`, `bandwidth_fraction`, `reduction_fraction`, `overhead_fraction`, `slot_wait_fraction`,
    `share_wait_fraction`, `late_wait_fraction`; and the busiest `links` (docs/guide/scenarios.md).
    """
    return _by_command(("--why",), schedule, topology, sizes, engine=engine, dtype=dtype, op=op, slot=slot, placement=placement,
                       scenario=scenario)


def price(schedule: Schedule, topology: Topology, sizes: Union[Size, Iterable[Size]], *, dtype: str = "float32",
          op: str = "sum", slot: Size = 0, engines: Union[str, Iterable[str]] = ("closed_form", "dag")) -> Records:
    """
    Prices a schedule by its formula (closed_form) and by the longest path through its steps (dag), or by one of these `engines`:
    price(ring, machine, "1G")[0]["time_ns"], in ns. `schedule`, `topology`, `sizes`, `dtype`, `op`, `slot` and what it raises are
    as for `simulate`.
    """
    forecast = _Forecast(schedule, topology, dtype, op, slot, "auto")
    functions = {"closed_form": lib.ronde_record_closed_form, "dag": lib.ronde_record_dag}

    def ask(engine: str, size: int, cancel: Any) -> dict[str, Any]:
        del cancel  # a formula and a longest path are quick
        error = errors.record()
        record = ffi.new("struct ronde_record *")
        errors.check(functions[engine](forecast.at(size), record, error), error)
        return forecast.row(record)

    engines = texts(engines, "engines")
    for engine in engines:
        if engine not in functions:
            raise errors.BadArgumentError(f"engine {engine!r}: there are {', '.join(functions)}")
    return Records(interruptible(functools.partial(ask, engine, size)) for size in sizes_of(sizes) for engine in engines)


def _options(selector: Any, decision: Any) -> str:
    """What makes `ronde sim -a ALGORITHM` replay the decision: channels, placement, slot, as far as they are no defaults."""
    text = ffi.new("char[]", lib.RONDE_SETUP_OPTIONS_BYTES)
    return _text(lib.ronde_decision_options(selector, decision, text)) or ""


def _decision(selector: Any, request: Any, size: int) -> dict[str, Any]:
    error = errors.record()
    decision = ffi.new("struct ronde_decision *")
    count = lib.ronde_collective_count(request.collective, request.ranks, size, selector.options.dtype)
    errors.check(lib.ronde_selector_decide(selector, count, decision, error), error)
    best, second = decision.best, decision.second
    quotes, candidates = selector.quotes, selector.choice.candidates
    has_second = second != lib.RONDE_NONE
    return {
        "kind": "plan", "collective": _text(lib.ronde_collective_text(request.collective)), "ranks": request.ranks,
        "bytes": size, "count": count, "dtype": _text(lib.ronde_dtype_text(selector.options.dtype)),
        "algorithm": _text(candidates[best].request.algorithm), "options": _options(selector, decision),
        "time_ns": quotes[best].time_ns,
        "engine": _text(quotes[best].engine), "exact": bool(quotes[best].is_exact),
        "runner_up": _text(candidates[second].request.algorithm) if has_second else None,
        "runner_up_ns": quotes[second].time_ns if has_second else None}


def plan(collective: str, topology: Topology, sizes: Union[Size, Iterable[Size]], *, ranks: int = 0, root: int = 0,
         dtype: str = "float32", op: str = "sum", slot: Size = 0, engine: str = "auto",
         synthesize: Optional[bool] = None) -> Records:
    """
    Which algorithm of a `collective` is best at each size, and by how much: winner, runner-up and their times in ns. Schedules made
    for the machine (forest_...) are weighed where they are quickly made and replayed; `synthesize` weighs all of them, or none.
    `ranks`: 0: the machine's hosts; `root`: where there is one. `topology`, `sizes`, `dtype`, `op`, `slot`, `engine` and what it
    raises are as for `simulate`.
    """
    topology = machine_of(topology)
    forests = {None: lib.RONDE_FORESTS_QUICK, True: lib.RONDE_FORESTS_ALL, False: lib.RONDE_FORESTS_NONE}
    if synthesize not in (None, True, False):
        raise TypeError(f"synthesize: expected True, False or None, not {synthesize!r:.100}")
    given = ffi.new("char[]", text(engine, "engine"))
    options = ffi.new("struct ronde_tune_options *", {
        "dtype": names.dtype(dtype), "op": names.op(op), "slot_bytes": size_of(slot), "engine": given,
        "forests": forests[synthesize]})
    request = ffi.new("struct ronde_compile_request *", {
        "collective": names.collective(collective), "ranks": whole(ranks, "ranks") or topology.hosts,
        "root": whole(root, "root")})
    wanted = sizes_of(sizes)

    def decide(cancel: Any) -> Records:
        error = errors.record()
        selector = ffi.gc(ffi.new("struct ronde_selector *"), lib.ronde_selector_close)
        options.cancel = cancel
        errors.check(lib.ronde_selector_open(options, request, selector, error), error)
        errors.check(lib.ronde_selector_use(selector, topology._handle, ffi.NULL, 0xffffffff, error), error)
        return Records(_decision(selector, request, size) for size in wanted)

    # `given` lives as long as what has its address, a call that goes on included.
    return interruptible(lambda cancel: (decide(cancel), given)[0])
