#!/usr/bin/env bash
# What there is to find out on a machine with a GPU, in two visits:
#   hw/cuda/visit.sh [--dry-run] VISIT TOOLS OUT [MIB]
# VISIT 1: does it run, and is it right; 260 s at most. VISIT 2: how good is it; 400 s at most. TOOLS is a folder of programs
# built elsewhere (docs/notes/cuda.md says how); what does not run there is built here. OUT gets one file, visit.tgz, renewed after
# each part: summary.txt (a line per part: exit status, seconds, name; "-" was left out), a text per part, records.jsonl
# and machine.xml. MIB: largest buffer of a rank, 256 in visit 1 and 1024 in visit 2.
#
# Each part has a limit of its own. One that hangs is looked at with cuda-gdb before it is killed, one that fails costs only
# itself: but if a smoke test fails, the rest is left out, and what follows is diagnosis. The last lines say of each part
# how it ended. Exit status 0: all went well; 1: some part did not. RONDE_PATIENCE=4 gives all of them four times as long.
# --dry-run prints the parts with their limits instead, "LIMIT NAME: COMMAND", those of the diagnosis in brackets.
set -uo pipefail
usage='usage: hw/cuda/visit.sh [--dry-run] VISIT TOOLS OUT [MIB]'
dry=0
if [ "${1:-}" = --dry-run ]; then
    dry=1
    shift
fi
visit=${1:?$usage}
case $visit in
1) most=256 ;;
2) most=1024 ;;
*)
    printf '%s\n' "visit: $visit is neither 1 nor 2; $usage" >&2
    exit 1
    ;;
esac
tools=$(realpath -m "${2:?$usage}") || exit 1
out=$(realpath -m "${3:?$usage}") || exit 1
most=${4:-$most}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
failed=0
sick=0
open=
close=

# Notes how a part ended, and renews the one file that comes back.
note() {
    local status=$1 seconds=$2 name=$3
    printf '%s\t%s\t%s\n' "$status" "$seconds" "$name" >>"$results/summary.txt"
    [ "$status" = 0 ] || [ "$status" = - ] || failed=1
    tar czf "$out/visit.tgz.new" -C "$results" . && mv "$out/visit.tgz.new" "$out/visit.tgz"
}

# What a part that hangs is doing: warps and lanes of its kernels.
look_at() {
    local group=$1 process
    command -v cuda-gdb >/dev/null || return
    process=$(pgrep -g "$group" 2>/dev/null | tail -n 1)
    timeout --kill-after=1 15 cuda-gdb -batch -p "${process:-$group}" -ex 'info cuda kernels' -ex 'info cuda warps' \
        -ex 'info cuda lanes' -ex 'info threads' 2>&1
}

# Runs a command with a limit in seconds, in a group of processes of its own; exit status 124: it was killed.
run_limited() {
    local name=$1 limit=$2
    shift 2
    local file=$results/$name.txt
    setsid "$@" >"$file" 2>&1 &
    local group=$! start=$SECONDS
    while kill -0 "$group" 2>/dev/null && [ $((SECONDS - start)) -lt "$limit" ]; do
        sleep 0.02
    done
    if kill -0 "$group" 2>/dev/null; then
        look_at "$group" >"$results/$name.hang.txt"
        kill -KILL -- "-$group" 2>/dev/null
        wait "$group" 2>/dev/null
        return 124
    fi
    wait "$group"
}

# A part: its limit, its name, its command. Left out once a smoke test has failed.
part() {
    local name=$1 limit=$(($2 * ${RONDE_PATIENCE:-1}))
    shift 2
    if [ "$dry" -eq 1 ]; then
        local line=$*
        printf '%s%s %s: %s%s\n' "$open" "$limit" "$name" "${line//$'\n'/ }" "$close"
        return
    fi
    if [ "$sick" -eq 1 ]; then
        note - 0 "$name"
        return
    fi
    printf '== %s\n' "$name"
    local start=$SECONDS status
    run_limited "$name" "$limit" "$@"
    status=$?
    note "$status" "$((SECONDS - start))" "$name"
    return "$status"
}

# The same where a tool may be missing, which is reported and is no failure.
part_if() {
    local condition=$1
    shift
    if [ "$dry" -eq 1 ] || eval "$condition"; then
        part "$@"
    else
        printf '== %s: left out, not here: %s\n' "$1" "$condition"
        note - 0 "$1"
    fi
}

# A part on which all others depend.
smoke() {
    part "$@" || sick=1
}

if [ "$dry" -eq 0 ]; then
    results=$(mktemp -d) || exit 1
    mkdir -p "$out" || exit 1
    trap 'rm -rf "$results"' EXIT
