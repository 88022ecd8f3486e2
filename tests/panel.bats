#!/usr/bin/env bats
# The panel: memory that all processes of an application share. Each case has an IPC namespace of its own.

load helpers

program() {
    "${LIMIT[@]}" "$BUILD/tests/$1" "${@:2}"
}

# --- breakers in it

@test "a breaker is found again by its destination and rule, and by nothing else" {
    program panel_test make
}

@test "2,000 breakers made by 4 processes of 4 threads at once are 2,000 breakers, each once" {
    program panel_test race
    program panel_test threads
    program panel_test losers
}

@test "a full table turns away new destinations, and keeps finding those it has" {
    program panel_test full
}

@test "a process killed while making a breaker costs one place, and the next one finishes the work" {
    program panel_test killed
}

@test "a panel that was scribbled over makes nobody stumble or search for ever" {
    program panel_test scribbled
}

# --- attaching

@test "processes of one user that name the same panel share it, and it outlives them" {
    program shim_panel share
}

@test "processes that attach a new panel at the same moment get the same one" {
    program shim_panel parallel
}

@test "another user's segment on the panel's key is passed over" {
    program shim_panel squat
    program shim_panel squat_all
    program shim_panel squat_semaphores
}

@test "an own segment of another size, name, layout or other rights is passed over" {
    program shim_panel odd
}

@test "the command attaches a panel by its segment, and nothing that is none" {
    program shim_panel by_id
}

@test "where no segment can be had, memory is shared with forked children" {
    program shim_panel private
}

@test "where no memory can be had, nothing is attached" {
    program shim_panel no_memory
}

@test "a group's panel is made by root or by one whose group it is; members join, others stay private" {
    program shim_panel group
}

@test "a segment given to the group by an outsider is passed over" {
    program shim_panel group_forged
}

# --- slots

@test "a killed process frees its slot, and what it held is known to be gone" {
    program shim_slot killed
}

@test "a process of the same number in another PID namespace is another process" {
    program shim_slot namesake
}

@test "a forked child has a slot of its own" {
    program shim_slot forked
}

@test "after an exec a process has the slot it had" {
    program shim_slot exec
}

@test "a worker that has given up root's rights still claims a slot" {
    program shim_slot dropped
}

@test "without a free slot a process goes on, and is counted" {
    program shim_slot no_free_slot
}

@test "a process that names another rules file than the panel's says so" {
    program shim_slot rules_named
}

@test "a program with a long path is known by its end" {
    local deep
    deep=$PWD/$(printf 'directory/%.0s' {1..30})
    mkdir -p "$deep"
    cp "$BUILD/tests/shim_slot" "$deep"
    "${LIMIT[@]}" "$deep/shim_slot" killed
}
