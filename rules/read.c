#include "rules/draft.h"
#include "rules/exempt.h"
#include "rules/pattern.h"
#include "rules/value.h"

#include <string.h>

static struct place place_of(struct piece piece, const struct line *line, uint16_t source) {
    return (struct place){line->number, piece.column, source};
}

/* A name of a section, copied. False when it is none; that has been said then. */
static bool read_name(struct draft *draft, struct piece name, struct place place,
                      char copy[BREAKER_RULE_MAX]) {
    const char *expected = name.size == 0                  ? "a section's name"
                           : name.size >= BREAKER_RULE_MAX ? "a name of at most 63 bytes"
                           : !piece_is_text(name, BREAKER_RULE_MAX - 1)
                               ? "a name in UTF-8 without control characters"
                               : NULL;
    if (expected != NULL) {
        notes_found(draft->notes, place, name, expected);
        return false;
    }
    memcpy(copy, name.bytes, name.size);
    copy[name.size] = '\0';
    return true;
}

/* Says once that a table is full. */
static void say_full(struct draft *draft, bool *said, struct place place, struct piece found,
                     const char *expected) {
    if (!*said) {
        notes_found(draft->notes, place, found, expected);
    }
    *said = true;
}

static void say_again(struct draft *draft, struct place place, struct piece found, const char *expected,
                      struct place first) {
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, "found ");
    text_add_found(&text, found);
    text_add(&text, " again, expected ");
    text_add(&text, expected);
    text_add(&text, " (the first: ");
    text_add_place(&text, draft->sources, first, place.source);
    text_add(&text, ")");
    notes_add(draft->notes, place, false, bytes);
}

/* What follows is checked, and belongs to nothing. */
static void use_spare(struct draft *draft) {
    draft->current = DRAFT_SPARE;
    memset(&draft->section[DRAFT_SPARE], 0, sizeof draft->section[DRAFT_SPARE]);
}

void draft_read_section(struct draft *draft, const struct line *line, uint16_t source) {
    struct place place = place_of(line->name, line, source);
    char name[BREAKER_RULE_MAX];
    use_spare(draft);
    if (!read_name(draft, line->name, place, name)) {
        return;
    }
    uint16_t index = draft_find(draft, name);
    if (index != DRAFT_NO_SECTION && draft->section[index].place.line > 0) {
        say_again(draft, place, line->name, "one section of that name", draft->section[index].place);
        return;
    }
    if (index == DRAFT_NO_SECTION) {
        index = draft_add(draft, name, place);
    }
    if (index == DRAFT_NO_SECTION) {
        say_full(draft, &draft->sections_full, place, line->name, "at most 2046 sections");
        return;
    }
    draft->section[index].place = place;
    draft->current = index;
}

/* False where one of the times is none, or there are too many; that has been said then. */
static bool read_times(struct draft *draft, struct section *section, const struct line *line,
                       uint16_t source) {
    struct piece rest = line->value, part, found;
    struct exempt_span span;
    const char *expected;
    bool good = true;
    unsigned count = 0;
    while (piece_next(&rest, &part)) {
        if (!exempt_read(part, &span, &found, &expected)) {
            notes_found(draft->notes, place_of(found, line, source), found, expected);
            good = false;
        } else if (count == EXEMPT_MAX) {
            notes_found(draft->notes, place_of(part, line, source), part, "at most 8 times of day");
            return false;
        } else {
            section->exempt[count++] = span;
        }
    }
    section->setting[KEY_SLOW_EXEMPT].value = count;
    return good;
}

static void read_value(struct draft *draft, enum rules_key key, const struct line *line, uint16_t source) {
    struct section *section = &draft->section[draft->current];
    struct setting *setting = &section->setting[key];
    char bytes[NOTE_TEXT_MAX];
    struct text expected = text_in(bytes, sizeof bytes);
    bool good;
    setting->place = place_of(line->name, line, source);
    if (key_of(key)->kind == VALUE_TIMES && !piece_is(line->value, "off")) {
        good = read_times(draft, section, line, source);
    } else {
        good = value_read(key_of(key), line->value, &setting->value, &expected);
        if (!good) {
            notes_found(draft->notes, place_of(line->value, line, source), line->value, bytes);
        }
    }
    setting->state = good ? SETTING_GOOD : SETTING_BAD;
}

