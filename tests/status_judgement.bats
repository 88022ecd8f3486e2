#!/usr/bin/env bats
# What cutout status and cutout events show of calls that hang, limits, shared breakers and an operator's word.
# shellcheck disable=SC2030,SC2031  # a test's variables are its own

load helpers
load panel_fixture

# valid SCHEMA: standard input is as the schema says.
valid() {
    "${LIMIT[@]}" python3 "$PROGRAMS/json_schema.py" "$BATS_TEST_DIRNAME/$1.schema.json"
}

# fill_rules: a panel under these rules, filled by standard input.
fill_rules() {
    printf '%s\n' '[default]' 'window = 10m' 'open_jitter = 0%' \
        '[hung]' 'match = 10.1.0.0/16' 'slow_call = 30s' 'slow_ratio = 80%' \
        '[counted]' 'match = 10.2.0.0/16' 'error_ratio = off' 'consecutive_errors = off' 'error_count = 3' \
        '[named]' 'match = pay.internal:443' 'scope = name' 'max_in_flight = 40' \
        '[together]' 'match = 10.4.0.0/16' 'scope = rule' 'open_backoff = 1.5' 'open_for = 20s' 'open_max = 1h' \
        'open_jitter = 25%' 'forget_after = 2h' \
        '[capped]' 'match = 10.5.0.0/16' 'max_open = 50%' \
        '[quiet]' 'match = 10.6.0.0/16' 'slow_call = 50ms' 'warmup = 15m' 'slow_exempt = 00:00-23:59, 23:00-01:00 -03:30' \
        >judged.rules
    rules_file "$PWD/judged.rules"
    fill_panel
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    valid status <status.json
}

@test "calls under way are counted in flight, and those that hang as overdue and slow" {
    fill_rules <<'END'
make hung tcp://10.1.0.1:80
call success 1 6
call success 31000 2
flight 10 2
flight 60000 3
make default tcp://10.9.0.1:80
call success 1 1
flight 60000 4
make hung tcp://10.1.0.2:80
flight 60000 1
END
    expect_breaker tcp://10.1.0.1:80 '.state, .in_flight' $'closed\n5'
    expect_breaker tcp://10.1.0.1:80 '.window | .calls, .slow, .overdue, .slow_ratio' $'8\n2\n3\n0.454'
    # Not judged, and shown all the same.
    expect_breaker tcp://10.9.0.1:80 '.window | .calls, .slow, .overdue, .slow_ratio' $'1\n0\n4\n0.8'
    # What has never answered is not waited for in vain.
    expect_breaker tcp://10.1.0.2:80 '.in_flight, .window.overdue' $'1\n0'
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "$output" "tcp://10.1.0.1:80 +closed +- +8 +0.0% +45.4% "
    expect_match "$output" $'\n  3 calls hang: no answer for more than 30s\n'
    expect_match "$output" $'\n  4 of 5 calls slow \\(over 1s\\), not judged: no rule writes slow_call\n  4 calls hang: no answer for more than 1s\n'
    run cutout status 10.1.0.1:80 -p "$CUTOUT_PANEL"
    expect_match "$output" "slow_call +5  over 30s"$'\n'" +overdue of them +3  no answer yet"$'\n'" +slow_ratio +45.4%  80%"
    expect_match "$output" "max_in_flight +5  off"
}

@test "calls of a process that is gone are not under way any more" {
    fill_rules <<'END'
make hung tcp://10.1.0.1:80
call success 1 1
flight 60000 3
END
    expect_breaker tcp://10.1.0.1:80 '.in_flight, .window.overdue' $'3\n3'
    kill -KILL "$STARTED_PID"
    wait "$STARTED_PID" || true
    cutout status -p "$CUTOUT_PANEL" --json >status.json
    expect_breaker tcp://10.1.0.1:80 '.in_flight, .window.overdue' $'0\n0'
}

@test "a trip by calls that hang says how many, in its event and while the breaker is open" {
    fill_rules <<'END'
make hung tcp://10.1.0.1:80
call success 1 2
flight 60000 8
call success 1 1
END
    expect_breaker tcp://10.1.0.1:80 '.state, .window.calls, .window.overdue, .window.slow_ratio' $'open\n2\n8\n0.8'
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "$output" $'\n  8 calls hung when it opened: no answer for more than 30s'
    cutout events -p "$CUTOUT_PANEL" >out
    grep -qF 'hung tcp://10.1.0.1:80 closed -> open (slow_ratio 80.0% >= 80%, 8 of 10 calls in 10m, 8 of them hang; next probe in 10s)' out
    cutout events -p "$CUTOUT_PANEL" --json >events.json
    valid event <events.json
    expect "$(jq -c 'select(.cause == "slow_ratio") | [.calls, .slow, .overdue, .slow_ratio, .threshold]' events.json)" \
        '[2,0,8,0.8,0.8]'
}

