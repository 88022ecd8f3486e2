#!/usr/bin/env bats
# An unmodified curl is protected, each curl a process of its own.

load helpers

# Trips after ten failures, and tries again soon.
by_count='
[flaky]
match = 127.0.0.1
consecutive_errors = off
open_for = 1s
probe_timeout = 60s
'

@test "five refused curls in a row, 100 ms apart, open the breaker without any rules file" {
    start_server
    server refuse
    fetch_apart "$PORT" 4
    expect_state "$(here)" closed
    sleep 0.15
    expect "$(fetch_status "$PORT")" 7 "exit status of the fifth"
    expect_state "$(here)" open
    expect_breaker "$(here)" '.total.errors, .total.calls, .total.rejected' $'5\n5\n0'
    expect_reasons "$(here)" "refused 5"
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
}

@test "five failures in one burst are one failure" {
    start_server
    server refuse
    fetch_many "$PORT" 5
    retry_until 20 many_ended 5 7
    expect_state "$(here)" closed
    expect_breaker "$(here)" .total.errors 5
}

@test "min_calls failures open the breaker by error_ratio, at the very call that completes them" {
    rules "$by_count"
    start_server
    server refuse
    for _ in {1..9}; do
        expect "$(fetch_status "$PORT")" 7 "exit status"
    done
    expect_state "$(here)" closed
    expect_breaker "$(here)" '.window.calls, .window.errors' $'9\n9'
    fetch "$PORT" || true
    expect_state "$(here)" open
    expect "$(causes "$(here)")" "closed>open:error_ratio"
    expect "$(jq -r 'select(.to == "open") | "\(.calls) \(.errors) \(.reasons.refused) \(.threshold)"' events.json)" \
        "10 10 10 0.5"
}

@test "a rejected curl says that it could not connect, in under 5 ms, and the kernel sees no connect" {
    start_server
    server refuse
    fetch_apart "$PORT" 5
    expect_state "$(here)" open
    server answer

    # The fastest of five: what the machine does beside is not cutout's time.
    local times=()
    for _ in {1..5}; do
        run guarded curl -sS -o /dev/null -w '%{time_total} s\n' "http://127.0.0.1:$PORT/"
        expect "$status" 7 "exit status of curl"
        expect_match "$output" "Failed to connect to 127.0.0.1 port $PORT"
        times+=("$(grep -o '^[0-9.]* s$' <<<"$output")")
    done
    printf '%s\n' "${times[@]}" | sort -n | head -n 1 >fastest
    awk '{ exit !($1 < 0.005) }' fastest || fail "the fastest took $(cat fastest)"

    run "${LIMIT[@]}" strace -f -e trace=connect -o calls -E LD_PRELOAD="$SHIM" \
        curl -sS -o /dev/null "http://127.0.0.1:$PORT/"
    expect "$status" 7 "exit status under strace"
    run grep "htons($PORT)" calls
    expect "$output" "" "connects seen"
    server_counts connections 0
    expect_breaker "$(here)" .total.rejected 6

    # Without the shim the same curl gets through, and strace sees it.
    "${LIMIT[@]}" strace -f -e trace=connect -o calls curl -sS -o /dev/null "http://127.0.0.1:$PORT/"
    grep -q "htons($PORT)" calls
    server_counts connections 1
}

@test "events and status say why in words" {
    rules "$by_count"
    start_server
    server refuse
    for _ in {1..10}; do fetch "$PORT" || true; done
    run "${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL"
    expect_match "$output" "flaky $(here) closed -> open \(error_ratio 100\.0% >= 50%, 10 of 10 calls in 10s: refused 10"
    run "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL"
    expect_match "$output" "open \(connect\)"
}

@test "curls that give up on a server which never answers open the breaker" {
    start_server
    expect "$(fetch_status "$PORT")" 0 "exit status"
    server hang
    fetch_apart "$PORT" 5 --max-time 0.3
    expect_state "$(here)" open
    expect_breaker "$(here)" .gate request
    expect_reasons "$(here)" "timeout 5"
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
    expect "$(fetch_status "$PORT" --max-time 0.3)" 7 "exit status of the rejected curl"
    server_counts connections 6
}

@test "a server that has never answered opens the breaker too when curls give up on it" {
    start_server
    server hang
    fetch_apart "$PORT" 5 --max-time 0.3
    expect_state "$(here)" open
    expect_reasons "$(here)" "timeout 5"
}

@test "a connect that never completes counts as a time-out" {
    start_server
    server full
    fetch_apart "$PORT" 5 --max-time 0.5
    expect_state "$(here)" open
    expect_breaker "$(here)" .gate connect
    expect_reasons "$(here)" "timeout 5"
}

@test "answers slower than slow_call open the breaker, without a single error" {
    rules '
[slow]
match = 127.0.0.1
slow_call = 100ms
min_calls = 5
'
    start_server
    server answer 300
    for _ in {1..4}; do expect "$(fetch_status "$PORT")" 0 "exit status"; done
    expect_state "$(here)" closed
    expect "$(fetch_status "$PORT")" 0 "exit status of the fifth"
    expect_state "$(here)" open
    expect_breaker "$(here)" '.total.slow, .total.errors' $'5\n0'
    expect "$(causes "$(here)")" "closed>open:slow_ratio"
    expect "$(fetch_status "$PORT")" 7 "exit status of the rejected curl"
}

@test "of 50 curls at once exactly probes reach the server; all succeed and the breaker closes" {
    rules "$by_count"
    start_server
    server refuse
    for _ in {1..10}; do fetch "$PORT" || true; done
    server hold
    retry_until 5 probe_due "$(here)"
    fetch_many "$PORT" 50
    retry_until 25 many_ended 47 7
    server_counts connections 3
    server_counts held 3
    expect_state "$(here)" half_open
    server release
    retry_until 10 many_ended 3 0
    expect_state "$(here)" closed
    server_counts connections 3
    expect "$(causes "$(here)")" \
        "closed>open:error_ratio open>half_open:open_for half_open>closed:probes_passed"
    expect_breaker "$(here)" '.total.rejected, .window.calls' $'47\n0'
    server answer
    expect "$(fetch_status "$PORT")" 0 "exit status afterwards"
}

@test "one failed probe opens the breaker again, whatever the other probes bring" {
    rules "$by_count"
    start_server
    server reset
    for _ in {1..10}; do fetch "$PORT" || true; done
    expect_breaker "$(here)" '.state, .gate' $'open\nrequest'
    server hold
    server zero
    retry_until 5 probe_due "$(here)"
    fetch_many "$PORT" 50
    retry_until 25 many_ended 47 7
    server_counts held 3
    server release answer 1
    retry_until 10 many_ended 1 0
    expect_state "$(here)" half_open
    server release reset 1
    retry_until 10 many_ended 1 56
    expect_state "$(here)" open
    server release
    retry_until 10 many_ended 2 0
    expect_state "$(here)" open
    server_counts connections 3
    expect "$(causes "$(here)")" "closed>open:error_ratio open>half_open:open_for half_open>open:probe_failed"
}
