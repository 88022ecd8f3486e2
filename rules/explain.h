/* Why a destination is judged by the rule that judges it: the rules in the order in which they are tried, with what keeps
 * each from matching. */
#ifndef CUTOUT_RULES_EXPLAIN_H
#define CUTOUT_RULES_EXPLAIN_H

#include "lib/endpoint.h"
#include "lib/text.h"
#include "rules/parse.h"

#include <stdbool.h>
#include <stdint.h>

/* What keeps a rule from matching; of several patterns the one that comes nearest, so the order is that of nearness. */
enum explain_miss {
    EXPLAIN_OTHER_SCHEME = 0,
    EXPLAIN_OTHER_HOST,
    EXPLAIN_OTHER_PORT,
    EXPLAIN_ADDRESS, /* it wants an address, and only the name is given */
    EXPLAIN_NAME,    /* it wants a name, and only the address is given */
    EXPLAIN_MATCHES
};

/* How far the rules have been tried. Begins as {.ruleset = …, .scratch = …, .endpoint = …, .text = …}: what rules_parse
 * filled without an error, and the scratch memory that it was given, untouched since; the endpoint, and its text as
 * endpoint_parse gives both. */
struct explain {
    const struct ruleset *ruleset;
    const void *scratch;
    struct endpoint endpoint;
    const char *text; /* path, or host name; "" of an address */
    uint32_t next;    /* the pattern to be tried next */
};

/* One rule that was tried. */
struct explain_trial {
    uint32_t rule;
    enum explain_miss miss;
    uint32_t pattern; /* the one that matches, or comes nearest */
    uint32_t first;   /* the rule's first pattern */
};

/* Tries the next rule. False when there is no further one; the one that matches is the last to be looked at. */
bool explain_next(struct explain *explain, struct explain_trial *trial);

/* "another port" …, what a pattern wants that does not match; never NULL. */
const char *explain_miss_text(const struct explain *explain, enum explain_miss miss);

/* Appends the pattern as the rules write it. */
void explain_write_pattern(struct text *text, const struct explain *explain, uint32_t pattern);

/* Appends "FILE:LINE" of a rule's `match`, or of the key `mode` where the rule takes it from; nothing where that was not
 * written. */
void explain_write_match(struct text *text, const struct explain *explain, uint32_t rule);
void explain_write_mode(struct text *text, const struct explain *explain, uint32_t rule);

#endif