@test "a trip by error_count is told with its numbers" {
    fill_rules <<'END'
make counted tcp://10.2.0.1:80
call success 1 20
call refused 1 3
END
    expect_breaker tcp://10.2.0.1:80 '.state, .thresholds.error_count, .thresholds.error_ratio' $'open\n3\nnull'
    cutout events -p "$CUTOUT_PANEL" >out
    grep -qF 'counted tcp://10.2.0.1:80 closed -> open (error_count 3 >= 3, 3 of 23 calls in 10m: refused 3; next probe in 10s)' out
    cutout events -p "$CUTOUT_PANEL" --json >events.json
    valid event <events.json
    expect "$(jq -c 'select(.cause == "error_count") | [.errors, .threshold]' events.json)" '[3,3]'
    run cutout status counted -p "$CUTOUT_PANEL"
    expect_match "$output" "error_count +3  3"
}

@test "a breaker of a name or of a whole rule is shown as such, and found by either" {
    fill_rules <<'END'
make named tcp://pay.internal:443 pay.internal:443
call success 1 2
flight 10 3
make together *
call success 1 2
END
    expect_breaker tcp://pay.internal:443 '.rule, .scope, .name, .in_flight' $'named\nname\npay.internal:443\n3'
    expect_breaker '*' '.rule, .scope, .name' $'together\nrule\nnull'
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "$output" $'\n\\* +closed '
    run cutout status pay.internal -p "$CUTOUT_PANEL"
    expect "$status" 0 "exit status"
    expect_match "$output" "rule +named, mode enforce, gate request, scope name"
    expect_match "$output" "max_in_flight +3  40"
    run cutout status together -p "$CUTOUT_PANEL"
    expect_match "$output" "^destination  \*"$'\n'
    expect_match "$output" "open_for 20s, open_backoff 1.5 up to open_max 1h, open_jitter 25%,"$'\n'" +then probes 3, probe_timeout 5s, forget_after 2h"
}

@test "what an operator has said, what max_open forbade and what was forgotten is told" {
    fill_rules <<'END'
make default tcp://10.9.0.1:80
force open
call success 1 2
make default tcp://10.9.0.2:80
force off
call refused 1 20
make default tcp://10.9.0.3:80
force off
force auto
make capped tcp://10.5.0.1:80
call refused 1 20
event forgotten
END
    expect_breaker tcp://10.9.0.1:80 '.state, .total.rejected, .retry_in_ms' $'forced_open\n2\nnull'
    expect_breaker tcp://10.9.0.2:80 '.state, .window.errors' $'disabled\n20'
    expect_breaker tcp://10.9.0.3:80 '.state' closed
    expect_breaker tcp://10.5.0.1:80 '.state, .window.errors, .thresholds.max_open' $'closed\n20\n0.5'
    run cutout status -p "$CUTOUT_PANEL"
    expect_match "$output" "tcp://10.9.0.1:80 +forced_open .* -"
    expect_match "$output" "tcp://10.9.0.2:80 +disabled "
    run awk 'NR > 3 && length($0) > 80' <<<"$output"
    expect "$output" "" "lines over 80 columns"
    run cutout status capped -p "$CUTOUT_PANEL"
    expect_match "$output" ", max_open 50%,"
    cutout events -p "$CUTOUT_PANEL" >out
    grep -qF 'default tcp://10.9.0.1:80 closed -> forced_open (operator)' out
    grep -qF 'default tcp://10.9.0.2:80 closed -> disabled (operator)' out
    grep -qF 'default tcp://10.9.0.3:80 disabled -> closed (operator)' out
    grep -qF 'capped tcp://10.5.0.1:80 closed -> closed (capped)' out
    grep -qF 'capped tcp://10.5.0.1:80 open -> closed (forgotten)' out
    cutout events -p "$CUTOUT_PANEL" --json >events.json
    valid event <events.json
    expect "$(jq -r 'select(.from) | .cause' events.json | sort -u | tr '\n' ' ')" "capped forgotten operator "
}

@test "times in which slow calls do not trip are shown, with what holds now" {
    fill_rules <<'END'
make quiet tcp://10.6.0.1:80
call success 100 20
END
    expect_breaker tcp://10.6.0.1:80 '.state, .window.slow_ratio' $'closed\n1'
    expect_breaker tcp://10.6.0.1:80 '.thresholds | .warmup_ms, .slow_exempt' \
        $'900000\n00:00-23:59, 23:00-01:00 -03:30'
    run cutout status quiet -p "$CUTOUT_PANEL"
    expect_match "$output" "warmup +1[0-9]m  15m"
    expect_match "$output" "slow_exempt +(not )?now  00:00-23:59, 23:00-01:00 -03:30"
}

@test "every threshold is in the JSON, a limit that is off as null" {
    fill_rules <<'END'
make default tcp://10.9.0.1:80
make together *
END
    expect_breaker tcp://10.9.0.1:80 '.thresholds | tojson' '{"window_ms":600000,"buckets":10,"min_calls":10,"error_ratio":0.5,"error_count":null,"consecutive_errors":5,"slow_call_ms":1000,"slow_ratio":null,"min_slow_calls":1,"warmup_ms":0,"slow_exempt":null,"max_open":1,"open_for_ms":10000,"open_backoff":1,"open_max_ms":300000,"open_jitter":0,"probes":3,"probe_timeout_ms":5000,"forget_after_ms":3600000,"max_in_flight":null}'
    expect_breaker '*' '.thresholds | .open_backoff, .open_max_ms, .open_jitter, .forget_after_ms' $'1.5\n3600000\n0.25\n7200000'
    expect_breaker '*' '.total.busy' 0
}
