#include "shim/tool/event_print.h"

#include "shim/tool/change_print.h"
#include "shim/tool/facts.h"
#include "shim/tool/json.h"
#include "shim/tool/output.h"

#include <inttypes.h>
#include <stdio.h>

#define MILLISECOND_NS UINT64_C(1000000)

static const char *kind_name(uint32_t kind) {
    switch (kind) {
    case EVENT_ATTACHED:
        return "attached";
    case EVENT_RULES_LOADED:
        return "rules_loaded";
    case EVENT_RULES_REFUSED:
        return "rules_refused";
    case EVENT_TABLE_FULL:
        return "table_full";
    default:
        return "unknown";
    }
}

/* Whose transition it is; a breaker whose place was scribbled over has no name. */
static void name_breaker(const struct event *event, const struct found_panel *panel,
                         char destination[ENDPOINT_TEXT_MAX], char rule[BREAKER_RULE_MAX]) {
    if (!facts_name(panel, event->breaker, destination, rule)) {
        snprintf(destination, ENDPOINT_TEXT_MAX, "unknown");
        snprintf(rule, BREAKER_RULE_MAX, "unknown");
    }
}

static void print_transition(const struct event *event, const struct found_panel *panel) {
    char destination[ENDPOINT_TEXT_MAX], rule[BREAKER_RULE_MAX];
    name_breaker(event, panel, destination, rule);
    change_print_text(event, rule, destination);
}

void event_print_text(const struct event *event, const struct found_panel *panel, bool name_panel) {
    printf("%s ", shown_time(event->unix_ns));
    if (event->kind == EVENT_TRANSITION) {
        print_transition(event, panel);
    } else {
        fputs(kind_name(event->kind), stdout);
        if (event->kind == EVENT_RULES_LOADED || event->kind == EVENT_RULES_REFUSED) {
            printf(" %s", shown(facts_of_rules(panel->attachment.panel).file));
        }
        printf(" (pid %" PRIu32 ")", event->pid);
    }
    if (name_panel) {
        printf(" [%s/%s]", shown(panel->user), shown(panel->name));
    }
    putchar('\n');
}

static void print_json_transition(struct json *json, const struct event *event,
                                  const struct found_panel *panel) {
    char destination[ENDPOINT_TEXT_MAX], rule[BREAKER_RULE_MAX];
    name_breaker(event, panel, destination, rule);
    change_print_json(json, event, rule, destination);
}

void event_print_json(const struct event *event, const struct found_panel *panel) {
    struct json json = {0};
    json_begin_object(&json, NULL);
    json_time(&json, "time", event->unix_ns);
    json_decimal(&json, "at", event->at_ns / MILLISECOND_NS, 3);
    json_string(&json, "panel", panel->name);
    json_string(&json, "user", panel->user);
    if (event->kind == EVENT_TRANSITION) {
        print_json_transition(&json, event, panel);
    } else {
        json_string(&json, "event", kind_name(event->kind));
    }
    json_number(&json, "pid", event->pid);
    json_end_object(&json);
    putchar('\n');
}
