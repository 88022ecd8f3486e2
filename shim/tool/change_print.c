#include "shim/tool/change_print.h"

#include "shim/tool/output.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define MILLISECOND_NS UINT64_C(1000000)

/* What value and threshold of an event are. */
enum measure { MEASURE_NONE, MEASURE_COUNT, MEASURE_RATIO };

static enum measure measure_of(const struct event *event) {
    switch (event->cause) {
    case CAUSE_CONSECUTIVE_ERRORS:
    case CAUSE_ERROR_COUNT:
        return MEASURE_COUNT;
    case CAUSE_ERROR_RATIO:
    case CAUSE_SLOW_RATIO:
        return MEASURE_RATIO;
    default:
        return MEASURE_NONE;
    }
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

/* "9 of 12 calls in 10s: timeout 9", "8 of 10 calls in 10s, 5 of them hang" */
static void print_window(const struct event *event) {
    uint64_t part = event->errors, calls = event->calls;
    if (event->cause == CAUSE_SLOW_RATIO) {
        part = event->slow + event->overdue;
        calls += event->overdue;
    }
    printf(", %" PRIu64 " of %" PRIu64 " calls in %s", part, calls,
           shown_duration(event->window_ms * MILLISECOND_NS));
    if (event->cause == CAUSE_SLOW_RATIO && event->overdue > 0) {
        printf(", %" PRIu32 " of them hang", event->overdue);
    }
    if (event->cause == CAUSE_SLOW_RATIO && event->errors > 0) {
        printf(", %" PRIu64 " errors", event->errors);
    }
    print_reasons(event);
}

void change_print_text(const struct event *event, const char *rule, const char *destination) {
    printf("%s %s %s -> %s (%s", shown(rule), destination,
           breaker_state_name((enum breaker_state)event->from),
           breaker_state_name((enum breaker_state)event->to),
           breaker_cause_name((enum breaker_cause)event->cause));
    enum measure measure = measure_of(event);
    if (measure == MEASURE_COUNT) {
        printf(" %" PRIu32 " >= %" PRIu32, event->value, event->threshold);
    } else if (measure == MEASURE_RATIO) {
        printf(" %s >= %s", shown_share(event->value, 10000), shown_ratio(event->threshold));
    }
    if (measure != MEASURE_NONE) {
        print_window(event);
    }
    if (event->connect_only && event->to == STATE_OPEN) {
        fputs("; connects only", stdout);
    }
    if (event->to == STATE_OPEN) {
        printf("; next probe in %s", shown_duration(event->retry_ns));
    }
    putchar(')');
}

static void print_json_threshold(struct json *json, const struct event *event) {
    if (event->cause == CAUSE_CONSECUTIVE_ERRORS) {
        json_number(json, "consecutive_errors", event->value);
    }
    switch (measure_of(event)) {
    case MEASURE_COUNT:
        json_number(json, "threshold", event->threshold);
        break;
    case MEASURE_RATIO:
        json_decimal(json, "threshold", event->threshold, 4);
        break;
    case MEASURE_NONE:
        json_null(json, "threshold");
        break;
    }
}

void change_print_json(struct json *json, const struct event *event, const char *rule,
                       const char *destination) {
    json_string(json, "rule", rule);
    json_string(json, "destination", destination);
    json_string(json, "from", breaker_state_name((enum breaker_state)event->from));
    json_string(json, "to", breaker_state_name((enum breaker_state)event->to));
    json_string(json, "cause", breaker_cause_name((enum breaker_cause)event->cause));
    json_string(json, "gate", event->connect_only ? "connect" : "request");
    json_number(json, "calls", event->calls);
    json_number(json, "errors", event->errors);
    json_number(json, "slow", event->slow);
    json_number(json, "overdue", event->overdue);
    json_share(json, "error_ratio", event->errors, event->calls);
    json_share(json, "slow_ratio", event->slow + event->overdue, event->calls + event->overdue);
    print_json_threshold(json, event);
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
