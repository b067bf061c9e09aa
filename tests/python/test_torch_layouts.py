"""Tensors that are no plain memory: other layouts, conjugate and negative views. Taken where gloo gives what it should."""
from __future__ import annotations

import datetime
import os
import unittest
import warnings
from typing import Callable, Optional

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist

import ronde.torch  # noqa: F401
from ranks import run

LIMIT = datetime.timedelta(seconds=60)
Make = Callable[[torch.Tensor], torch.Tensor]


def strided(values: torch.Tensor) -> torch.Tensor:
    """With gaps between the elements."""
    wide = torch.zeros(*values.shape[:-1], 2 * values.shape[-1], dtype=values.dtype)
    wide[..., ::2] = values
    return wide[..., ::2]


# Each gives a tensor of the same values.
LAYOUTS: dict[str, Make] = {
    "contiguous": torch.clone,
    "negative": lambda values: torch._neg_view(-values),
    "channels_last": lambda values: values.clone(memory_format=torch.channels_last),
    "transposed": lambda values: values.transpose(0, 1).contiguous().transpose(0, 1),
    "strided": strided}
PLAIN, DENSE, ANY = list(LAYOUTS)[:2], list(LAYOUTS)[:4], list(LAYOUTS)


def values(rank: int) -> torch.Tensor:
    return torch.arange(1.0, 33).reshape(2, 4, 2, 2) + 100 * rank


