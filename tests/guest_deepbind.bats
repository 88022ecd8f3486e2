#!/usr/bin/env bats
# Modules that a program opens: however it opens them, what they call is seen, and the loader looks where it always did.

load helpers

# module NAME: a library whose function call(port) makes an HTTP request and returns the number of bytes heard, or minus
# the errno.
module() {
    cat >"$1.c" <<'C'
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int call(int port);
int call(int port) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[512];
    address.sin_port = htons((unsigned short)port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), result = connect(fd, (struct sockaddr *)&address, sizeof address);
    if (result == 0 && send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0) {
        result = (int)recv(fd, answer, sizeof answer, 0);
    }
    result = result < 0 ? -errno : result;
    close(fd);
    return result;
}
C
    "${CC:-cc}" -shared -fPIC -o "$1" "$1.c"
}

# opener: a program that opens FILE with MODE and has its function call PORT: prints what that returns.
opener() {
    cat >opener.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    void *module = argc > 3 ? dlopen(argv[1], atoi(argv[2])) : NULL;
    int (*call)(int) = module == NULL ? NULL : (int (*)(int))dlsym(module, "call");
    if (call == NULL) {
        puts(dlerror());
        return 1;
    }
    printf("%d\n", call(atoi(argv[3])));
    return dlclose(module);
}
C
    "${CC:-cc}" -o opener opener.c -ldl
}

# counted CALLS ERRORS: at the server's breaker; "none" when there is none.
counted() {
    expect_breaker "$(here)" '.total | "\(.calls) \(.errors)"' "$1"
}

LAZY=1 NOW=2 GLOBAL=256 DEEPBIND=8

@test "a module's calls are counted, however it was opened" {
    local mode calls=0
    start_server
    module ./module.so
    opener
    for mode in "$LAZY" "$NOW" $((LAZY | GLOBAL)) $((NOW | DEEPBIND)) $((LAZY | GLOBAL | DEEPBIND)); do
        expect_match "$(guarded ./opener ./module.so "$mode" "$PORT")" '^[1-9][0-9]*$'
        counted "$((calls += 1)) 0"
    done
    server_counts requests 5
    server refuse
    for ((mode = 0; mode < 5; mode++)); do
        expect "$(guarded ./opener ./module.so $((NOW | DEEPBIND)) "$PORT")" -111
        sleep 0.11
    done
    expect_state "$(here)" open
}

@test "with CUTOUT_DEEPBIND=keep, with the kill switch, and with mode off the flag is left alone" {
    local setting
    start_server
    module ./module.so
    opener
    for setting in CUTOUT_DEEPBIND=keep CUTOUT_DISABLE=1 CUTOUT_MODE=off; do
        expect_match "$(guarded env "$setting" ./opener ./module.so $((NOW | DEEPBIND)) "$PORT")" '^[1-9][0-9]*$'
    done
    counted none
    expect_match "$(guarded env CUTOUT_DEEPBIND=keep ./opener ./module.so "$NOW" "$PORT")" '^[1-9][0-9]*$'
    counted "1 0"
    # Another word means nothing to the library, and is refused by the command.
    expect_match "$(guarded env CUTOUT_DEEPBIND=leave ./opener ./module.so $((NOW | DEEPBIND)) "$PORT")" '^[1-9][0-9]*$'
    counted "2 0"
    run env CUTOUT_DEEPBIND=leave "$CUTOUT" run true
    expect "$status $output" "125 cutout: CUTOUT_DEEPBIND is leave, expected keep"
}

@test "cutout doctor tells of modules that were opened with the flag" {
    start_server
    server hang
    module ./module.so
    opener
    CUTOUT_DEEPBIND=keep start_guarded opener.out ./opener ./module.so $((NOW | DEEPBIND)) "$PORT"
    retry_until 10 server_counts requests 1
    run "$CUTOUT" doctor "$STARTED_PID"
    expect_match "$output" 'deepbind +1 module opened with RTLD_DEEPBIND: what they call passes unseen'
    expect "$status" 1
}

