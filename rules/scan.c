#include "rules/scan.h"

#include "lib/text.h"

#include <string.h>

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

struct piece piece_part(struct piece piece, size_t begin, size_t end) {
    return (struct piece){piece.bytes + begin, end - begin, piece.column + (uint32_t)begin};
}

struct piece piece_trim(struct piece piece) {
    size_t begin = 0, end = piece.size;
    while (begin < end && is_blank(piece.bytes[begin])) {
        begin++;
    }
    while (end > begin && is_blank(piece.bytes[end - 1])) {
        end--;
    }
    return piece_part(piece, begin, end);
}

bool piece_is(struct piece piece, const char *string) {
    return strlen(string) == piece.size && memcmp(piece.bytes, string, piece.size) == 0;
}

size_t piece_find(struct piece piece, char byte) {
    const char *found = piece.size > 0 ? memchr(piece.bytes, byte, piece.size) : NULL;
    return found != NULL ? (size_t)(found - piece.bytes) : piece.size;
}

bool piece_next(struct piece *rest, struct piece *part) {
    if (rest->bytes == NULL) {
        return false;
    }
    size_t comma = piece_find(*rest, ',');
    *part = piece_trim(piece_part(*rest, 0, comma));
    if (comma == rest->size) {
        rest->bytes = NULL;
    } else {
        *rest = piece_part(*rest, comma + 1, rest->size);
    }
    return true;
}

bool piece_is_text(struct piece piece, size_t most) {
    char escaped[2 * PIECE_TEXT_MAX + 8];
    if (piece.size > most || most > PIECE_TEXT_MAX) {
        return false;
    }
    /* Only what is no text grows when it is escaped, and a backslash, which is doubled. */
    struct text text = text_in(escaped, sizeof escaped);
    text_add_escaped(&text, piece.bytes, piece.size);
    size_t grown = piece.size;
    for (size_t i = 0; i < piece.size; i++) {
        grown += piece.bytes[i] == '\\';
    }
    return text.length == grown;
}

/* Cuts the comment off. In what may hold a path a '#' begins one only behind a space: "/run/a#1.sock". */
static struct piece without_comment(struct piece piece, bool path) {
    for (size_t i = 0; i < piece.size; i++) {
        if (piece.bytes[i] == '#' && (!path || i == 0 || is_blank(piece.bytes[i - 1]))) {
            return piece_trim(piece_part(piece, 0, i));
        }
    }
    return piece_trim(piece);
}

static bool holds(struct piece piece, const char *string) {
    size_t length = strlen(string);
    for (size_t i = 0; i + length <= piece.size; i++) {
        if (memcmp(piece.bytes + i, string, length) == 0) {
            return true;
        }
    }
    return false;
}

static void line_bad(struct line *line, struct piece found, const char *expected) {
    line->kind = LINE_BAD;
    line->name = found;
    line->expected = expected;
}

static void read_section(struct piece text, struct line *line) {
    size_t close = piece_find(text, ']');
    if (close == text.size) {
        line_bad(line, without_comment(text, false), "a ']' behind the section's name");
        return;
    }
    struct piece rest = without_comment(piece_part(text, close + 1, text.size), false);
    if (rest.size > 0) {
        line_bad(line, rest, "nothing more behind [NAME]");
        return;
    }
    line->kind = LINE_SECTION;
    line->name = piece_trim(piece_part(text, 1, close));
}

static void read_setting(struct piece text, size_t word, struct line *line) {
    struct piece rest = piece_trim(piece_part(text, word, text.size));
    if (word == 0 || rest.size == 0 || rest.bytes[0] != '=') {
        line_bad(line, without_comment(text, false), "[NAME], KEY = VALUE or include FILE");
        return;
    }
    struct piece value = piece_part(rest, 1, rest.size);
    line->kind = LINE_SETTING;
    line->name = piece_part(text, 0, word);
    line->value = without_comment(value, holds(value, "unix://"));
}

/* text is one line without its end. */
static void read_line(struct piece text, struct line *line) {
    size_t odd = piece_find(text, '\0');
    if (odd < text.size) {
        line_bad(line, piece_part(text, odd, odd + 1), "text (the file holds a NUL byte)");
        return;
    }
    odd = piece_find(text, '\r');
    if (odd < text.size) {
        line_bad(line, piece_part(text, odd, odd + 1), "lines that end in a line feed");
        return;
    }
    text = piece_trim(text);
    size_t word = 0;
    while (word < text.size && !is_blank(text.bytes[word]) && text.bytes[word] != '=' &&
           text.bytes[word] != '#') {
        word++;
    }
    struct piece rest = piece_trim(piece_part(text, word, text.size));
    if (text.size == 0 || text.bytes[0] == '#') {
        line->kind = LINE_BLANK;
    } else if (text.bytes[0] == '[') {
        read_section(text, line);
    } else if (piece_is(piece_part(text, 0, word), "include") && (rest.size == 0 || rest.bytes[0] != '=')) {
        line->kind = LINE_INCLUDE;
        line->name = without_comment(rest, true);
    } else {
        read_setting(text, word, line);
    }
}

bool scan_line(struct scan *scan, struct line *line) {
    const char *bytes = scan->source->bytes;
    size_t size = scan->source->size;
    if (scan->offset == 0 && size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        scan->offset = 3;
    }
    if (scan->offset >= size) {
        return false;
    }
    *line = (struct line){.number = ++scan->line};
    struct piece text = {bytes + scan->offset, size - scan->offset, 1};
    if (scan->offset == 0 && size >= 2 &&
        (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
        line_bad(line, piece_part(text, 0, 2), "UTF-8 (the file begins like UTF-16)");
        scan->offset = size;
        return true;
    }
    text.size = piece_find(text, '\n');
    scan->offset += text.size + 1;
    if (text.size > 0 && text.bytes[text.size - 1] == '\r') {
        text.size--;
    }
    read_line(text, line);
    return true;
}
