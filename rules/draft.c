#include "rules/draft.h"

#include "rules/suggest.h"

#include <stddef.h>
#include <string.h>

void draft_begin(struct draft *draft, const struct rules_sources *sources, struct ruleset *ruleset,
                 struct rules_notes *notes) {
    memset(draft, 0, offsetof(struct draft, section));
    draft->sources = sources;
    draft->ruleset = ruleset;
    draft->notes = notes;
    draft_add(draft, "default", (struct place){0});
    draft_add(draft, "", (struct place){0});
    draft->current = DRAFT_NO_SECTION;
}

uint16_t draft_find(const struct draft *draft, const char *name) {
    size_t size = strlen(name);
    uint64_t key = text_hash(name, size);
    for (uint16_t i = 0; i < draft->sections; i++) {
        const struct section *section = &draft->section[i];
        if (section->key == key && i != DRAFT_SPARE && memcmp(section->name, name, size + 1) == 0) {
            return i;
        }
    }
    return DRAFT_NO_SECTION;
}

uint16_t draft_add(struct draft *draft, const char *name, struct place place) {
    if (draft->sections == DRAFT_SECTIONS) {
        return DRAFT_NO_SECTION;
    }
    struct section *section = &draft->section[draft->sections];
    memset(section, 0, sizeof *section);
    section->key = text_hash(name, strlen(name));
    section->place = place;
    section->like = DRAFT_NO_SECTION;
    memcpy(section->name, name, strlen(name) + 1);
    return draft->sections++;
}

static void bind_one(struct draft *draft, struct section *section) {
    section->like = draft_find(draft, section->like_name);
    if (section->like != DRAFT_NO_SECTION) {
        return;
    }
    section->bad = true;
    struct piece found = {section->like_name, strlen(section->like_name), section->like_place.column};
    struct suggestion suggestion = {.found = found};
    for (uint16_t i = DRAFT_SPARE + 1; i < draft->sections; i++) {
        suggest_consider(&suggestion, draft->section[i].name);
    }
    char bytes[NOTE_TEXT_MAX];
    struct text expected = text_in(bytes, sizeof bytes);
    text_add(&expected, "the name of a section");
    text_add_suggestion(&expected, &suggestion);
    notes_found(draft->notes, section->like_place, found, bytes);
}

/* True when the section comes back to itself by way of `like`. */
static bool is_circle(const struct draft *draft, uint16_t section) {
    uint16_t at = draft->section[section].like;
    for (uint16_t steps = 0; at != DRAFT_NO_SECTION && steps < draft->sections; steps++) {
        if (at == section) {
            return true;
        }
        at = draft->section[at].like;
    }
    return false;
}

void draft_bind(struct draft *draft) {
    for (uint16_t i = DRAFT_SPARE + 1; i < draft->sections; i++) {
        if (draft->section[i].like_name[0] != '\0') {
            bind_one(draft, &draft->section[i]);
        }
    }
    for (uint16_t i = DRAFT_SPARE + 1; i < draft->sections; i++) {
        struct section *section = &draft->section[i];
        if (is_circle(draft, i)) {
            struct piece found = {section->like_name, strlen(section->like_name), 0};
            notes_found(draft->notes, section->like_place, found,
                        "a section that does not itself start from this one");
            /* The circle is cut here, so it is said once. */
            section->like = DRAFT_NO_SECTION;
            section->bad = true;
        }
    }
}

struct provenance draft_provenance(const struct draft *draft, uint16_t section, enum rules_key key) {
    struct provenance from = {.section = section};
    while (from.section != DRAFT_NO_SECTION && from.steps < draft->sections) {
        const struct section *at = &draft->section[from.section];
        if (at->setting[key].state != SETTING_ABSENT) {
            from.setting = &at->setting[key];
            from.origin = from.section == DRAFT_DEFAULT ? ORIGIN_DEFAULT
                          : from.section == section     ? ORIGIN_RULE
                                                        : ORIGIN_TEMPLATE;
            return from;
        }
        /* The end of the row of templates is [default]. */
        bool last = at->like == DRAFT_NO_SECTION && from.section != DRAFT_DEFAULT;
        from.section = last ? DRAFT_DEFAULT : at->like;
        from.steps++;
    }
    return (struct provenance){.origin = ORIGIN_BUILT_IN, .section = section};
}

