#!/usr/bin/env bash
# planted_failure.sh GRAPH: succeeds where a "bug" shows: a tanh of at least three columns before a clip.
qgc opt "$1" | awk '/tanh .*f32\[[0-9]+,([3-9]|[0-9][0-9])\]/ {seen = 1} /clip/ && seen {found = 1} END {exit !found}'
