/* What a rules file can say without an error, and better would not. */
#include "rules/draft.h"
#include "rules/pattern.h"
#include "rules/value.h"

#include <string.h>

#define S UINT64_C(1000000000)
#define M (60 * S)

/* More calls a second than any one destination is sent. */
#define CALLS_A_SECOND_MAX 100000

/* One rule under scrutiny. */
struct scrutiny {
    struct draft *draft;
    uint16_t section;
    const struct thresholds *is;
};

/* "found 'window = 2s', expected …", where the value was written: said once, whichever rules it reaches. */
static void warn_value(const struct scrutiny *rule, enum rules_key key, const char *expected) {
    struct provenance from = draft_provenance(rule->draft, rule->section, key);
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    if (from.setting == NULL) {
        return;
    }
    text_add(&text, "found '");
    text_add(&text, key_name(key));
    text_add(&text, " = ");
    value_write(&text, key_of(key), from.setting->value);
    text_add(&text, "', expected ");
    text_add(&text, expected);
    notes_add(rule->draft->notes, from.setting->place, true, bytes);
}

static void warn_small_samples(const struct scrutiny *rule) {
    const struct thresholds *is = rule->is;
    if (is->window_ms < 5000) {
        warn_value(rule, KEY_WINDOW,
                   "5s or more: in a shorter one a bunch of errors trips a healthy destination");
    }
    if (is->min_calls < 5) {
        warn_value(rule, KEY_MIN_CALLS, "5 or more: a ratio of fewer calls is chance");
    }
    if (is->error_ratio > 0 && is->error_ratio < 1000) {
        warn_value(rule, KEY_ERROR_RATIO, "10% or more: healthy destinations fail that often for a moment");
    }
    /* Where a call comes once in a few minutes, three probes would take longer than the outage. */
    if (is->probes == 1 && is->open_for_ns < M) {
        warn_value(rule, KEY_PROBES, "2 or more: one lucky call closes the breaker, one unlucky reopens it");
    }
}

/* A value written nearer to the rule than another overrides it on purpose. */
static bool is_nearer(const struct scrutiny *rule, enum rules_key key, enum rules_key than) {
    struct provenance a = draft_provenance(rule->draft, rule->section, key);
    struct provenance b = draft_provenance(rule->draft, rule->section, than);
    return a.setting != NULL && (b.setting == NULL || a.steps < b.steps);
}

static void warn_never_acts(const struct scrutiny *rule) {
    const struct thresholds *is = rule->is;
    struct provenance ratio = draft_provenance(rule->draft, rule->section, KEY_SLOW_RATIO);
    if (ratio.setting != NULL && ratio.setting->value > 0 && !is->slow_written &&
        !is_nearer(rule, KEY_SLOW_CALL, KEY_SLOW_RATIO)) {
        warn_value(rule, KEY_SLOW_RATIO, "a 'slow_call' beside it: without one slow calls never trip");
    }
    if (is->slow_written && is->probe_timeout_ns < is->slow_call_ns) {
        char bytes[NOTE_TEXT_MAX];
        struct text text = text_in(bytes, sizeof bytes);
        value_write(&text, key_of(KEY_SLOW_CALL), is->slow_call_ns);
        text_add(&text, " or more, the 'slow_call': a shorter one ends probes before they are slow");
        warn_value(rule, KEY_PROBE_TIMEOUT, bytes);
    }
    if (is->error_ratio == 0 && is->consecutive_errors == 0 && is->slow_ratio == 0) {
        warn_value(rule, KEY_ERROR_RATIO,
                   "it, 'consecutive_errors' or 'slow_ratio' to be on: otherwise the breaker never opens");
    }
    uint64_t most = (uint64_t)is->window_ms * CALLS_A_SECOND_MAX / 1000;
    if (is->min_calls > most && is->error_ratio + is->slow_ratio > 0) {
        warn_value(rule, KEY_MIN_CALLS,
                   "what a window can hold: no destination is called 100000 times a second");
    }
}

/* [default] is what every rule starts from: switched off it switches all of them off, which hardly anybody
 * means who writes a rule. */
static void warn_switched_off(const struct scrutiny *rule) {
    struct provenance from = draft_provenance(rule->draft, rule->section, KEY_MODE);
    const struct section *section = &rule->draft->section[rule->section];
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    if (from.origin != ORIGIN_DEFAULT || rule->section == DRAFT_DEFAULT) {
        return;
    }
    text_add(&text, "found ");
    text_add_found(&text, (struct piece){section->name, strlen(section->name), 0});
    text_add(&text, " switched off by the 'mode = off' of [default] (");
    text_add_place(&text, rule->draft->sources, from.setting->place, section->place.source);
    text_add(&text, "), expected a 'mode' of its own");
    notes_add(rule->draft->notes, section->place, true, bytes);
}

/* The rule before this one that has a pattern which covers all that `narrow` matches; 0 where none has. */
static uint16_t covered_by(const struct ruleset *ruleset, uint32_t narrow) {
    for (uint32_t i = 0; i < narrow && ruleset->pattern[i].rule != ruleset->pattern[narrow].rule; i++) {
        if (pattern_covers(ruleset, &ruleset->pattern[i], &ruleset->pattern[narrow])) {
            return ruleset->pattern[i].rule;
        }
    }
    return 0;
}

static void warn_hidden(struct draft *draft, uint16_t rule, uint16_t by) {
    const struct section *section = &draft->section[draft->section_of[rule]];
    const struct section *other = &draft->section[draft->section_of[by]];
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, "found ");
    text_add_found(&text, (struct piece){section->name, strlen(section->name), 0});
    text_add(&text, " behind ");
    text_add_found(&text, (struct piece){other->name, strlen(other->name), 0});
    text_add(&text, " (");
    text_add_place(&text, draft->sources, other->place, section->place.source);
    text_add(&text, "), which matches all that it matches, expected it above");
    notes_add(draft->notes, section->place, true, bytes);
}

/* Patterns lie in the order of their rules. */
static void warn_all_hidden(struct draft *draft) {
    const struct ruleset *ruleset = draft->ruleset;
    uint32_t at = 0;
    while (at < ruleset->patterns) {
        uint16_t rule = ruleset->pattern[at].rule;
        uint16_t by = covered_by(ruleset, at);
        bool hidden = by > 0 && !draft->section[draft->section_of[rule]].bad;
        for (; at < ruleset->patterns && ruleset->pattern[at].rule == rule; at++) {
            hidden = hidden && covered_by(ruleset, at) > 0;
        }
        if (hidden) {
            warn_hidden(draft, rule, by);
        }
    }
}

void draft_warn(struct draft *draft) {
    for (uint32_t i = 0; i < draft->ruleset->rules; i++) {
        struct scrutiny rule = {draft, draft->section_of[i], &draft->ruleset->rule[i].thresholds};
        if (!draft_is_known(draft, rule.section)) {
            continue;
        }
        if (rule.is->mode == MODE_OFF) {
            warn_switched_off(&rule);
        } else {
            warn_small_samples(&rule);
            warn_never_acts(&rule);
        }
    }
    warn_all_hidden(draft);
}
