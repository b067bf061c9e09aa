# Reads targets.txt and then records.jsonl; prints the table with the targets (form=table), or commands for gnuplot
# (form=plot). A point is collective, ranks and bytes; its rounds are told apart by the label "round N". POSIX awk.

# ---- Reading ----------------------------------------------------------------------------------------------------------

function bytes_of(text,    number) {
    number = text + 0
    if (text ~ /K$/) return number * 1024
    if (text ~ /M$/) return number * 1048576
    if (text ~ /G$/) return number * 1073741824
    return number
}

function size_text(bytes) {
    if (bytes % 1048576 == 0) return bytes / 1048576 "M"
    if (bytes % 1024 == 0) return bytes / 1024 "K"
    return bytes ""
}

function note_point(table, bytes) {
    if (!(table in points)) {
        tables[++table_count] = table
        points[table] = 0
    }
    if (!((table, bytes) in seen)) {
        seen[table, bytes] = 1
        sizes[table, ++points[table]] = bytes
    }
}

function read_record(    table, bytes, engine, round) {
    table = value_of("collective") " " value_of("ranks")
    bytes = value_of("bytes") + 0
    engine = value_of("engine")
    match($0, /"round [0-9]+"/)
    round = substr($0, RSTART + 7, RLENGTH - 8) + 0
    note_point(table, bytes)
    if (round > rounds) rounds = round
    if (/"disturbed"/ && !((table, bytes, round) in disturbed)) {
        disturbed[table, bytes, round] = 1
        disturbances[table, bytes]++
    }
    # What is wrong has no time.
    if (value_of("wrong") != "0") {
        wrong[table, bytes, engine] = value_of("wrong")
        return
    }
    time[table, bytes, engine, round] = value_of("time_ns") / 1e3
    algorithm[table, bytes, engine] = value_of("algorithm") "/" value_of("protocol")
}

