#!/usr/bin/env bats
# One object for old and new: the C libraries that it runs on.

load helpers

# The programs of Debian 11, with glibc 2.31: before libdl and libpthread became part of libc.
OLD=$BUILD/debian-11

setup_file() {
    "$BATS_TEST_DIRNAME/old_root" bullseye "$OLD"
}

# old COMMAND...: runs it there, guarded.
old() {
    mkdir -p "$OLD/opt/cutout"
    cp "$SHIM" "$OLD/opt/cutout/libcutout.so"
    "${LIMIT[@]}" chroot "$OLD" /usr/bin/env -i PATH=/usr/sbin:/usr/bin CUTOUT_PANEL="$CUTOUT_PANEL" "${RULES[@]}" \
        LD_PRELOAD=/opt/cutout/libcutout.so "$@"
}
RULES=()

# old_rules TEXT: rules that are found there.
old_rules() {
    mkdir -p "$OLD/etc/cutout"
    printf '%s\n' "$1" >"$OLD/etc/cutout/test.rules"
    RULES=(CUTOUT_RULES="/etc/cutout/test.rules")
}

old_status() {
    local status=0
    old curl -sS -m 5 -o /dev/null "http://127.0.0.1:$PORT/" 2>curl.err || status=$?
    echo "$status"
}

# opens_and_closes STATUS_OF_A_CALL: five refused calls open the breaker, it rejects, and after its time it closes.
opens_and_closes() {
    local number
    start_server
    expect "$("$1")" 0 "status of an answered call"
    server refuse
    for number in 1 2 3 4 5; do
        sleep 0.12
        expect "$("$1")" 7 "status of a refused call"
    done
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
    server answer
    expect "$("$1")" 7 "status of a rejected call"
    expect_breaker "$(here)" '"\(.state) \(.total.calls) \(.total.errors) \(.total.rejected)"' "open 6 5 1"
    server_counts requests 1
    retry_until 10 probe_due "$(here)"
    for number in 1 2 3; do
        expect "$("$1")" 0 "status of probe $number"
    done
    expect_state "$(here)" closed
    server_counts requests 4
}

FAST='[all]
match = *
open_for = 1s'

@test "under glibc 2.31 a breaker opens, rejects, and closes again" {
    expect_match "$(old ldd --version)" "GLIBC 2\.31"
    old_rules "$FAST"
    opens_and_closes old_status
    expect "$("$CUTOUT" status -p "$CUTOUT_PANEL" --json | jq -r '.panels[].rules.file')" "/etc/cutout/test.rules"
}

@test "under glibc 2.31 programs start bound whole, print nothing, and start others as ever" {
    expect "$(old env LD_BIND_NOW=1 true 2>&1)" ""
    expect "$(old sh -c 'echo a | cat; (exit 3); echo $?' 2>&1)" $'a\n3'
    expect "$(old perl -e 'print "x"; system "echo", "y"; exec "cat", "/opt/none"' 2>&1)" \
        $'xy\ncat: /opt/none: No such file or directory'
}

@test "under glibc 2.31 requests on one connection are calls, and a look-up finds what it found" {
    start_server
    expect "$(old perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => shift);
        for (1..3) { syswrite $s, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"; sysread $s, $answer, 4096; print substr($answer, 9, 3), "\n" }
        print join(".", unpack "C4", scalar gethostbyname "127.0.0.2"), "\n"' "$PORT")" $'200\n200\n200\n127.0.0.2'
    expect_breaker "$(here)" '"\(.protocol) \(.total.calls)"' "http 3"
}

musl_status() {
    local status=0
    guarded ./musl "$PORT" >musl.out 2>musl.err || status=$?
    echo "$status"
}

@test "under musl a breaker opens, rejects, and closes again" {
    musl-gcc -O2 -o musl "$PROGRAMS/client_plain.c"
    readelf -lW musl | grep -q ld-musl || fail "not a program of musl's"
    rules "$FAST"
    opens_and_closes musl_status
}
