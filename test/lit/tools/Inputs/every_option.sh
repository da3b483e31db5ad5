#!/usr/bin/env bash
# Every option in the help of every command is offered.
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT
count=0
for command in $(qgc --help | sed -nE 's/^  ([a-z0-9-]+) +[a-z].*/\1/p'); do
    for option in $(qgc "$command" --help | sed -nE 's/^  (-[-a-z0-9]*).*/\1/p'); do
        offered=$(bash "$(dirname "$0")/complete.sh" "$directory" qgc "$command" "$option")
        grep -qE "<$option=?>" <<<"$offered" || { echo "$command $option: $offered"; exit 1; }
        count=$((count + 1))
    done
done
test "$count" -ge 20
