#!/usr/bin/env bats
# What everything stands on: texts, destinations, the journal, names, the environment, loading of rules.

bats_require_minimum_version 1.5.0
load helpers

program() {
    "${LIMIT[@]}" "$BUILD/tests/$1" "${@:2}"
}

# environment VARIABLE=VALUE...: what the guest reads, with nothing else in the environment.
environment() {
    "${LIMIT[@]}" env -i "$@" "$BUILD/tests/shim_environment" >environment.out
}

environment_says() {
    grep -qxF -- "$1" environment.out || fail "no line '$1' in:" "$(cat environment.out)"
}

# --- texts and destinations

@test "text from outside is shown with control characters and broken UTF-8 escaped, and cut whole" {
    program text_test escape
    program text_test cut
}

@test "numbers, durations and ratios are written as a rules file writes them" {
    program text_test numbers
    program text_test units
}

@test "a destination is shown the one way that RFC 5952 allows" {
    program endpoint_test format
}

@test "an IPv4-mapped address is the IPv4 destination; zone, port and scheme tell destinations apart" {
    program endpoint_test same
}

@test "an address is read as the system reads it, without octal" {
    program endpoint_test parse
    program endpoint_test agrees
}

@test "a destination is read back as it is shown, and a text that is none is refused" {
    program endpoint_parse_test good
    program endpoint_parse_test none
    program endpoint_parse_test long
}

@test "10,000 consecutive addresses, networks, ports or names are found within 16 steps" {
    program endpoint_test spread
}

# --- the journal

@test "the journal keeps the last 4,096 events in order" {
    program journal_test order
    program journal_test transition
}

@test "no reader takes a half-written event for whole, however many write" {
    program journal_test writers
    program journal_test overtaken
}

@test "a writer that is killed loses its own event only" {
    program journal_test killed
}

# --- names

@test "the last name that led to an address is known, and the oldest is forgotten first" {
    program shim_names find
    program shim_names many
}

@test "a name is never mixed of two, whatever threads ask and answer at once" {
    program shim_names torn
}

# --- the environment

@test "the kill switch is read before anything else" {
    environment CUTOUT_DISABLE=1 CUTOUT_RULES=/x CUTOUT_PANEL=p CUTOUT_MODE=off
    environment_says 'disabled 1'
    environment_says 'rules_named 0'
    environment CUTOUT_DISABLE=0
    environment_says 'disabled 0'
    environment CUTOUT_DISABLE=yes
    environment_says 'disabled 0'
}

@test "the panel is named by CUTOUT_PANEL, else by the path of CUTOUT_RULES, else it is the default one" {
    environment
    environment_says 'panel default'
    environment CUTOUT_RULES=/a/../etc//./x.rules
    environment_says 'rules /etc/x.rules'
    environment_says 'panel /etc/x.rules'
    environment_says 'rules_named 1'
    environment CUTOUT_RULES=/etc/x.rules CUTOUT_PANEL=payments
    environment_says 'rules /etc/x.rules'
    environment_says 'panel payments'
    environment CUTOUT_RULES= CUTOUT_PANEL=
    environment_says 'panel default'
}

@test "CUTOUT_DEEPBIND is kept by one word" {
    environment CUTOUT_DEEPBIND=keep
    environment_says 'deepbind kept'
    environment CUTOUT_DEEPBIND=keeps
    environment_says 'deepbind cleared'
    environment CUTOUT_DEEPBIND=
    environment_says 'deepbind cleared'
    environment CUTOUT_DEEPBIND=keep CUTOUT_DISABLE=1
    environment_says 'deepbind cleared'
}

@test "a relative CUTOUT_RULES is made absolute; symbolic links stay" {
    mkdir -p real/deep
    ln -s real link
    cd link/deep
    environment CUTOUT_RULES=../my.rules
    environment_says "rules $BATS_TEST_TMPDIR/real/my.rules"
    cd "$BATS_TEST_TMPDIR"
    environment CUTOUT_RULES=link/my.rules
    environment_says "rules $BATS_TEST_TMPDIR/link/my.rules"
    cd /
    environment_dir=$BATS_TEST_TMPDIR
    env -i CUTOUT_RULES=x "$BUILD/tests/shim_environment" >"$environment_dir/environment.out"
    cd "$environment_dir"
    environment_says 'rules /x'
}

@test "a rules file that cannot be named absolutely is still named" {
    mkdir gone
    cd gone
    rmdir ../gone
    env -i CUTOUT_RULES=my.rules "$BUILD/tests/shim_environment" >../environment.out || true
    cd "$BATS_TEST_TMPDIR"
    environment_says 'rules_named 1'
    environment_says 'rules my.rules'
    environment "CUTOUT_RULES=/$(printf 'x%.0s' {1..5000})"
    environment_says 'rules_named 1'
}

