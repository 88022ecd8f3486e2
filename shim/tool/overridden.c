#include "shim/tool/overridden.h"

#include "shim/load.h"
#include "shim/tool/facts.h"
#include "shim/tool/output.h"

#include <inttypes.h>
#include <stdio.h>

#define LISTED 10 /* single destinations */

static struct overridden read_word(const struct atomic64 *place, const char *scope, uint64_t now_ns) {
    uint64_t word = atomic64_load_relaxed(place);
    struct overridden result = {.says = override_in(word, now_ns)};
    if (result.says != OVERRIDE_NONE) {
        result.left_ns = override_left_ns(word, now_ns);
        result.scope = scope;
    }
    return result;
}

struct overridden overridden_all(const struct panel *panel, uint64_t now_ns) {
    return read_word(&panel->overrides.all, "all", now_ns);
}

struct overridden overridden_breaker(const struct panel *panel, const struct breaker *breaker,
                                     uint64_t now_ns) {
    struct overridden result = overridden_all(panel, now_ns);
    for (size_t i = 0; result.says == OVERRIDE_NONE && i < OVERRIDE_RULES; i++) {
        const struct override_of_rule *rule = &panel->overrides.rules[i];
        if (atomic64_load_relaxed(&rule->rule_key) == breaker->rule_key) {
            result = read_word(&rule->word, "rule", now_ns);
            break;
        }
    }
    return result.says == OVERRIDE_NONE ? read_word(&breaker->override, "destination", now_ns) : result;
}

const char *overridden_text(const struct overridden *overridden) {
    static char text[64];
    if (overridden->left_ns == UINT64_MAX) {
        snprintf(text, sizeof text, "%s", override_name(overridden->says));
    } else {
        snprintf(text, sizeof text, "%s for %s more", override_name(overridden->says),
                 shown_span(overridden->left_ns));
    }
    return text;
}

/* The name of the rule with that key: one in force, or one that a breaker stands under. False when none is known. */
static bool name_rule(const struct found_panel *panel, uint64_t key, char name[BREAKER_RULE_MAX]) {
    char destination[ENDPOINT_TEXT_MAX];
    uint64_t version;
    const struct ruleset *rules = load_rules_in_force(panel->attachment.panel, &version);
    for (uint32_t i = 0; i < rules->rules && i < RULESET_RULES; i++) {
        if (rules->rule[i].key == key) {
            copy_bounded(name, BREAKER_RULE_MAX, rules->rule[i].name, sizeof rules->rule[i].name);
            return true;
        }
    }
    uint32_t used = panel_breakers_used(panel->attachment.panel);
    for (uint32_t i = 0; i < used; i++) {
        const struct breaker *breaker = panel_breaker(panel->attachment.panel, i);
        if (breaker && breaker->rule_key == key) {
            return facts_name(panel, i, destination, name);
        }
    }
    return false;
}

static void print_rules(const struct found_panel *found, uint64_t now_ns) {
    const struct panel *panel = found->attachment.panel;
    for (size_t i = 0; i < OVERRIDE_RULES; i++) {
        const struct override_of_rule *rule = &panel->overrides.rules[i];
        struct overridden said = read_word(&rule->word, "rule", now_ns);
        char name[BREAKER_RULE_MAX];
        if (said.says == OVERRIDE_NONE) {
            continue;
        }
        bool known = name_rule(found, atomic64_load_relaxed(&rule->rule_key), name);
        printf("override: rule %s %s\n", known ? shown(name) : "of a name not known any more",
               overridden_text(&said));
    }
}

void overridden_print(const struct found_panel *found, uint64_t now_ns) {
    const struct panel *panel = found->attachment.panel;
    if (atomic64_load_relaxed(&panel->overrides.any) == 0) {
        return;
    }
    struct overridden all = overridden_all(panel, now_ns);
    if (all.says != OVERRIDE_NONE) {
        printf("override: everything %s\n", overridden_text(&all));
    }
    print_rules(found, now_ns);
    uint32_t used = panel_breakers_used(panel), listed = 0;
    for (uint32_t i = 0; i < used; i++) {
        char destination[ENDPOINT_TEXT_MAX], rule[BREAKER_RULE_MAX];
        const struct breaker *breaker = panel_breaker(found->attachment.panel, i);
        struct overridden said = {0};
        if (breaker) {
            said = read_word(&breaker->override, "destination", now_ns);
        }
        if (said.says != OVERRIDE_NONE && facts_name(found, i, destination, rule) && ++listed <= LISTED) {
            printf("override: %s %s\n", destination, overridden_text(&said));
        }
    }
    if (listed > LISTED) {
        printf("override: %" PRIu32 " more destinations\n", listed - LISTED);
    }
}
