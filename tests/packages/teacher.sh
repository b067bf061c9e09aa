#!/usr/bin/env bash
# A teacher: who sends what in a ring of four, how long that takes and why, and the same on this machine.
# shellcheck source=tests/packages/job.sh
. "$(dirname "$0")/job.sh"

run ronde convert all_reduce -a ring -N 4
expect 0 'send in\[0\] -> \+1'
run ronde sim all_reduce -a ring -N 4 --steps
expect 0 '^ +1 +0 +1 +0 adds its own, sends the sum on$'
run ronde check all_reduce -a ring -N 4
expect 0 'sent +1\.5 blocks by the busiest rank; at least 1\.5 are needed'
run ronde sim all_reduce -a ring -N 4 --topo crossbar-64 -b 4M -e 4M --why --timeline ring.svg
expect 0 '^ *4194304 +ring +131\.83'
expect 0 'critical path +latency 4\.6%; bandwidth 95\.4%'
run grep -c '<svg' ring.svg
expect 0 '^1$'
run ronde topo show dgx-h100 -o machine.svg
run grep -c '<svg' machine.svg
expect 0 '^1$'
run ronde run all_reduce -a ring -N 4 -b 1M -e 1M
expect 0 'Out of bounds values : 0 OK'
finish teacher
