#!/usr/bin/env bats
# Name look-ups are calls of their own, on dns://name. The resolver is one of the tests, on a loopback address;
# resolv.conf is bound over in a mount namespace, so these tests need root.

load helpers

# start_resolver: a name server on a loopback address of its own; what it was asked is in asked.
start_resolver() {
    local attempt
    for attempt in {1..5}; do
        RESOLVER=127.$((RANDOM % 250 + 2)).$((RANDOM % 250 + 2)).$((RANDOM % 250 + 2))
        background "$PROGRAMS/server_dns.py" "$RESOLVER" >asked 2>"asked.err.$attempt"
        if retry_until 10 grep -q ready asked; then
            return 0
        fi
    done
    fail "no name server" "$(cat asked.err.*)"
}

# asking COMMAND...: runs it guarded, with $RESOLVER as the only name server.
asking() {
    printf 'nameserver %s\noptions timeout:1 attempts:1\n' "$RESOLVER" >resolv.conf
    printf 'hosts: files dns\n' >nsswitch.conf
    # shellcheck disable=SC2016  # expanded in the new namespace
    "${LIMIT[@]}" unshare -m sh -c 'mount --bind resolv.conf /etc/resolv.conf &&
        mount --bind nsswitch.conf /etc/nsswitch.conf && exec env LD_PRELOAD="$0" "$@"' "$SHIM" "$@"
}

# ask_apart NAME COUNT: curls to that name, which begin 150 ms apart and must all fail to resolve it.
ask_apart() {
    local number status
    for ((number = 0; number < $2; number++)); do
        ((number == 0)) || sleep 0.15
        status=0
        asking curl -sS "http://$1:9/" 2>curl.err || status=$?
        expect "$status" 6 "exit status of curl"
        expect_match "$(cat curl.err)" "Could not resolve host"
    done
}

times_asked() {
    grep -c "^$1$" asked || true
}

@test "a name that does not exist is an answer, not a failure" {
    start_resolver
    ask_apart absent.test 6
    expect_breaker dns://absent.test '.state, .total.calls, .total.errors' $'closed\n6\n0'
}

@test "failing look-ups are observed, and never rejected without a rule that names them" {
    start_resolver
    ask_apart ill.test 7
    expect "$(times_asked ill)" 7 "times the name server was asked"
    expect_breaker dns://ill.test '.state, .mode, .total.rejected, .total.would_reject' $'open\nobserve\n0\n2'
    expect "$(causes dns://ill.test)" "closed>open:consecutive_errors"
    expect_reasons dns://ill.test "dns 5"
}

@test "a resolver that is down makes look-ups fail, which is observed" {
    RESOLVER=127.$((RANDOM % 250 + 2)).$((RANDOM % 250 + 2)).$((RANDOM % 250 + 2))
    ask_apart down.test 6
    expect_breaker dns://down.test '.state, .mode, .total.rejected' $'open\nobserve\n0'
}

@test "a rule that names dns:// rejects look-ups as a resolver out of order would answer them" {
    rules '
[resolver]
match = dns://*.test
'
    start_resolver
    ask_apart ill.test 5
    expect_breaker dns://ill.test '.rule, .state' $'resolver\nopen'

    ask_apart ill.test 1
    run asking /usr/bin/python3 -c 'import socket; socket.getaddrinfo("ill.test", 80)'
    expect_match "$output" "gaierror: \[Errno -3\] Temporary failure in name resolution"
    run asking getent hosts ill.test
    expect "$status" 2 "exit status of getent"
    expect "$(times_asked ill)" 5 "times the name server was asked"
    # getent asks twice: for an IPv6 address, then for an IPv4 one.
    expect_breaker dns://ill.test .total.rejected 4
    # Another name has a breaker of its own.
    asking getent hosts ok.test
}

@test "a rule covers the address that a host name led to" {
    rules '
[payments]
match = ok-payments.test
'
    start_resolver
    start_server
    asking curl -sS "http://ok-payments.test:$PORT/"
    expect_breaker "$(here)" '.rule, .name' "payments"$'\n'"ok-payments.test:$PORT"
    fetch "$PORT"
    expect "$(breakers '.rule' | sort | tr '\n' ' ')" "default default payments " "rules"
}

@test "a rule that matches localhost covers what is called by that name, and localhost is no look-up" {
    rules '
[near]
match = localhost'
    start_server
    guarded wget -4 -q -O fetched "http://localhost:$PORT/"
    expect_breaker "$(here)" '.rule, .name, .total.calls' "near
localhost:$PORT
1"
    expect "$(breakers 'select(.destination | startswith("dns://")) | .destination')" ""
}
