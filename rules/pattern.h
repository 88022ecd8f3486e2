/* Patterns of `match`: read from text, compared with one another, written back. What they match is decided by
 * ruleset_match. */
#ifndef CUTOUT_RULES_PATTERN_H
#define CUTOUT_RULES_PATTERN_H

#include "lib/text.h"
#include "rules/ruleset.h"
#include "rules/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What pattern_read makes of one pattern. */
struct pattern_reading {
    struct pattern pattern; /* without its rule and its text's place */
    struct piece text;      /* the text as written: host name, suffix or path */
    /* Where it is no pattern: what was found and what was expected. */
    struct piece found;
    const char *expected;
    bool has_stray_bits; /* an address has bits beyond its prefix; they are cleared */
};

/* Reads one pattern. False when it is none. */
bool pattern_read(struct piece text, struct pattern_reading *reading);

/* Appends the pattern as pattern_read reads it. */
void pattern_write(struct text *text, const struct ruleset *ruleset, const struct pattern *pattern);

/* True when whatever `narrow` matches is matched by `wide` too, as far as one look at both can tell. */
bool pattern_covers(const struct ruleset *ruleset, const struct pattern *wide, const struct pattern *narrow);

/* True when the path fits the glob: '*' stands for any bytes but '/'. */
bool pattern_glob_fits(const char *glob, size_t glob_size, const char *path, size_t size);

/* Which bits of 8 bytes differ, those of the first byte being the highest. */
static inline uint64_t pattern_bits_differ(const uint8_t *a, const uint8_t *b) {
    uint64_t one, other;
    memcpy(&one, a, sizeof one);
    memcpy(&other, b, sizeof other);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(one ^ other) : one ^ other;
}

/* True when the first `bits` bits agree; bits is at most 128. */
static inline bool pattern_bits_agree(const uint8_t a[16], const uint8_t b[16], unsigned bits) {
    uint64_t head = pattern_bits_differ(a, b);
    if (bits <= 64) {
        return bits == 0 || head >> (64 - bits) == 0;
    }
    return head == 0 && pattern_bits_differ(a + 8, b + 8) >> (128 - bits) == 0;
}

#endif
