#!/usr/bin/env bats
# shellcheck shell=bash
# shellcheck disable=SC2154  # stderr is set by run
# cutout replay: the engine over a trace, in the trace's time.

bats_require_minimum_version 1.5.0
load helpers

RULES=$BATS_TEST_DIRNAME/../rules
CASES=$BATS_TEST_DIRNAME/cases

# replay [OPTION...] TRACE: within the time limit.
replay() {
    "${LIMIT[@]}" "$CUTOUT" replay "$@"
}

# programs PROGRAM CASE...: runs the cases of a test program.
programs() {
    local program=$BUILD/tests/$1 name
    for name in "${@:2}"; do
        "${LIMIT[@]}" "$program" "$name" || fail "$program $name"
    done
}

# trace LINE...: a trace of those lines, with tcp://10.0.0.5:443 for HERE.
trace() {
    printf '%s\n' "${@//HERE/tcp://10.0.0.5:443}" >trace
}

# changes [OPTION...]: the changes of state in the file trace under cutout.rules, one a line: "1.5 closed>open:error_ratio".
changes() {
    replay --json -r cutout.rules "$@" trace | jq -r 'select(.from) | "\(.at) \(.from)>\(.to):\(.cause)"'
}

# summary FILTER [OPTION...]: jq over the summary's only breaker.
summary() {
    replay --json -r cutout.rules "${@:2}" trace | jq -r "select(.summary) | .summary[0] | $1"
}

rule() {
    rules "[case]
match = *
min_calls = 3
consecutive_errors = off
$1"
}

# --- the cases and the incidents

