#include "rules/value.h"

#include "rules/suggest.h"

#include <string.h>

/* A number as it is written: digits, and behind a point digits again. */
struct decimal {
    uint64_t whole;    /* WHOLE_MAX when it is more */
    uint64_t fraction; /* as an integer of that many digits */
    unsigned digits;   /* of the fraction, zeros at its end left out */
    size_t size;       /* bytes it takes; 0: it is no number */
    bool exact;        /* the fraction has no more digits than DIGITS_MAX */
};

#define WHOLE_MAX  UINT64_C(1000000000000)
#define DIGITS_MAX 9

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static size_t digits_at(struct piece text, size_t begin) {
    size_t end = begin;
    while (end < text.size && is_digit(text.bytes[end])) {
        end++;
    }
    return end - begin;
}

static struct decimal decimal_read(struct piece text) {
    struct decimal number = {.exact = true};
    size_t whole = digits_at(text, 0);
    for (size_t i = 0; i < whole; i++) {
        number.whole = number.whole * 10 + (uint64_t)(text.bytes[i] - '0');
        number.whole = number.whole < WHOLE_MAX ? number.whole : WHOLE_MAX;
    }
    number.size = whole;
    if (whole == 0 || whole == text.size || text.bytes[whole] != '.') {
        return number;
    }
    size_t fraction = digits_at(text, whole + 1);
    number.size = fraction == 0 ? 0 : whole + 1 + fraction;
    while (fraction > 0 && text.bytes[whole + fraction] == '0') {
        fraction--;
    }
    number.exact = fraction <= DIGITS_MAX;
    for (size_t i = 0; i < fraction && i < DIGITS_MAX; i++) {
        number.fraction = number.fraction * 10 + (uint64_t)(text.bytes[whole + 1 + i] - '0');
        number.digits++;
    }
    return number;
}

/* number × scale as an integer. False when that is none. scale is at most 3.6e9, so no product overflows. */
static bool decimal_times(struct decimal number, uint64_t scale, uint64_t *result) {
    uint64_t power = 1;
    for (unsigned i = 0; i < number.digits; i++) {
        power *= 10;
    }
    uint64_t part = number.fraction * scale;
    uint64_t whole = number.whole > UINT64_MAX / 2 / scale ? UINT64_MAX / 2 : number.whole * scale;
    *result = whole + part / power;
    return number.exact && part % power == 0;
}

static void expect_range(struct text *expected, const struct key *key, const char *what) {
    text_add(expected, what);
    value_write(expected, key, key->low);
    text_add(expected, " to ");
    value_write(expected, key, key->high);
    text_add(expected, key->off ? ", or 'off'" : "");
}

/* The unit's length in microseconds; 0 where it is none. */
static uint64_t unit_us(struct piece unit) {
    return piece_is(unit, "ms")  ? 1000
           : piece_is(unit, "s") ? 1000000
           : piece_is(unit, "m") ? 60 * UINT64_C(1000000)
           : piece_is(unit, "h") ? 3600 * UINT64_C(1000000)
                                 : 0;
}

static bool read_duration(const struct key *key, struct piece text, uint64_t *value, struct text *expected) {
    struct decimal number = decimal_read(text);
    struct piece unit = piece_part(text, number.size, text.size);
    uint64_t us = 0, scale = unit_us(unit);
    if (number.size == 0 || scale == 0) {
        bool bare = number.size > 0 && unit.size == 0;
        expect_range(expected, key,
                     bare ? "a unit (ms, s, m, h) behind the number, from " : "a duration from ");
        return false;
    }
    bool exact = decimal_times(number, scale, &us);
    if (us > key->high / 1000 || us < key->low / 1000 || (us == key->high / 1000 && !exact)) {
        expect_range(expected, key, "a duration from ");
        return false;
    }
    *value = us * 1000;
    if (!exact || *value % key->step != 0) {
        text_add(expected, key->step > 1000 ? "whole milliseconds" : "whole microseconds (0.001ms)");
        return false;
    }
    return true;
}

static bool read_ratio(const struct key *key, struct piece text, uint64_t *value, struct text *expected) {
    struct decimal number = decimal_read(text);
    struct piece unit = piece_part(text, number.size, text.size);
    bool percent = piece_is(unit, "%");
    bool exact = decimal_times(number, percent ? 100 : 10000, value);
    if (number.size == 0 || (unit.size > 0 && !percent) || *value > key->high ||
        (*value == key->high && !exact) || (*value < key->low && exact)) {
        text_add(expected, key->low == 0 ? "a ratio from 0 to 100%, as 10% or 0.1"
                                         : "a ratio above 0 to 100%, as 50% or 0.5");
        text_add(expected, key->off ? ", or 'off'" : "");
        return false;
    }
    if (!exact) {
        text_add(expected, "whole hundredths of a percent (0.01%)");
    }
    return exact;
}

