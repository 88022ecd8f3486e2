/* The one JSON object of `cutout status --json`; tests/status.schema.json describes it. */
#include "rules/exempt.h"
#include "shim/tool/json.h"
#include "shim/tool/output.h"
#include "shim/tool/status.h"

#include <stdio.h>

#define MILLISECOND_NS UINT64_C(1000000)

static void print_rules(struct json *json, const struct panel *panel) {
    struct rules_facts rules = facts_of_rules(panel);
    json_begin_object(json, "rules");
    json_string(json, "file", rules.file[0] ? rules.file : NULL);
    json_bool(json, "ok", rules.ok);
    json_string(json, "error", rules.ok ? NULL : rules.error);
    json_time(json, "loaded", rules.loaded_unix_ns);
    json_end_object(json);
}

static void print_override(struct json *json, const struct overridden *override) {
    if (override->says == OVERRIDE_NONE) {
        json_null(json, "override");
        return;
    }
    json_begin_object(json, "override");
    json_string(json, "to", override_name(override->says));
    if (override->left_ns == UINT64_MAX) {
        json_null(json, "for_ms");
    } else {
        json_number(json, "for_ms", (override->left_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
    }
    json_string(json, "scope", override->scope);
    json_end_object(json);
}

static void print_process(struct json *json, const struct process *process, bool withheld) {
    char text[PANEL_PATH_MAX];
    uint64_t mode = atomic64_load_relaxed(&process->mode);
    json_begin_object(json, NULL);
    json_number(json, "pid", atomic64_load_relaxed(&process->pid));
    copy_bounded(text, sizeof text, process->program, sizeof process->program);
    json_string(json, "program", text);
    copy_bounded(text, sizeof text, process->version, sizeof process->version);
    json_string(json, "version", text);
    if (withheld && mode <= 1 + MODE_ENFORCE) {
        mode = 1 + MODE_OBSERVE;
    }
    json_string(json, "mode", facts_mode_name(mode > 0 ? (unsigned)mode - 1 : MODE_ENFORCE));
    json_time(json, "since", atomic64_load_relaxed(&process->since_unix_ns));
    copy_bounded(text, sizeof text, process->rules_named, sizeof process->rules_named);
    if (text[0]) {
        json_string(json, "rules_named", text);
    }
    json_end_object(json);
}

static void print_processes(struct json *json, const struct found_panel *found) {
    const struct panel *panel = found->attachment.panel;
    bool withheld = facts_of_rules(panel).withheld;
    json_begin_array(json, "processes");
    for (uint32_t slot = 0; slot < PANEL_PROCESSES; slot++) {
        if (panel_slot_lives(&found->attachment, slot)) {
            print_process(json, &panel->processes[slot], withheld);
        }
    }
    json_end_array(json);
}

/* A threshold that is off is null. */
static void print_ratio(struct json *json, const char *key, uint16_t ratio) {
    if (ratio) {
        json_decimal(json, key, ratio, 4);
    } else {
        json_null(json, key);
    }
}

static void print_limit(struct json *json, const char *key, uint64_t count) {
    if (count) {
        json_number(json, key, count);
    } else {
        json_null(json, key);
    }
}

static void print_milliseconds(struct json *json, const char *key, uint64_t ns) {
    json_decimal(json, key, ns / 1000, 3);
}

/* As the rules write them. */
static void print_exempt(struct json *json, const struct thresholds *thresholds) {
    char bytes[512];
    struct text text = text_in(bytes, sizeof bytes);
    exempt_write(&text, thresholds->exempt, thresholds->exempt_spans);
    json_string(json, "slow_exempt", thresholds->exempt_spans ? bytes : NULL);
}

static void print_thresholds(struct json *json, const struct thresholds *thresholds) {
    json_begin_object(json, "thresholds");
    json_number(json, "window_ms", thresholds->window_ms);
    json_number(json, "buckets", thresholds->buckets);
    json_number(json, "min_calls", thresholds->min_calls);
    print_ratio(json, "error_ratio", thresholds->error_ratio);
    print_limit(json, "error_count", thresholds->error_count);
    print_limit(json, "consecutive_errors", thresholds->consecutive_errors);
    if (thresholds->slow_call_ns) {
        print_milliseconds(json, "slow_call_ms", thresholds->slow_call_ns);
    } else {
        json_null(json, "slow_call_ms");
    }
    print_ratio(json, "slow_ratio", thresholds->slow_written ? thresholds->slow_ratio : 0);
    json_number(json, "min_slow_calls", thresholds->min_slow_calls);
    print_milliseconds(json, "warmup_ms", thresholds->warmup_ns);
    print_exempt(json, thresholds);
    json_decimal(json, "max_open", thresholds->max_open, 4);
    print_milliseconds(json, "open_for_ms", thresholds->open_for_ns);
    json_decimal(json, "open_backoff", thresholds->open_backoff, 2);
    print_milliseconds(json, "open_max_ms", thresholds->open_max_ns);
    json_decimal(json, "open_jitter", thresholds->open_jitter, 4);
    json_number(json, "probes", thresholds->probes);
    print_milliseconds(json, "probe_timeout_ms", thresholds->probe_timeout_ns);
    print_milliseconds(json, "forget_after_ms", thresholds->forget_after_ns);
    print_limit(json, "max_in_flight", thresholds->max_in_flight);
    json_end_object(json);
}

static void print_counts(struct json *json, const struct breaker_facts *facts) {
    const struct window_sums *sums = &facts->view.sums;
    json_begin_object(json, "window");
    json_number(json, "calls", sums->calls);
    json_number(json, "errors", sums->errors);
    json_number(json, "slow", sums->slow);
    json_number(json, "overdue", sums->overdue);
    json_share(json, "error_ratio", sums->errors, sums->calls);
    json_share(json, "slow_ratio", sums->slow + sums->overdue, sums->calls + sums->overdue);
    json_end_object(json);
    if (facts->in_force) {
        print_thresholds(json, &facts->thresholds);
    }
    json_begin_object(json, "total");
    json_number(json, "calls", facts->calls);
    json_number(json, "errors", facts->errors);
    json_number(json, "slow", facts->slow);
    json_number(json, "ignored", facts->ignored);
    json_number(json, "rejected", facts->rejected);
    json_number(json, "busy", facts->busy); /* of them: because of max_in_flight */
    json_number(json, "would_reject", facts->would_reject);
    json_number(json, "late_reads", facts->late_reads);
    json_number(json, "opened", facts->opened);
    json_end_object(json);
    json_number(json, "in_flight", facts->in_flight);
    json_begin_object(json, "errors"); /* those of the window, by reason */
    for (unsigned reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        json_number(json, failure_reason_name((enum failure_reason)reason), sums->reasons[reason]);
    }
    json_end_object(json);
}

/* Since the breaker was made. */
static void print_latency(struct json *json, const struct breaker_facts *facts) {
    json_begin_object(json, "latency_ms");
    print_milliseconds(json, "p50", facts->p50_ns);
    print_milliseconds(json, "p90", facts->p90_ns);
    print_milliseconds(json, "p99", facts->p99_ns);
    print_milliseconds(json, "max", facts->longest_ns);
    json_end_object(json);
}

static void print_breaker(struct json *json, const struct breaker_facts *facts) {
    json_begin_object(json, NULL);
    json_string(json, "rule", facts->rule);
    json_string(json, "destination", facts->destination);
    json_string(json, "name", facts->name[0] ? facts->name : NULL);
    json_string(json, "protocol", facts->protocol);
    if (facts->in_force) {
        json_string(json, "mode", facts->mode);
        json_string(json, "scope", facts_scope_name(facts->thresholds.scope));
    }
    print_override(json, &facts->override);
    json_string(json, "state", breaker_state_name(facts->view.state));
    json_string(json, "gate", facts->gate_connect ? "connect" : "request");
    json_time(json, "since", facts->since_unix_ns);
    if (facts->view.state == STATE_OPEN) {
        json_number(json, "retry_in_ms", (facts->view.retry_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
    } else {
        json_null(json, "retry_in_ms");
    }
    print_counts(json, facts);
    print_latency(json, facts);
    json_end_object(json);
}

static void print_panel(struct json *json, const struct status_panel *selected, const struct moment *moment) {
    const struct found_panel *found = selected->panel;
    json_begin_object(json, NULL);
    json_string(json, "panel", found->name);
    json_string(json, "user", found->user);
    if (found->group[0]) {
        json_string(json, "group", found->group);
    }
    json_bool(json, "shared", true); /* what is private cannot be seen from here */
    struct overridden all = overridden_all(found->attachment.panel, moment->monotonic_ns);
    print_override(json, &all);
    print_rules(json, found->attachment.panel);
    print_processes(json, found);
    json_number(json, "unprotected", atomic64_load_relaxed(&found->attachment.panel->unprotected));
    json_begin_array(json, "breakers");
    for (size_t i = 0; i < selected->count; i++) {
        struct breaker_facts facts;
        if (facts_gather(&facts, found, selected->breakers[i], moment)) {
            print_breaker(json, &facts);
        }
    }
    json_end_array(json);
    json_end_object(json);
}

void status_print_json(const struct status_panel *panels, size_t count, const struct moment *moment) {
    struct json json = {0};
    json_begin_object(&json, NULL);
    json_number(&json, "schema", 1);
    json_string(&json, "time", shown_time(moment->unix_ns));
    json_begin_array(&json, "panels");
    for (size_t i = 0; i < count; i++) {
        print_panel(&json, &panels[i], moment);
    }
    json_end_array(&json);
    json_end_object(&json);
    putchar('\n');
}
