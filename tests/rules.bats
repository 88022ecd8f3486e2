#!/usr/bin/env bats
# shellcheck shell=bash
# shellcheck disable=SC2154  # stderr is set by run
# The rules language: what a file means, what is said of a bad one, and the commands that tell.

bats_require_minimum_version 1.5.0
load helpers

RULES=$BATS_TEST_DIRNAME/../rules

# cases PROGRAM CASE...: runs the cases of a test program.
cases() {
    local program=$BUILD/tests/$1 name
    shift
    for name in "$@"; do
        "${LIMIT[@]}" "$program" "$name" || fail "$program $name"
    done
}

@test "each key takes the values of its range, and nothing one beyond its ends" {
    cases rules_values_test values refused-values
}

@test "slow_exempt takes times of day with days and offsets, and covers exactly their seconds" {
    cases rules_exempt_test spans seconds odd-clocks
}

@test "what a file does not say is as documented" {
    cases rules_values_test defaults probe-timeout open-max
}

@test "a slow_call that no person wrote never trips" {
    cases rules_values_test slow-call
}

@test "a rule's value comes from itself, then its templates, then [default], and show says which" {
    cases rules_test inheritance origins
}

@test "an included file is read where it is named, once, relative to the file that names it" {
    cases rules_test includes include-lines include-paths
}

@test "each kind of pattern covers what it says and nothing else" {
    cases rules_match_test patterns
}

@test "the first rule in the file that matches decides" {
    cases rules_match_test order
}

@test "a thousand rules work, and one too many is an error" {
    cases rules_match_test many
}

@test "rules that another process has scribbled over do no harm" {
    cases rules_match_test scribbled beyond
}

@test "every error names line and column, what was found, and what was expected" {
    cases rules_messages_test lines values patterns sections together files flood
}

@test "a misspelt key and another product's key are answered with the right word" {
    cases rules_messages_test keys
}

@test "what can never act or is known to misfire is warned of, once" {
    cases rules_doubts_test doubts quiet shared idle hidden
}

@test "a hundred thousand damaged files crash nothing, and what is accepted prints and reads the same" {
    "${LIMIT[@]}" "$BUILD/tests/rules_fuzz_test" 1 100000
}

@test "rules check says that a good file is fine, and how many rules it has" {
    printf '[a]\nmatch = a\n[t]\nprobes = 2\n[b]\nmatch = b\nlike = t\n' >good.rules
    run --separate-stderr "$CUTOUT" rules check good.rules
    expect "$status" 0 status
    expect "$output" "good.rules: fine, 2 rules"
    expect "$stderr" ""
}

@test "rules check prints every error and warning of a bad file, and exits 1" {
    printf '[a]\nmatch = a\nwindoww = 10s\nwindow = 2s\nerror_ratio = 50\n[b]\nmatch = b\nprobes = 1\n' >bad.rules
    run --separate-stderr "$CUTOUT" rules check bad.rules
    expect "$status" 1 status
    expect "${#lines[@]}" 4 "number of lines"
    expect "${lines[0]}" "bad.rules:3:1: found 'windoww', expected a key of cutout (did you mean 'window'?)"
    expect_match "${lines[1]}" "^bad.rules:5:15: found '50', expected a ratio above 0 to 100%"
    expect_match "${lines[2]}" "^bad.rules:8:1: warning: found 'probes = 1'"
    expect "${lines[3]}" "bad.rules: bad, 2 errors, 1 warning"
    expect "$stderr" ""
}

@test "rules check only warns of a file that is doubtful, and exits 0" {
    printf '[a]\nmatch = *\nwindow = 2s\n' >doubtful.rules
    run "$CUTOUT" rules check doubtful.rules
    expect "$status" 0 status
    expect_match "${lines[0]}" "^doubtful.rules:3:1: warning: "
    expect "${lines[1]}" "doubtful.rules: fine, 1 rule, 1 warning"
}

@test "a file or include that cannot be read is named, the include with its place" {
    run --separate-stderr "$CUTOUT" rules check gone.rules
    expect "$status" 1 status
    expect "$output" ""
    expect "$stderr" "cutout: gone.rules: No such file or directory"
    printf '[a]\nmatch = a\n  include sub/gone.rules\n' >main.rules
    run --separate-stderr "$CUTOUT" rules check main.rules
    expect "$status" 1 status
    expect_match "$stderr" "^cutout: main.rules:3:11: cannot include sub/gone.rules: No such file or directory"
    run --separate-stderr "$CUTOUT" rules show -r main.rules
    expect "$status" 1 status
    expect_match "$stderr" "^cutout: main.rules:3:11: "
    run --separate-stderr "$CUTOUT" rules check .
    expect "$status" 1 status
    expect "$stderr" "cutout: .: Is a directory"
}

@test "files that include one another are refused with the place" {
    mkdir sub
    printf 'include sub/b.rules\n[a]\nmatch = a\n' >a.rules
    printf '# here\ninclude ../sub/c.rules\n' >sub/b.rules
    printf 'include b.rules\n' >sub/c.rules
    run "$CUTOUT" rules check a.rules
    expect "$status" 1 status
    expect "${lines[0]}" "sub/c.rules:1:9: found 'b.rules', expected a file that does not include this one"
}

@test "a binary, a huge and an endless-line file get a clear answer" {
    head -c 300000 /dev/zero >zero.rules
    run "$CUTOUT" rules check zero.rules
    expect "$status" 1 status
    expect "${lines[0]}" "zero.rules:1:1: found '\\x00', expected text (the file holds a NUL byte)"
    head -c 2000000 /dev/zero | tr '\0' '\n' >huge.rules
    run "$CUTOUT" rules check huge.rules
    expect "$status" 1 status
    expect "$output" "cutout: huge.rules: larger than 1 MiB"
    { printf '[a]\nmatch = '; head -c 900000 /dev/zero | tr '\0' 'x'; } >long.rules
    run "$CUTOUT" rules check long.rules
    expect "$status" 1 status
    expect_match "${lines[0]}" "^long.rules:2:9: found 'x{40}\.\.\.', expected a host name of at most 253 bytes$"
}

