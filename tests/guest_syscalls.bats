#!/usr/bin/env bats
# What the guest costs in system calls: nothing on the way of data, two small ones a connect, one a close.

load helpers

# counted OUT COMMAND...: the system calls of a command, in OUT: "name count", sorted. guarded_counted: of one guarded.
counted() {
    "${LIMIT[@]}" strace -f -qq -e signal=none -o trace.raw "${@:2}" >trace.out 2>&1 || fail "$(cat trace.out)"
    sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' trace.raw | sort | uniq -c | awk '{print $2, $1}' >"$1"
}

guarded_counted() {
    counted "$1" -E LD_PRELOAD="$SHIM" "${@:2}"
}

# start_known_server: a server that has answered a guarded program before: its breaker and the panel are there.
start_known_server() {
    start_server
    guarded "$BUILD/tests/client_exchanges" "$PORT" 1 1
}

# clients OUT CONNECTIONS EXCHANGES: the calls of that client, bare in OUT.bare and guarded in OUT.guarded.
clients() {
    counted "$1.bare" "$BUILD/tests/client_exchanges" "$PORT" "$2" "$3"
    guarded_counted "$1.guarded" "$BUILD/tests/client_exchanges" "$PORT" "$2" "$3"
}

# more FEW MANY: how many more of each call MANY has; one a line, none that has as many.
more() {
    join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$1" "$2" | awk '$2 != $3 {print $1, $3 - $2}'
}

@test "10,000 exchanges on one connection make the same system calls bare and guarded, but for a constant number at start" {
    start_known_server
    clients few 1 10
    clients many 1 10000
    expect "$(more few.bare many.bare | tr '\n' ' ')" "recvfrom 9990 sendto 9990 " "calls of 9,990 exchanges"
    expect "$(more few.guarded many.guarded)" "$(more few.bare many.bare)" "the same, guarded"
    # At start: the library is loaded and the panel attached.
    local start
    start=$(($(awk '{all += $2} END {print all}' few.guarded) - $(awk '{all += $2} END {print all}' few.bare)))
    ((start < 50)) || fail "$start system calls at start" "$(more few.bare few.guarded)"
    expect_breaker "$(here)" .total.calls 10011
}

@test "a connect adds a look at its address and at who asks, a close the latter, and nothing else" {
    start_known_server
    clients few 1 1
    clients many 101 1
    expect "$(more few.bare many.bare | tr '\n' ' ')" \
        "close 100 connect 100 recvfrom 100 sendto 100 socket 100 " "calls of 100 connections"
    join -a 1 -a 2 -e 0 -o 0,1.2,2.2 <(more few.bare many.bare) <(more few.guarded many.guarded) |
        awk '$2 != $3 {print $1, $3 - $2}' >added
    expect "$(tr '\n' ' ' <added)" "getpid 200 rt_sigprocmask 100 " "added by the guest in 100 connections"
}

@test "descriptors that are no connections cost nothing" {
    local script='import os, socket
for _ in range(100):
    a, b = socket.socketpair()
    a.send(b"x"); b.recv(1); os.dup2(a.fileno(), b.fileno())
    f = os.open("/dev/null", os.O_RDWR); os.write(f, b"x"); os.read(f, 1); os.close(os.dup(f)); os.close(f)
    a.close(); b.close()'
    local interpreter
    interpreter=$(python3 -c 'import sys; print(sys.executable)')
    guarded true
    counted one.bare "$interpreter" -c "${script/100/10}"
    counted two.bare "$interpreter" -c "$script"
    guarded_counted one.guarded "$interpreter" -c "${script/100/10}"
    guarded_counted two.guarded "$interpreter" -c "$script"
    expect "$(more one.guarded two.guarded | grep -vE '^(brk|mmap|munmap) ')" \
        "$(more one.bare two.bare | grep -vE '^(brk|mmap|munmap) ')" "calls of 90 rounds"
}

@test "syscall and prctl never touch what their caller has behind the arguments that it passes" {
    local untouched=$'syscall: changed, 0 lost\nprctl: changed, 0 lost'
    expect "$(guarded "$BUILD/tests/guest_slots")" "$untouched"
    "${CC:-cc}" -m32 -O2 -D_GNU_SOURCE -o narrow "$PROGRAMS/guest_slots.c" -pthread
    expect "$("${LIMIT[@]}" env -u LD_PRELOAD ./narrow)" "$untouched" "bare"
    expect "$(SHIM=$BUILD/obj32/libcutout.so && "${LIMIT[@]}" sh -c 'LD_PRELOAD=$0 exec ./narrow' "$SHIM")" "$untouched"
}
