"""all_reduce of sparse tensors: every rank's entries are gathered and added up, as gloo does it."""
from __future__ import annotations

from typing import Any, Sequence

import torch

from .. import names
from . import tensors as T


def _gathered(group: Any, part: torch.Tensor, lengths: Sequence[int], timeout: Any) -> list[torch.Tensor]:
    """All ranks' parts, which differ in dimension 0."""
    outputs = [part.new_empty((length, *part.shape[1:])) for length in lengths]
    group.allgather([outputs], [part], timeout).wait()
    return outputs


def all_reduce_sparse(group: Any, tensors: Sequence[torch.Tensor], opts: Any) -> None:
    if len(tensors) != 1 or tensors[0].layout != torch.sparse_coo or tensors[0].device.type != "cpu":
        raise ValueError("all_reduce: requires a single sparse COO tensor on the CPU")
    if T.operator(opts.reduceOp) != names.OPS["sum"]:
        raise ValueError("all_reduce: sparse tensors can only be summed")
    timeout = opts.timeout
    tensor = tensors[0]
    mine = tensor.detach().coalesce()
    # Shape, dense dimensions and type must be the same; the number of entries is each rank's own.
    facts = torch.tensor([mine._nnz(), mine.sparse_dim(), *mine.shape], dtype=torch.int64)
    all_facts = [torch.empty_like(facts) for _ in range(group._state.size)]
    group.allgather([all_facts], [facts], timeout).wait()
    for rank, other in enumerate(all_facts):
        if not torch.equal(other[1:], facts[1:]):
            raise ValueError(f"all_reduce: rank {rank} has a sparse tensor of another shape")
    entries = [int(other[0]) for other in all_facts]
    indices = _gathered(group, mine.indices().t().contiguous(), entries, timeout)
    values = _gathered(group, mine.values().contiguous(), entries, timeout)
    total = torch.sparse_coo_tensor(torch.cat(indices).t(), torch.cat(values), mine.shape)
    with torch.no_grad():
        tensor.copy_(total.coalesce())
