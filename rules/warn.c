/* What a rules file can say without an error, and better would not. */
#include "rules/draft.h"
#include "rules/exempt.h"
#include "rules/parse.h"
#include "rules/pattern.h"
#include "rules/value.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define S  (1000 * MS)
#define M  (60 * S)
#define H  (60 * M)

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
    if (key == KEY_SLOW_EXEMPT) {
        exempt_write(&text, rule->draft->section[from.section].exempt, (unsigned)from.setting->value);
    } else {
        value_write(&text, key_of(key), from.setting->value);
    }
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
    if (is->error_ratio == 0 && is->error_count == 0 && is->consecutive_errors == 0 && is->slow_ratio == 0) {
        warn_value(rule, KEY_ERROR_RATIO,
                   "it, 'error_count', 'consecutive_errors' or 'slow_ratio' to be on: otherwise the breaker "
                   "never opens");
    }
    static const char beyond[] = "what a window can hold: no destination is called 100000 times a second";
    uint64_t most = (uint64_t)is->window_ms * CALLS_A_SECOND_MAX / 1000;
    if (is->min_calls > most && is->error_ratio + is->error_count + is->slow_ratio > 0) {
        warn_value(rule, KEY_MIN_CALLS, beyond);
    } else if (is->error_count > most) {
        warn_value(rule, KEY_ERROR_COUNT, beyond);
    }
}

/* --- times in which slow calls do not trip --- */

static void warn_quiet_times(const struct scrutiny *rule) {
    const struct thresholds *is = rule->is;
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    if (is->slow_ratio == 0) {
        return;
    }
    if (is->warmup_ns > 0 && is->warmup_ns / MS < is->window_ms) {
        text_add_duration(&text, is->window_ms * MS);
        text_add(&text, " or more, the 'window': a shorter one only puts off the verdict on its slow calls");
        warn_value(rule, KEY_WARMUP, bytes);
    } else if (is->warmup_ns > H) {
        warn_value(rule, KEY_WARMUP, "1h or less: so long after each closing no slow call opens the breaker");
    }
    for (unsigned i = 0; i < is->exempt_spans; i++) {
        if (exempt_is_always(&is->exempt[i])) {
            warn_value(rule, KEY_SLOW_EXEMPT, "less than all day: no slow call would ever open the breaker");
        }
    }
}

/* --- one breaker for all --- */

/* True when the rule has a pattern that matches every host at every port. */
static bool matches_all(const struct scrutiny *rule, enum endpoint_scheme scheme) {
    const struct ruleset *ruleset = rule->draft->ruleset;
    for (uint32_t i = 0; i < ruleset->patterns; i++) {
        const struct pattern *pattern = &ruleset->pattern[i];
        if (rule->draft->section_of[pattern->rule] == rule->section && pattern->scheme == scheme &&
            pattern->kind == PATTERN_ANY && pattern->port_low == 0) {
            return true;
        }
    }
    return false;
}

static void warn_shared(const struct scrutiny *rule) {
    if (rule->is->scope != SCOPE_RULE) {
        return;
    }
    if (matches_all(rule, SCHEME_DNS)) {
        warn_value(rule, KEY_SCOPE,
                   "'destination' with dns://*: one name that fails would have every look-up rejected");
    }
    if (matches_all(rule, SCHEME_TCP)) {
        warn_value(rule, KEY_SCOPE, "'destination' with *: an ill one would have all others rejected");
    }
    if (rule->section == DRAFT_DEFAULT) {
        warn_value(rule, KEY_SCOPE,
                   "it in rules alone: here an ill destination would have all that no rule matches rejected");
    }
}

/* --- values without effect --- */

/* Keys that do nothing without another. What [default] or a template writes for those rules that can use it is not idle
 * because another rule cannot. */
static const struct idle {
    enum rules_key key;
    const char *expected;
} IDLE[] = {
    {KEY_WARMUP, "a 'slow_call' beside it: without one slow calls never trip"},
    {KEY_SLOW_EXEMPT, "a 'slow_call' beside it: without one slow calls never trip"},
    {KEY_MAX_OPEN, "another 'scope' than rule: that has one breaker for all, and one may always open"},
    {KEY_OPEN_BACKOFF, "an 'open_max' above the 'open_for': this one caps the first step"},
    {KEY_OPEN_MAX, "an 'open_backoff' above 1 beside it: without one nothing grows"},
};
#define IDLE_KEYS (sizeof IDLE / sizeof IDLE[0])

/* True when the rule's value of one of those keys can come to matter, or asks for nothing. */
static bool can_act(const struct scrutiny *rule, enum rules_key key) {
    const struct thresholds *is = rule->is;
    switch (key) {
    case KEY_WARMUP:
        return is->slow_written || is->warmup_ns == 0;
    case KEY_SLOW_EXEMPT:
        return is->slow_written || is->exempt_spans == 0;
    case KEY_MAX_OPEN:
        return is->scope != SCOPE_RULE || is->max_open == 10000;
    case KEY_OPEN_BACKOFF:
        return is->open_max_ns != is->open_for_ns || is->open_backoff == 100; /* below it is an error */
    default: /* a factor of 1 that somebody wrote says that nothing is to grow */
        return draft_provenance(rule->draft, rule->section, KEY_OPEN_BACKOFF).setting != NULL ||
               is->open_max_ns < is->open_for_ns;
    }
}

static void note_acting(const struct scrutiny *rule) {
    bool known = draft_is_known(rule->draft, rule->section);
    for (size_t i = 0; i < IDLE_KEYS; i++) {
        struct provenance from = draft_provenance(rule->draft, rule->section, IDLE[i].key);
        if (from.setting != NULL && (!known || (rule->is->mode != MODE_OFF && can_act(rule, IDLE[i].key)))) {
            rule->draft->section[from.section].setting[IDLE[i].key].acts = true;
        }
    }
}

static void warn_idle(const struct scrutiny *rule) {
    for (size_t i = 0; i < IDLE_KEYS; i++) {
        struct provenance from = draft_provenance(rule->draft, rule->section, IDLE[i].key);
        if (from.setting != NULL && !from.setting->acts) {
            warn_value(rule, IDLE[i].key, IDLE[i].expected);
        }
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

static struct scrutiny scrutiny_of(struct draft *draft, uint32_t rule) {
    return (struct scrutiny){draft, draft->section_of[rule], &draft->ruleset->rule[rule].thresholds};
}

static void warn_all(struct draft *draft) {
    for (uint32_t i = 0; i < draft->ruleset->rules; i++) {
        struct scrutiny rule = scrutiny_of(draft, i);
        note_acting(&rule);
    }
    for (uint32_t i = 0; i < draft->ruleset->rules; i++) {
        struct scrutiny rule = scrutiny_of(draft, i);
        if (!draft_is_known(draft, rule.section)) {
            continue;
        }
        if (rule.is->mode == MODE_OFF) {
            warn_switched_off(&rule);
        } else {
            warn_small_samples(&rule);
            warn_never_acts(&rule);
            warn_quiet_times(&rule);
            warn_shared(&rule);
            warn_idle(&rule);
        }
    }
    warn_all_hidden(draft);
}

void rules_warn(void *scratch) {
    struct draft *draft = scratch;
    warn_all(draft);
    notes_sort(draft->notes);
}
