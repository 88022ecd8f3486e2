/* A process that runs: what /proc shows of it, and the shim in its memory. */
#ifndef CUTOUT_SHIM_TOOL_RUNNING_H
#define CUTOUT_SHIM_TOOL_RUNNING_H

#include "shim/badge.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNNING_SEGMENTS 8 /* shared memory of a panel's size that is noted */

struct running {
    uint32_t pid;
    uint32_t inner_pid;     /* as the process sees itself, in its own PID namespace */
    unsigned seccomp;       /* as in /proc/PID/status: 0 none, 1 strict, 2 filter */
    char program[PATH_MAX]; /* what it executes; "" where that cannot be read */
    /* The shim, found by the note that leads to its badge; by its name alone where the memory cannot be read. */
    char library[PATH_MAX]; /* "" = it is not mapped */
    bool library_deleted;   /* the file is gone, or another one has its name now */
    bool badge_known;
    int memory_error; /* why its memory cannot be read: an errno, else 0 */
    struct badge badge;
    /* Shared memory of a panel's size that it has mapped. */
    int segments[RUNNING_SEGMENTS]; /* ids, of System V's */
    size_t segment_count;
    bool has_private; /* some that has no id */
};

/* Looks at the process. Returns 0, ESRCH where there is none (any more), EPERM where it may not be looked at, or ENOEXEC
 * for one of the kernel's own. */
int running_read(struct running *running, uint32_t pid);

/* A variable of the environment that the process was started with, cut to room - 1 bytes. False where there is none of
 * that name, or it cannot be read. */
bool running_variable(uint32_t pid, const char *name, char *value, size_t room);

/* True when it was started with rights that its starter lacked (AT_SECURE). narrow: it is a 32-bit program. */
bool running_is_secure(uint32_t pid, bool narrow);

/* True when its System V memory is the one that this command sees, too. */
bool running_shares_ipc(uint32_t pid);

/* The PIDs of the process's children, theirs, and so on, itself first; at most room of them. Returns how many. */
size_t running_tree(uint32_t pid, uint32_t *pids, size_t room);

#endif