struct thresholds draft_thresholds(const struct draft *draft, uint16_t section) {
    struct thresholds thresholds = thresholds_defaults();
    bool written[KEY_VALUES];
    for (enum rules_key key = KEY_MODE; key < KEY_VALUES; key++) {
        struct provenance from = draft_provenance(draft, section, key);
        written[key] = from.setting != NULL && from.setting->state == SETTING_GOOD;
        if (written[key]) {
            key_store(&thresholds, key, from.setting->value);
        }
        if (written[key] && key == KEY_SLOW_EXEMPT) {
            size_t used = (size_t)from.setting->value * sizeof thresholds.exempt[0];
            memcpy(thresholds.exempt, draft->section[from.section].exempt, used);
        }
    }
    /* A threshold that no person wrote never trips. */
    thresholds.slow_written = written[KEY_SLOW_CALL] && thresholds.slow_call_ns > 0;
    if (!thresholds.slow_written) {
        thresholds.slow_ratio = 0;
    } else if (!written[KEY_SLOW_RATIO]) {
        thresholds.slow_ratio = 8000;
    }
    if (!written[KEY_PROBE_TIMEOUT] && thresholds.slow_written) {
        uint64_t twice = 2 * thresholds.slow_call_ns;
        uint64_t most = key_of(KEY_PROBE_TIMEOUT)->high;
        twice = twice < most ? twice : most;
        thresholds.probe_timeout_ns =
            twice > thresholds.probe_timeout_ns ? twice : thresholds.probe_timeout_ns;
    }
    if (!written[KEY_OPEN_MAX] && thresholds.open_for_ns > thresholds.open_max_ns) {
        thresholds.open_max_ns = thresholds.open_for_ns;
    }
    return thresholds;
}

bool draft_is_known(const struct draft *draft, uint16_t section) {
    uint16_t at = section;
    for (uint16_t steps = 0; at != DRAFT_NO_SECTION && steps < draft->sections; steps++) {
        if (draft->section[at].bad) {
            return false;
        }
        at = draft->section[at].like;
    }
    for (enum rules_key key = KEY_MODE; key < KEY_VALUES; key++) {
        const struct setting *setting = draft_provenance(draft, section, key).setting;
        if (setting != NULL && setting->state == SETTING_BAD) {
            return false;
        }
    }
    return true;
}

/* Said where the nearer of the two values stands: it is the one that was written knowing the other. */
static void refuse_open_max(struct draft *draft, uint16_t section, const struct thresholds *is) {
    struct provenance most = draft_provenance(draft, section, KEY_OPEN_MAX);
    struct provenance first = draft_provenance(draft, section, KEY_OPEN_FOR);
    bool by_first = first.setting != NULL && first.steps < most.steps;
    const struct setting *nearer = by_first ? first.setting : most.setting;
    const struct setting *other = by_first ? most.setting : first.setting;
    if (nearer == NULL) {
        return; /* not written, it is never below open_for */
    }
    char bytes[NOTE_TEXT_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, by_first ? "found 'open_for = " : "found 'open_max = ");
    text_add_duration(&text, by_first ? is->open_for_ns : is->open_max_ns);
    text_add(&text,
             by_first ? "', expected at most the 'open_max', " : "', expected at least the 'open_for', ");
    text_add_duration(&text, by_first ? is->open_max_ns : is->open_for_ns);
    if (other != NULL) {
        text_add(&text, " (");
        text_add_place(&text, draft->sources, other->place, nearer->place.source);
        text_add(&text, ")");
    }
    notes_add(draft->notes, nearer->place, false, bytes);
}

void draft_check(struct draft *draft) {
    for (uint32_t i = 0; i < draft->ruleset->rules; i++) {
        const struct thresholds *is = &draft->ruleset->rule[i].thresholds;
        if (is->open_max_ns < is->open_for_ns && draft_is_known(draft, draft->section_of[i])) {
            refuse_open_max(draft, draft->section_of[i], is);
        }
    }
}
