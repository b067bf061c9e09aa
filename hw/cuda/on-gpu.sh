#!/usr/bin/env bash
# Builds ronde on a bare machine with CUDA and CMake, runs the conformance suite on its GPU, an example and the benchmark,
# and leaves records and logs in a folder:  hw/cuda/on-gpu.sh FOLDER [MIB]   (MIB: largest buffer of a rank, 1024)
# Takes less than 8 minutes; each part has a limit of its own, so that a run that hangs is ended and reported.
set -uo pipefail
out=$(realpath -m "${1:?usage: hw/cuda/on-gpu.sh FOLDER [MIB]}")
most=${2:-1024}
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
mkdir -p "$out"
exec > >(tee "$out/log.txt") 2>&1
build=$out/build
failed=0

# Runs a part with a limit in seconds; goes on after a failure, since the other parts tell something of their own.
part() {
    local name=$1 limit=$2
    shift 2
    printf '== %s\n' "$name"
    timeout --kill-after=10 "$limit" "$@"
    local status=$?
    printf '== %s: exit %d after %d s in all\n' "$name" "$status" "$SECONDS"
    [ "$status" -eq 0 ] || failed=1
}

nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm,clocks.max.mem --format=csv || true
# Only this machine's GPU: kernels for others would take most of the time.
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
part configure 40 cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DRONDE_CUDA=ON \
    -DRONDE_CUDA_ARCHITECTURES="${architecture:-90}-real" -DRONDE_SIMGRID=OFF -DRONDE_LIBXML2=OFF -DRONDE_JANSSON=OFF
[ "$failed" -eq 0 ] || exit 1
part build 150 cmake --build "$build" --parallel "$(nproc)" --target ronde test_conformance_conformance test_cuda_cuda \
    cuda_bench cuda_stream
[ "$failed" -eq 0 ] || exit 1
part list 10 "$build/ronde" list
part stream 20 "$build/tests/cuda_stream"
part cuda 30 "$build/tests/test_cuda_cuda"
part conformance 120 "$build/tests/test_conformance_conformance"
part check 30 "$build/ronde" run all_reduce -a ring -N 8 -b 8 -e 16M -f 16 --backend cuda -c 1
part bench 75 bash -c "'$build/tests/cuda_bench' $most >'$out/records.jsonl'"
grep -c . "$out/records.jsonl" || true
rm -rf "$build"
exit "$failed"
