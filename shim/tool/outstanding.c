#include "shim/tool/outstanding.h"

#include "lib/control.h"
#include "lib/flight.h"
#include "lib/panel.h"
#include "shim/load.h"
#include "shim/tool/output.h"

#include <stdlib.h>

struct counted {
    struct outstanding_calls calls;
    bool known; /* slow_call_us is filled in */
    uint64_t slow_call_us;
};

struct outstanding {
    struct counted of[PANEL_BREAKERS];
};

/* What counts as overdue with this breaker, whether it is judged by or only shown; 0 = nothing does. */
static uint64_t slow_call_us(const struct panel *panel, const struct breaker *breaker) {
    char rule[BREAKER_RULE_MAX];
    uint64_t version;
    const struct ruleset *rules = load_rules_in_force(panel, &version);
    copy_bounded(rule, sizeof rule, breaker->rule, sizeof breaker->rule);
    uint32_t index = ruleset_find(rules, rule);
    return index < RULESET_RULES ? ruleset_rule(rules, index)->thresholds.slow_call_ns / 1000 : 0;
}

/* Those of an earlier generation change nothing any more, and one that has never answered is not waited for in vain. */
static bool can_be_overdue(const struct breaker *breaker, uint64_t word) {
    uint64_t control = atomic64_load_acquire(&breaker->control);
    bool counts = control_state(control) == STATE_CLOSED || control_state(control) == STATE_DISABLED;
    return counts && control_generation(control) == flight_generation(word) &&
           atomic64_load_relaxed(&breaker->answered) != 0;
}

static void count_word(struct outstanding *outstanding, struct panel *panel, uint64_t word, uint64_t now_ns) {
    uint32_t index = word != 0 ? flight_breaker(word) : PANEL_NO_BREAKER;
    const struct breaker *breaker = panel_breaker(panel, index);
    if (!breaker) {
        return;
    }
    struct counted *counted = &outstanding->of[index];
    if (!counted->known) {
        counted->known = true;
        counted->slow_call_us = slow_call_us(panel, breaker);
    }
    counted->calls.in_flight++;
    if (counted->slow_call_us != 0 && flight_is_overdue(word, counted->slow_call_us, now_ns) &&
        can_be_overdue(breaker, word)) {
        counted->calls.overdue++;
    }
}

struct outstanding *outstanding_count(const struct attachment *attachment, uint64_t now_ns) {
    struct outstanding *outstanding = calloc(1, sizeof *outstanding);
    for (uint32_t slot = 0; outstanding && slot < PANEL_PROCESSES; slot++) {
        const struct flights *flights = &attachment->panel->flights[slot];
        /* Of a slot that has never had calls nothing is touched but this one word. */
        uint64_t end = atomic64_load_acquire(&attachment->panel->overdue.flying[slot / 64]) >> slot % 64 & 1
                           ? atomic64_load_acquire(&flights->end)
                           : 0;
        if (end == 0 || !panel_slot_lives(attachment, slot)) {
            continue;
        }
        for (uint64_t i = 0; i < end && i < FLIGHT_WORDS; i++) {
            count_word(outstanding, attachment->panel, atomic64_load_acquire(&flights->words[i]), now_ns);
        }
    }
    return outstanding;
}

void outstanding_free(struct outstanding *outstanding) {
    free(outstanding);
}

struct outstanding_calls outstanding_of(const struct outstanding *outstanding, uint32_t breaker) {
    if (!outstanding || breaker >= PANEL_BREAKERS) {
        return (struct outstanding_calls){0};
    }
    return outstanding->of[breaker].calls;
}
