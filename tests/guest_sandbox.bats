#!/usr/bin/env bats
# Programs that shut themselves in after they have started: system-call filters, another root, fewer rights, no
# descriptor to spare. The guest is shut in with them, and goes on.

load helpers

# start_sandboxed ARGUMENT...: a guest_sandbox in the background, its output in sandbox.out; its server answers slowly.
start_sandboxed() {
    : >sandbox.out
    server answer 30
    start_guarded sandbox.out "$BUILD/tests/guest_sandbox" "$PORT" "$@"
}

# sandboxed ARGUMENT...: the same, until the server ends its connection; its status in $status.
sandboxed() {
    start_sandboxed "$@"
    retry_until 10 heard 4
    server drop
    status=0
    wait "$STARTED_PID" || status=$?
}
heard() {
    (($(grep -c ok sandbox.out) >= $1)) || fail "$(cat sandbox.out)"
}

@test "under a filter that kills on anything but the program's own calls, the guest makes none, and still counts" {
    local how calls=0 status
    rules '[default]
slow_call = 10ms
slow_ratio = off
error_ratio = off
judge = every'
    start_server
    server speak line
    for how in prctl syscall "prctl exit" "syscall exit" "prctl door" "syscall door exit"; do
        # shellcheck disable=SC2086  # words
        sandboxed $how
        expect "$status" 0 "status under $how"
        expect "$(tail -1 sandbox.out)" end "last words under $how"
        # Each line that was heard, and the one that was not.
        calls=$((calls + $(grep -c ok sandbox.out) + 1))
        expect_breaker "$(here)" '"\(.total.calls)"' "$calls"
    done
    expect_breaker "$(here)" '"\(.total.errors) \(.errors.closed) \(.total.slow)"' "6 6 $((calls - 6))"
}

@test "in the kernel's strict mode not even the time may be read: the guest is done, and the program goes on" {
    local status
    rules '[default]
slow_call = 10ms
judge = every'
    start_server
    server speak line
    sandboxed strict
    expect "$status" 0 "status"
    expect "$(tail -1 sandbox.out)" end "last words"
    # What was before it is counted.
    expect_breaker "$(here)" .total.calls 2
}

@test "in a sandbox requests are rejected as before; new connections go through" {
    local status=0
    rules '[default]
open_for    = 10m
error_ratio = 1%
min_calls   = 5
judge       = every'
    start_server
    server speak line
    # It is the sandboxed program that opens the breaker, and is itself rejected then.
    server answer 30
    start_guarded sandbox.out "$BUILD/tests/guest_sandbox" "$PORT" prctl refused
    retry_until 10 heard 5
    server once drop
    wait "$STARTED_PID" || status=$?
    expect "$status" 0
    expect "$(tail -3 sandbox.out)" $'lost\nrejected\nconnected'
    expect_breaker "$(here)" '"\(.state) \(.total.rejected)"' "open 1"
}

@test "file(1), which sandboxes itself, works as ever" {
    expect "$(guarded file -b "$BUILD/cutout" /etc/passwd)" "$(file -b "$BUILD/cutout" /etc/passwd)"
}

@test "after a change of root and of rights, breakers are shared, opened and obeyed as before" {
    start_server
    mkdir empty
    start_guarded jailed.out /usr/bin/python3 -c 'import os, socket, sys, time
def ask():
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return s.recv(100)[:12].decode()
    except OSError as error: return error.errno
print(ask())
os.chroot("empty"); os.chdir("/"); os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(ask(), os.getuid(), os.listdir("/"), flush=True)
last = None
while True:
    now = ask()
    if now != last: print(now, flush=True)
    last = now
    time.sleep(0.12)' "$PORT"
    retry_until 10 grep -q '65534' jailed.out
    expect "$(head -2 jailed.out)" $'HTTP/1.1 200\nHTTP/1.1 200 65534 []'
    retry_until 10 expect_breaker "$(here)" '.total.calls >= 3' true
    # It opens by what the jailed one meets, and by what others meet.
    server drop
    retry_until 20 expect_state "$(here)" open
    retry_until 10 expect_breaker "$(here)" '.total.rejected >= 2' true
    expect "$(tail -1 jailed.out)" 111
    expect "$(fetch_status "$PORT")" 7
}

@test "with no descriptor to spare, connections are counted and rejected like any other" {
    start_server
    cat >scarce.c <<'C'
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct rlimit four = {4, 4};
    char answer[512];
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
    setrlimit(RLIMIT_NOFILE, &four);
    int fd = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
    printf("%d %d %d\n", fd, other, errno);
    for (int i = 0; i < 8; i++) {
        int result = connect(fd, (struct sockaddr *)&address, sizeof address);
        if (result == 0) {
            result = (int)write(fd, request, sizeof request - 1);
            result = (int)read(fd, answer, sizeof answer);
        }
        printf("%d %d\n", result, result < 0 ? errno : 0);
        if (i < 7) {
            close(fd);
            fd = socket(AF_INET, SOCK_STREAM, 0);
            usleep(110000);
        }
    }
    return 0;
}
C
    "${CC:-cc}" -o scarce scarce.c
    server reset
    exec 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    guarded ./scarce "$PORT" 3>&- >scarce.out
    expect "$(head -1 scarce.out)" "3 -1 24"
    expect "$(sed 1d scarce.out | sort | uniq -c | tr -s ' ' | tr '\n' ';')" " 5 -1 104; 3 -1 111;"
    expect_breaker "$(here)" '"\(.state) \(.total.rejected)"' "open 3"
    # From the start there is but one for the loader.
    same_bare sh -c 'exec 3>&-; ulimit -n 4; exec "$0" "$1"' ./scarce "$PORT"
}
same_bare() {
    expect "$(guarded "$@" | head -1)" "$("${LIMIT[@]}" "$@" | head -1)"
}
