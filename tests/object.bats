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

# code_of OBJECT NAME: the instructions of a function that it shows, which may have two names.
code_of() {
    local address
    address=$(nm -D "$1" | awk -v "name=$2" '$3 == name {print $1}')
    objdump -d --no-show-raw-insn "$1" | awk -v "address=$address" '$1 == address {on = 1; next} /^$/ {on = 0} on'
}

# Of either word size.
OBJECTS=("$SHIM" "$BUILD/obj32/libcutout.so")

@test "needs libc and libdl, and nothing else" {
    local object
    for object in "${OBJECTS[@]}"; do
        expect "$(readelf -d "$object" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')" \
            "libc.so.6 libdl.so.2 " "the libraries that $object needs"
    done
}

@test "loads on every glibc since 2.17" {
    local object newest
    for object in "${OBJECTS[@]}"; do
        newest=$(objdump -T "$object" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
        expect "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -1)" GLIBC_2.17 "the newest version in $object"
    done
}

@test "imports no fortified function, so that musl can load it" {
    local object
    for object in "${OBJECTS[@]}"; do
        expect "$(nm -D --undefined-only "$object" | grep -cE '_chk(@|$)')" 0 "fortified imports of $object"
    done
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
    local object
    for object in "${OBJECTS[@]}"; do
        readelf -d "$object" | grep -qE 'NOW.*NODELETE' || fail "$object: not NOW and NODELETE"
        readelf -lW "$object" | grep -q GNU_RELRO || fail "$object: no RELRO"
        ! readelf -d "$object" | grep -q TEXTREL || fail "$object: code that the loader changes"
    done
    expect "$(LD_BIND_NOW=1 guarded /bin/echo bound)" bound
}

@test "has no memory that is both writable and executable, nor gives the program any" {
    local object
    for object in "${OBJECTS[@]}"; do
        expect "$(readelf -lW "$object" | awk '/GNU_STACK/{print $7}')" RW "flags of the stack in $object"
    done
    expect "$(guarded cat /proc/self/maps | awk '$2 ~ /w/ && $2 ~ /x/')" "" "mappings"
    guarded cat /proc/self/maps | grep -q "$SHIM" || fail "it was not loaded at all"
}

@test "takes at most 64 bytes of each thread, without asking the loader for them" {
    local object size
    for object in "${OBJECTS[@]}"; do
        size=$(readelf -lW "$object" | awk '$1 == "TLS" {print $6}')
        ((${size:-0} <= 0x40)) || fail "$object: thread-local segment of $size bytes"
        [[ $((${size:-0})) != 1 ]] || fail "a segment of one byte upsets old loaders"
        expect "$(objdump -d "$object" | grep -c __tls_get_addr)" 0 "calls into the loader in $object"
    done
}

@test "can be unwound through, and does not unwind itself" {
    local object
    for object in "${OBJECTS[@]}"; do
        expect "$(readelf -SW "$object" | grep -c '\.eh_frame ')" 1 "sections for unwinding in $object"
        expect "$(nm -D "$object" | grep -c _Unwind)" 0 "imports for unwinding in $object"
    done
}

@test "fits on small stacks: 1024 bytes a function, 512 around a call" {
    local files=("$BUILD"/obj{,32}/{shim,lib,rules}/*.su)
    expect "$(awk -F'\t' '$2 > 1024 {print $1, $2}' "${files[@]}")" "" "functions over 1024 bytes"
    expect "$(awk -F'\t' '$3 == "dynamic" {print $1}' "${files[@]}")" "" "functions without a bound"
    expect "$(awk -F'\t' '$2 > 512 {print $1, $2}' "$BUILD"/obj{,32}/shim/{interpose,real}*.su)" "" "interposers over 512"
}

@test "is small: under 200 KB without its debugging information, under 300 where 64-bit words take more code" {
    local object size limit=200
    for object in "${OBJECTS[@]}"; do
        strip -o stripped "$object"
        size=$(stat -c %s stripped)
        ((size < limit * 1024)) || fail "$object: $size bytes"
        limit=300
    done
}

@test "of 32 bits, runs on every processor since the Pentium Pro, and changes 64-bit words itself" {
    expect "$(objdump -d --no-show-raw-insn "$BUILD/obj32/libcutout.so" | grep -cE '%[xyz]mm[0-9]')" 0 "vector instructions"
    expect "$(nm "$BUILD/obj32/libcutout.so" | grep -c ' U .*__atomic_')" 0 "calls of a library for atomics"
    objdump -d --no-show-raw-insn "$BUILD/obj32/libcutout.so" | grep -q 'lock cmpxchg8b' || fail "no such change of a word"
}

@test "leaves dlopen by a jump, in either word size: the loader asks who called" {
    local object code
    for object in "${OBJECTS[@]}"; do
        code=$(code_of "$object" dlopen)
        expect "$(grep -cE $'\t(ret|bl?r)|call +\\*' <<<"$code")" 0 "returns and calls through a word in $object"
        expect "$(grep -cE 'jmp +\*|\tbr\t' <<<"$code")" 1 "jumps through a word in $object"
    done
}

@test "passes what is not its own on by a jump, without a stack frame" {
    local name code
    for name in send recv read write sendmsg recvmsg sendfile syscall prctl; do
        code=$(code_of "$SHIM" "$name")
        # What comes before the first jump through a word is the way of a call that is not judged.
        expect "$(awk '/jmp +\*|\tbr\t/{print "jump"; exit} /\t(push|call|stp|bl)|\tsub .*,%rsp/{print "frame"; exit}' <<<"$code")" \
            jump "the first thing $name does"
    done
}
