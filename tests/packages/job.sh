#!/usr/bin/env bash
# What jobs are written with: `run COMMAND...` is a command that a person types, `expect CODE TEXT` what came of it. A job is at most
# ten commands, and uses nothing but what is installed and the files that its person has.
set -euo pipefail

readonly most_commands=10
commands=0 said="" code=0

run() {
    commands=$((commands + 1))
    printf '$ %s\n' "$*"
    code=0
    said=$("$@" 2>&1) || code=$?
    head -n 12 <<<"$said"
}

# The last command ended with a status, and its words are matched by an extended regular expression.
expect() {
    if [ "$code" -ne "$1" ] || ! grep -Eq -- "$2" <<<"$said"; then
        printf 'FAILED: it ended with %s and said:\n%s\nexpected %s and: %s\n' "$code" "$said" "$1" "$2"
        exit 1
    fi
}

finish() {
    if [ "$commands" -gt "$most_commands" ]; then
        printf 'FAILED: %d commands, at most %d\n' "$commands" "$most_commands"
        exit 1
    fi
    printf 'ok: %s, %d commands\n' "$1" "$commands"
}

# What the person has: examples of the repository stand for files of one's own.
mine=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/docs/examples
export mine
cd "$(mktemp -d)"
