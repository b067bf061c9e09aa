"""Schedules: compiled or read, proved before anyone has them, run on arrays."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Optional, Sequence

from . import errors, names
from .arguments import apart, array, text as text_of, whole, wholes
from ._extra import extra
from ._interrupt import interruptible
from ._native import ffi, lib

_MEM = lib.ronde_mem_default()


@dataclass(frozen=True)
class Proof:
    """What was proved of a schedule (struct ronde_proof): a schedule that is none does not come to be."""

    quotient: bool
    exact: bool
    min_depth: int
    critical_path: int
    steps: int
    messages: int
    sent_chunks_max: int
    reduced_chunks_max: int
    rank_dependent_bits: bool


class Schedule:
    """
    A proved, immutable schedule. Made by `compile`, `build`, `synthesize` or `Schedule.read`.

    What makes or runs one raises BadArgumentError for names, texts, numbers and arrays that are wrong, RondeError (status
    "rejected") for a schedule whose proof fails, TypeError for arguments of another kind.
    """

    def __init__(self, handle: Any, request: Any, keep: Any = None) -> None:
        self._handle = ffi.gc(handle, lib.ronde_schedule_destroy)
        self._request = request
        # The algorithm's name, of one that was compiled: what it leaves open is decided for the machine it is predicted on.
        self._keep = keep

    @classmethod
    def read(cls, text: str, name: str = "text") -> Schedule:
        """Reads, checks and proves a schedule: `text`, in ronde's own format; `name` stands in messages."""
        if not isinstance(text, str):
            raise TypeError(f"text: expected a schedule's text, not {type(text).__name__}")
        data = text.encode()
        out = ffi.new("struct ronde_schedule **")
        error = errors.record()
        errors.check(lib.ronde_schedule_read(data, len(data), name.encode(), _MEM, ffi.NULL, out, error), error)
        return cls(out[0], ffi.new("struct ronde_compile_request *", lib.ronde_schedule_file_request(out[0])))

    @property
    def collective(self) -> str:
        """By the name that `compile` takes."""
        return ffi.string(lib.ronde_collective_text(self._handle.collective)).decode()

    @property
    def algorithm(self) -> str:
        """By name; of a schedule that was built, its function's."""
        return ffi.string(self._handle.algorithm).decode()

    @property
    def ranks(self) -> int:
        """How many ranks take part."""
        return int(self._handle.ranks)

    @property
    def root(self) -> int:
        """The rank that has or gets everything, 0 where there is none."""
        return int(self._handle.root)

    @property
    def hash(self) -> str:
        """Equal hash, equal schedule."""
        return f"{self._handle.hash:016x}"

    @property
    def _words(self) -> list[object]:
        """The command line's words for a schedule that was compiled."""
        request = self._request
        words: list[object] = [self.collective, "-a", self.algorithm, "-N", self.ranks, "-r", self.root]
        if request.channels:
            words += ["--channels", request.channels]
        if request.shape_count:
            words += ["--shape", "x".join(str(request.shape[k]) for k in range(request.shape_count))]
        return words

    @property
    def proof(self) -> Proof:
        """What was proved of it, and what it costs."""
        proof = self._handle.proof
        return Proof(bool(proof.quotient), proof.method == lib.RONDE_PROOF_EXACT, proof.min_depth, proof.critical_path,
                     proof.steps, proof.messages, proof.sent_chunks_max, proof.reduced_chunks_max,
                     bool(proof.rank_dependent_bits))

    @property
    def text(self) -> str:
        """The schedule in its text format, which `read` reads."""
        out = ffi.new("char **")
        size = ffi.new("size_t *")
        error = errors.record()
        errors.check(lib.ronde_schedule_print(self._handle, _MEM, out, size, error), error)
        try:
            return bytes(ffi.buffer(out[0], size[0])).decode()
        finally:
            lib.ronde_mem_free(_MEM, out[0], size[0] + 1, 1)

    def __repr__(self) -> str:
        return f"<ronde.Schedule {self.collective} {self.algorithm} on {self.ranks} ranks, {self.hash}>"

    def run(self, inputs: Sequence[Any], outputs: Optional[Sequence[Any]] = None, *, op: str = "sum",
            slot_bytes: int = 0) -> list[Any]:
        """
        Runs it on NumPy arrays by the executor that is the specification, and returns the outputs.

        `inputs`, `outputs`: contiguous arrays of one type, one per rank, None for ranks without one; of shapes only the number of
        elements counts. With n elements a block, all_reduce takes (n,) to (n,), all_gather (n,) to (ranks * n,), reduce_scatter the
        reverse. Without outputs they are made; outputs that are the inputs run in place. `op`: "sum", "min", ... `slot_bytes`: of a
        connection's slot, 0: unlimited. Ctrl-C comes back at once; what has begun goes on in the arrays until it is over.
        """
        return _run(self, inputs, outputs, names.op(op), slot_bytes)


