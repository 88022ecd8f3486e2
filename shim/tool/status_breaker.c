/* One breaker in full, as `cutout status NAME` shows it. */
#include "rules/exempt.h"
#include "rules/keys.h"
#include "rules/value.h"
#include "shim/tool/output.h"
#include "shim/tool/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *number(uint64_t value, char text[24]) {
    snprintf(text, 24, "%" PRIu64, value);
    return text;
}

static void print_identity(const struct found_panel *panel, const struct breaker_facts *facts,
                           const struct moment *moment) {
    if (facts->override.says != OVERRIDE_NONE) {
        const char *scope = facts->override.scope;
        printf("override     %s, said of %s\n", overridden_text(&facts->override),
               strcmp(scope, "all") == 0    ? "everything"
               : strcmp(scope, "rule") == 0 ? "the rule"
                                            : "this destination");
    }
    printf("destination  %s\n", facts->destination);
    if (facts->name[0]) {
        printf("name         %s\n", shown(facts->name));
    }
    printf("panel        %s of %s\n", shown(panel->name), shown(found_whose(panel)));
    printf("rule         %s", shown(facts->rule));
    if (facts->in_force) {
        printf(", mode %s, gate %s, scope %s\n", facts->mode, facts->gate_connect ? "connect" : "request",
               facts_scope_name(facts->thresholds.scope));
    } else {
        puts(", which is not in the rules in force any more");
    }
    if (facts->protocol) {
        printf("protocol     %s\n", facts->protocol);
    }
    printf("state        %s", status_state(facts));
    if (facts->since_unix_ns) {
        printf(" for %s, since %s", shown_span(moment->unix_ns - facts->since_unix_ns),
               shown_time(facts->since_unix_ns));
    }
    if (facts->view.state == STATE_OPEN) {
        printf(", next probe %s%s", facts->view.retry_ns ? "in " : "", status_next_probe(facts));
    }
    putchar('\n');
}

/* A key, its value now, and the threshold it is held against. */
static void print_threshold(const char *key, const char *now, const char *threshold) {
    printf("  %-20s %12s  %s\n", key, now, threshold);
}

static const char *limit(uint64_t count, char text[24]) {
    return count ? number(count, text) : "off";
}

/* slow_call and what hangs on it; calls that are still outstanding count as slow once they are overdue. */
static void print_slow(const struct breaker_facts *facts) {
    const struct thresholds *thresholds = &facts->thresholds;
    const struct window_sums *sums = &facts->view.sums;
    uint64_t slow = sums->slow + sums->overdue;
    char now[24], threshold[64];
    if (thresholds->slow_call_ns == 0) {
        print_threshold("slow_call", "-", "off");
        return;
    }
    snprintf(threshold, sizeof threshold, "over %s%s", shown_duration(thresholds->slow_call_ns),
             thresholds->slow_written ? "" : ", not judged: no rule writes slow_call");
    print_threshold("slow_call", number(slow, now), threshold);
    if (sums->overdue > 0) {
        print_threshold("  overdue of them", number(sums->overdue, now), "no answer yet");
    }
    print_threshold("slow_ratio", shown_share(slow, sums->calls + sums->overdue),
                    facts_slow_is_judged(facts)   ? shown_ratio(thresholds->slow_ratio)
                    : thresholds->slow_ratio == 0 ? "off"
                                                  : "not judged");
    if (facts_slow_is_judged(facts)) {
        print_threshold("min_slow_calls", number(slow, now), number(thresholds->min_slow_calls, threshold));
    }
}

/* Times in which slow calls do not trip, where the rule has any. */
static void print_quiet_times(const struct breaker_facts *facts) {
    const struct thresholds *thresholds = &facts->thresholds;
    char bytes[512];
    struct text text = text_in(bytes, sizeof bytes);
    if (thresholds->warmup_ns > 0) {
        print_threshold("warmup", facts->warm_left_ns > 0 ? shown_span(facts->warm_left_ns) : "over",
                        shown_duration(thresholds->warmup_ns));
    }
    if (thresholds->exempt_spans > 0) {
        exempt_write(&text, thresholds->exempt, thresholds->exempt_spans);
        print_threshold("slow_exempt", facts->exempt ? "now" : "not now", bytes);
    }
}

