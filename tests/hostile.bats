#!/usr/bin/env bats
# Places and programs that nobody thought of when they wrote the rest.

load helpers

@test "a container's first process keeps its connections over the children that it makes by vfork" {
    start_server
    expect "$(guarded unshare --pid --fork --mount-proc /usr/bin/python3 "$PROGRAMS/client_children.py" "$PORT" 3)" \
        "answered 2"
    expect_breaker "$(here)" '.total.calls, .total.errors, .total.ignored' $'2\n0\n0'
}

@test "a program whose address space is limited keeps it: no panel is mapped, and run and doctor say so" {
    start_server
    "${LIMIT[@]}" prlimit --as=100000000 env LD_PRELOAD="$SHIM" curl -sS -o answer "http://127.0.0.1:$PORT/"
    expect "$("${LIMIT[@]}" "$CUTOUT" panels | grep -c "^$CUTOUT_PANEL ")" 0 "panels"
    run "${LIMIT[@]}" prlimit --as=200000000 "$CUTOUT" run -- /bin/true
    expect "$status" 125 "exit status of run"
    expect_match "$output" "address space is limited"
    run "${LIMIT[@]}" prlimit --as=200000000 "$CUTOUT" doctor /bin/true
    expect_match "$output" "address space is limited.*cannot be protected"
    # With room enough it is protected as ever.
    guarded prlimit --as=1000000000 curl -sS -o answer "http://127.0.0.1:$PORT/"
    expect_breaker "$(here)" '.total.calls, .total.errors' $'1\n0'
}
