#include "shim/tool/facts.h"

#include "lib/protocol.h"
#include "shim/clock.h"
#include "shim/load.h"
#include "shim/tool/output.h"
#include "shim/tool/outstanding.h"

#include <string.h>
#include <strings.h>

struct moment moment_now(void) {
    return (struct moment){.monotonic_ns = clock_monotonic_ns(), .unix_ns = clock_unix_ns()};
}

uint64_t moment_unix_ns(const struct moment *moment, uint64_t monotonic_ns) {
    if (monotonic_ns == 0) {
        return 0;
    }
    /* What seems to lie ahead happened since the clocks were read. */
    uint64_t ago_ns = monotonic_ns < moment->monotonic_ns ? moment->monotonic_ns - monotonic_ns : 0;
    return moment->unix_ns > ago_ns ? moment->unix_ns - ago_ns : 1;
}

const char *facts_mode_name(unsigned mode) {
    return mode == MODE_OBSERVE ? "observe" : mode == MODE_OFF ? "off" : "enforce";
}

const char *facts_scope_name(unsigned scope) {
    return scope == SCOPE_NAME ? "name" : scope == SCOPE_RULE ? "rule" : "destination";
}

static void gather_totals(struct breaker_facts *facts, const struct breaker_totals *totals) {
    facts->errors = atomic64_load_relaxed(&totals->errors);
    facts->slow = atomic64_load_relaxed(&totals->slow);
    facts->calls = atomic64_load_relaxed(&totals->calls);
    facts->ignored = atomic64_load_relaxed(&totals->ignored);
    facts->rejected = atomic64_load_relaxed(&totals->rejected);
    facts->busy = atomic64_load_relaxed(&totals->busy);
    facts->would_reject = atomic64_load_relaxed(&totals->would_reject);
    facts->late_reads = atomic64_load_relaxed(&totals->late_reads);
    facts->opened = atomic64_load_relaxed(&totals->opened);
}

static void gather_latency(struct breaker_facts *facts, const struct histogram *histogram) {
    facts->p50_ns = histogram_quantile_ns(histogram, 500000);
    facts->p90_ns = histogram_quantile_ns(histogram, 900000);
    facts->p99_ns = histogram_quantile_ns(histogram, 990000);
    facts->longest_ns = histogram_longest_ns(histogram);
}

/* How the breaker's rule judges now; a rule that is gone from the file judges nothing. Look-ups that no rule
 * names are only observed. */
static void gather_rule(struct breaker_facts *facts, const struct panel *panel, uint8_t scheme) {
    uint64_t version;
    const struct ruleset *rules = load_rules_in_force(panel, &version);
    uint32_t index = ruleset_find(rules, facts->rule);
    facts->in_force = index < RULESET_RULES;
    if (!facts->in_force) {
        return;
    }
    facts->thresholds = ruleset_rule(rules, index)->thresholds;
    unsigned mode = facts->thresholds.mode;
    bool unnamed = scheme == SCHEME_DNS && index == 0;
    if (mode == MODE_ENFORCE && (unnamed || atomic64_load_relaxed(&panel->rules.withheld))) {
        mode = MODE_OBSERVE;
    }
    facts->mode = facts_mode_name(mode);
}

/* The texts of a breaker may be written while they are read: each is copied, bounded, first. */
static void gather_name(const struct breaker *breaker, char destination[ENDPOINT_TEXT_MAX],
                        char rule[BREAKER_RULE_MAX]) {
    char endpoint_name[ENDPOINT_NAME_MAX + 1];
    struct endpoint endpoint;
    memcpy(&endpoint, &breaker->endpoint, sizeof endpoint);
    copy_bounded(endpoint_name, sizeof endpoint_name, breaker->endpoint_name, sizeof breaker->endpoint_name);
    copy_bounded(rule, BREAKER_RULE_MAX, breaker->rule, sizeof breaker->rule);
    endpoint_format(&endpoint, endpoint_name, destination, ENDPOINT_TEXT_MAX);
}

bool facts_name(const struct found_panel *panel, uint32_t index, char destination[ENDPOINT_TEXT_MAX],
                char rule[BREAKER_RULE_MAX]) {
    const struct breaker *breaker = panel_breaker(panel->attachment.panel, index);
    if (!breaker) {
        return false;
    }
    gather_name(breaker, destination, rule);
    return true;
}

/* How many calls hung when the breaker opened: the count itself is over with the trip, its event tells. */
static uint64_t overdue_of_trip(const struct journal *journal, uint32_t breaker, uint64_t since_ns) {
    uint64_t first = journal_first(journal);
    for (uint64_t number = journal_end(journal); number > first; number--) {
        struct event event;
        if (journal_read(journal, number - 1, &event) && event.kind == EVENT_TRANSITION &&
            event.breaker == breaker && event.at_ns == since_ns) {
            return event.overdue;
        }
    }
    return 0;
}

