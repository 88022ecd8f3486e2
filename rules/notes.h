/* Messages of a parse: collected, put in order, and written with their places. */
#ifndef CUTOUT_RULES_NOTES_H
#define CUTOUT_RULES_NOTES_H

#include "lib/text.h"
#include "rules/parse.h"
#include "rules/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where in the sources. line 0: nowhere, it was not written. */
struct place {
    uint32_t line;
    uint32_t column;
    uint16_t source;
};

#define NOTE_TEXT_MAX sizeof(((struct rules_note *)0)->text)

void notes_clear(struct rules_notes *notes);

/* Adds a message. Once there is no room an error takes the place of a warning, anything else is only counted.
 * What stands there already, word for word, is not said again: a template's value is refused or warned of once, however
 * many rules take it. */
void notes_add(struct rules_notes *notes, struct place place, bool warning, const char *text);

/* Adds the error "found 'X', expected Y"; of an empty piece "found nothing, expected Y". */
void notes_found(struct rules_notes *notes, struct place place, struct piece found, const char *expected);

/* Puts the messages in the order of the files and lines. */
void notes_sort(struct rules_notes *notes);

/* Appends 'X' in quotes, escaped, at most 40 bytes of it. */
void text_add_found(struct text *text, struct piece found);

/* Appends "line 3", or "FILE line 3" where that is another file than `here`. */
void text_add_place(struct text *text, const struct rules_sources *sources, struct place place,
                    uint16_t here);

#endif
