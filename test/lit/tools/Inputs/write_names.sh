# What every command says of one demo model, and of one with a fault, as files in MODEL/; then their join.
set -euo pipefail
model=$1/models/$2.onnx
data="--data $1/models/fashion-calibration-256-images-idx3-ubyte.gz --limit 8 --quiet"
mkdir "$2" && cd "$2"
qgc quantize "$model" $data -o q.qir --calibrated c.qir
qgc quantize "$model" $data --target cpu -o low.qir
python3 "$1/test/lit/tools/Inputs/widen.py" q.qir wide.qir
qgc check wide.qir --stats c.qir --diag-format=json > check.jsonl
qgc compare "$model" q.qir $data -o compare.quantized.csv -o compare.quantized.json > /dev/null
qgc compare "$model" low.qir $data -o compare.lowered.csv -o compare.lowered.json > /dev/null
qgc sens c.qir $data --budget 12 -o sens.csv -o sens.json -o sens.txt
qgc explain "$model" --format=json -o explain.float.jsonl
qgc explain q.qir --format=json -o explain.quantized.jsonl
qgc explain low.qir --format=json -o explain.lowered.jsonl
qgc diff "$model" q.qir -o diff.quantized.json > /dev/null || test $? -eq 1
qgc diff "$model" low.qir -o diff.lowered.json > /dev/null || test $? -eq 1
qgc stats print c.qir > stats.txt
python3 "$1/test/lit/tools/Inputs/join_names.py" . quantized lowered