def compile(collective: str, algorithm: str, ranks: int, *, root: int = 0, channels: int = 0,
            shape: Sequence[int] = ()) -> Schedule:
    """
    Compiles and proves an algorithm: compile("all_reduce", "ring", ranks=8).

    `collective`, `algorithm`: by name (`algorithms`). `ranks`: how many; `root`: of broadcast, reduce, gather and scatter.
    `channels`: 0: as the machine has NICs, where it is predicted. `shape`: ranks as a grid, (nodes, GPUs of one). Raises
    BadArgumentError for names, numbers, and ranks that the algorithm does not take.
    """
    digits = wholes(shape, "shape")
    if len(digits) > lib.RONDE_MAX_SHAPE:
        raise errors.BadArgumentError(f"a shape of {len(digits)} digits: at most {lib.RONDE_MAX_SHAPE}")
    name = ffi.new("char[]", text_of(algorithm, "algorithm"))
    request = ffi.new("struct ronde_compile_request *", {
        "collective": names.collective(collective), "algorithm": name, "ranks": whole(ranks, "ranks"),
        "root": whole(root, "root"), "channels": whole(channels, "channels"), "shape_count": len(digits), "shape": digits})

    def work(cancel: Any) -> Schedule:
        del cancel  # proofs do not look at it
        out = ffi.new("struct ronde_schedule **")
        error = errors.record()
        errors.check(lib.ronde_compile(request, _MEM, ffi.NULL, out, error), error)
        return Schedule(out[0], request, name)

    return interruptible(work)


def algorithms(collective: str) -> list[str]:
    """The names of the algorithms of a `collective`. Raises BadArgumentError where there is no such collective."""
    wanted = names.collective(collective)
    count = ffi.new("uint32_t *")
    table = lib.ronde_algorithms(count)
    return [ffi.string(table[k].name).decode() for k in range(count[0]) if table[k].collective == wanted]


def _count(schedule: Schedule, blocks: int, arrays: Sequence[Any], what: str) -> Optional[int]:
    """Elements of a block, as one side's arrays have it."""
    sizes = {array.size for array in arrays if array is not None}
    if len(sizes) > 1 or any(size % max(blocks, 1) for size in sizes):
        raise errors.BadArgumentError(f"{what} of {sorted(sizes)} elements: must be {blocks} equal blocks on every rank")
    return sizes.pop() // blocks if sizes and blocks else None


def _view(array: Any, writable: bool, what: str) -> Any:
    try:
        return None if array is None else ffi.from_buffer(array, require_writable=writable)
    except (TypeError, ValueError, BufferError) as reason:
        raise errors.BadArgumentError(f"{what}: {reason}") from reason


def _pointers(arrays: Sequence[Any], writable: bool, what: str) -> tuple[Any, list[Any]]:
    views = [_view(array, writable, f"{what}[{rank}]") for rank, array in enumerate(arrays)]
    starts = ffi.new("void *[]", [ffi.NULL if view is None else ffi.cast("void *", view) for view in views])
    return starts, views


def _arrays(arrays: Any, what: str) -> list[Any]:
    if not hasattr(arrays, "__iter__"):
        raise TypeError(f"{what}: expected an array for each rank, not {type(arrays).__name__}")
    return [None if one is None else array(one, f"{what}[{rank}]") for rank, one in enumerate(arrays)]


def _run(schedule: Schedule, inputs: Sequence[Any], outputs: Optional[Sequence[Any]], op: int, slot_bytes: int) -> list[Any]:
    numpy = extra("numpy")
    inputs = _arrays(inputs, "inputs")
    outputs = None if outputs is None else _arrays(outputs, "outputs")
    what = schedule._handle.collective
    ranks = schedule.ranks
    traits = lib.ronde_collective_traits(what)
    given = next((array for array in [*inputs, *(outputs or ())] if array is not None), None)
    dtype = given.dtype if given is not None else numpy.dtype("uint8")
    in_blocks, out_blocks = (f(what, ranks) for f in (lib.ronde_collective_in_blocks, lib.ronde_collective_out_blocks))
    count = _count(schedule, in_blocks, inputs, "inputs")
    if outputs is None:
        outputs = [None if traits.out_at_root and rank != schedule.root else numpy.zeros(out_blocks * (count or 0), dtype)
                   for rank in range(ranks)]
    elif count is not None and _count(schedule, out_blocks, outputs, "outputs") != count:
        raise errors.BadArgumentError("inputs and outputs have blocks of different lengths")
    if len(inputs) != ranks or len(outputs) != ranks:
        raise errors.BadArgumentError(f"{len(inputs)} inputs and {len(outputs)} outputs for {ranks} ranks")
    if any(array is not None and array.dtype != dtype for array in [*inputs, *outputs]):
        raise errors.BadArgumentError("arrays have different types")
    starts_in, views_in = _pointers(inputs, False, "inputs")
    starts_out, views_out = _pointers(outputs, True, "outputs")
    apart([(0, 0) if view is None else (int(ffi.cast("uintptr_t", view)), len(view)) for view in views_out], "outputs")
    launch = ffi.new("struct ronde_launch *", {
        "count": count or 0, "dtype": names.dtype(dtype.name), "op": op if traits.reduces else lib.RONDE_SUM,
        "in": starts_in, "out": starts_out, "slot_bytes": whole(slot_bytes, "slot_bytes")})
    # The launch points to what the views and arrays of pointers hold, also where Ctrl-C leaves the run to itself.
    interruptible(functools.partial(_launch, schedule, launch, (starts_in, starts_out, views_in, views_out)))
    return list(outputs)


def _launch(schedule: Schedule, launch: Any, keep: Any, cancel: Any) -> None:
    del cancel  # runs do not look at it
    machine = ffi.new("struct ronde_machine *")
    own = ffi.new("void **")
    result = ffi.new("struct ronde_result *")
    error = errors.record()
    host = lib.ronde_backend_host
    errors.check(host.probe(machine, error), error)
    errors.check(host.open(machine, _MEM, own, error), error)
    try:
        errors.check(lib.ronde_backend_run_once(ffi.addressof(host), own[0], schedule._handle, launch, result, error), error)
    finally:
        host.close(own[0])
    del keep
