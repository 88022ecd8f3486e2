# shellcheck shell=bash
# What the tests share. Loaded by every file: `load helpers`.
#
# Each test has a panel of its own, removed afterwards like every process it started. Nothing here sleeps for a
# state: retry_until asks again until it holds.

BUILD=$(realpath "${BUILD:-$BATS_TEST_DIRNAME/../build}")
CUTOUT=$BUILD/cutout
SHIM=$BUILD/libcutout.so
# shellcheck disable=SC2034  # used by the tests
PROGRAMS=$BATS_TEST_DIRNAME/programs
COMMAND_LIMIT_S=30
# Every command of a test that could hang runs under this. `make test-long` needs more time.
LIMIT=(timeout -k 2 "${LIMIT_S:-$COMMAND_LIMIT_S}")

setup() {
    CUTOUT_PANEL=test-$$-$BATS_TEST_NUMBER-$RANDOM
    export CUTOUT_PANEL
    unset CUTOUT_RULES CUTOUT_MODE CUTOUT_DISABLE CUTOUT_GROUP LD_PRELOAD http_proxy HTTP_PROXY
    export http_proxy='' no_proxy='*' LC_ALL=C
    STARTED=()
    cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
    if [[ -z ${BATS_TEST_COMPLETED:-} ]]; then
        echo "--- status and events of the panel:"
        "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL" || true
        "${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL" || true
    fi
    local pid
    for pid in "${STARTED[@]}"; do
        kill -CONT "$pid" 2>/dev/null || true
        kill -KILL "$pid" 2>/dev/null || true
    done
    for pid in "${STARTED[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    "${LIMIT[@]}" "$CUTOUT" panels --remove "$CUTOUT_PANEL" >/dev/null 2>&1 || true
}

# fail MESSAGE...: ends the test.
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# retry_until SECONDS COMMAND...: asks until the command succeeds; fails at the deadline.
retry_until() {
    local deadline=$((SECONDS + $1 + 1))
    shift
    until "$@" >retry.out 2>&1; do
        if ((SECONDS >= deadline)); then
            fail "never came true: $*" "$(cat retry.out)"
            return 1
        fi
        sleep 0.02
    done
}

# expect ACTUAL EXPECTED [WHAT]: the two are the same.
expect() {
    [[ $1 == "$2" ]] || fail "${3:-value} is '$1', expected '$2'"
}

# expect_match TEXT REGEX [WHAT]
expect_match() {
    [[ $1 =~ $2 ]] || fail "${3:-text} does not match '$2':" "$1"
}

# background COMMAND...: starts it, to be killed at the end of the test; its process is $STARTED_PID.
background() {
    "$@" 3>&- &
    STARTED_PID=$!
    STARTED+=("$STARTED_PID")
}

# --- programs under the shim

# guarded COMMAND...: runs it under the shim, as a person would by LD_PRELOAD.
guarded() {
    "${LIMIT[@]}" env LD_PRELOAD="$SHIM" "$@"
}

# start_guarded OUT COMMAND...: the same in the background, its output in the file OUT.
start_guarded() {
    background env LD_PRELOAD="$SHIM" "${@:2}" >"$1" 2>&1
}

# fetch PORT [OPTION...]: one guarded curl; its exit status is curl's.
fetch() {
    guarded curl -sS -o fetched "${@:2}" "http://127.0.0.1:$1/" 2>fetch.err
}

# fetch_status PORT [OPTION...]: prints the exit status of one guarded curl, 0 for an answer.
fetch_status() {
    local status=0
    fetch "$@" || status=$?
    echo "$status"
}

# fetch_apart PORT COUNT [OPTION...]: guarded curls that begin 150 ms apart, as consecutive_errors wants them.
fetch_apart() {
    local number
    for ((number = 0; number < $2; number++)); do
        ((number == 0)) || sleep 0.15
        fetch "$1" "${@:3}" || true
    done
}

# fetch_many PORT COUNT [OPTION...]: guarded curls all at once, in the background; each leaves its exit status in
# many/N, its process in MANY_PIDS.
fetch_many() {
    local number
    rm -rf many
    mkdir many
    MANY_PIDS=()
    for ((number = 1; number <= $2; number++)); do
        background env LD_PRELOAD="$SHIM" curl -s -m "$COMMAND_LIMIT_S" -w '%{exitcode}\n' -o /dev/null "${@:3}" \
            "http://127.0.0.1:$1/" >"many/$number"
        MANY_PIDS+=("$STARTED_PID")
    done
}
# many_ended COUNT [STATUS]: exactly so many have ended (with that status).
many_ended() {
    expect "$(cat many/* | grep -c "^${2:-[0-9]*}$")" "$1" "curls ended"
}

