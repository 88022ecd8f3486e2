#!/usr/bin/env bats
# Each check of `make tidy` is silent on the tree as it stands, and catches the fault that it is there for.

load helpers

# A copy of the tree, with what is built; the current directory from here on.
copy_tree() {
    mkdir tree
    cp -a "$BATS_TEST_DIRNAME"/../{lib,rules,shim,tests,Makefile,.clang-format,.clang-tidy} tree
    cd tree || return
    unset SAN
    export B=build
}

# built: the copy, and its objects.
copy_built() {
    copy_tree
    cp -a "$BUILD" build
}

rebuild() {
    "${LIMIT[@]}" make -s B=build build/libcutout.so
}

# tidy CHECK: in $output what it says, in $status how it ends.
tidy() {
    run "${LIMIT[@]}" tests/tidy "$1"
}

# clean CHECK...: nothing is wrong yet.
clean() {
    local check
    for check; do
        tidy "$check"
        expect "$status$output" 0 "what $check says of the tree"
    done
}

# caught CHECK REGEX: it fails, and says where.
caught() {
    tidy "$1"
    [[ $status != 0 ]] || fail "$1 let it pass"
    expect_match "$output" "$2" "what $1 says"
}

# only FILE...: of the sources, these alone stay (linting all of them takes long).
only() {
    mkdir kept
    cp --parents "$@" kept
    rm -r lib rules shim tests/programs
    mkdir rules shim
    cp -r kept/* .
    rm -r kept
}

@test "format: a line that clang-format would write otherwise" {
    copy_tree
    clean format
    printf 'int  text_odd( void );\n' >>lib/text.h
    caught format 'lib/text\.h:.*clang-format'
}

@test "lint: a fault in a source file, in a header, and a function of more than 60 lines" {
    copy_tree
    only lib/text.[ch]
    clean lint
    cp lib/text.c text.c
    printf 'int text_zero(int a);\nint text_zero(int a) {\n    int zero = 0;\n    return a / zero;\n}\n' >>lib/text.c
    caught lint 'lib/text\.c.*Division by zero'
    { printf 'int text_long(int a);\nint text_long(int a) {\n'; printf '    a++;\n%.0s' {1..61}; printf '    return a;\n}\n'; } \
        | cat text.c - >lib/text.c
    caught lint "lib/text\.c.*function 'text_long' exceeds"
    mv text.c lib/text.c
    sed -i '$i #define TEXT_TWICE(a) (a * 2)' lib/text.h
    caught lint 'lib/text\.h.*parentheses'
}

@test "shell: what shellcheck says of a test, a helper, and a script without an ending" {
    copy_tree
    clean shell
    printf 'broken() {\n    rm $1/$undefined_here\n}\n' >>tests/helpers.bash
    caught shell 'tests/helpers\.bash'
    cp "$BATS_TEST_DIRNAME/helpers.bash" tests
    printf '#!/bin/sh\n[[ -n $1 ]]\n' >tests/small
    caught shell 'tests/small'
}

@test "length: a file of 400 lines" {
    copy_tree
    clean length
    yes '/* line */' | head -400 >rules/long.c
    caught length 'rules/long\.c: 400 lines'
}

@test "includes: upwards, not from the root, and of the system in a room that does not know it" {
    local case
    copy_tree
    clean includes
    for case in lib/text.c:rules/parse.h rules/scan.c:shim/call.h shim/real.c:shim/tool/tool.h \
        shim/tool/main.c:shim/call.h tests/programs/guest_early.c:shim/panel.h lib/text.c:text.h; do
        cp "${case%%:*}" before.c
        printf '#include "%s"\n' "${case#*:}" >>"${case%%:*}"
        caught includes "${case%%:*}: (may not include|.*not written from the root)"
        mv before.c "${case%%:*}"
    done
    printf '#  include <stdio.h>\n' >>lib/window.h
    caught includes 'lib/window\.h: .*stdio\.h'
}

@test "orders: a memory order outside its header, and one that the header may not name" {
    copy_tree
    clean orders
    printf 'int real_order = __ATOMIC_ACQUIRE;\n' >>shim/real.c
    caught orders 'shim/real\.c'
    cp "$BATS_TEST_DIRNAME/../shim/real.c" shim
    printf '#include <stdatomic.h>\n' >>lib/window.h
    caught orders 'lib/window\.h'
    cp "$BATS_TEST_DIRNAME/../lib/window.h" lib
    printf '/* __ATOMIC_SEQ_CST */\n' >>lib/atomic64.h
    caught orders 'lib/atomic64\.h'
}

@test "marks: unfinished work, and a test that is passed over" {
    copy_tree
    clean marks
    printf '/* %s: later */\n' "TO""DO" >>lib/text.c
    caught marks 'lib/text\.c'
    cp "$BATS_TEST_DIRNAME/../lib/text.c" lib
    printf '@test "later" {\n    %s\n}\n' skip >>tests/object.bats
    caught marks 'tests/object\.bats'
}

@test "pure: a clock, an environment or an allocation in lib/ or rules/" {
    copy_built
    clean pure
    printf '#include <stdlib.h>\nchar *text_environment(void);\nchar *text_environment(void) { return getenv("A"); }\n' \
        >>lib/text.c
    rebuild
    caught pure 'need: getenv'
}

@test "imports: the shim allocates" {
    copy_built
    clean imports
    printf '#include <stdlib.h>\nvoid *real_odd;\n%s\n' \
        '__attribute__((constructor)) static void real_allocate(void) { real_odd = malloc(real_odd == 0); }' >>shim/real.c
    rebuild
    caught imports 'imports: malloc'
}

@test "exports: a name that is listed and not there, and one that is there and not listed" {
    copy_built
    clean exports
    sed -i 's/^ *close;/&\n        sendfile;/' shim/exports.map
    rebuild
    caught exports '> sendfile'
    sed -i '/sendfile;/d; s/^ *close;/&\n        surplus*;/' shim/exports.map
    printf 'INTERPOSED int surplus(void);\nint surplus(void) { return 0; }\n' >>shim/real.c
    rebuild
    caught exports '< surplus'
}

@test "own_names: the shim calls what it exports, from beside and from the very file that defines it" {
    copy_built
    clean own_names
    printf '#include <unistd.h>\nvoid real_odd(void);\nvoid real_odd(void) { close(3); }\n' >>shim/real.c
    rebuild
    caught own_names 'shim/real\.o refers to what the guest exports: close'
    cp "$BATS_TEST_DIRNAME/../shim/real.c" shim
    printf 'int real_odd(void);\nint real_odd(void) { return dup(3) + dup(4); }\n' >>shim/interpose_close.c
    rebuild
    caught own_names 'shim/interpose_close\.o refers to what the guest exports: dup'
}
