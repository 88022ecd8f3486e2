#!/usr/bin/env bats
# `make demo` shows what it promises, and cleans up after itself.

load helpers

demo_panels() {
    "${LIMIT[@]}" "$CUTOUT" panels | grep -c demo- || true
}

@test "the demo opens, rejects and closes, and removes its panel" {
    begun=$SECONDS
    run timeout 60 env BUILD="$BUILD" "$BATS_TEST_DIRNAME/demo"
    expect "$status" 0 "exit status"
    ((SECONDS - begun < 40)) || fail "it took $((SECONDS - begun)) s"
    expect_match "$output" "closed -> open \(error_ratio"
    expect_match "$output" "open -> half_open \(open_for"
    expect_match "$output" "half_open -> closed \(probes_passed"
    expect_match "$output" "The breaker opened, rejected [0-9]+ calls and closed again\."
    expect_match "$output" "time lost in calls that brought no answer +[0-9.]+ s +[0-9.]+ s"
    [[ $output != *$'\e'* ]] || fail "colours without a terminal"
    expect "$(demo_panels)" 0 "panels of a demo"
}

@test "an interrupted demo removes its panel too" {
    # In a process group of its own, as a terminal would interrupt it; what starts in the background ignores SIGINT.
    BUILD="$BUILD" background env --default-signal=INT setsid "$BATS_TEST_DIRNAME/demo" >demo.out 2>&1
    retry_until 15 grep -q ' answers closed .*[0-9]' demo.out
    kill -INT "-$STARTED_PID"
    retry_until 10 gone "$STARTED_PID"
    expect "$(demo_panels)" 0 "panels of a demo"
}
gone() {
    ! kill -0 "-$1" 2>retry.err
}
