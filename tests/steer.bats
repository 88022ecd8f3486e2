#!/usr/bin/env bats
# Running programs, steered from outside: set, reset, reload, and what status says of it.
# shellcheck disable=SC2030,SC2031  # a test's variables are its own

load helpers
load panel_fixture

# steer_workers COUNT: processes that call the server when round says so.
steer_workers() {
    mkfifo told
    exec {TOLD}<>told
    # shellcheck disable=SC2016  # expanded by the inner shell
    background env LD_PRELOAD="$SHIM" bash -c 'eval "exec $1>&-"; exec /usr/bin/python3 "$2" "$3" "$4" <told >rounds' \
        steered "$TOLD" "$PROGRAMS/client_steered.py" "$PORT" "$1"
    ROUNDS=0
}

rounds_made() {
    [[ $(wc -l <rounds) == "$1" ]]
}

# round: one call of each worker; prints how they ended.
round() {
    ((++ROUNDS))
    echo >&"$TOLD"
    retry_until 15 rounds_made "$ROUNDS"
    ROUND=$(tail -n 1 rounds)
}

# round_is EXPECTED: the same for each worker.
round_is() {
    round
    [[ " $ROUND" =~ ^(\ $1)+$ ]] || fail "workers' calls ended as '$ROUND', expected $1"
}

# trip PORT: opens the breaker by a server that refuses, which then answers again.
trip() {
    server refuse
    fetch_apart "$PORT" 5
    expect_state "$(here)" open
    server answer
}

set_to() {
    "${LIMIT[@]}" "$CUTOUT" set "$@" -p "$CUTOUT_PANEL" >set.out
}

@test "set --all reaches every running program at its next call, and says how many there are" {
    start_server
    steer_workers 4
    round_is ok
    set_to --all open
    expect "$(cat set.out)" "everything: open for 1h; 5 processes attached to panel $CUTOUT_PANEL"
    round_is ECONNREFUSED
    server_counts requests 4
    expect_state "$(here)" forced_open
    set_to --all off
    expect "$(cat set.out)" "everything: off; 5 processes attached to panel $CUTOUT_PANEL"
    round_is ok
    server_counts requests 8
    expect_state "$(here)" disabled
    set_to --all auto
    round_is ok
    expect_state "$(here)" closed
    expect_breaker "$(here)" .window.calls 4
    expect "$(causes "$(here)")" \
        "closed>forced_open:operator forced_open>disabled:operator disabled>closed:operator"
}

@test "off lets calls through though the breaker is open; auto begins it anew" {
    rules $'[default]\nopen_for = 10m'
    start_server
    steer_workers 2
    trip
    round_is ECONNREFUSED
    set_to --all off
    round_is ok
    fetch "$PORT"
    set_to --all auto
    round_is ok
    expect_state "$(here)" closed
}

@test "observe and enforce change a running program, and keep the breaker's state" {
    rules $'[default]\nopen_for = 10m'
    start_server
    steer_workers 2
    trip
    round_is ECONNREFUSED
    set_to default observe
    round_is ok
    expect_state "$(here)" open
    expect_breaker "$(here)" .total.would_reject 2
    set_to default auto
    round_is ECONNREFUSED
}

@test "enforce goes before a rule that observes and an environment that does" {
    rules $'[default]\nopen_for = 10m\nmode = observe'
    export CUTOUT_MODE=observe
    start_server
    steer_workers 1
    trip
    round_is ok
    set_to "$(here)" enforce
    round_is ECONNREFUSED
}

@test "a rule's name means its breakers to come as well, a destination one alone" {
    rules $'[near]\nmatch = 127.0.0.0/8'
    start_server
    fetch "$PORT"
    set_to near open
    expect_match "$(cat set.out)" "^rule near: open for 1h; 0 processes attached"
    local first=$PORT
    start_server 127.0.0.2
    expect "$(guarded curl -s -o /dev/null -w '%{exitcode}' "http://127.0.0.2:$PORT/" || true)" 7
    set_to near auto
    set_to "127.0.0.2:$PORT" open
    expect "$(guarded curl -s -o /dev/null -w '%{exitcode}' "http://127.0.0.2:$PORT/" || true)" 7
    expect "$(fetch_status "$first")" 0
}

