#!/usr/bin/env bash
# Times of all algorithms on this machine, for choosing without a model of it: bench/measured.sh --help
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
    cat <<'TEXT'
bench/measured.sh race BUILD FOLDER [BACKEND [RANKS [COLLECTIVE ...]]]
bench/measured.sh table FOLDER BACKEND > schedules/measured_BACKEND.c

race   adds a round to FOLDER/BACKEND.jsonl: every algorithm of every collective, out of place, 8 B to 16 MiB, by
       `ronde run -a race`. BACKEND is cpu or proc (default: both), RANKS a list with commas (default 2,4,8).
table  writes what the rounds say, the median of each point's, as the C file that the library is built with.
Nobody else may use the machine meanwhile.
TEXT
}

refuse() {
    printf 'bench/measured.sh: %s; --help\n' "$*" >&2
    exit 2
}

collectives="all_reduce reduce_scatter all_gather broadcast reduce scatter gather all_to_all barrier send_recv"

# A round. Records of the races are those with the label; what else the command measures is kept short.
race() {
    local build=$1 folder=$2 backends=${3:-"cpu proc"} counts=${4:-2,4,8} backend ranks collective
    shift $(($# < 4 ? $# : 4))
    [ -x "$build/ronde" ] || refuse "$build/ronde is not there: build it"
    [ $# -gt 0 ] || read -r -a wanted <<<"$collectives"
    [ $# -eq 0 ] || wanted=("$@")
    mkdir -p "$folder"
    for backend in $backends; do
        "$build/ronde" run barrier -a tree -N 2 -n 1 -w 0 -c 0 |
            sed -n '2s/^# //; 2s/; .*//; 2p' >"$folder/$backend.machine"
        date +%Y-%m-%d >>"$folder/$backend.machine"
        for ranks in ${counts//,/ }; do
            for collective in "${wanted[@]}"; do
                "$build/ronde" run "$collective" -N "$ranks" --backend "$backend" -a race -b 8 -e 16M -f 8 \
                    -n 1 -w 0 -c 0 --json | grep '"race"' >>"$folder/$backend.jsonl"
            done
        done
    done
}

table() {
    local folder=$1 backend=$2
    [ -f "$folder/$backend.jsonl" ] || refuse "there is no $folder/$backend.jsonl: race first"
    awk -v backend="$backend" -v machine="$(paste -sd , "$folder/$backend.machine" | sed 's/,\([^,]*\)$/, \1/')" \
        -f "$here/record.awk" -f "$here/measured.awk" "$folder/$backend.jsonl"
}

case ${1-} in
--help) usage ;;
race)
    [ $# -ge 3 ] || refuse "BUILD and FOLDER are needed"
    race "${@:2}"
    ;;
table)
    [ $# -eq 3 ] || refuse "FOLDER and BACKEND are needed"
    table "$2" "$3"
    ;;
*) refuse "race or table?" ;;
esac
