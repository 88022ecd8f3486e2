#!/usr/bin/env bats
# What the README shows is so.

load helpers

README=$BATS_TEST_DIRNAME/../README.md

@test "the README's rules file is fine, and draws no warning" {
    awk '/^\[default\]/ { on = 1 } /^```/ { on = 0 } on' "$README" >readme.rules
    grep -q '^\[reports\]' readme.rules
    run "${LIMIT[@]}" "$CUTOUT" rules check readme.rules
    expect "$status" 0 "exit status"
    [[ $output != *warning* ]] || fail "$output"
}

@test "every command that the README names exists" {
    local command
    "${LIMIT[@]}" "$CUTOUT" --help >help.out
    grep -o '^build/cutout [a-z]*' "$README" | cut -d ' ' -f 2 | sort -u >named
    while IFS= read -r command; do
        grep -q "^ *$command " help.out || fail "there is no $command"
    done <named
    expect "$(tr '\n' ' ' <named)" "doctor events panels reload replay reset run set status " "commands named"
}

@test "the demo's picture in the README has the lines that the demo prints" {
    local line
    while IFS= read -r line; do
        grep -qF "$line" "$README" || fail "not in the README: $line"
    done < <(grep -oE '^    compare "[^"]*"' "$BATS_TEST_DIRNAME/demo" | cut -d '"' -f 2)
}
