#include "shim/route.h"

#include "lib/panel.h"
#include "lib/text.h"
#include "rules/ruleset.h"
#include "shim/clock.h"
#include "shim/guest.h"
#include "shim/load.h"
#include "shim/names.h"

#include <errno.h>
#include <string.h>

/* What this process knows of destinations: hash's high half << 32 | rules version << 16 | breaker + 1. A hint: checked
 * against the breaker itself, overwritten by the next destination that falls on it. */
#define KNOWN      16384u
#define KNOWN_NONE 0xffffu /* covered by no rule, or by one that is off */
static struct atomic64 known[KNOWN];

_Static_assert(PANEL_BREAKERS <= 1 << 14 && RULESET_RULES <= 1 << 10, "a place has so many bits for them");
#define VERSION_MASK UINT64_C(0xffffff)

static uint64_t place_of(const struct breaker *breaker, uint64_t version, uint32_t rule, uint32_t index) {
    uint64_t life = atomic64_load_relaxed(&breaker->made) & 0xffff;
    return life << 48 | (version & VERSION_MASK) << 24 | (uint64_t)rule << 14 | index;
}

/* The breaker of a place, if it still is the same destination's. */
static struct breaker *breaker_in(uint64_t place) {
    struct breaker *breaker = panel_breaker(guest.attachment.panel, route_breaker_in(place));
    return breaker != NULL && (atomic64_load_relaxed(&breaker->made) & 0xffff) == place >> 48 ? breaker
                                                                                              : NULL;
}

static uint64_t version_in(uint64_t place) {
    return place >> 24 & VERSION_MASK;
}

/* --- rules --- */

/* The mode in which this process takes the rule. */
static enum rule_mode mode_of(const struct endpoint *endpoint, const struct thresholds *thresholds,
                              uint32_t rule) {
    uint8_t mode = thresholds->mode;
    guest_has_mode(&mode);
    /* Look-ups are rejected only where a rule names them. */
    if (mode != MODE_OFF && endpoint->scheme == SCHEME_DNS && rule == 0) {
        return MODE_OBSERVE;
    }
    return (enum rule_mode)mode;
}

/* True when an operator has a word on the rule's destinations: it holds even where the rule itself is off. */
static bool is_overridden(const struct rule *rule) {
    const struct overrides *overrides = &guest.attachment.panel->overrides;
    return atomic64_load_relaxed(&overrides->any) != 0 &&
           override_effective(overrides, rule->key, NULL, clock_monotonic_ns()) != OVERRIDE_NONE;
}

/* Fills in all but the breaker. False when the endpoint is not to be judged. */
static bool route_by_rule(struct route *route, const struct endpoint *endpoint, const struct ruleset *rules,
                          uint32_t rule) {
    bool needs_rule = endpoint->scheme == SCHEME_UDP || endpoint->scheme == SCHEME_UNIX;
    route->thresholds = &ruleset_rule(rules, rule)->thresholds;
    enum rule_mode mode = mode_of(endpoint, route->thresholds, rule);
    route->enforce = mode == MODE_ENFORCE;
    route->withheld = atomic64_load_relaxed(&guest.attachment.panel->rules.withheld) != 0;
    return (mode != MODE_OFF || is_overridden(ruleset_rule(rules, rule))) && !(needs_rule && rule == 0);
}

/* --- destinations --- */

static void note_name(struct breaker *breaker, const struct endpoint *endpoint, const char *name) {
    char bytes[BREAKER_NAME_MAX];
    struct text text = text_in(bytes, sizeof bytes);
    text_add(&text, name);
    text_add(&text, ":");
    text_add_number(&text, endpoint->port);
    if (memcmp(breaker->name, bytes, text.length + 1) != 0) {
        memcpy(breaker->name, bytes, text.length + 1);
    }
}

static uint32_t make_breaker(const struct endpoint *endpoint, const char *text, const struct rule *rule) {
    struct panel *panel = guest.attachment.panel;
    uint32_t index = panel_find_or_make(panel, endpoint, text, rule->name, rule->key);
    if (index == PANEL_NO_BREAKER && panel_recycle(panel, clock_monotonic_ns())) {
        atomic64_add_relaxed(&panel->unprotected, (uint64_t)-1); /* turned away, and let in after all */
        index = panel_find_or_make(panel, endpoint, text, rule->name, rule->key);
    }
    if (index == PANEL_NO_BREAKER && atomic64_load_relaxed(&panel->unprotected) == 1) {
        struct event event = {0};
        event.kind = EVENT_TABLE_FULL;
        event.unix_ns = clock_unix_ns();
        event.at_ns = clock_monotonic_ns();
        event.pid = (uint32_t)atomic64_load_relaxed(guest_pid);
        journal_append(&panel->journal, &event);
    }
    return index;
}

/* The destination whose breaker it is: the endpoint, all addresses of its name, or all of the rule. *name is the text
 * that goes with it. */
