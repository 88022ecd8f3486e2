#!/usr/bin/env bats
# shellcheck shell=bash
# shellcheck disable=SC2154  # stderr is set by run
# `cutout rules explain`: which rule covers a destination, and why.

bats_require_minimum_version 1.5.0
load helpers

shop() {
    cat >shop.rules <<'EOF'
[quick]
slow_call = 200ms

[payments]
match = payments.internal:443, 10.1.0.0/16:8443
like  = quick
scope = name

[cache]
match = redis.internal, :6379

[sockets]
match = unix:///run/*.sock, udp://10.0.0.0/8:53, dns://*.internal

[local]
match = 127.0.0.0/8
mode  = off
EOF
}

# explained DESTINATION: the words before the rule's own lines.
explained() {
    [[ -e shop.rules ]] || shop
    run --separate-stderr "$CUTOUT" rules explain -r shop.rules "$1"
    expect "$stderr" ""
    said=${output%%$'\n\n'*}
}

@test "a destination is explained by its name" {
    explained payments.internal:443
    expect "$status" 0 status
    expect "$said" "tcp://payments.internal:443 is judged by [payments]: payments.internal:443 matches (shop.rules:5)
All addresses of the name share its breaker (scope = name)."
    explained tcp://Redis.Internal.:80
    expect "$status" 0 status
    expect "$said" "tcp://redis.internal:80 is judged by [cache]: redis.internal matches (shop.rules:10)
tried before it, in this order:
  [payments]: payments.internal:443 wants another host (shop.rules:5)
Each address of the name has a breaker of its own (scope = destination)."
}

@test "a destination is explained by its address" {
    explained tcp://10.1.0.5:8443
    expect "$status" 0 status
    expect "$said" "tcp://10.1.0.5:8443 is judged by [payments]: 10.1.0.0/16:8443 matches (shop.rules:5)"
    explained '[2001:DB8::1]:6379'
    expect "$said" "tcp://[2001:db8::1]:6379 is judged by [cache]: :6379 matches (shop.rules:10)
tried before it, in this order:
  [payments]: payments.internal:443 wants another host (shop.rules:5)"
}

@test "look-ups, sockets and datagrams are explained" {
    explained dns://db.internal
    expect "$status" 0 status
    expect_match "$said" "^dns://db.internal is judged by \[sockets\]: dns://\*.internal matches \(shop.rules:13\)"
    explained unix:///run/db.sock
    expect "$status" 0 status
    expect_match "$said" "^unix:///run/db.sock is judged by \[sockets\]: unix:///run/\*.sock matches"
    explained udp://10.0.0.1:53
    expect "$status" 0 status
    expect_match "$said" "^udp://10.0.0.1:53 is judged by \[sockets\]: udp://10.0.0.0/8:53 matches"
}

@test "what no rule matches is judged by [default], look-ups without rejecting, sockets not at all" {
    explained 10.1.0.5:443
    expect "$status" 0 status
    expect "$said" "tcp://10.1.0.5:443 is judged by [default]: no rule matches it
tried, in this order:
  [payments]: payments.internal:443 wants a name, and only the address is given (shop.rules:5)
  [cache]: redis.internal wants a name, and only the address is given (shop.rules:10)
  [sockets]: unix:///run/*.sock wants another scheme (shop.rules:13)
  [local]: 127.0.0.0/8 wants another host (shop.rules:16)
A rule tried before that wants a name matches if the program found the address under it: ask for NAME:PORT too."
    explained dns://example.org
    expect "$status" 0 status
    expect_match "$said" "Look-ups are observed and never rejected unless a rule names dns://\.$"
    explained unix:///tmp/x
    expect "$status" 1 status
    expect_match "$said" "^unix:///tmp/x is not judged: no rule matches it, and without one only tcp:// and dns://"
    expect_match "$said" "  \[sockets\]: unix:///run/\*.sock wants another path \(shop.rules:13\)"
    explained udp://10.0.0.1:54
    expect "$status" 1 status
}

