#!/usr/bin/env bash
# A researcher: a schedule of one's own is proved, a mistake in it is found, it is replayed beside the least time there can be and
# handed to MSCCL.
# shellcheck source=tests/packages/job.sh
. "$(dirname "$0")/job.sh"

run ronde convert all_reduce mine.ronde -a ring -N 8
run ronde check mine.ronde
expect 0 'all_reduce ring on 8 ranks: proved'
# The mistake: one message less.
awk '/send in/ && !cut { cut = 1; next } { print }' mine.ronde >broken.ronde
run ronde check broken.ronde
expect 1 'unmatched +rank 0: '
run ronde sim mine.ronde --topo crossbar-64 -b 64M -e 64M --why
expect 0 'bottleneck +bandwidth, 9[0-9]% of the critical path'
run ronde bound all_reduce --topo "$mine/pod-dead-nic.xml" -b 1G -e 1G
expect 0 '1073741824 .* 8589\.9 +125\.00 +links'
run ronde synthesize all_reduce --topo "$mine/pod-dead-nic.xml" -o around.ronde
run ronde sim around.ronde --topo "$mine/pod-dead-nic.xml" -b 1G -e 1G
expect 0 '^1073741824 +forest +8729\.8'
run ronde convert mine.ronde mine.xml
run ronde check mine.xml
expect 0 'on 8 ranks: proved'
finish researcher
