#!/usr/bin/env bats
# Programs that do not take turns with their server: long uploads, publishers, log shippers.

load helpers

# `make test-long` uploads ten times as much.
UPLOAD_MB=${UPLOAD_MB:-20}

# start_sink BYTES_PER_SECOND: a server that reads uploads at that pace; its port is $PORT.
start_sink() {
    background "$PROGRAMS/server_sink.py" "$1" >sink.out
    retry_until 10 grep -q port sink.out
    read -r _ PORT <sink.out
}

@test "an upload of many seconds that is answered in 10 ms is not slow" {
    rules '
[upload]
match = 127.0.0.1
slow_call = 2s
min_calls = 1
'
    start_sink 5000000
    truncate -s "${UPLOAD_MB}M" upload
    guarded curl -sS -H Expect: -T upload -w '%{time_total}\n' -o answer "http://127.0.0.1:$PORT/" >seconds
    expect "$(cat answer)" ok "answer"
    awk '{ exit !($1 > 3) }' seconds || fail "the upload took only $(cat seconds) s"
    expect_breaker "$(here)" '.state, .total.calls, .total.slow, .total.errors' $'closed\n1\n0\n0'
}

@test "a publisher that only sends after the first answer is never rejected, and no failure when it closes" {
    start_server
    server speak line
    start_guarded publisher.out /usr/bin/python3 "$PROGRAMS/client_stream.py" publisher "$PORT" 20
    publisher=$STARTED_PID
    retry_until 10 grep -q ready publisher.out
    expect_breaker "$(here)" '.total.calls, .total.errors' $'1\n0'

    # Others open the breaker, for requests; the publisher sends on.
    server hang
    fetch_apart "$PORT" 5 --max-time 0.3
    expect_breaker "$(here)" '.state, .gate, .total.errors' $'open\nrequest\n5'
    server zero
    retry_until 10 published 30
    kill -TERM "$publisher"
    retry_until 10 grep -q sent publisher.out
    expect_match "$(cat publisher.out)" "sent [0-9]+ errors 0"
    expect_breaker "$(here)" '.total.calls, .total.errors, .total.rejected' $'6\n5\n0'
}
published() {
    local lines
    lines=$(server_count requests)
    ((lines >= $1)) || fail "only $lines lines arrived"
}

@test "a log shipper that is never answered is never rejected, and no failure when it closes" {
    start_server
    server speak line
    server hang
    start_guarded shipper.out /usr/bin/python3 "$PROGRAMS/client_stream.py" shipper "$PORT" 100
    shipper=$STARTED_PID
    retry_until 10 grep -q ready shipper.out
    # Longer than the 5 s after which a call that is given up would be one that took too long.
    retry_until 15 published 55
    kill -TERM "$shipper"
    retry_until 10 grep -q sent shipper.out
    expect_match "$(cat shipper.out)" "sent [0-9]+ errors 0"
    expect_breaker "$(here)" '.state, .total.calls, .total.errors, .total.rejected, .total.ignored' $'closed\n0\n0\n0\n1'
}
