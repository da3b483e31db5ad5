#!/usr/bin/env bash
# check_manual.sh PAGE: each command and each of its options stands in the page.
set -euo pipefail
count=0
missing=0
for command in $(qgc --help | sed -nE 's/^  ([a-z0-9-]+) +[a-z].*/\1/p'); do
    for word in "qgc $command" $(qgc "$command" --help | sed -nE 's/^  (-[-a-z0-9]*).*/\1/p'); do
        count=$((count + 1))
        grep -qE -- "$word([^-a-z0-9]|$)" "$1" && continue
        echo "$1 does not mention '$word' of qgc $command"
        missing=1
    done
done
test "$count" -ge 20 && test "$missing" -eq 0
