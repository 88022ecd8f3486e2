/* What is known of one breaker at one moment, gathered from the panel and put into words; the table and the
 * JSON of `cutout status` print the same facts. */
#ifndef CUTOUT_SHIM_TOOL_FACTS_H
#define CUTOUT_SHIM_TOOL_FACTS_H

#include "lib/breaker.h"
#include "rules/ruleset.h"
#include "shim/tool/found.h"
#include "shim/tool/overridden.h"

#include <stdbool.h>
#include <stdint.h>

/* The two clocks, read together: what happened at a monotonic time is shown as wall-clock time. */
struct moment {
    uint64_t monotonic_ns;
    uint64_t unix_ns;
};
struct moment moment_now(void);
/* 0 stays 0: never. */
uint64_t moment_unix_ns(const struct moment *moment, uint64_t monotonic_ns);

struct breaker_facts {
    char rule[BREAKER_RULE_MAX];
    char destination[ENDPOINT_TEXT_MAX];
    char name[BREAKER_NAME_MAX]; /* host name and port last seen, "" where none is known */
    bool in_force; /* its rule is one of the rules in force: thresholds and mode say something */
    struct thresholds thresholds;
    const char *mode;     /* "enforce", "observe", "off" */
    const char *protocol; /* NULL: none recognised */
    struct breaker_view view;
    unsigned row;               /* failures in a row */
    uint32_t in_flight;         /* calls outstanding, of living processes */
    uint64_t warm_left_ns;      /* of its warm-up; 0 where it is over */
    bool exempt;                /* the time of day is one of slow_exempt's */
    bool gate_connect;          /* it rejects connects only, or would */
    struct overridden override; /* an operator's word on it */
    /* Response times since the breaker was made; all 0 before the first call. */
    uint64_t p50_ns, p90_ns, p99_ns, longest_ns;
    uint64_t since_unix_ns; /* when its state last changed, 0 = never */
    /* Since the breaker was made. */
    uint64_t calls, errors, slow, ignored, rejected, busy, would_reject, late_reads, opened;
};

/* False when the panel has no such breaker. */
bool facts_gather(struct breaker_facts *facts, const struct found_panel *panel, uint32_t index,
                  const struct moment *moment);

/* True when a person means this breaker by the word: its rule, its destination (with or without "tcp://"), or
 * its host name, with or without the port. */
bool facts_answer_to(const struct breaker_facts *facts, const char *word);

/* True where a person wrote slow_call and the rule judges by it. */
bool facts_slow_is_judged(const struct breaker_facts *facts);

/* Where a breaker's destination and rule are needed, and nothing else. False when there is no such breaker. */
bool facts_name(const struct found_panel *panel, uint32_t index, char destination[ENDPOINT_TEXT_MAX],
                char rule[BREAKER_RULE_MAX]);

/* "enforce", "observe", "off". */
const char *facts_mode_name(unsigned mode);

/* "destination", "name", "rule". */
const char *facts_scope_name(unsigned scope);

/* The rules that a panel runs under. */
struct rules_facts {
    char file[PANEL_PATH_MAX]; /* "" = none: the built-in defaults */
    char error[PANEL_ERROR_MAX];
    bool ok;       /* the file last seen is the one in force, or there is none */
    bool withheld; /* no good file was ever loaded: the built-in defaults, rejecting nothing */
    uint64_t loaded_unix_ns;
};
struct rules_facts facts_of_rules(const struct panel *panel);

#endif
