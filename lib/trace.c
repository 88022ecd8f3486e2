#include "lib/trace.h"

#include "lib/text.h"

#include <string.h>

#define SECOND_NS       UINT64_C(1000000000)
#define FRACTION_DIGITS 9
#define WHOLE_DIGITS    12
#define FOUND_MAX       40

/* A line and how far it has been read. */
struct reading {
    const char *line;
    size_t size, at;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The high bit of each byte that is zero; of bytes behind the first such one it may be wrong. */
static uint64_t zero_bytes(uint64_t bytes) {
    return (bytes - UINT64_C(0x0101010101010101)) & ~bytes & UINT64_C(0x8080808080808080);
}

/* Where the next blank is, from `at` on; size where there is none. Eight bytes at a time: a third of a replay's time was
 * spent here. */
static size_t find_blank(const char *line, size_t at, size_t size) {
    for (; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t bytes;
        memcpy(&bytes, line + at, sizeof bytes);
        if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
            bytes = __builtin_bswap64(bytes); /* the first byte is to be the lowest */
        }
        uint64_t blanks = zero_bytes(bytes ^ UINT64_C(0x2020202020202020)) |
                          zero_bytes(bytes ^ UINT64_C(0x0909090909090909));
        if (blanks != 0) {
            return at + (unsigned)__builtin_ctzll(blanks) / 8;
        }
    }
    while (at < size && !is_blank(line[at])) {
        at++;
    }
    return at;
}

/* The next word, empty at the end of the line. */
static struct trace_piece next_word(struct reading *reading) {
    const char *line = reading->line;
    size_t begin = reading->at;
    while (begin < reading->size && is_blank(line[begin])) {
        begin++;
    }
    reading->at = find_blank(line, begin, reading->size);
    return (struct trace_piece){line + begin, reading->at - begin, (uint32_t)begin + 1};
}

static bool word_is(struct trace_piece word, const char *string) {
    return word.size == strlen(string) && memcmp(word.bytes, string, word.size) == 0;
}

static bool word_begins(struct trace_piece word, const char *string) {
    size_t length = strlen(string);
    return word.size >= length && memcmp(word.bytes, string, length) == 0;
}

static struct trace_piece word_behind(struct trace_piece word, size_t size) {
    return (struct trace_piece){word.bytes + size, word.size - size, word.column + (uint32_t)size};
}

static enum trace_line is_bad(struct trace_error *error, struct trace_piece found, const char *expected) {
    error->found = found;
    error->expected = expected;
    return TRACE_BAD;
}

/* --- numbers --- */

/* A number at the front of a word: `whole` and billionths. */
struct decimal {
    uint64_t whole;
    uint64_t billionths;
    size_t size; /* bytes it takes; 0: it is none */
    bool fits;   /* at most 12 digits before the point and, zeros at the end left out, 9 behind it */
};

/* The digits from `at` on; *value is their number where there are at most 18. Returns where they end. */
static size_t read_digits(struct trace_piece word, size_t at, uint64_t *value) {
    *value = 0;
    while (at < word.size && is_digit(word.bytes[at])) {
        *value = *value * 10 + (uint64_t)(word.bytes[at++] - '0');
    }
    return at;
}

static struct decimal read_decimal(struct trace_piece word) {
    static const uint64_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    struct decimal number = {.fits = true};
    size_t point = read_digits(word, 0, &number.whole);
    number.size = point;
    number.fits = point <= WHOLE_DIGITS;
    if (point == 0 || point == word.size || word.bytes[point] != '.') {
        return number;
    }
    size_t end = read_digits(word, point + 1, &number.billionths);
    number.size = end > point + 1 ? end : 0;
    size_t digits = end - point - 1;
    if (digits > FRACTION_DIGITS) {
        size_t kept = end;
        while (kept > point + 1 + FRACTION_DIGITS && word.bytes[kept - 1] == '0') {
            kept--;
        }
        number.fits = number.fits && kept == point + 1 + FRACTION_DIGITS;
        digits = FRACTION_DIGITS;
        read_digits((struct trace_piece){word.bytes, point + 1 + FRACTION_DIGITS, 0}, point + 1,
                    &number.billionths);
    }
    number.billionths *= powers[FRACTION_DIGITS - digits];
    return number;
}

static const char *read_start(struct trace_piece word, uint64_t *start_ns) {
    struct decimal number = read_decimal(word);
    if (number.size == 0 || number.size != word.size) {
        return "the call's start in seconds, as 12.5";
    }
    if (!number.fits || number.whole > TRACE_START_MAX_S) {
        return "seconds from 0 to 9999999999 with at most 9 decimals";
    }
    *start_ns = number.whole * SECOND_NS + number.billionths;
    return NULL;
}

