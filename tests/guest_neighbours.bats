#!/usr/bin/env bats
# The guest beside others that a program has loaded: allocators, other preloads, a second copy of itself.

load helpers

# loaded PRELOADS COMMAND...: with exactly these libraries preloaded.
loaded() {
    "${LIMIT[@]}" env LD_PRELOAD="$1" "${@:2}"
}

# library NAME: where a library of Debian's lies.
library() {
    local found
    found=$(find /usr/lib -name "$1" | head -1)
    [[ -n $found ]] || fail "there is no $1"
    echo "$found"
}

# counted CALLS: by the server, and by its breaker.
counted() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors)"' "$1 0"
    server_counts requests "$1"
}

# serves_beside LIBRARY [COMMAND...]: in either order, a program's exchange is one call, and its output as ever; COMMAND
# may set variables.
serves_beside() {
    local order output calls
    calls=$(server_count requests)
    for order in "$SHIM $1" "$1 $SHIM"; do
        output=$(loaded "$order" "${@:2}" curl -sS "http://127.0.0.1:$PORT/" 2>&1)
        expect "$output" ok "output with $order"
        counted "$((calls += 1))"
        loaded "$order" "${@:2}" python3 -c 'import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/").read()' "$PORT"
        counted "$((calls += 1))"
    done
}

@test "allocators that a program preloads: jemalloc, mimalloc, tcmalloc, in either order" {
    local name
    start_server
    for name in 'libjemalloc.so.2' 'libmimalloc.so.2.0' 'libtcmalloc_minimal.so.4'; do
        serves_beside "$(library "$name")"
    done
}

@test "an allocator that makes files and sockets while it boots, and looks symbols up" {
    cat >allocator.c <<'C'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static char memory[64 << 20];
static unsigned long used, calls;
static int booted;
/* Everything that a guest might stand before. */
static void boot(void) {
    char bytes[8];
    int two[2], fd = open("/dev/zero", O_RDWR);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pollfd wait = {fd, POLLIN, 0};
    if (read(fd, bytes, sizeof bytes) != sizeof bytes || write(fd, bytes, 1) != 1 || poll(&wait, 1, 0) != 1 ||
        fcntl(fd, F_DUPFD, 50) != 50 || dup2(fd, 51) != 51 || close(50) != 0 || close(51) != 0 || close(fd) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, two) != 0 || send(two[0], "x", 1, 0) != 1 ||
        recv(two[1], bytes, 1, 0) != 1 || close(two[0]) != 0 || close(two[1]) != 0) {
        _exit(99);
    }
    fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
    dlsym(RTLD_NEXT, "connect");
    dlsym(RTLD_DEFAULT, "read");
}
void *malloc(size_t size) {
    if (!booted) {
        booted = 1;
        boot();
    }
    if (++calls % 64 == 0) {
        close(dup(0));
    }
    unsigned long at = __atomic_fetch_add(&used, (size + 31) & ~15ul, __ATOMIC_RELAXED);
    *(size_t *)(memory + at) = size;
    return at + size + 32 < sizeof memory ? memory + at + 16 : NULL;
}
void free(void *bytes) {
    (void)bytes;
}
void *calloc(size_t count, size_t size) {
    return malloc(count * size);
}
void *realloc(void *old, size_t size) {
    void *bytes = malloc(size);
    size_t before = old == NULL ? 0 : ((size_t *)old)[-2];
    return bytes == NULL || old == NULL ? bytes : memcpy(bytes, old, before < size ? before : size);
}
void *memalign(size_t boundary, size_t size) {
    char *bytes = malloc(size + boundary);
    return bytes + (boundary - (unsigned long)bytes % boundary) % boundary;
}
void *aligned_alloc(size_t boundary, size_t size) {
    return memalign(boundary, size);
}
int posix_memalign(void **bytes, size_t boundary, size_t size) {
    *bytes = memalign(boundary, size);
    return 0;
}
/* Its constructor, too: it may run before any other. */
__attribute__((constructor)) static void begin(void) {
    free(malloc(1));
}
C
    "${CC:-cc}" -shared -fPIC -fno-builtin -O1 -o allocator.so allocator.c
    start_server
    serves_beside "$PWD/allocator.so"
}

