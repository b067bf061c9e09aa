# What every reader of records needs; comes before it: awk -f record.awk -f READER. POSIX awk.

# Value of a key of a record, without quotes.
function value_of(key,    text) {
    if (!match($0, "\"" key "\": *(\"[^\"]*\"|[^,}]*)"))
        return ""
    text = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*": */, "", text)
    gsub(/"/, "", text)
    return text
}
