"""A rank that torchrun has started, with a backend by name."""
import sys

import torch
import torch.distributed as dist

dist.init_process_group(sys.argv[1])
tensor = torch.ones(3)
dist.all_reduce(tensor)
# In one write: the ranks share a pipe.
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {tensor.tolist()} {type(dist.group.WORLD).__name__}\n", end="",
      flush=True)