@test "a library is looked for where the object that asks for it says" {
    mkdir -p inner/deeper
    start_server
    module inner/deeper/inner.so
    cat >outer.c <<'C'
#include <dlfcn.h>
#include <stddef.h>
int call(int port);
int call(int port) {
    void *inner = dlopen("inner.so", RTLD_NOW | RTLD_DEEPBIND);
    int (*next)(int) = inner == NULL ? NULL : (int (*)(int))dlsym(inner, "call");
    return next == NULL ? -1 : next(port);
}
C
    "${CC:-cc}" -shared -fPIC -o inner/outer.so outer.c -Wl,-rpath,'$ORIGIN/deeper'
    opener
    expect_match "$(bare_opener ./inner/outer.so)" '^[1-9][0-9]*$'
    expect_match "$(guarded ./opener ./inner/outer.so "$NOW" "$PORT")" '^[1-9][0-9]*$'
    counted "1 0"
    # Who has no such place to look in does not find it either.
    expect_match "$(guarded ./opener inner.so "$NOW" "$PORT" || true)" 'cannot open shared object file'
}
bare_opener() {
    "${LIMIT[@]}" ./opener "$1" "$NOW" "$PORT"
}

@test "dlopen fails as ever, and tells why" {
    opener
    : >broken.so
    local arguments
    for arguments in "/nonexistent.so 2" "./broken.so 2" "./broken.so 0" "./broken.so $((NOW | DEEPBIND))"; do
        # shellcheck disable=SC2086  # two words
        expect "$(guarded ./opener $arguments 1 || true)" "$("${LIMIT[@]}" ./opener $arguments 1 || true)" "$arguments"
    done
}

# php CODE: runs it under the shim; $port is the server's port. Prints what it prints.
php() {
    guarded php -r "\$port = $PORT; $1"
}

# PHP opens all of these with RTLD_DEEPBIND, and curl's and PostgreSQL's libraries with them. Each client is asked once,
# in each weather, and must be counted once.
@test "PHP's extensions are seen: curl, pgsql, PDO, mysqli and sockets, by servers that refuse and that hang" {
    local name
    declare -A clients=(
        [curl]='$c = curl_init("http://127.0.0.1:$port/"); curl_setopt($c, CURLOPT_TIMEOUT_MS, 300); @curl_exec($c);'
        [pgsql]='@pg_connect("host=127.0.0.1 port=$port connect_timeout=2 sslmode=disable");'
        [pdo]='try {
            new PDO("pgsql:host=127.0.0.1;port=$port;sslmode=disable", "a", "b", [PDO::ATTR_TIMEOUT => 2]); } catch (Exception $e) {}'
        [mysqli]='mysqli_report(MYSQLI_REPORT_OFF); $c = mysqli_init(); $c->options(MYSQLI_OPT_CONNECT_TIMEOUT, 1);
            $c->options(MYSQLI_OPT_READ_TIMEOUT, 1); @$c->real_connect("127.0.0.1", "a", "b", "c", $port);'
        [sockets]='$s = socket_create(AF_INET, SOCK_STREAM, 0);
            socket_set_option($s, SOL_SOCKET, SO_RCVTIMEO, ["sec" => 0, "usec" => 300000]);
            if (@socket_connect($s, "127.0.0.1", $port)) { socket_write($s, "ask\n"); @socket_read($s, 9); socket_close($s); }'
        [stream]='$s = @stream_socket_client("tcp://127.0.0.1:$port", $e, $t, 1); if ($s) {
            stream_set_timeout($s, 0, 300000); fwrite($s, "ask\n"); fgets($s); fclose($s); }')
    rules '[default]
slow_call = 200ms
slow_ratio = off
error_ratio = off
consecutive_errors = off'
    for name in "${!clients[@]}"; do
        start_server
        fetch "$PORT" # it has answered before
        server refuse
        php "${clients[$name]}"
        expect_breaker "$(here)" '"\(.total.errors) \(.errors.refused)"' "1 1"
        server hang
        php "${clients[$name]}"
        expect_breaker "$(here)" '"\(.total.errors) \(.errors.timeout)"' "2 1"
        expect_breaker "$(here)" .total.calls 3
    done
}

@test "PHP's curl extension is answered as ever, and each of its calls counted" {
    start_server
    expect "$(php 'for ($i = 0; $i < 3; $i++) { $c = curl_init("http://127.0.0.1:$port/"); curl_exec($c); }')" $'ok\nok\nok'
    counted "3 0"
    server_counts requests 3
    expect "$(CUTOUT_DEEPBIND=keep php 'curl_exec(curl_init("http://127.0.0.1:$port/"));')" ok
    counted "3 0"
}
