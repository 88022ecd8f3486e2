#!/usr/bin/env bats
# Programs as they are, each bare and under the shim, against a server that answers, refuses, hangs, resets and closes:
# they print and end the same, and what cutout counted is what the server saw.

load helpers

# counted REASON: "calls errors reasons ignored" of the one destination.
counted() {
    breaker "$(here)" '"\(.total.calls) \(.errors | with_entries(select(.value > 0)) | tojson) \(.total.ignored)"'
}

# bare COMMAND..., under COMMAND...: what it prints, and how it ends.
bare() {
    local status=0
    "${LIMIT[@]}" "$@" 2>&1 || status=$?
    echo "status $status"
}
under() {
    local status=0
    guarded "$@" 2>&1 || status=$?
    echo "status $status"
}

# meets REFUSED COMMAND...: the command makes three requests, REFUSED connects when all are refused.
meets() {
    local refused=$1 manner expected
    shift
    for manner in answer refuse hang reset drop; do
        "${LIMIT[@]}" "$CUTOUT" panels --remove "$CUTOUT_PANEL" >/dev/null 2>&1 || true
        server "$manner" >/dev/null
        expected=$(bare "$@")
        server zero >/dev/null
        expect "$(under "$@")" "$expected" "its output where the server's manner is $manner"
        expected=$(server_count requests)
        case $manner in
            answer) expected="$expected {} 0" ;;
            refuse) expected="$refused {\"refused\":$refused} 0" ;;
            hang) expected="$expected {\"timeout\":$expected} 0" ;;
            reset) expected="$expected {\"reset\":$expected} 0" ;;
            drop) expected="$expected {\"closed\":$expected} 0" ;;
        esac
        expect "$(counted)" "$expected" "calls where the server's manner is $manner"
    done
}

@test "curl, three requests on one connection" {
    start_server
    local url=http://127.0.0.1:$PORT/
    meets 3 curl -s -m 0.3 "$url" "$url" "$url"
}

@test "wget, three requests, each tried once" {
    start_server
    local url=http://127.0.0.1:$PORT/
    meets 3 wget -q -O - -t 1 -T 0.3 "$url" "$url" "$url"
}

@test "Perl's HTTP::Tiny, which asks again where its connection was closed" {
    start_server
    # shellcheck disable=SC2016  # Perl's own variables
    meets 3 perl -MHTTP::Tiny -e 'my $http = HTTP::Tiny->new(timeout => 0.3);
        print $http->get($ARGV[0])->{status}, "\n" for 1 .. 3' "http://127.0.0.1:$PORT/"
}

@test "Python's http.client on a kept connection, and urllib" {
    start_server
    meets 3 /usr/bin/python3 -c 'import http.client, sys
peer = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=0.3)
for _ in range(3):
    try:
        peer.request("GET", "/")
        print(peer.getresponse().read())
    except OSError as error:
        print(type(error).__name__)
        peer.close()' "$PORT"
    meets 3 /usr/bin/python3 -c 'import sys, urllib.request
for _ in range(3):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1], timeout=0.3).read())
    except OSError as error:
        print(type(error).__name__)' "$PORT"
}

# --- TLS

# start_tls VERSION MANNER: an HTTPS server; its port is $PORT.
start_tls() {
    [[ -e key.pem ]] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -keyout key.pem -out certificate.pem 2>/dev/null
    rm -f tls.out
    background /usr/bin/python3 "$PROGRAMS/server_tls.py" "$1" "$2" certificate.pem key.pem >tls.out
    retry_until 10 grep -q port tls.out
    read -r _ PORT <tls.out
}

# https VERSION MANNER ERRORS: two curls, so two connections, to such a server.
https() {
    start_tls "$1" "$2"
    local status=0
    for _ in 1 2; do
        guarded curl -sk -m 0.5 -o answer "https://127.0.0.1:$PORT/" || status=$?
    done
    expect "$(grep -c connection tls.out)" 2 "connections"
    expect "$(counted)" "2 $3 0" "calls under TLS 1.$1 where the server's manner is $2"
}

@test "HTTPS: TLS 1.2, each connection is a call, with the handshake" {
    https 2 answer '{}'
    https 2 hang '{"timeout":2}'
    https 2 drop '{"closed":2}'
    https 2 handshake '{"timeout":2}'
}

@test "HTTPS: TLS 1.3, each connection is a call; a handshake that hangs is a failure" {
    https 3 answer '{}'
    https 3 handshake '{"timeout":2}'
}

@test "HTTPS: connections closed by close_notify, used or not, add no call, in both versions, under judge = every" {
    local version
    rules '
[all]
match = 127.0.0.1
judge = every
'
    for version in 2 3; do
        start_tls "$version" answer
        guarded /usr/bin/python3 "$PROGRAMS/client_tls.py" "$PORT" 3 4
        expect "$(counted)" "3 {} 4" "calls under TLS 1.$version"
    done
}
