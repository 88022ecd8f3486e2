/* A process with a panel, filled as it is told: for tests of what the command shows, without the shim.
 *
 * Reads lines from standard input and answers each with "ok"; lives, attached, until its input ends.
 *
 *   make RULE DESTINATION [NAME]         the breaker that the lines below are about
 *   call OUTCOME MS [COUNT] [connect]    "success", "ignored", or a reason: "refused"; 150 ms apart
 *   flight MS [COUNT]                    calls that began so long ago and are still outstanding
 *   force STATE                          "open", "off", "auto": an operator's word
 *   protocol NAME                        "http", "redis"
 *   event KIND                           "attached", "table_full", "forgotten"
 *   scribble SEED                        noise over everything but the panel's name
 */
#include "lib/panel.h"
#include "rules/ruleset.h"
#include "shim/clock.h"
#include "shim/load.h"
#include "shim/panel.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_NS UINT64_C(150000000)
#define PAST_NS UINT64_C(6000000000) /* the first call lies this far back, so that none lies ahead */

struct fixture {
    struct environment environment;
    struct attachment attachment;
    struct breaker *breaker;
    struct thresholds thresholds;
    uint32_t index;
    uint64_t now_ns;
};

static void fail(const char *what) {
    fprintf(stderr, "shim_panel_fixture: %s\n", what);
    exit(1);
}

static void make(struct fixture *fixture, const char *rule, const char *destination, const char *name) {
    char endpoint_name[ENDPOINT_NAME_MAX + 1] = "";
    uint64_t version;
    struct panel *panel = fixture->attachment.panel;
    struct endpoint endpoint = endpoint_any();
    if (strcmp(destination, "*") != 0 &&
        !endpoint_parse(destination, strlen(destination), &endpoint, endpoint_name)) {
        fail("no such destination");
    }
    const struct ruleset *rules = load_rules_in_force(panel, &version);
    uint32_t found = ruleset_find(rules, rule);
    fixture->thresholds =
        found < RULESET_RULES ? ruleset_rule(rules, found)->thresholds : thresholds_defaults();
    fixture->index = panel_find_or_make(panel, &endpoint, endpoint_name, rule, text_hash(rule, strlen(rule)));
    fixture->breaker = panel_breaker(panel, fixture->index);
    if (!fixture->breaker) {
        fail("no breaker could be made");
    }
    breaker_adopt(fixture->breaker, &fixture->thresholds);
    snprintf(fixture->breaker->name, sizeof fixture->breaker->name, "%s", name);
    fixture->now_ns = clock_monotonic_ns() - PAST_NS;
}

/* A trip that rests on calls that hang is made; one that max_open may forbid is not. */
static void note(struct fixture *fixture, const struct transition *transition) {
    struct transition settled = *transition;
    if (transition->pending && transition->needs_share) {
        settled = breaker_capped(fixture->breaker, &fixture->thresholds, transition, fixture->now_ns);
    } else if (transition->pending) {
        settled = breaker_trip(fixture->breaker, &fixture->thresholds, transition, fixture->now_ns);
    }
    if (!settled.happened) {
        return;
    }
    struct event event = event_of_transition(&settled, fixture->index, fixture->thresholds.window_ms);
    event.unix_ns = clock_unix_ns();
    event.pid = (uint32_t)getpid();
    journal_append(&fixture->attachment.panel->journal, &event);
}

static void call(struct fixture *fixture, const char *outcome, unsigned response_ms, bool connect) {
    struct call_end end = {.outcome = OUTCOME_FAILURE, .past_connect = !connect, .exchange = !connect};
    if (strcmp(outcome, "success") == 0) {
        end.outcome = OUTCOME_SUCCESS;
    } else if (strcmp(outcome, "ignored") == 0) {
        end.outcome = OUTCOME_IGNORED;
    } else {
        end.reason = REASON_COUNT;
        while (end.reason > REASON_NONE && strcmp(failure_reason_name(end.reason), outcome) != 0) {
            end.reason--;
        }
    }
    uint64_t response_ns = response_ms * UINT64_C(1000000);
    fixture->now_ns += STEP_NS;
    end.started_ns = fixture->now_ns - response_ns;
    end.response_ns = end.exchange_ns = response_ns;
    struct admission admission = breaker_admit(fixture->breaker, &fixture->thresholds, ASK_CONNECT,
                                               fixture->thresholds.mode == MODE_ENFORCE, 0, fixture->now_ns);
    note(fixture, &admission.transition);
    if (admission.ticket.standing != STANDING_REJECTED) {
        struct transition transition =
            breaker_finish(fixture->breaker, &fixture->thresholds, admission.ticket, &end, fixture->now_ns);
        note(fixture, &transition);
    }
}

