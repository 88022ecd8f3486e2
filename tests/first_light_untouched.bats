#!/usr/bin/env bats
# What cutout leaves alone, and says that it does.

load helpers

# open_breaker: so that whatever is guarded would be rejected.
open_breaker() {
    start_server
    server refuse
    fetch_apart "$PORT" 5
    expect_state "$(here)" open
    server answer
    expect "$(fetch_status "$PORT")" 7 "exit status of a guarded curl"
    expect_breaker "$(here)" .total.rejected 1
}

@test "CUTOUT_DISABLE=1 does nothing at all" {
    open_breaker
    expect "$(CUTOUT_DISABLE=1 fetch_status "$PORT")" 0 "exit status"
    server refuse
    expect "$(CUTOUT_DISABLE=1 fetch_status "$PORT")" 7 "exit status"
    expect_breaker "$(here)" '.total.rejected, .total.calls, .total.would_reject' $'1\n5\n0'
    # Not even a panel is made.
    CUTOUT_DISABLE=1 CUTOUT_PANEL=$CUTOUT_PANEL-disabled guarded true
    run "${LIMIT[@]}" "$CUTOUT" panels
    expect_match "$output" "$CUTOUT_PANEL"
    [[ $output != *-disabled* ]] || fail "a panel was made" "$output"
}

@test "a set-user-ID program is untouched; run and doctor say so" {
    cp "$BUILD/tests/client_plain" suid
    chown nobody suid
    chmod 4755 suid
    open_breaker
    run guarded ./suid "$PORT"
    expect "$status" 0 "exit status"
    expect "$output" "HTTP/1.1 200 OK"

    run "${LIMIT[@]}" "$CUTOUT" run -- ./suid "$PORT"
    expect "$status" 125 "exit status of run"
    expect_match "$output" "^cutout: .*set-user-ID"
    run "${LIMIT[@]}" "$CUTOUT" run --if-possible -- ./suid "$PORT"
    expect "$status" 0 "exit status of run --if-possible"
    expect_match "${lines[0]}" "^cutout: .*set-user-ID"
    expect "${lines[1]}" "HTTP/1.1 200 OK"
    run "${LIMIT[@]}" "$CUTOUT" doctor ./suid
    expect "$status" 1 "exit status of doctor"
    expect_match "$output" "set-user-ID"
    expect_breaker "$(here)" .total.rejected 1
}

@test "a static program is untouched; run and doctor say so" {
    "${CC:-cc}" -static -o static "$PROGRAMS/client_plain.c"
    open_breaker
    run guarded ./static "$PORT"
    expect "$status" 0 "exit status"
    expect "$output" "HTTP/1.1 200 OK"

    run "${LIMIT[@]}" "$CUTOUT" run -- ./static "$PORT"
    expect "$status" 125 "exit status of run"
    expect_match "$output" "^cutout: .*static"
    run "${LIMIT[@]}" "$CUTOUT" run --if-possible -- ./static "$PORT"
    expect "$status" 0 "exit status of run --if-possible"
    expect_match "${lines[0]}" "^cutout: .*static"
    expect "${lines[1]}" "HTTP/1.1 200 OK"
    run "${LIMIT[@]}" "$CUTOUT" doctor ./static
    expect "$status" 1 "exit status of doctor"
    expect_match "$output" "static"
    expect_breaker "$(here)" .total.rejected 1
}

@test "doctor says of an ordinary program that it can be protected" {
    run "${LIMIT[@]}" "$CUTOUT" doctor curl
    expect "$status" 0 "exit status"
}
