#!/usr/bin/env bats
# Python programs: blocking sockets, and an asyncio event loop. Each promise once with either.

load helpers

quick='
[flaky]
match = 127.0.0.1
min_calls = 5
open_for = 1s
probe_timeout = 60s
'

# calls STYLE [OPTION...]: one guarded program; its results are in $results, one word a call.
calls() {
    guarded /usr/bin/python3 "$PROGRAMS/client_calls.py" "$1" "$PORT" "${@:2}" >calls.out
    results=$(awk '{ printf "%s ", $1 }' calls.out)
}

refused() {
    start_server
    server refuse
    calls "$1" --calls 5 --gap 150
    expect "$results" "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED "
    expect_state "$(here)" open
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
    server answer
    calls "$1" --calls 5
    expect "$results" "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED "
    server_counts connections 0
    expect_breaker "$(here)" '.total.errors, .total.rejected' $'5\n5'
    expect_reasons "$(here)" "refused 5"
    sort -n -k 2 calls.out | awk 'NR == 1 { exit !($2 < 5) }' || fail "the fastest was no faster than 5 ms" "$(cat calls.out)"
}
@test "blocking: refused connects open the breaker, then fail at once without reaching the server" { refused blocking; }
@test "asyncio: refused connects open the breaker, then fail at once without reaching the server" { refused asyncio; }

never_answers() {
    start_server
    calls "$1"
    server hang
    calls "$1" --calls 5 "$2" 300
    expect "$results" "$3 $3 $3 $3 $3 "
    expect_state "$(here)" open
    expect_breaker "$(here)" .gate request
    expect_reasons "$(here)" "timeout 5"
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
    calls "$1"
    expect "$results" "ECONNREFUSED "
    server_counts connections 6
}
@test "blocking: giving up on a server that never answers opens the breaker" { never_answers blocking --timeout timeout; }
@test "blocking: the receive time-out of a socket opens the breaker" { never_answers blocking --receive-timeout EAGAIN; }
@test "asyncio: giving up on a server that never answers opens the breaker" { never_answers asyncio --timeout timeout; }

slow() {
    rules "$quick slow_call = 100ms"
    start_server
    server answer 300
    calls "$1" --calls 5
    expect "$results" "ok ok ok ok ok "
    expect_state "$(here)" open
    expect_breaker "$(here)" '.total.slow, .total.errors, .total.late_reads' $'5\n0\n0'
    expect "$(causes "$(here)")" "closed>open:slow_ratio"
}
@test "blocking: answers slower than slow_call open the breaker" { slow blocking; }
@test "asyncio: answers slower than slow_call open the breaker" { slow asyncio; }

read_late() {
    rules "$quick slow_call = 100ms"
    start_server
    calls "$1" --calls 6 --late 300
    expect "$results" "ok ok ok ok ok ok "
    expect_state "$(here)" closed
    expect_breaker "$(here)" '.total.slow, .total.calls, .total.late_reads' $'0\n6\n6'
}
@test "blocking: a program that reads late does not make the server slow" { read_late blocking; }
@test "asyncio: a busy event loop does not make the server slow" { read_late asyncio; }

# open_and_hold STYLE: the breaker opens, its probe is due, and 20 calls are made at once, of which the server
# holds three.
open_and_hold() {
    rules "$quick"
    start_server
    server reset
    calls "$1" --calls 5 --gap 120
    expect_state "$(here)" open
    server hold
    server zero
    retry_until 5 probe_due "$(here)"
    start_guarded calls.out /usr/bin/python3 "$PROGRAMS/client_calls.py" "$1" "$PORT" --workers 20
    retry_until 10 ended ECONNREFUSED 17
    server_counts connections 3
    server_counts held 3
    expect_state "$(here)" half_open
}
ended() {
    expect "$(grep -c "^$1 " calls.out)" "$2" "calls ended by $1"
}

probes_pass() {
    open_and_hold "$1"
    server release
    retry_until 10 ended ok 3
    expect_state "$(here)" closed
    expect "$(causes "$(here)" | cut -d ' ' -f 2-)" "open>half_open:open_for half_open>closed:probes_passed"
    server_counts connections 3
}
@test "blocking: exactly three probes pass, and the breaker closes" { probes_pass blocking; }
@test "asyncio: exactly three probes pass, and the breaker closes" { probes_pass asyncio; }

probe_fails() {
    open_and_hold "$1"
    server release answer 1
    retry_until 10 ended ok 1
    server release reset 1
    retry_until 10 ended ECONNRESET 1
    expect_state "$(here)" open
    server release
    retry_until 10 ended ok 2
    expect_state "$(here)" open
    expect "$(causes "$(here)" | cut -d ' ' -f 2-)" "open>half_open:open_for half_open>open:probe_failed"
}
@test "blocking: one failed probe opens the breaker again" { probe_fails blocking; }
@test "asyncio: one failed probe opens the breaker again" { probe_fails asyncio; }
