#include "rules/explain.h"

#include "rules/draft.h"
#include "rules/pattern.h"

#include <string.h>

/* The name that patterns are compared with; NULL where only an address is known. */
static const char *name_of(const struct explain *explain) {
    return explain->text[0] != '\0' ? explain->text : NULL;
}

static bool port_fits(const struct pattern *pattern, const struct endpoint *endpoint) {
    return endpoint->port >= pattern->port_low && endpoint->port <= pattern->port_high;
}

static enum explain_miss miss_of(const struct explain *explain, const struct pattern *pattern) {
    const struct endpoint *endpoint = &explain->endpoint;
    const char *name = name_of(explain);
    if (ruleset_pattern_matches(explain->ruleset, pattern, endpoint, name, name)) {
        return EXPLAIN_MATCHES;
    }
    if (pattern->scheme != endpoint->scheme) {
        return EXPLAIN_OTHER_SCHEME;
    }
    if (pattern->kind == PATTERN_ADDRESS && endpoint->ipv6 == ENDPOINT_BY_NAME) {
        return port_fits(pattern, endpoint) ? EXPLAIN_ADDRESS : EXPLAIN_OTHER_HOST;
    }
    if (name == NULL && (pattern->kind == PATTERN_NAME || pattern->kind == PATTERN_SUFFIX)) {
        return port_fits(pattern, endpoint) ? EXPLAIN_NAME : EXPLAIN_OTHER_HOST;
    }
    struct pattern any_port = *pattern;
    any_port.port_low = 0;
    any_port.port_high = UINT16_MAX;
    return ruleset_pattern_matches(explain->ruleset, &any_port, endpoint, name, name) ? EXPLAIN_OTHER_PORT
                                                                                      : EXPLAIN_OTHER_HOST;
}

bool explain_next(struct explain *explain, struct explain_trial *trial) {
    const struct ruleset *ruleset = explain->ruleset;
    if (explain->next >= ruleset->patterns) {
        return false;
    }
    *trial = (struct explain_trial){
        .rule = ruleset->pattern[explain->next].rule, .pattern = explain->next, .first = explain->next};
    while (explain->next < ruleset->patterns && ruleset->pattern[explain->next].rule == trial->rule) {
        enum explain_miss miss = miss_of(explain, &ruleset->pattern[explain->next]);
        if (miss > trial->miss) {
            trial->miss = miss;
            trial->pattern = explain->next;
        }
        explain->next++;
        if (miss == EXPLAIN_MATCHES) {
            explain->next = ruleset->patterns;
        }
    }
    return true;
}

const char *explain_miss_text(const struct explain *explain, enum explain_miss miss) {
    switch (miss) {
    case EXPLAIN_OTHER_SCHEME:
        return "another scheme";
    case EXPLAIN_OTHER_HOST:
        return explain->endpoint.scheme == SCHEME_UNIX ? "another path" : "another host";
    case EXPLAIN_ADDRESS:
        return "an address, and only the name is given";
    case EXPLAIN_NAME:
        return "a name, and only the address is given";
    case EXPLAIN_OTHER_PORT:
        return "another port";
    default:
        return "";
    }
}

void explain_write_pattern(struct text *text, const struct explain *explain, uint32_t pattern) {
    pattern_write(text, explain->ruleset, &explain->ruleset->pattern[pattern]);
}

static void write_place(struct text *text, const struct draft *draft, struct place place) {
    if (place.line > 0) {
        const char *path = draft->sources->source[place.source].path;
        text_add_escaped(text, path, strlen(path));
        text_add(text, ":");
        text_add_number(text, place.line);
    }
}

void explain_write_match(struct text *text, const struct explain *explain, uint32_t rule) {
    const struct draft *draft = explain->scratch;
    write_place(text, draft, draft->section[draft->section_of[rule]].match_place);
}

void explain_write_mode(struct text *text, const struct explain *explain, uint32_t rule) {
    const struct draft *draft = explain->scratch;
    struct provenance from = draft_provenance(draft, draft->section_of[rule], KEY_MODE);
    if (from.setting != NULL) {
        write_place(text, draft, from.setting->place);
    }
}