static void print_thresholds(const struct breaker_facts *facts) {
    const struct thresholds *thresholds = &facts->thresholds;
    const struct window_sums *sums = &facts->view.sums;
    char now[24], threshold[24], heading[64];
    snprintf(heading, sizeof heading, "window %s", shown_duration(thresholds->window_ms * UINT64_C(1000000)));
    printf("\n%-22s %12s  %s\n", heading, "now", "threshold");
    print_threshold("min_calls", number(sums->calls, now), number(thresholds->min_calls, threshold));
    print_threshold("error_ratio", shown_share(sums->errors, sums->calls),
                    thresholds->error_ratio ? shown_ratio(thresholds->error_ratio) : "off");
    print_threshold("error_count", number(sums->errors, now), limit(thresholds->error_count, threshold));
    print_threshold("consecutive_errors", number(facts->row, now),
                    limit(thresholds->consecutive_errors, threshold));
    print_slow(facts);
    print_quiet_times(facts);
    print_threshold("max_in_flight", number(facts->in_flight, now),
                    limit(thresholds->max_in_flight, threshold));
    if (sums->errors == 0) {
        return;
    }
    printf("  errors");
    for (unsigned reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        if (sums->reasons[reason] > 0) {
            printf(" %s %" PRIu32, failure_reason_name((enum failure_reason)reason), sums->reasons[reason]);
        }
    }
    putchar('\n');
}

/* "open_for 10s, open_backoff 2 up to open_max 5m, open_jitter 10%" */
static void print_open_time(const struct thresholds *thresholds) {
    printf("\nonce open    open_for %s", shown_duration(thresholds->open_for_ns));
    if (thresholds->open_backoff > 100) {
        char bytes[32];
        struct text factor = text_in(bytes, sizeof bytes);
        value_write(&factor, key_of(KEY_OPEN_BACKOFF), thresholds->open_backoff);
        printf(", open_backoff %s up to open_max %s", bytes, shown_duration(thresholds->open_max_ns));
    }
    printf(", open_jitter %s", shown_ratio(thresholds->open_jitter));
    if (thresholds->max_open < 10000) {
        printf(", max_open %s", shown_ratio(thresholds->max_open));
    }
    printf(",\n             then probes %u, probe_timeout %s, forget_after %s\n", thresholds->probes,
           shown_duration(thresholds->probe_timeout_ns), shown_duration(thresholds->forget_after_ns));
}

/* Milliseconds, as fine as the histogram is. */
static const char *latency(uint64_t ns, char text[24]) {
    uint64_t us = ns / 1000;
    unsigned digits = us < 10000 ? 2 : us < 100000 ? 1 : 0;
    uint64_t unit = digits == 2 ? 10 : digits == 1 ? 100 : 1000;
    uint64_t value = (us + unit / 2) / unit, scale = 1000 / unit;
    if (digits == 0) {
        snprintf(text, 24, "%" PRIu64 "ms", value);
    } else {
        snprintf(text, 24, "%" PRIu64 ".%0*" PRIu64 "ms", value / scale, (int)digits, value % scale);
    }
    return text;
}

static void print_rest(const struct breaker_facts *facts) {
    if (facts->in_force) {
        print_open_time(&facts->thresholds);
    }
    printf("in all       calls %" PRIu64 ", errors %" PRIu64 ", slow %" PRIu64 ", ignored %" PRIu64 ",\n",
           facts->calls, facts->errors, facts->slow, facts->ignored);
    printf("             rejected %" PRIu64 " (busy %" PRIu64 "), would_reject %" PRIu64
           ", late_reads %" PRIu64 ", opened %" PRIu64 "\n",
           facts->rejected, facts->busy, facts->would_reject, facts->late_reads, facts->opened);
    if (facts->longest_ns > 0) {
        char p50[24], p90[24], p99[24], longest[24];
        printf("latency      p50 %s, p90 %s, p99 %s, max %s\n", latency(facts->p50_ns, p50),
               latency(facts->p90_ns, p90), latency(facts->p99_ns, p99), latency(facts->longest_ns, longest));
    }
}

void status_print_breaker(const struct found_panel *panel, uint32_t breaker, const struct moment *moment) {
    struct breaker_facts facts;
    if (!facts_gather(&facts, panel, breaker, moment)) {
        return;
    }
    print_identity(panel, &facts, moment);
    if (facts.in_force) {
        print_thresholds(&facts);
    }
    print_rest(&facts);
}