/* The unit's length; 0 where it is none. */
static uint64_t unit_ns(struct trace_piece unit) {
    if (unit.size == 2 && unit.bytes[0] == 'm' && unit.bytes[1] == 's') {
        return SECOND_NS / 1000;
    }
    if (unit.size != 1) {
        return 0;
    }
    switch (unit.bytes[0]) {
    case 's':
        return SECOND_NS;
    case 'm':
        return 60 * SECOND_NS;
    case 'h':
        return 3600 * SECOND_NS;
    default:
        return 0;
    }
}

static const char *read_response(struct trace_piece word, uint64_t *response_ns) {
    if (word.size == 1 && word.bytes[0] == '-') {
        *response_ns = TRACE_NEVER;
        return NULL;
    }
    struct decimal number = read_decimal(word);
    uint64_t unit = number.size > 0 ? unit_ns(word_behind(word, number.size)) : 0;
    if (unit == 0) {
        return "the response time, as 700ms, 1.5s, 2m or 1h, or '-' for a call that never returned";
    }
    if (!number.fits || number.whole > TRACE_RESPONSE_MAX_S * SECOND_NS / unit) {
        return "a response time of at most a year, to the nanosecond";
    }
    /* In two parts, so that nothing overflows: billionths of an hour are 3600 ns. */
    uint64_t part =
        unit >= SECOND_NS ? number.billionths * (unit / SECOND_NS) : number.billionths / (SECOND_NS / unit);
    bool exact = unit >= SECOND_NS || number.billionths % (SECOND_NS / unit) == 0;
    *response_ns = number.whole * unit + part;
    return exact ? NULL : "a response time of at most a year, to the nanosecond";
}

/* --- words --- */

static const char *const outcome_words = "success, failure:REASON or ignored";
static const char *const reason_words = "failure:refused, timeout, reset, closed, unreachable, dns or status";

static const char *read_outcome(struct trace_piece word, struct trace_record *record) {
    record->reason = REASON_NONE;
    if (word_is(word, "success")) {
        record->outcome = OUTCOME_SUCCESS;
        return NULL;
    }
    if (word_is(word, "ignored")) {
        record->outcome = OUTCOME_IGNORED;
        return NULL;
    }
    if (!word_begins(word, "failure:")) {
        return word_is(word, "failure") ? reason_words : outcome_words;
    }
    record->outcome = OUTCOME_FAILURE;
    struct trace_piece name = word_behind(word, sizeof "failure:" - 1);
    for (unsigned reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        if (word_is(name, failure_reason_name((enum failure_reason)reason))) {
            record->reason = (enum failure_reason)reason;
            return NULL;
        }
    }
    return reason_words;
}

static const char *read_option(struct trace_piece word, struct trace_record *record) {
    if (word_is(word, "kept") && !record->kept && !record->connect) {
        record->kept = true;
        return NULL;
    }
    if (word_is(word, "connect") && !record->kept && !record->connect) {
        record->connect = true;
        return NULL;
    }
    if (word_begins(word, "name=") && word.size > sizeof "name=" - 1 && record->name.size == 0) {
        record->name = word_behind(word, sizeof "name=" - 1);
        return NULL;
    }
    if (word_begins(word, "rule=") && word.size > sizeof "rule=" - 1 && record->rule.size == 0) {
        record->rule = word_behind(word, sizeof "rule=" - 1);
        return NULL;
    }
    return "kept or connect, name=HOST (each once), or a comment";
}

/* --- lines --- */

/* A comment: a version that is not ours, and what a recorder says of losses, are no mere words. */
static enum trace_line read_comment(struct reading *reading, struct trace_record *record,
                                    struct trace_error *error) {
    struct trace_piece words[5];
    size_t count = 0;
    while (count < 5 && (words[count] = next_word(reading)).size > 0) {
        count++;
    }
    if (count < 3 || !word_is(words[0], "#")) {
        return TRACE_BLANK;
    }
    struct decimal number = read_decimal(words[count - 1]);
    bool whole = number.size == words[count - 1].size && number.billionths == 0 && number.fits;
    if (count == 3 && word_is(words[1], "lost") && whole) {
        record->lost = number.whole;
        return TRACE_LOST;
    }
    if (count == 4 && word_is(words[1], "cutout") && word_is(words[2], "trace") && number.size > 0 &&
        !word_is(words[3], "1")) {
        return is_bad(error, words[3], "a trace of version 1");
    }
    return TRACE_BLANK;
}

