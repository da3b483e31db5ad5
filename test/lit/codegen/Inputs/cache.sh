# cache.sh SOURCE_DIR WORK_DIR: everything that can happen to the cache of machine code.
set -euo pipefail
source=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work"
graph() { # weight
    cat <<TEXT
func @main(%x: f32[N,4]) -> (f32[N,8]) {
  %w = const $1 : f32[8,4]
  %y = linear %x, %w
  %z = relu %y
  return %z
}
TEXT
}
graph 0.5 >net.qir
graph 0.25 >other.qir
run() { # options...
    qgc run net.qir --input x="$source/docs/examples/x.npy" --remarks=cache "$@"
}
entries() { find "$1" -name '*.qgco' 2>/dev/null | wc -l; }
run --engine=ref >want
same() { # name, options...: runs; prints what was remarked
    local name=$1 said
    shift
    run "$@" >got 2>log
    cmp want got
    said=$(sed -nE 's/^qgc: remark: [^ ]*: (.*) \[R0604\]$/\1/p' log | paste -sd ';')
    echo "$name: the same${said:+, $said}"
}

cpu=--cpu=x86-64-v3
same cold $cpu --cache=c >/dev/null
entry=$(ls c/*.qgco)
cp "$entry" good
echo "$(same warm $cpu --cache=c), $(entries c) entry"
same "another level" --cpu=x86-64 --cache=c >said
echo "$(cat said), $(entries c) entries"
qgc run other.qir --input x="$source/docs/examples/x.npy" $cpu --cache=c >/dev/null
[ "$(entries c)" = 2 ]
echo "other weights: the same entry"

mended() { # name: the entry is damaged; it is used all the same, then as it was
    local said
    said=$(same "$1" $cpu --cache=c)
    cmp "$entry" good
    echo "$said, mended"
}
damage() { python3 -c 'import sys; p, at = sys.argv[1], int(sys.argv[2]); b = bytearray(open(p, "rb").read()); b[at] ^= 1; open(p, "wb").write(b)' "$@"; }
damage "$entry" 777
mended "flipped byte"
truncate -s -1 "$entry"
mended "cut short"
: >"$entry"
mended "empty"
cp "$(find c -name '*.qgco' ! -path "$entry")" "$entry"
mended "another entry's name"
cp good "$entry"
for what in names text half; do
    python3 "$source/test/lit/codegen/Inputs/cache_forge.py" "$entry" $what
    mended "forged: $what"
done
chmod 666 "$entry"
same "others may write" $cpu --cache=c
rm -f "$entry" && mkdir "$entry"
same "a directory" $cpu --cache=c
rmdir "$entry"
mkfifo "$entry" # nobody writes it: it must not be waited for
mended "a pipe"
truncate -s 40 "$entry"
mended "half a header"
printf x >>"$entry"
mended "longer"

for i in 1 2 3 4; do run $cpu --cache=d >got.$i & done
wait
for i in 1 2 3 4; do cmp want got.$i; done
[ "$(ls d)" = "$(basename "$entry")" ]
echo "four writers: the same, $(entries d) entry, nothing else"
same "no directory" $cpu --cache=want/d
mkdir readonly
chmod 500 readonly
unprivileged=
[ "$(id -u)" != 0 ] || unprivileged="setpriv --bounding-set=-dac_override --inh-caps=-dac_override"
$unprivileged sh -c 'touch readonly/x' 2>/dev/null && unprivileged=false
$unprivileged qgc run net.qir --input x="$source/docs/examples/x.npy" --remarks=cache $cpu --cache=readonly >got 2>log
cmp want got
grep -q 'cannot be written' log && [ "$(entries readonly)" = 0 ]
echo "read-only: the same, it cannot be written"
(trap '' XFSZ; ulimit -f 1; same "full disk" $cpu --cache=full)
[ -z "$(ls -A full)" ]
echo "full disk: nothing is left behind"

mkdir e
old() { truncate -s 400K "e/$1" && touch -d "$2" "e/$1"; }
zeros=0000000000000000000000000000000
old ${zeros}1.qgco '5 days ago'
old ${zeros}2.qgco '3 days ago'
old ${zeros}3.qgco '1 day ago'
cp good "e/$(basename "$entry")" && touch -d '9 days ago' "e/$(basename "$entry")"
old photograph.qgco '20 days ago'
old ${zeros}4.qgco.tmp-1-0 '2 days ago'
run $cpu --cache=e >/dev/null # a hit: it is used now
QGC_CACHE_SIZE=1 run --cpu=x86-64 --cache=e >/dev/null
[ ! -e e/${zeros}1.qgco ] && [ -e e/${zeros}2.qgco ] && [ -e e/${zeros}3.qgco ] && [ -e e/photograph.qgco ]
[ -e "e/$(basename "$entry")" ] && [ "$(entries e)" = 5 ]
echo "size: the oldest went, the one of today, the used one and what is no entry stay"
[ ! -e e/${zeros}4.qgco.tmp-1-0 ]
echo "killed writers: cleaned up"

QGC_CACHE=$PWD/f run >/dev/null
echo "QGC_CACHE: $(entries f) entry"
env -u QGC_CACHE XDG_CACHE_HOME="$PWD/g" qgc run net.qir --input x="$source/docs/examples/x.npy" >/dev/null
echo "XDG_CACHE_HOME: $(entries g/qgc) entry"
env -u QGC_CACHE -u XDG_CACHE_HOME HOME="$PWD/h" qgc run net.qir --input x="$source/docs/examples/x.npy" >/dev/null
echo "HOME: $(entries h/.cache/qgc) entry"
mkdir i
env QGC_CACHE= XDG_CACHE_HOME="$PWD/i" HOME="$PWD/i" qgc run net.qir --input x="$source/docs/examples/x.npy" >/dev/null
[ -z "$(ls -A i)" ]
echo "QGC_CACHE empty: none"
env -u QGC_CACHE XDG_CACHE_HOME="$PWD/i" qgc run net.qir --no-cache --input x="$source/docs/examples/x.npy" >/dev/null
[ -z "$(ls -A i)" ]
echo "--no-cache: none"
refused() { not qgc run net.qir --input x="$source/docs/examples/x.npy" "$@" 2>&1 | sed 's/^qgc: error: //'; }
refused --cache=c --no-cache
refused --cache=
QGC_CACHE_SIZE=0 refused --cache=c
refused --engine=ref --cache=c
echo "done"