fi
export LD_LIBRARY_PATH=$tools${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ronde=$tools/ronde

part machine 5 bash -c "nvidia-smi -q; nvidia-smi topo -m; nvcc --version; ldd '$ronde' || true"
# Only this machine's GPU: kernels for others would take most of the time.
# shellcheck disable=SC2016
build='set -e
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
cmake -S . -B "$1" -DCMAKE_BUILD_TYPE=Release -DRONDE_CUDA=ON -DRONDE_SIMGRID=OFF -DRONDE_UCX=OFF \
    -DRONDE_CUDA_ARCHITECTURES="${architecture:-90}-real"
cmake --build "$1" --parallel "$(nproc)" --target ronde cuda_bench cuda_stream cuda_floor test_conformance_conformance'
if [ "$dry" -eq 1 ] || ! "$ronde" list >/dev/null 2>&1; then
    part build 40 bash -c "$build" build "$tools/build"
    if [ "$dry" -eq 0 ]; then
        ronde=$tools/build/ronde
        tools=$tools/build/tests
    fi
fi
run=("$ronde" run all_reduce --backend cuda)
once=(-n 1 -w 1 -c 1)
conformance=$tools/test_conformance_conformance

smoke list 4 "$ronde" list
smoke stream 8 "$tools/cuda_stream"
smoke small 5 "${run[@]}" -a ring -N 2 -b 8 -e 8 "${once[@]}"
# A limit that no run keeps: the error names a lane, and the next run is right.
# shellcheck disable=SC2016
stopped='"$@" --timeout 0.00001 -b 256M -e 256M; status=$?; "$@" -b 1M -e 1M && [ "$status" -ne 0 ]'
smoke abort 8 bash -c "$stopped" abort "${run[@]}" -a ring -N 4 "${once[@]}"

if [ "$visit" = 1 ]; then
    part lines 4 "${run[@]}" -a ring -N 8 -b 8 -e 256K -f 16 "${once[@]}"
    part slots 4 "${run[@]}" -a ring -N 8 -b 64K -e 16M -f 16 --slot 256K "${once[@]}"
    part pull 4 "${run[@]}" -a ring -N 8 -b 64K -e 16M -f 16 --protocol pull "${once[@]}"
    part folded 5 "${run[@]}" -a ring -N 16 --channels 16 -b 1M -e 1M "${once[@]}"
    # shellcheck disable=SC2016
    part types 8 bash -c 'for type in uint8 float8_e4m3 bfloat16 float64; do "$@" -d "$type" || exit; done' types \
        "${run[@]}" -a ring -N 4 -b 64K -e 64K "${once[@]}"
    part floor 12 "$tools/cuda_floor"
    part_if 'python3 -c "import torch" 2>/dev/null' torch 12 python3 hw/cuda/ceilings.py
    part bench 38 bash -c "'$tools/cuda_bench' $most >'${results:-}/records.jsonl'"
    part conformance 40 env RONDE_TEST_BACKEND=cuda RONDE_TEST_SCALE=25 "$conformance"
    # One width and few runs: the sanitizer patches every instruction of the kernels before the first launch.
    part_if "command -v compute-sanitizer" memcheck 18 compute-sanitizer --tool memcheck --error-exitcode 9 \
        "${run[@]}" -a ring -N 4 -b 8 -e 64K -f 64 "${once[@]}"
    part_if "command -v compute-sanitizer" racecheck 18 compute-sanitizer --tool racecheck --error-exitcode 9 \
        "${run[@]}" -a ring -N 4 -b 8 -e 64K -f 64 "${once[@]}"
    part_if "command -v ncu" profile 15 ncu --clock-control none --launch-count 1 --set detailed \
        "${run[@]}" -a ring -N 8 -b 64M -e 64M -n 1 -w 0 -c 0
    part calibrate 12 "$ronde" calibrate --backend cuda -o "${results:-}/machine.xml"
else
    part bench 90 bash -c "'$tools/cuda_bench' $most >'${results:-}/records.jsonl'"
    part floor 12 "$tools/cuda_floor"
    # Where data with flags stops paying: the second has slots of its own, which are never lines (docs/guide/choosing.md).
    part lines 10 "${run[@]}" -a ring -N 8 -b 1K -e 256K
    part slots 10 "${run[@]}" -a ring -N 8 -b 1K -e 256K --slot 256K
    part calibrate 25 "$ronde" calibrate --backend cuda -o "${results:-}/machine.xml"
    # Platform files need libxml2.
    part_if "'$ronde' list | grep -q '^  libxml2 *libxml2'" validate 40 "$ronde" validate all_reduce \
        -a ring,double_tree -N 2,4,8 -b 8 -e 64M -f 8 --backend cuda --topo "${results:-}/machine.xml"
    part conformance 60 env RONDE_TEST_BACKEND=cuda RONDE_TEST_SCALE=50 "$conformance"
    # shellcheck disable=SC2016
    part again 30 bash -c 'for k in 1 2 3 4 5; do "$@" || exit; done' again "${run[@]}" \
        -a recursive_doubling -N 8 -b 8 -e 8 -n 20000 -w 1 -c 1
    part_if "command -v ncu" profile 30 ncu --clock-control none --launch-count 1 --set full \
        "${run[@]}" -a recursive_doubling -N 8 -b 4K -e 4K -n 1 -w 0 -c 0
fi

# Only where a smoke test has failed: the same with ever less in it.
if [ "$dry" -eq 1 ] || [ "$sick" -eq 1 ]; then
    sick=0
    open='['
    close=']'
    part diagnose-driver 10 bash -c 'nvidia-smi -q -d CLOCK,COMPUTE,ECC,PERFORMANCE; dmesg | tail -n 40'
    part diagnose-one 15 "${run[@]}" -a ring -N 2 --channels 1 -b 8 -e 8 "${once[@]}" --timeout 5
    part diagnose-slots 15 "${run[@]}" -a ring -N 2 --channels 1 -b 8 -e 8 --slot 64K "${once[@]}" --timeout 5
    part_if "command -v compute-sanitizer" diagnose-memory 40 compute-sanitizer --tool memcheck --error-exitcode 9 \
        "${run[@]}" -a ring -N 2 --channels 1 -b 8 -e 8 "${once[@]}"
    part_if "command -v compute-sanitizer" diagnose-sync 40 compute-sanitizer --tool synccheck --error-exitcode 9 \
        "${run[@]}" -a ring -N 2 --channels 1 -b 8 -e 8 "${once[@]}"
fi
[ "$dry" -eq 1 ] && exit 0
# Last, since only the end of what is printed may come back.
while IFS=$'\t' read -r status seconds name; do
    printf '%4s %4s s  %-16s %.80s\n' "$status" "$seconds" "$name" "$(tail -n 1 "$results/$name.txt" 2>/dev/null)"
done <"$results/summary.txt"
exit "$failed"