@test "all goes before a rule, a rule before a destination, and each is kept apart" {
    start_server
    fetch "$PORT"
    set_to "$(here)" open
    set_to default off
    expect "$(fetch_status "$PORT")" 0
    set_to --all open
    expect "$(fetch_status "$PORT")" 7
    expect "$(breaker "$(here)" '.override.scope')" all
    set_to --all auto
    expect "$(fetch_status "$PORT")" 0
    expect "$(breaker "$(here)" '.override | "\(.to) \(.scope) \(.for_ms)"')" "off rule null"
    set_to default auto
    expect "$(fetch_status "$PORT")" 7
    expect "$(breaker "$(here)" '.override.scope')" destination
    set_to "$(here)" auto
    expect "$(fetch_status "$PORT")" 0
    expect "$(breaker "$(here)" .override)" null
}

@test "--for ends by itself; what has no end survives all programs" {
    start_server
    fetch "$PORT"
    set_to --all open --for 2s
    expect "$(fetch_status "$PORT")" 7
    retry_until 4 fetch "$PORT"
    expect_state "$(here)" closed
    set_to --all off
    run cutout status -p "$CUTOUT_PANEL"
    expect "${lines[1]}" "override: everything off"
    fetch "$PORT"
    expect_state "$(here)" disabled
}

@test "status is headed by every word, with the time that it has left" {
    start_server
    fetch "$PORT"
    set_to --all open --for 30m
    set_to default observe
    set_to "$(here)" off --for 90s
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "${lines[1]}" "^override: everything open for (30|29)m more$"
    expect "${lines[2]}" "override: rule default observe"
    expect_match "${lines[3]}" "^override: $(here) off for [89][0-9]s more$"
    run cutout status "$(here)" -p "$CUTOUT_PANEL"
    expect_match "${lines[0]}" "^override +open for (30|29)m more, said of everything$"
    cutout status -p "$CUTOUT_PANEL" --json | tee status.json |
        "${LIMIT[@]}" python3 "$PROGRAMS/json_schema.py" "$BATS_TEST_DIRNAME/status.schema.json"
    expect "$(jq -r '.panels[0].override | "\(.to) \(.scope) \(.for_ms > 1700000)"' status.json)" "open all true"
}

@test "set says what is wrong, and what there is instead" {
    rules $'[near]\nmatch = 127.0.0.0/8'
    start_server
    fetch "$PORT"
    run cutout set nowhere off -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    expect "$output" "cutout: set: no rule, destination or host name is nowhere
  panel $CUTOUT_PANEL: rules default, near
    $(here)"
    run cutout set near ofd -p "$CUTOUT_PANEL"
    expect "$status:${lines[0]}" "2:cutout: set: open, off, observe, enforce or auto, not ofd"
    run cutout set near open --for 3 -p "$CUTOUT_PANEL"
    expect_match "$status:$output" "^2:cutout: set: --for 3: expected a unit"
    run cutout set near auto --for 3s -p "$CUTOUT_PANEL"
    expect "$status:${lines[0]}" "2:cutout: set: auto has no --for"
    run cutout set near --all off -p "$CUTOUT_PANEL"
    expect "$status" 2 "exit status"
    run cutout set off
    expect "$status:${lines[0]}" "2:cutout: set: open, off, observe, enforce or auto?"
    run cutout set
    expect "$status" 2 "exit status"
}

several_panels() {
    CUTOUT_PANEL=one guarded curl -s -o /dev/null "http://127.0.0.1:$1/"
    CUTOUT_PANEL=two guarded curl -s -o /dev/null "http://127.0.0.1:$1/"
    run cutout set default off
    expect "$status" 1 "exit status"
    expect "$output" $'cutout: set: several panels know default, name one:\n  -p root/one\n  -p root/two'
    run cutout set --all off
    expect "$output" $'cutout: set: there are several panels, name one:\n  -p root/one\n  -p root/two'
    cutout set default off -p root/two >set.out
    expect "$(CUTOUT_PANEL='' cutout status --json | jq -c '[.panels[].breakers[0].override.to]')" '[null,"off"]'
    local name
    for name in one two; do
        cutout panels --remove "$name"
    done
}

