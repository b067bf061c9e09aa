"""Long replays leave other threads the interpreter, and end with Ctrl-C."""
from __future__ import annotations

import subprocess
import sys
import unittest

# Replays for minutes, unless it is interrupted half a second after it began: by a timer, which runs in a thread beside it.
# Then counts what goes on: threads that have not ended when they were waited for, and processes.
SCRIPT = """
import os, signal, sys, threading
import ronde

machine = ronde.Topology.generate("dgx-h100", nodes=16)
schedule = ronde.compile("all_reduce", "double_tree", ranks=128)
timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
try:
    timer.start()
    ronde.simulate(schedule, machine, ["1G"], engine=sys.argv[1], slot="256K")
    print("it was over before")
except KeyboardInterrupt:
    others = [thread for thread in threading.enumerate() if thread not in (timer, threading.main_thread())]
    for thread in others:
        thread.join(120)
    print("interrupted,", sum(thread.is_alive() for thread in others), "threads go on")
try:
    print("process", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no process")
"""


class InterruptTest(unittest.TestCase):
    def interrupt(self, engine: str) -> None:
        done = subprocess.run([sys.executable, "-c", SCRIPT, engine], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr), ("interrupted, 0 threads go on\nno process\n", ""))

    def test_ctrl_c_ends_a_replay(self) -> None:
        self.interrupt("maxmin")

    def test_ctrl_c_ends_simgrid(self) -> None:
        self.interrupt("simgrid")


if __name__ == "__main__":
    unittest.main()
