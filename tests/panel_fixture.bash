# shellcheck shell=bash
# A panel that is filled as a test tells it, by programs/shim_panel_fixture.c: for what the command shows.

# fill_panel: starts a process with a panel that does what standard input says, line by line, and then lives on,
# attached, until the end of the test or end_panel.
fill_panel() {
    local line lines=0 in=fixture.${#STARTED[@]}
    mkfifo "$in"
    exec {FIXTURE}<>"$in"
    # A job in the background has no standard input but what it opens itself; the end that is written to stays here.
    # shellcheck disable=SC2016  # expanded by the inner shell
    background bash -c 'eval "exec $1>&-"; exec "$0" <"$2" >"$2.out" 2>"$2.err"' \
        "$BUILD/tests/shim_panel_fixture" "$FIXTURE" "$in"
    while read -r line; do
        printf '%s\n' "$line" >&"$FIXTURE"
        ((++lines))
    done
    retry_until 10 panel_answered "$in" "$lines"
}

panel_answered() {
    [[ -e $1.out && $(grep -c '^ok$' "$1.out") == "$2" ]] || fail "$(cat "$1.err")"
}

# end_panel: the process that was started last ends.
end_panel() {
    exec {FIXTURE}>&-
    wait "$STARTED_PID"
}

# cutout WORD...: the command, with a time limit.
cutout() {
    "${LIMIT[@]}" "$CUTOUT" "$@"
}

# in_own_ipc FUNCTION...: calls a function of the test where nobody else's panels can be seen or harmed.
in_own_ipc() {
    local functions
    functions=$(declare -f; declare -p BUILD CUTOUT LIMIT CUTOUT_PANEL)
    unshare --ipc bash -euc "$functions"$'\nSTARTED=()\n"$@"' in_own_ipc "$@"
}

# as_nobody COMMAND...: as an ordinary user, who may look into this test's directory.
as_nobody() {
    chmod o+x "$BATS_RUN_TMPDIR"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
