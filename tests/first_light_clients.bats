#!/usr/bin/env bats
# What odd but real clients do with their sockets, their processes and their threads.

load helpers

rule='
[odd]
match = 127.0.0.0/8
open_for = 1s
probe_timeout = 60s
window = 1m
'

@test "wget leaves connect() by a jump out of a signal handler: that is a time-out" {
    start_server
    server full
    for _ in {1..5}; do
        expect "$(guarded wget -q -T 0.3 -t 1 -O - "http://127.0.0.1:$PORT/" || echo "$?")" 4 "exit status of wget"
    done
    expect_breaker "$(here)" '.state, .gate' $'open\nconnect'
    expect_reasons "$(here)" "timeout 5"
    server answer
    expect "$(guarded wget -q -T 0.3 -t 1 -O - "http://127.0.0.1:$PORT/" || echo "$?")" 4 "exit status of wget"
    server_counts connections 0
}

@test "wget's answers count, each once although it peeks at them first" {
    start_server
    for _ in {1..3}; do
        expect "$(guarded wget -q -T 5 -t 1 -O - "http://127.0.0.1:$PORT/")" ok
    done
    expect_breaker "$(here)" '.total.calls, .total.errors' $'3\n0'
}

# bash_call: a request by bash's own means, whose output goes out through stdio.
bash_call() {
    # shellcheck disable=SC2016  # expanded by the bash under test
    guarded bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0 && printf "GET / HTTP/1.1\r\n\r\n" >&3 && read -r -t 5 line <&3 &&
        echo "$line"' "$PORT" 2>bash.err || true
}

@test "bash's /dev/tcp: an answer whose request was not seen is a call; refused connects open the breaker" {
    start_server
    expect_match "$(bash_call)" "HTTP/1.1 200 OK"
    expect_breaker "$(here)" '.total.calls, .total.errors' $'1\n0'
    server refuse
    for _ in {1..5}; do
        expect "$(bash_call)" ""
        sleep 0.12
    done
    expect_state "$(here)" open
    expect_reasons "$(here)" "refused 5"
    server answer
    server zero
    expect "$(bash_call)" ""
    expect_match "$(cat bash.err)" "Connection refused"
    server_counts connections 0
}

@test "a parent's connection is still known after it started 100 children by vfork" {
    rules "$rule"
    start_server
    expect "$(guarded /usr/bin/python3 "$PROGRAMS/client_children.py" "$PORT" 100)" "answered 2"
    expect_breaker "$(here)" '.total.calls, .total.errors, .total.ignored' $'2\n0\n0'
}

@test "the loser of happy eyeballs is no failure" {
    rules "$rule"
    start_server
    winner=$CONTROL
    start_server 127.0.0.2 "$PORT"
    server full
    for _ in {1..5}; do
        expect "$(guarded /usr/bin/python3 "$PROGRAMS/client_happy.py" "$PORT")" 127.0.0.1 "the winner"
    done
    expect_breaker "$(here)" '.total.calls, .total.errors' $'5\n0'
    expect_breaker "tcp://127.0.0.2:$PORT" '.state, .total.calls, .total.errors, .total.ignored' $'closed\n0\n0\n5'
    tell_server "$winner" count
}

@test "several processes and threads share one panel and every call is counted once" {
    rules "$rule"
    start_server
    start_guarded first.out /usr/bin/python3 "$PROGRAMS/client_fork.py" "$PORT" 4 4 50
    start_guarded second.out /usr/bin/python3 "$PROGRAMS/client_fork.py" "$PORT" 2 8 50
    retry_until 25 grep -q answered first.out
    retry_until 25 grep -q answered second.out
    expect "$(cat first.out second.out)" $'answered 800\nanswered 800'
    server_counts requests 1600
    expect_breaker "$(here)" '.total.calls, .window.calls, .total.errors, .total.ignored' $'1600\n1600\n0\n0'
}

@test "one process's failures protect the others at once" {
    start_server
    start_guarded pool.out /usr/bin/python3 "$PROGRAMS/client_pool.py" "$PORT" 2 100
    pool=$STARTED_PID
    retry_until 10 grep -q ready pool.out
    server reset
    retry_until 10 grep -q 'reset by peer' pool.out
    retry_until 10 rejects_curl
    kill -TERM "$pool"
}
rejects_curl() {
    expect "$(fetch_status "$PORT")" 7
}

@test "permits held by processes that are killed are given out again" {
    rules "$rule"
    start_server
    server refuse
    fetch_apart "$PORT" 5
    server hold
    retry_until 5 probe_due "$(here)"
    fetch_many "$PORT" 3
    retry_until 10 server_counts held 3
    expect "$(fetch_status "$PORT")" 7 "exit status of a fourth"
    kill -KILL "${MANY_PIDS[@]}"
    wait "${MANY_PIDS[@]}" || true
    server answer
    retry_until 10 gets_through
    expect "$(fetch_status "$PORT")" 0 "exit status of the second probe"
    expect "$(fetch_status "$PORT")" 0 "exit status of the third probe"
    expect_state "$(here)" closed
    expect "$(causes "$(here)")" \
        "closed>open:consecutive_errors open>half_open:open_for half_open>closed:probes_passed"
}
gets_through() {
    expect "$(fetch_status "$PORT")" 0
}
