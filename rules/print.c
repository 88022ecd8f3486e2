#include "rules/print.h"

#include "rules/draft.h"
#include "rules/exempt.h"
#include "rules/pattern.h"
#include "rules/value.h"

#include <string.h>

#define COMMENT_COLUMN 42
#define COMMENT_ROOM   320

static void pad(struct text *text, size_t from, size_t width) {
    while (text->length - from < width) {
        text_add(text, " ");
    }
}

static void add_comment(struct text *line, const char *comment) {
    pad(line, 0, COMMENT_COLUMN - 1);
    text_add(line, " # ");
    text_add(line, comment);
    text_add(line, "\n");
}

/* "FILE:12", of a long path its end. */
static void add_place(struct text *text, const struct draft *draft, struct place place) {
    const char *path = draft->sources->source[place.source].path;
    size_t size = strlen(path);
    size_t skipped = size > 80 ? size - 80 : 0;
    text_add(text, skipped > 0 ? "..." : "");
    text_add_escaped(text, path + skipped, size - skipped);
    text_add(text, ":");
    text_add_number(text, place.line);
}

/* "rule, FILE:12", "template rpc, FILE:3", "[default], FILE:1" or "built-in". */
static void add_origin(struct text *text, const struct draft *draft, struct provenance from) {
    if (from.setting == NULL) {
        text_add(text, "built-in");
        return;
    }
    text_add(text, from.origin == ORIGIN_DEFAULT ? "[default]"
                   : from.origin == ORIGIN_RULE  ? "rule"
                                                 : "template ");
    if (from.origin == ORIGIN_TEMPLATE) {
        text_add(text, draft->section[from.section].name);
    }
    text_add(text, ", ");
    add_place(text, draft, from.setting->place);
}

static void print_heading(struct text *line, const struct draft *draft, uint16_t section) {
    char bytes[COMMENT_ROOM];
    struct text comment = text_in(bytes, sizeof bytes);
    text_add(line, "[");
    text_add(line, draft->section[section].name);
    text_add(line, "]");
    if (draft->section[section].place.line > 0) {
        add_place(&comment, draft, draft->section[section].place);
    } else {
        text_add(&comment, "built-in");
    }
    add_comment(line, bytes);
}

/* Where the value of a key comes from that no longer is what was written, or that nobody wrote: why. */
static void add_reason(struct text *text, enum rules_key key, const struct setting *setting,
                       const struct thresholds *is) {
    bool written = setting != NULL;
    if (key == KEY_SLOW_CALL && !written) {
        text_add(text, ": shown only, slow calls never trip");
    } else if (key == KEY_SLOW_RATIO && !is->slow_written && written && setting->value > 0) {
        text_add(text, " says ");
        text_add_ratio(text, (uint32_t)setting->value);
        text_add(text, ", off without slow_call");
    } else if (key == KEY_SLOW_RATIO && !is->slow_written && !written) {
        text_add(text, ": off without slow_call");
    } else if (key == KEY_PROBE_TIMEOUT && !written && is->slow_written) {
        text_add(text, ": the larger of 5s and 2 x slow_call, at most 1h");
    } else if (key == KEY_OPEN_MAX && !written) {
        text_add(text, ": the larger of 5m and open_for");
    }
}

static void print_value(struct text *line, const struct draft *draft, uint16_t section, enum rules_key key,
                        const struct thresholds *is) {
    char bytes[COMMENT_ROOM];
    struct text comment = text_in(bytes, sizeof bytes);
    struct provenance from = draft_provenance(draft, section, key);
    /* slow_call would begin to be judged if it were written. */
    text_add(line, key == KEY_SLOW_CALL && from.setting == NULL ? "# " : "");
    text_add(line, key_name(key));
    pad(line, 0, 18);
    text_add(line, " = ");
    if (key == KEY_SLOW_EXEMPT) {
        exempt_write(line, is->exempt, is->exempt_spans);
    } else {
        value_write(line, key_of(key), key_value(is, key));
    }
    add_origin(&comment, draft, from);
    add_reason(&comment, key, from.setting, is);
    add_comment(line, bytes);
}

bool rules_print_next(struct rules_print *print, struct text *text) {
    const struct draft *draft = print->scratch;
    const struct ruleset *ruleset = print->ruleset;
    *text = text_in(text->bytes, text->room);
    if (print->rule >= ruleset->rules) {
        return false;
    }
    uint16_t section = draft->section_of[print->rule];
    if (print->step == 0) {
        text_add(text, print->rule > 0 ? "\n" : "");
        struct text line = {text->bytes + text->length, text->room - text->length, 0};
        print_heading(&line, draft, section);
        text_add(&line, print->rule > 0 ? "match              = " : "");
        text->length += line.length;
        print->step = print->rule > 0 ? 1 : 2;
    } else if (print->step == 1) {
        pattern_write(text, ruleset, &ruleset->pattern[print->pattern++]);
        bool last =
            print->pattern >= ruleset->patterns || ruleset->pattern[print->pattern].rule != print->rule;
        text_add(text, last ? "\n" : ", ");
        print->step += last;
    } else {
        enum rules_key key = (enum rules_key)(print->step++ - 2);
        print_value(text, draft, section, key, &ruleset->rule[print->rule].thresholds);
        if (key + 1 == KEY_VALUES) {
            print->rule++;
            print->step = 0;
        }
    }
    return true;
}
