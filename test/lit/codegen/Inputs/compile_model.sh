#!/usr/bin/env bash
# A demo model quantized as tools/demo does, compiled, linked into a C program in several ways: the
# interpreter's bytes and the JIT engine's.
#
# usage: compile_model.sh SOURCE_DIR MODEL WORK_DIR [LEVEL of aarch64...]
set -euo pipefail
source=$1 model=$2 work=$3
shift 3
inputs=$source/test/lit/codegen/Inputs
count=20
rm -rf "$work" && mkdir -p "$work" && cd "$work"
python3 "$inputs/pictures.py" "$source/models/fashion-500-images-idx3-ubyte.gz" $count x
qgc quantize "$source/models/$model.onnx" --data "$source/models/fashion-calibration-256-images-idx3-ubyte.gz" \
    --limit 32 --batch 16 --no-progress -o q.qir
qgc opt q.qir --set N=$count --passes=infer-shapes,partition,lower-integer,infer-shapes -o lowered.qir

results=$((count * 10 * 4))
qgc run lowered.qir --input pictures=x.npy --engine=ref -o ref.npy && tail -c $results ref.npy >ref.raw
qgc run lowered.qir --input pictures=x.npy --engine=jit -o jit.npy && tail -c $results jit.npy >jit.raw
cmp ref.raw jit.raw
same() { # name command...
    local name=$1
    shift
    "$@" <x.raw >got.raw
    cmp ref.raw got.raw
    echo "$name equal"
}
build=(-Wall -Wextra -Wpedantic -Werror -O1 -DMODEL_HEADER='"model.h"' -I. "$inputs/call_model.c")

if [ $# -gt 0 ]; then
    for level in "$@"; do
        qgc compile lowered.qir --cpu="$level" --name=model -o model.o
        aarch64-linux-gnu-gcc -std=c11 "${build[@]}" model.o -static -o arm -lm
        same "$level" qemu-aarch64 -cpu max ./arm
    done
    exit
fi
qgc compile lowered.qir -o model.o
gcc -std=c11 "${build[@]}" model.o -o c -lm
same C ./c
g++ -std=c++17 -x c++ "${build[@]}" -x none model.o -o c++ -lm
same C++ ./c++
gcc -std=c11 -fsanitize=address,undefined -fno-sanitize-recover=all "${build[@]}" model.o -o asan -lm
same sanitized ./asan
gcc -std=c11 -ffast-math "${build[@]}" model.o -o fast -lm # its start-up code flushes subnormals to zero
same fast-math ./fast
qgc compile lowered.qir --name=model -o libmodel.so
mv libmodel.h model.h
gcc -std=c11 "${build[@]}" -L. -lmodel -Wl,-rpath,. -o shared -lm
same shared ./shared
qgc compile lowered.qir --name=model -o model.s
gcc -c model.s -o model.s.o
gcc -std=c11 "${build[@]}" model.s.o -o assembled -lm
same assembly ./assembled
qgc compile lowered.qir --cpu=x86-64 --name=model -o sse.o # for its header: the arena has another size
mv sse.h model.h
qgc compile lowered.qir --cpu=x86-64 --name=model -o model.ll
clang-19 -Wno-override-module -c -O1 model.ll -o model.ll.o
gcc -std=c11 "${build[@]}" model.ll.o -o from-ir -lm
same IR ./from-ir
qgc compile lowered.qir --name=model -o twice.o
cmp model.o twice.o
echo "twice the same object"
echo "needs: $(nm -u model.o | awk '{print $2}' | sort | tr '\n' ' ')"
