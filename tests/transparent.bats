#!/usr/bin/env bats
# A program cannot tell that the guest is there: it starts, runs, fails and ends as without it.

load helpers

# bare COMMAND...: without the shim.
bare() {
    "${LIMIT[@]}" "$@"
}

# same COMMAND...: bare and guarded, it prints the same and ends with the same status. The shell between tells of a
# signal in the same words each time.
same() {
    local bare_status=0 guarded_status=0 shell=(sh -c '"$@"; exit $?' sh)
    bare "${shell[@]}" "$@" >bare.out 2>bare.err || bare_status=$?
    guarded "${shell[@]}" "$@" >guarded.out 2>guarded.err || guarded_status=$?
    expect "$guarded_status" "$bare_status" "exit status of $*"
    diff bare.out guarded.out || fail "prints something else: $*"
    diff bare.err guarded.err || fail "says something else: $*"
}

# broken_settings COMMAND...: runs it with every setting of cutout unusable, one after another.
broken_settings() {
    local setting long
    long=$CUTOUT_PANEL-$(printf '%05000d' 7)
    mkdir -p directory
    printf 'nonsense = [\n' >bad.rules
    for setting in CUTOUT_RULES=/nonexistent/file CUTOUT_RULES="$PWD/directory" CUTOUT_RULES="$PWD/bad.rules" \
        CUTOUT_RULES=relative/path CUTOUT_RULES="$long" CUTOUT_PANEL="$long" CUTOUT_GROUP=nonsense \
        CUTOUT_MODE=nonsense CUTOUT_DISABLE=1; do
        "${LIMIT[@]}" env "$setting" LD_PRELOAD="$SHIM" "$@" || fail "with $setting: status $?: $*"
    done
    # Such a name is cut, with a digest at its end; none of the others makes a panel of its own.
    "$CUTOUT" panels --remove "$("$CUTOUT" panels | grep -o "^$CUTOUT_PANEL-0[^ ]*")" >/dev/null
}