@test "no call of the guest's allocates" {
    cat >no_malloc.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
extern void *__libc_malloc(size_t);
int malloc_forbidden;
void *malloc(size_t size) {
    if (malloc_forbidden) {
        static const char text[] = "malloc called\n";
        (void)!write(2, text, sizeof text - 1);
        _exit(99);
    }
    return __libc_malloc(size);
}
C
    cat >client.c <<'C'
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
extern int malloc_forbidden;
int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[512];
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
    malloc_forbidden = 1;
    for (int i = 0; i < 200; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct pollfd wait = {fd, POLLIN, 0};
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
            poll(&wait, 1, 5000);
            read(fd, answer, sizeof answer);
        }
        close(dup(fd));
        close(fd);
        usleep(1000);
    }
    malloc_forbidden = 0;
    return 0;
}
C
    "${CC:-cc}" -shared -fPIC -fno-builtin -o no_malloc.so no_malloc.c
    "${CC:-cc}" -o client client.c ./no_malloc.so
    rules '[default]
open_for = 100ms
error_ratio = 10%
probes = 1'
    start_server
    loaded "$SHIM" ./client "$PORT"
    counted 200
    # The breaker's ways, too: it opens, rejects, and asks for probes.
    server reset
    loaded "$SHIM" ./client "$PORT"
    expect_breaker "$(here)" '.total.errors > 5 and .total.rejected > 20' true
}

