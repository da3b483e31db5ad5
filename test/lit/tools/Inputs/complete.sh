#!/usr/bin/env bash
# complete.sh DIRECTORY WORD...: what bash would offer for the last word, in a directory with one file.
set -euo pipefail
mkdir -p "$1"
cd "$1"
touch net.qir
shift
compopt() { :; } # exists only while bash completes
source <(qgc completion)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$(complete -p qgc | sed 's/.*-F \([^ ]*\).*/\1/')" || true
printf '%d:' "${#COMPREPLY[@]}"
[ ${#COMPREPLY[@]} -eq 0 ] || printf ' <%s>' "${COMPREPLY[@]}"
echo