static bool read_count(const struct key *key, struct piece text, uint64_t *value, struct text *expected) {
    struct decimal number = decimal_read(text);
    *value = number.whole;
    if (number.size != text.size || digits_at(text, 0) != text.size || number.whole < key->low ||
        number.whole > key->high) {
        expect_range(expected, key, "a whole number from ");
        return false;
    }
    return true;
}

static bool read_factor(const struct key *key, struct piece text, uint64_t *value, struct text *expected) {
    struct decimal number = decimal_read(text);
    bool exact = decimal_times(number, 100, value);
    if (number.size == 0 || number.size != text.size || *value < key->low || *value > key->high ||
        (*value == key->high && !exact)) {
        expect_range(expected, key, "a number from ");
        return false;
    }
    if (!exact) {
        text_add(expected, "whole hundredths (0.01)");
    }
    return exact;
}

static bool read_word(const struct key *key, struct piece text, uint64_t *value, struct text *expected) {
    struct suggestion suggestion = {.found = text};
    for (const struct key_word *word = key->words; word->name != NULL; word++) {
        if (piece_is(text, word->name)) {
            *value = word->value;
            return true;
        }
        suggest_consider(&suggestion, word->name);
    }
    text_add(expected, key->expected != NULL ? key->expected : "");
    for (const struct key_word *word = key->words; key->expected == NULL && word->name != NULL; word++) {
        bool last = word[1].name == NULL;
        text_add(expected, word == key->words ? "" : last ? " or " : ", ");
        text_add(expected, word->name);
    }
    text_add_suggestion(expected, &suggestion);
    return false;
}

static bool read_gate(struct piece text, uint64_t *value, struct text *expected) {
    unsigned connects = 0, requests = 0, others = 0;
    struct piece word;
    while (piece_next(&text, &word)) {
        connects += piece_is(word, "connect");
        requests += piece_is(word, "request");
        others += !piece_is(word, "connect") && !piece_is(word, "request");
    }
    *value = requests > 0 ? GATE_REQUEST : GATE_CONNECT;
    if (connects == 1 && requests <= 1 && others == 0) {
        return true;
    }
    text_add(expected, "'connect' or 'connect, request'");
    return false;
}

bool value_read(const struct key *key, struct piece text, uint64_t *value, struct text *expected) {
    if (key->off && piece_is(text, "off")) {
        *value = 0;
        return true;
    }
    switch (key->kind) {
    case VALUE_DURATION:
        return read_duration(key, text, value, expected);
    case VALUE_RATIO:
        return read_ratio(key, text, value, expected);
    case VALUE_COUNT:
        return read_count(key, text, value, expected);
    case VALUE_FACTOR:
        return read_factor(key, text, value, expected);
    case VALUE_GATE:
        return read_gate(text, value, expected);
    default:
        return read_word(key, text, value, expected);
    }
}

static void write_factor(struct text *text, uint64_t hundredths) {
    text_add_number(text, hundredths / 100);
    if (hundredths % 100 != 0) {
        text_add(text, hundredths % 100 < 10 ? ".0" : ".");
        text_add_number(text, hundredths % 10 == 0 ? hundredths % 100 / 10 : hundredths % 100);
    }
}

void value_write(struct text *text, const struct key *key, uint64_t value) {
    if (key->off && value == 0) {
        text_add(text, "off");
        return;
    }
    switch (key->kind) {
    case VALUE_DURATION:
        text_add_duration(text, value);
        break;
    case VALUE_RATIO:
        text_add_ratio(text, (uint32_t)value);
        break;
    case VALUE_COUNT:
    case VALUE_TIMES:
        text_add_number(text, value);
        break;
    case VALUE_FACTOR:
        write_factor(text, value);
        break;
    case VALUE_GATE:
        text_add(text, value == GATE_CONNECT ? "connect" : "connect, request");
        break;
    default:
        for (const struct key_word *word = key->words; word->name != NULL; word++) {
            if (word->value == value) {
                text_add(text, word->name);
            }
        }
    }
}