# unprivileged COMMAND...: as nobody where we are root, so that set-user-ID means something.
unprivileged() {
    if [[ $(id -u) == 0 ]]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

# calls_of OUT COMMAND...: the system calls $TRACED of a command, in OUT, addresses and numbers that vary made equal.
calls_of() {
    "${LIMIT[@]}" strace -f -qq -e trace="$TRACED" -e signal=none -o trace.raw "${@:2}" >trace.out 2>&1 || return
    sed -E 's/^[0-9]+ +//; s/0x[0-9a-f]{4,}/ADDRESS/g; s/htons\([0-9]+\)/PORT/g' trace.raw >"$1"
}

@test "prints nothing, whatever its settings are" {
    expect "$(guarded /bin/true 2>&1 | wc -c)" 0 "bytes printed"
    expect "$(broken_settings /bin/true 2>&1 | wc -c)" 0 "bytes printed with broken settings"
}

@test "a program ends with its own status, or by its own signal" {
    local program
    for program in 'exit 0' 'exit 1' 'exit 255' 'kill -9 $$' 'kill -15 $$' 'kill -6 $$' 'ulimit -c 0; kill -11 $$'; do
        same sh -c "$program"
    done
    same /bin/true
    same /bin/false
    same python3 -c 'import os; os._exit(7)'
}

@test "errno is 0 when main begins, and sockets work before any constructor has run" {
    same "$BUILD/tests/guest_early"
    guarded "$BUILD/tests/guest_early"
}

@test "owns no descriptor and no thread" {
    same ls /proc/self/fd
    expect "$(guarded grep Threads: /proc/self/status)" "$(bare grep Threads: /proc/self/status)"
    expect "$(guarded python3 -c 'import os; print(os.open("/dev/null", 0))')" \
        "$(bare python3 -c 'import os; print(os.open("/dev/null", 0))')" "the first free descriptor"
}

@test "starts with standard input, output and error closed" {
    local status=0
    (exec 0<&- 1>&- 2>&- && LD_PRELOAD=$SHIM timeout 10 /bin/true) || status=$?
    expect "$status" 0 "exit status"
    # Descriptor 0 stays the program's to give out.
    guarded python3 -c 'import os
os.close(0); os.close(2)
assert os.open("/dev/null", 0) == 0 and os.open("/dev/null", 0) == 2'
}

@test "starts under tight limits, and with no descriptor to spare" {
    guarded prlimit --stack=65536 --as=30000000 /bin/true
    guarded prlimit --nproc=1 --memlock=0 --fsize=0 --core=0 /bin/true
    # One is free: the loader needs it, before us and after us.
    same sh -c 'exec 3>&-; ulimit -n 4; exec /bin/true'
    guarded sh -c 'exec 3>&-; ulimit -n 4; exec cat /proc/self/maps' | grep -q "$SHIM" || fail "not loaded"
}

@test "is bound whole when it is loaded" {
    LD_BIND_NOW=1 guarded /bin/true
    expect "$(LD_DEBUG=bindings LD_BIND_NOW=1 guarded /bin/true 2>&1 | grep -cE '(lookup|relocation) error|undefined symbol')" 0 \
        "complaints of the loader"
}

@test "a set-user-ID program runs without it, silently" {
    local output folder
    [[ -u $(command -v su) ]] || fail "su is not set-user-ID here"
    # Where anybody can read it, wherever the tree lies.
    folder=$(mktemp -d)
    chmod 755 "$folder"
    cp "$SHIM" "$folder"
    output=$(unprivileged env LD_PRELOAD="$folder/${SHIM##*/}" timeout 10 su --version 2>&1)
    rm -r "$folder"
    expect "$output" "$(unprivileged timeout 10 su --version 2>&1)"
}

@test "a program that is linked statically, or with musl, is none the worse" {
    cat >small.c <<'C'
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int fds[2];
    char line[4096];
    FILE *maps = argc > 1 ? fopen(argv[1], "r") : NULL;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        fputs(line, stdout);
    }
    char byte = 0;
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    struct pollfd wait = {fds[1], POLLIN, 0};
    struct addrinfo *found;
    return !(send(fds[0], "x", 1, 0) == 1 && poll(&wait, 1, 1000) == 1 && recv(fds[1], &byte, 1, 0) == 1 &&
             byte == 'x' && getaddrinfo("127.0.0.1", "80", NULL, &found) == 0 && close(fds[0]) == 0);
}
C
    "${CC:-cc}" -static -o small_static small.c 2>compile.err
    musl-gcc -o small_musl small.c
    same ./small_static
    same ./small_musl
    guarded ./small_musl /proc/self/maps | grep -q "$SHIM" || fail "musl did not load it"
    ! guarded ./small_static /proc/self/maps | grep -q "$SHIM" || fail "a static program loaded it"
}

@test "unusable settings never stop a program, and the kill switch leaves it alone" {
    start_server
    same curl -sS "http://127.0.0.1:$PORT/"
    broken_settings curl -sS -o fetched "http://127.0.0.1:$PORT/"
    CUTOUT_DISABLE=1 guarded curl -sS -o fetched "http://127.0.0.1:$PORT/"
    expect "$(CUTOUT_DISABLE=1 guarded sh -c 'grep -c SYSV /proc/self/maps || true')" 0 "segments mapped when disabled"
}

@test "a thousand odd calls return what they return without it, errno and signals included" {
    bare "$BUILD/tests/guest_differential" >bare.out
    guarded "$BUILD/tests/guest_differential" >guarded.out
    (($(wc -l <bare.out) >= 800)) || fail "only $(wc -l <bare.out) calls were made"
    diff bare.out guarded.out
    bare "$BUILD/tests/guest_odd_calls" >bare.out
    guarded "$BUILD/tests/guest_odd_calls" >guarded.out
    (($(wc -l <bare.out) >= 180)) || fail "only $(wc -l <bare.out) calls were made"
    diff bare.out guarded.out
}

@test "no call that succeeds touches errno" {
    guarded "$BUILD/tests/guest_differential" >guarded.out
    expect "$(awk '$3 >= 0 && $4 != 12345' guarded.out)" "" "calls that succeeded with another errno"
    (($(awk '$3 >= 0' guarded.out | wc -l) > 150)) || fail "too few calls succeeded"
}

@test "SIGPIPE is raised as often as without it" {
    bare "$BUILD/tests/guest_differential" | tail -1 >bare.out
    guarded "$BUILD/tests/guest_differential" | tail -1 >guarded.out
    diff bare.out guarded.out
    (($(awk '{print $5}' guarded.out) > 3)) || fail "the program should have raised some: $(cat guarded.out)"
    same sh -c 'yes | head -1'
}