class Calls:
    """Each method makes a call with a tensor, or several, of a layout; true where all is as it should be."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.all = [values(r) for r in range(size)]
        self.mine = values(rank)
        self.sum = sum(self.all)
        self.rows = torch.cat([one[rank * 2 // size:(rank + 1) * 2 // size] for one in self.all])
        self.is_root = rank == 0

    def same(self, got: Optional[list[torch.Tensor]], wanted: list[torch.Tensor]) -> bool:
        return got is None or all(map(torch.equal, got, wanted))

    def all_reduce(self, make: Make) -> bool:
        tensor = make(self.mine)
        dist.all_reduce(tensor)
        return torch.equal(tensor, self.sum)

    def all_reduce_later(self, make: Make) -> bool:
        tensor = make(self.mine)
        future = dist.all_reduce(tensor, async_op=True).get_future()
        return torch.equal(future.wait()[0], self.sum) and torch.equal(tensor, self.sum)

    def all_reduce_asked(self, make: Make) -> bool:
        tensor = make(self.mine)
        work = dist.all_reduce(tensor, async_op=True)
        while not work.is_completed():
            pass
        return torch.equal(tensor, self.sum)

    def broadcast(self, make: Make) -> bool:
        tensor = make(self.mine)
        dist.broadcast(tensor, 0)
        return torch.equal(tensor, self.all[0])

    def broadcast_to_another(self, make: Make) -> bool:
        # What is refused is so on all ranks.
        other = make if make is strided else LAYOUTS["transposed"]
        tensor = make(self.mine) if self.is_root else other(self.mine)
        dist.broadcast(tensor, 0)
        return torch.equal(tensor, self.all[0])

    def broadcast_of_a_parameter(self, make: Make) -> bool:
        tensor = torch.nn.Parameter(make(self.mine))
        dist.broadcast(tensor, 0)
        return torch.equal(tensor, self.all[0])

    def reduce(self, make: Make) -> bool:
        tensor = make(self.mine)
        dist.reduce(tensor, 0)
        return not self.is_root or torch.equal(tensor, self.sum)

    def all_reduce_coalesced(self, make: Make) -> bool:
        tensors = [make(self.mine), make(2 * self.mine)]
        dist.all_reduce_coalesced(tensors)
        return self.same(tensors, [self.sum, 2 * self.sum])

    def several_at_once(self, make: Make) -> bool:
        tensors = [make(self.mine), make(2 * self.mine)]
        with dist._coalescing_manager(device=torch.device("cpu")):
            for tensor in tensors:
                dist.all_reduce(tensor)
        return self.same(tensors, [self.sum, 2 * self.sum])

    def gather(self, make: Make) -> bool:
        outputs = [make(self.mine) for _ in self.all] if self.is_root else None
        dist.gather(make(self.mine), outputs, 0)
        return self.same(outputs, self.all)

    def all_gather(self, make: Make) -> bool:
        outputs = [make(self.mine) for _ in self.all]
        dist.all_gather(outputs, make(self.mine))
        return self.same(outputs, self.all)

    def all_gather_into_tensor(self, make: Make) -> bool:
        output = make(torch.cat(self.all))
        dist.all_gather_into_tensor(output, make(self.mine))
        return torch.equal(output, torch.cat(self.all))

    def reduce_scatter_tensor(self, make: Make) -> bool:
        output = make(self.mine)
        dist.reduce_scatter_tensor(output, make(torch.cat([values(r) for r in range(self.size)])))
        return torch.equal(output, self.size * self.mine)

    def reduce_scatter(self, make: Make) -> bool:
        output = self.mine.clone()
        dist.reduce_scatter(output, [make(values(r)) for r in range(self.size)])
        return torch.equal(output, self.size * self.mine)

    def reduce_scatter_into(self, make: Make) -> bool:
        output = make(self.mine)
        dist.reduce_scatter(output, [values(r) for r in range(self.size)])
        return torch.equal(output, self.size * self.mine)

    def all_to_all(self, make: Make) -> bool:
        outputs = [make(self.mine) for _ in self.all]
        dist.all_to_all(outputs, [make(self.mine) for _ in self.all])
        return self.same(outputs, self.all)

    def all_to_all_single_out(self, make: Make) -> bool:
        output = make(self.mine)
        dist.all_to_all_single(output, self.mine)
        return torch.equal(output, self.rows)

    def all_to_all_single_in(self, make: Make) -> bool:
        output = torch.empty_like(self.mine)
        dist.all_to_all_single(output, make(self.mine), [1] * self.size, [1] * self.size)
        return torch.equal(output, self.rows)

    def scatter(self, make: Make) -> bool:
        output = make(self.mine)
        dist.scatter(output, [make(one) for one in self.all] if self.is_root else None, 0)
        return torch.equal(output, self.mine)

    def send_and_recv(self, make: Make) -> bool:
        tensor = make(self.mine)
        works = [dist.isend(tensor, 1 - self.rank)]
        output = make(self.mine)
        works.append(dist.irecv(output, 1 - self.rank))
        for work in works:
            work.wait()
        return torch.equal(output, self.all[1 - self.rank])


TAKEN = {
    "all_reduce": DENSE, "all_reduce_later": DENSE, "all_reduce_asked": DENSE, "broadcast": DENSE, "broadcast_to_another": DENSE,
    "broadcast_of_a_parameter": DENSE, "reduce": DENSE, "all_reduce_coalesced": ANY, "several_at_once": ANY, "gather": ANY,
    "all_gather": ANY, "all_gather_into_tensor": ANY, "reduce_scatter_tensor": ANY, "reduce_scatter": ANY,
    "reduce_scatter_into": PLAIN, "all_to_all": ANY, "all_to_all_single_out": ANY, "all_to_all_single_in": PLAIN,
    "scatter": PLAIN, "send_and_recv": PLAIN}


def calls_with_every_layout(rank: int, size: int, place: str) -> dict[str, list[str]]:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    found: dict[str, list[str]] = {}
    for name in TAKEN:
        found[name] = []
        for layout, make in LAYOUTS.items():
            try:
                found[name].append(layout if getattr(Calls(rank, size), name)(make) else f"{layout} is wrong")
            except ValueError as reason:
                assert "tensors must be" in str(reason) or "share memory" in str(reason), reason
    refused = 0
    for call in (lambda: dist.all_reduce(torch.ones(4, 4).t()[1:3, :2]),
                 lambda: dist.all_gather([torch.ones(1, 4).expand(3, 4)] * size, torch.ones(3, 4))):
        try:
            call()
        except ValueError:
            refused += 1
    assert refused == 2
    conjugate = torch.tensor([complex(1, 2)]).conj()
    gathered = [torch.zeros(1, dtype=conjugate.dtype) for _ in range(size)]
    # Torch's front end itself refuses complex tensors that are conjugate.
    dist.group.WORLD.allgather([gathered], [conjugate]).wait()
    assert [one.item() for one in gathered] == [complex(1, -2)] * size
    return found


class LayoutsTest(unittest.TestCase):
    def test_layouts_are_taken_or_refused_and_elements_are_right(self) -> None:
        for found in run(2, calls_with_every_layout):
            for name, layouts in TAKEN.items():
                with self.subTest(name):
                    self.assertEqual(found[name], layouts)


if __name__ == "__main__":
    unittest.main()
