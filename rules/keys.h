/* The keys of a rules file: name, kind and range of the value of each. */
#ifndef CUTOUT_RULES_KEYS_H
#define CUTOUT_RULES_KEYS_H

#include "lib/text.h"
#include "lib/thresholds.h"
#include "rules/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* In the order in which they are printed. */
enum rules_key {
    KEY_MODE = 0,
    KEY_SCOPE,
    KEY_JUDGE,
    KEY_GATE,
    KEY_PROTOCOL,
    KEY_WINDOW,
    KEY_BUCKETS,
    KEY_MIN_CALLS,
    KEY_ERROR_RATIO,
    KEY_ERROR_COUNT,
    KEY_CONSECUTIVE_ERRORS,
    KEY_SLOW_CALL,
    KEY_SLOW_RATIO,
    KEY_MIN_SLOW_CALLS,
    KEY_WARMUP,
    KEY_SLOW_EXEMPT,
    KEY_MAX_OPEN,
    KEY_OPEN_FOR,
    KEY_OPEN_BACKOFF,
    KEY_OPEN_MAX,
    KEY_OPEN_JITTER,
    KEY_PROBES,
    KEY_PROBE_TIMEOUT,
    KEY_FORGET_AFTER,
    KEY_MAX_IN_FLIGHT,
    KEY_REFUSE_WITH,
    KEY_VALUES, /* how many keys have a value that [default] and templates can give */
    KEY_MATCH = KEY_VALUES,
    KEY_LIKE,
    KEY_NONE
};

enum value_kind {
    VALUE_WORD,
    VALUE_GATE,
    VALUE_DURATION,
    VALUE_RATIO,
    VALUE_COUNT,
    VALUE_FACTOR,
    VALUE_TIMES
};

struct key_word {
    const char *name;
    uint64_t value;
};

/* A value is held as a number: a word's, nanoseconds, hundredths of a percent, hundredths of a factor, or a count; 0 = off.
 * Of times of day it is only how many there are: rules/exempt.h reads and writes them. */
struct key {
    const char *name;
    enum value_kind kind;
    uint8_t offset, width; /* of its field in struct thresholds, in bytes */
    uint64_t unit;         /* of the field: nanoseconds in one where it holds milliseconds, else 1 */
    bool off;              /* "off" may be written */
    uint64_t low, high;
    uint64_t step;                /* of a duration: it must be a multiple of this */
    const struct key_word *words; /* of a word, ended by a NULL name */
    const char *expected;         /* of a word: what to say instead of listing all */
};

/* What a key is; key < KEY_VALUES. */
const struct key *key_of(enum rules_key key);

/* The key of that name; KEY_NONE where there is none. */
enum rules_key key_find(struct piece name);

/* "mode", "match" …; never NULL. */
const char *key_name(enum rules_key key);

/* Appends what an unknown key's message says: what the name is, and the right word where one is known. */
void key_explain_unknown(struct text *text, struct piece name);

/* The key's value in the thresholds, as struct key says. */
uint64_t key_value(const struct thresholds *thresholds, enum rules_key key);
void key_store(struct thresholds *thresholds, enum rules_key key, uint64_t value);

#endif
