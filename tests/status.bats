#!/usr/bin/env bats
# What cutout status and cutout events show of a panel.
# shellcheck disable=SC2030,SC2031  # a test's variables are its own

load helpers
load panel_fixture

setup_file() {
    # The window of a filled panel reaches back from now: what is shown must not slip out of it meanwhile.
    printf '%s\n' '[default]' 'window = 10m' 'open_jitter = 0%' \
        '[payments]' 'match = 10.1.0.0/16' 'slow_call = 700ms' 'slow_ratio = 80%' \
        '[observed]' 'match = 10.2.0.0/16' 'mode = observe' \
        '[steady]' 'match = 10.3.0.0/16' 'gate = connect' 'error_ratio = off' 'consecutive_errors = off' \
        >"$BATS_FILE_TMPDIR/shop.rules"
}

# valid SCHEMA: standard input is as the schema says.
valid() {
    "${LIMIT[@]}" python3 "$PROGRAMS/json_schema.py" "$BATS_TEST_DIRNAME/$1.schema.json"
}

# fill_shop: a panel with breakers in every state that can be shown.
fill_shop() {
    rules_file "$BATS_FILE_TMPDIR/shop.rules"
    fill_panel <<'END'
make default tcp://127.0.0.1:45123
call refused 1 7 connect
make payments tcp://10.1.0.5:8443 payments.internal:8443
call success 20 2
call success 800 8
call timeout 1000 2
protocol http
make payments tcp://10.1.0.6:8443 payments.internal:8443
call success 20 2
make observed tcp://10.2.0.5:80
call reset 1 20
make steady tcp://10.3.0.1:80
call success 1500 4
make default tcp://10.9.0.1:80
call success 1500 30
make gone unix:///run/x.sock
call success 1 3
make default dns://db.example
call dns 1 2
event attached
END
}

@test "the table shows each breaker in 80 columns, what is not closed first" {
    fill_shop
    run cutout status -p "$CUTOUT_PANEL"
    expect "$status" 0 "exit status"
    expect_match "${lines[0]}" "^panel $CUTOUT_PANEL of root, shared, 1 process attached$"
    expect_match "${lines[1]}" "^rules $BATS_FILE_TMPDIR/shop.rules: in force since 20.*Z$"
    expect_match "${lines[2]}" "^DESTINATION +STATE +FOR +CALLS +ERR +SLOW +REJECTED +PROBE$"
    expect_match "${lines[3]}" "^tcp://127.0.0.1:45123 open \(connect\) +[0-9.]+s +5 +100% not judged +2 +([0-9.]+s|due)$"
    expect_match "$output" "tcp://10.1.0.5:8443 +open +[0-9.]+s +10 +0.0% +80.0% +2 "
    expect_match "$output" $'\n  payments.internal:8443, rule payments\n'
    expect_match "$output" $'\n  rule observed, mode observe, would have rejected 15\n'
    expect_match "$output" "tcp://10.9.0.1:80 +closed +- +30 +0.0% not judged +0 +-"
    expect_match "$output" $'\n  30 of 30 calls slow \(over 1s\), not judged: no rule writes slow_call\n'
    expect_match "$output" "rule gone, which is not in force any more"
    [[ $output == *open*closed* && $output != *" closed "*" open "* ]] || fail "not in order" "$output"
    run awk 'NR > 3 && length($0) > 80' <<<"$output"
    expect "$output" "" "lines over 80 columns"
}

@test "a destination that is too long for its column has a line of its own" {
    fill_panel <<'END'
make default tcp://[2001:db8:1111:2222:3333:4444:5555:6666]:65535
call success 1
END
    run cutout status -p "$CUTOUT_PANEL"
    expect "${lines[3]}" "tcp://[2001:db8:1111:2222:3333:4444:5555:6666]:65535"
    expect_match "${lines[4]}" "^ {21} closed .* 1  0.0% "
}

