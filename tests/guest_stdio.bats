#!/usr/bin/env bats
# Exchanges that pass inside stdio, or in a child's program, where no preload sees them: the kernel's counters tell
# how they ended.

load helpers

setup_file() {
    bats_require_minimum_version 1.5.0
}

# talk ACTION...: one guarded connection to the server, its exchange in stdio.
talk() {
    guarded "$BUILD/tests/guest_stdio" "$PORT" "$@"
}

# expect_totals CALLS ERRORS IGNORED: of the server's breaker.
expect_totals() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors) \(.ignored)"' "$1 $2 $3"
}

# expect_error REASON COUNT
expect_error() {
    expect_breaker "$(here)" ".errors.$1" "$2"
}

line_server() {
    start_server
    server speak line >/dev/null
}

@test "an exchange through a stream is one call, and a good one" {
    line_server
    expect "$(talk open say GET hear fclose)" ok
    expect_totals 1 0 0
    # Only what is sent passes stdio, or only what is received, or the end is another.
    expect "$(talk write GET open hear fclose)" ok
    expect_totals 2 0 0
    expect "$(talk open say GET read fclose)" ok
    expect_totals 3 0 0
    expect "$(talk open say GET hear close)" ok
    expect_totals 4 0 0
    expect "$(talk open say GET hear exit)" ok
    expect_totals 5 0 0
    expect "$(talk open say GET hear say GET hear fclose)" $'ok\nok'
    expect_totals 6 0 0
    server_counts requests 7
}

@test "a server that speaks first to a stream has answered" {
    line_server
    server greet hello
    expect "$(talk open hear fclose)" hello
    expect_totals 1 0 0
    expect "$(talk open hear say GET hear fclose)" $'hello\nok'
    expect_totals 2 0 0
}

@test "what lies unread is no exchange, and a mere connect to what has answered none either" {
    line_server
    server greet hello
    talk open hear fclose
    talk open poll 5000 fclose
    talk poll 5000 close
    talk close
    expect_totals 1 0 3
    # Where no answer was ever taken the connect is the call.
    start_server
    talk close
    expect_totals 1 0 0
}

@test "a request through a stream that is not answered is given up by the same rule as any other" {
    rules '[default]
slow_call = 400ms
slow_ratio = off'
    line_server
    talk open say GET hear fclose
    server hang
    talk open say GET poll 50 fclose # waited in vain
    expect_error timeout 1
    talk open say GET fclose # went away at once
    expect_totals 2 1 1
    talk open say GET sleep 600 fclose # after longer than slow_call
    expect_error timeout 2
    talk open say GET sleep 600 exit
    expect_error timeout 3
    expect_totals 4 3 1
}

@test "a stream that meets the end, or a reset, instead of an answer has failed so" {
    line_server
    server drop
    expect "$(talk open say GET hear fclose)" end
    expect_error closed 1
    expect "$(talk write GET open hear fclose)" end
    expect_error closed 2
    expect "$(talk open say GET shut hear fclose)" end # the program had ended its side
    expect_totals 2 2 1
    server reset
    expect "$(talk open say GET hear fclose)" ECONNRESET
    expect "$(talk write GET open hear close)" ECONNRESET
    expect_error reset 2
    expect_totals 4 4 1
    # It never looked: nothing says that it was told.
    talk open say GET sleep 100 fclose
    server drop
    talk open say GET sleep 100 fclose
    expect_totals 4 4 3
}

@test "five streams that fail in a row open the breaker, and it rejects the next" {
    line_server
    server drop
    for _ in 1 2 3 4 5; do
        talk open say GET hear fclose
        sleep 0.11
    done
    expect_state "$(here)" open
    run -7 talk open say GET hear fclose
    server_counts connections 5
}

@test "how long a one-line answer took is known, and slow is slow" {
    rules '[default]
slow_call = 200ms
slow_ratio = 100%
min_calls = 100'
    line_server
    server answer 400
    talk open say GET hear fclose
    expect_breaker "$(here)" .total.slow 1
    talk write GET open hear fclose
    expect_breaker "$(here)" .total.slow 2
    # Time that the program let pass before it spoke, or after it was answered, is its own.
    server answer
    talk sleep 400 open say GET hear sleep 400 fclose
    expect_totals 3 0 0
    expect_breaker "$(here)" .total.slow 2
}

