#!/usr/bin/env bats
# The command line, and what cutout run, doctor and panels do.
# shellcheck disable=SC2030,SC2031  # a test's variables are its own
# shellcheck disable=SC2016  # expanded by the shells under test

load helpers
load panel_fixture

ROOT=$BATS_TEST_DIRNAME/..
COMMANDS=(run status events set reset reload rules doctor panels)
# What LD_PRELOAD holds: the library for 32-bit programs may have been built beside the other.
PRELOADED=$SHIM
[[ ! -e $BUILD/lib32 ]] || PRELOADED=$BUILD/'$LIB'/libcutout.so

# refuses STATUS TEXT COMMAND...: it ends so, and says why.
refuses() {
    local expected=$1 text=$2 status=0 output
    shift 2
    output=$("${LIMIT[@]}" "$@" 2>&1) || status=$?
    expect "$status" "$expected" "exit status of $*"
    expect_match "$output" "^cutout: $text"
}

@test "a wrong command line is answered with what is wrong, and status 2" {
    refuses 2 "unknown command stauts; did you mean status\?"$'\n'"Try 'cutout --help'.$" "$CUTOUT" stauts
    refuses 2 "unknown command frobnicate"$'\n' "$CUTOUT" frobnicate
    refuses 2 "unknown option --verison; did you mean --version\?" "$CUTOUT" --verison
    refuses 2 "run: unknown option --obsrve; did you mean --observe\?"$'\n'"Try 'cutout run --help'.$" \
        "$CUTOUT" run --obsrve true
    refuses 2 "run: unknown option --hlep; did you mean --help" "$CUTOUT" run --hlep
    refuses 2 "run: which PROGRAM" "$CUTOUT" run
    refuses 2 "run: which PROGRAM" "$CUTOUT" run --
    refuses 2 "run: option -r needs a value" "$CUTOUT" run -r
    refuses 2 "run: option -p needs a value" "$CUTOUT" run -p '' true
    refuses 2 "run: option --observe takes no value" "$CUTOUT" run --observe=yes true
    refuses 2 "run: unknown option -vx" "$CUTOUT" run -vx true
    refuses 2 "status: unknown option --jsn; did you mean --json\?" "$CUTOUT" status --jsn
    refuses 2 "status: one NAME at a time" "$CUTOUT" status one two
    refuses 2 "events: unexpected one" "$CUTOUT" events one
    refuses 2 "doctor: which PROGRAM" "$CUTOUT" doctor
    refuses 2 "doctor: unexpected cat" "$CUTOUT" doctor ls cat
    refuses 2 "panels: --prune and --remove exclude each other" "$CUTOUT" panels --prune --remove x
    refuses 2 "unknown command \\\\x1b\[2J" "$CUTOUT" $'\e[2J'
    run "$CUTOUT"
    expect "$status" 2 "exit status"
    expect_match "$output" "^Usage: cutout COMMAND"
}

@test "--help and --version go to standard output, and are no failure" {
    local command
    for command in "" "${COMMANDS[@]}"; do
        # shellcheck disable=SC2086  # none where it is empty
        "$CUTOUT" $command --help >help 2>err
        expect "$(cat err)" ""
        expect_match "$(cat help)" "^Usage: cutout ${command:-COMMAND}"
        awk 'length($0) > 100' help >long
        expect "$(cat long)" "" "long lines"
    done
    expect "$("$CUTOUT" --version)" "cutout $(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")"
}

@test "the man page has every command and option that --help shows" {
    local command word
    sed 's/\\-/-/g; s/\\f[BIR]//g' "$ROOT/shim/tool/cutout.1" >page
    for command in "${COMMANDS[@]}"; do
        grep -q "^\.SS $command" page || fail "no section on $command"
        for word in $("$CUTOUT" "$command" --help | grep -oE '(^|[ [])--?[a-z-]+' | tr -d ' [' | sort -u); do
            grep -qE "(^|[ [])$word( |\$|\])|^\.(B|BI) $word" page || fail "$word of $command is not in the man page"
        done
    done
    run groff -man -ww -z -Tutf8 "$ROOT/shim/tool/cutout.1"
    expect "$output" ""
}

