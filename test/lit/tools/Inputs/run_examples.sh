#!/usr/bin/env bash
# Runs the `example:` of each command's --help in the repository's root ($1).
set -euo pipefail
cd "$1"
commands=$(qgc --help | sed -nE 's/^  ([a-z-]+) +[a-z].*/\1/p')
count=0
for command in $commands; do
    example=$(qgc "$command" --help | sed -n '/^example:/{n;s/^ *//p}')
    echo "$example"
    bash -euo pipefail -c "$example" >/dev/null || test $? -eq 1 # 1: two graphs differ
    count=$((count + 1))
done
test "$count" -ge 4