# Of blank, comment and target lines of targets.txt only the last.
FILENAME ~ /targets\.txt$/ {
    if ($0 !~ /^ *(#|$)/) targets[++target_count] = $0
    next
}

{ read_record() }

# ---- Statistics -------------------------------------------------------------------------------------------------------

# Sorts list[1 .. count], and returns the median; low and high are its ends.
function median(list, count,    i, k, held) {
    for (i = 2; i <= count; i++) {
        held = list[i]
        for (k = i - 1; k >= 1 && list[k] > held; k--) list[k + 1] = list[k]
        list[k + 1] = held
    }
    low = list[1]
    high = list[count]
    return (list[int((count + 1) / 2)] + list[int((count + 2) / 2)]) / 2
}

# Median time of a contender, us; 0 where it was not measured.
function time_of(table, bytes, engine,    list, count, round) {
    for (round = 1; round <= rounds; round++)
        if ((table, bytes, engine, round) in time)
            list[++count] = time[table, bytes, engine, round]
    return count ? median(list, count) : 0
}

# Median of slow / fast within rounds, and its low and high; 0 where no round has both.
function ratio_of(table, bytes, slow, fast,    list, count, round) {
    for (round = 1; round <= rounds; round++)
        if (((table, bytes, slow, round) in time) && ((table, bytes, fast, round) in time))
            list[++count] = time[table, bytes, slow, round] / time[table, bytes, fast, round]
    return count ? median(list, count) : 0
}

# The fastest peer of a point, or "".
function best_peer(table, bytes,    i, took, best, best_took) {
    best = ""
    for (i = 1; i <= peer_count; i++) {
        took = time_of(table, bytes, peers[i])
        if (took > 0 && (best == "" || took < best_took)) {
            best = peers[i]
            best_took = took
        }
    }
    return best
}

# ---- The table --------------------------------------------------------------------------------------------------------

function us_text(us) {
    if (us == 0) return "-"
    return sprintf(us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us)
}

# "2.91x [2.80 .. 3.02]" of the last ratio_of.
function ratio_text(ratio) {
    return ratio == 0 ? "-" : sprintf("%.2fx [%.2f .. %.2f]", ratio, low, high)
}

function share_text(share) {
    return share == 0 ? "-" : sprintf("%.0f%%", share * 100)
}

function print_row(table, bytes,    i, line, best, name) {
    line = sprintf("%8s", size_text(bytes))
    for (i = 1; i <= engine_count; i++) line = line sprintf(" %10s", us_text(time_of(table, bytes, engines[i])))
    best = best_peer(table, bytes)
    for (i = 1; i <= 2; i++)
        line = line sprintf("  %24s", best == "" ? "-" : ratio_text(ratio_of(table, bytes, best, engines[i])))
    line = line sprintf("  %8s", best == "" ? "-" : best)
    for (i = 1; i <= 2; i++) line = line sprintf(" %5s", share_text(ratio_of(table, bytes, "limit", engines[i])))
    for (i = 1; i <= 2; i++) {
        name = algorithm[table, bytes, engines[i]]
        line = line "  " (name == "" ? "-" : name)
    }
    if ((table, bytes) in disturbances) line = line sprintf("  (disturbed rounds: %d)", disturbances[table, bytes])
    print line
}

function print_table(table,    i, words, line) {
    split(table, words, " ")
    printf "\n# %s, %s ranks, float32, %s\n", words[1], words[2], \
        words[1] == "broadcast" ? "in place" : "out of place"
    line = "#  bytes"
    for (i = 1; i <= engine_count; i++) line = line sprintf(" %10s", engines[i])
    print line sprintf("  %24s  %24s  %8s %5s %5s  %s", "best peer / cpu", "best peer / proc", "best", "cpu", "proc", \
        "algorithm and protocol of cpu, of proc")
    for (i = 1; i <= points[table]; i++) print_row(table, sizes[table, i])
}

# ---- Targets ----------------------------------------------------------------------------------------------------------

function is_listed(item, list,    words, count, i) {
    count = split(list, words, ",")
    for (i = 1; i <= count; i++)
        if (words[i] == "*" || words[i] == item) return 1
    return 0
}

# The ratio that a target is about at a point; 0 where it was not measured.
function target_ratio(table, bytes, engine, against) {
    if (against == "best") against = best_peer(table, bytes)
    return against == "" ? 0 : ratio_of(table, bytes, against, engine)
}

# The points of a target: how many were measured and how many missed it; the first is what a lone point shows.
function weigh_target(words,    t, i, table, bytes, ratio, parts) {
    measured = missed = 0
    miss_text = ""
    for (t = 1; t <= table_count; t++) {
        table = tables[t]
        split(table, parts, " ")
        for (i = 1; i <= points[table]; i++) {
            bytes = sizes[table, i]
            if (!is_listed(parts[1], words[2]) || !is_listed(parts[2], words[3]) ||
                bytes < bytes_of(words[4]) || bytes > bytes_of(words[5])) continue
            ratio = target_ratio(table, bytes, words[1], words[6])
            if (ratio == 0) continue
            measured++
            if (measured == 1) lone_text = ratio_text(ratio)
            if (ratio >= words[7]) continue
            missed++
            miss_text = miss_text sprintf("#     missed  %-11s %s ranks %6s  %s\n", parts[1], parts[2], \
                size_text(bytes), ratio_text(ratio))
        }
    }
}

function print_target(line,    words, what, verdict) {
    split(line, words, " ")
    weigh_target(words)
    what = sprintf("%-4s %-10s %s ranks, %s >= %sx %s", words[1], words[2] == "*" ? "all" : words[2], \
        words[3] == "*" ? "all" : words[3], words[4] == words[5] ? words[4] : words[4] ".." words[5], words[7], \
        words[6] == "limit" ? "the limit's speed" : words[6] == "best" ? "best peer" : words[6])
    verdict = measured == 0 ? "not measured" : missed ? "MISSED" : "met"
    if (measured == 1) verdict = lone_text " " verdict
    else if (measured > 1) verdict = sprintf("%d of %d points %s", measured - missed, measured, verdict)
    printf "# %-58s  %s\n", what, verdict
    if (measured > 1) printf "%s", miss_text
}

function print_tables(    i, key, parts) {
    printf "# Times in us: medians of %d rounds of the mean time on the slowest rank. Ratios: median [smallest .. largest]\n", rounds
    printf "# of the rounds, above 1 where ronde is faster. cpu, proc at the right: share of the limit's speed.\n"
    for (i = 1; i <= table_count; i++) print_table(tables[i])
    for (key in wrong) {
        split(key, parts, SUBSEP)
        printf "# WRONG: %s: %s ranks, %s: %s elements\n", parts[3], parts[1], size_text(parts[2]), wrong[key]
    }
    printf "\n# Targets\n"
    for (i = 1; i <= target_count; i++) print_target(targets[i])
}

# ---- The picture ------------------------------------------------------------------------------------------------------

function print_data(table, engine,    i, took) {
    for (i = 1; i <= points[table]; i++) {
        took = time_of(table, sizes[table, i], engine)
        if (took > 0) print sizes[table, i], took
    }
    print "e"
}

function has_engine(table, engine,    i) {
    for (i = 1; i <= points[table]; i++)
        if (time_of(table, sizes[table, i], engine) > 0) return 1
    return 0
}

# One panel per table, all engines in it.
function print_panel(table,    i, shown, count, words) {
    split(table, words, " ")
    printf "set title '%s, %s ranks' noenhanced\n", words[1], words[2]
    for (i = 1; i <= engine_count; i++)
        if (has_engine(table, engines[i])) shown[++count] = i
    for (i = 1; i <= count; i++)
        printf "%s'-' using 1:2 with linespoints linetype %d pointsize 0.4 title '%s'%s", i == 1 ? "plot " : "", \
            shown[i], engines[shown[i]], i == count ? "\n" : ", "
    for (i = 1; i <= count; i++) print_data(table, engines[shown[i]])
}

function print_plot(    i, columns) {
    columns = table_count < 3 ? table_count : 3
    printf "set terminal svg size %d,%d font 'sans,10'\n", 400 * columns, 300 * int((table_count + columns - 1) / columns)
    printf "set multiplot layout %d,%d\n", int((table_count + columns - 1) / columns), columns
    print "set logscale x 2; set logscale y; set format x '%.0b%B'; set xtics 32; set grid"
    print "set key left top reverse Left samplen 2; set xlabel 'bytes'; set ylabel 'us'"
    for (i = 1; i <= table_count; i++) print_panel(tables[i])
    print "unset multiplot"
}

END {
    engine_count = split("cpu proc openmpi mpich gloo limit", engines, " ")
    peer_count = split("openmpi mpich gloo", peers, " ")
    if (form == "plot" && table_count > 0) print_plot()
    if (form == "table") print_tables()
}
