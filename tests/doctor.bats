#!/usr/bin/env bats
# What cutout doctor says of a process that runs.

load helpers
load panel_fixture

# sleeping COMMAND...: starts a command in the background that ends with the test; its process is $STARTED_PID.
sleeping() {
    background "$@" </dev/null >sleeping.out 2>&1
}

# examined PID STATUS: doctor's report of it is in $output.
examined() {
    run cutout doctor "$1"
    expect "$status" "$2" "exit status"
}

# says REGEX: the report has a line like it.
says() {
    grep -qE "^$1\$" <<<"$output" || fail "no line like '$1' in" "$output"
}

# sleeps PID [NAME]: what was started has become that program, and has gone to sleep.
sleeps() {
    [[ $(readlink "/proc/$1/exe") == */"${2:-sleep}" && $(cat "/proc/$1/stat") == *") S "* ]]
}

@test "of a protected process doctor names program, library, version, panel and rules" {
    local version
    rules '[here]
match = 127.0.0.1'
    sleeping env LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    version=$(sed -n 's/^VERSION *:= *//p' "$BATS_TEST_DIRNAME/../Makefile")
    examined "$STARTED_PID" 0
    says "process   $STARTED_PID /.*/sleep"
    says "library   $SHIM"
    says "version   $version"
    says "panel     $CUTOUT_PANEL, shared by 1 process now"
    says "rules     $PWD/cutout.rules, loaded 20.*Z"
    says "seen      0 connections so far"
    says "verdict   is protected"
    expect "${#lines[@]}" 7 "lines"
}

@test "doctor counts the connections that a process has made, not those that its parent made" {
    start_server
    cat >client.py <<'END'
import os, socket, sys, time
for _ in range(3):
    kept = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
child = os.fork()
if child == 0:
    time.sleep(60)
print(child, flush=True)
time.sleep(60)
END
    background env LD_PRELOAD="$SHIM" "$(python3 -c 'import sys; print(sys.executable)')" client.py "$PORT" >children
    retry_until 10 grep -q . children
    STARTED+=("$(cat children)")
    examined "$STARTED_PID" 0
    says "seen      3 connections, each duplicate of a descriptor one more"
    examined "$(cat children)" 0
    says "          a child that was forked: it gets a place of its own there with its first call"
}

@test "doctor says why a process is not protected" {
    "${CC:-cc}" -static -x c -o static - <<<'#include <unistd.h>
int main(void) { sleep(60); }'
    sleeping sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 1
    says "library   none: it runs without cutout"
    says "          it was started without LD_PRELOAD in its environment"
    says "verdict   is not protected"
    sleeping env LD_PRELOAD=/nonexistent/libcutout.so sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 1
    says "          it was started with LD_PRELOAD=/nonexistent/libcutout.so"
    sleeping env LD_PRELOAD="$SHIM" ./static
    retry_until 10 sleeps "$STARTED_PID" static
    examined "$STARTED_PID" 1
    says "          its program is statically linked: it loads no library"
    cp "$(type -P sleep)" suid
    chmod 4755 suid
    chmod o+x "$BATS_RUN_TMPDIR"
    sleeping setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$SHIM" ./suid 60
    retry_until 10 sleeps "$STARTED_PID" suid
    examined "$STARTED_PID" 1
    says "          it was started with rights that its starter lacked: the loader preloads nothing"
}

@test "doctor says what the environment makes of a process" {
    sleeping env CUTOUT_DISABLE=1 LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 1
    says "state     it does nothing: CUTOUT_DISABLE=1"
    says "verdict   is not protected"
    sleeping env CUTOUT_MODE=off LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 1
    says "state     it does nothing: CUTOUT_MODE=off"
    sleeping env CUTOUT_MODE=observe LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 0
    says "mode      observe, by CUTOUT_MODE"
    says "verdict   is watched: nothing is rejected"
    sleeping env CUTOUT_RULES="$PWD/none.rules" LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 1
    says "rules     $PWD/none.rules"
    says "          $PWD/none.rules: No such file or directory"
    says "          until they can be loaded, nothing is rejected"
    says "verdict   is protected in part"
    sleeping env CUTOUT_RULES="$PWD/other.rules" LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 1
    says "          it named $PWD/other.rules, and joined a panel that has these"
}

@test "doctor sees that the library's file was replaced, whatever its name is" {
    cp "$SHIM" other-name.so
    sleeping env LD_PRELOAD="$PWD/other-name.so" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 0
    says "library   $PWD/other-name.so"
    cp "$SHIM" new
    mv new other-name.so
    examined "$STARTED_PID" 0
    says "library   $PWD/other-name.so"
    says "          that file is gone or has been replaced since: .*"
    says "version   .*"
    says "verdict   is protected"
}