@test "fortified calls work, and still stop an overflow" {
    local call
    same "$BUILD/tests/guest_fortify"
    for call in read recv recvfrom poll ppoll; do
        same sh -c 'ulimit -c 0; exec "$0" "$1"' "$BUILD/tests/guest_fortify" "$call"
        grep -q 'buffer overflow detected' guarded.err || fail "an overflow by $call was not caught"
    done
}

@test "flags and options of descriptors are the program's alone" {
    start_server
    export TRACED=fcntl,ioctl,setsockopt,getsockopt
    calls_of bare.calls curl -sS -o fetched "http://127.0.0.1:$PORT/"
    calls_of guarded.calls env LD_PRELOAD="$SHIM" curl -sS -o fetched "http://127.0.0.1:$PORT/"
    grep -q fcntl bare.calls || fail "curl made no such call"
    # What the guest may ask: nothing but the kernel's view of a connection, when a time says that it must, and at the
    # first answer that ever comes from a destination.
    diff bare.calls <(grep -vE 'TCP_INFO|SO_PEERNAME' guarded.calls)
    (($(grep -c SO_PEERNAME guarded.calls) <= 1)) || fail "asked for the peer more than once"
}

@test "data costs no system call of ours" {
    start_server
    export TRACED=all
    local interpreter count script='import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    connection.request("GET", "/")
    connection.getresponse().read()'
    interpreter=$(python3 -c 'import sys; print(sys.executable)') # itself, not a script that looks for it
    for count in 5 105; do
        calls_of "bare.$count" "$interpreter" -c "$script" "$PORT" "$count"
        calls_of "guarded.$count" env LD_PRELOAD="$SHIM" "$interpreter" -c "$script" "$PORT" "$count"
    done
    local bare=$(($(wc -l <bare.105) - $(wc -l <bare.5))) guarded=$(($(wc -l <guarded.105) - $(wc -l <guarded.5)))
    # The interpreter's own memory calls vary by a few.
    ((guarded - bare < 10)) || fail "100 requests make $bare system calls bare and $guarded guarded"
}

@test "the first answer that ever comes from a destination costs a look at its peer, not one for each of its pieces" {
    export TRACED=getsockopt
    calls_of guarded.calls env LD_PRELOAD="$SHIM" /usr/bin/python3 -c 'import socket
door = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(door.getsockname())
server, _ = door.accept()
client.send(b"\x16\3\1\0\4\1\0\0\0") # as TLS begins: its answer has no end that can be seen
for _ in range(100):
    server.send(b"\x17\3\3\0\1x")
    assert len(client.recv(6)) == 6
client.close()'
    # And one at the end.
    expect "$(grep -c SO_PEERNAME guarded.calls)" 2 "looks"
}

@test "bytes that are peeked at first are one answer, not two" {
    start_server
    guarded python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for _ in range(3):
    s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    peeked = s.recv(10, socket.MSG_PEEK)
    assert len(peeked) > 0 and s.recv(len(peeked)) == peeked
    s.settimeout(0.2)
    try:
        while s.recv(4096): pass
    except TimeoutError: pass
    s.settimeout(None)
s.close()' "$PORT"
    expect_breaker "$(here)" .total.calls 3
}

@test "descriptors passed over a socket arrive once" {
    same python3 -c 'import array, os, socket
a, b = socket.socketpair()
r, w = os.pipe()
before = len(os.listdir("/proc/self/fd"))
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r]))])
data, ancillary, flags, address = b.recvmsg(1, 100, 0)
print(data, len(ancillary), len(os.listdir("/proc/self/fd")) - before)'
}

@test "programs that make children by vfork, close ranges and end threads run as ever" {
    same python3 -c 'import subprocess
for _ in range(20): subprocess.run(["true"], check=True)
print(subprocess.run(["sh", "-c", "echo x; exit 3"], capture_output=True))'
    same python3 -c 'import os; os.closerange(3, 1024); print(os.open("/dev/null", 0))'
    same python3 -c 'import threading
done = []
threads = [threading.Thread(target=done.append, args=(1,)) for _ in range(50)]
[t.start() for t in threads]; [t.join() for t in threads]; print(len(done))'
    same bash -c 'echo a | cat | wc -c; (exit 5); echo $?'
    same perl -e 'system("true"); print qx(echo x); exit 4'
}
