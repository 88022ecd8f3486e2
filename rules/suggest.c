#include "rules/suggest.h"

#include <stdint.h>
#include <string.h>

static char fold(char byte) {
    if (byte >= 'A' && byte <= 'Z') {
        return (char)(byte - 'A' + 'a');
    }
    return byte == '-' || byte == ' ' ? '_' : byte;
}

static uint8_t least(uint8_t a, uint8_t b) {
    return a < b ? a : b;
}

/* How many bytes must be changed, added, dropped or swapped with their neighbour to make one of the other. */
static unsigned distance(struct piece a, const char *b, size_t b_size) {
    /* Three rows of the table: of the byte of `a` now looked at and of the two before it. */
    uint8_t rows[3][SUGGEST_WORD_MAX + 1];
    for (size_t j = 0; j <= b_size; j++) {
        rows[0][j] = (uint8_t)j;
    }
    for (size_t i = 1; i <= a.size; i++) {
        uint8_t *row = rows[i % 3];
        const uint8_t *above = rows[(i + 2) % 3];
        const uint8_t *twice_above = rows[(i + 1) % 3];
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = fold(a.bytes[i - 1]) == fold(b[j - 1]);
            row[j] = least((uint8_t)(above[j - 1] + !same), (uint8_t)(least(above[j], row[j - 1]) + 1));
            if (i > 1 && j > 1 && fold(a.bytes[i - 1]) == fold(b[j - 2]) &&
                fold(a.bytes[i - 2]) == fold(b[j - 1])) {
                row[j] = least(row[j], (uint8_t)(twice_above[j - 2] + 1));
            }
        }
    }
    return rows[a.size % 3][b_size];
}

void suggest_consider(struct suggestion *suggestion, const char *candidate) {
    size_t size = strlen(candidate);
    struct piece found = suggestion->found;
    if (found.size == 0 || found.size > SUGGEST_WORD_MAX || size > SUGGEST_WORD_MAX) {
        return;
    }
    unsigned far = distance(found, candidate, size);
    unsigned limit = size < 6 ? 1 : (unsigned)(size + 2) / 4;
    if (far <= limit && (suggestion->best == NULL || far < suggestion->distance)) {
        suggestion->best = candidate;
        suggestion->distance = far;
    }
}

void text_add_suggestion(struct text *text, const struct suggestion *suggestion) {
    if (suggestion->best != NULL) {
        text_add(text, " (did you mean '");
        text_add_escaped(text, suggestion->best, strlen(suggestion->best));
        text_add(text, "'?)");
    }
}
