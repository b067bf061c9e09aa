"""Times of collectives for torch's compiler: those of ronde's model, the same ones on all ranks, and quickly."""
from __future__ import annotations

import os
import pickle
import time
import unittest
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist
from torch.fx import Graph

import ronde
import ronde.torch

try:
    from torch.testing._internal.distributed.fake_pg import FakeStore
    import torch.distributed._functional_collectives  # noqa: F401 - makes the operators known
except ImportError:
    FakeStore = None

MACHINE = "H100-cluster01"
WORLD = 64


def asked(groups: dict[str, object]) -> dict[str, object]:
    """Nodes of a graph as torch's passes show them to the function, by what they are to test."""
    operators = torch.ops._c10d_functional
    graph = Graph()
    inputs: dict[tuple[int, torch.dtype], object] = {}

    def given(count: int, dtype: torch.dtype = torch.float32) -> object:
        if (count, dtype) not in inputs:
            inputs[count, dtype] = graph.placeholder(f"x{len(inputs)}")
            inputs[count, dtype].meta["val"] = torch.empty(count, dtype=dtype, device="meta")
        return inputs[count, dtype]

    def call(operator: object, *arguments: object) -> object:
        return graph.call_function(operator.default, arguments)

    whole, node, across = (groups[name].group_name for name in ("whole", "node", "across"))
    no_value = graph.placeholder("nothing")
    return {
        "reduced": call(operators.all_reduce, given(1 << 20), "sum", node),
        "reduced across": call(operators.all_reduce_, given(1 << 20, torch.bfloat16), "sum", across),
        "gathered": call(operators.all_gather_into_tensor, given(1 << 16), WORLD, whole),
        "gathered in place": call(operators.all_gather_into_tensor_out, given(1 << 16), WORLD, whole),
        "scattered": call(operators.reduce_scatter_tensor, given(1 << 22), "sum", WORLD, whole),
        "turned": call(operators.all_to_all_single, given(1 << 20), [1 << 17] * 8, [1 << 17] * 8, node),
        "broadcast": call(operators.broadcast, given(1 << 20), 0, node),
        "several": call(operators.all_reduce_coalesced, [given(1 << 19), given(1 << 18, torch.float64)], "sum", node),
        "turned unevenly": call(operators.all_to_all_single, given(8), [1] * 8, [0, 2, 1, 1, 1, 1, 1, 1], node),
        "unequal nodes": call(operators.all_reduce, given(8), "sum", groups["odd"].group_name),
        "one rank": call(operators.all_reduce, given(8), "sum", groups["alone"].group_name),
        "no such group": call(operators.all_reduce, given(8), "sum", "no-such"),
        "no value": call(operators.all_reduce, no_value, "sum", node),
        "nothing": call(operators.all_reduce, given(0), "sum", node),
        "waits": call(operators.wait_tensor, given(8)),
        "computes": call(torch.ops.aten.mm, given(8), given(8)),
        "is no operator": graph.call_function(len, (given(8),))}


# Those above that have an answer: collective, bytes of nccl-tests, ranks, nodes.
ANSWERS = {
    "reduced": ("all_reduce", 4 << 20, 8, 1), "reduced across": ("all_reduce", 2 << 20, 8, 8),
    "gathered": ("all_gather", 4 * WORLD << 16, WORLD, 8), "gathered in place": ("all_gather", 4 * WORLD << 16, WORLD, 8),
    "scattered": ("reduce_scatter", 4 << 22, WORLD, 8), "turned": ("all_to_all", 4 << 20, 8, 1),
    "broadcast": ("broadcast", 4 << 20, 8, 1), "several": ("all_reduce", 4 << 20, 8, 1)}


