# option_table.sh DIRECTORY: one call for each row of the table; prints the exit code and the first line of stderr.
try() {
    qgc "$@" > "$t/out" 2> "$t/err"
    echo "$?: $(head -1 "$t/err")"
}
t=$1
try opt linear.qir --remarks=all --quiet
try run linear.qir --input x=x.npy --cache "$t/c" --no-cache
try run linear.qir --image size=4
try bench linear.qir --set N=1 --image size=4
try calibrate prepared.qir --data samples.npy --checkpoint 3
try run linear.qir --input x=x.npy --engine=ref --threads 2
try sens linear.qir --data samples.npy --engine=ref --cpu x86-64
try opt linear.qir --print-after all
try opt "$t/r.qcfg" -o "$t/x"
try run linear.qir --func=all --input x=x.npy
try import --ops --literal
try import --ops ../../test/data/onnx/names.onnx
try quantize linear.qir --data samples.npy --report "$t/r.html"
try quantize linear.qir --data samples.npy --report "$t/r.html" -o -
try quantize linear.qir --data samples.npy --labels by-folder
try bench linear.qir --set N=1 --rounds 3 --time 1
try compare linear.qir calibrated.qir --data samples.npy --by mse --worst 0
try explain linear.qir --all --format json
try explain linear.qir %r --all
try tune linear.qir --data samples.npy --min-sqnr 4 --table "$t/x.sens" --by mse
try docs ops -o "$t"
try calibrate prepared.qir --data samples.npy --image size=4