@test "of several panels that know a name one must be named" {
    start_server
    export SHIM
    in_own_ipc several_panels "$PORT"
}

@test "reset closes a breaker and empties its window" {
    rules $'[default]\nopen_for = 10m'
    start_server
    trip
    run cutout reset "$(here)" -p "$CUTOUT_PANEL"
    expect "$status:$output" "0:1 breaker reset"
    expect_state "$(here)" closed
    expect_breaker "$(here)" '"\(.window.calls) \(.total.errors)"' "0 5"
    expect "$(causes "$(here)")" "closed>open:consecutive_errors open>closed:operator"
    expect "$(fetch_status "$PORT")" 0
    run cutout reset -p "$CUTOUT_PANEL"
    expect "$status" 2 "exit status"
    run cutout reset nowhere -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    run cutout reset --all -p "$CUTOUT_PANEL"
    expect "$status:$output" "0:1 breaker reset"
}

@test "reload puts a changed file into force in running programs at once" {
    rules $'[default]\nopen_for = 10m'
    start_server
    steer_workers 2
    trip
    round_is ECONNREFUSED
    rules $'[default]\nopen_for = 10m\nmode = observe'
    run cutout reload -p "$CUTOUT_PANEL"
    expect "$status:$output" "0:rules $PWD/cutout.rules: in force; 3 processes attached to panel $CUTOUT_PANEL"
    round_is ok
    expect_state "$(here)" open
    run cutout reload -p "$CUTOUT_PANEL"
    expect_match "$output" "in force already, unchanged; 3 processes"
}

@test "a bad file changes nothing, and reload names each error by line and column" {
    rules $'[default]\nopen_for = 10m'
    start_server
    trip
    rules $'[default]\nopen_for = 10 m\nmode = perhaps'
    run cutout reload -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    expect_match "${lines[0]}" "^cutout: $PWD/cutout.rules:2:12: "
    expect_match "${lines[1]}" "^cutout: $PWD/cutout.rules:3:8: "
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    expect "$(jq -r '.panels[0].rules | "\(.ok) \(.error | test("cutout.rules:2:12"))"' status.json)" "false true"
    expect_breaker "$(here)" .thresholds.open_for_ms 600000
    expect "$(fetch_status "$PORT")" 7
    run cutout events -p "$CUTOUT_PANEL"
    expect_match "$output" "rules_refused"
}

@test "reload -r gives the panel another file; a bad one leaves it its own" {
    rules $'[default]\nopen_for = 10m'
    start_server
    trip
    printf '[default]\nmode = perhaps\n' >other.rules
    run cutout reload -p "$CUTOUT_PANEL" -r other.rules
    expect "$status" 1 "exit status"
    expect_match "${lines[0]}" "^cutout: other.rules:2:8: |^cutout: $PWD/other.rules:2:8: "
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    expect "$(jq -r '.panels[0].rules | "\(.file) \(.ok)"' status.json)" "$PWD/cutout.rules true"
    printf '[default]\nmode = observe\n' >other.rules
    run cutout reload -p "$CUTOUT_PANEL" -r ./other.rules
    expect "$status:$output" "0:rules $PWD/other.rules: in force; 0 processes attached to panel $CUTOUT_PANEL"
    rules_file "$PWD/other.rules"
    expect "$(fetch_status "$PORT")" 0
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    expect "$(jq -r '.panels[0].rules.file' status.json)" "$PWD/other.rules"
}

@test "a panel without a rules file is given one by -r alone" {
    start_server
    fetch "$PORT"
    run cutout reload -p "$CUTOUT_PANEL"
    expect "$status:$output" \
        "1:cutout: reload: panel $CUTOUT_PANEL has no rules file; give it one with -r FILE"
    printf '[near]\nmatch = 127.0.0.0/8\n' >near.rules
    cutout reload -p "$CUTOUT_PANEL" -r near.rules >reload.out
    fetch "$PORT"
    expect "$(breakers 'select(.rule == "near") | .total.calls')" 1
}

