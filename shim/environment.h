/* The CUTOUT_* variables, read once. */
#ifndef CUTOUT_SHIM_ENVIRONMENT_H
#define CUTOUT_SHIM_ENVIRONMENT_H

#include "lib/panel.h"

#include <stdbool.h>
#include <stdint.h>

#define ENVIRONMENT_RULES_FILE "/etc/cutout/cutout.rules"

/* Process-wide settings. Written once before they are read. */
struct environment {
    bool disabled;       /* CUTOUT_DISABLE=1 */
    bool secure;         /* AT_SECURE: all variables ignored, built-in defaults only */
    bool rules_named;    /* CUTOUT_RULES is set and not empty, or ENVIRONMENT_RULES_FILE exists */
    bool has_group;      /* CUTOUT_GROUP holds a number */
    bool keeps_deepbind; /* CUTOUT_DEEPBIND=keep */
    uint32_t group;
    uint8_t mode; /* CUTOUT_MODE: 0 not set, else 1 + enum rule_mode; an unknown word counts as not set */
    char rules[PANEL_PATH_MAX]; /* absolute path, "." and ".." resolved by text, symbolic links not; "" = none
                                 */
    char panel[PANEL_NAME_MAX]; /* name of the panel as interface.md derives it: CUTOUT_PANEL, else the path
                                   that CUTOUT_RULES names (longer names keep their head and end in a hash),
                                   else "default" */
};

/* Fills *environment from the process's variables. Calls no libc function but mem*, strlen and getauxval;
 * touches no errno. A relative CUTOUT_RULES is made absolute by the getcwd system call. */
void environment_read(struct environment *environment);

/* Resolves "." and ".." and repeated slashes of an absolute path, by text. False when it does not fit. */
bool environment_resolve_path(const char *path, char *result, size_t room);

#endif
