# Reads records of races; prints the table of a backend as a C file: a row for each collective, algorithm and number of
# ranks, a median of the rounds for each size. POSIX awk.

# Sizes are 8 times 8^k; a smallest one may be larger than asked for, as every rank has an element.
function column_of(bytes,    k) {
    for (k = 1; k < columns && bytes >= 8 ^ (k + 1); k++) {}
    return k
}

function median(row, k,    i, j, n, held, sorted) {
    n = rounds[row, k]
    for (i = 1; i <= n; i++) {
        held = time[row, k, i]
        for (j = i - 1; j > 0 && sorted[j] > held; j--)
            sorted[j + 1] = sorted[j]
        sorted[j + 1] = held
    }
    return n == 0 ? 0 : (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2
}

BEGIN { columns = 8 }

{
    row = value_of("collective") " " value_of("algorithm") " " value_of("ranks")
    if (!(row in seen)) {
        seen[row] = 1
        rows[++row_count] = row
    }
    k = column_of(value_of("bytes") + 0)
    # A barrier has no size.
    last = value_of("bytes") + 0 == 0 ? columns : k
    for (; k <= last; k++)
        time[row, k, ++rounds[row, k]] = value_of("time_ns") / 1e3
}

END {
    split(machine, words, " ")
    printf "/** Times measured on %s; written by bench/measured.sh, do not edit. */\n", backend
    printf "#include \"measured_times.h\"\n\n"
    printf "/* clang-format off */\nstatic const struct ronde_measured_row rows[] = {\n"
    for (i = 1; i <= row_count; i++) {
        split(rows[i], part, " ")
        printf "    {RONDE_%s, \"%s\", %d, {", toupper(part[1]), part[2], part[3]
        for (k = 1; k <= columns; k++)
            printf("%s%.4g", k > 1 ? ", " : "", median(rows[i], k))
        printf "}},\n"
    }
    printf "};\n/* clang-format on */\n\n"
    match(machine, /[0-9]+ usable cores/)
    printf "const struct ronde_measured ronde_measured_%s = {\n    .backend = \"%s\",\n", backend, backend
    printf "    .machine = \"%s\",\n    .cores = %d,\n", machine, substr(machine, RSTART) + 0
    printf "    .bytes = {"
    for (k = 1; k <= columns; k++)
        printf("%s%d", k > 1 ? ", " : "", 8 ^ k)
    printf "},\n    .rows = rows,\n    .row_count = sizeof rows / sizeof rows[0],\n};\n"
}
