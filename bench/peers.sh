#!/usr/bin/env bash
# ronde beside MPI libraries, Gloo and the machine's memory: bench/peers.sh --help
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
    cat <<'TEXT'
bench/peers.sh BUILD FOLDER [--quick] [--ranks 2,4,8] [--sizes 8,1K,64K,1M,16M,128M]
               [--collectives all_reduce,broadcast,all_gather] [--rounds 5]
               [--with cpu,proc,openmpi,mpich,gloo,limit] [--algorithm fastest] [--apart]

Measures the same points with all contenders in turns, so that a machine that gets slower gets slower for all of them:
ratios are taken within a round, and the median of the rounds counts. BUILD is ronde's build folder. FOLDER gets
records.jsonl (a record per contender and round), machine.txt, table.txt and time.svg. The table goes to stdout too,
with the targets of bench/targets.txt and whether they are met.

--quick      2 ranks, three sizes, three rounds
--apart      ranks meet before each run, untimed, so that none is several runs ahead of the others
--algorithm  ronde's, or fastest: the registry's fastest in a race before each point
TEXT
}

say() { printf '%s\n' "$*" >&2; }

refuse() {
    say "bench/peers.sh: $*; --help"
    exit 2
}

# ---- What is asked for -------------------------------------------------------------------------------------------------

# A list with commas as words, each of which must match an expression.
words_of() {
    local word words=()
    IFS=, read -r -a words <<<"$2"
    [ "${#words[@]}" -gt 0 ] || refuse "$1: an empty list"
    for word in "${words[@]}"; do
        [[ $word =~ ^($3)$ ]] || refuse "$1: $word is not one of $3"
    done
    printf '%s\n' "${words[*]}"
}

bytes_of() {
    local number=${1%[KMG]}
    case $1 in
    *K) printf '%s' $((number << 10)) ;;
    *M) printf '%s' $((number << 20)) ;;
    *G) printf '%s' $((number << 30)) ;;
    *) printf '%s' "$number" ;;
    esac
}

parse() {
    local name value
    ranks="2 4 8" sizes="8 1K 64K 1M 16M 128M" collectives="all_reduce broadcast all_gather" rounds=5
    wanted="cpu proc openmpi mpich gloo limit" algorithm=fastest way=row build='' folder=''
    while [ $# -gt 0 ]; do
        name=$1
        value=${2-}
        shift
        case $name in
        --help) usage && exit 0 ;;
        --quick) ranks=2 sizes="8 1M 128M" rounds=3 && continue ;;
        --apart) way=apart && continue ;;
        --ranks | --sizes | --collectives | --rounds | --with | --algorithm)
            [ -n "$value" ] || refuse "$name needs a value"
            shift
            ;;
        --*) refuse "unknown option $name" ;;
        esac
        case $name in
        --ranks) ranks=$(words_of "$name" "$value" '[2-9]|[1-5][0-9]|6[0-4]') ;;
        --sizes) sizes=$(words_of "$name" "$value" '[1-9][0-9]{0,9}[KMG]?') ;;
        --collectives) collectives=$(words_of "$name" "$value" 'all_reduce|broadcast|all_gather') ;;
        --rounds) rounds=$(words_of "$name" "$value" '[1-9][0-9]?') ;;
        --with) wanted=$(words_of "$name" "$value" 'cpu|proc|openmpi|mpich|gloo|limit') ;;
        --algorithm) algorithm=$(words_of "$name" "$value" '[a-z_]+') ;;
        *)
            [ -z "$folder" ] || refuse "what is $name for?"
            if [ -z "$build" ]; then build=$name; else folder=$name; fi
            ;;
        esac
    done
    [ -n "$folder" ] || refuse "BUILD and FOLDER are needed"
    [ -x "$build/bench/bench_ronde" ] || refuse "$build/bench/bench_ronde is not there: build it"
}

# ---- Contenders --------------------------------------------------------------------------------------------------------

