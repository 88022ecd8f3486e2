#!/usr/bin/env bats
# 32-bit programs beside 64-bit ones: the same guest in both, one panel for all.
# shellcheck disable=SC2016  # $LIB is the loader's to expand

load helpers
load panel_fixture

ROOT=$BATS_TEST_DIRNAME/..

# Both, installed as a person would.
setup_file() {
    mkdir "$BATS_FILE_TMPDIR/built"
    cp -r "$BUILD"/{cutout,libcutout.so,obj32} "$BATS_FILE_TMPDIR/built"
    make -s -C "$ROOT" -o all B="$BATS_FILE_TMPDIR/built" PREFIX=/opt/x DESTDIR="$BATS_FILE_TMPDIR" M32=1 install
}

PLACE=$BATS_FILE_TMPDIR/opt/x/lib/cutout
CUTOUT=$BATS_FILE_TMPDIR/opt/x/bin/cutout
# What leads each program to the library of its size.
EITHER=$PLACE/'$LIB'/libcutout.so

# narrow OUT SOURCE [FLAG...]: a program of the tests, built for 32 bits.
narrow() {
    "${CC:-cc}" -m32 -std=gnu11 -D_GNU_SOURCE -I"$ROOT" -O2 "${@:3}" -o "$1" "$PROGRAMS/$2" -pthread
}

# either COMMAND...: under whichever library fits each program.
either() {
    "${LIMIT[@]}" env LD_PRELOAD="$EITHER" "$@"
}

# fails COMMAND...: its connection is refused, by whomever.
fails() {
    local status=0
    "$@" >out 2>err || status=$?
    expect "$status" 7 "exit status of $*"
    grep -q 'connect: Connection refused' err
}

@test "programs of both sizes share one breaker: what one of them learns holds for the other" {
    local number
    narrow narrow client_plain.c
    start_server
    server refuse
    for number in 1 2 3; do
        fails either ./narrow "$PORT"
        sleep 0.12
        ((number == 3)) || fails either "$BUILD/tests/client_plain" "$PORT"
        sleep 0.12
    done
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
    expect_breaker "$(here)" .total.calls 5
    server answer
    fails either ./narrow "$PORT"
    fails either "$BUILD/tests/client_plain" "$PORT"
    expect_breaker "$(here)" '"\(.total.calls) \(.total.rejected)"' "5 2"
    expect "$("$CUTOUT" status -p "$CUTOUT_PANEL" --json | jq '.panels | length')" 1 panels
}

@test "a 32-bit program sees the same rules file unchanged, and loads it only once" {
    narrow narrow client_plain.c
    start_server
    rules '[here]
match = 127.0.0.1
mode = observe'
    either ./narrow "$PORT" >out
    either "$BUILD/tests/client_plain" "$PORT" >out
    either ./narrow "$PORT" >out
    expect_breaker "$(here)" '"\(.rule) \(.mode) \(.total.calls)"' "here observe 3"
    expect "$("$CUTOUT" events -p "$CUTOUT_PANEL" --json | grep -c rules_loaded)" 1 "times the rules were loaded"
}

@test "a 32-bit program cannot tell that the guest is there" {
    local call
    narrow differential guest_differential.c
    narrow early guest_early.c
    narrow fortify guest_fortify.c
    either ./early
    "${LIMIT[@]}" ./differential >bare.out
    either ./differential >guarded.out
    (($(wc -l <bare.out) >= 800)) || fail "only $(wc -l <bare.out) calls were made"
    diff bare.out guarded.out
    either ./fortify
    for call in read recv recvfrom poll ppoll; do
        either sh -c 'ulimit -c 0; exec ./fortify "$0"' "$call" 2>err || true
        grep -q 'buffer overflow detected' err || fail "an overflow by $call was not caught"
    done
    either sh -c './early && grep -c libcutout /proc/self/maps' >out 2>err
    expect "$(cat err)" ""
}

@test "a 32-bit program that is built for times beyond 2038 is seen all the same" {
    local name
    narrow time64 client_time64.c -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
    for name in __fcntl_time64 __getsockopt64 __ppoll64 __prctl_time64 __pselect64 __recvmmsg64 __recvmsg64 __select64 \
        __sendmmsg64 __sendmsg64; do
        nm -D time64 | grep -q "U $name@" || fail "it does not call $name"
    done
    start_server
    expect "$(either ./time64 "$PORT")" "HTTP/1.1 200 OK"
    expect_breaker "$(here)" '"\(.protocol) \(.total.calls)"' "http 2"
    server_counts requests 2
    server drop
    run either ./time64 "$PORT"
    expect "$status" 1 "exit status"
    expect_breaker "$(here)" '"\(.total.calls) \(.total.errors)"' "3 1"
}

