#!/usr/bin/env bats
# What the engine promises, in virtual time: each sentence of its rules at the edge and one unit to either side; then the
# same engine under 16 threads in 4 processes, and under the sanitizers.

load helpers

# Nothing here needs a panel.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
}
teardown() {
    true
}

# cases PROGRAM CASE...: runs each case of a test program.
cases() {
    local name
    for name in "${@:2}"; do
        "${LIMIT[@]}" "$BUILD/tests/$1" "$name" || fail "$1 $name"
    done
}

# build SANITIZERS PROGRAM...: the engine and test programs with those sanitizers; prints where they are.
build() {
    local source=$BATS_TEST_DIRNAME/.. directory=$BATS_FILE_TMPDIR/$1 objects=() file
    for file in "$source"/lib/*.c; do
        file=${file##*/}
        objects+=("$directory/obj/lib/${file%.c}.o")
    done
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "${LIMIT[@]}" make -s -j 2 -C "$source" CC="${CC:-cc}" SAN="$1" \
        B="$directory" "${objects[@]}" || return
    printf '%s\n' "${@:2}" | xargs -P 2 -I{} "${LIMIT[@]}" "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -g \
        -fsanitize="$1" -I"$source" -o "$directory/{}" "$source/tests/programs/{}.c" "${objects[@]}" -pthread || return
    echo "$directory"
}

# sanitized PROGRAM [ARGUMENT...]: runs it with the memory layout that sanitizers know, where that can be had.
sanitized() {
    local fixed=()
    ! setarch -R true 2>/dev/null || fixed=(setarch -R)
    TSAN_OPTIONS=halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        "${LIMIT[@]}" "${fixed[@]}" "$@" || fail "$*"
}

# --- the window

@test "the window is the current slice of time and those before it, to the microsecond" {
    cases engine_window aligned span
}

@test "after an idle gap of any length the window is empty" {
    cases engine_window idle_gap
}

@test "a late clock counts with the newest one, and a time that nobody can have seen is not believed" {
    cases engine_window older_time scribbled extremes
}

@test "a bucket that is full keeps the ratios of what it holds" {
    cases engine_window saturated
}

@test "a new era begins with an empty window" {
    cases engine_window generation
}

@test "whatever another process scribbles over a window, no sum shows more errors than calls" {
    cases engine_window scribbled_shape
}

@test "random calls add up to what a recount of all of them says" {
    "${LIMIT[@]}" "$BUILD/tests/engine_recount"
}

# --- the verdict

@test "below min_calls no ratio trips, and a success can be the call that reaches it" {
    cases engine_verdict min_calls
}

@test "error_ratio trips when it is reached, exactly: 57 of 100 calls are 57 %" {
    cases engine_verdict error_ratio
}

@test "slow is longer than slow_call, to the nanosecond; slow_ratio wants min_slow_calls too" {
    cases engine_verdict slow_call slow_ratio min_slow_calls
}

@test "a slow_call that no person wrote never trips and fails no probe" {
    cases engine_verdict unwritten
    cases engine_half_open slow
}

@test "what is ignored or has rolled out of the window judges nothing" {
    cases engine_verdict ignored window scribbled
}

@test "a trip names the first cause that holds and the counts of that moment, the tripping call included" {
    cases engine_verdict order counts
}

@test "consecutive_errors trips at the Nth failure in a row, however long that takes" {
    cases engine_row number long success_between ignored_between closing generation_comes_again
}

@test "a burst is one failure: those that begin within 100 ms of the last that counted do not" {
    cases engine_row burst
}

@test "consecutive_errors decides below min_calls, and everywhere once error_ratio is off" {
    cases engine_row min_calls ratio_off saturated
}

# --- the states

@test "a breaker of zeroes is closed, and an open one rejects everything" {
    cases engine_open zero rejects
}

@test "the first call at open_for is the first probe, not one a microsecond earlier" {
    cases engine_open open_for deadline_wraps opens_in_a_row
}

@test "a result is judged only in the era that admitted its call" {
    cases engine_open late generation_wraps
    cases engine_held_up failure success past_connect control
}

@test "whether a destination has ever answered is known of it from then on" {
    cases engine_open answered
}

@test "observe runs the same machine and rejects nothing" {
    cases engine_open observe
    cases engine_door observe
}

@test "never more than probes calls pass in HALF_OPEN; all good ones close it, the first bad one opens it" {
    cases engine_half_open probes one_by_one failed
}

@test "an ignored probe gives its permit back" {
    cases engine_half_open ignored
}

@test "HALF_OPEN is never stuck: probe_timeout opens it, a TLS answer counts until then" {
    cases engine_half_open probe_timeout answered older_time
    cases engine_permit scribbled
}

@test "the permits of processes that are gone are given out again, those of the living are not" {
    cases engine_permit holder gone overtaken generation_comes_again other_number
}

@test "the door shuts, the guests stay: failed connects alone reject connects alone" {
    cases engine_door refused one_past window slow gate
}

