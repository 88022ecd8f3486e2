#include "shim/tool/event_print.h"

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

static bool is_trip(const struct event *event) {
    return event->cause == CAUSE_CONSECUTIVE_ERRORS || event->cause == CAUSE_ERROR_RATIO ||
           event->cause == CAUSE_SLOW_RATIO;
}

static void print_reasons(const struct event *event) {
    const char *before = ": ";
    for (unsigned reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        if (event->reasons[reason] == 0) {
            continue;
        }
        printf("%s%s %" PRIu32, before, failure_reason_name((enum failure_reason)reason),
               event->reasons[reason]);
        before = ", ";
    }
}

/* "error_ratio 75.0% >= 50%, 9 of 12 calls in 10s: timeout 9" */
static void print_trip(const struct event *event) {
    const char *window = shown_duration(event->window_ms * MILLISECOND_NS);
    if (event->cause == CAUSE_CONSECUTIVE_ERRORS) {
        printf(" %" PRIu32 " >= %" PRIu32, event->value, event->threshold);
    } else {
        printf(" %s >= %s", shown_share(event->value, 10000), shown_ratio(event->threshold));
    }
    uint64_t part = event->cause == CAUSE_SLOW_RATIO ? event->slow : event->errors;
    printf(", %" PRIu64 " of %" PRIu64 " calls in %s", part, event->calls, window);
    if (event->cause == CAUSE_SLOW_RATIO && event->errors > 0) {
        printf(", %" PRIu64 " errors", event->errors);
    }
    print_reasons(event);
}

static void print_transition(const struct event *event, const struct found_panel *panel) {
    char destination[ENDPOINT_TEXT_MAX], rule[BREAKER_RULE_MAX];
    name_breaker(event, panel, destination, rule);
    printf("%s %s %s -> %s (%s", shown(rule), destination,
           breaker_state_name((enum breaker_state)event->from),
           breaker_state_name((enum breaker_state)event->to),
           breaker_cause_name((enum breaker_cause)event->cause));
    if (is_trip(event)) {
        print_trip(event);
    }
    if (event->connect_only && event->to == STATE_OPEN) {
        fputs("; connects only", stdout);
    }
    if (event->to == STATE_OPEN) {
        printf("; next probe in %s", shown_duration(event->retry_ns));
    }
    putchar(')');
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
    json_string(json, "rule", rule);
    json_string(json, "destination", destination);
    json_string(json, "from", breaker_state_name((enum breaker_state)event->from));
    json_string(json, "to", breaker_state_name((enum breaker_state)event->to));
    json_string(json, "cause", breaker_cause_name((enum breaker_cause)event->cause));
    json_string(json, "gate", event->connect_only ? "connect" : "request");
    json_number(json, "calls", event->calls);
    json_number(json, "errors", event->errors);
    json_number(json, "slow", event->slow);
    json_share(json, "error_ratio", event->errors, event->calls);
    json_share(json, "slow_ratio", event->slow, event->calls);
    if (event->cause == CAUSE_CONSECUTIVE_ERRORS) {
        json_number(json, "consecutive_errors", event->value);
        json_number(json, "threshold", event->threshold);
    } else if (is_trip(event)) {
        json_decimal(json, "threshold", event->threshold, 4);
    } else {
        json_null(json, "threshold");
    }
    json_begin_object(json, "reasons");
    for (unsigned reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        if (event->reasons[reason] > 0) {
            json_number(json, failure_reason_name((enum failure_reason)reason), event->reasons[reason]);
        }
    }
    json_end_object(json);
    if (event->to == STATE_OPEN) {
        json_number(json, "retry_in_ms", (event->retry_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
    } else {
        json_null(json, "retry_in_ms");
    }
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
