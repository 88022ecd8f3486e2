/* What the test programs of the rules language share: texts in, rules or messages out. */
#ifndef CUTOUT_TESTS_RULES_READING_H
#define CUTOUT_TESTS_RULES_READING_H

#include "rules/parse.h"
#include "rules/print.h"
#include "tests/programs/check.h"

#include <stddef.h>
#include <stdint.h>

static struct ruleset ruleset, again;
static struct rules_notes notes;
static _Alignas(64) unsigned char scratch[RULES_SCRATCH];
static struct rules_sources sources;

static inline bool read_bytes(const char *bytes, size_t size) {
    sources.count = 1;
    sources.source[0] = (struct rules_source){"t", bytes, size};
    bool good = rules_parse(&sources, &ruleset, &notes, scratch);
    rules_warn(scratch);
    return good;
}

static inline bool read_text(const char *text) {
    return read_bytes(text, strlen(text));
}

static inline void print_notes(void) {
    for (size_t i = 0; i < notes.count; i++) {
        char line[1024];
        rules_note_format(&sources, &notes.note[i], line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
}

/* The text is a good rules file; otherwise ends the test. */
static inline void read_good(const char *text) {
    if (!read_text(text)) {
        fprintf(stderr, "refused:\n%.2000s\n", text);
        print_notes();
        exit(1);
    }
}

/* The text gives exactly these messages, one a line: "t:1:2: …". */
static inline void expect_notes(const char *text, const char *wanted) {
    static char all[RULES_NOTES * 1024];
    bool good = read_text(text);
    size_t length = 0;
    all[0] = '\0';
    for (size_t i = 0; i < notes.count; i++) {
        length += rules_note_format(&sources, &notes.note[i], all + length, 1024);
        length += (size_t)snprintf(all + length, 2, "\n");
    }
    if (strcmp(all, wanted) != 0 || good != (notes.errors == 0)) {
        fprintf(stderr, "--- of\n%.2000s\n--- came\n%s--- wanted\n%s", text, all, wanted);
        exit(1);
    }
}

/* A text and what is said of it. */
struct message_case {
    const char *text;
    const char *notes; /* "" = nothing is said */
};

static inline void check_messages(const struct message_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_notes(cases[i].text, cases[i].notes);
    }
}
#define CHECK_MESSAGES(cases) check_messages(cases, sizeof(cases) / sizeof((cases)[0]))

/* Prints the rules just read into bytes, which are returned; the size goes to *size. */
static inline const char *print_rules(size_t *size) {
    static char printed[4u << 20];
    char bytes[RULES_PRINT_ROOM];
    struct text piece = text_in(bytes, sizeof bytes);
    struct rules_print print = {.ruleset = &ruleset, .scratch = scratch};
    *size = 0;
    while (rules_print_next(&print, &piece)) {
        CHECK(piece.length + 1 < sizeof bytes && *size + piece.length < sizeof printed);
        memcpy(printed + *size, piece.bytes, piece.length + 1);
        *size += piece.length;
    }
    return printed;
}

/* The same rules but for the lines they stand in. */
static inline bool same_rules(const struct ruleset *a, const struct ruleset *b) {
    if (a->rules != b->rules || a->patterns != b->patterns || a->text_bytes != b->text_bytes ||
        memcmp(a->pattern, b->pattern, a->patterns * sizeof a->pattern[0]) != 0 ||
        memcmp(a->text, b->text, a->text_bytes) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->rules; i++) {
        const struct rule *one = &a->rule[i], *other = &b->rule[i];
        if (one->key != other->key || memcmp(one->name, other->name, sizeof one->name) != 0 ||
            memcmp(&one->thresholds, &other->thresholds, sizeof one->thresholds) != 0) {
            return false;
        }
    }
    return true;
}

/* The rules just read, printed and read again, are the same. */
static inline void check_round_trip(void) {
    size_t size;
    const char *printed = print_rules(&size);
    ruleset_copy(&again, &ruleset);
    if (!read_bytes(printed, size) || !same_rules(&ruleset, &again)) {
        fprintf(stderr, "not the same when read again:\n%.4000s\n", printed);
        print_notes();
        exit(1);
    }
}

#endif