@test "run hands rules, panel, mode and group on, as the library wants them" {
    mkdir -p etc/sub
    echo '[default]' >etc/my.rules
    cat >show.sh <<'END'
echo "$CUTOUT_RULES|$CUTOUT_PANEL|$CUTOUT_MODE|$CUTOUT_GROUP|$LD_PRELOAD|$*"
END
    expect "$(cutout run -r etc/sub/.././my.rules -p "$CUTOUT_PANEL-r" --observe sh show.sh -p x -- y)" \
        "$PWD/etc/my.rules|$CUTOUT_PANEL-r|observe||$PRELOADED|-p x -- y"
    expect "$(CUTOUT_PANEL='' CUTOUT_RULES=etc/my.rules CUTOUT_GROUP=bin cutout run -- sh show.sh)" \
        "$PWD/etc/my.rules|||2|$PRELOADED|"
    expect "$(CUTOUT_MODE=enforce cutout run "-p$CUTOUT_PANEL-r" -- sh show.sh)" "|$CUTOUT_PANEL-r|enforce||$PRELOADED|"
    export ASAN_OPTIONS=verify_asan_link_order=0 # where the command itself was built so
    expect "$(LD_PRELOAD=$PRELOADED cutout run sh show.sh)" "|$CUTOUT_PANEL|||$PRELOADED|"
    expect "$(cutout run "$CUTOUT" run sh show.sh)" "|$CUTOUT_PANEL|||$PRELOADED|"
    cutout panels --remove "$CUTOUT_PANEL-r"
    cutout panels --remove "$PWD/etc/my.rules"
    refuses 125 "CUTOUT_GROUP is no-such-group, and there is no such group" \
        env CUTOUT_GROUP=no-such-group "$CUTOUT" run true
    refuses 125 "CUTOUT_MODE is observed, expected enforce, observe or off" env CUTOUT_MODE=observed "$CUTOUT" run true
}

@test "run is silent unless asked; -v says what is done" {
    run cutout run true
    expect "$output" ""
    run cutout run -v sh -c 'echo out'
    expect_match "$output" "cutout: program /.*/sh"$'\n'".*cutout: library $SHIM"$'\n'"cutout: panel $CUTOUT_PANEL, which"
    expect_match "$output" $'\n'"cutout: rules built-in defaults"$'\n'.*$'\nout$'
    rules '[a]
match = 10.0.0.1
slow_ratio = 50%'
    run cutout run -v -p "$CUTOUT_PANEL-new" true
    expect_match "$output" "panel $CUTOUT_PANEL-new, which is new"
    expect_match "$output" "cutout: $PWD/cutout.rules:3:[0-9]+: warning: "
    cutout panels --remove "$CUTOUT_PANEL-new"
}

@test "run finds programs as the shell does" {
    mkdir one two
    printf '#!/bin/sh\necho two\n' >two/tool
    chmod +x two/tool
    printf 'echo "plain $1"\n' >plain
    chmod +x plain
    touch one/tool
    expect "$(PATH="$PWD/one:$PWD/two:$PATH" cutout run tool)" two
    expect "$(cutout run ./plain words)" "plain words"
    (cd two && PATH=":$PATH" && expect "$(cutout run tool)" two)
    refuses 127 "no-such-tool: not found in PATH" "$CUTOUT" run no-such-tool
    refuses 127 "./none: not found" "$CUTOUT" run --if-possible ./none
    refuses 126 "one/tool: not executable" "$CUTOUT" run one/tool
    refuses 126 "./one: not executable" "$CUTOUT" run ./one
    refuses 126 "tool: not executable" env PATH="$PWD/one" "$CUTOUT" run tool
}

# elf_with OFFSET BYTE FILE: a copy of a program, one byte of its header changed.
elf_with() {
    cp "$(type -P true)" "$3"
    printf "%b" "$2" | dd of="$3" bs=1 seek="$1" conv=notrunc status=none
}

