# engine_same.sh GRAPH DIRECTORY FUNC INPUT...: both engines give the same bytes, with 1, 2, 3, 7 threads.
set -euo pipefail
graph=$1 directory=$2 func=$3
shift 3
for input in "$@"; do
    run() { qgc run "$graph" --func="$func" --input x="$directory/$input.npy" "$@"; }
    run --engine=ref -o "$directory/ref.npz"
    for threads in 1 2 3 7; do
        run --threads=$threads -o "$directory/jit.npz"
        cmp "$directory/ref.npz" "$directory/jit.npz"
    done
done