# Builds one contender; a message and failure where its library is missing.
build_contender() {
    local name=$1 flags=(-O3 -std=c11) package
    case $name in
    cpu | proc) return 0 ;;
    openmpi) package="openmpi-bin, libopenmpi-dev" ;;
    mpich) package="mpich, libmpich-dev" ;;
    gloo) package=libgloo-dev ;;
    *) package="gcc" ;;
    esac
    case $name in
    openmpi | mpich)
        command -v "mpicc.$name" "mpirun.$name" >/dev/null &&
            "mpicc.$name" "${flags[@]}" "$here"/peers/{mpi,contender}.c -o "$work/$name"
        ;;
    gloo)
        cc "${flags[@]}" -c "$here/peers/contender.c" -o "$work/contender.o" &&
            c++ -O3 -std=c++17 "$here/peers/gloo.cpp" "$work/contender.o" -lgloo -pthread -o "$work/gloo"
        ;;
    limit) cc "${flags[@]}" -pthread "$here"/peers/{limit,contender}.c -o "$work/limit" ;;
    esac 2>"$work/$name.log" || {
        say "skip $name: it could not be built here (Debian: $package)"
        return 1
    }
}

# How many processes read points.
readers_of() {
    case $1 in
    cpu | limit) printf 1 ;;
    *) printf '%s' "$2" ;;
    esac
}

# The command line of a contender, as the array `command`; of processes that are started one by one, of rank $3.
command_of() {
    local name=$1 count=$2 rank=$3 own=$work/$1.$2
    case $name in
    cpu) command=("$build/bench/bench_ronde" "$own" "$count" "$algorithm" "$name") ;;
    proc)
        command=("$build/bench/bench_ronde" "$own" "$count" "$algorithm" "$name" "$rank" "bench-$$-$count")
        ;;
    gloo) command=("$work/gloo" "$own" "$rank" "$count") ;;
    limit) command=("$work/limit" "$own" "$count") ;;
    # Cross-memory attach spares one of two copies; it is the default where the kernel lets processes use it.
    openmpi)
        command=(mpirun.openmpi --allow-run-as-root --bind-to none -np "$count" --mca pml ob1
            --mca btl "self,vader" --mca btl_vader_single_copy_mechanism cma)
        # Where there are more ranks than cores this also makes them yield while they wait.
        [ "$count" -le "$cores" ] || command+=(--oversubscribe)
        command+=("$work/openmpi" "$own")
        ;;
    mpich) command=(mpirun.mpich -n "$count" "$work/mpich" "$own") ;;
    esac
}

# Starts a contender of so many ranks. Its FIFOs are opened by open_contender, so that no process inherits them and all
# see the end when this script is gone.
start_contender() {
    local name=$1 count=$2 own=$work/$1.$2 rank command
    processes[$name]=''
    mkdir "$own"
    mkfifo "$own/out"
    for ((rank = 0; rank < $(readers_of "$name" "$count"); rank++)); do
        mkfifo "$own/in.$rank"
    done
    case $name in
    proc | gloo) for ((rank = 0; rank < count; rank++)); do launch "$name" "$count" "$rank"; done ;;
    *) launch "$name" "$count" 0 ;;
    esac
}

launch() {
    command_of "$1" "$2" "$3"
    # A message of a launcher says less than the contender's failure does; it is kept in the contender's log.
    "${command[@]}" </dev/null >>"$work/$1.log" 2>&1 &
    children+=("$!")
    processes[$1]+="$! "
}

open_contender() {
    local name=$1 count=$2 own=$work/$1.$2 rank fd
    inputs[$name]=''
    for ((rank = 0; rank < $(readers_of "$name" "$count"); rank++)); do
        exec {fd}<>"$own/in.$rank"
        inputs[$name]+="$fd "
    done
    exec {fd}<>"$own/out"
    output[$name]=$fd
}

