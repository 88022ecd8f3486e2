/* What a process under the shim says of itself to whoever may read its memory: `cutout doctor PID`.
 *
 * Lies in the data of the library, where a note of the ELF file points to it (BADGE_NOTE_*), so it is found without
 * symbols and when the file itself is gone. Written by the constructor, by a forked child at its first call, and where
 * a word changes later; read from outside at any moment. Fixed widths: a reader of either word size can. */
#ifndef CUTOUT_SHIM_BADGE_H
#define CUTOUT_SHIM_BADGE_H

#include "lib/atomic64.h"
#include "lib/panel.h"

#include <stdint.h>

/* The note's name, its type, and the layout of the badge: the first word of the note's content. The second is how far
 * the badge lies behind that second word, signed. */
#define BADGE_NOTE_NAME   "cutout"
#define BADGE_NOTE_TYPE   1
#define BADGE_NOTE_LAYOUT 1

/* What became of the guest. */
enum badge_state {
    BADGE_NOT_BEGUN = 0, /* its constructor has not run, or found that it was opened and not preloaded */
    BADGE_ACTIVE,        /* there is a panel and everything is set up */
    BADGE_DISABLED,      /* CUTOUT_DISABLE=1 */
    BADGE_OFF,           /* CUTOUT_MODE=off */
    BADGE_OLD_KERNEL,    /* no MADV_WIPEONFORK */
    BADGE_NO_MEMORY,     /* not even private memory for a panel */
    BADGE_STRICT,        /* the program has entered the kernel's strict mode (seccomp) */
    BADGE_COPY           /* another copy of it is preloaded behind it, and does the work */
};

struct badge {
    struct atomic64 state; /* enum badge_state */
    /* Filters of system calls installed or being installed. Not 0: no system call of our own any more. */
    struct atomic64 sandboxed;
    /* How many forks lie between this process and the one that attached (low 8 bits). */
    struct atomic64 era;
    struct atomic64
        pid; /* as the process sees itself; a forked child's is its parent's until its first call */
    struct atomic64 place;   /* enum panel_place */
    struct atomic64 error;   /* why it is not shared: an errno, else 0 */
    struct atomic64 segment; /* id of the segment + 1; 0 = none */
    struct atomic64 slot;    /* slot in the panel + 1; 0 = none */
    struct atomic64 mode;    /* CUTOUT_MODE: 0 none, else 1 + enum rule_mode */
    struct atomic64 secure;  /* 1: AT_SECURE, the environment is ignored */
    char version[PANEL_VERSION_MAX];
    char panel[PANEL_NAME_MAX];
    /* Noted in the descriptor table so far, a duplicate as another one; and how many of them before the last fork. */
    struct atomic64 connections;
    struct atomic64 inherited;
    struct atomic64 deepbound; /* how often a module was opened with RTLD_DEEPBIND, and the flag left alone */
};

_Static_assert(sizeof(struct badge) == 13 * 8 + PANEL_VERSION_MAX + PANEL_NAME_MAX,
               "a reader of the other word size sees the same badge");

#endif
