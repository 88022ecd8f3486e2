/* The effective rules as a rules file, each value with a comment on where it comes from. Parsed again, it
 * gives the same rules. */
#ifndef CUTOUT_RULES_PRINT_H
#define CUTOUT_RULES_PRINT_H

#include "lib/text.h"
#include "rules/parse.h"

#include <stdbool.h>
#include <stdint.h>

#define RULES_PRINT_ROOM 1024 /* no piece is longer */

/* How far the printing has come. Begins as {.ruleset = …, .scratch = …}: what rules_parse filled, without an
 * error, and the scratch memory that it was given, untouched since; its sources must still be there. */
struct rules_print {
    const struct ruleset *ruleset;
    const void *scratch;
    uint32_t rule;
    uint32_t step;    /* within the rule: heading, patterns, then one a key */
    uint32_t pattern; /* the next to be printed */
};

/* Puts the next piece into the text (emptied first; RULES_PRINT_ROOM bytes hold any). False at the end. */
bool rules_print_next(struct rules_print *print, struct text *text);

#endif
