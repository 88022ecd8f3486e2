/* Lines of a rules file: where each begins and what kind it is. Knows no key and no value. */
#ifndef CUTOUT_RULES_SCAN_H
#define CUTOUT_RULES_SCAN_H

#include "rules/parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of one line. Points into the source; never NUL-terminated. */
struct piece {
    const char *bytes;
    size_t size;
    uint32_t column; /* of its first byte, from 1 */
};

enum line_kind {
    LINE_BLANK = 0, /* nothing, or only a comment */
    LINE_SECTION,   /* [name] */
    LINE_SETTING,   /* name = value */
    LINE_INCLUDE,   /* include name */
    LINE_BAD        /* none of these: name is what was found */
};

struct line {
    enum line_kind kind;
    uint32_t number;
    struct piece name;
    struct piece value;   /* of a setting; size 0 where nothing is written */
    const char *expected; /* of a bad line: what should have stood there */
};

/* How far a source has been read. */
struct scan {
    const struct rules_source *source;
    size_t offset;
    uint32_t line; /* number of the line read last */
};

/* Reads the next line. False at the end of the source. */
bool scan_line(struct scan *scan, struct line *line);

/* Without the spaces and tabs at both ends. */
struct piece piece_trim(struct piece piece);
/* Bytes begin..end of it. */
struct piece piece_part(struct piece piece, size_t begin, size_t end);
/* True when it is exactly that string. */
bool piece_is(struct piece piece, const char *string);
/* Offset of the first such byte, or the piece's size. */
size_t piece_find(struct piece piece, char byte);
/* Takes the part up to the next comma off the front of *rest, trimmed. False when the list is at its end. */
bool piece_next(struct piece *rest, struct piece *part);
#define PIECE_TEXT_MAX 107 /* the longest text checked by piece_is_text: the path of a unix socket */
/* True when it is whole UTF-8 without control characters, and at most `most` bytes. */
bool piece_is_text(struct piece piece, size_t most);

#endif
