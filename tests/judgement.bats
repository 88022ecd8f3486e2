#!/usr/bin/env bats
# Judgement in running programs: calls that hang, limits over several destinations, names and rules judged as one, and
# recordings. What belongs to virtual time is in engine.bats and replay.bats.

load helpers

# events_json FILTER: jq over the events of this test's panel.
events_json() {
    "${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL" --json >events.json
    jq -r "$1" events.json
}

# hang COUNT: so many redis-cli that wait for a stopped server; their processes are in HUNG.
hang() {
    local number
    HUNG=()
    for ((number = 0; number < $1; number++)); do
    # shellcheck disable=SC2153  # set by start_redis
        start_guarded "hung.$number" redis-cli -p "$PORT" PING
        HUNG+=("$STARTED_PID")
    done
}

hanging='
[cache]
match = 127.0.0.1
slow_call = 400ms
slow_ratio = 50%
min_calls = 5
consecutive_errors = off
open_for = 60s
'

@test "a destination that stops answering trips by calls that still hang" {
    rules "$hanging"
    start_redis
    expect "$(guarded redis-cli -p "$PORT" PING)" PONG
    kill -STOP "$REDIS_PID"
    hang 8
    # Whoever asks next finds it ill: not one of the eight has come back.
    rejected() { guarded timeout 1 redis-cli -p "$PORT" PING 2>&1 | grep -q "Connection refused"; }
    retry_until 10 rejected
    for pid in "${HUNG[@]}"; do
        kill -0 "$pid"
    done
    expect_state "$(here)" open
    expect "$(causes "$(here)")" "closed>open:slow_ratio"
    expect "$(events_json 'select(.to == "open") | "\(.calls) \(.errors) \(.slow) \(.overdue >= 4)"')" "1 0 0 true"
    kill -CONT "$REDIS_PID"
    for pid in "${HUNG[@]}"; do
        wait "$pid"
    done
    expect "$(cat hung.*)" "$(printf 'PONG\n%.0s' {1..8})"
    # Their results came after the trip: they are in the totals, and changed nothing.
    expect_breaker "$(here)" '.state, .total.slow' $'open\n8'
}

@test "calls of processes that were killed while they hung do not trip" {
    rules "$hanging"
    start_redis
    expect "$(guarded redis-cli -p "$PORT" PING)" PONG
    kill -STOP "$REDIS_PID"
    hang 8
    sleep 0.6 # they are overdue, but nobody has asked since
    for pid in "${HUNG[@]}"; do
        kill -KILL "$pid"
        wait "$pid" || true
    done
    kill -CONT "$REDIS_PID"
    for _ in {1..3}; do
        expect "$(guarded redis-cli -p "$PORT" PING)" PONG
    done
    expect_state "$(here)" closed
    expect "$(causes "$(here)")" ""
}

@test "max_in_flight: one call too many is rejected as busy, and admitted when another has ended" {
    rules '
[backend]
match = 127.0.0.1
max_in_flight = 3'
    start_server
    server hang
    fetch_many "$PORT" 3 -m 20
    # A fourth is turned away at once: the server never sees it.
    retry_until 10 server_counts connections 3
    expect "$(fetch_status "$PORT" -m 5)" 7
    expect_breaker "$(here)" '.state, .total.rejected' $'closed\n1'
    server_counts connections 3
    kill -KILL "${MANY_PIDS[@]}"
    server answer
    # Killed, not ended: what they held is found out and given out again.
    retry_until 10 fetch "$PORT"
}

@test "max_open: half of a rule's destinations stay open to calls, and the trip not made is an event" {
    rules '
[replicas]
match = 127.0.0.0/8
max_open = 50%
open_for = 60s'
    start_server 127.0.0.2
    local first=$PORT
    fetch_two() { guarded curl -sS -o fetched "http://127.0.0.2:$first/"; }
    fetch_two
    fetch_apart 1 5
    expect_state tcp://127.0.0.1:1 open
    fetch_apart 2 5
    # Two of three destinations would be open; one may.
    expect_state tcp://127.0.0.1:2 closed
    expect "$(events_json 'select(.cause == "capped") | .destination')" tcp://127.0.0.1:2
    expect "$(fetch_status 2)" 7
    expect_breaker tcp://127.0.0.1:2 '.total.errors, .total.rejected' $'6\n0'
    expect "$(fetch_status 1)" 7
    expect_breaker tcp://127.0.0.1:1 .total.rejected 1
}

@test "scope = rule: all destinations of a rule have one breaker" {
    rules '
[everything]
match = 127.0.0.1
scope = rule
open_for = 60s'
    for port in 1 2 3 4 5; do
        fetch_apart "$port" 1
        sleep 0.12
    done
    expect_breaker '*' '.state, .total.errors' $'open\n5'
    start_server
    expect "$(fetch_status "$PORT")" 7
    server_counts connections 0
}

