"""Process groups by the hundred, and groups that span hosts."""
from __future__ import annotations

import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import unittest
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist

import ronde.torch  # noqa: F401
from ranks import run

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = datetime.timedelta(seconds=90)
HELD = ("descriptors", "threads", "mappings of shared memory")


def held() -> tuple[int, ...]:
    """What groups hold of the system, as HELD names it. Names in /dev/shm are no part: other tests have some meanwhile."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        shared = sum("memfd:" in line or "/dev/shm" in line for line in maps)
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), shared


def adds_up(group: object, size: int) -> None:
    tensor = torch.ones(100)
    work = dist.all_reduce(tensor, group=group, async_op=True)
    work.wait()
    assert tensor[0] == size and tensor[99] == size


def makes_hundreds(rank: int, size: int, place: str) -> tuple[tuple[int, ...], ...]:
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=size, timeout=LIMIT)
    everyone = list(range(size))
    adds_up(None, size)
    dist.barrier()
    before = held()
    for _ in range(100):
        group = dist.new_group(everyone)
        adds_up(group, size)
        dist.destroy_process_group(group)
    together = [dist.new_group(everyone) if number % 2 else dist.split_group(split_ranks=[everyone]) for number in range(100)]
    during = held()
    threads = [threading.Thread(target=lambda mine: [adds_up(group, size) for group in mine], args=(together[first::4],))
               for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for group in together:
        dist.destroy_process_group(group)
    # Until all ranks have destroyed theirs.
    dist.barrier()
    after = held()
    dist.destroy_process_group()
    return before, during, after


class GroupsTest(unittest.TestCase):
    def test_hundreds_of_groups_at_once_and_freed_leave_nothing(self) -> None:
        for before, during, after in run(2, makes_hundreds):
            self.assertGreater(during, before)
            for name, first, last in zip(HELD, before, after):
                self.assertLessEqual(last, first, f"{name}: {first} before 200 groups, {last} after")


def in_namespace(name: str, *words: object) -> list[str]:
    return ["ip", "netns", "exec", name, *map(str, words)]


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "two hosts need root and ip (Debian: iproute2) for namespaces")
class HostsTest(unittest.TestCase):
    """Two hosts as network namespaces joined by a virtual cable; ranks of one have only the network to the other."""

    def setUp(self) -> None:
        self.hosts = [f"ronde-t{os.getpid()}-{side}" for side in "ab"]
        for host in self.hosts:
            made = subprocess.run(["ip", "netns", "add", host], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                self.skipTest(f"no network namespaces here: {made.stderr.strip()}")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", host], check=False)
        a, b = self.hosts
        for words in (["link", "add", "eth0", "netns", a, "type", "veth", "peer", "name", "eth0", "netns", b],
                      ["-n", a, "address", "add", "10.99.0.1/24", "dev", "eth0"],
                      ["-n", b, "address", "add", "10.99.0.2/24", "dev", "eth0"],
                      *(["-n", host, "link", "set", device, "up"] for host in self.hosts for device in ("lo", "eth0"))):
            subprocess.run(["ip", *words], check=True)

    def test_two_hosts_train_over_the_network(self) -> None:
        """torchrun with two ranks on each: the same parameters everywhere, and messages over UCX between hosts."""
        processes = []
        for node, host in enumerate(self.hosts):
            words = in_namespace(host, sys.executable, "-m", "torch.distributed.run", "--nnodes", 2, "--nproc-per-node", 2,
                                 "--node-rank", node, "--master-addr", "10.99.0.1", "--master-port", 29400,
                                 HERE / "scripts" / "trains.py")
            environment = {**os.environ, "UCX_TLS": "tcp,self", "TORCH_CPP_LOG_LEVEL": "FATAL", "PYTHONWARNINGS": "ignore"}
            processes.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        said = [process.communicate(timeout=170) for process in processes]
        if any("built without UCX" in errors for _, errors in said):
            self.skipTest("ronde is built without UCX (Debian: libucx-dev)")
        for process, (_, errors) in zip(processes, said):
            self.assertEqual(process.returncode, 0, errors[-2000:])
        lines = sorted(line for out, _ in said for line in out.splitlines())
        digest = lines[0].split()[-1]
        self.assertEqual(lines, [f"rank {rank} of 4, transport hybrid: {digest}" for rank in range(4)])


if __name__ == "__main__":
    unittest.main()