static struct endpoint in_scope(const struct endpoint *endpoint, const struct thresholds *thresholds,
                                const char *host, const char **name) {
    if (thresholds->scope == SCOPE_RULE) {
        *name = NULL;
        return endpoint_any();
    }
    bool by_address = endpoint->scheme == SCHEME_TCP || endpoint->scheme == SCHEME_UDP;
    if (thresholds->scope == SCOPE_NAME && by_address && host != NULL) {
        *name = host;
        return endpoint_by_name((enum endpoint_scheme)endpoint->scheme, host, strlen(host), endpoint->port);
    }
    return *endpoint;
}

/* First contact under these rules. Returns the breaker's index, KNOWN_NONE for a destination that is not judged. */
static uint32_t first_contact(struct route *route, const struct endpoint *endpoint, const char *text,
                              const char *name, const struct ruleset *rules, uint64_t version) {
    uint32_t rule = ruleset_match(rules, endpoint, text, name);
    if (!route_by_rule(route, endpoint, rules, rule)) {
        return KNOWN_NONE;
    }
    struct endpoint scoped = in_scope(endpoint, route->thresholds, name, &text);
    uint32_t index = make_breaker(&scoped, text, ruleset_rule(rules, rule));
    struct breaker *breaker = panel_breaker(guest.attachment.panel, index);
    if (breaker == NULL) {
        return KNOWN_NONE;
    }
    breaker_adopt(breaker, route->thresholds);
    atomic64_store_release(&breaker->rule_ref, version << 16 | rule);
    route->breaker = breaker;
    route->place = place_of(breaker, version, rule, index);
    return index;
}

/* A destination met before under the same rules. */
static bool is_known(struct route *route, uint64_t word, const struct endpoint *endpoint, const char *name,
                     const struct ruleset *rules, uint64_t version) {
    uint32_t index = (uint32_t)(word & 0xffff) - 1;
    struct breaker *breaker = panel_breaker(guest.attachment.panel, index);
    if (breaker == NULL) {
        return false;
    }
    uint64_t reference =
        atomic64_load_acquire(&breaker->rule_ref); /* pairs with the release in first_contact */
    uint32_t rule = (uint32_t)(reference & 0xffff);
    if (reference >> 16 != version || !route_by_rule(route, endpoint, rules, rule)) {
        return false;
    }
    const char *text = NULL;
    struct endpoint scoped = in_scope(endpoint, route->thresholds, name, &text);
    if (!endpoint_equal(&breaker->endpoint, &scoped)) {
        return false;
    }
    route->breaker = breaker;
    route->place = place_of(breaker, version, rule, index);
    return true;
}

struct route route_to(const struct endpoint *endpoint, const char *text) {
    struct route route = {0};
    uint64_t version;
    const struct ruleset *rules = load_rules_in_force(guest.attachment.panel, &version);
    char name[ENDPOINT_NAME_MAX + 1];
    size_t length = 0;
    if (endpoint->scheme == SCHEME_TCP || endpoint->scheme == SCHEME_UDP) {
        length = names_find(endpoint, name, sizeof name);
    }
    uint64_t hash = endpoint_hash(endpoint, length ? text_hash(name, length) : 0);
    struct atomic64 *hint = &known[hash % KNOWN];
    uint64_t tag = (hash >> 32) << 32 | (version & 0xffff) << 16;
    uint64_t word = atomic64_load_relaxed(hint);
    if ((word & ~UINT64_C(0xffff)) == tag && (word & 0xffff) != 0) {
        bool overridden = atomic64_load_relaxed(&guest.attachment.panel->overrides.any) != 0;
        if ((word & 0xffff) == KNOWN_NONE && !overridden) {
            return route;
        }
        if (is_known(&route, word, endpoint, length ? name : NULL, rules, version)) {
            if (length) {
                note_name(route.breaker, endpoint, name);
            }
            return route;
        }
        route.breaker = NULL;
    }
    uint32_t index = first_contact(&route, endpoint, text, length ? name : NULL, rules, version);
    if (index == KNOWN_NONE && endpoint->scheme != SCHEME_TCP) {
        /* A digest's collision must not leave another path unjudged for ever: not remembered. */
        return route;
    }
    atomic64_store_relaxed(hint, tag | (index == KNOWN_NONE ? KNOWN_NONE : index + 1));
    if (route.breaker != NULL && length) {
        note_name(route.breaker, endpoint, name);
    }
    return route;
}

bool route_is_current(uint64_t place) {
    uint64_t current = atomic64_load_relaxed(&guest.attachment.panel->rules.current) >> 8;
    return version_in(place) == (current & VERSION_MASK) && breaker_in(place) != NULL;
}

struct route route_back(uint64_t place) {
    struct route route = {0};
    uint64_t version;
    const struct ruleset *rules = load_rules_in_force(guest.attachment.panel, &version);
    struct breaker *breaker = breaker_in(place);
    if (breaker == NULL) {
        return route;
    }
    uint32_t rule = (uint32_t)(place >> 14 & 0x3ff);
    if (version_in(place) != (version & VERSION_MASK)) {
        rule = ruleset_find(rules, breaker->rule);
    }
    if (route_by_rule(&route, &breaker->endpoint, rules, rule < RULESET_RULES ? rule : 0)) {
        route.breaker = breaker;
        route.place = place;
    }
    return route;
}

int route_refusal(const struct route *route) {
    int error = route->thresholds->refuse_errno;
    return error > 0 && error < 4096 ? error : ECONNREFUSED;
}