@test "run refuses a program that is built for another machine" {
    elf_with 18 '\x28\x00' arm
    refuses 125 "./arm is built for another machine \(arm, 64-bit\)" "$CUTOUT" run ./arm
    elf_with 4 '\x01' narrow
    refuses 125 "./narrow is built for another machine \(.*, 32-bit\)" "$CUTOUT" run ./narrow
    elf_with 5 '\x02' turned
    refuses 125 "./turned is built for another machine" "$CUTOUT" run ./turned
    refuses 1 "" "$CUTOUT" doctor ./nothing
    run cutout doctor ./arm
    expect "$status" 1 "exit status"
    expect_match "$output" "another machine.*verdict +cannot be protected"
}

@test "run refuses a program of another C library, or without its loader" {
    echo 'int main(void) { return 0; }' >main.c
    "${CC:-cc}" -nostdlib -nostartfiles -o other main.c -Wl,-e,main -Wl,--dynamic-linker="$PWD/ld-uClibc.so.0"
    refuses 127 "./other asks for the loader $PWD/ld-uClibc.so.0: not found" "$CUTOUT" run ./other
    touch ld-uClibc.so.0
    refuses 125 "./other is linked with a C library that is neither glibc nor musl" "$CUTOUT" run ./other
}

@test "scripts are judged by what runs them" {
    "${CC:-cc}" -static -o static "$PROGRAMS/client_plain.c"
    printf '#!%s -x\n' "$PWD/static" >by_static
    printf '#! /usr/bin/env sh\necho "by env $1"\n' >by_env
    printf '#!/usr/bin/env -S A=1 sh -e\necho "split $A"\n' >by_split
    printf '#!/usr/bin/env -iS sh\necho clean\n' >by_clean
    printf '#!/usr/bin/env no-such-shell\n' >by_none
    printf '#!/no/such/shell\n' >by_missing
    printf '#!%s\n' "$PWD/by_loop" >by_loop
    printf '#!%s\n' "$PWD/by_env" >by_script
    chmod +x by_*
    expect "$(cutout run ./by_env x)" "by env x"
    expect "$(cutout run ./by_split)" "split 1"
    expect "$(cutout run ./by_script)" "by env ./by_script"
    refuses 125 "$PWD/static is statically linked: it loads no library" "$CUTOUT" run ./by_static
    refuses 125 "the #! line of ./by_clean clears the environment" "$CUTOUT" run ./by_clean
    refuses 127 "the #! line's no-such-shell: not found in PATH" "$CUTOUT" run ./by_none
    refuses 127 "the #! line's /no/such/shell: not found" "$CUTOUT" run ./by_missing
    refuses 126 "./by_loop: more than 4 #! lines" "$CUTOUT" run ./by_loop
    run cutout run --if-possible ./by_clean
    expect "$output" "cutout: running it unprotected: the #! line of ./by_clean clears the environment"$'\nclean'
}

@test "run refuses a program that would gain rights, not one whose rights the user has" {
    cp "$(type -P true)" suid
    cp "$CUTOUT" "$SHIM" .
    cp suid sgid
    cp suid able
    chmod 4755 suid
    chgrp bin sgid
    chmod 2755 sgid
    python3 -c 'import os, struct; os.setxattr("able", "security.capability", struct.pack("<5I", 0x2000001, 1 << 10, 0, 0, 0))'
    refuses 125 "./sgid is set-group-ID: the loader preloads nothing into it" "$CUTOUT" run ./sgid
    cutout run ./suid
    cutout run ./able
    chmod o+x "$BATS_RUN_TMPDIR"
    refuses 125 "./suid is set-user-ID root" setpriv --reuid=65534 --regid=65534 --clear-groups ./cutout run ./suid
    refuses 125 "./able has file capabilities" setpriv --reuid=65534 --regid=65534 --clear-groups ./cutout run ./able
    # Where the kernel gives no rights, nothing is in the way.
    as_nobody --no-new-privs ./cutout run ./suid
    as_nobody ./cutout panels --remove "$CUTOUT_PANEL"
}

