#!/usr/bin/env bats
# The coverage tables of the README and of libcutout(7) say what is so.

load helpers

ROOT=$BATS_TEST_DIRNAME/..

# counted CALLS: by the server's breaker; "none" when it has none.
counted() {
    expect_breaker "$(here)" .total.calls "$1"
}

# python CODE: guarded; sockaddr is the server's address in C, ask(fd) makes an exchange.
python() {
    guarded /usr/bin/python3 -c "import ctypes, os, socket, struct, sys
port = $PORT
sockaddr = struct.pack('=H', socket.AF_INET) + struct.pack('>H', port) + socket.inet_aton('127.0.0.1') + bytes(8)
request = b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
def ask(fd):
    os.write(fd, request)
    return os.read(fd, 100)[:12].decode()
$1"
}

@test "the manual's tables name every function that the library shows, and are in order" {
    local name
    while read -r name; do
        grep -qwE -- "$name" "$ROOT/shim/libcutout.7" || fail "not in libcutout(7): $name"
    done < <(sed -nE 's/^ *([a-z_0-9]+);$/\1/p' "$ROOT/shim/exports.map")
    run groff -t -man -ww -z -Tutf8 "$ROOT/shim/libcutout.7"
    expect "$status$output" 0 "what groff says of it"
}

@test "by dlsym: the program's own functions are seen, those on libc's handle are not" {
    start_server
    expect "$(python 's = socket.socket(); print(ctypes.CDLL(None).connect(s.fileno(), sockaddr, 16), ask(s.fileno()))')" \
        "0 HTTP/1.1 200"
    counted 1
    expect "$(python 's = socket.socket(); print(ctypes.CDLL("libc.so.6").connect(s.fileno(), sockaddr, 16), ask(s.fileno()))')" \
        "0 HTTP/1.1 200"
    counted 1
    server_counts requests 2
}

@test "a connection that was inherited, accepted or handed over is not judged" {
    start_server
    # Made by a program that is not guarded.
    "${LIMIT[@]}" bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1"; LD_PRELOAD=$2 exec /usr/bin/python3 -c "import os
os.write(3, b\"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n\")
print(os.read(3, 100)[:12].decode())"' bash "$PORT" "$SHIM" >inherited.out
    expect "$(cat inherited.out)" "HTTP/1.1 200"
    counted none
    expect "$(python 'door = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    s = socket.create_connection(door.getsockname()); s.recv(9); s.send(b"y"); os._exit(0)
peer, _ = door.accept()
peer.send(b"x"); print(peer.recv(9))')" "b'y'"
    expect "$(breakers .total.calls)" 1 "calls, the child's connect"
}

@test "a connect inside a send is not judged" {
    start_server
    expect "$(python 's = socket.socket(); s.sendto(request, socket.MSG_FASTOPEN, ("127.0.0.1", port)); print(s.recv(100)[:12].decode())')" \
        "HTTP/1.1 200"
    counted none
}

@test "descriptors from 65536 up are not judged, and do no harm" {
    start_server
    python 'import fcntl, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
high = 70000 if hard > 70000 else hard - 1
s = socket.socket()
fd = fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, high)
s.close()
print(fd, ctypes.CDLL(None).connect(fd, sockaddr, 16), ask(fd))
os.close(fd)' >high.out
    read -r fd rest <high.out
    expect "$rest" "0 HTTP/1.1 200"
    counted "$( ((fd < 65536)) && echo 1 || echo none)"
}

@test "UDP and unix sockets are judged where a rule names them, and stay with libc's own where they are libc's" {
    start_server
    expect "$(python 's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", port)); print(s.send(b"x"))')" 1
    counted none
    expect "$(python 'a, b = socket.socketpair(); print(a.send(b"x"), b.recv(9))')" "1 b'x'"
    python 'libc = ctypes.CDLL(None); libc.openlog(None, 0, 0); libc.syslog(6, b"hello"); libc.closelog()'
    run "$CUTOUT" status -p "$CUTOUT_PANEL"
    expect_match "$output" 'no destination'
}
