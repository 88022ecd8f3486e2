#!/usr/bin/env bats
# Programs in the middle of something: threads cancelled, signals, children, small stacks, and ends of every kind.

load helpers

# How long the storms last; `make test-long` lets them rage.
STORM_S=${STORM_S:-2}
STORM_CHILDREN=${STORM_CHILDREN:-150}

never_trip() {
    rules '[default]
error_ratio = off
consecutive_errors = off'
}

# expect_counted EXCHANGES: each of them was one call, and none failed.
expect_counted() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors) \(.ignored)"' "$1 0 0"
}

@test "a thousand threads cancelled in the middle of a call: each call ends once, and every frame is cleaned up" {
    local silent full
    never_trip
    start_server 127.0.0.1 0
    server full
    full=$PORT
    start_server 127.0.0.1
    server speak line
    server hang
    silent=$PORT
    start_server
    "${CC:-cc}" -fexceptions -O1 -pthread -o cancel "$PROGRAMS/guest_cancel.c"
    guarded ./cancel "$PORT" "$silent" "$full" 1000 >cancel.out
    expect "$(cat cancel.out)" "1000 ended, 0 more cleaned up"
    expect_counted 1
    expect_breaker "tcp://127.0.0.1:$silent" '.total.calls + .total.ignored' 875
    expect_breaker "tcp://127.0.0.1:$full" '.total.calls + .total.ignored' 125
}

@test "a rejected connect is a point at which a thread can be cancelled, as the true one is" {
    start_server
    server refuse
    fetch_apart "$PORT" 5
    expect_state "$(here)" open
    "${CC:-cc}" -pthread -o cancel "$PROGRAMS/guest_cancel.c"
    expect "$(guarded ./cancel "$PORT" 1 1 0)" cancelled
    expect_breaker "$(here)" .total.rejected 1
}

@test "5,000 signals a second, whose handler uses sockets on a small stack: no call is lost or counted twice" {
    start_server
    guarded "$BUILD/tests/guest_signals" "$PORT" "$STORM_S" >signals.out
    read -r exchanges _ <signals.out
    expect "$(cat signals.out)" "$exchanges exchanges, many signals"
    expect_counted "$exchanges"
    server_counts requests "$exchanges"
}

@test "the same, while the program works on the smallest stack that a thread can have" {
    start_server
    guarded "$BUILD/tests/guest_signals" "$PORT" "$STORM_S" tiny >signals.out
    read -r exchanges _ <signals.out
    expect_counted "$exchanges"
}

@test "a breaker opens, rejects and probes on the smallest stack, and in a signal handler" {
    rules '[default]
open_for = 100ms'
    start_server
    server reset
    guarded "$BUILD/tests/guest_signals" "$PORT" 1 tiny failing
    expect_breaker "$(here)" '.total.rejected > 100 and .total.errors > 10 and .total.opened > 2' true
}

@test "a storm of children by fork, vfork, clone and posix_spawn: every connection stays, every call is counted once" {
    start_server
    guarded "$BUILD/tests/guest_children" "$PORT" "$STORM_CHILDREN" >children.out
    read -r exchanges _ <children.out
    expect_counted "$exchanges"
    server_counts requests "$exchanges"
}

@test "Python's subprocesses, a hundred of them, leave the connection what it was" {
    start_server
    guarded /usr/bin/python3 -c 'import http.client, subprocess, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
def ask():
    connection.request("GET", "/")
    connection.getresponse().read()
ask()
for _ in range(100): subprocess.run(["true"], check=True, close_fds=True)
ask()' "$PORT"
    expect_counted 2
    server_counts connections 1
}

# ends HOW: by which way the program of that name ends, as without the shim; its exchange, made as late as can be, counts.
ends() {
    local bare_status=0 guarded_status=0
    "${LIMIT[@]}" ./ends "$PORT" "$1" >bare.out 2>&1 || bare_status=$?
    guarded ./ends "$PORT" "$1" >guarded.out 2>&1 || guarded_status=$?
    expect "$guarded_status" "$bare_status" "status of $1"
    diff bare.out guarded.out || fail "$1 prints something else"
}

