#!/usr/bin/env bats
# A small pool of workers whose upstream hangs, each with a time-out of its own of 2 s, judged by the defaults.

load helpers

# hang_workers COUNT STAGGER_MS SECONDS: the breaker opens within that time of their start.
hang_workers() {
    start_server
    fetch "$PORT"
    server hang
    start_guarded workers.out /usr/bin/python3 "$PROGRAMS/client_calls.py" blocking "$PORT" \
        --workers "$1" --stagger "$2" --calls 20 --gap 50 --timeout 2000
    retry_until "$3" expect_state "$(here)" open
}

@test "five workers started 150 ms apart open the breaker by consecutive_errors within 5 s" {
    hang_workers 5 150 5
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
    expect_reasons "$(here)" "timeout 5"
}

@test "five workers started together open the breaker by error_ratio within 5 s" {
    hang_workers 5 0 5
    expect "$(causes "$(here)")" "closed>open:error_ratio"
}

@test "one worker alone opens the breaker by consecutive_errors within 15 s" {
    hang_workers 1 0 15
    expect "$(causes "$(here)")" "closed>open:consecutive_errors"
}