@test "status --json is as its schema says, and has no member that nothing stands behind" {
    fill_shop
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    expect "$(wc -l <status.json)" 1 "lines"
    run valid status <status.json
    expect "$output" "" "faults"
    expect_breaker tcp://127.0.0.1:45123 '.state, .gate, .name, .protocol, .mode' $'open\nconnect\nnull\nnull\nenforce'
    expect_breaker tcp://127.0.0.1:45123 '.window | .calls, .errors, .error_ratio' $'5\n5\n1'
    expect_breaker tcp://127.0.0.1:45123 '.errors | .refused, .timeout' $'5\n0'
    expect_breaker tcp://127.0.0.1:45123 '.retry_in_ms >= 0 and .retry_in_ms <= 10000' true
    expect_breaker tcp://10.1.0.5:8443 '.name, .protocol, .gate, .rule' $'payments.internal:8443\nhttp\nrequest\npayments'
    expect_breaker tcp://10.1.0.5:8443 '.window.slow_ratio, .thresholds.slow_ratio, .thresholds.slow_call_ms' \
        $'0.8\n0.8\n700'
    expect_breaker tcp://10.2.0.5:80 '.mode, .total.rejected, .total.would_reject' $'observe\n0\n15'
    expect_breaker tcp://10.3.0.1:80 '.gate, .state, .since, .retry_in_ms' $'connect\nclosed\nnull\nnull'
    expect_breaker tcp://10.3.0.1:80 '.thresholds | .error_ratio, .consecutive_errors, .slow_ratio' $'null\nnull\nnull'
    expect_breaker unix:///run/x.sock 'has("thresholds"), has("mode")' $'false\nfalse'
    expect_breaker dns://db.example '.window | .calls, .errors' $'2\n2'
    expect "$(jq -r '.panels[0].processes[0] | .program, .mode' status.json)" \
        "$BUILD/tests/shim_panel_fixture"$'\nenforce'
}

@test "a ratio is cut, never rounded up to a threshold that it has not reached" {
    fill_panel <<'END'
make default tcp://10.9.0.2:80
call timeout 1 1
call success 1 1
call timeout 1 1
call success 1 4
END
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    expect_breaker tcp://10.9.0.2:80 .window.error_ratio 0.285
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "$output" " 7 +28.5% "
}

@test "NAME shows one breaker in full, each threshold beside its value now" {
    fill_shop
    run cutout status tcp://10.1.0.5:8443 -p "$CUTOUT_PANEL"
    expect "$status" 0 "exit status"
    expect_match "$output" "destination +tcp://10.1.0.5:8443"$'\n'"name +payments.internal:8443"
    expect_match "$output" "rule +payments, mode enforce, gate request"
    expect_match "$output" "min_calls +10  10"
    expect_match "$output" "error_ratio +0.0%  50%"
    expect_match "$output" "consecutive_errors +0  5"
    expect_match "$output" "slow_call +8  over 700ms"
    expect_match "$output" "slow_ratio +80.0%  80%"
    expect_match "$output" "min_slow_calls +8  1"
    run cutout status 127.0.0.1:45123 -p "$CUTOUT_PANEL"
    expect_match "$output" "state +open \(connect\) for .*, next probe "
    expect_match "$output" "consecutive_errors +5  5"
    expect_match "$output" "over 1s, not judged: no rule writes slow_call"
    run cutout status db.example -p "$CUTOUT_PANEL"
    expect_match "$output" "destination +dns://db.example"
}

@test "NAME is a rule, a destination or a host name; what it does not mean is not shown" {
    local name
    fill_shop
    for name in payments payments.internal PAYMENTS.internal:8443; do
        run cutout status "$name" -p "$CUTOUT_PANEL"
        expect "$status" 0 "exit status"
        expect "$(grep -o '^tcp://[^ ]*' <<<"$output" | sort | tr '\n' ' ')" \
            "tcp://10.1.0.5:8443 tcp://10.1.0.6:8443 " "$name"
    done
    expect "$(cutout status observed --json -p "$CUTOUT_PANEL" | jq -c '[.panels[].breakers[].destination]')" \
        '["tcp://10.2.0.5:80"]'
    run cutout status nobody.internal -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    expect "$output" "cutout: no rule, destination or host name is nobody.internal"
}

@test "where there is nothing to show, status says so and exits 1" {
    nothing() {
        local status=0
        cutout status >out 2>err || status=$?
        expect "$status" 1 "exit status"
        expect "$(cat out)" ""
        expect_match "$(cat err)" "^cutout: there is no panel: no program has run under cutout"
        status=0
        cutout status --json >out 2>err || status=$?
        expect "$status" 1 "exit status"
        expect "$(jq -c .panels out)" "[]"
    }
    in_own_ipc nothing
    run cutout status -p no-such-panel
    expect "$status" 1 "exit status"
    expect "$output" "cutout: there is no panel no-such-panel"
    fill_panel </dev/null
    run cutout status -p "$CUTOUT_PANEL"
    expect "$status" 0 "exit status"
    expect "${lines[2]}" "no destination has been called yet"
}

