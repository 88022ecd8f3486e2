#!/usr/bin/env bats
# Bytes that programs move without touching them (sendfile, splice), and functions called by their other names.

load helpers

counted() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors) \(.ignored) \(.slow)"' "$1"
}

# A server of lines, each of which is a call.
line_server() {
    rules '[default]
judge = every'
    start_server
    server speak line >/dev/null
}

# python CODE: guarded; `connection` is one to the server, `file` a request in a file.
python() {
    printf 'ask\n' >request
    guarded python3 -c "import errno, os, signal, socket
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
connection = socket.create_connection(('127.0.0.1', $PORT))
file = open('request', 'rb')
def tell(call):
    try: print(call())
    except OSError as error: print(errno.errorcode[error.errno])
$1"
}

@test "a request that goes out by sendfile is a call" {
    line_server
    expect "$(python 'for _ in range(2): os.sendfile(connection.fileno(), file.fileno(), 0, 4); print(connection.recv(9))')" \
        "b'ok\n'"$'\n'"b'ok\n'"
    counted "2 0 0 0"
    expect "$(python 'connection.sendfile(file); print(connection.recv(9))')" "b'ok\n'"
    counted "3 0 0 0"
    server reset
    expect "$(python 'os.sendfile(connection.fileno(), file.fileno(), 0, 4); tell(lambda: connection.recv(9))')" ECONNRESET
    counted "4 1 0 0"
    # What fails, or moves nothing, is no request.
    python 'tell(lambda: os.sendfile(connection.fileno(), 99, 0, 4)); tell(lambda: os.sendfile(connection.fileno(), file.fileno(), 4, 4))'
    counted "4 1 1 0"
    server hang
    python 'connection.settimeout(0.2); connection.sendfile(file); tell(lambda: connection.recv(9))' || true
    counted "5 2 1 0"
}

@test "request and answer that pass by splice are a call" {
    local through='r, w = os.pipe(); os.write(w, b"ask\n"); os.splice(r, connection.fileno(), 4)'
    line_server
    expect "$(python "$through; print(os.splice(connection.fileno(), w, 9), os.read(r, 9))")" "3 b'ok\n'"
    expect "$(python "for _ in range(2): $through; print(os.splice(connection.fileno(), w, 9), os.read(r, 9))")" \
        "3 b'ok\n'"$'\n'"3 b'ok\n'"
    counted "3 0 0 0"
    server drop
    expect "$(python "$through; print(os.splice(connection.fileno(), w, 9))")" 0
    counted "4 1 0 0"
    # The pipe's troubles are not the connection's: full, empty, or without a reader.
    server answer
    python 'r, w = os.pipe2(os.O_NONBLOCK)
tell(lambda: os.splice(r, connection.fileno(), 4))
connection.send(b"ask\n"); connection.recv(9, socket.MSG_PEEK)
os.close(r); tell(lambda: os.splice(connection.fileno(), w, 9))' >spliced
    expect "$(cat spliced)" $'EAGAIN\nEPIPE'
    counted "5 1 0 0"
}

# start_sink BYTES_PER_SECOND: a server that reads uploads at that pace; its port is $PORT.
start_sink() {
    background "$PROGRAMS/server_sink.py" "$1" >sink.out
    retry_until 10 grep -q port sink.out
    read -r _ PORT <sink.out
}

# start_traced OUT CALL COMMAND...: guarded, in the background, with its calls of that name in CALL.calls.
start_traced() {
    background strace -f -qqq -o "$2.calls" -e trace="$2" -e signal=none -E LD_PRELOAD="$SHIM" "${@:3}" >"$1" 2>&1
}

# uploads CALL: through the proxy at ./front.sock, which must use that call towards the server. The upload takes longer
# than slow_call; its answer comes 10 ms after it.
uploads() {
    truncate -s 12M upload
    retry_until 10 test -S front.sock
    expect "$("${LIMIT[@]}" curl -sS -H Expect: -T upload --unix-socket front.sock http://localhost/)" ok
    grep -q "$1(" "$1.calls" || fail "never called $1"
    retry_until 5 counted "1 0 0 0"
}

@test "an upload that nginx sends by sendfile is waited for from its last byte" {
    rules '[upload]
match = 127.0.0.1
slow_call = 1s
min_calls = 1'
    start_sink 6000000
    chmod a+x . ..
    printf '%s\n' 'pid nginx.pid; error_log error.log; worker_processes 1; events {} http { sendfile on; access_log off;' \
        "server { listen unix:$PWD/front.sock; client_max_body_size 0; location / { proxy_pass http://127.0.0.1:$PORT; } }" \
        'client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e; }' >nginx.conf
    start_traced nginx.out sendfile nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log" -g 'daemon off; master_process off;'
    uploads sendfile
}

@test "an upload that haproxy splices is waited for from its last byte" {
    rules '[upload]
match = 127.0.0.1
slow_call = 1s
min_calls = 1'
    start_sink 6000000
    printf '%s\n' 'defaults' ' mode http' ' timeout connect 9s' ' timeout server 9s' ' timeout client 9s' \
        ' option splice-request' 'frontend front' " bind unix@$PWD/front.sock" ' default_backend up' \
        'backend up' " server one 127.0.0.1:$PORT" >haproxy.cfg
    start_traced haproxy.out splice haproxy -db -f haproxy.cfg
    uploads splice
}

@test "functions called by glibc's other names are seen like the ones they are" {
    cat >aliases.c <<'C'
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
int __connect(int, const struct sockaddr *, socklen_t);
ssize_t __send(int, const void *, size_t, int);
ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
int __close(int);
int __dup2(int, int);
int __fcntl(int, int, ...);
int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[512];
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (__connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        __send(fd, request, sizeof request - 1, 0) < 0 || __read(fd, answer, sizeof answer) <= 0 ||
        __dup2(fd, 50) != 50 || __close(fd) != 0 || open("/dev/null", O_WRONLY) != fd ||
        __fcntl(50, F_DUPFD, 60) != 60 || __close(50) != 0 ||
        __write(60, request, sizeof request - 1) < 0 || __read(60, answer, sizeof answer) <= 0) {
        return 1;
    }
    /* These numbers are others' from now on. */
    return __write(fd, request, 1) != 1 || __dup2(fd, 60) != 60 || __write(60, request, 1) != 1;
}
C
    "${CC:-cc}" -o aliases aliases.c
    start_server
    guarded ./aliases "$PORT" </dev/null
    counted "2 0 0 0"
    server_counts requests 2
}
