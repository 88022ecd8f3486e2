/* The rules language: bytes in, a ruleset or errors with line and column out. Pure: no file, no clock, no
 * allocation, no locale. Files are handed in whole; an `include` names another of the sources. */
#ifndef CUTOUT_RULES_PARSE_H
#define CUTOUT_RULES_PARSE_H

#include "rules/ruleset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_SOURCES 17 /* the file and at most 16 that it includes, directly or not */

/* One file's contents. */
struct rules_source {
    const char
        *path; /* as it is printed in messages, and as rules_include_path makes it for included files */
    const char *bytes; /* NULL: the file could not be read, and its `include` is an error */
    size_t size;
};

struct rules_sources {
    size_t count;
    struct rules_source source[RULES_SOURCES]; /* source[0] is the rules file itself */
};

/* One message. */
struct rules_note {
    bool warning;    /* else an error: the file is refused */
    uint16_t source; /* index of the file it is in */
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in bytes */
    char text[256];  /* what was found, what was expected; without file and place */
};

#define RULES_NOTES 64

/* All messages of one parse; further ones are only counted. */
struct rules_notes {
    size_t count; /* kept in note[] */
    size_t errors;
    size_t warnings;
    struct rules_note note[RULES_NOTES];
};

/* Where a rule's value comes from, for `cutout rules show`. */
enum rules_origin { ORIGIN_BUILT_IN = 0, ORIGIN_DEFAULT, ORIGIN_TEMPLATE, ORIGIN_RULE };

/* Finds the next `include` line of a source at or after *offset. True when there is one: its path as written,
 * bounded by the source, is in path/size, and *offset lies behind the line. */
bool rules_next_include(const struct rules_source *source, size_t *offset, const char **path, size_t *size);

/* Makes the path of an included file: relative to the file that includes it; "." and ".." are resolved by text,
 * so that one file has one path. False when it does not fit. */
bool rules_include_path(const char *including, const char *path, size_t size, char *result, size_t room);

/* Parses the sources. True, and *ruleset is whole, when there is no error; else *ruleset is undefined. Errors
 * are in *notes then. scratch is work memory of RULES_SCRATCH bytes, aligned to 64. */
bool rules_parse(const struct rules_sources *sources, struct ruleset *ruleset, struct rules_notes *notes,
                 void *scratch);
#define RULES_SCRATCH (2u << 20)

/* Adds to the notes of rules_parse, whose scratch memory it must still be, what a person should be warned of. */
void rules_warn(void *scratch);

/* "FILE:LINE:COLUMN: text" (warnings: "FILE:LINE:COLUMN: warning: text"), NUL-terminated; control characters
 * of what was found are escaped. Returns the length. */
size_t rules_note_format(const struct rules_sources *sources, const struct rules_note *note, char *text,
                         size_t room);

#endif