/* Adds a pattern to the ruleset, its text copied in canonical form. */
static bool store_pattern(struct draft *draft, const struct pattern_reading *reading, uint16_t rule) {
    struct ruleset *ruleset = draft->ruleset;
    if (ruleset->patterns == RULESET_PATTERNS || reading->text.size > RULESET_TEXT - ruleset->text_bytes) {
        return false;
    }
    struct pattern *pattern = &ruleset->pattern[ruleset->patterns++];
    *pattern = reading->pattern;
    pattern->rule = rule;
    pattern->text = ruleset->text_bytes;
    for (size_t i = 0; i < reading->text.size; i++) {
        char byte = reading->text.bytes[i];
        bool upper = byte >= 'A' && byte <= 'Z' && pattern->scheme != SCHEME_UNIX;
        ruleset->text[ruleset->text_bytes++] = upper ? (char)(byte - 'A' + 'a') : byte;
    }
    return true;
}

static void warn_stray_bits(struct draft *draft, struct place place, const struct pattern *pattern,
                            struct piece found) {
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, "found ");
    text_add_found(&text, found);
    text_add(&text, ", an address with bits beyond its prefix, expected ");
    pattern_write(&text, draft->ruleset, pattern);
    notes_add(draft->notes, place, true, bytes);
}

static void read_match(struct draft *draft, const struct line *line, uint16_t source) {
    struct section *section = &draft->section[draft->current];
    struct piece rest = line->value, part;
    if (section->rule == 0 && draft->current != DRAFT_SPARE) {
        if (draft->ruleset->rules == RULESET_RULES) {
            say_full(draft, &draft->rules_full, section->place, line->value, "at most 1023 rules");
            return;
        }
        section->rule = (uint16_t)draft->ruleset->rules++;
        draft->section_of[section->rule] = draft->current;
    }
    while (piece_next(&rest, &part)) {
        struct pattern_reading reading;
        if (!pattern_read(part, &reading)) {
            notes_found(draft->notes, place_of(reading.found, line, source), reading.found, reading.expected);
            section->bad = true;
            continue;
        }
        if (reading.has_stray_bits) {
            warn_stray_bits(draft, place_of(part, line, source), &reading.pattern, part);
        }
        if (draft->current != DRAFT_SPARE && !store_pattern(draft, &reading, section->rule)) {
            say_full(draft, &draft->rules_full, place_of(part, line, source), part,
                     "at most 8192 patterns and 384 KiB of names");
            return;
        }
    }
}

static void read_like(struct draft *draft, const struct line *line, uint16_t source) {
    struct section *section = &draft->section[draft->current];
    struct place place = place_of(line->value, line, source);
    section->like_place = place;
    if (piece_is(line->value, "default")) {
        notes_found(draft->notes, place, line->value, "a template: every rule starts from [default] anyway");
        section->bad = true;
    } else if (!read_name(draft, line->value, place, section->like_name)) {
        section->bad = true;
    }
}

/* Where the key stands in the section already; line 0 where it does not. */
static struct place place_of_key(const struct section *section, enum rules_key key) {
    return key == KEY_MATCH  ? section->match_place
           : key == KEY_LIKE ? section->like_place
                             : section->setting[key].place;
}

void draft_read_setting(struct draft *draft, const struct line *line, uint16_t source) {
    struct place place = place_of(line->name, line, source);
    enum rules_key key = key_find(line->name);
    if (draft->current == DRAFT_NO_SECTION) {
        notes_found(draft->notes, place, line->name, "a section [NAME] above it");
        use_spare(draft);
    }
    struct section *section = &draft->section[draft->current];
    if (key == KEY_NONE) {
        char bytes[NOTE_TEXT_MAX];
        struct text text = text_in(bytes, sizeof bytes);
        key_explain_unknown(&text, line->name);
        notes_add(draft->notes, place, false, bytes);
        return;
    }
    if (draft->current == DRAFT_DEFAULT && key >= KEY_VALUES) {
        notes_found(draft->notes, place, line->name, "neither 'match' nor 'like' in [default]");
        return;
    }
    struct place first = place_of_key(section, key);
    if (first.line > 0) {
        say_again(draft, place, line->name,
                  key == KEY_MATCH ? "one 'match' a section, its patterns separated by commas"
                                   : "each key once a section",
                  first);
        return;
    }
    if (key == KEY_MATCH) {
        section->match_place = place;
        read_match(draft, line, source);
    } else if (key == KEY_LIKE) {
        read_like(draft, line, source);
    } else {
        read_value(draft, key, line, source);
    }
}
