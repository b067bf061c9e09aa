#!/usr/bin/env bash
# A cluster engineer: which algorithm on four nodes, what a bad cable costs, and whether last night's nccl-tests are right.
# shellcheck source=tests/packages/job.sh
. "$(dirname "$0")/job.sh"

run ronde topo generate dgx-h100 --nodes 4 --fabric rail -o pod.xml
run ronde plan all_reduce -b 1M -e 1G -f 1024 --topo pod.xml
expect 0 '^ *1073741824 +hierarchical_[a-z]+ +4[12][0-9]{2}\.[0-9] +25[0-9]\.[0-9]+ +49[0-9]\.'
run ronde sim all_reduce -a ring --bytes 1G --topo dgx-h100-pod
expect 0 '^1073741824 +ring +5366\.6'
run ronde sim all_reduce -a ring --bytes 1G --topo dgx-h100-pod --degrade n5g0_c=.5
expect 0 '^1073741824 +ring +10729\.6'
run ronde sim all_reduce --style nccl -N 64 -b 1G -e 1G --topo H100-cluster01
expect 0 '^ *1073741824 +64 +8 +NVLSTree +Simple +59[0-9]{2}\.[0-9]'
run ronde doctor "$mine/nccl-tests.log" --topo H100-cluster01
expect 1 'WRONG: this is not what the machine should give'
expect 1 'half of the NVLinks are missing'
finish "cluster engineer"