@test "every error of a rules file is reported with its place, and the program not started" {
    printf '[a]\nmatch = 10.0.0.1\nwindow = soon\nprobes = many\n' >bad.rules
    run cutout run -r bad.rules touch ran
    expect "$status" 125 "exit status"
    expect "${#lines[@]}" 2 "lines"
    expect_match "${lines[0]}" "^cutout: $PWD/bad.rules:3:10: "
    expect_match "${lines[1]}" "^cutout: $PWD/bad.rules:4:10: "
    [[ ! -e ran ]]
}

@test "run refuses a panel that has other rules, and names both files" {
    echo '[default]' >one.rules
    echo '[default]' >two.rules
    cutout run -r one.rules true
    refuses 125 "panel $CUTOUT_PANEL runs under the rules of $PWD/one.rules, not of $PWD/two.rules" \
        "$CUTOUT" run -r two.rules touch ran
    [[ ! -e ran ]]
    run cutout run --if-possible -r two.rules sh -c 'echo "$LD_PRELOAD"'
    expect "$status" 0 "exit status"
    expect "${#lines[@]}" 2 "lines"
    expect_match "${lines[0]}" "^cutout: running it all the same: panel $CUTOUT_PANEL runs under "
    expect "${lines[1]}" "$PRELOADED"
    cutout run true
    cutout run -p "$CUTOUT_PANEL-two" -r two.rules true
    cutout panels --remove "$CUTOUT_PANEL-two"
}

@test "without its library, or where LD_PRELOAD cannot name it, run says so" {
    mkdir -p alone "with blank" "with:colon"
    cp "$CUTOUT" alone
    cp "$CUTOUT" "$SHIM" "with blank"
    cp "$CUTOUT" "$SHIM" "with:colon"
    refuses 125 "libcutout.so is neither in $PWD/alone nor in $PWD/lib/cutout" alone/cutout run true
    refuses 125 "$PWD/with blank/libcutout.so cannot be preloaded: LD_PRELOAD has no way" "with blank/cutout" run true
    refuses 125 "$PWD/with:colon/libcutout.so cannot be preloaded" "with:colon/cutout" run true
    run alone/cutout run --if-possible -- sh -c 'echo "runs $LD_PRELOAD"'
    expect "${lines[0]}" "cutout: running it unprotected: libcutout.so is neither in $PWD/alone nor in $PWD/lib/cutout"
    expect "${lines[1]}" "runs "
    run alone/cutout doctor true
    expect "$status" 1 "exit status"
}

@test "doctor names program, library, rules, panel and memory, and gives a verdict" {
    printf '#!/usr/bin/env sh\n' >script
    chmod +x script
    rules '[default]'
    CUTOUT_MODE=observe run cutout doctor ./script
    expect "$status" 0 "exit status"
    expect_match "$output" "^program +./script"$'\n'"run by +/usr/bin/env"$'\n'"run by +/.*sh"$'\n'"kind +ELF, 64-bit, .*, dynamically linked"
    expect_match "$output" $'\n'"loader +/.*"$'\n'"libc +(glibc|musl)"$'\n'"library +$SHIM"
    expect_match "$output" $'\n'"rules +$PWD/cutout.rules"$'\n'"panel +$CUTOUT_PANEL"$'\n'"memory +shared: the panel is new"
    expect_match "$output" $'\n'"verdict +can be protected"$'$'
    expect_match "$output" "mode +observe, by CUTOUT_MODE"
    fill_panel </dev/null
    run cutout doctor sh
    expect_match "$output" "memory +shared: the panel exists, 1 of its processes run"
}