@test "what is switched off is not judged, and explain says where that stands and exits 1" {
    shop
    explained 127.0.0.1:80
    expect "$status" 1 status
    expect_match "$said" "^tcp://127.0.0.1:80 is not judged: its rule says mode = off \(shop.rules:17\)"
    expect_match "$said" "  \[local\]: 127.0.0.0/8 matches \(shop.rules:16\)"
    printf '[default]\nmode = off\n' >>shop.rules
    explained 10.9.9.9:1
    expect "$status" 1 status
    expect_match "$said" "not judged: no rule matches it, and \[default\] says mode = off \(shop.rules:19\)"
    explained dns://localhost
    expect "$status" 1 status
    expect_match "$said" "^dns://localhost is not judged: localhost is never looked up"
    explained dns://10.0.0.1
    expect "$status" 1 status
}

@test "explain says where an address decides that is not known" {
    explained elsewhere:80
    expect "$status" 0 status
    expect_match "$said" "  \[local\]: 127.0.0.0/8 wants an address, and only the name is given \(shop.rules:16\)"
    expect_match "$said" "A rule tried before that wants an address matches if the name leads to one of its"
}

@test "explain shows the values that hold, and where each comes from" {
    shop
    run "$CUTOUT" rules explain -r shop.rules payments.internal:443
    expect_match "$output" $'\n\\[payments\\] +# shop.rules:4\n'
    expect_match "$output" $'\nmatch              = payments.internal:443, 10.1.0.0/16:8443\n'
    expect_match "$output" $'\nslow_call          = 200ms +# template quick, shop.rules:2\n'
    expect_match "$output" $'\nscope              = name +# rule, shop.rules:7\n'
    expect_match "$output" $'\nopen_jitter        = 10% +# built-in\n'
    [[ $output != *"[cache]"*"mode "* ]] || fail "another rule was shown" "$output"
    # That part is a rules file.
    printf '%s\n' "$output" | sed -n '/^\[payments\]/,$p' >part.rules
    run "$CUTOUT" rules check part.rules
    expect "$output" "part.rules: fine, 1 rule"
    run "$CUTOUT" rules explain -r part.rules 10.1.2.3:8443
    expect "$status" 0 status
}

@test "explain takes -r, else CUTOUT_RULES, else the built-in defaults" {
    shop
    CUTOUT_RULES=shop.rules run "$CUTOUT" rules explain 10.1.0.5:8443
    expect_match "$output" "is judged by \[payments\]"
    printf '[other]\nmatch = *\nscope = rule\n' >other.rules
    CUTOUT_RULES=shop.rules run "$CUTOUT" rules explain 10.1.0.5:8443 -r other.rules
    expect_match "$output" $'is judged by \\[other\\]: \\* matches \\(other.rules:2\\)\nIt shares one breaker with all'
    run env -u CUTOUT_RULES "$CUTOUT" rules explain 10.1.0.5:8443
    expect "$status" 0 status
    expect_match "$output" $'^tcp://10.1.0.5:8443 is judged by \\[default\\]: no rule matches it\n\n\\[default\\] +# built-in\n'
}

@test "explain refuses a bad file and a missing one, and prints no control characters" {
    shop
    printf '[a]\nmatch = *\nprobes = 0\n' >bad.rules
    run --separate-stderr "$CUTOUT" rules explain -r bad.rules 10.0.0.1:1
    expect "$status" 1 status
    expect "$output" ""
    expect_match "$stderr" "^cutout: bad.rules:3:10: found '0'"
    run --separate-stderr "$CUTOUT" rules explain -r gone.rules 10.0.0.1:1
    expect "$status" 1 status
    expect "$stderr" "cutout: gone.rules: No such file or directory"
    run "$CUTOUT" rules explain -r shop.rules $'unix:///run/\x1b[31m.sock'
    expect "$status" 0 status
    [[ $output != *$'\x1b'* ]] || fail "a control character came through" "$output"
    run "$CUTOUT" rules explain -r shop.rules $'a\x1bb'
    expect "$status" 2 status
    [[ $output != *$'\x1b'* ]] || fail "a control character came through" "$output"
}
