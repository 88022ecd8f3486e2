#!/usr/bin/env bats
# Descriptors' numbers are given out again: what has taken the place of a connection is never taken for it.

load helpers

reuse() {
    guarded "$BUILD/tests/guest_reuse" "$PORT" "$@"
}

# expect_totals CALLS ERRORS IGNORED REJECTED: of the server's breaker.
expect_totals() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors) \(.ignored) \(.rejected)"' "$1 $2 $3 $4"
}

# fail_requests: the breaker is open, for requests too.
fail_requests() {
    server drop
    fetch_apart "$PORT" 5
    server answer
    expect_state "$(here)" open
}

@test "an end in any way that is seen leaves nothing behind: the next under that number counts for nobody" {
    local way calls=0 ignored=0
    start_server
    for way in close fclose dup2 dup3 close_range closefrom shutdown syscall; do
        reuse "$way"
        # Six exchanges; of the two new connections that follow nothing is asked.
        expect_totals $((calls += 6)) 0 $((ignored += 2)) 0
    done
    server hang
    for way in close fclose dup2 dup3 close_range closefrom shutdown syscall; do
        reuse "$way" held
        expect_totals "$calls" 0 $((ignored += 8)) 0
    done
}

@test "after an end that nobody saw, what takes the number fails for itself, and is never rejected" {
    local way
    start_server
    for way in raw ring; do
        server answer
        reuse "$way"
        server hang
        reuse "$way" held
    done
    expect_breaker "$(here)" '.total | "\(.errors) \(.rejected) \(.slow)"' "0 0 0"
    expect_state "$(here)" closed
}

# reuse_all COMMAND...: what it does to the weather, it does while connections wait to be left unseen; then each is, and
# what has taken its place must behave as what it is.
reuse_all() {
    local what pids=()
    for what in file pipe pair connection; do
        mkdir -p "$what"
        rm -f "$what/out"
        background env -C "$what" LD_PRELOAD="$SHIM" "$BUILD/tests/guest_reuse" "$PORT" raw gate "$what" >"$what/out" 2>&1
        pids+=("$STARTED_PID")
    done
    for what in file pipe pair connection; do
        retry_until 10 grep -q ready "$what/out"
    done
    "$@"
    touch {file,pipe,pair,connection}/gate
    wait "${pids[@]}"
    for what in file pipe pair connection; do
        expect "$(cat "$what/out")" ready "what $what says"
    done
}

probe_is_due() {
    fail_requests
    retry_until 5 probe_due "$(here)"
}

@test "neither is it rejected while the breaker is open, nor is it a probe" {
    rules '[default]
open_for = 1s
probes   = 1'
    start_server
    reuse_all fail_requests
    expect_state "$(here)" open
    retry_until 5 probe_due "$(here)"
    expect "$(fetch_status "$PORT")" 0 "the probe"
    expect_state "$(here)" closed
    reuse_all probe_is_due
    expect_match "$(breaker "$(here)" .state)" 'open|half_open'
    expect "$(fetch_status "$PORT")" 0 "the probe"
    expect_state "$(here)" closed
    expect "$(causes "$(here)" | tr ' ' '\n' | grep -c probes_passed)" 2 "breakers closed, each by a fetch"
}

@test "every kind of duplicate goes on with the connection" {
    start_server
    reuse copies
    expect_totals 16 0 0 0
    server_counts connections 8
}