static enum trace_line read_options(struct reading *reading, struct trace_record *record,
                                    struct trace_error *error) {
    for (;;) {
        struct trace_piece word = next_word(reading);
        if (word.size == 0 || word.bytes[0] == '#') {
            break;
        }
        const char *expected = read_option(word, record);
        if (expected != NULL) {
            return is_bad(error, word, expected);
        }
    }
    bool refused = record->reason == REASON_REFUSED || record->reason == REASON_UNREACHABLE;
    record->connect = record->connect || (refused && !record->kept);
    return TRACE_CALL;
}

enum trace_line trace_read(const char *line, size_t size, struct trace_record *record,
                           struct trace_error *error) {
    if (size > 0 && line[size - 1] == '\r') {
        size--;
    }
    struct reading reading = {line, size, 0};
    struct trace_piece word = next_word(&reading);
    record->lost = 0;
    if (word.size == 0) {
        return TRACE_BLANK;
    }
    if (word.bytes[0] == '#') {
        reading.at = word.column - 1;
        return read_comment(&reading, record, error);
    }
    const char *expected = read_start(word, &record->start_ns);
    if (expected != NULL) {
        return is_bad(error, word, expected);
    }
    record->destination = next_word(&reading);
    if (record->destination.size == 0 || record->destination.bytes[0] == '#') {
        return is_bad(error, record->destination, "a destination, as tcp://10.0.0.5:443");
    }
    word = next_word(&reading);
    if ((expected = read_outcome(word, record)) != NULL) {
        return is_bad(error, word, expected);
    }
    word = next_word(&reading);
    if ((expected = read_response(word, &record->response_ns)) != NULL) {
        return is_bad(error, word, expected);
    }
    record->kept = record->connect = false;
    record->name.size = record->rule.size = 0;
    return read_options(&reading, record, error);
}

/* "*" stands for all destinations of the rule that must be named beside it. */
static bool target_any(const struct trace_record *record, struct trace_target *target,
                       struct trace_error *error) {
    target->endpoint = endpoint_any();
    target->text[0] = target->host[0] = '\0';
    if (record->name.size > 0) {
        is_bad(error, record->name, "a name only for tcp:// and udp:// destinations");
        return false;
    }
    if (record->rule.size == 0) {
        is_bad(error, record->destination, "rule=NAME behind the columns, where the destination is '*'");
        return false;
    }
    if (text_unescape(record->rule.bytes, record->rule.size, target->rule, sizeof target->rule) == 0) {
        is_bad(error, record->rule, "the name of a rule");
        return false;
    }
    return true;
}

bool trace_target(const struct trace_record *record, struct trace_target *target, struct trace_error *error) {
    target->rule[0] = '\0';
    if (word_is(record->destination, "*")) {
        return target_any(record, target, error);
    }
    if (!endpoint_parse(record->destination.bytes, record->destination.size, &target->endpoint,
                        target->text)) {
        is_bad(error, record->destination,
               "tcp://ADDRESS:PORT, udp://ADDRESS:PORT, unix:///PATH or dns://NAME");
        return false;
    }
    if (record->rule.size > 0) {
        is_bad(error, record->rule, "a rule only where the destination is '*'");
        return false;
    }
    bool by_name = target->endpoint.ipv6 == ENDPOINT_BY_NAME;
    bool by_address = target->endpoint.scheme == SCHEME_TCP || target->endpoint.scheme == SCHEME_UDP;
    target->host[0] = '\0';
    if (record->name.size == 0) {
        memcpy(target->host, target->text, by_name ? strlen(target->text) + 1 : 0);
        return true;
    }
    char name[ENDPOINT_NAME_MAX + 1];
    if (!by_address) {
        is_bad(error, record->name, "a name only for tcp:// and udp:// destinations");
        return false;
    }
    if (text_unescape(record->name.bytes, record->name.size, name, sizeof name) == 0) {
        is_bad(error, record->name, "a host name of at most 255 bytes");
        return false;
    }
    endpoint_canonical_name(name, target->host, sizeof target->host);
    return true;
}

size_t trace_error_format(const struct trace_error *error, char *bytes, size_t room) {
    struct text text = text_in(bytes, room);
    struct trace_piece found = error->found;
    text_add(&text, "found ");
    if (found.size == 0) {
        text_add(&text, "nothing");
    } else {
        text_add(&text, "'");
        text_add_escaped(&text, found.bytes, found.size < FOUND_MAX ? found.size : FOUND_MAX);
        text_add(&text, found.size > FOUND_MAX ? "...'" : "'");
    }
    text_add(&text, ", expected ");
    text_add(&text, error->expected);
    return text.length;
}
