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

@test "a program that only asks whether there are system-call filters is protected as before" {
    start_server
    server refuse >/dev/null
    guarded /usr/bin/python3 -c 'import ctypes, os, socket, sys
libc = ctypes.CDLL(None)
prctl, seccomp = {"x86_64": (157, 317), "aarch64": (167, 277)}[os.uname().machine]
# PR_SET_SECCOMP with a filter at no address, and SECCOMP_SET_MODE_STRICT with a flag that it does not take.
assert libc.prctl(22, 2, 0, 0, 0) == -1 and libc.syscall(prctl, 22, 2, 0, 0, 0) == -1
assert libc.syscall(seccomp, 0, 1, 0) == -1
for _ in range(12):
    with socket.socket() as peer:
        assert peer.connect_ex(("127.0.0.1", int(sys.argv[1]))) == 111' "$PORT"
    expect_breaker "$(here)" '.state, .total.calls, .total.rejected' $'open\n10\n2'
}
