#!/usr/bin/env bash
# The same ring all_reduce on the same platform file, simulated by SMPI and by ronde: bench/smpi.sh RONDE [RANKS...]
#
# SMPI runs the MPI program bench/smpi_ring.c, first as it is, then with folded buffers, whose payload it does not copy;
# ronde replays its schedule with SimGrid's solver and with the max-plus recurrence. SMPI adds an envelope of 16 bytes to
# every message, so a third run asks for 16 bytes less: its simulated time must be that of ronde. Exit 1 where it is not,
# to 1e-6; 3 where SMPI is missing.
set -euo pipefail

ronde=$1
shift
sizes=("$@")
[ "${#sizes[@]}" -gt 0 ] || sizes=(64 256 512)
bytes=$((64 * 1024 * 1024))
envelope=16

if ! command -v smpicc >/dev/null || ! command -v smpirun >/dev/null; then
    echo "skip: no smpicc or smpirun here (Debian: libsimgrid-dev)" >&2
    exit 3
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
smpicc -O2 "$(dirname "${BASH_SOURCE[0]}")/smpi_ring.c" -o "$folder/ring" 2>"$folder/log" || {
    cat "$folder/log" >&2
    exit 1
}

# Ports of 12.5 GB/s (100 Gbit/s) and 1 us between hosts: the machine the figures of other simulators are for.
platform() {
    cat >"$folder/platform.xml" <<XML
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="crossbar" routing="Full">
<cluster id="hosts" prefix="h" suffix="" radical="0-$(($1 - 1))" speed="1Gf" bw="12.5GBps" lat="500ns"/>
</zone></platform>
XML
    seq -f 'h%.0f' 0 $(($1 - 1)) >"$folder/hosts"
}

# Sets `took_us` (simulated), `wall_s` and `cpu_s` (of all its processes) from a command that prints the first.
run() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" >"$folder/took"; } 2>"$folder/time"
    took_us=$(cat "$folder/took")
    read -r wall_s cpu_s < <(tail -n 1 "$folder/time" | awk '{ printf "%.2f %.2f\n", $1, $2 + $3 }')
}

smpi() {
    local ranks=$1
    shift
    smpirun -np "$ranks" -platform "$folder/platform.xml" -hostfile "$folder/hosts" --log=root.thresh:critical \
        --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:1e30 \
        --cfg=surf/precision:1e-15 --cfg=smpi/wtime:0 --cfg=smpi/simulate-computation:no \
        "$folder/ring" "$@" 2>"$folder/log" || {
        cat "$folder/log" >&2
        return 1
    }
}

replay() {
    "$ronde" sim all_reduce -a ring -N "$1" -b "$bytes" -e "$bytes" --topo "$folder/platform.xml" --engine "$2" --json |
        sed -E 's/.*"time_ns": ?([0-9.e+]+).*/\1/' | awk '{ printf "%.6f\n", $1 / 1e3 }'
}

row() { printf '%6s  %-28s %14.3f %8s %8s %8s\n' "$1" "$2" "$took_us" "$wall_s" "$cpu_s" "$3"; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.1fx", a / b; else printf "-" }'; }

different=0
printf '# ring all_reduce of 64 MiB, ports of 12.5 GB/s, 1 us; times include starting the process, speedup is by CPU time\n'
printf '#%5s  %-28s %14s %8s %8s %8s\n' ranks simulator 'simulated us' 'wall s' 'cpu s' speedup
for ranks in "${sizes[@]}"; do
    platform "$ranks"
    chunk=$((bytes / ranks))
    run smpi "$ranks" "$chunk"
    slow=$cpu_s
    row "$ranks" "SMPI" 1.0x
    run smpi "$ranks" "$chunk" folded
    row "$ranks" "SMPI, folded buffers" "$(ratio "$slow" "$cpu_s")"
    run smpi "$ranks" $((chunk - envelope)) folded
    expected=$took_us
    row "$ranks" "SMPI, folded, 16 bytes less" "$(ratio "$slow" "$cpu_s")"
    for engine in simgrid flat; do
        run replay "$ranks" "$engine"
        row "$ranks" "ronde $engine" "$(ratio "$slow" "$cpu_s")"
        awk -v a="$took_us" -v b="$expected" 'BEGIN { exit !((a - b) ^ 2 <= (1e-6 * b) ^ 2) }' || different=1
    done
done
cat <<'TEXT'
# For scale, not run here: the same on another two-core x86-64 machine.
#   LogGOPSim            64: 10695.64 us, 0.00 s   512: 11738.36 us, 0.31 s   1024: 12772.77 us, 1.35 s + 2.8 s to convert
#   ASTRA-sim analytical 64:  9969.9  us, 0.01 s                              1024: 12036.6  us, 3.98 s
# LogGOPSim charges (bytes - 1) * G and knows no port contention; ASTRA-sim reads GB/s as GiB/s.
TEXT
[ "$different" -eq 0 ] || {
    echo "simulated times differ by more than 1e-6" >&2
    exit 1
}