def questions(rank: int) -> dict[str, object]:
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=WORLD)
    ranks = {"whole": range(WORLD), "node": range(rank // 8 * 8, rank // 8 * 8 + 8), "across": range(rank % 8, WORLD, 8),
             "odd": [rank, (rank + 1) % WORLD, (rank + 8) % WORLD], "alone": [rank]}
    return asked({name: dist.new_group(sorted(of)) for name, of in ranks.items()})


@unittest.skipIf(FakeStore is None, "this torch has no process group for tests of its compiler")
class EstimatesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.nodes = questions(0)
        self.addCleanup(dist.destroy_process_group)

    def test_times_are_those_of_the_model_and_others_are_torchs(self) -> None:
        function = ronde.torch.Estimates(MACHINE)
        for name, node in self.nodes.items():
            with self.subTest(name):
                if name in ANSWERS:
                    collective, size, ranks, nodes = ANSWERS[name]
                    record = ronde.nccl(collective, MACHINE, size, ranks=ranks, nodes=nodes)[0]
                    self.assertAlmostEqual(function(node) / (record["time_us"] * 1e-3), 1, places=6)
                else:
                    self.assertIsNone(function(node))

    def test_torchs_sizes_stand_for_the_nodes(self) -> None:
        """Torch's size is input and output; 0 asks for the latency."""
        function = ronde.torch.Estimates(MACHINE)
        for name, size in (("reduced", 2 * (4 << 20)), ("gathered", 4 * (WORLD << 16) + (4 << 16)), ("turned", 2 * (4 << 20))):
            self.assertEqual(function(self.nodes[name], size), function(self.nodes[name]))
            self.assertLess(0, function(self.nodes[name], 0))
            self.assertLess(function(self.nodes[name], 0), function(self.nodes[name]))
        self.assertIsNone(function(self.nodes["computes"], 0))

    def test_all_ranks_get_the_same(self) -> None:
        function = ronde.torch.Estimates(MACHINE)
        first = {name: function(node) for name, node in self.nodes.items()}
        # The names of its groups are those of the ones before.
        dist.destroy_process_group()
        self.assertEqual({name: function(node) for name, node in questions(17).items()}, first)

    def test_a_platform_has_limits_and_ends(self) -> None:
        pod = ronde.Topology.generate("dgx-h100", nodes=8)
        function, impaired = ronde.torch.Estimates(pod), ronde.torch.Estimates(pod.without("n1g0_c"))
        record = ronde.nccl("all_reduce", pod, 2 << 20, ranks=8, nodes=8)[0]
        self.assertAlmostEqual(function(self.nodes["reduced across"]), record["time_us"] * 1e-3)
        self.assertLess(function(self.nodes["gathered"], 1 << 28), impaired(self.nodes["gathered"], 1 << 28))
        self.assertIsNone(ronde.torch.Estimates(ronde.Topology.generate("dgx-h100", nodes=2))(self.nodes["gathered"]))
        with self.assertRaisesRegex(ronde.RondeError, "no-such"):
            ronde.torch.Estimates("no-such")

    def test_a_hundred_thousand_answers_a_second(self) -> None:
        function = ronde.torch.Estimates(MACHINE)
        nodes = list(self.nodes.values())
        for node in nodes:
            function(node)
        # Of the processor, which other tests want, too.
        started = time.process_time()
        for _ in range(1000):
            for node in nodes:
                function(node)
        self.assertLess(time.process_time() - started, 1000 * len(nodes) / 1e5)

    def test_one_line_sets_torchs_function(self) -> None:
        import torch._inductor.config as config
        if not hasattr(getattr(config, "aten_distributed_optimizations", None), "custom_runtime_estimation"):
            with self.assertRaisesRegex(RuntimeError, "install torch"):
                ronde.torch.estimates(MACHINE)
            return
        options = config.aten_distributed_optimizations
        self.addCleanup(setattr, options, "custom_runtime_estimation", options.custom_runtime_estimation)
        function = ronde.torch.estimates(MACHINE)
        self.assertIs(options.custom_runtime_estimation, function)
        from torch._inductor.fx_passes.overlap_scheduling import estimate_collective_time
        node = self.nodes["reduced"]
        self.assertEqual(estimate_collective_time(node, custom_runtime_estimation=options.custom_runtime_estimation), function(node))
        # Inductor's caches have it in their keys.
        self.assertEqual(pickle.loads(pickle.dumps(function))(node), function(node))


if __name__ == "__main__":
    unittest.main()