@test "scope = name: all addresses of a host name have one breaker" {
    rules '
[named]
match = *.cutout.test
scope = name
consecutive_errors = 3
open_for = 60s'
    printf '127.0.0.2 twin.cutout.test\n127.0.0.3 twin.cutout.test\n' >hosts
    {
        echo 'mount --bind hosts /etc/hosts'
        # shellcheck disable=SC2016
        echo 'for n in 1 2 3; do LD_PRELOAD=$1 curl -s http://twin.cutout.test:1/; sleep 0.12; done; true'
    } >script
    run "${LIMIT[@]}" unshare -m bash script "$SHIM"
    expect "$status" 0
    # Each curl tries both addresses: two failures under one breaker.
    expect_breaker tcp://twin.cutout.test:1 '.state, .name' $'open\ntwin.cutout.test:1'
    expect "$(breakers 'select(.destination | startswith("tcp://127")) | .destination')" ""
}

@test "a canary: one process observes, the others enforce, on the same breaker" {
    rules '
[backend]
match = 127.0.0.1
open_for = 60s'
    fetch_apart 1 5
    expect_state tcp://127.0.0.1:1 open
    expect "$(fetch_status 1)" 7
    expect_breaker tcp://127.0.0.1:1 '.total.errors, .total.rejected, .total.would_reject' $'5\n1\n0'
    run env CUTOUT_MODE=observe LD_PRELOAD="$SHIM" "${LIMIT[@]}" curl -sS http://127.0.0.1:1/
    expect "$status" 7
    # It was made, it failed, and it is in the totals; the window is untouched.
    expect_breaker tcp://127.0.0.1:1 '.total.errors, .total.rejected, .total.would_reject' $'6\n1\n1'
}

# transitions FILE: "time from>to:cause" of each change of this test's server, a line each.
transitions() {
    jq -r --arg here "$(here)" 'select(.to != null and .destination == $here) |
        "\(.at) \(.from)>\(.to):\(.cause)"' "$1"
}

@test "a recording replays to the transitions that the live breakers reported" {
    rules '
[backend]
match = 127.0.0.1
mode = observe
window = 2s
buckets = 10
min_calls = 5
open_for = 1s
open_jitter = 0%
probes = 2'
    start_server
    cat >traffic <<'S'
tell() {
    exec 9<>"/dev/tcp/127.0.0.1/$2"
    printf '%s\n' "$1" >&9
    read -r _ <&9
    exec 9>&-
}
for n in $(seq 80); do
    [[ $n != 10 ]] || tell reset "$2"
    [[ $n != 45 ]] || tell answer "$2"
    curl -s -o /dev/null -m 2 "http://127.0.0.1:$1/"
    sleep 0.04
done
exit 0
S
    run "${LIMIT[@]}" "$CUTOUT" run --record calls.trace -- bash traffic "$PORT" "$CONTROL"
    expect "$status" 0
    "${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL" --json >live.json
    "${LIMIT[@]}" "$CUTOUT" replay -r cutout.rules --observe --json calls.trace >replayed.json
    transitions live.json >live
    transitions replayed.json >replayed
    [[ $(wc -l <live) -ge 3 ]] || fail "too few transitions:" "$(cat live)"
    expect "$(cut -d' ' -f2 replayed)" "$(cut -d' ' -f2 live)" "the replayed transitions"
    # Within one bucket, 200 ms.
    paste -d' ' live replayed | while read -r a _ b _; do
        jq -en "($a - $b) | fabs <= 0.2" >/dev/null || fail "$a and $b are more than a bucket apart"
    done
}

@test "record writes whole lines of any number of processes until it is interrupted" {
    start_server
    fetch "$PORT"
    background "$CUTOUT" record -p "$CUTOUT_PANEL" calls.trace
    local recorder=$STARTED_PID
    retry_until 10 test -s calls.trace
    fetch_many "$PORT" 20
    retry_until 20 many_ended 20 0
    recorded() { expect "$(grep -c "tcp://127.0.0.1:$PORT success" calls.trace)" 20; }
    retry_until 10 recorded
    kill -INT "$recorder"
    wait "$recorder"
    expect "$(head -1 calls.trace)" "# cutout trace 1"
    expect "$(grep -v -c -E "^(#.*|[0-9.]+ tcp://127.0.0.1:$PORT success [0-9.]+ms)$" calls.trace)" 0
}

@test "run --record ends as the program ends, by status and by signal" {
    run "${LIMIT[@]}" "$CUTOUT" run --record calls.trace -- bash -c 'exit 7'
    expect "$status" 7
    run "${LIMIT[@]}" "$CUTOUT" run --record calls.trace -- bash -c 'kill -KILL $$'
    expect "$status" 137
    background "$CUTOUT" run --record calls.trace -- bash -c 'trap "echo passed on; exit 5" TERM; echo ready; while :; do sleep 0.05; done' >told
    retry_until 10 grep -q ready told
    kill -TERM "$STARTED_PID"
    local status=0
    wait "$STARTED_PID" || status=$?
    expect "$status" 5
    expect "$(tail -1 told)" "passed on"
}

@test "a recording that cannot be written says so, and the program runs on" {
    run "${LIMIT[@]}" "$CUTOUT" run --record /nonexistent/calls.trace -- true
    expect "$status" 125
    expect_match "$output" "/nonexistent/calls.trace: No such file or directory"
    start_server
    run "${LIMIT[@]}" "$CUTOUT" run --record /dev/full -- true
    expect "$status" 125
    expect_match "$output" "/dev/full: No space left on device"
}
