#!/usr/bin/env bash
# Builds ronde on a machine with CUDA and CMake, runs everything there is to run on its GPUs, and leaves records and logs
# in a folder:  hw/cuda/on-gpu.sh [--dry-run] FOLDER [MIB]   (MIB: largest buffer of a rank, 1024)
# Each part has a limit of its own, together less than 8 minutes: a part that hangs or fails is reported, and the others
# still run. FOLDER holds log.txt, summary.txt (a line per part: exit status, seconds, name; "-" was left out), a log per
# part in parts/, records.jsonl and machine.xml. Exit status 0: all parts went well; 1: some did not. RONDE_PATIENCE=4
# gives all of them four times as long. --dry-run prints the parts with their limits instead, "LIMIT NAME: COMMAND", and
# needs no GPU.
set -uo pipefail
dry=0
if [ "${1:-}" = --dry-run ]; then
    dry=1
    shift
fi
out=$(realpath -m "${1:?usage: hw/cuda/on-gpu.sh [--dry-run] FOLDER [MIB]}") || exit 1
most=${2:-1024}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=$out/build
failed=0

# Notes how a part ended: in the summary, and for the exit status.
note() {
    local status=$1 seconds=$2 name=$3
    printf '%s\t%s\t%s\n' "$status" "$seconds" "$name" >>"$out/summary.txt"
    [ "$status" = 0 ] || [ "$status" = - ] || failed=1
}

# Runs a part with a limit in seconds; goes on after a failure, since the other parts give results of their own.
part() {
    local name=$1 limit=$(($2 * ${RONDE_PATIENCE:-1}))
    shift 2
    if [ "$dry" -eq 1 ]; then
        printf '%s %s: %s\n' "$limit" "$name" "$*"
        return
    fi
    printf '== %s\n' "$name"
    local start=$SECONDS
    timeout --kill-after=5 "$limit" "$@" 2>&1 | tee "$out/parts/$name.txt"
    local status=${PIPESTATUS[0]}
    printf '== %s: exit %d after %d s\n' "$name" "$status" "$((SECONDS - start))"
    note "$status" "$((SECONDS - start))" "$name"
}

# The same where a tool or a component may be missing, which is reported and is no failure.
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

if [ "$dry" -eq 0 ]; then
    mkdir -p "$out/parts" || exit 1
    : >"$out/summary.txt"
    exec > >(tee "$out/log.txt") 2>&1
    nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm,clocks.max.mem --format=csv || true
    nvidia-smi topo -m || true
fi
# Only this machine's GPU: kernels for others would take most of the time.
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
ronde=$build/ronde
conformance=$build/tests/test_conformance_conformance
part configure 30 cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DRONDE_CUDA=ON -DRONDE_SIMGRID=OFF -DRONDE_UCX=OFF \
    -DRONDE_CUDA_ARCHITECTURES="${architecture:-90}-real"
# A target each: one that does not build costs only what needs it.
part build 82 cmake --build "$build" --parallel "$(nproc)" --target ronde
part build-bench 20 cmake --build "$build" --parallel "$(nproc)" --target cuda_bench
part build-stream 10 cmake --build "$build" --parallel "$(nproc)" --target cuda_stream
part build-conformance 32 cmake --build "$build" --parallel "$(nproc)" --target test_conformance_conformance
part list 10 "$ronde" list
part local 10 "$ronde" topo show --local
part stream 10 "$build/tests/cuda_stream"
part check 15 "$ronde" run all_reduce -a ring -N 8 -b 8 -e 16M -f 16 --backend cuda -c 1
# Where data with flags stops paying: the second has slots of its own, which are never lines (docs/guide/choosing.md).
part lines 8 "$ronde" run all_reduce -a ring -N 8 -b 1K -e 256K --backend cuda
part slots 8 "$ronde" run all_reduce -a ring -N 8 -b 1K -e 256K --backend cuda --slot 256K
part bench 70 bash -c "'$build/tests/cuda_bench' $most >'$out/records.jsonl'"
# On GPUs alone, and they have to be there: what runs without them is tested elsewhere.
part conformance 60 env RONDE_TEST_BACKEND=cuda RONDE_TEST_SCALE=50 "$conformance"
part calibrate 25 "$ronde" calibrate --backend cuda -o "$out/machine.xml"
# Platform files need libxml2 and records jansson, which a bare machine may lack.
part_if "'$ronde' list | grep -q '^  libxml2 *libxml2'" validate 30 "$ronde" validate all_reduce \
    -a ring,double_tree -N 2,4,8 -b 8 -e 64M -f 8 --backend cuda --topo "$out/machine.xml"
part_if "command -v compute-sanitizer" memcheck 30 env RONDE_TEST_BACKEND=cuda RONDE_TEST_SCALE=1 \
    RONDE_TEST_STRIDE=13 compute-sanitizer --tool memcheck --error-exitcode 9 "$conformance"
part_if "command -v compute-sanitizer" racecheck 30 env RONDE_TEST_BACKEND=cuda RONDE_TEST_SCALE=1 \
    RONDE_TEST_STRIDE=31 compute-sanitizer --tool racecheck --error-exitcode 9 "$conformance"
[ "$dry" -eq 1 ] && exit 0
printf '%d records\n' "$(grep -c . "$out/records.jsonl")"
cat "$out/summary.txt"
rm -rf "$build"
exit "$failed"
