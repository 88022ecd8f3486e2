/* Which of some words was meant by a misspelt one. */
#ifndef CUTOUT_RULES_SUGGEST_H
#define CUTOUT_RULES_SUGGEST_H

#include "lib/text.h"
#include "rules/scan.h"

#define SUGGEST_WORD_MAX 63 /* longer words are never suggested, nor suggested for */

/* The best candidate so far. Begins as {.found = …}. */
struct suggestion {
    struct piece found;
    const char *best; /* NULL: none is near enough */
    unsigned distance;
};

/* Considers one candidate. Upper and lower case, '-' and '_' count as the same. */
void suggest_consider(struct suggestion *suggestion, const char *candidate);

/* Appends " (did you mean 'window'?)" where there is a best candidate. */
void text_add_suggestion(struct text *text, const struct suggestion *suggestion);

#endif
