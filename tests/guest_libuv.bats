#!/usr/bin/env bats
# Programs on libuv, which closes its sockets by syscall(2): node.

load helpers

# node SCRIPT: guarded; the server's port is PORT there.
node() {
    guarded node -e "const PORT = $PORT; $1"
}

# expect_counted CALLS ERRORS: at the server's breaker.
expect_counted() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors)"' "$1 $2"
}

# Asks N times, so many at once; between two requests files and pipes take the numbers of connections that have ended.
CHURN='const http = require("http"), fs = require("fs"), net = require("net"), child = require("child_process");
function ask(agent) {
    return new Promise(done => {
        const request = http.get({host: "127.0.0.1", port: PORT, agent}, answer => {
            answer.resume(); answer.on("end", () => done(answer.statusCode));
        });
        request.setTimeout(300, () => request.destroy(new Error("timeout")));
        request.on("error", error => done(error.code || error.message));
    });
}
function others() {
    const file = fs.openSync("churned", "w+"), again = fs.openSync("/dev/null", "r");
    fs.writeSync(file, "not a request\n"); fs.readSync(file, Buffer.alloc(4), 0, 4, 0);
    fs.readSync(again, Buffer.alloc(4), 0, 4, null);
    fs.closeSync(file); fs.closeSync(again);
}
async function churn(rounds, at_once, keep) {
    const told = {};
    for (let round = 0; round < rounds; round++) {
        const agent = new http.Agent({keepAlive: keep, maxSockets: at_once});
        for (let turn = 0; turn < 3; turn++) {
            for (const word of await Promise.all(Array.from({length: at_once}, () => ask(agent)))) {
                told[word] = (told[word] || 0) + 1;
            }
            others();
        }
        agent.destroy();
        others();
        if (round % 5 == 0) child.spawnSync("true");
    }
    console.log(JSON.stringify(told));
}
'

@test "node's connections, kept or not, are closed and their numbers used again: each request is one call" {
    start_server
    expect "$(node "$CHURN churn(20, 4, true)")" '{"200":240}'
    expect_counted 240 0
    expect "$(node "$CHURN churn(20, 4, false)")" '{"200":240}'
    expect_counted 480 0
    server_counts requests 480
    # A server that keeps no connection, whatever the client wants.
    server keep off
    expect "$(node "$CHURN churn(10, 4, true)")" '{"200":120}'
    expect_counted 600 0
    server_counts requests 600
}

@test "node, with its rings where it has any" {
    start_server
    expect "$(UV_USE_IO_URING=1 node "$CHURN churn(10, 4, true)")" '{"200":120}'
    expect_counted 120 0
}

@test "node's requests that fail, in every way, fail for the breaker" {
    rules '[default]
error_ratio = off
consecutive_errors = off'
    start_server
    server drop
    expect "$(node "$CHURN churn(2, 4, true)")" '{"ECONNRESET":24}'
    expect_breaker "$(here)" '"\(.total.calls) \(.errors.closed)"' "24 24"
    server reset
    expect "$(node "$CHURN churn(2, 4, true)")" '{"ECONNRESET":24}'
    expect_breaker "$(here)" '"\(.total.calls) \(.errors.reset)"' "48 24"
    server refuse
    expect "$(node "$CHURN churn(2, 4, true)")" '{"ECONNREFUSED":24}'
    expect_breaker "$(here)" '"\(.total.calls) \(.errors.refused)"' "72 24"
    server hang
    expect "$(node "$CHURN churn(1, 4, true)")" '{"timeout":12}'
    expect_breaker "$(here)" '.errors.timeout + .total.ignored' 12
}

@test "a rejected connect reaches a node program as a refused one does" {
    start_server
    server refuse
    fetch_apart "$PORT" 5
    expect_state "$(here)" open
    expect "$(node "$CHURN churn(2, 4, true)")" '{"ECONNREFUSED":24}'
    expect_breaker "$(here)" .total.rejected 24
}
