/* Loading rules: reads a rules file and what it includes, compiles it, and puts it into force in a panel. Raw
 * system calls, memory mapped for the moment only; no descriptor survives. */
#ifndef CUTOUT_SHIM_LOAD_H
#define CUTOUT_SHIM_LOAD_H

#include "lib/panel.h"
#include "rules/parse.h"
#include "shim/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_FILE_MAX (1u << 20) /* bytes of one rules file; a larger one is refused */

/* What tells that a file is another one than it was: of the file itself, and folded into `includes` that of
 * each included one. A file that is not to be seen has the errno in changed_ns. */
struct load_stamp {
    uint64_t device, inode, size, changed_ns, includes;
};

/* The stamp of a file alone, as it is now. */
struct load_stamp load_stamp_of(const char *path);

/* Folds an included file's stamp into that of the rules file; in the order of inclusion. */
void load_stamp_fold(struct load_stamp *stamp, const struct load_stamp *included);

/* The files of one load, in memory mapped by load_open. */
struct load {
    struct rules_sources sources;
    struct ruleset *ruleset; /* compiled by load_compile */
    struct rules_notes *notes;
    struct load_stamp stamp;     /* of what was read, or could not be */
    char error[PANEL_ERROR_MAX]; /* "" or why reading failed: "FILE: No such file or directory", or the first
                                    error of the parse with its place */
    void *memory;
    size_t memory_bytes;
};

/* Reads the file and its includes. Returns 0 or -errno; error is set when it fails. load_close must follow
 * either way. */
int load_open(struct load *load, const char *path);

/* Compiles what load_open read. True when there is no error; the messages are in load->notes; error is the
 * first error's text. */
bool load_compile(struct load *load);

/* Adds what a person should be warned of to the messages of load_compile. */
void load_warn(struct load *load);

void load_close(struct load *load);

/* Puts the panel's rules file into force where it differs from what the panel holds: the work of a
 * constructor; must be called there once, before load_rules_in_force. The panel's file is that of the first
 * process that names one. A bad or missing file changes nothing and is noted in the panel (bad, error;
 * withheld where no good rules were ever loaded). One loader at a time; others go on with the rules in force,
 * and wait for a moment only where there are none yet. Costs one stat a file when nothing has changed. pid is
 * this process's, for the journal. */
void load_refresh(struct panel *panel, const struct environment *environment, uint32_t pid);

/* For the command: as load_refresh, and where path is not NULL that file becomes the panel's. What has become of it is
 * in panel->rules. False, and nothing done, while another process is loading. */
bool load_change_file(struct panel *panel, const char *path, uint32_t pid);

/* The root directory is the one that the rules file's path is meant in: called once, by the constructor. */
void load_remember_root(void);

/* While the program runs: looks whether the rules file differs, at most once in 2 s a panel, and puts it into force. Not to
 * be called in a sandbox. now_ns is the monotonic time. */
void load_look(struct panel *panel, const struct environment *environment, uint32_t pid, uint64_t now_ns);

/* The ruleset in force, and its version in *version. Never NULL: the built-in defaults where nothing was
 * loaded. */
const struct ruleset *load_rules_in_force(const struct panel *panel, uint64_t *version);

#endif