/* Calls that are still outstanding, as a process shows them, and as the last count of overdue ones has them. */
static void fly(struct fixture *fixture, unsigned age_ms, long count) {
    struct panel *panel = fixture->attachment.panel;
    uint32_t slot = fixture->attachment.slot;
    uint64_t now_ns = clock_monotonic_ns(), age_ns = age_ms * UINT64_C(1000000);
    struct breaker_view view = breaker_view(fixture->breaker, now_ns);
    struct flight flight = {fixture->index, view.generation, true, true, now_ns - age_ns};
    for (long i = 0; i < count; i++) {
        uint64_t end = atomic64_load_relaxed(&panel->flights[slot].end);
        atomic64_store_relaxed(&panel->flights[slot].words[end], flight_word(flight));
        atomic64_store_relaxed(&panel->flights[slot].end, end + 1);
    }
    atomic64_set_bits_release(&panel->overdue.flying[slot / 64], UINT64_C(1) << slot % 64);
    if (fixture->thresholds.slow_written && age_ns > fixture->thresholds.slow_call_ns) {
        breaker_note_overdue(fixture->breaker, view.generation, (uint32_t)count, (uint32_t)count);
    }
}

static void force(struct fixture *fixture, const char *word) {
    enum breaker_state state = strcmp(word, "open") == 0  ? STATE_FORCED_OPEN
                               : strcmp(word, "off") == 0 ? STATE_DISABLED
                                                          : STATE_CLOSED;
    struct transition transition = breaker_force(fixture->breaker, state, fixture->now_ns);
    note(fixture, &transition);
}

static void append_event(struct fixture *fixture, const char *kind) {
    struct event event = {
        .unix_ns = clock_unix_ns(),
        .at_ns = clock_monotonic_ns(),
        .kind = strcmp(kind, "attached") == 0 ? EVENT_ATTACHED : EVENT_TABLE_FULL,
        .breaker = PANEL_NO_BREAKER,
        .pid = (uint32_t)getpid(),
    };
    if (strcmp(kind, "forgotten") == 0) {
        event.kind = EVENT_TRANSITION;
        event.breaker = fixture->index;
        event.from = STATE_OPEN;
        event.cause = CAUSE_FORGOTTEN;
    }
    journal_append(&fixture->attachment.panel->journal, &event);
}

static void scribble_over(void *memory, size_t size, uint64_t *noise) {
    unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        *noise ^= *noise << 13;
        *noise ^= *noise >> 7;
        *noise ^= *noise << 17;
        bytes[i] = (unsigned char)(*noise >> 32);
    }
}

/* As far as it is ever read, so that not all of its memory becomes real. */
static void scribble(struct panel *panel, uint64_t seed) {
    uint64_t noise = seed * UINT64_C(0x9e3779b97f4a7c15);
    scribble_over(panel->processes, sizeof panel->processes, &noise);
    scribble_over(&panel->journal.next, sizeof panel->journal.next, &noise);
    scribble_over(panel->journal.entries, sizeof panel->journal.entries, &noise);
    scribble_over(panel->overdue.flying, sizeof panel->overdue.flying, &noise);
    scribble_over(panel->flights, 4 * sizeof *panel->flights, &noise);
    scribble_over(panel->breakers, 50 * sizeof *panel->breakers, &noise);
    scribble_over(&panel->rules, offsetof(struct panel_rules, buffers), &noise);
    scribble_over(panel->rules.buffers[seed % PANEL_RULESETS], PANEL_RULESET_BYTES, &noise);
    atomic64_store_relaxed(&panel->rules.current, seed << 8 | (seed % PANEL_RULESETS + 1));
    atomic64_store_relaxed(&panel->breakers_used, noise);
}

static void obey(struct fixture *fixture, char *line) {
    char *words[6] = {0};
    size_t count = 0;
    for (char *word = strtok(line, " "); word && count < 5; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    if (count >= 3 && strcmp(words[0], "make") == 0) {
        make(fixture, words[1], words[2], words[3] ? words[3] : "");
    } else if (count >= 3 && strcmp(words[0], "call") == 0) {
        for (long n = words[3] ? strtol(words[3], NULL, 10) : 1; n > 0; n--) {
            call(fixture, words[1], (unsigned)strtoul(words[2], NULL, 10), words[4] != NULL);
        }
    } else if (count >= 2 && strcmp(words[0], "flight") == 0) {
        fly(fixture, (unsigned)strtoul(words[1], NULL, 10), words[2] ? strtol(words[2], NULL, 10) : 1);
    } else if (count == 2 && strcmp(words[0], "force") == 0) {
        force(fixture, words[1]);
    } else if (count == 2 && strcmp(words[0], "protocol") == 0) {
        atomic64_store_relaxed(&fixture->breaker->protocol_seen,
                               strcmp(words[1], "http") == 0 ? PROTOCOL_HTTP : PROTOCOL_REDIS);
    } else if (count == 2 && strcmp(words[0], "event") == 0) {
        append_event(fixture, words[1]);
    } else if (count == 2 && strcmp(words[0], "scribble") == 0) {
        scribble(fixture->attachment.panel, strtoull(words[1], NULL, 10));
    } else {
        fail("what?");
    }
}

int main(void) {
    static struct fixture fixture;
    static char line[4096];
    environment_read(&fixture.environment);
    if (panel_attach(&fixture.attachment, &fixture.environment) != 0) {
        fail("no panel");
    }
    load_refresh(fixture.attachment.panel, &fixture.environment, (uint32_t)getpid());
    panel_claim_slot(&fixture.attachment, (uint32_t)getpid(), fixture.environment.mode);
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        obey(&fixture, line);
        puts("ok");
    }
    return 0;
}