@test "processes are those that live, each with its mode and the rules it named in vain" {
    rules_file "$BATS_FILE_TMPDIR/shop.rules"
    fill_panel </dev/null
    first=$STARTED_PID
    rules ''
    CUTOUT_MODE=observe fill_panel </dev/null
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    valid status <status.json
    expect "$(jq -c '[.panels[0].processes[] | [.pid, .mode, .rules_named]] | sort' status.json)" \
        "$(jq -nc "[[$first, \"enforce\", null], [$STARTED_PID, \"observe\", \"$PWD/cutout.rules\"]] | sort")"
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "${lines[0]}" "2 processes attached"
    expect_match "$output" "pid $STARTED_PID \(.*/shim_panel_fixture\) names other rules, $PWD/cutout.rules"
    expect_match "$output" "pid $STARTED_PID \(.*/shim_panel_fixture\) runs in mode observe"
    kill -KILL "$STARTED_PID"
    wait "$STARTED_PID" || true
    expect "$(cutout status -p "$CUTOUT_PANEL" --json | jq -c '[.panels[0].processes[].pid]')" "[$first]"
}

@test "what is refused is shown as refused, and that nothing is rejected meanwhile" {
    rules '[payments'
    fill_panel </dev/null
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "$output" "rules $PWD/cutout.rules: refused, nothing is rejected until it is put right"
    expect_match "$output" $'\n'"  $PWD/cutout.rules:1:[0-9]+: "
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    valid status <status.json
    expect "$(jq -r '.panels[0] | .rules.ok, .processes[0].mode' status.json)" $'false\nobserve'
}

@test "names from outside cannot write to the terminal" {
    CUTOUT_PANEL+=$'\e[2J'
    fill_panel <<END
make default tcp://10.9.0.3:80 $(printf 'evil\e]0;owned\a\xff.example:80')
call refused 1 5 connect
make default unix:///tmp/$(printf '\e[31m')x
END
    for command in "status" "status 10.9.0.3:80" "events" "panels" "status --json" "events --json"; do
        # shellcheck disable=SC2086  # words of the command
        cutout $command >out
        expect "$(LC_ALL=C grep -c '[^[:print:]]' out || true)" 0 "lines with control characters of $command"
    done
    cutout status -p "$CUTOUT_PANEL" >out
    grep -qF 'evil\x1b]0;owned\x07\xff.example:80' out
    expect "$(cutout status -p "$CUTOUT_PANEL" --json | jq '.panels[0].panel')" "\"${CUTOUT_PANEL%$'\e'*}\\u001b[2J\""
    cutout status -p "$CUTOUT_PANEL" --json | valid status
    cutout panels --remove "$CUTOUT_PANEL" >out
    expect "$(LC_ALL=C grep -c '[^[:print:]]' out || true)" 0 "lines with control characters"
}

@test "colour is for terminals, and only where NO_COLOR is not set" {
    fill_panel <<'END'
make default tcp://10.9.0.3:80
END
    coloured() {
        "${LIMIT[@]}" script -qec "$CUTOUT status -p $CUTOUT_PANEL" /dev/null </dev/null | grep -c $'\e' || true
    }
    expect "$(NO_COLOR='' coloured)" 1 "coloured lines"
    expect "$(NO_COLOR=1 coloured)" 0 "coloured lines"
    expect "$(cutout status -p "$CUTOUT_PANEL" | grep -c $'\e' || true)" 0 "coloured lines"
}

@test "a user sees panels of his own, root sees all; USER/NAME names one" {
    cp "$BUILD/tests/shim_panel_fixture" "$CUTOUT" .
    as_nobody ./shim_panel_fixture <<<"make default tcp://10.9.0.4:80"
    fill_panel <<'END'
make default tcp://10.9.0.5:80
END
    destinations() {
        jq -c '[.panels[] | select(.panel == env.CUTOUT_PANEL) | .user, .breakers[].destination]'
    }
    expect "$(as_nobody ./cutout status --json | destinations)" '["nobody","tcp://10.9.0.4:80"]'
    expect "$(cutout status --json | destinations)" '["nobody","tcp://10.9.0.4:80","root","tcp://10.9.0.5:80"]'
    expect "$(cutout status --json -p "nobody/$CUTOUT_PANEL" | destinations)" '["nobody","tcp://10.9.0.4:80"]'
    run as_nobody ./cutout status -p "root/$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    run cutout panels --remove "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    expect_match "$output" "more than one panel .*nobody/$CUTOUT_PANEL.*root/$CUTOUT_PANEL"
    run as_nobody ./cutout panels --remove "$CUTOUT_PANEL"
    expect "$output" "removed $CUTOUT_PANEL of nobody"
}

@test "a group's panel is shown to its members, and named by CUTOUT_GROUP" {
    CUTOUT_GROUP=2 fill_panel <<'END'
make default tcp://10.9.0.6:80
END
    fill_panel <<'END'
make default tcp://10.9.0.7:80
END
    cp "$CUTOUT" .
    chmod o+x "$BATS_RUN_TMPDIR"
    run setpriv --reuid=65534 --regid=65534 --groups=2 ./cutout status -p "$CUTOUT_PANEL"
    expect_match "${lines[0]}" "^panel $CUTOUT_PANEL of the group bin \(made by root\), shared, 1 process attached"
    run as_nobody ./cutout status -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
    expect "$(CUTOUT_GROUP=bin cutout status -p "$CUTOUT_PANEL" --json | jq -c '[.panels[].breakers[].destination]')" \
        '["tcp://10.9.0.6:80"]'
    cutout status -p "$CUTOUT_PANEL" --json | valid status
    CUTOUT_GROUP=bin cutout panels --remove "$CUTOUT_PANEL"
    expect "$(cutout status -p "$CUTOUT_PANEL" --json | jq -c '[.panels[].breakers[].destination]')" '["tcp://10.9.0.7:80"]'
}

@test "events are told oldest first, each with its cause" {
    fill_shop
    run cutout events -p "$CUTOUT_PANEL"
    expect "$status" 0 "exit status"
    local time='20[0-9-]{8}T[0-9:]{8}\.[0-9]{3}Z'
    expect_match "$output" "$time default tcp://127.0.0.1:45123 closed -> open \(consecutive_errors 5 >= 5, 5 of 5 calls in 10m: refused 5; connects only; next probe in 10s\)"
    expect_match "$output" "$time payments tcp://10.1.0.5:8443 closed -> open \(slow_ratio 80.0% >= 80%, 8 of 10 calls in 10m; next probe in 10s\)"
    expect_match "$output" "$time rules_loaded $BATS_FILE_TMPDIR/shop.rules \(pid $STARTED_PID\)"
    expect_match "$output" "$time attached \(pid $STARTED_PID\)"
    cutout events -p "$CUTOUT_PANEL" --json >events.json
    run valid event <events.json
    expect "$output" "" "faults"
    expect "$(jq -s 'map(.at) == (map(.at) | sort)' events.json)" true "in order"
    expect_reasons tcp://127.0.0.1:45123 "refused 5"
    expect "$(jq -c 'select(.cause == "consecutive_errors" and .rule == "default") |
        [.calls, .error_ratio, .consecutive_errors, .threshold, .gate, .retry_in_ms, .pid]' events.json)" \
        "[5,1,5,5,\"connect\",10000,$STARTED_PID]"
}

@test "an error_ratio trip and probes are told with their numbers" {
    rules '[default]
consecutive_errors = off
open_for = 100ms
open_jitter = 0%
probes = 1'
    fill_panel <<'END'
make default tcp://10.9.0.8:80
call success 1 4
call timeout 1 6
call success 1 1
END
    cutout events -p "$CUTOUT_PANEL" >out
    grep -qF 'closed -> open (error_ratio 60.0% >= 50%, 6 of 10 calls in 10s: timeout 6; next probe in 100ms)' out
    grep -qF 'open -> half_open (open_for)' out
    grep -qF 'half_open -> closed (probes_passed)' out
    expect "$(causes tcp://10.9.0.8:80)" \
        "closed>open:error_ratio open>half_open:open_for half_open>closed:probes_passed"
    expect "$(jq -c 'select(.cause == "error_ratio") | [.error_ratio, .threshold, .reasons]' events.json)" \
        '[0.6,0.5,{"timeout":6}]'
    expect "$(jq -c 'select(.cause == "probes_passed") | [.threshold, .reasons, .retry_in_ms]' events.json)" \
        '[null,{},null]'
    valid event <events.json
}

@test "events of several panels say whose they are" {
    both() {
        fill_panel <<<"event table_full"
        CUTOUT_PANEL=other fill_panel <<<"event table_full"
        cutout events >out
        expect "$(grep -c 'table_full (pid [0-9]*) \[root/' out)" 2 "lines"
    }
    in_own_ipc both
}

@test "output that cannot be written is a failure" {
    local command
    fill_shop
    for command in "status" "status --json" "events" "events --json" "panels" "--help" "run --help"; do
        # shellcheck disable=SC2086  # words of the command
        run bash -c '"$0" "$@" >/dev/full' "$CUTOUT" $command
        expect "$status" 1 "exit status of $command"
        expect "$output" "cutout: cannot write the output: No space left on device"
    done
}

@test "a panel that was scribbled over does not make the command stumble" {
    local seed
    for seed in 1 2 3 4 5; do
        fill_panel <<<"scribble $seed"
        run cutout status -p "$CUTOUT_PANEL"
        expect "$status" 0 "exit status"
        cutout status -p "$CUTOUT_PANEL" --json | jq . >/dev/null
        cutout events -p "$CUTOUT_PANEL" >/dev/null
        cutout events -p "$CUTOUT_PANEL" --json | jq . >/dev/null
        cutout panels >/dev/null
        cutout panels --remove "$CUTOUT_PANEL" >/dev/null
        end_panel
    done
}
