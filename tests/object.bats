#!/usr/bin/env bats
# The object that is preloaded, looked at from outside: where it loads, what it needs, what it shows.

load helpers

root() {
    cd "$BATS_TEST_DIRNAME/.." || return
}

# silent COMMAND...: prints nothing and succeeds.
silent() {
    local out
    out=$("$@" 2>&1) || fail "failed: $*" "$out"
    [[ -z $out ]] || fail "not silent: $*" "$out"
}

@test "needs libc and libdl, and nothing else" {
    expect "$(readelf -d "$SHIM" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')" \
        "libc.so.6 libdl.so.2 " "the libraries it needs"
}

@test "loads on every glibc since 2.17" {
    local newest
    newest=$(objdump -T "$SHIM" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
    expect "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -1)" GLIBC_2.17 "its newest symbol version"
}

@test "imports no fortified function, so that musl can load it" {
    expect "$(nm -D --undefined-only "$SHIM" | grep -cE '_chk(@|$)')" 0 "fortified imports"
}

@test "asks of libc only what neither locks, allocates, prints nor ends the process" {
    root
    silent env B="$BUILD" tests/tidy imports
}

@test "shows exactly the names in exports.map" {
    root
    silent env B="$BUILD" tests/tidy exports
}

@test "never calls a name that it shows" {
    root
    silent env B="$BUILD" tests/tidy own_names
    expect "$(comm -12 <(nm -D --defined-only "$SHIM" | awk '{print $3}' | sed 's/@.*//' | sort -u) \
        <(nm -D --undefined-only "$SHIM" | awk '{print $2}' | sed 's/@.*//' | sort -u))" "" "imported and exported"
}

@test "is bound when it is loaded, stays, and is read-only where it can be" {
    readelf -d "$SHIM" | grep -qE 'NOW.*NODELETE' || fail "not NOW and NODELETE"
    readelf -lW "$SHIM" | grep -q GNU_RELRO || fail "no RELRO"
    expect "$(LD_BIND_NOW=1 guarded /bin/echo bound)" bound
}

@test "has no memory that is both writable and executable, nor gives the program any" {
    expect "$(readelf -lW "$SHIM" | awk '/GNU_STACK/{print $7}')" RW "flags of the stack"
    expect "$(guarded cat /proc/self/maps | awk '$2 ~ /w/ && $2 ~ /x/')" "" "mappings"
    guarded cat /proc/self/maps | grep -q "$SHIM" || fail "it was not loaded at all"
}

@test "takes at most 64 bytes of each thread, without asking the loader for them" {
    local size
    size=$(readelf -lW "$SHIM" | awk '$1 == "TLS" {print $6}')
    ((${size:-0} <= 0x40)) || fail "thread-local segment of $size bytes"
    [[ $((${size:-0})) != 1 ]] || fail "a segment of one byte upsets old loaders"
    expect "$(objdump -d "$SHIM" | grep -c __tls_get_addr)" 0 "calls into the loader"
}

@test "can be unwound through, and does not unwind itself" {
    expect "$(readelf -SW "$SHIM" | grep -c '\.eh_frame ')" 1 "sections for unwinding"
    expect "$(nm -D "$SHIM" | grep -c _Unwind)" 0 "imports for unwinding"
}

@test "fits on small stacks: 1024 bytes a function, 512 around a call" {
    local files=("$BUILD"/obj/shim/*.su "$BUILD"/obj/lib/*.su "$BUILD"/obj/rules/*.su)
    expect "$(awk -F'\t' '$2 > 1024 {print $1, $2}' "${files[@]}")" "" "functions over 1024 bytes"
    expect "$(awk -F'\t' '$3 == "dynamic" {print $1}' "${files[@]}")" "" "functions without a bound"
    expect "$(awk -F'\t' '$2 > 512 {print $1, $2}' "$BUILD"/obj/shim/{interpose,real}*.su)" "" "interposers over 512"
}

@test "is small: under 150 KB without its debugging information" {
    local size
    strip -o stripped "$SHIM"
    size=$(stat -c %s stripped)
    ((size < 150 * 1024)) || fail "$size bytes"
}

@test "passes what is not its own on by a jump, without a stack frame" {
    local name code
    for name in send recv read write sendmsg recvmsg syscall prctl; do
        code=$(objdump -d --no-show-raw-insn "$SHIM" | awk -v "name=<$name>:" '$2 == name {on = 1; next} /^$/ {on = 0} on')
        # What comes before the first jump through a word is the way of a call that is not judged.
        expect "$(awk '/jmp +\*|\tbr\t/{print "jump"; exit} /\t(push|call|stp|bl)|\tsub .*,%rsp/{print "frame"; exit}' <<<"$code")" \
            jump "the first thing $name does"
    done
}