@test "many threads and processes of 32 bits count exactly, and contend for one breaker, as those of 64 do" {
    local program
    for program in engine_hammer engine_contend engine_race; do
        "${CC:-cc}" -m32 -march=i686 -std=gnu11 -D_GNU_SOURCE -I"$ROOT" -O2 -o "$program" "$PROGRAMS/$program.c" \
            "$BUILD"/obj32/{lib,rules}/*.o -pthread
        "${LIMIT[@]}" "./$program" >"$program.out" || fail "$program:" "$(cat "$program.out")"
    done
}

@test "doctor reads what a 32-bit process says of itself" {
    narrow filter guest_filter.c
    background env LD_PRELOAD="$EITHER" ./filter >filter.out
    retry_until 10 grep -q in filter.out
    run cutout doctor "$STARTED_PID"
    expect "$status" 1 "exit status"
    expect_match "$output" "library +$PLACE/lib32/libcutout.so"$'\n'"version +[0-9.]+"$'\n'"panel +$CUTOUT_PANEL, shared by 1 process now"
    expect_match "$output" "sandbox +it has installed a system-call filter.*verdict +is protected in part"
}

@test "cutout run protects 32-bit programs, and programs of the other size that they start" {
    narrow narrow client_plain.c
    start_server
    expect "$(cutout run ./narrow "$PORT" 2>&1)" "HTTP/1.1 200 OK"
    expect "$(cutout run sh -c "./narrow $PORT" 2>&1)" "HTTP/1.1 200 OK"
    expect_breaker "$(here)" .total.calls 2
    expect "$(cutout run sh -c 'echo "$LD_PRELOAD"')" "$EITHER"
    expect "$(LD_PRELOAD=/x.so cutout run sh -c 'echo "$LD_PRELOAD"' 2>err)" "$EITHER:/x.so"
    expect "$(LD_PRELOAD=$EITHER cutout run sh -c 'echo "$LD_PRELOAD"')" "$EITHER"
    run cutout run -v ./narrow "$PORT"
    expect_match "$output" "cutout: library $PLACE/lib32/libcutout.so"
    run cutout doctor ./narrow
    expect "$status" 0 "exit status"
    expect_match "$output" "kind +ELF, 32-bit, i386, dynamically linked"$'\n'"loader +/lib/ld-linux.so.2"$'\n'"libc +glibc"
    expect_match "$output" "library +$PLACE/lib32/libcutout.so.*verdict +can be protected$"
    narrow narrow_static client_plain.c -static
    run cutout run ./narrow_static "$PORT"
    expect "$status $output" "125 cutout: ./narrow_static is statically linked: it loads no library"
}

@test "where the library for 32-bit programs is not installed, run and doctor say so" {
    narrow narrow client_plain.c
    start_server
    cp "$CUTOUT" "$PLACE/libcutout.so" .
    run "${LIMIT[@]}" ./cutout run ./narrow "$PORT"
    expect "$status" 125 "exit status"
    expect "$output" "cutout: ./narrow is built for another machine (i386, 32-bit), for which no library is installed"
    run "${LIMIT[@]}" ./cutout run --if-possible ./narrow "$PORT"
    expect "${lines[0]}" "cutout: running it unprotected: ./narrow is built for another machine (i386, 32-bit), for which no library is installed"
    expect "${lines[1]}" "HTTP/1.1 200 OK"
    run "${LIMIT[@]}" ./cutout doctor ./narrow
    expect "$status" 1 "exit status"
    expect_match "$output" "verdict +cannot be protected"
    # Programs of the command's own size get the library by its own path.
    expect "$("${LIMIT[@]}" ./cutout run sh -c 'echo "$LD_PRELOAD"')" "$PWD/libcutout.so"
}

@test "musl, which does not know \$LIB, gets the library by its own path" {
    musl-gcc -o musl "$PROGRAMS/client_plain.c"
    start_server
    expect "$(cutout run ./musl "$PORT")" "HTTP/1.1 200 OK"
    expect_breaker "$(here)" .total.calls 1
}

@test "make install M32=1 puts both in place, and \$LIB leads to each" {
    narrow narrow client_plain.c
    start_server
    cp -r "$BATS_FILE_TMPDIR/opt" .
    expect "$(opt/x/bin/cutout run -v ./narrow "$PORT" 2>&1 | grep -v '^cutout: [prm]')" \
        "cutout: library $PWD/opt/x/lib/cutout/lib32/libcutout.so"$'\n'"HTTP/1.1 200 OK"
    expect "$(LD_PRELOAD=$PWD/opt/x/lib/cutout/'$LIB'/libcutout.so "$BUILD/tests/client_plain" "$PORT" 2>&1)" \
        "HTTP/1.1 200 OK"
    expect_breaker "$(here)" .total.calls 2
    expect "$(cd opt/x/lib/cutout && for name in lib/*/libcutout.so lib64/libcutout.so lib32/libcutout.so; do
        echo "$name $(readelf -h "$name" | sed -n 's/ *Class: *//p')"
    done)" "lib/i386-linux-gnu/libcutout.so ELF32
lib/x86_64-linux-gnu/libcutout.so ELF64
lib64/libcutout.so ELF64
lib32/libcutout.so ELF32"
    make -s -C "$ROOT" PREFIX=/opt/x DESTDIR="$PWD" uninstall
    expect "$(find opt ! -type d)" "" "left behind"
}
