#!/usr/bin/env bats
# Connections: the door shuts while the guests stay, and what was no exchange is no call.

load helpers

rule='
[door]
match = 127.0.0.1
open_for = 1s
probe_timeout = 60s
'

# is_open: after thirty more calls, so that what a few guests do beside does not outweigh them.
is_open() {
    guarded /usr/bin/python3 "$PROGRAMS/client_calls.py" blocking "$PORT" --calls 30 --gap 5 >calls.out
    expect_state "$(here)" open
}
served_at_least() {
    local requests
    requests=$(server_count requests)
    ((requests >= $1)) || fail "$requests requests served, expected $1"
}

@test "a server that keeps five busy connections and refuses new ones is open for connects; the five lose no request" {
    rules "$rule"
    start_server
    start_guarded pool.out /usr/bin/python3 "$PROGRAMS/client_pool.py" "$PORT" 5 500
    pool=$STARTED_PID
    retry_until 10 grep -q ready pool.out
    server refuse
    retry_until 15 is_open
    expect_breaker "$(here)" .gate connect
    run "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL"
    expect_match "$output" "open \(connect\)"

    # The door is shut: connects are rejected, even now that the server listens again. The guests are served on.
    server answer
    server zero
    expect "$(fetch_status "$PORT")" 7 "exit status of the rejected curl"
    server_counts connections 0
    retry_until 10 served_at_least 10

    # Their answers are no probes: only connects close it.
    retry_until 5 probe_due "$(here)"
    expect_state "$(here)" open
    expect "$(fetch_status "$PORT")" 0 "exit status of the first probe"
    served=$(server_count requests)
    retry_until 10 served_at_least $((served + 10))
    expect_state "$(here)" half_open
    expect "$(fetch_status "$PORT")" 0 "exit status of the second probe"
    expect "$(fetch_status "$PORT")" 0 "exit status of the third probe"
    expect_state "$(here)" closed
    expect_breaker "$(here)" .total.opened 1

    kill -TERM "$pool"
    retry_until 10 grep -q answered pool.out
    expect_match "$(cat pool.out)" "answered [0-9]+ lost 0"
}

@test "a breaker that failures past the connect opened rejects requests on kept connections too" {
    start_server
    # The kept connection's next request comes long after the breaker has opened.
    start_guarded pool.out /usr/bin/python3 "$PROGRAMS/client_pool.py" "$PORT" 1 4000
    retry_until 10 grep -q ready pool.out
    server drop
    retry_until 3 is_open
    expect_breaker "$(here)" .gate request
    server answer
    retry_until 10 grep -q "Connection refused" pool.out
}

@test "a connection that is closed without data counts as nothing, once the destination has answered" {
    start_server
    fetch "$PORT"
    for _ in {1..5}; do
        guarded "$BUILD/tests/client_plain" "$PORT" silent
    done
    expect_breaker "$(here)" '.total.calls, .total.errors, .total.ignored, .window.calls' $'1\n0\n5\n1'
}

@test "a connection that is closed without data does not close a half-open breaker, and gives its permit back" {
    rules "$rule"
    start_server
    fetch "$PORT"
    server refuse
    retry_until 15 is_open
    server answer
    retry_until 5 probe_due "$(here)"
    for _ in {1..5}; do
        guarded "$BUILD/tests/client_plain" "$PORT" silent
        expect_state "$(here)" half_open
    done
    for _ in {1..3}; do
        expect_state "$(here)" half_open
        expect "$(fetch_status "$PORT")" 0 "exit status of a probe"
    done
    expect_state "$(here)" closed
}