@test "other preloads: libeatmydata, and libfaketime, which brings a time of its own" {
    local order
    rules '[default]
error_ratio = off'
    start_server
    serves_beside "$(library libeatmydata.so)"
    serves_beside "$(library libfaketime.so.1)" env FAKETIME=+400d
    serves_beside "$(library libfaketimeMT.so.1)" env FAKETIME=-4000d
    # What the panel keeps is the kernel's time: other processes share it.
    expect "$("${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL" | cut -d- -f1 | sort -u)" "$(date -u +%Y)" "years of events"
    server refuse
    for order in 1 2 3; do
        FAKETIME=+400d loaded "$(library libfaketime.so.1) $SHIM" curl -s "http://127.0.0.1:$PORT/" || true
        sleep 0.11
        fetch "$PORT" || true
        sleep 0.11
    done
    expect_state "$(here)" open
    server answer
    server zero
    run env FAKETIME=+400d LD_PRELOAD="$SHIM $(library libfaketime.so.1)" curl -s "http://127.0.0.1:$PORT/"
    expect "$status" 7 "status of a client a year ahead"
    server_counts connections 0
}

@test "a second copy of the library leaves the work to the other: each call is counted once" {
    mkdir copies
    cp "$SHIM" copies/libcutout.so
    start_server
    serves_beside "$PWD/copies/libcutout.so"
    expect_match "$("$CUTOUT" panels)" "$CUTOUT_PANEL"
    server refuse
    local number
    for ((number = 0; number < 6; number++)); do
        loaded "$PWD/copies/libcutout.so $SHIM" curl -s "http://127.0.0.1:$PORT/" || true
        sleep 0.11
    done
    expect_breaker "$(here)" '.total | "\(.errors) \(.rejected)"' "5 1"
}

# judged_to_the_end ADDRESS PORT PRELOADS: by the name of ADDRESS:PORT, a destination is judged through all states.
judged_to_the_end() {
    local there=tcp://$1:$2 number
    loaded "$3" curl -sS -o fetched "http://$1:$2/"
    server drop
    for ((number = 0; number < 5; number++)); do
        loaded "$3" curl -s -o fetched "http://$1:$2/" || true
        sleep 0.11
    done
    expect_breaker "$there" '"\(.state) \(.errors.closed)"' "open 5"
    server answer
    retry_until 5 probe_due "$there"
    loaded "$3" curl -sS -o fetched "http://$1:$2/"
    expect_state "$there" closed
}

@test "where the kernel knows the other end by another name, its breaker works all the same" {
    rules '[default]
open_for = 1s
probes = 1'
    start_server
    cat >elsewhere.c <<'C'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* As a proxy's preload, or a container network: the program asks for one port and gets another. */
int connect(int fd, const struct sockaddr *address, socklen_t length) {
    int (*next)(int, const struct sockaddr *, socklen_t);
    *(void **)&next = dlsym(RTLD_NEXT, "connect");
    struct sockaddr_in other;
    if (length >= sizeof other && address->sa_family == AF_INET) {
        memcpy(&other, address, sizeof other);
        if (other.sin_port == htons(1)) {
            other.sin_port = htons((unsigned short)atoi(getenv("ELSEWHERE")));
            return next(fd, (struct sockaddr *)&other, sizeof other);
        }
    }
    return next(fd, address, length);
}
C
    "${CC:-cc}" -shared -fPIC -o elsewhere.so elsewhere.c
    ELSEWHERE=$PORT judged_to_the_end 127.0.0.1 1 "$SHIM $PWD/elsewhere.so"
    # "Any address" is this machine's own.
    judged_to_the_end 0.0.0.0 "$PORT" "$SHIM"
}

@test "opened with dlopen instead of preloaded, the library does nothing" {
    cat >opener.c <<'C'
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    void *library = argc > 3 ? dlopen(argv[1], atoi(argv[2])) : NULL;
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    address.sin_port = htons((unsigned short)atoi(argv[3]));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address);
    /* Its own functions work when they are called by hand. */
    int (*close_it)(int) = (int (*)(int))dlsym(library, "close");
    int closed = close_it(fd);
    printf("%d %d %d\n", result, closed, close(fd));
    return dlclose(library);
}
C
    "${CC:-cc}" -o opener opener.c -ldl
    local mode
    start_server
    for mode in 1 2 257 258; do
        expect "$("${LIMIT[@]}" ./opener "$SHIM" "$mode" "$PORT")" "0 0 -1"
    done
    run "$CUTOUT" status -p "$CUTOUT_PANEL"
    expect_match "$output" "there is no panel"
    # Preloaded it is at work, and opening it changes nothing.
    expect "$(guarded ./opener "$SHIM" 2 "$PORT")" "0 0 -1"
    expect "$(guarded ./opener "$(realpath "$SHIM")" 258 "$PORT")" "0 0 -1"
    expect_breaker "$(here)" .total.calls 2
}

@test "valgrind finds nothing to blame on it" {
    # Not every valgrind understands the debugging information of every compiler.
    strip -g -o libcutout.so "$SHIM"
    strip -g -o client "$BUILD/tests/client_plain"
    start_server
    loaded "$PWD/libcutout.so" valgrind --error-exitcode=9 --leak-check=full --track-fds=yes --log-file=valgrind.out \
        ./client "$PORT" || fail "status $?" "$(cat valgrind.out)"
    counted 1
    expect_match "$(cat valgrind.out)" 'ERROR SUMMARY: 0 errors'
    expect "$(grep -c libcutout valgrind.out)" 0 "lines of valgrind's that name the library"
}

# sanitized COMPILER SANITIZER: the plain client built with it, at work.
sanitized() {
    "$1" -fsanitize="$2" -g -o client "$PROGRAMS/client_plain.c"
    ASAN_OPTIONS=verify_asan_link_order=0 loaded "$SHIM" ./client "$PORT" >client.out 2>&1 ||
        fail "$1 -fsanitize=$2: status $?" "$(cat client.out)"
    expect "$(cat client.out)" "HTTP/1.1 200 OK" "output of $1 -fsanitize=$2"
}

@test "programs built with sanitizers run as ever" {
    local compiler sanitizer calls=0
    start_server
    for compiler in gcc clang; do
        for sanitizer in address thread undefined; do
            sanitized "$compiler" "$sanitizer"
            counted "$((calls += 1))"
        done
    done
}
