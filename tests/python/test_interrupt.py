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


# Runs for some seconds, and then again until it is interrupted a tenth into it.
RUN = """
import os, signal, threading, time
import numpy, ronde

schedule = ronde.compile("all_reduce", "recursive_doubling", ranks=128)
arrays = [numpy.ones(1 << 20, "float16") for _ in range(128)]
outputs = [array.copy() for array in arrays]
begun = time.monotonic()
schedule.run(arrays, outputs, op="prod")
whole = time.monotonic() - begun
try:
    begun = time.monotonic()
    threading.Timer(whole / 10, os.kill, (os.getpid(), signal.SIGINT)).start()
    schedule.run(arrays, outputs, op="prod")
    print("it was over before")
except KeyboardInterrupt:
    print("before its end" if time.monotonic() - begun < whole * 0.7 else "late")
"""


class InterruptTest(unittest.TestCase):
    def interrupt(self, engine: str) -> None:
        done = subprocess.run([sys.executable, "-c", SCRIPT, engine], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr), ("interrupted, 0 threads go on\nno process\n", ""))

    def test_ctrl_c_ends_a_replay(self) -> None:
        self.interrupt("maxmin")

    def test_ctrl_c_comes_back_from_a_run(self) -> None:
        done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr), ("before its end\n", ""))

    def test_ctrl_c_ends_simgrid(self) -> None:
        self.interrupt("simgrid")


if __name__ == "__main__":
    unittest.main()