@test "doctor says what is lost, and what is in the way" {
    CUTOUT_DISABLE=1 run cutout doctor true
    expect "$status" 1 "exit status"
    expect_match "$output" "CUTOUT_DISABLE=1: the library does nothing at all"
    expect_match "$output" "panel +$CUTOUT_PANEL"
    CUTOUT_RULES=$PWD/missing.rules run cutout doctor true
    expect "$status" 1 "exit status"
    expect_match "$output" "missing.rules: No such file or directory"
    refuses 1 "no-such-program: not found in PATH" "$CUTOUT" doctor no-such-program
    cat >go.c <<'END'
__asm__(".section .note.go.buildid,\"a\",@note\n.long 4, 4, 4\n.asciz \"Go\\0\"\n.long 0\n");
int main(void) { return 0; }
END
    "${CC:-cc}" -o go go.c
    run cutout doctor ./go
    expect "$status" 1 "exit status"
    expect_match "$output" "it is a Go program.*verdict +can be protected in part"
    no_shared_memory() {
        echo 0 >/proc/sys/kernel/shmmni
        local status=0
        cutout doctor true >out || status=$?
        expect "$status" 1 "exit status"
        expect_match "$(cat out)" "memory +private to each process and its children: no System V shared memory \(.*\).*in part"
    }
    in_own_ipc no_shared_memory
}

@test "panels lists each panel with its owner, processes, breakers and rules" {
    rules '[default]'
    fill_panel <<'END'
make default tcp://10.9.0.1:80
call success 1 3
END
    run cutout panels
    expect_match "${lines[0]}" "^PANEL +USER +PROCESSES +BREAKERS +RESIDENT +LAST CALL$"
    expect_match "$output" "$CUTOUT_PANEL +root +1 +1 +[0-9.]+ [kM]B +[0-9.]+s"$'\n'"  rules $PWD/cutout.rules"
}

@test "panels --prune removes what nobody is attached to, and nothing else" {
    prune() {
        cutout run -p idle true
        CUTOUT_PANEL=busy fill_panel </dev/null
        cutout run -p idle2 true
        expect "$(cutout panels --prune)" $'removed idle of root\nremoved idle2 of root'
        expect "$(cutout status --json | jq -c '[.panels[].panel]')" '["busy"]'
        expect "$(cutout panels --prune)" ""
        expect "$(awk 'NR > 1' /proc/sysvipc/shm | wc -l)" 1 "segments"
        expect "$(awk 'NR > 1' /proc/sysvipc/sem | wc -l)" 1 "semaphore sets"
    }
    in_own_ipc prune
}

@test "panels --remove removes one, in use or not, and says who goes on with it" {
    cutout run true
    expect "$(cutout panels --remove "$CUTOUT_PANEL")" "removed $CUTOUT_PANEL of root"
    refuses 1 "there is no panel $CUTOUT_PANEL" "$CUTOUT" panels --remove "$CUTOUT_PANEL"
    fill_panel </dev/null
    expect "$(cutout panels --remove="root/$CUTOUT_PANEL")" \
        "removed $CUTOUT_PANEL of root; 1 process goes on with it, unseen, to the end"
    run cutout status -p "$CUTOUT_PANEL"
    expect "$status" 1 "exit status"
}

@test "make install puts everything in its place, where it works; make uninstall takes it away" {
    mkdir built
    cp "$CUTOUT" "$SHIM" built
    make -s -C "$ROOT" -o all B="$PWD/built" PREFIX=/opt/x DESTDIR="$PWD/dest" install
    (cd dest/opt/x && find . -type f | sort) >files
    for file in ./bin/cutout ./lib/cutout/libcutout.so ./share/cutout/rules/presets.rules \
        ./share/cutout/rules/example.rules ./share/man/man1/cutout.1 ./share/man/man5/cutout.rules.5 \
        ./share/man/man7/libcutout.7; do
        grep -qxF "$file" files || fail "$file is not there" "$(cat files)"
    done
    expect "$("$PWD/dest/opt/x/bin/cutout" run sh -c 'echo "$LD_PRELOAD"')" "$PWD/dest/opt/x/lib/cutout/libcutout.so"
    make -s -C "$ROOT" B="$PWD/built" PREFIX=/opt/x DESTDIR="$PWD/dest" uninstall
    expect "$(find dest -type f)" "" "files left"
}
