"""A share of a grid: `sweep.py FILE SHARE SHARES`, as each task of a Slurm array is called (sweep.sbatch)."""
import sys

import ronde

file, share, shares = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
machine = ronde.Topology.generate("dgx-h100", nodes=8)
records = ronde.sweep("all_reduce", machine, ranks=[16, 32, 64], algorithms=["ring", "double_tree"], sizes=["64K", "1M", "16M"],
                      records=file, shard=(share, shares))
print(f"share {share} of {shares}: {len(records)} results in {file}")
