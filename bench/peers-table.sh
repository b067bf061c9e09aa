#!/usr/bin/env bash
# The table, the targets and the picture of a folder of records: bench/peers-table.sh FOLDER
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1-}
if [ ! -f "$folder/records.jsonl" ]; then
    echo "bench/peers-table.sh FOLDER: there is no $folder/records.jsonl" >&2
    exit 2
fi

[ ! -f "$folder/machine.txt" ] || sed 's/^/# /' "$folder/machine.txt"
awk -v form=table -f "$here/record.awk" -f "$here/peers.awk" "$here/targets.txt" "$folder/records.jsonl"

if ! command -v gnuplot >/dev/null; then
    echo "skip $folder/time.svg: no gnuplot here (Debian: gnuplot-nox)" >&2
    exit 0
fi
awk -v form=plot -f "$here/record.awk" -f "$here/peers.awk" "$here/targets.txt" "$folder/records.jsonl" |
    gnuplot -e "set output '$folder/time.svg'" -
