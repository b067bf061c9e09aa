#!/usr/bin/env bash
# An ML engineer: what a step of a 7B model costs on a pod, what NCCL would take, and who was late in a job's traces.
# shellcheck source=tests/packages/job.sh
. "$(dirname "$0")/job.sh"

run ronde workload gpt --model 7b --tp 8 --dp 4 -o step.workload
run ronde workload sim step.workload --topo dgx-h100-pod
expect 0 'exposed'
cat >step.py <<'PYTHON'
import ronde

step = ronde.workload("step.workload", "dgx-h100-pod")
print(f"{step.time_ns / 1e6:.1f} ms, {step.exposed_ns / 1e6:.1f} ms exposed")
print(step.calls[0]["collective"], step.calls[0]["groups"])
record = ronde.nccl("all_reduce", "H100-cluster01", "1G", ranks=64)[0]
print(f"NCCL: {record['time_us']:.1f} us")
PYTHON
run python3 step.py
expect 0 '^79\.9 ms, 20\.9 ms exposed'
expect 0 'all_reduce dp'
expect 0 '^NCCL: 59[0-9]{2}\.[0-9] us'
run ronde explain "$mine/dlrm-v100x8"
expect 0 'all_to_all'
cat >ranks.py <<'PYTHON'
import array
import ronde

comm = ronde.Communicator.launch()
numbers = array.array("f", [1, 2, 3])
comm.all_reduce(numbers)
print(comm.size, list(numbers))
PYTHON
run python3 ranks.py
expect 0 '^1 \[1\.0, 2\.0, 3\.0\]'
finish "ML engineer"
