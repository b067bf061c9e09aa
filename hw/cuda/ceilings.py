"""
What another program reaches on the same GPU: copies, sums and sums of eight of torch's, in bytes read and written per second.
hw/cuda/visit.sh puts ronde's figures beside these.
"""
import torch

MIB = 256
REPEATS = 20


def seconds_of(action) -> float:
    """The fastest of some runs, by events of the device."""
    action()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(REPEATS):
        started, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        started.record()
        action()
        ended.record()
        torch.cuda.synchronize()
        best = min(best, started.elapsed_time(ended) / 1e3)
    return best


def main() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        count = (MIB << 20) // dtype.itemsize
        eight = torch.randn(8, count, device="cuda", dtype=dtype)
        out = torch.empty(count, device="cuda", dtype=dtype)
        for name, buffers, action in (
            ("copy", 2, lambda: out.copy_(eight[0])),
            ("sum of 2", 3, lambda: torch.add(eight[0], eight[1], out=out)),
            ("sum of 8", 9, lambda: torch.sum(eight, 0, out=out)),
        ):
            rate = buffers * (MIB << 20) / seconds_of(action) / 1e9
            print(f"torch {torch.__version__} {dtype} {name}: {rate:.1f} GB/s read and written")


main()
