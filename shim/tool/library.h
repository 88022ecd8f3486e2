/* The library that is preloaded, one for each word size of programs: where it lies, and how LD_PRELOAD names it.
 *
 * Beside libcutout.so may lie a directory for each name that a loader has for $LIB, its own name of where libraries
 * lie: "lib/x86_64-linux-gnu", "lib32" … A program of either word size, and what it starts, then finds the right one by
 * a single path with "$LIB" in it. */
#ifndef CUTOUT_SHIM_TOOL_LIBRARY_H
#define CUTOUT_SHIM_TOOL_LIBRARY_H

#include "shim/tool/elf_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY_NAME "libcutout.so"

struct library {
    char path[PATH_MAX]; /* absolute; "" = not there */
    struct elf_file elf;
};

struct libraries {
    struct library own;    /* of this command's word size */
    struct library narrow; /* of 32-bit programs, where it is installed beside the other */
};

/* Finds them beside the command as built, or as installed. False when there is none, or LD_PRELOAD cannot name it: why
 * is said then. */
bool libraries_find(struct libraries *libraries, char *why, size_t room);

/* The one that the program can load; NULL where none is for its machine. */
const struct library *libraries_for(const struct libraries *libraries, const struct elf_file *program);

/* Puts the program's library first in LD_PRELOAD; what is there already stays. A program of which nothing is known
 * (bits are 0) gets the one of this command's word size. */
void libraries_preload(const struct libraries *libraries, const struct elf_file *program);

#endif
