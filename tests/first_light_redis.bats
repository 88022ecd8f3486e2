#!/usr/bin/env bats
# redis-cli against a real redis-server. redis-cli learns how its connect went by a second connect(), and where it
# was refused it tries once more: one user's action, two failures.

load helpers

quick='
[cache]
match = 127.0.0.1
open_for = 1s
probe_timeout = 60s
'

stop_redis() {
    kill -KILL "$REDIS_PID"
    wait "$REDIS_PID" || true
}

# ping_redis: one guarded PING; prints what redis-cli says.
ping_redis() {
    guarded redis-cli -p "$PORT" PING 2>&1 || true
}

refused_five_times() {
    for _ in {1..5}; do
        expect_match "$(ping_redis)" "Connection refused"
        sleep 0.12
    done
    expect_state "$(here)" open
}

@test "redis-cli: a server that is gone opens the breaker, then redis-cli is refused without a connect" {
    start_redis
    stop_redis
    refused_five_times
    expect_breaker "$(here)" '.total.errors, .total.calls, .total.rejected' $'9\n9\n1'
    expect_reasons "$(here)" "refused 9"
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"

    run "${LIMIT[@]}" strace -f -e trace=connect -o calls -E LD_PRELOAD="$SHIM" redis-cli -p "$PORT" PING
    expect_match "$output" "Connection refused"
    run grep "htons($PORT)" calls
    expect "$output" "" "connects seen"
    expect_breaker "$(here)" '.total.errors, .total.rejected' $'9\n3'
}

@test "redis-cli: a server that is stopped for 300 ms is slow" {
    rules "$quick
slow_call = 100ms
min_calls = 4
slow_ratio = 75%"
    start_redis
    expect "$(ping_redis)" PONG
    expect_breaker "$(here)" '.total.calls, .total.errors, .total.slow' $'1\n0\n0'
    for _ in {1..3}; do
        kill -STOP "$REDIS_PID"
        start_guarded pong redis-cli -p "$PORT" PING
        sleep 0.3
        kill -CONT "$REDIS_PID"
        wait "$STARTED_PID"
        expect "$(cat pong)" PONG
    done
    expect_state "$(here)" open
    expect_breaker "$(here)" '.total.slow, .total.errors' $'3\n0'
    expect "$(causes "$(here)")" "closed>open:slow_ratio"
    expect_match "$(ping_redis)" "Connection refused"
}

@test "redis-cli: three probes pass, and the breaker closes" {
    rules "$quick"
    start_redis
    stop_redis
    refused_five_times
    start_redis "$PORT"
    retry_until 5 probe_due "$(here)"
    expect "$(ping_redis)" PONG
    expect "$(ping_redis)" PONG
    expect_state "$(here)" half_open
    expect "$(ping_redis)" PONG
    expect_state "$(here)" closed
    expect "$(causes "$(here)")" \
        "closed>open:consecutive_errors open>half_open:open_for half_open>closed:probes_passed"
}

@test "redis-cli: one failed probe opens the breaker again" {
    rules "$quick"
    start_redis
    stop_redis
    refused_five_times
    start_redis "$PORT"
    retry_until 5 probe_due "$(here)"
    expect "$(ping_redis)" PONG
    stop_redis
    expect_match "$(ping_redis)" "Connection refused"
    expect_state "$(here)" open
    expect "$(causes "$(here)")" \
        "closed>open:consecutive_errors open>half_open:open_for half_open>open:probe_failed"
    expect_match "$(ping_redis)" "Connection refused"
    expect_breaker "$(here)" '.total.errors, .total.rejected' $'10\n4'
}
