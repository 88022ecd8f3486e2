/* Whom an operator means: one panel, attached to write, and of it everything, a rule, or single destinations. */
#ifndef CUTOUT_SHIM_TOOL_TARGET_H
#define CUTOUT_SHIM_TOOL_TARGET_H

#include "shim/tool/found.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target {
    struct found found;
    const struct found_panel *panel; /* the one that is meant, as it was found */
    struct attachment attachment;    /* the same, to write */
    const char *word;                /* NULL: everything */
    bool is_rule;                    /* the word is a rule's name */
    uint64_t rule_key;
    uint32_t *breakers; /* those that there are of it: indices in the panel */
    size_t count;
};

/* Finds the one panel that the selector names (NULL: the only one) and that knows the word: a rule, a destination or a
 * host name. False, with the error reported, when there is none, or several. command is for messages. */
bool target_open(struct target *target, const char *command, const char *selector, const char *word);
void target_close(struct target *target);

/* What is meant, for people: "everything", "rule payments", "2 destinations of db.internal". */
const char *target_text(const struct target *target);

#endif
