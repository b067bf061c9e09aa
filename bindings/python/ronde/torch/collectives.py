"""
The operations of a process group, by the names that torch's front end and its C++ call: those of version 1.13 and those
since. Each takes torch's lists and option structs apart and starts one call of ronde.h, or one per tensor.
"""
from __future__ import annotations

from datetime import timedelta
from typing import Any, Callable, Optional, Sequence, Union

import torch

from .._native import lib
from ..communicator import Blocks, Communicator, pointer
from ..operation import Operation, nanoseconds
from . import options as O
from . import pools, profiling
from . import tensors as T
from .device import Device, StreamOperation
from .layouts import Copies, Layout
from .monitored_barrier import monitored_barrier
from .sparse import all_reduce_sparse
from .store import holder_named
from .work import RondeWork

Tensors = Sequence[torch.Tensor]
Limit = Optional[timedelta]
Pending = Union[Operation, StreamOperation, None]


_says_when_it_waits = hasattr(O.AllreduceOptions, "asyncOp")
_NEVER = timedelta(0)


class State:
    """What the group and its backend object share."""

    def __init__(self, communicator: Communicator, store: Any, timeout: timedelta) -> None:
        self.communicator: Optional[Communicator] = communicator
        self.rank = communicator.rank
        self.size = communicator.size
        self.store = store
        self.timeout = timeout
        self.barriers = 0
        # Calls so far, the same number on all ranks, and messages of this one.
        self.calls = 0
        self.messages = 0
        # What a profile says of the group, which has its name only after it is made.
        self.described: Callable[[], profiling.Group] = lambda: profiling.Group("", "", self.rank, range(self.size))
        self.coalesced: Optional[list[RondeWork]] = None
        self.device: Optional[Device] = None
        # What is registered of a memory pool, by its id.
        self.pools: dict[Any, list[Any]] = {}
        # The name of the backend that torch was asked for CUDA tensors; a group of ronde's is always the whole group.
        self.cuda_backend: Callable[[], str] = lambda: "ronde"

    def device_of(self, device: torch.device, what: str) -> Device:
        """The GPU of this rank; its first tensor or memory pool decides which."""
        if self.device is None:
            other = self.cuda_backend()
            if other != "ronde":
                raise ValueError(f"{what}a tensor is on {device}, and torch was asked for {other} there: a group of "
                                 f"ronde's is always the whole group. Use dist.new_group(backend=\"{other}\") for such tensors")
            self.device = Device(self.alive(), device, what)
        if self.device.device != device:
            raise ValueError(f"{what}a tensor is on {device}, earlier ones of this group on {self.device.device}: "
                             "a rank has one GPU")
        return self.device

    def alive(self) -> Communicator:
        if self.communicator is None:
            raise RuntimeError("this process group of ronde was destroyed")
        if self.communicator._is_foreign:
            self.communicator._alive()
        return self.communicator

    def close(self) -> None:
        """Lets go of the store, too: a FileStore is deleted by its last user."""
        communicator, self.communicator, self.store = self.communicator, None, None
        if communicator is not None:
            communicator.close()