@test "paths are resolved by their text alone" {
    expect "$(program shim_environment /a//b/./../c/)" /a/c
    expect "$(program shim_environment /../..)" /
    expect "$(program shim_environment /a/...)" /a/...
    expect "$(program shim_environment relative)" 'does not fit'
    expect "$(program shim_environment "/$(printf 'x%.0s' {1..62})")" "/$(printf 'x%.0s' {1..62})"
    expect "$(program shim_environment "/$(printf 'x%.0s' {1..63})")" 'does not fit'
}

@test "long panel names stay apart" {
    local long
    long=$(printf 'x%.0s' {1..300})
    environment "CUTOUT_PANEL=${long}a"
    cp environment.out first.out
    environment "CUTOUT_PANEL=${long}b"
    run ! cmp -s first.out environment.out
    expect "$(sed -n 's/^panel //p' environment.out | cut -c1-200)" "${long:0:200}"
    environment "CUTOUT_PANEL=${long:0:255}"
    environment_says "panel ${long:0:255}"
}

@test "a group is a number, a mode one of three words; anything else counts as not set" {
    environment CUTOUT_GROUP=4711 CUTOUT_MODE=observe
    environment_says 'group yes 4711'
    environment_says 'mode 2'
    local value
    for value in wheel 12x '' -1 4294967295 99999999999 0x10; do
        environment "CUTOUT_GROUP=$value"
        environment_says 'group no 0'
    done
    environment CUTOUT_MODE=enforce
    environment_says 'mode 1'
    environment CUTOUT_MODE=off
    environment_says 'mode 3'
    environment CUTOUT_MODE=Observe
    environment_says 'mode 0'
}

@test "the system's rules file is named by being there, even as a link that leads nowhere" {
    # shellcheck disable=SC2016  # expanded in the namespace
    unshare -m sh -ec '
        mount -t tmpfs tmpfs /etc
        env -i "$1" >none.out
        mkdir /etc/cutout
        ln -s nowhere /etc/cutout/cutout.rules
        env -i "$1" >link.out
        env -i CUTOUT_RULES=/mine "$1" >mine.out' sh "$BUILD/tests/shim_environment"
    cp none.out environment.out
    environment_says 'rules_named 0'
    environment_says 'rules '
    cp link.out environment.out
    environment_says 'rules_named 1'
    environment_says 'rules /etc/cutout/cutout.rules'
    environment_says 'panel default'
    cp mine.out environment.out
    environment_says 'rules /mine'
}

@test "a set-user-ID program reads no variable" {
    cp "$BUILD/tests/shim_environment" own
    chown 65534 own
    chmod 4755 own
    env -i CUTOUT_DISABLE=1 CUTOUT_RULES=/x CUTOUT_PANEL=p CUTOUT_MODE=off CUTOUT_GROUP=1 ./own >environment.out
    environment_says 'secure 1'
    environment_says 'disabled 0'
    environment_says 'rules_named 0'
    environment_says 'group no 0'
    environment_says 'mode 0'
    environment_says 'panel default'
}

# --- loading rules

@test "without a rules file the defaults are in force, and nothing is withheld" {
    program shim_load none
}

@test "a changed file is put into force; a bad or missing one changes nothing and is told once" {
    program shim_load changes
}

@test "a change of an included file is seen, also when it vanishes" {
    program shim_load includes
}

@test "until good rules have been loaded, a named file withholds enforcing" {
    program shim_load withheld
}

@test "a rules file that is a FIFO, a device, a directory, a loop or too large is refused without a wait" {
    program shim_load odd_files
}

@test "what one process may not read the next one may, and a process without descriptors breaks nothing" {
    program shim_load unreadable
    program shim_load own_faults
}

@test "a panel has one rules file: that of the first process that names one" {
    program shim_load one_file
}

@test "one process loads at a time, and one that was killed while loading is in nobody's way" {
    program shim_load claim
    program shim_load parallel
}

@test "rules in a panel that was scribbled over give the defaults" {
    program shim_load scribbled
}

@test "where no file has changed, attaching costs one stat a file and nothing else" {
    strace -o trace.out "$BUILD/tests/shim_load" quiet >/dev/null
    sed -n '/"begin/,/"end/p' trace.out | sed '1d;$d' >calls.out
    expect "$(grep -c . calls.out)" 2 'number of system calls'
    expect "$(grep -c newfstatat calls.out)" 2 'number of stats'
}
