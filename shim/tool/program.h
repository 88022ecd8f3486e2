/* A program that is to run under the shim: where it is, what it is, and whether it can be protected. */
#ifndef CUTOUT_SHIM_TOOL_PROGRAM_H
#define CUTOUT_SHIM_TOOL_PROGRAM_H

#include "shim/tool/library.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum program_verdict {
    PROGRAM_FITS = 0,
    PROGRAM_NOT_READABLE, /* it runs, but its kind cannot be seen from here: nothing speaks against it */
    PROGRAM_NOT_FOUND,
    PROGRAM_NOT_EXECUTABLE,
    PROGRAM_STATIC,
    PROGRAM_PRIVILEGED, /* set-user-ID, set-group-ID or with file capabilities, and not already that user */
    PROGRAM_OTHER_MACHINE,
    PROGRAM_OTHER_LIBC,
    PROGRAM_CLEARS /* its #! line has env clear the environment */
};

#define PROGRAM_LEVELS 4 /* "#!" lines followed, as the kernel does */
#define PROGRAM_FILES  (2 * PROGRAM_LEVELS + 1)

struct program {
    enum program_verdict verdict;
    char why[PATH_MAX + 256]; /* of a verdict other than PROGRAM_FITS: "/bin/x is statically linked: …" */
    size_t files;             /* the program itself, then the interpreters of "#!" lines, one another's */
    char file[PROGRAM_FILES][PATH_MAX];
    struct elf_file elf; /* of the last of them: what in truth is started */
};

/* Finds the program as execvp() would and looks into it and its interpreters. */
void program_examine(struct program *program, const char *name, const struct libraries *libraries);

#endif
