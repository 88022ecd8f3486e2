/* One breaker under one rule in virtual time: what the tests of lib/breaker.h share. */
#ifndef CUTOUT_TESTS_ENGINE_BREAKER_H
#define CUTOUT_TESTS_ENGINE_BREAKER_H

#include "lib/breaker.h"
#include "lib/control.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_time.h"

static struct breaker breaker;
static struct thresholds rule;
static bool enforce;

/* A start on no edge of anything. Buckets of ten seconds' windows begin at whole seconds. */
#define START (50 * DAY + 123456789 * US)

/* A new breaker. The rule: 10 calls in 10 s, 50 % errors or 80 % over 1 s; 3 probes after 10 s, answered within 5 s.
 * No verdict by consecutive errors, so that each test looks at one thing. */
static inline void fresh(void) {
    memset(&breaker, 0, sizeof breaker);
    rule = (struct thresholds){.buckets = 10,
                               .probes = 3,
                               .slow_written = 1,
                               .error_ratio = 5000,
                               .slow_ratio = 8000,
                               .refuse_errno = 111,
                               .window_ms = 10000,
                               .min_calls = 10,
                               .min_slow_calls = 1,
                               .slow_call_ns = SECOND,
                               .open_for_ns = 10 * SECOND,
                               .probe_timeout_ns = 5 * SECOND};
    enforce = true;
    breaker_adopt(&breaker, &rule);
}

static inline struct admission ask(enum breaker_ask what, uint64_t now_ns) {
    return breaker_admit(&breaker, &rule, what, enforce, 0, now_ns);
}

static inline enum breaker_state state(void) {
    return breaker_view(&breaker, START).state;
}

static inline bool connect_only(void) {
    return breaker_view(&breaker, START).connect_only;
}

static inline uint64_t total(const struct atomic64 *count) {
    return atomic64_load_relaxed(count);
}

/* How a call went. */
static const struct call_end ended_well = {
    .outcome = OUTCOME_SUCCESS, .past_connect = true, .exchange = true};
static const struct call_end ended_ignored = {.outcome = OUTCOME_IGNORED, .past_connect = true};
static const struct call_end ended_refused = {.outcome = OUTCOME_FAILURE, .reason = REASON_REFUSED};
static const struct call_end ended_reset = {
    .outcome = OUTCOME_FAILURE, .reason = REASON_RESET, .past_connect = true};

/* A success that kept the program waiting. */
static inline struct call_end ended_after(uint64_t connect_ns, uint64_t exchange_ns) {
    struct call_end end = ended_well;
    end.response_ns = connect_ns + exchange_ns;
    end.exchange_ns = exchange_ns;
    return end;
}

static inline struct transition finish(struct ticket ticket, struct call_end end, uint64_t started_ns,
                                       uint64_t now_ns) {
    end.started_ns = started_ns;
    return breaker_finish(&breaker, &rule, ticket, &end, now_ns);
}

/* A whole call at one moment: it is admitted and ends so. */
static inline struct transition call(struct call_end end, uint64_t now_ns) {
    struct admission admission = ask(ASK_CONNECT, now_ns);
    CHECK(admission.ticket.standing == STANDING_COUNTED);
    return finish(admission.ticket, end, now_ns, now_ns);
}

/* So many of them, none of which changes the state. */
static inline void calls_quiet(unsigned count, struct call_end end, uint64_t now_ns) {
    for (unsigned i = 0; i < count; i++) {
        CHECK(!call(end, now_ns).happened);
    }
}

/* Opens the breaker at now_ns: for connects where every failure was refused. */
static inline void trip(struct call_end end, uint64_t now_ns) {
    calls_quiet(rule.min_calls - 1, end, now_ns);
    struct transition transition = call(end, now_ns);
    CHECK(transition.happened && transition.to == STATE_OPEN && state() == STATE_OPEN);
}

static inline void check_rejected(enum breaker_ask what, uint64_t now_ns) {
    uint64_t rejected = total(&breaker.totals.rejected);
    struct admission admission = ask(what, now_ns);
    CHECK(admission.ticket.standing == STANDING_REJECTED && !admission.transition.happened);
    CHECK(total(&breaker.totals.rejected) == rejected + 1);
}

/* The ticket of a probe, which must be given. */
static inline struct ticket probe(uint64_t now_ns) {
    struct admission admission = ask(ASK_CONNECT, now_ns);
    CHECK(admission.ticket.standing == STANDING_COUNTED && admission.ticket.permit != 0);
    CHECK(state() == STATE_HALF_OPEN);
    return admission.ticket;
}

static inline void check_transition(struct transition transition, enum breaker_state from,
                                    enum breaker_state to, enum breaker_cause cause) {
    CHECK(transition.happened && transition.from == from && transition.to == to);
    check_text(breaker_cause_name(transition.cause), breaker_cause_name(cause));
    CHECK(state() == to);
}

#endif