@test "names and paths cannot put control characters on the terminal" {
    printf '[a\x1b[31mb]\nmatch = c\x07d\n\x1b = 1\n' >$'odd\x1b.rules'
    run "$CUTOUT" rules check $'odd\x1b.rules'
    expect "$status" 1 status
    expect "${#lines[@]}" 4 "number of lines"
    [[ $output != *[$'\x1b\x07']* ]] || fail "a control character came through" "$output"
    expect_match "${lines[0]}" '^odd\\x1b.rules:1:2: found .a\\x1b\[31mb., '
}

@test "rules show without any file prints the built-in defaults, and that is a good file" {
    run --separate-stderr env -u CUTOUT_RULES "$CUTOUT" rules show
    expect "$status" 0 status
    expect_match "$output" $'\n\\[default\\] +# built-in\n'
    expect_match "$output" $'\nmin_calls          = 10 +# built-in\n'
    expect_match "$output" $'\n# slow_call        = 1s +# built-in: shown only, slow calls never trip\n'
    printf '%s\n' "$output" >shown.rules
    run "$CUTOUT" rules check shown.rules
    expect "$output" "shown.rules: fine, 0 rules"
}

@test "rules show takes -r, else CUTOUT_RULES" {
    printf '[one]\nmatch = *\n' >one.rules
    printf '[two]\nmatch = *\n' >two.rules
    CUTOUT_RULES=one.rules run "$CUTOUT" rules show
    expect_match "$output" $'\n\\[one\\] +# one.rules:1\n'
    CUTOUT_RULES=one.rules run "$CUTOUT" rules show -r two.rules
    expect_match "$output" $'\n\\[two\\] +# two.rules:1\n'
    CUTOUT_RULES=gone.rules run "$CUTOUT" rules show
    expect "$status" 1 status
    expect "$output" "cutout: gone.rules: No such file or directory"
}

@test "what rules show prints means the same when it is read again" {
    "$CUTOUT" rules show -r "$RULES/example.rules" >first.rules
    "$CUTOUT" rules check first.rules
    "$CUTOUT" rules show -r first.rules >second.rules
    # The comments differ: the second time every value is the file's own.
    diff <(sed 's/ *#.*//' first.rules) <(sed 's/ *#.*//' second.rules)
}

@test "rules show refuses a bad file and says why on standard error" {
    printf '[a]\nmatch = *\nprobes = 0\nprobe = 1\n' >bad.rules
    run --separate-stderr "$CUTOUT" rules show -r bad.rules
    expect "$status" 1 status
    expect "$output" ""
    expect_match "$stderr" "^cutout: bad.rules:3:10: found '0', .*"$'\n'"cutout: bad.rules:4:1: found 'probe', "
}

@test "the shipped presets and the example are fine, and draw no warning even when used" {
    run "$CUTOUT" rules check "$RULES/presets.rules"
    expect "$output" "$RULES/presets.rules: fine, 0 rules"
    run "$CUTOUT" rules check "$RULES/example.rules"
    expect_match "$output" "^[^ ]*/example.rules: fine, [0-9]+ rules$"
    local name names
    mapfile -t names < <(sed -n 's/^\[\([a-z_]*\)\].*/\1/p' "$RULES/presets.rules")
    expect "${names[*]}" "rpc cache database third_party batch_sql long_poll stream messaging replicas rare"
    {
        echo "include $RULES/presets.rules"
        for name in "${names[@]}"; do
            printf '[my-%s]\nmatch = %s\nlike = %s\n' "$name" "${name//_/-}" "$name"
        done
    } >used.rules
    run "$CUTOUT" rules check used.rules
    expect "$output" "used.rules: fine, 10 rules"
}

@test "every key of the language is in the manual page, with its default" {
    local key value item count=0
    while IFS='=' read -r key value; do
        item=$(awk -v key="$key" '/^\.It /{inside = $2 == "Ic" && $3 == key} inside' "$RULES/cutout.rules.5" |
            sed 's/^\.[A-Z][a-z] //; s/ ,/,/g' | tr '\n' ' ')
        [[ $item == *[Dd]"efault"*"$value"* || $key == slow_call && $item == *"over $value"* ]] ||
            fail "the default of $key, $value, is not in: $item"
        count=$((count + 1))
    done < <("$CUTOUT" rules show | sed -n 's/^\(# \)\?\([a-z_]*\) *= \([^#]*[^# ]\) *#.*/\2=\3/p')
    expect "$count" 26 "number of keys"
}

@test "rules without a word, with a wrong one or one too many is a usage error" {
    local words
    for words in "" "chekc" "check" "check a b" "check --quick a" "show a" "show -r" "show -x" \
        "explain" "explain a:1 b:1" "explain -r" "explain --json a:1" "explain a" "explain a:0x1" "explain a:65536" \
        "explain tcp://" "explain http://a:1" "explain 10.0.0.256:1" "explain ::1:80"; do
        # shellcheck disable=SC2086  # words it is
        run --separate-stderr "$CUTOUT" rules $words
        expect "$status" 2 "status of 'rules $words'"
        expect "$output" ""
        expect_match "$stderr" "^cutout: rules"
    done
    for words in "--help" "check --help" "show --help" "explain --help"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$CUTOUT" rules $words
        expect "$status" 0 "status of 'rules $words'"
        expect_match "$output" "^Usage: cutout rules check FILE"
        expect "$stderr" ""
    done
}
