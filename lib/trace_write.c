/* Lines of a trace, written. */
#include "lib/text.h"
#include "lib/trace.h"

#define FRACTION_DIGITS 9

/* number / 10^digits with `digits` decimals, of which zeros at the end are left out down to `least`. */
static void add_fixed(struct text *text, uint64_t number, unsigned digits, unsigned least) {
    uint64_t scale = 1;
    for (unsigned i = 0; i < digits; i++) {
        scale *= 10;
    }
    text_add_number(text, number / scale);
    uint64_t rest = number % scale;
    for (unsigned written = 0; written < digits && (written < least || rest > 0); written++) {
        scale /= 10;
        char digit = (char)('0' + rest / scale);
        text_add(text, written == 0 ? "." : "");
        text_add_bytes(text, &digit, 1);
        rest %= scale;
    }
}

/* A word of a line, whose blanks would end it; plain text is escaped otherwise, too. */
static void add_word(struct text *text, struct trace_piece word, bool plain) {
    size_t begin = 0;
    for (size_t at = 0; at <= word.size; at++) {
        if (at < word.size && word.bytes[at] != ' ') {
            continue;
        }
        if (plain) {
            text_add_escaped(text, word.bytes + begin, at - begin);
        } else {
            text_add_bytes(text, word.bytes + begin, at - begin);
        }
        text_add(text, at < word.size ? "\\x20" : "");
        begin = at + 1;
    }
}

size_t trace_write(const struct trace_record *record, char *line, size_t room) {
    struct text text = text_in(line, room);
    bool implied =
        !record->kept && (record->reason == REASON_REFUSED || record->reason == REASON_UNREACHABLE);
    add_fixed(&text, record->start_ns, FRACTION_DIGITS, 3);
    text_add(&text, " ");
    add_word(&text, record->destination, false);
    text_add(&text, " ");
    text_add(&text, outcome_name(record->outcome));
    if (record->outcome == OUTCOME_FAILURE) {
        text_add(&text, ":");
        text_add(&text, failure_reason_name(record->reason));
    }
    text_add(&text, " ");
    if (record->response_ns == TRACE_NEVER) {
        text_add(&text, "-");
    } else {
        add_fixed(&text, record->response_ns, 6, 0);
        text_add(&text, "ms");
    }
    text_add(&text, record->kept ? " kept" : "");
    text_add(&text, record->connect && !record->kept && !implied ? " connect" : "");
    if (record->name.size > 0) {
        text_add(&text, " name=");
        add_word(&text, record->name, true);
    }
    if (record->rule.size > 0) {
        text_add(&text, " rule=");
        add_word(&text, record->rule, true);
    }
    text_add(&text, "\n");
    return text.length;
}
