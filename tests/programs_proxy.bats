#!/usr/bin/env bats
# Proxies that keep connections to their upstreams: what cutout counted is what the upstream saw.

load helpers

# Nothing opens: it is the counts that matter here.
never='
[default]
error_ratio = off
consecutive_errors = off
'

# front COUNT: so many requests through the proxy; prints their HTTP statuses.
front() {
    local number
    for ((number = 0; number < $1; number++)); do
        "${LIMIT[@]}" curl -s -o /dev/null --unix-socket front.sock -w '%{http_code} ' http://front/
    done
}
# counted: "calls reasons ignored" of the one destination.
counted() {
    breaker "$(here)" '"\(.total.calls) \(.errors | with_entries(select(.value > 0)) | tojson) \(.total.ignored)"'
}

# proxies TIMEOUT_STATUS BROKEN_STATUS REFUSED_STATUS: what the proxy on front.sock makes of its upstream.
proxies() {
    retry_until 10 test -S front.sock
    expect "$(front 6)" "200 200 200 200 200 200 " "answers"
    server_counts requests 6
    expect "$(counted)" '6 {} 0'
    server hang >/dev/null
    expect "$(front 2)" "$1 $1 "
    server reset >/dev/null
    expect "$(front 2)" "$2 $2 "
    server drop >/dev/null
    expect "$(front 2)" "$2 $2 "
    server_counts requests 12
    expect "$(counted)" '12 {"timeout":2,"reset":2,"closed":2} 0'
    server refuse >/dev/null
    expect "$(front 2)" "$3 $3 "
    expect "$(counted)" '14 {"refused":2,"timeout":2,"reset":2,"closed":2} 0'
}

@test "nginx, with kept upstream connections, its workers under another user" {
    start_server
    chmod a+x . ..
    printf '%s\n' 'pid nginx.pid; error_log error.log; user nobody nogroup; worker_processes 1; events {} http {' \
        "access_log off; upstream up { server 127.0.0.1:$PORT max_fails=0; keepalive 4; }" \
        "server { listen unix:$PWD/front.sock; location / { proxy_pass http://up; proxy_read_timeout 400ms;" \
        'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off; } }' \
        'client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e; }' >nginx.conf
    rules "$never"
    start_guarded nginx.out nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log" -g 'daemon off;'
    proxies 504 502 502
}

@test "haproxy, with kept server connections" {
    start_server
    printf '%s\n' 'defaults' ' mode http' ' timeout connect 400ms' ' timeout server 400ms' ' timeout client 5s' \
        ' retries 0' ' http-reuse always' 'frontend front' " bind unix@$PWD/front.sock" ' default_backend up' \
        'backend up' " server one 127.0.0.1:$PORT" >haproxy.cfg
    rules "$never"
    start_guarded haproxy.out haproxy -db -f haproxy.cfg
    proxies 504 502 503
}
