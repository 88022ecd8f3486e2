#include "shim/tool/replay_print.h"

#include "lib/journal.h"
#include "shim/tool/change_print.h"
#include "shim/tool/json.h"
#include "shim/tool/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static const char *rule_name(const struct table *table, uint32_t lane) {
    return ruleset_rule(table->rules, table->names[lane].rule)->name;
}

/* --- changes --- */

/* Seconds with three decimals, more where they are not zero. */
static void print_seconds(uint64_t ns) {
    unsigned digits = 9;
    uint64_t rest = ns % SECOND_NS;
    for (; digits > 3 && rest % 10 == 0; digits--) {
        rest /= 10;
    }
    printf("%" PRIu64 ".%0*" PRIu64, ns / SECOND_NS, (int)digits, rest);
}

void replay_print_change(const struct table *table, const struct replay_change *change, bool as_json) {
    const struct thresholds *thresholds = table->lanes[change->lane].thresholds;
    struct event event = event_of_transition(&change->transition, change->lane, thresholds->window_ms);
    const char *rule = rule_name(table, change->lane);
    const char *destination = table->names[change->lane].destination;
    if (as_json) {
        struct json json = {0};
        json_begin_object(&json, NULL);
        json_decimal(&json, "at", event.at_ns, 9);
        change_print_json(&json, &event, rule, destination);
        json_end_object(&json);
    } else {
        print_seconds(event.at_ns);
        putchar(' ');
        change_print_text(&event, rule, destination);
    }
    putchar('\n');
}

/* --- the summary --- */

/* A column of the table: its heading and what a breaker has in it. */
enum {
    COLUMN_RULE,
    COLUMN_DESTINATION,
    COLUMN_STATE,
    COLUMN_ADMITTED,
    COLUMN_REJECTED,
    COLUMN_WOULD_REJECT,
    COLUMN_ERRORS,
    COLUMN_SLOW,
    COLUMN_OPENED,
    COLUMNS
};

static const char *const headings[COLUMNS] = {"RULE",         "DESTINATION", "STATE", "ADMITTED", "REJECTED",
                                              "WOULD REJECT", "ERRORS",      "SLOW",  "OPENED"};

struct row {
    const char *text[COLUMN_ADMITTED];
    uint64_t number[COLUMNS];
};

static struct row row_of(const struct table *table, uint32_t index, uint64_t end_ns) {
    const struct replay_lane *lane = &table->lanes[index];
    const struct breaker_totals *totals = &lane->breaker->totals;
    struct breaker_view view = breaker_view(lane->breaker, end_ns);
    struct row row = {.text = {shown(rule_name(table, index)), table->names[index].destination,
                               view.state == STATE_OPEN && view.connect_only
                                   ? "open (connect)"
                                   : breaker_state_name(view.state)}};
    row.number[COLUMN_ADMITTED] = lane->admitted;
    row.number[COLUMN_REJECTED] = lane->rejected;
    row.number[COLUMN_WOULD_REJECT] = lane->would_reject;
    row.number[COLUMN_ERRORS] = atomic64_load_relaxed(&totals->errors);
    row.number[COLUMN_SLOW] = atomic64_load_relaxed(&totals->slow);
    row.number[COLUMN_OPENED] = atomic64_load_relaxed(&totals->opened);
    return row;
}

static size_t digits_of(uint64_t number) {
    size_t digits = 1;
    for (; number >= 10; number /= 10) {
        digits++;
    }
    return digits;
}

static void widen(size_t *width, size_t to) {
    *width = to > *width ? to : *width;
}

static void print_text(const char *text, size_t width) {
    fputs(text, stdout);
    for (size_t columns = columns_of(text); columns < width + 2; columns++) {
        putchar(' ');
    }
}

static void print_table(const struct table *table, uint64_t end_ns) {
    size_t widths[COLUMNS];
    for (unsigned column = 0; column < COLUMNS; column++) {
        widths[column] = strlen(headings[column]);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct row row = row_of(table, i, end_ns);
        for (unsigned column = 0; column < COLUMNS; column++) {
            widen(&widths[column],
                  column < COLUMN_ADMITTED ? columns_of(row.text[column]) : digits_of(row.number[column]));
        }
    }
    for (unsigned column = 0; column < COLUMN_ADMITTED; column++) {
        print_text(headings[column], widths[column]);
    }
    for (unsigned column = COLUMN_ADMITTED; column < COLUMNS; column++) {
        printf("%*s%s", (int)widths[column], headings[column], column + 1 < COLUMNS ? "  " : "\n");
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct row row = row_of(table, i, end_ns);
        for (unsigned column = 0; column < COLUMN_ADMITTED; column++) {
            print_text(row.text[column], widths[column]);
        }
        for (unsigned column = COLUMN_ADMITTED; column < COLUMNS; column++) {
            printf("%*" PRIu64 "%s", (int)widths[column], row.number[column],
                   column + 1 < COLUMNS ? "  " : "\n");
        }
    }
}

static void print_json_lane(struct json *json, const struct table *table, uint32_t index, uint64_t end_ns) {
    const struct replay_lane *lane = &table->lanes[index];
    const struct breaker_totals *totals = &lane->breaker->totals;
    json_begin_object(json, NULL);
    json_string(json, "rule", rule_name(table, index));
    json_string(json, "destination", table->names[index].destination);
    json_string(json, "name", table->names[index].host);
    json_string(json, "mode", lane->enforce ? "enforce" : "observe");
    json_string(json, "state", breaker_state_name(breaker_view(lane->breaker, end_ns).state));
    json_number(json, "admitted", lane->admitted);
    json_number(json, "rejected", lane->rejected);
    json_number(json, "would_reject", lane->would_reject);
    json_number(json, "busy", atomic64_load_relaxed(&totals->busy));
    json_number(json, "calls", atomic64_load_relaxed(&totals->calls));
    json_number(json, "errors", atomic64_load_relaxed(&totals->errors));
    json_number(json, "slow", atomic64_load_relaxed(&totals->slow));
    json_number(json, "ignored", atomic64_load_relaxed(&totals->ignored));
    json_number(json, "opened", atomic64_load_relaxed(&totals->opened));
    json_end_object(json);
}

static void print_json(const struct table *table, const struct replay_end *end) {
    struct json json = {0};
    json_begin_object(&json, NULL);
    json_begin_array(&json, "summary");
    for (uint32_t i = 0; i < table->count; i++) {
        print_json_lane(&json, table, i, end->end_ns);
    }
    json_end_array(&json);
    json_number(&json, "not_judged", end->not_judged);
    json_number(&json, "lost", end->lost);
    json_end_object(&json);
    putchar('\n');
}

void replay_print_summary(const struct table *table, const struct replay_end *end, bool as_json) {
    if (as_json) {
        print_json(table, end);
        return;
    }
    print_table(table, end->end_ns);
    if (end->not_judged > 0) {
        printf("not judged by any rule: %" PRIu64 "\n", end->not_judged);
    }
    if (end->lost > 0) {
        printf("lost by the recorder: %" PRIu64 "\n", end->lost);
    }
}