@test "doctor says why memory is private, and where it is another namespace's" {
    private_memory() {
        echo 0 >/proc/sys/kernel/shmmni
        LD_PRELOAD=$SHIM sleep 60 &
        STARTED_PID=$!
        retry_until 10 sleeps "$STARTED_PID"
        run cutout doctor "$STARTED_PID"
        kill "$STARTED_PID"
        expect "$status" 1 "exit status"
        says "panel     private to this process and the children that it forks"
        says "          no shared memory was to be had: No space left on device"
        says "verdict   is protected in part"
    }
    export SHIM
    in_own_ipc private_memory
    sleeping unshare --ipc env LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 0
    says "panel     $CUTOUT_PANEL, shared in another IPC namespace, where this command cannot look"
}

@test "doctor sees that a panel was removed under a process" {
    sleeping env LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    examined "$STARTED_PID" 0
    cutout panels --remove "$CUTOUT_PANEL"
    examined "$STARTED_PID" 1
    says "          it has been removed: who comes now joins another one"
}

@test "doctor tells of a system-call filter that a process has installed" {
    background env LD_PRELOAD="$SHIM" "$BUILD/tests/guest_filter" >filter.out
    retry_until 10 grep -q in filter.out
    examined "$STARTED_PID" 1
    says "sandbox   it has installed a system-call filter \(seccomp\):"
    says "          new connections are counted, and no longer rejected"
    says "verdict   is protected in part"
}

@test "where a process's memory cannot be read, doctor says what is seen from outside" {
    sleeping env CUTOUT_MODE=observe LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    run unshare --mount bash -c 'mount --bind /dev/null "/proc/$1/mem" && exec "$2" doctor "$1"' doctor "$STARTED_PID" "$CUTOUT"
    expect "$status" 0 "exit status"
    says "library   $SHIM"
    says "          its memory cannot be read \(.*\): what follows is seen from outside"
    says "panel     $CUTOUT_PANEL, shared by 1 process now"
    says "version   [0-9.]*"
    says "verdict   is watched: nothing is rejected"
    sleeping env CUTOUT_DISABLE=1 LD_PRELOAD="$SHIM" sleep 60
    retry_until 10 sleeps "$STARTED_PID"
    run unshare --mount bash -c 'mount --bind /dev/null "/proc/$1/mem" && exec "$2" doctor "$1"' doctor "$STARTED_PID" "$CUTOUT"
    expect "$status" 1 "exit status"
    says "state     it does nothing: it has no panel"
}

@test "doctor --tree looks at what a process has started, too" {
    cat >tree.sh <<'END'
sleep 60 &
env -u LD_PRELOAD sh -c 'sleep 60 & wait' &
echo started >>tree.out
wait
END
    background env LD_PRELOAD="$SHIM" sh tree.sh
    retry_until 10 eval '(($(pgrep -c -P "$(pgrep -P "$STARTED_PID" -x sh)") == 1))'
    run cutout doctor --tree "$STARTED_PID"
    expect "$status" 1 "exit status"
    expect "$(grep -c '^process ' <<<"$output")" 4 "processes"
    expect "$(grep -c '^verdict   is protected$' <<<"$output")" 2 "protected processes"
    says "2 of 4 processes are protected"
    run cutout doctor "$STARTED_PID" --tree
    expect "$status" 1 "exit status"
    # The shell between is of no avail to the one below it.
    run cutout doctor --tree "$(pgrep -P "$STARTED_PID" -x sleep)"
    expect "$status" 0 "exit status"
    says "1 of 1 processes is protected"
    pkill -P "$(pgrep -P "$STARTED_PID" -x sh)" || true
    pkill -P "$STARTED_PID" || true
}

@test "doctor reports a process that is not there, or not to be looked at" {
    local pid
    sleeping sleep 60
    pid=$STARTED_PID
    retry_until 10 sleeps "$pid"
    chmod o+x "$BATS_RUN_TMPDIR"
    run setpriv --reuid=65534 --regid=65534 --clear-groups "${LIMIT[@]}" bash -c '"$0" doctor "$1"' "$CUTOUT" "$pid"
    expect "$status $output" "1 cutout: process $pid is not yours to look into: Operation not permitted"
    kill "$pid"
    wait "$pid" 2>wait.err || true
    run cutout doctor "$pid"
    expect "$status $output" "1 cutout: there is no process $pid"
    run cutout doctor --tree "$pid"
    expect "$status $output" "1 cutout: there is no process $pid"
    run cutout doctor 99999999999999999999
    expect "$status $output" "1 cutout: there is no process of that number"
    run cutout doctor 2
    expect "$status" 1 "exit status"
    run cutout doctor --tree true
    expect "$status" 2 "exit status"
    expect_match "$output" "^cutout: doctor: --tree is for a process that runs, by its PID"
    run cutout doctor ''
    expect "$status" 2 "exit status"
}