stop_contenders() {
    local name fd child
    for name in "${!inputs[@]}"; do
        for fd in ${inputs[$name]} ${output[$name]}; do exec {fd}>&-; done
    done
    inputs=() output=()
    # Ranks end when their FIFO does; whoever hangs is ended.
    for child in "${children[@]}"; do
        timeout 10 tail --pid="$child" -f /dev/null || kill "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    done
    children=()
}

# ---- Measuring ---------------------------------------------------------------------------------------------------------

# A contender that has failed takes no further part with these ranks.
drop() {
    say "FAILED $1, $2 ranks, $3: $(tail -n 3 "$work/$1.log" | tr '\n' ' ')"
    failed=1
    local fd
    for fd in ${inputs[$1]} ${output[$1]}; do exec {fd}>&-; done
    unset "inputs[$1]" "output[$1]"
}

is_alive() {
    local process
    for process in ${processes[$1]}; do
        kill -0 "$process" 2>/dev/null || return 1
    done
}

# Waits for an answer while the contender lives, three minutes at most.
hear() {
    local name=$1 patience
    for ((patience = 180; patience > 0; patience--)); do
        if read -r -t 1 -u "${output[$name]}" took_ns wrong count used protocol; then
            [ "$took_ns" != failed ]
            return
        fi
        is_alive "$name" || return 1
    done
    return 1
}

# ask NAME RANKS COLLECTIVE BYTES WARMUPS ITERATIONS: sets took_ns, wrong, count, used, protocol.
ask() {
    local name=$1 fd
    for fd in ${inputs[$name]}; do
        printf '%s %s %s %s %s\n' "${@:3}" "$way" >&"$fd"
    done
    hear "$name" || {
        drop "$name" "$2" "$3 of $4 bytes"
        return 1
    }
}

# Iterations that fill `window_ns`: from 2 on, of tiny runs at most 20,000.
iterations_for() {
    awk -v took="$1" -v window="$window_ns" \
        'BEGIN { n = int(window / took); n = n < 2 ? 2 : n > 20000 ? 20000 : n; printf "%d", n }'
}

# Brings a contender to a point: buffers, a check, and how many iterations fill the window.
warm_up() {
    local name=$1
    ask "$name" "$2" "$3" "$4" 0 1 || return 1
    wrongs[$name]=$wrong
    if [ "$wrong" != 0 ]; then
        say "WRONG $name, $2 ranks, $3 of $4 bytes: $wrong elements"
        failed=1
    fi
    if [ "$way" = apart ]; then
        # Meeting may take far longer than what is measured: by the clock, and a larger window.
        local started=$EPOCHREALTIME
        ask "$name" "$2" "$3" "$4" 1 10 || return 1
        iterations[$name]=$(awk -v from="$started" -v to="$EPOCHREALTIME" -v window="$window_ns" \
            'BEGIN { n = int(window / 1e8 / ((to - from) / 10)); n = n < 2 ? 2 : n > 2000 ? 2000 : n; printf "%d", n }')
        return 0
    fi
    iterations[$name]=$(iterations_for "$took_ns")
    # The first run was cold: ask again unless that makes no difference.
    if [ "${iterations[$name]}" -gt 2 ]; then
        ask "$name" "$2" "$3" "$4" 1 "${iterations[$name]}" || return 1
        iterations[$name]=$(iterations_for "$took_ns")
    fi
}