round_may_be() {
    round
    [[ $ROUND == "$1" ]]
}

@test "a running program notices a changed file by itself within 3 s, also by the flip of a symbolic link" {
    mkdir first second
    printf '[default]\nopen_for = 10m\n' >first/c.rules
    printf '[default]\nopen_for = 10m\nmode = observe\n' >second/c.rules
    ln -s first data
    rules_file "$PWD/data/c.rules"
    start_server
    steer_workers 1
    trip
    round_is ECONNREFUSED
    ln -s second data.new
    mv -T data.new data
    retry_until 3 round_may_be ok
    expect_state "$(here)" open
    printf '[default]\nopen_for = 10m\n' >c.new
    mv c.new second/c.rules
    retry_until 3 round_may_be ECONNREFUSED
    printf '[default]\nopen_for = ever\n' >c.new
    mv c.new second/c.rules
    retry_until 4 file_is_refused
    round_is ECONNREFUSED
}

file_is_refused() {
    round
    "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL" --json | jq -e '.panels[0].rules.ok == false'
}

@test "latencies are those of the server, within 10 %" {
    start_server
    steer_workers 2
    server answer 50
    local i
    for ((i = 0; i < 10; i++)); do
        round_is ok
    done
    expect_breaker "$(here)" '.latency_ms | .p50 > 45 and .p50 < 56 and .p90 > 45 and .p99 <= .max' true
    run cutout status "$(here)" -p "$CUTOUT_PANEL"
    expect_match "$output" $'\nlatency +p50 [45][0-9][.][0-9]ms, p90 [4-9][0-9][.][0-9]ms, p99 [0-9.]+ms, max [0-9.]+ms'
}

# A panel of this name in a layout that is not ours.
other_layout() {
    mkfifo other.in
    exec {OTHER}<>other.in
    # shellcheck disable=SC2016  # expanded by the inner shell
    background bash -c 'eval "exec $1>&-"; exec /usr/bin/python3 "$2" "$3" <other.in >other.out' \
        other "$OTHER" "$PROGRAMS/other_layout.py" "$CUTOUT_PANEL"
    retry_until 10 grep -q . other.out
}

@test "processes of another version of cutout are not reached, and set says so" {
    start_server
    fetch "$PORT"
    other_layout
    run cutout set --all off -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    expect_match "$output" "cutout: set: not reached: the processes of 1 panel of that name that another version"
    expect "$(breaker "$(here)" .override.to)" off
    run cutout status -p "$CUTOUT_PANEL"
    exec {OTHER}>&-
    wait "$STARTED_PID"
    expect_match "$output" $'\n1 panel of this name made by another version of cutout'
}

users_panel() {
    CUTOUT_PANEL=theirs as_nobody "${LIMIT[@]}" env LD_PRELOAD="$SHIM" curl -s -o /dev/null "http://127.0.0.1:$1/"
    printf 'secret\n' >secret.rules
    chmod 600 secret.rules
    run cutout reload -p nobody/theirs -r "$PWD/secret.rules"
    expect "$status:$output" "1:cutout: $PWD/secret.rules: Permission denied"
    printf '[default]\nmode = observe\n' >secret.rules
    chmod 644 secret.rules
    run cutout reload -p nobody/theirs -r "$PWD/secret.rules"
    expect "$status" 0 "exit status"
    expect_match "$output" "secret.rules: in force; 0 processes"
    run cutout set --all open -p nobody/theirs
    expect "$status" 0 "exit status"
    CUTOUT_PANEL=mine guarded curl -s -o /dev/null "http://127.0.0.1:$1/"
    run as_nobody "$CUTOUT" set --all off -p mine
    expect "$status:$output" "1:cutout: there is no panel mine"
    run cutout panels --remove nobody/theirs
    run cutout panels --remove mine
}

@test "root steers a user's panel, and reads its rules with the user's rights; others steer nobody else's" {
    start_server
    export SHIM BATS_RUN_TMPDIR
    in_own_ipc users_panel "$PORT"
}
