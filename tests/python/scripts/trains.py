"""A rank that torchrun has started trains a small network for 50 steps and prints a digest of its parameters."""
import hashlib

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("ronde")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
parallel = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
optimizer = torch.optim.SGD(parallel.parameters(), 0.1)
for step in range(50):
    torch.manual_seed(100 * step + rank)
    optimizer.zero_grad()
    parallel(torch.randn(8, 16)).square().mean().backward()
    optimizer.step()
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
transport = dist.group.WORLD._state.communicator.transport
# In one write: the ranks share a pipe.
print(f"rank {rank} of {size}, transport {transport}: {digest}\n", end="", flush=True)
dist.destroy_process_group()