class Collectives:
    """Mixed into the group and into its backend object."""

    _state: State

    # -- starting calls -----------------------------------------------------------------------------------------------

    def _wait(self, opts: Any) -> bool:
        """Whether the front end waits for the operation at once anyway (torch since 2.6 says so)."""
        return _says_when_it_waits and not opts.asyncOp and self._state.coalesced is None

    def _work(self, operations: Sequence[Pending], outputs: list[torch.Tensor],
              finish: Optional[Callable[[], None]] = None) -> Optional[RondeWork]:
        # The front end takes None as over, from operations that it would wait for at once.
        if len(operations) == 1 and operations[0] is None:
            if finish is not None:
                finish()
            return None
        work = RondeWork([operation for operation in operations if operation is not None], outputs, finish)
        if self._state.coalesced is not None:
            self._state.coalesced.append(work)
        return work

    def _start(self, what: int, name: str, opts: Any, keep: Any, in_: Optional[torch.Tensor],
               out: Optional[torch.Tensor], count: int, dtype: int, in_blocks: Optional[Blocks] = None,
               out_blocks: Optional[Blocks] = None, op: int = 0, root: int = 0, factor: Any = None,
               is_v: bool = False) -> Pending:
        """`keep`: what goes in and what comes out, a tensor or a list each, or one tensor that is both."""
        state = self._state
        state.calls += 1
        sample = in_ if in_ is not None else out
        device = None if sample is None or sample.is_cpu else state.device_of(sample.device, name)
        stream = device.stream() if device else None
        wait = stream is None and self._wait(opts)
        timeout = opts.timeout
        limit_ns = nanoseconds(timeout.total_seconds()) if timeout > _NEVER else 0
        places = in_.data_ptr() if in_ is not None else 0, out.data_ptr() if out is not None else 0
        handle = stream.cuda_stream if stream else 0
        call = profiling.Call(state.described(), name[:-2], state.calls, keep, not wait, is_v) if profiling.is_on() else None
        try:
            if in_blocks is None and out_blocks is None and factor is None:
                operation = state.alive().start_plain(name, what, dtype, op, root, *places, count, limit_ns, handle, wait, keep)
            else:
                fields = {"collective": what, "dtype": dtype, "op": op, "root": root, "is_v": is_v, "count": count,
                          "in": pointer(places[0]), "out": pointer(places[1]), "timeout_ns": limit_ns, "stream": pointer(handle)}
                if factor is not None:
                    fields["factor"] = factor
                operation = state.alive().start(name, fields, wait, keep, in_blocks, out_blocks)
            if call is not None:
                call.goes_on(operation)
        finally:
            if call is not None:
                call.leave()
        return StreamOperation(operation, device.device, stream) if device and operation else operation

    def _reduction(self, name: str, tensor: torch.Tensor, opts: Any) -> tuple[int, int, int, Any]:
        """Type, width, operator and premul_sum's factor of what reduces."""
        reduce_op = opts.reduceOp
        op = T.operator(reduce_op)
        dtype, width = T.reduced(tensor, op, name)
        return dtype, width, op, T.factor(reduce_op, dtype) if op == lib.RONDE_PREMUL_SUM else None

    # -- one tensor to or from all --------------------------------------------------------------------------------------

    def broadcast(self, tensors: Tensors, opts: Any = None, timeout: Limit = None, *,
                  root: Optional[int] = None) -> Optional[RondeWork]:
        opts = O.options(O.BroadcastOptions, opts, timeout, "rootRank", rootRank=root)
        tensor = T.only(O.listed(tensors), "broadcast", Layout.DENSE)
        dtype, width = T.moved(tensor)
        copies = Copies()
        plain = copies.read(tensor) if self._state.rank == opts.rootRank else copies.written(tensor)
        operation = self._start(lib.RONDE_BROADCAST, "broadcast: ", opts, plain, plain, plain,
                                tensor.numel() * width, dtype, root=opts.rootRank)
        return self._work([operation], [tensor], copies.finish)

    def _all_reduce(self, tensor: torch.Tensor, opts: Any, copies: Copies) -> Pending:
        dtype, width, op, factor = self._reduction("all_reduce", tensor, opts)
        plain = copies.updated(tensor)
        return self._start(lib.RONDE_ALL_REDUCE, "all_reduce: ", opts, plain, plain, plain,
                           tensor.numel() * width, dtype, op=op, factor=factor)

    def allreduce(self, tensors: Tensors, opts: Any = None, timeout: Limit = None, *, op: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllreduceOptions, opts, timeout, "reduceOp", reduceOp=op)
        tensors = O.listed(tensors)
        if len(tensors) == 1 and tensors[0].is_sparse:
            return self.allreduce_sparse(tensors, opts)
        tensor = T.only(tensors, "all_reduce", Layout.DENSE)
        copies = Copies()
        return self._work([self._all_reduce(tensor, opts, copies)], [tensor], copies.finish)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllreduceCoalescedOptions, opts)
        if not tensors:
            raise ValueError("all_reduce_coalesced: requires at least one tensor")
        T.alike(tensors, tensors[0], "all_reduce_coalesced", Layout.STRIDED)
        copies = Copies()
        operations = [self._all_reduce(tensor, opts, copies) for tensor in tensors]
        return self._work(operations, list(tensors), copies.finish)

    def allreduce_sparse(self, tensors: Tensors, opts: Any = None) -> RondeWork:
        """Waits: how many entries there are is known only when all ranks have said it."""
        all_reduce_sparse(self, tensors, O.options(O.AllreduceOptions, opts))
        return self._work([], list(tensors))

    def reduce(self, tensors: Tensors, opts: Any = None, op: Any = None, timeout: Limit = None, *,
               root: Optional[int] = None) -> Optional[RondeWork]:
        opts = O.options(O.ReduceOptions, opts, timeout, "rootRank", rootRank=root, reduceOp=op)
        tensor = T.only(O.listed(tensors), "reduce", Layout.DENSE)
        dtype, width, op, factor = self._reduction("reduce", tensor, opts)
        copies = Copies()
        is_root = self._state.rank == opts.rootRank
        plain = copies.updated(tensor) if is_root else copies.read(tensor)
        operation = self._start(lib.RONDE_REDUCE, "reduce: ", opts, plain, plain, plain if is_root else None,
                                tensor.numel() * width, dtype, root=opts.rootRank, op=op, factor=factor)
        return self._work([operation], [tensor], copies.finish)

    # -- a block per rank -----------------------------------------------------------------------------------------------

    def _lists(self, name: str, lists: Tensors, single: torch.Tensor, layout: Layout) -> bool:
        """Checks a list of a tensor per rank against this rank's own; returns whether they differ in length."""
        if len(lists) != self._state.size:
            raise ValueError(f"{name}: a list of {len(lists)} tensors for {self._state.size} ranks")
        T.alike(lists, single, name, layout)
        if lists[self._state.rank].numel() != single.numel():
            raise ValueError(f"{name}: this rank's tensor has {single.numel()} elements, its place in the list "
                             f"{lists[self._state.rank].numel()}")
        return any(tensor.numel() != single.numel() for tensor in lists)

    def allgather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllgatherOptions, opts)
        outputs = O.nested(outputs)
        tensor = T.only(O.listed(inputs), "all_gather", Layout.STRIDED)
        if len(outputs) != 1:
            raise ValueError(f"all_gather: requires a single output list, not {len(outputs)}")
        copies = Copies()
        return self._work([self._all_gather(outputs[0], tensor, opts, copies)], list(outputs[0]), copies.finish)

    def _all_gather(self, outputs: Tensors, tensor: torch.Tensor, opts: Any, copies: Copies) -> Pending:
        is_v = self._lists("all_gather", outputs, tensor, Layout.STRIDED)
        dtype, width = T.moved(tensor)
        count = max(output.numel() for output in outputs) * width
        tensor, outputs = copies.read(tensor), copies.writes(outputs)
        mine = T.blocks([tensor], width, True) if is_v else None
        return self._start(lib.RONDE_ALL_GATHER, "all_gather: ", opts, (tensor, outputs), tensor, None, count, dtype,
                           mine, T.blocks(outputs, width, is_v), is_v=is_v)

    def allgather_coalesced(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> RondeWork:
        """`outputs` has a list per rank, each with a tensor per input."""
        opts = O.options(O.AllgatherOptions, opts)
        if len(outputs) != self._state.size or any(len(of_rank) != len(inputs) for of_rank in outputs):
            raise ValueError(f"all_gather_coalesced: output lists must be {self._state.size} of {len(inputs)} tensors")
        operations = []
        copies = Copies()
        for index, tensor in enumerate(inputs):
            T.check(tensor, "all_gather_coalesced", Layout.STRIDED)
            operations.append(self._all_gather([of_rank[index] for of_rank in outputs], tensor, opts, copies))
        return self._work(operations, [tensor for of_rank in outputs for tensor in of_rank], copies.finish)

    def _flat(self, name: str, whole: torch.Tensor, part: torch.Tensor, layout: Layout = Layout.STRIDED) -> None:
        T.check(part, name, layout)
        T.alike([whole], part, name, layout)
        if whole.numel() != part.numel() * self._state.size:
            raise ValueError(f"{name}: tensors of {whole.numel()} and {part.numel()} elements on {self._state.size} "
                             "ranks: one must be as many times as long as the other")

    def _all_gather_flat(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any, copies: Copies) -> Pending:
        self._flat("all_gather_into_tensor", output, tensor)
        dtype, width = T.moved(tensor)
        tensor, output = copies.read(tensor), copies.written(output)
        return self._start(lib.RONDE_ALL_GATHER, "all_gather: ", opts, (tensor, output), tensor, output,
                           tensor.numel() * width, dtype)

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllgatherOptions, opts)
        copies = Copies()
        return self._work([self._all_gather_flat(output, tensor, opts, copies)], [output], copies.finish)

    def all_gather_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllgatherOptions, opts)
        copies = Copies()
        operations = [self._all_gather_flat(output, tensor, opts, copies) for output, tensor in zip(outputs, inputs)]
        return self._work(operations, list(outputs), copies.finish)

    def _reduce_scatter_flat(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any, copies: Copies) -> Pending:
        self._flat("reduce_scatter_tensor", tensor, output)
        dtype, width, op, factor = self._reduction("reduce_scatter", output, opts)
        tensor, output = copies.read(tensor), copies.written(output)
        # What is in place may destroy the rest of its input, which torch leaves as it is.
        own = output.numel() * output.element_size()
        keep = tensor.clone() if output.data_ptr() == tensor.data_ptr() + self._state.rank * own and own else tensor
        return self._start(lib.RONDE_REDUCE_SCATTER, "reduce_scatter: ", opts, (keep, output), keep, output,
                           output.numel() * width, dtype, op=op, factor=factor)

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.ReduceScatterOptions, opts)
        copies = Copies()
        return self._work([self._reduce_scatter_flat(output, tensor, opts, copies)], [output], copies.finish)

    def reduce_scatter_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.ReduceScatterOptions, opts)
        copies = Copies()
        operations = [self._reduce_scatter_flat(output, tensor, opts, copies) for output, tensor in zip(outputs, inputs)]
        return self._work(operations, list(outputs), copies.finish)

    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any = None, timeout: Limit = None, *,
                       op: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.ReduceScatterOptions, opts, timeout, "reduceOp", reduceOp=op)
        inputs = O.nested(inputs)
        output = T.only(O.listed(outputs), "reduce_scatter")
        if len(inputs) != 1:
            raise ValueError(f"reduce_scatter: requires a single input list, not {len(inputs)}")
        is_v = self._lists("reduce_scatter", inputs[0], output, Layout.STRIDED)
        dtype, width, op, factor = self._reduction("reduce_scatter", output, opts)
        count = max(tensor.numel() for tensor in inputs[0]) * width
        copies = Copies()
        plain = copies.written(output)
        mine = T.blocks([plain], width, True) if is_v else None
        # An input that is the output, too, is read after it was written.
        given = [tensor.clone() if tensor.data_ptr() == plain.data_ptr() else tensor for tensor in copies.reads(inputs[0])]
        operation = self._start(lib.RONDE_REDUCE_SCATTER, "reduce_scatter: ", opts, (given, plain), None, plain,
                                count, dtype, T.blocks(given, width, is_v), mine, is_v=is_v, op=op, factor=factor)
        return self._work([operation], [output], copies.finish)

    def _of_root(self, name: str, side: str, lists: Sequence[Tensors], single: torch.Tensor, root: int,
                 layout: Layout = Layout.CONTIGUOUS) -> list[torch.Tensor]:
        """The list of a tensor per rank that the root alone gives."""
        if self._state.rank != root:
            if lists:
                raise ValueError(f"{name}: only the root has {side}s")
            return []
        if len(lists) != 1:
            raise ValueError(f"{name}: the root requires a single {side} list, not {len(lists)}")
        given = list(lists[0])
        if self._lists(name, given, single, layout):
            raise ValueError(f"{name}: tensors must have the same number of elements")
        return given

    def gather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None, timeout: Limit = None, *,
               root: Optional[int] = None) -> Optional[RondeWork]:
        opts = O.options(O.GatherOptions, opts, timeout, "rootRank", rootRank=root)
        outputs = O.nested(outputs)
        tensor = T.only(O.listed(inputs), "gather", Layout.STRIDED)
        dtype, width = T.moved(tensor)
        given = self._of_root("gather", "output", outputs, tensor, opts.rootRank, Layout.STRIDED)
        copies = Copies()
        plain, written = copies.read(tensor), copies.writes(given)
        operation = self._start(lib.RONDE_GATHER, "gather: ", opts, (plain, written), plain, None, tensor.numel() * width,
                                dtype, None, T.blocks(written, width, False) if written else None, root=opts.rootRank)
        return self._work([operation], given, copies.finish)

    def gather_single(self, output: Optional[torch.Tensor], tensor: torch.Tensor, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.GatherOptions, opts)
        is_root = self._state.rank == opts.rootRank
        if is_root:
            self._flat("gather_into_tensor", output, tensor, Layout.CONTIGUOUS)
        T.check(tensor, "gather_into_tensor")
        dtype, width = T.moved(tensor)
        copies = Copies()
        plain, out = copies.read(tensor), copies.written(output) if is_root else None
        operation = self._start(lib.RONDE_GATHER, "gather: ", opts, (plain, out), plain, out, tensor.numel() * width,
                                dtype, root=opts.rootRank)
        return self._work([operation], [output] if is_root else [], copies.finish)

    def scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any = None, timeout: Limit = None, *,
                root: Optional[int] = None) -> Optional[RondeWork]:
        opts = O.options(O.ScatterOptions, opts, timeout, "rootRank", rootRank=root)
        inputs = O.nested(inputs)
        output = T.only(O.listed(outputs), "scatter")
        dtype, width = T.moved(output)
        copies = Copies()
        given = copies.reads(self._of_root("scatter", "input", inputs, output, opts.rootRank))
        plain = copies.written(output)
        operation = self._start(lib.RONDE_SCATTER, "scatter: ", opts, (given, plain), None, plain, output.numel() * width,
                                dtype, T.blocks(given, width, False) if given else None, None, root=opts.rootRank)
        return self._work([operation], [output], copies.finish)

    def all_to_all_single(self, output: torch.Tensor, tensor: torch.Tensor, output_splits: Sequence[int],
                          input_splits: Sequence[int], opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllToAllOptions, opts)
        name = "all_to_all_single"
        T.check(tensor, name)
        T.alike([output], tensor, name, Layout.STRIDED)
        dtype, width = T.moved(tensor)
        size = self._state.size
        in_counts, in_offsets = T.rows(tensor, input_splits, size, width, name)
        out_counts, out_offsets = T.rows(output, output_splits, size, width, name)
        copies = Copies()
        given, out = copies.read(tensor), copies.written(output)
        if output_splits or input_splits:
            operation = self._start(lib.RONDE_ALL_TO_ALL, "all_to_all: ", opts, (given, out), given, out, 0, dtype,
                                    Blocks(None, in_counts, in_offsets), Blocks(None, out_counts, out_offsets), is_v=True)
        elif in_counts[0] != out_counts[0]:
            raise ValueError(f"{name}: {tensor.numel()} elements go out and {output.numel()} come in, without split sizes")
        else:
            operation = self._start(lib.RONDE_ALL_TO_ALL, "all_to_all: ", opts, (given, out), given, out, in_counts[0], dtype)
        return self._work([operation], [output], copies.finish)

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.AllToAllOptions, opts)
        name = "all_to_all"
        if len(outputs) != self._state.size or len(inputs) != self._state.size:
            raise ValueError(f"{name}: lists of {len(outputs)} and {len(inputs)} tensors for {self._state.size} ranks")
        T.alike([*outputs, *inputs], inputs[0], name, Layout.STRIDED)
        dtype, width = T.moved(inputs[0])
        copies = Copies()
        given, written = copies.reads(inputs), copies.writes(outputs)
        operation = self._start(lib.RONDE_ALL_TO_ALL, "all_to_all: ", opts, (given, written), given[0], None, 0,
                                dtype, T.blocks(given, width, True), T.blocks(written, width, True), is_v=True)
        return self._work([operation], list(outputs), copies.finish)

    # -- messages -----------------------------------------------------------------------------------------------------

    def _message(self, name: str, tensor: torch.Tensor, begin: Callable[[], Operation]) -> Operation:
        state = self._state
        state.messages += 1
        if not profiling.is_on():
            return begin()
        call = profiling.Call(state.described(), name, state.messages, tensor, True)
        try:
            operation = begin()
            call.goes_on(operation)
        finally:
            call.leave()
        return operation

    def send(self, tensors: Tensors, peer: int, tag: int = 0) -> RondeWork:
        tensor = T.only(O.listed(tensors), "send")
        dtype, width = T.moved(tensor)
        # Messages are the host's: those of a GPU are copied, after what its current stream does.
        given = Copies().read(tensor if tensor.is_cpu else tensor.cpu())
        operation = self._message(f"send {self._state.rank}->{peer}", given, lambda: self._state.alive().send(
            given.data_ptr(), given.numel() * width, dtype, peer, tag, given))
        return self._work([operation], [tensor])

    def recv(self, tensors: Tensors, peer: Optional[int], tag: int = 0) -> RondeWork:
        tensor = T.only(O.listed(tensors), "recv")
        dtype, width = T.moved(tensor)
        copies = Copies()
        got = copies.received(tensor)
        operation = self._message(f"recv {self._state.rank}<-{'any' if peer is None else peer}", got, lambda: self._state.alive().recv(
            got.data_ptr(), got.numel() * width, dtype, peer, tag, got))
        return self._work([operation], [tensor], copies.finish)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> RondeWork:
        return self.recv(tensors, None, tag)

    # -- barriers -----------------------------------------------------------------------------------------------------

    def barrier(self, opts: Any = None) -> Optional[RondeWork]:
        opts = O.options(O.BarrierOptions, opts)
        if self._state.device is not None:
            torch.cuda.current_stream(self._state.device.device).synchronize()
        operation = self._start(lib.RONDE_BARRIER, "barrier: ", opts, None, None, None, 0, 0)
        return self._work([operation], [])

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """`timeout` is a time, or the option struct in which C++ hands it over."""
        limit = O.interval(getattr(timeout, "timeout", timeout))
        if limit is None or limit < timedelta(0):
            limit = self._state.timeout
        self._state.alive()
        self._state.barriers += 1
        with holder_named(self._state.rank):
            monitored_barrier(self._state, limit, wait_all_ranks)

    # -- memory -------------------------------------------------------------------------------------------------------

    def register_mem_pool(self, pool: Any, symm: bool = False) -> None:
        """What the pool (torch.cuda.MemPool) has mapped so far is read in place by the others. On all ranks together."""
        pools.register(self, pool, symm)

    def deregister_mem_pool(self, pool: Any) -> None:
        pools.deregister(self, pool)

    # -- coalescing ---------------------------------------------------------------------------------------------------

    def _start_coalescing(self, _device: Any = None) -> None:
        self._state.coalesced = []

    def _end_coalescing(self, _device: Any = None) -> RondeWork:
        works, self._state.coalesced = self._state.coalesced or [], None
        return RondeWork.of(works)

    # -- names of other versions of torch ---------------------------------------------------------------------------------

    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single
    gather_into_tensor = gather_single
    recvAnysource = recv_anysource
    monitoredBarrier = monitored_barrier
