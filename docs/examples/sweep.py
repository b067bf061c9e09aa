"""A share of a grid: `sweep.py FILE SHARE SHARES`, as each task of a Slurm array is called (sweep.sbatch)."""
import sys

import ronde

try:
    file, share, shares = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
except (IndexError, ValueError):
    sys.exit("usage: sweep.py FILE SHARE SHARES: the file of the results, which share of the grid this is, from 0, and of how "
             "many; all of it here: sweep.py sweep.jsonl 0 1")
machine = ronde.Topology.generate("dgx-h100", nodes=8)
records = ronde.sweep("all_reduce", machine, ranks=[16, 32, 64], algorithms=["ring", "double_tree"], sizes=["64K", "1M", "16M"],
                      records=file, shard=(share, shares))
print(f"share {share} of {shares}: {len(records)} results in {file}")
