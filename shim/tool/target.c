#include "shim/tool/target.h"

#include "lib/text.h"
#include "shim/load.h"
#include "shim/tool/facts.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED 20 /* destinations named in an error message */

static const struct ruleset *rules_of(const struct found_panel *panel) {
    uint64_t version;
    return load_rules_in_force(panel->attachment.panel, &version);
}

/* A rule in force, or one that breakers still stand under. */
static bool is_rule(const struct found_panel *panel, const char *word) {
    char destination[ENDPOINT_TEXT_MAX], rule[BREAKER_RULE_MAX];
    if (ruleset_find(rules_of(panel), word) < RULESET_RULES) {
        return true;
    }
    uint32_t used = panel_breakers_used(panel->attachment.panel);
    for (uint32_t i = 0; i < used; i++) {
        if (facts_name(panel, i, destination, rule) && strcmp(rule, word) == 0) {
            return true;
        }
    }
    return false;
}

/* Fills in which breakers of the panel are meant. False without memory. */
static bool select_breakers(struct target *target, const struct found_panel *panel) {
    struct moment moment = moment_now();
    uint32_t used = panel_breakers_used(panel->attachment.panel);
    target->is_rule = target->word != NULL && is_rule(panel, target->word);
    target->count = 0;
    target->breakers = malloc((used + 1) * sizeof *target->breakers);
    for (uint32_t i = 0; target->breakers && i < used; i++) {
        struct breaker_facts facts;
        if (facts_gather(&facts, panel, i, &moment) &&
            (!target->word || (target->is_rule ? strcmp(facts.rule, target->word) == 0
                                               : facts_answer_to(&facts, target->word)))) {
            target->breakers[target->count++] = i;
        }
    }
    return target->breakers != NULL;
}

static bool knows(const struct found_panel *panel, const char *word) {
    struct target trial = {.word = word};
    bool known = select_breakers(&trial, panel) && (!word || trial.is_rule || trial.count > 0);
    free(trial.breakers);
    return known;
}

static void list_panel(const struct found_panel *panel) {
    if (panel->group[0]) {
        fprintf(stderr, "  CUTOUT_GROUP=%s -p %s\n", shown(panel->group), shown(panel->name));
    } else {
        fprintf(stderr, "  -p %s/%s\n", shown(panel->user), shown(panel->name));
    }
}

/* What there is in a panel, for somebody who named something else. */
static void list_what_exists(const struct found_panel *panel) {
    char destination[ENDPOINT_TEXT_MAX], rule[BREAKER_RULE_MAX];
    const struct ruleset *rules = rules_of(panel);
    fprintf(stderr, "  panel %s: rules", shown(panel->name));
    for (uint32_t i = 0; i < rules->rules && i < RULESET_RULES; i++) {
        copy_bounded(rule, sizeof rule, rules->rule[i].name, sizeof rules->rule[i].name);
        fprintf(stderr, "%s %s", i > 0 ? "," : "", shown(rule));
    }
    fputc('\n', stderr);
    uint32_t used = panel_breakers_used(panel->attachment.panel), listed = 0;
    for (uint32_t i = 0; i < used; i++) {
        if (facts_name(panel, i, destination, rule) && ++listed <= LISTED) {
            fprintf(stderr, "    %s\n", destination);
        }
    }
    if (listed > LISTED) {
        fprintf(stderr, "    and %u more, see cutout status\n", listed - LISTED);
    }
}

/* The one panel that knows the word; NULL, with the error reported, when there is none or there are several. */
static const struct found_panel *choose(const struct found *found, const char *command, const char *selector,
                                        const char *word) {
    const struct found_panel *chosen = NULL;
    size_t several = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (knows(&found->panels[i], word)) {
            chosen = &found->panels[i];
            several++;
        }
    }
    if (found->count == 0) {
        found_nothing(selector);
    } else if (several == 0) {
        tool_error("%s: no rule, destination or host name is %s", command, shown(word));
        for (size_t i = 0; i < found->count; i++) {
            list_what_exists(&found->panels[i]);
        }
    } else if (several > 1) {
        tool_error(word ? "%s: several panels know %s, name one:" : "%s: there are several panels, name one:",
                   command, word ? shown(word) : "");
        for (size_t i = 0; i < found->count; i++) {
            if (knows(&found->panels[i], word)) {
                list_panel(&found->panels[i]);
            }
        }
    }
    return several == 1 ? chosen : NULL;
}

bool target_open(struct target *target, const char *command, const char *selector, const char *word) {
    *target = (struct target){.word = word};
    if (!found_open(&target->found, selector)) {
        return false;
    }
    target->panel = choose(&target->found, command, selector, word);
    if (!target->panel) {
        found_close(&target->found);
        return false;
    }
    bool well = select_breakers(target, target->panel);
    if (!well) {
        tool_error("out of memory");
    } else {
        int result = panel_attach_id(&target->attachment, target->panel->attachment.segment_id, false);
        well = result == 0;
        if (!well) {
            tool_error("%s: panel %s of %s: %s", command, shown(target->panel->name),
                       shown(found_whose(target->panel)), strerror(-result));
        }
    }
    if (!well) {
        free(target->breakers);
        found_close(&target->found);
        return false;
    }
    target->rule_key = word ? text_hash(word, strlen(word)) : 0;
    return true;
}

void target_close(struct target *target) {
    free(target->breakers);
    panel_detach(&target->attachment);
    found_close(&target->found);
}

const char *target_text(const struct target *target) {
    static char text[BREAKER_NAME_MAX * 4];
    if (!target->word) {
        return "everything";
    }
    if (target->is_rule) {
        snprintf(text, sizeof text, "rule %s", shown(target->word));
    } else if (target->count == 1) {
        snprintf(text, sizeof text, "%s", shown(target->word));
    } else {
        snprintf(text, sizeof text, "%zu destinations of %s", target->count, shown(target->word));
    }
    return text;
}