@test "a stream that has been answered, and stays, does not hang" {
    rules '[default]
slow_call = 100ms
min_calls = 2'
    line_server
    talk open say GET hear fclose
    start_guarded stays.out "$BUILD/tests/guest_stdio" "$PORT" open write GET hear sleep 1000 fclose
    retry_until 5 grep -q ok stays.out
    sleep 0.3
    talk open say GET hear fclose
    expect_breaker "$(here)" '"\(.state) \(.window.overdue)"' "closed 0"
    wait "$STARTED_PID"
    expect_totals 3 0 0
    expect_breaker "$(here)" .total.slow 0
}

@test "an exchange that a child makes on its parent's connection counts for the parent's call" {
    line_server
    expect "$(talk open fork say GET fork hear fclose)" ok
    expect_totals 1 0 0
    expect "$(talk write GET fork read close)" ok
    expect_totals 2 0 0
}

@test "bash's /dev/tcp: written through stdio, read by the shell, by a child, or not at all" {
    local script='exec 3<>"/dev/tcp/127.0.0.1/$1"; printf "GET / HTTP/1.0\r\n\r\n" >&3; '
    start_server
    expect "$(guarded bash -c "$script"'read -r line <&3; exec 3>&-; echo "${line%$'"'\r'"'}"' bash "$PORT")" "HTTP/1.1 200 OK"
    expect_totals 1 0 0
    expect "$(guarded bash -c "$script"'head -1 <&3 | tr -d "\r"; exec 3>&-' bash "$PORT")" "HTTP/1.1 200 OK"
    expect_totals 2 0 0
    expect "$(guarded bash -c "$script"'head -1 <&3 | tr -d "\r"' bash "$PORT")" "HTTP/1.1 200 OK"
    expect_totals 3 0 0
    server drop
    guarded bash -c "$script"'read -r line <&3' bash "$PORT" || true
    guarded bash -c "$script"'cat <&3; exec 3>&-' bash "$PORT"
    expect_error closed 2
    server reset
    guarded bash -c "$script"'read -r line <&3' bash "$PORT" 2>bash.err || true
    guarded bash -c "$script"'cat <&3; exec 3>&-' bash "$PORT" 2>bash.err || true
    expect_error reset 2
    server hang
    guarded bash -c "$script"'read -t 0.1 -r line <&3; exec 3>&-' bash "$PORT" || true
    expect_error timeout 1
    expect_totals 8 5 0
    server_counts requests 8
}

@test "whois: the request written, the answer heard in stdio" {
    line_server
    expect "$(guarded whois -h 127.0.0.1 -p "$PORT" example.org)" ok
    expect_totals 1 0 0
    server drop
    guarded whois -h 127.0.0.1 -p "$PORT" example.org
    expect_error closed 1
}

@test "where the kernel does not count, nothing is made up" {
    rules '[default]
slow_call = 200ms
slow_ratio = off'
    # without_counters COUNTERS...: the first thing that the guest asks is answered so.
    without_counters() {
        "${LIMIT[@]}" strace -f -qqq -o strace.out -e trace=getsockopt -e inject="getsockopt:$1:when=1" \
            -E LD_PRELOAD="$SHIM" "$BUILD/tests/guest_stdio" "$PORT" "${@:2}"
        grep -q INJECTED strace.out || fail "nothing was changed: $(cat strace.out)"
    }
    local counters
    line_server
    talk open say GET hear fclose
    # As long as before Linux 4.2; full of zeros; not there at all.
    for counters in poke_exit=@arg5=68000000 poke_exit=@arg4="$(printf '00%.0s' {1..232})" error=ENOPROTOOPT; do
        expect "$(without_counters "$counters" open say GET hear fclose)" ok
        expect "$(without_counters "$counters" open say GET sleep 300 fclose)" ""
    done
    expect_totals 1 0 6
}