@test "every shared case replays with exactly the transitions and counts it names" {
    local case number=0
    for case in "$CASES"/*.rules; do
        case=${case%.rules}
        replay --json -r "$case.rules" "$case.trace" | python3 "$PROGRAMS/replay_events.py" >events
        diff "$case.events" events || fail "$(basename "$case")"
        number=$((number + 1))
    done
    ((number >= 18)) || fail "only $number cases"
}

# incident RULES TRACE FILTER: jq over the lines of a replay of rules/, all of them as one array.
incident() {
    replay --json -r "$RULES/incident-$1.rules" "$RULES/incident-$2.trace" | jq -cs "$3"
}
trips='[.[] | select(.from == "closed" and .to == "open") | .at]'

@test "a healthy payment path is strangled by a window of a second, and left alone by one of five" {
    expect "$(incident strangled-bad strangled "$trips")" \
        "[0.84,27.64,54.84,91.84,128.64,155.84,192.84,229.64,256.84,293.84]" "trips of the bad rule"
    head -n 1504 "$RULES/incident-strangled.trace" >healthy
    expect "$(replay --json -r "$RULES/incident-strangled-bad.rules" healthy |
        jq -c '.summary[0]? // empty | [.admitted, .rejected, .errors]')" "[1020,480,30]" "calls before the death"
    expect "$(incident strangled-good strangled "$trips")" "[302.801]" "trips of the good rule"
    expect "$(incident strangled-good strangled '[.[] | select(.to == "closed") | .at]')" "[333.84]"
    expect "$(incident strangled-good strangled '.[-1].summary[0] | [.admitted, .rejected]')" "[1650,150]"
}

@test "a gateway that is slow without failing is opened, probed, and closed again" {
    expect "$(incident slow-bad slow '.[-1].summary[0] | [.admitted, .rejected, .opened]')" "[435,0,0]"
    expect "$(incident slow-good slow '[.[] | select(.from) | "\(.at) \(.to) \(.cause)"]')" \
        '["19 open slow_ratio","24 half_open open_for","24.8 open probe_slow","29.809 half_open open_for","30.609 open probe_slow","35.7 half_open open_for","35.98 closed probes_passed"]'
    expect "$(incident slow-good slow '.[-1].summary[0] | [.admitted, .rejected, .slow]')" "[268,167,98]"
}

@test "observing the slow gateway shows the same transitions, and rejects nothing" {
    replay --json -r "$RULES/incident-slow-good.rules" "$RULES/incident-slow.trace" | grep from >enforced
    replay --json --observe -r "$RULES/incident-slow-good.rules" "$RULES/incident-slow.trace" >observed
    diff enforced <(grep from observed)
    expect "$(jq -c '.summary[0]? // empty | [.admitted, .rejected, .would_reject, .mode]' observed)" \
        '[435,0,167,"observe"]'
}

@test "a rule bridges a batch's stall of two seconds, and finds both outages" {
    # 02:00, 14:00, 14:03 and 18:30 of the day, in tenths of a second, and what each rule makes of them.
    expect "$(incident batch-bad batch "$trips | map((. - 1795996800) * 10 | round)")" "[72012,504012,505812,666012]"
    expect "$(incident batch-blind batch "$trips | map((. - 1795996800) * 10 | round)")" "[666012]"
    expect "$(incident batch-good batch "$trips | map((. - 1795996800) * 10 | round)")" "[505850,666050]"
}

@test "the incidents' page shows what the replays print, and their traces are as generated" {
    local line shown=0
    for name in strangled-bad strangled-good slow-good; do
        replay -r "$RULES/incident-$name.rules" "$RULES/incident-${name%-*}.trace"
    done >printed
    while read -r line; do
        grep -qxF "$line" printed || fail "the page shows: $line"
        shown=$((shown + 1))
    done < <(sed -nE 's/^    ([0-9]+\.[0-9]+ .*)/\1/p' "$RULES/incidents.md")
    ((shown > 10)) || fail "only $shown lines"
    python3 "$PROGRAMS/incident_traces.py" .
    for name in strangled slow batch; do
        cmp "incident-$name.trace" "$RULES/incident-$name.trace"
    done
}

# --- properties

@test "a million random traces: the engine does what a naive model foretells, and its promises hold" {
    local seed
    seed=$(date +%s)
    timeout 280 "$BUILD/tests/replay_properties" 1000000 "$seed" >properties ||
        fail "seed $seed" "$(cat properties)"
    # Every cause has been met, so none was left out.
    expect "$(awk 'NR > 1 && $2 < 1000 {print $1}' properties)" "" "causes hardly met"
    expect "$(wc -l <properties)" 12 "lines"
}

@test "the result does not depend on which thread makes which call" {
    local seed
    seed=$(date +%s)
    timeout 120 "$BUILD/tests/replay_threads" 1000 "$seed" || fail "seed $seed"
}

@test "hung calls count from a nanosecond after slow_call, once each, where the destination has answered" {
    programs replay_hung edge result unanswered once connect-phase other-generation
}

@test "a call that never returns costs no memory once it is overdue" {
    programs replay_hung memory
}

@test "max_open, max_in_flight and slow_exempt hold in a replay" {
    programs replay_hung capped in-flight exempt
}

# --- the trace

@test "a line of a trace means what the manual says" {
    programs replay_trace numbers words writing
}

@test "a line that is none is refused by its column, with what was found and what was expected" {
    programs replay_trace refusals targets
}

@test "a bad trace is refused whole: every bad line is named, and nothing printed" {
    rule ''
    trace '# cutout trace 1' '0.0 HERE failure:reset 1ms' '0.1 HERE failure 1ms' '' '0.2 10.0.0.5:443 success 1ms'
    run --separate-stderr replay -r cutout.rules trace
    expect "$status" 1
    expect "$output" ""
    expect "$stderr" "cutout: trace:3:24: found 'failure', expected failure:refused, timeout, reset, closed, unreachable, dns or status
cutout: trace:5:5: found '10.0.0.5:443', expected tcp://ADDRESS:PORT, udp://ADDRESS:PORT, unix:///PATH or dns://NAME"
}

@test "of many bad lines twenty are shown and the rest counted" {
    rule ''
    yes nonsense | head -n 25 >trace
    run --separate-stderr replay -r cutout.rules trace
    expect "$status" 1
    expect "${#stderr_lines[@]}" 21
    expect "${stderr_lines[20]}" "cutout: trace: and 5 more"
}

@test "a line of more than 64 KiB is refused, a long comment read" {
    rule ''
    printf '# %060000d\n0 tcp://10.0.0.5:443 success 1ms # %04000d\n' 0 0 >trace
    expect "$(summary .admitted)" 1
    printf '0 tcp://10.0.0.5:443 success 1ms # %070000d\n' 0 >trace
    run --separate-stderr replay -r cutout.rules trace
    expect "$status" 1
    expect_match "$stderr" '^cutout: trace:1:65537: .*expected lines of at most 65536 bytes$'
}

@test "a trace may lack its last line feed, come from Windows, or be empty" {
    rule ''
    printf '# cutout trace 1\r\n0 tcp://10.0.0.5:443 success 1ms\r\n1 tcp://10.0.0.5:443 success 1ms' >trace
    expect "$(summary .admitted)" 2
    : >trace
    expect "$(replay --json -r cutout.rules trace)" '{"summary":[],"not_judged":0,"lost":0}'
}

@test "an unsorted trace gives what the sorted one gives, starts at equal times in file order" {
    rule 'error_ratio = 50%'
    trace '0 HERE failure:reset 1ms' '1 HERE failure:reset 1ms' '1 HERE ignored 1ms' '2 HERE success 1ms' \
        '2 HERE failure:reset 1ms' '3 HERE success 1ms' '14 HERE success 1ms'
    replay --json -r cutout.rules trace >sorted
    { sed -n 6p trace; sed -n '2,5p;1p' trace; sed -n 7p trace; } >shuffled
    run --separate-stderr replay -v --json -r cutout.rules shuffled
    expect "$status" 0
    expect "$output" "$(cat sorted)"
    expect "$(grep ^trace <<<"$stderr")" "trace: shuffled, 7 calls to 1 breakers
trace: line 2 starts before an earlier one: sorted by start, in memory"
    expect "$(jq -r 'select(.to == "open").at' sorted)" 2.001
}

@test "standard input, a pipe or a file, is read as a file is" {
    rule ''
    trace '0 HERE failure:reset 1ms' '1 HERE failure:reset 1ms' '2 HERE failure:reset 1ms' '3 HERE success 1ms'
    replay -r cutout.rules trace >wanted
    replay -r cutout.rules - <trace | diff wanted -
    # shellcheck disable=SC2002  # a pipe is what is wanted
    cat trace | replay -r cutout.rules - | diff wanted -
    replay -r cutout.rules <(tac trace) | diff wanted -
    run --separate-stderr replay -r cutout.rules - < <(echo x)
    expect "$status" 1
    expect_match "$stderr" '^cutout: -:1:1: '
}

@test "what a recorder lost is told" {
    rule ''
    trace '0 HERE success 1ms' '# lost 40' '1 HERE success 1ms' '# lost 2'
    expect "$(replay --json -r cutout.rules trace | jq .lost)" 42
    expect "$(replay -r cutout.rules trace | tail -n 1)" "lost by the recorder: 42"
}

# --- who judges

@test "a rule judges each destination, each name, or all together, as its scope says" {
    trace '0 tcp://10.0.0.1:80 success 1ms name=Api.internal' '1 tcp://10.0.0.2:80 success 1ms name=api.internal.' \
        '2 tcp://10.0.0.2:80 success 1ms' '3 tcp://api.internal:80 success 1ms'
    for scope in destination name rule; do
        rule "scope = $scope"
        replay --json -r cutout.rules trace |
            jq -c ".summary | map(.destination, .admitted) | {$scope: .}"
    done >scopes
    expect "$(cat scopes)" '{"destination":["tcp://10.0.0.1:80",1,"tcp://10.0.0.2:80",2,"tcp://api.internal:80",1]}
{"name":["tcp://api.internal:80",3,"tcp://10.0.0.2:80",1]}
{"rule":["*",4]}'
}

@test "a recording of a rule that judges its destinations together goes to that rule" {
    rules '[one]
match = 10.0.0.1
scope = rule
[other]
match = 10.0.0.2
scope = rule'
    trace '0 * success 1ms rule=other' '1 tcp://10.0.0.2:80 success 1ms' '2 * success 1ms rule=one'
    expect "$(replay --json -r cutout.rules trace | jq -c '.summary | map(.rule, .admitted)')" '["other",2,"one",1]'
    trace '0 * success 1ms rule=third'
    run --separate-stderr replay -r cutout.rules trace
    expect "$status" 1
    expect "$stderr" "cutout: trace:1:22: found 'third', expected a rule of the rules file: '*' stands for its destinations"
}

@test "names, look-ups, datagrams and local sockets are judged by the rules that name them" {
    rules '[named]
match = *.internal
[look-ups]
match = dns://*.internal
[local]
match = unix:///run/*
[off]
match = 10.9.0.0/16
mode = off'
    trace '0 tcp://10.0.0.1:80 success 1ms name=db.internal' '0 tcp://10.0.0.1:80 success 1ms' \
        '0 dns://db.internal success 1ms' '0 dns://example.com success 1ms' '0 unix:///run/db success 1ms' \
        '0 unix:///tmp/db success 1ms' '0 udp://10.0.0.1:53 success 1ms' '0 tcp://10.9.8.7:80 success 1ms'
    replay --json -r cutout.rules trace >out
    expect "$(jq -c '.summary | map("\(.rule) \(.destination) \(.mode)")' out)" \
        '["named tcp://10.0.0.1:80 enforce","default tcp://10.0.0.1:80 enforce","look-ups dns://db.internal enforce","default dns://example.com observe","local unix:///run/db enforce"]'
    expect "$(jq .not_judged out)" 3
    expect "$(replay -r cutout.rules trace | tail -n 1)" "not judged by any rule: 3"
}

@test "a refused destination is open for connects, and requests on established connections pass" {
    rule 'error_ratio = 50%'
    trace '0 HERE failure:refused 1ms' '1 HERE failure:unreachable 1ms' '2 HERE failure:timeout 1ms connect' \
        '3 HERE success 1ms' '4 HERE success 1ms kept' '5 HERE failure:reset 1ms kept'
    expect "$(changes)" "2.001 closed>open:error_ratio"
    expect "$(summary '"\(.admitted) \(.rejected) \(.state)"')" "5 1 open"
    expect_match "$(replay -r cutout.rules trace)" 'connects only; next probe in 10s\).*open \(connect\)'
    # One failure past its connect, and it is open for requests too.
    sed -i 's/failure:unreachable/failure:reset/' trace
    expect "$(summary '"\(.admitted) \(.rejected)"')" "3 3"
}

@test "a call without an end never ends: as a probe it holds its permit until probe_timeout" {
    rule 'error_ratio = 50%
open_for = 1s
probes = 1
probe_timeout = 5s'
    trace '0 HERE failure:reset 0ms' '0 HERE failure:reset 0ms' '0 HERE failure:reset 0ms' '1 HERE success -' \
        '5.999 HERE success 0ms' '6 HERE success 0ms' '7 HERE success 0ms'
    expect "$(changes)" "0 closed>open:error_ratio
1 open>half_open:open_for
6 half_open>open:probe_timeout
7 open>half_open:open_for
7 half_open>closed:probes_passed"
    expect "$(summary '"\(.admitted) \(.rejected)"')" "5 2"
}

@test "a destination that stops answering trips before a single call returns" {
    rule 'slow_call = 1s
slow_ratio = 50%'
    trace '0 HERE success 1ms' '1 HERE success -' '1 HERE success -' '1 HERE success 60s' '2 HERE success 1ms' \
        '2.000000001 HERE success 1ms'
    expect "$(replay -r cutout.rules trace | head -n 1)" \
        "2.000000001 case tcp://10.0.0.5:443 closed -> open (slow_ratio 75.0% >= 50%, 3 of 4 calls in 10s, 3 of them hang; next probe in 10s)"
    expect "$(replay --json -r cutout.rules trace | jq -c 'select(.from) | [.at, .calls, .slow, .overdue, .slow_ratio]')" \
        "[2.000000001,1,0,3,0.75]"
}

@test "times of day are those of the trace's seconds since 1970" {
    rule 'slow_call = 1s
slow_ratio = 50%
slow_exempt = 02:00-02:10'
    # 1796004000 is 02:00 of 30 November 2026, UTC.
    trace '1796004597 HERE success 2s' '1796004598 HERE success 2s' '1796004598 HERE success 1.999s' '1796004599 HERE success 1.1s'
    expect "$(changes)" "1796004600 closed>open:slow_ratio"
}

# --- the same input, the same output

@test "jitter is drawn from the seed: none without one, and the same for the same" {
    rule 'error_ratio = 50%
open_jitter = 100%'
    trace '0 HERE failure:reset 0ms' '0 HERE failure:reset 0ms' '0 HERE failure:reset 0ms'
    open_ms() {
        replay --json -r cutout.rules "$@" trace | jq '.retry_in_ms // empty'
    }
    expect "$(open_ms)" 10000
    expect "$(open_ms --seed 0)" 10000
    expect "$(open_ms --seed 7)" "$(open_ms --seed 7)"
    local seed times
    times=$(for seed in 1 2 3 4 5; do open_ms --seed "$seed"; done | sort -nu)
    expect "$(wc -l <<<"$times")" 5 "different times"
    expect "$(awk '$1 < 10000 || $1 > 20000' <<<"$times")" "" "times out of range"
}

@test "an observed replay changes state as the enforced one does, and makes every call" {
    rule 'error_ratio = 50%
open_for = 1s'
    trace '0 HERE failure:reset 0ms' '0.1 HERE failure:reset 0ms' '0.2 HERE failure:reset 0ms' '0.3 HERE failure:reset 5s' \
        '1.2 HERE success 0ms' '1.2 HERE success 0ms' '1.2 HERE success 0ms'
    expect "$(changes --observe)" "$(changes)"
    expect "$(summary '"\(.admitted) \(.rejected) \(.would_reject)"')" "6 1 0"
    expect "$(summary '"\(.admitted) \(.rejected) \(.would_reject)"' --observe)" "7 0 1"
    # mode = observe in the rule is the same.
    rule 'error_ratio = 50%
open_for = 1s
mode = observe'
    expect "$(summary '"\(.admitted) \(.rejected) \(.would_reject) \(.mode)"')" "7 0 1 observe"
}

# --- size

@test "a million calls take the memory of those outstanding, and little time" {
    rule 'error_ratio = 50%
slow_call = 1s'
    awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "%.4f tcp://10.0.%d.%d:443 %s %dms\n", i / 5000, i % 4, i % 250,
        i % 33 ? "success" : "failure:reset", i % 97 }' >trace
    python3 - "$CUTOUT" <<'PYTHON'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "replay", "-r", "cutout.rules", "trace"], check=True, stdout=subprocess.DEVNULL, timeout=30)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, "KiB", used.ru_utime, "s")
assert used.ru_maxrss < 24 * 1024, "more than 24 MiB"
assert used.ru_utime < 5, "under 200,000 calls a second"
PYTHON
}

# --- the command

@test "without -r the rules are those that a program would get" {
    trace '0 HERE failure:reset 1ms' '1 HERE failure:reset 1ms' '2 HERE failure:reset 1ms'
    run --separate-stderr replay -v trace
    expect_match "$stderr" '^rules: (the built-in defaults|/etc/cutout/cutout.rules)'
    rule 'error_ratio = 50%'
    run --separate-stderr replay -v trace
    expect "${stderr_lines[0]}" "rules: $PWD/cutout.rules"
    expect_match "${stderr_lines[1]}" 'cutout.rules:[0-9]+:[0-9]+: warning: found .min_calls = 3.'
    expect_match "$output" 'closed -> open \(error_ratio'
}

@test "bad rules, a missing file and a wrong command line are told apart" {
    trace '0 HERE success 1ms'
    rules 'nonsense'
    run --separate-stderr replay -r cutout.rules trace
    expect "$status" 1
    expect_match "$stderr" '^cutout: cutout.rules:1:1: '
    run --separate-stderr replay -r none.rules trace
    expect "$status" 1
    expect_match "$stderr" 'none.rules: No such file'
    rule ''
    run --separate-stderr replay -r cutout.rules none
    expect "$status $stderr" "1 cutout: none: No such file or directory"
    run --separate-stderr replay -r cutout.rules .
    expect "$status $stderr" "1 cutout: .: Is a directory"
    local words
    for words in '' '--seed x trace' '--seed -1 trace' '--seed 99999999999999999999 trace' 'trace trace' '--jsn trace' '-r'; do
        # shellcheck disable=SC2086  # several words
        run --separate-stderr replay $words
        expect "$status" 2 "status of replay $words"
        expect "$output" ""
    done
    run --separate-stderr replay --help
    expect "$status" 0
    expect_match "$output" 'Usage: cutout replay'
}

@test "the table names each breaker, and control characters from outside are shown as such" {
    rules '[local]
match = unix:///run/*'
    trace '0 HERE success 1ms' '0 unix:///run/a\x1b[31m success 1ms' '1 HERE failure:reset 1ms'
    expect "$(replay -r cutout.rules trace)" \
        'RULE     DESTINATION            STATE   ADMITTED  REJECTED  WOULD REJECT  ERRORS  SLOW  OPENED
default  tcp://10.0.0.5:443     closed         2         0             0       1     0       0
local    unix:///run/a\x1b[31m  closed         1         0             0       0     0       0'
}

@test "an event has the members that the events of a panel have, with the seconds of the trace" {
    rule 'error_ratio = 50%'
    trace '0.25 HERE failure:timeout 1ms' '0.25 HERE failure:reset 1ms' '0.25 HERE success 1ms'
    expect "$(replay --json -r cutout.rules trace | head -n 1 | jq -c 'del(.rule, .destination)')" \
        '{"at":0.251,"from":"closed","to":"open","cause":"error_ratio","gate":"request","calls":3,"errors":2,"slow":0,"overdue":0,"error_ratio":0.666,"slow_ratio":0,"threshold":0.5,"reasons":{"timeout":1,"reset":1},"retry_in_ms":10000}'
}