@test "exchanges made while a program ends: in atexit, by destructors of threads, objects and modules, and in none" {
    local how calls=0
    cat >ends.c <<'C'
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int port, late;
static void ask(void) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[512];
    address.sin_port = htons((unsigned short)port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&address, sizeof address);
    (void)!write(fd, request, sizeof request - 1);
    (void)!write(1, answer, read(fd, answer, sizeof answer) > 0 ? 12 : 0);
    close(fd);
}
static void ask_for(void *key) {
    (void)key;
    ask();
}
static void *run(void *key) {
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}
__attribute__((destructor)) static void in_destructor(void) {
    if (late) {
        ask();
    }
}
static void on_signal(int number) {
    (void)number;
    ask();
    _exit(5);
}
int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[2] : "";
    port = argc > 1 ? atoi(argv[1]) : 0;
    if (strcmp(how, "atexit") == 0) {
        atexit(ask);
        return 3;
    } else if (strcmp(how, "destructor") == 0) {
        late = 1;
        exit(4);
    } else if (strcmp(how, "quick_exit") == 0) {
        at_quick_exit(ask);
        quick_exit(6);
    } else if (strcmp(how, "_exit") == 0) {
        ask();
        _exit(7);
    } else if (strcmp(how, "thread") == 0) {
        pthread_key_t key;
        pthread_t thread;
        pthread_key_create(&key, ask_for);
        pthread_create(&thread, NULL, run, &key);
        pthread_join(thread, NULL);
        return 8;
    } else if (strcmp(how, "main_thread") == 0) {
        pthread_key_t key;
        pthread_key_create(&key, ask_for);
        pthread_setspecific(key, &key);
        pthread_exit(NULL);
    } else if (strcmp(how, "abort") == 0) {
        signal(SIGABRT, on_signal);
        abort();
    } else if (strcmp(how, "module") == 0) {
        void *module = dlopen("./module.so", RTLD_NOW);
        return module == NULL ? 99 : 10 + dlclose(module);
    }
    return 0;
}
C
    cat >module.c <<'C'
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
__attribute__((destructor)) static void end(void) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[512];
    address.sin_port = htons((unsigned short)atoi(getenv("MODULE_PORT")));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&address, sizeof address);
    (void)!write(fd, request, sizeof request - 1);
    (void)!write(1, answer, read(fd, answer, sizeof answer) > 0 ? 12 : 0);
    close(fd);
}
C
    "${CC:-cc}" -pthread -o ends ends.c -ldl
    "${CC:-cc}" -shared -fPIC -o module.so module.c
    start_server
    export MODULE_PORT=$PORT
    for how in atexit quick_exit _exit thread main_thread abort module destructor; do
        ends "$how"
        expect "$(cat guarded.out)" 'HTTP/1.1 200' "what $how hears"
        expect_counted "$((calls += 1))"
    done
}

@test "eight threads that connect, close and reuse each other's numbers: no race by ThreadSanitizer, no call misplaced" {
    make -s -C "$BATS_TEST_DIRNAME/.." SAN=thread B="$PWD/tsan" CC="${CC:-cc}" "$PWD/tsan/libcutout.so"
    "${CC:-cc}" -fsanitize=thread -g -O1 -pthread -o races "$PROGRAMS/guest_races.c" -I"$BATS_TEST_DIRNAME/.."
    start_server
    TSAN_OPTIONS=halt_on_error=0:exitcode=66 "${LIMIT[@]}" env LD_PRELOAD="$PWD/tsan/libcutout.so" ./races "$PORT" \
        "$STORM_S" >races.out 2>&1 || fail "status $?" "$(head -60 races.out)"
    read -r exchanges _ <races.out
    expect_counted "$exchanges"
    server_counts requests "$exchanges"
}