@test "reopening keeps the guests, unless a probe failed or was slow past its connect" {
    cases engine_door reopening
}

@test "other rules keep state, deadline and counts; only another shape empties the window" {
    cases engine_adopt keeps shape open half_open back
}

# --- calls

@test "a connect and its first exchange are one call, and idle time is not response time" {
    cases engine_conversation folded server_first
}

@test "64 KiB wait from the first send, one byte more from the last" {
    cases engine_conversation long_request
}

@test "a peek, a pipeline, an answer in pieces are one call; bytes that nobody asked for are none" {
    cases engine_conversation one_call
}

@test "a send that would block takes its call back" {
    cases engine_conversation unsent
}

@test "a connection begins afresh on a descriptor that has served others" {
    cases engine_conversation again
}

@test "a failed connect is one failed call, whichever call brings the news" {
    cases engine_conversation connect_fails
}

@test "judge says which exchanges are calls, and auto goes by the first bytes, however they are cut" {
    cases engine_judge connect first every auto answered_first recognised
}

@test "a connection closed without an exchange is ignored" {
    cases engine_leave no_exchange
    cases engine_tls spare
}

@test "giving up is a failure after a time-out or after long, and never once the answer has arrived" {
    cases engine_leave timed_out long
}

@test "what passed unseen is learned from the kernel when the program leaves" {
    cases engine_leave unseen
}

@test "errors and ends of streams fail the call that they cut, but not one on a stale connection" {
    cases engine_leave errors stale
}

@test "what was outstanding at a fork is the parent's" {
    cases engine_leave fork
}

@test "a TLS handshake is folded into the first call, in both versions and cut at every byte" {
    cases engine_tls handshake cut many sealed
}

@test "a TLS handshake is a call of its own only when it fails" {
    cases engine_tls handshake_fails
}

@test "session tickets do not answer a TLS request: its longest wait is its response time" {
    cases engine_tls waits ends close_notify
}

@test "random events on a connection: each call ends once, and no wait is longer than time passed" {
    "${LIMIT[@]}" "$BUILD/tests/engine_random"
}

# --- threads and processes

@test "threads that send, receive and close one connection at once: each call ends exactly once" {
    "${LIMIT[@]}" "$BUILD/tests/engine_race"
}

@test "16 threads in 4 processes lose no call and count none in the wrong era" {
    "${LIMIT[@]}" "$BUILD/tests/engine_hammer"
}

@test "16 threads in 4 processes: totals are exact, probes never too many, each change reported once" {
    cases engine_contend run
}

@test "processes killed at any moment leave no breaker stuck" {
    cases engine_contend killed
}

# mutant NAME SED: the hammer over a lib/window.c that is so mistaken must fail, by what it asserts.
mutant() {
    local source=$BATS_TEST_DIRNAME/..
    mkdir -p "$1/lib"
    sed "$2" "$source/lib/window.c" >"$1/lib/window.c"
    ! cmp -s "$source/lib/window.c" "$1/lib/window.c" || fail "$1: lib/window.c has no such line any more"
    "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -I"$1" -I"$source" -o "$1/hammer" \
        "$source/tests/programs/engine_hammer.c" -pthread
    local out ended=0
    out=$("${LIMIT[@]}" "$1/hammer" 8 2>&1) || ended=$?
    ((ended == 1)) || fail "$1: not found out" "$out"
    expect_match "$out" "does not hold: ($3)"
}

@test "the hammer finds out a window that looks and then adds" {
    mutant fetch_add 's/if (atomic64_swap_acq_rel(word, &seen, next)) {/if ((seen \& TAG_MASK) == tag ? (atomic64_add_relaxed(word, 1), true) : atomic64_swap_acq_rel(word, \&seen, next)) {/' wrong
}

@test "the hammer finds out a window that recycles a bucket without looking again" {
    mutant generation 's/if (control_generation(.*control)) != generation) {/if (false) {/' evicted
    mutant pace 's/if (atomic64_load_acquire(&window->pace) != number) {/if (false) {/' evicted
    mutant beside 's/if ((atomic64_load_acquire(calls) & TAG_MASK) != tag) {/if (false) {/' evicted
    mutant reread 's/next = tag | 1;/& seen = atomic64_load_acquire(word);/' 'wrong|evicted'
}

# --- sanitizers

@test "the engine's threads and processes under ThreadSanitizer: no report" {
    local directory
    directory=$(build thread engine_hammer engine_contend engine_race)
    sanitized "$directory/engine_hammer" 2
    ENGINE_ROUNDS=2 sanitized "$directory/engine_contend" run
    ENGINE_ROUNDS=2000 sanitized "$directory/engine_race"
}

@test "the engine under AddressSanitizer and UBSan: no report" {
    local directory program
    directory=$(build address,undefined engine_{conversation,hammer,permit,random,recount,tls,verdict})
    for program in "$directory"/engine_*; do
        ENGINE_ROUNDS=1000 sanitized "$program"
    done
}
