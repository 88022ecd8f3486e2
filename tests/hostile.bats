#!/usr/bin/env bats
# Places and programs that nobody thought of when they wrote the rest.

load helpers

@test "a container's first process keeps its connections over the children that it makes by vfork" {
    start_server
    expect "$(guarded unshare --pid --fork --mount-proc /usr/bin/python3 "$PROGRAMS/client_children.py" "$PORT" 3)" \
        "answered 2"
    expect_breaker "$(here)" '.total.calls, .total.errors, .total.ignored' $'2\n0\n0'
}