# A record of architecture's form. time_ns is the mean of a round's iterations, so smallest and 95th percentile are not
# known; the round is a label.
record() {
    local name=$1 ranks=$2 collective=$3 round=$4 bytes op=null root=null labels
    labels="\"round $round\""
    bytes=$((4 * count))
    [ "$collective" != all_gather ] || bytes=$((bytes * ranks))
    [ "$collective" != all_reduce ] || op='"sum"'
    [ "$collective" != broadcast ] || root=0
    [ "$way" = row ] || labels+=",\"$way\""
    [ "$ranks" -le "$cores" ] || labels+=',"oversubscribed"'
    awk -v t="$took_ns" -v bytes="$bytes" -v ranks="$ranks" -v collective="$collective" -v head="$(
        printf '{"kind":"measured","engine":"%s","collective":"%s","algorithm":"%s","ranks":%s,"bytes":%s,"count":%s,' \
            "$name" "$collective" "$used" "$ranks" "$bytes" "$count"
        printf '"dtype":"float32","op":%s,"root":%s,"channels":null,"pieces":null,"protocol":"%s","in_place":%s,' \
            "$op" "$root" "$protocol" "$([ "$collective" = broadcast ] && echo true || echo false)"
    )" -v tail="$(
        printf '"wrong":%s,"machine":"%s","topology":null,"schedule":null,"labels":[%s],"version":"%s"}' \
            "${wrongs[$name]}" "$machine" "$labels" "$version"
    )" -v reps="${iterations[$name]}" 'BEGIN {
        share = collective == "broadcast" ? 1 : (ranks - 1) / ranks * (collective == "all_reduce" ? 2 : 1)
        printf "%s\"time_ns\":%.1f,\"min_ns\":null,\"p95_ns\":null,\"reps\":%d,", head, t, reps
        printf "\"algbw_GBps\":%.6g,\"busbw_GBps\":%.6g,%s\n", bytes / t, bytes / t * share, tail }' \
        >>"$work/round"
}

# Those that still take part, beginning with another one each round: who follows whom should not matter.
turn() {
    local round=$1 name taking=()
    for name in $contenders; do
        [ -z "${output[$name]-}" ] || taking+=("$name")
    done
    [ "${#taking[@]}" -gt 0 ] || return 0
    printf '%s ' "${taking[@]:$((round % ${#taking[@]}))}" "${taking[@]:0:$((round % ${#taking[@]}))}"
}

# Clock ticks that the machine was busy or kept from working, and those of this script and all its descendants.
ticks() {
    local busy
    read -r _ user nice system _ _ _ _ steal _ </proc/stat
    busy=$((user + nice + system + steal))
    # Processes may end between being listed and being read.
    { cat /proc/[0-9]*/stat 2>/dev/null || true; } | awk -v busy="$busy" -v root=$$ '
        { sub(/\(.*\)/, "name"); parent[$1] = $4; used[$1] = $14 + $15 + $16 + $17 }
        END {
            for (process in used) {
                for (at = process; at in parent && at != root; at = parent[at]) continue
                if (at == root) own += used[process]
            }
            printf "%d %d\n", busy, own
        }'
}

# Whether others used more than 0.3 cores since `since` ("SECONDS BUSY OWN").
is_disturbed() {
    local now
    now="$EPOCHREALTIME $(ticks)"
    awk -v since="$since" -v now="$now" -v hertz="$(getconf CLK_TCK)" 'BEGIN {
        split(since, a, " "); split(now, b, " ")
        exit !(((b[2] - a[2]) - (b[3] - a[3])) / hertz / (b[1] - a[1]) > 0.3) }'
}

# One turn of all contenders at a point; its records go to $work/round.
measure_round() {
    local ranks=$1 collective=$2 bytes=$3 round=$4 name
    : >"$work/round"
    for name in $(turn "$round"); do
        # A tenth of the iterations, and at least one, to find caches and threads as they are in a row of runs.
        ask "$name" "$ranks" "$collective" "$bytes" $((iterations[$name] / 10 + 1)) "${iterations[$name]}" || continue
        record "$name" "$ranks" "$collective" "$round"
    done
}

# A round that others disturbed is thrown away, counted and repeated, as often as there are rounds; then it is kept with
# a label that says so.
measure_point() {
    local ranks=$1 collective=$2 bytes=$3 round name since patience=$rounds
    for name in $(turn 0); do
        warm_up "$name" "$ranks" "$collective" "$bytes" || true
    done
    for ((round = 1; round <= rounds; round++)); do
        since="$EPOCHREALTIME $(ticks)"
        measure_round "$ranks" "$collective" "$bytes" "$round"
        if is_disturbed; then
            if [ "$patience" -gt 0 ]; then
                patience=$((patience - 1)) thrown=$((thrown + 1)) round=$((round - 1))
                continue
            fi
            sed -i 's/"labels":\["round [0-9]*"/&,"disturbed"/' "$work/round"
        fi
        cat "$work/round" >>"$folder/records.jsonl"
    done
}