/* The calls under way, and those of them that hang. */
static void gather_outstanding(struct breaker_facts *facts, const struct found_panel *panel, uint32_t index) {
    struct outstanding_calls calls = outstanding_of(panel->outstanding, index);
    struct window_sums *sums = &facts->view.sums;
    facts->in_flight = calls.in_flight;
    if (facts->view.state == STATE_CLOSED || facts->view.state == STATE_DISABLED) {
        sums->overdue = calls.overdue;
    } else if (facts->view.state == STATE_OPEN && facts_slow_is_judged(facts)) {
        sums->overdue = overdue_of_trip(&panel->attachment.panel->journal, index, facts->view.since_ns);
    }
}

/* Whether slow calls are left alone now. */
static void gather_quiet_times(struct breaker_facts *facts, const struct breaker *breaker,
                               const struct moment *moment) {
    uint64_t warm_ns = atomic64_load_relaxed(&breaker->warm_ns);
    uint64_t until_ns = warm_ns + facts->thresholds.warmup_ns;
    if (facts->thresholds.warmup_ns != 0 && warm_ns != 0 && until_ns > moment->monotonic_ns + 1) {
        facts->warm_left_ns = until_ns - moment->monotonic_ns - 1;
    }
    facts->exempt = thresholds_exempt(&facts->thresholds, moment->unix_ns / UINT64_C(1000000000));
}

bool facts_gather(struct breaker_facts *facts, const struct found_panel *panel, uint32_t index,
                  const struct moment *moment) {
    const struct breaker *breaker = panel_breaker(panel->attachment.panel, index);
    if (!breaker) {
        return false;
    }
    memset(facts, 0, sizeof *facts);
    gather_name(breaker, facts->destination, facts->rule);
    copy_bounded(facts->name, sizeof facts->name, breaker->name, sizeof breaker->name);
    gather_rule(facts, panel->attachment.panel, breaker->endpoint.scheme);
    uint64_t protocol = atomic64_load_relaxed(&breaker->protocol_seen);
    if (protocol != PROTOCOL_AUTO && protocol <= PROTOCOL_REDIS) {
        facts->protocol = protocol_name((enum rule_protocol)protocol);
    }
    facts->view = breaker_view(breaker, moment->monotonic_ns);
    facts->row = breaker_row(breaker);
    gather_outstanding(facts, panel, index);
    gather_quiet_times(facts, breaker, moment);
    facts->gate_connect = (facts->view.state != STATE_CLOSED && facts->view.connect_only) ||
                          (facts->in_force && facts->thresholds.gate == GATE_CONNECT);
    facts->since_unix_ns = moment_unix_ns(moment, facts->view.since_ns);
    gather_totals(facts, &breaker->totals);
    gather_latency(facts, &breaker->histogram);
    facts->override = overridden_breaker(panel->attachment.panel, breaker, moment->monotonic_ns);
    return true;
}

bool facts_slow_is_judged(const struct breaker_facts *facts) {
    return facts->in_force && facts->thresholds.slow_written && facts->thresholds.slow_ratio != 0 &&
           facts->thresholds.slow_call_ns != 0;
}

bool facts_answer_to(const struct breaker_facts *facts, const char *word) {
    if (strcmp(facts->rule, word) == 0 || strcmp(facts->destination, word) == 0) {
        return true;
    }
    if (strncmp(facts->destination, "tcp://", 6) == 0 && strcmp(facts->destination + 6, word) == 0) {
        return true;
    }
    if (strncmp(facts->destination, "dns://", 6) == 0 && strcasecmp(facts->destination + 6, word) == 0) {
        return true;
    }
    const char *port = strrchr(facts->name, ':');
    size_t host = port ? (size_t)(port - facts->name) : strlen(facts->name);
    return facts->name[0] && (strcasecmp(facts->name, word) == 0 ||
                              (strlen(word) == host && strncasecmp(facts->name, word, host) == 0));
}

struct rules_facts facts_of_rules(const struct panel *panel) {
    struct rules_facts facts = {0};
    copy_bounded(facts.file, sizeof facts.file, panel->rules.file, sizeof panel->rules.file);
    copy_bounded(facts.error, sizeof facts.error, panel->rules.error, sizeof panel->rules.error);
    facts.withheld = atomic64_load_relaxed(&panel->rules.withheld) != 0;
    facts.ok = !facts.withheld && atomic64_load_relaxed(&panel->rules.bad) == 0;
    facts.loaded_unix_ns = atomic64_load_relaxed(&panel->rules.loaded_unix_ns);
    return facts;
}