# --- rules

# rules TEXT: a rules file of this test, in force for every guarded program from here on.
rules() {
    printf '%s\n' "$1" >cutout.rules
    rules_file "$PWD/cutout.rules"
}

# rules_file PATH: the same for a file that is there already, or is not.
rules_file() {
    export CUTOUT_RULES=$1
}

# --- servers

# start_server [ADDRESS [PORT]]: a server_flaky; its port is $PORT, its control port $CONTROL.
start_server() {
    local line=
    background "$BUILD/tests/server_flaky" "$@" >"server.$#.out"
    retry_until 10 grep -q control "server.$#.out"
    line=$(cat "server.$#.out")
    [[ $line =~ ^port\ ([0-9]+)\ control\ ([0-9]+)$ ]]
    PORT=${BASH_REMATCH[1]}
    CONTROL=${BASH_REMATCH[2]}
}

# start_redis [PORT]: a redis-server; sets PORT and REDIS_PID. It takes no port 0, so one is tried that was free.
start_redis() {
    PORT=${1:-}
    local attempt
    for attempt in {1..5}; do
        [[ -n ${1:-} ]] ||
            PORT=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        background redis-server --port "$PORT" --bind 127.0.0.1 --save '' --appendonly no --dir . >"redis.$attempt.log"
        # shellcheck disable=SC2034  # used by the tests
        REDIS_PID=$STARTED_PID
        if retry_until 5 grep -q -e 'Ready to accept' -e 'Failed listening' "redis.$attempt.log" &&
            grep -q 'Ready to accept' "redis.$attempt.log"; then
            return 0
        fi
        [[ -z ${1:-} ]] || break
    done
    fail "no redis-server" "$(cat redis.*.log)"
}

# server COMMAND...: tells the server; prints its answer. tell_server does the same by another control port.
server() {
    tell_server "$CONTROL" "$@"
}
tell_server() {
    local answer=
    exec 9<>"/dev/tcp/127.0.0.1/$1"
    printf '%s\n' "${*:2}" >&9
    read -r -t 10 answer <&9
    exec 9>&-
    [[ $answer != error* ]] || fail "server: ${*:2}: $answer"
    echo "$answer"
}

# server_count connections|requests|open|held
server_count() {
    local counts
    counts=$(server count)
    [[ " $counts" =~ \ $1=([0-9]+) ]]
    echo "${BASH_REMATCH[1]}"
}
server_counts() {
    expect "$(server_count "$1")" "$2" "the server's $1"
}

# --- what cutout says

# breakers FILTER: jq over the breakers of this test's panel, each as one input.
breakers() {
    "${LIMIT[@]}" "$CUTOUT" status -p "$CUTOUT_PANEL" --json >status.json
    jq -r ".panels[].breakers[] | $1" status.json
}

# breaker DESTINATION FILTER: jq over one breaker; "none" when there is no such breaker.
breaker() {
    local value
    value=$(breakers "select(.destination == \"$1\") | $2")
    echo "${value:-none}"
}

# expect_breaker DESTINATION FILTER VALUE
expect_breaker() {
    expect "$(breaker "$1" "$2")" "$3" "$2 of $1"
}

# expect_state DESTINATION STATE
expect_state() {
    expect_breaker "$1" .state "$2"
}

here() {
    echo "tcp://127.0.0.1:$PORT"
}

# probe_due DESTINATION: its open_for is over, the next call is a probe.
probe_due() {
    expect_breaker "$1" '.state == "open" and (.retry_in_ms // 0) <= 0' true
}

# causes DESTINATION: the changes of state, in order: "closed>open:consecutive_errors ...".
causes() {
    "${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL" --json >events.json
    jq -rs --arg destination "$1" \
        '[.[] | select(.to != null and .destination == $destination) | "\(.from)>\(.to):\(.cause)"] | join(" ")' \
        events.json
}

# expect_reasons DESTINATION TEXT: the failures that opened it last: "refused 5".
expect_reasons() {
    "${LIMIT[@]}" "$CUTOUT" events -p "$CUTOUT_PANEL" --json >events.json
    expect "$(jq -rs --arg destination "$1" '[.[] | select(.destination == $destination and .to == "open")][-1].reasons |
        to_entries | map("\(.key) \(.value)") | join(", ")' events.json)" "$2" "reasons of $1"
}