# Every contender holds an input and an output of every rank.
fits() {
    local needed=$(($(wc -w <<<"$contenders") * 2 * $1 * $2 / 1024))
    [ "$needed" -lt $(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * 3 / 4)) ]
}

measure_ranks() {
    local ranks=$1 collective size name
    for name in $contenders; do start_contender "$name" "$ranks"; done
    for name in $contenders; do open_contender "$name" "$ranks"; done
    # A contender that answers has all its processes up: what is still starting would disturb the first point, and its race.
    for name in $contenders; do ask "$name" "$ranks" all_reduce 4 0 1 || true; done
    for collective in $collectives; do
        for size in $sizes; do
            if ! fits "$ranks" "$(bytes_of "$size")"; then
                say "skip $collective of $size on $ranks ranks: not enough memory for all contenders at once"
                continue
            fi
            say "$SECONDS s: $collective, $ranks ranks, $size"
            measure_point "$ranks" "$collective" "$(bytes_of "$size")"
        done
    done
    stop_contenders
}

# ---- The whole ---------------------------------------------------------------------------------------------------------

kernels() {
    [ ! -x "$work/limit" ] || "$work/limit" kernels | sed "s/^/kernel $1: /"
}

describe_machine() {
    printf 'machine: %s, %s MiB, Linux %s\n' "$machine" \
        "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)" "$(uname -r | cut -d. -f1-2)"
    printf 'date: %s\n' "$(date -u +%Y-%m-%d)"
    printf 'ronde: %s, algorithm %s\n' "$version" "$algorithm"
    printf 'runs: %s\n' "$([ "$way" = row ] && echo 'in a row' || echo 'apart, ranks meet before each')"
    [ ! -x "$work/openmpi" ] || printf 'openmpi: %s, cross-memory attach\n' "$(mpirun.openmpi --version | head -n 1)"
    [ ! -x "$work/mpich" ] || printf 'mpich: %s\n' "$(mpichversion 2>/dev/null | sed -n 's/^MPICH Version:[[:space:]]*//p')"
    [ ! -x "$work/gloo" ] || printf 'gloo: %s, TCP on the loopback\n' \
        "$(dpkg-query -W -f '${Version}' libgloo-dev 2>/dev/null || echo 'version unknown')"
    kernels before
}

main() {
    parse "$@"
    work=$(mktemp -d)
    children=()
    failed=0
    thrown=0
    # How long a contender runs at a point; who looks at no times needs less.
    window_ns=${RONDE_BENCH_WINDOW_NS:-30e6}
    declare -gA inputs=() output=() processes=() iterations=() wrongs=()
    trap 'stop_contenders; rm -rf "$work"' EXIT
    mkdir -p "$folder"
    : >"$folder/records.jsonl"
    cores=$(nproc)
    version=$("$build/ronde" --version | sed -E 's/^ronde ([0-9.]+).*/\1/')
    processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -cd '[:alnum:] ().@-')
    machine="$processor, $cores cores"
    contenders=''
    local name count
    for name in $wanted; do
        if build_contender "$name"; then contenders+="$name "; fi
    done
    describe_machine >"$folder/machine.txt"
    for count in $ranks; do measure_ranks "$count"; done
    kernels after >>"$folder/machine.txt"
    printf "rounds thrown away because others used more than 0.3 cores: %d\n" "$thrown" >>"$folder/machine.txt"
    "$here/peers-table.sh" "$folder" | tee "$folder/table.txt"
    return "$failed"
}

main "$@"
