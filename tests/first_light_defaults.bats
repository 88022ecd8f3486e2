#!/usr/bin/env bats
# Without a rules file, and with one that cannot be used.

load helpers
bats_require_minimum_version 1.5.0

broken='[flaky]
match = 127.0.0.1
window = 10 parsecs
'

# reject_nothing: twenty refused curls, more than enough to open any breaker, none of them rejected.
reject_nothing() {
    local number
    start_server
    server refuse
    for ((number = 0; number < 10; number++)); do
        expect "$(fetch_status "$PORT")" 7 "exit status"
        sleep 0.12
    done
    expect_breaker "$(here)" '.total.rejected, .mode' $'0\nobserve'
    server answer
    expect "$(fetch_status "$PORT")" 0 "exit status of a call that would have been rejected"
    expect_breaker "$(here)" '.total.rejected, .total.would_reject > 0' $'0\ntrue'
}

@test "no rules file: 30 calls at once that take 3 s each trip nothing" {
    start_server
    server answer 3000
    fetch_many "$PORT" 30
    retry_until 25 many_ended 30 0
    expect_state "$(here)" closed
    expect_breaker "$(here)" '.total.calls, .total.slow, .total.errors, .total.rejected' $'30\n30\n0\n0'
    expect_breaker "$(here)" '.thresholds.slow_ratio // "off"' off
    run "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL"
    expect_match "$output" "not judged"
    expect "$(causes "$(here)")" ""
}

@test "cutout run refuses a broken rules file, with line and column" {
    printf '%s' "$broken" >broken.rules
    run "${LIMIT[@]}" "$CUTOUT" run -r broken.rules -- touch ran
    expect "$status" 125 "exit status"
    expect_match "$output" "^cutout: .*broken\.rules:3:10: "
    [[ ! -e ran ]]
}

@test "cutout run refuses a missing rules file" {
    run "${LIMIT[@]}" "$CUTOUT" run -r missing.rules -- touch ran
    expect "$status" 125 "exit status"
    expect_match "$output" "^cutout: .*missing\.rules: No such file or directory"
    [[ ! -e ran ]]
    rules_file "$PWD/missing.rules"
    run "${LIMIT[@]}" "$CUTOUT" run -- touch ran
    expect "$status" 125 "exit status"
    [[ ! -e ran ]]
}

@test "cutout run --if-possible runs the program all the same, and says so in one line" {
    printf '%s' "$broken" >broken.rules
    run "${LIMIT[@]}" "$CUTOUT" run --if-possible -r broken.rules -- sh -c 'exit 3'
    expect "$status" 3 "exit status"
    expect "${#lines[@]}" 1 "lines of output"
    expect_match "$output" "^cutout: .*broken\.rules:3:10: "
    run "${LIMIT[@]}" "$CUTOUT" run --if-possible -r missing.rules -- sh -c 'exit 3'
    expect "$status" 3 "exit status"
    expect "${#lines[@]}" 1 "lines of output"
}

@test "a plain preload with a broken rules file rejects nothing, and status shows the error" {
    rules "$broken"
    reject_nothing
    run "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL"
    expect_match "$output" "cutout\.rules:3:10: "
    expect "$(jq -r '.panels[0].rules.ok' status.json)" false "rules.ok"
    expect_match "$(jq -r '.panels[0].rules.error' status.json)" "cutout\.rules:3:10: "
}

@test "a plain preload with a missing rules file rejects nothing, and status shows the error" {
    rules_file "$PWD/missing.rules"
    reject_nothing
    expect "$(jq -r '.panels[0].rules.ok' status.json)" false "rules.ok"
    expect_match "$(jq -r '.panels[0].rules.error' status.json)" "missing\.rules: No such file"
}

@test "a rules file that becomes bad leaves the last good rules in force" {
    rules '
[fast]
match = 127.0.0.1
consecutive_errors = 2
'
    start_server
    server refuse
    fetch "$PORT" || true
    rules "$broken"
    sleep 0.12
    fetch "$PORT" || true
    expect_breaker "$(here)" '.rule, .state' $'fast\nopen'
    expect "$(jq -r '.panels[0].rules.ok' status.json)" false "rules.ok"
    server answer
    expect "$(fetch_status "$PORT")" 7 "exit status of the rejected curl"
}

@test "a changed rules file is in force for the next program" {
    rules '
[before]
match = 127.0.0.1
'
    start_server
    fetch "$PORT"
    expect_breaker "$(here)" .rule before
    rules '
[after]
match = 127.0.0.1
'
    fetch "$PORT"
    expect "$(breakers .rule | sort | tr '\n' ' ')" "after before " "rules"
}

@test "observing rejects nothing: in the rules, in the environment and by cutout run" {
    start_server
    server refuse
    fetch_apart "$PORT" 5
    expect_state "$(here)" open
    server answer
    expect "$(CUTOUT_MODE=observe fetch_status "$PORT")" 0 "exit status with CUTOUT_MODE=observe"
    expect "$(CUTOUT_MODE=off fetch_status "$PORT")" 0 "exit status with CUTOUT_MODE=off"
    "${LIMIT[@]}" "$CUTOUT" run --observe -- curl -sS "http://127.0.0.1:$PORT/"
    expect_breaker "$(here)" '.total.would_reject, .total.rejected' $'2\n0'
    expect "$(fetch_status "$PORT")" 7 "exit status when enforcing"
}

@test "cutout run becomes the program: its process, its exit status, its signals" {
    # shellcheck disable=SC2016  # expanded by the shells under test
    run "${LIMIT[@]}" sh -c 'echo $$; exec "$0" run -- sh -c "echo \$\$; exit 42"' "$CUTOUT"
    expect "$status" 42 "exit status"
    expect "${lines[0]}" "${lines[1]}" "process"
    run -127 "${LIMIT[@]}" "$CUTOUT" run -- ./no-such-program
    touch no-program
    run "${LIMIT[@]}" "$CUTOUT" run -- ./no-program
    expect "$status" 126 "exit status"
    # shellcheck disable=SC2016
    run env LD_PRELOAD=/nonexistent/other.so "${LIMIT[@]}" "$CUTOUT" run -- sh -c 'echo "$LD_PRELOAD"'
    expect_match "${lines[-1]}" "^${SHIM%/*}(/\\\$LIB)?/libcutout\.so[: ]/nonexistent/other\.so$" "LD_PRELOAD"
}
