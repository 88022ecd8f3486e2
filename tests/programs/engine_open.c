/* Cases of lib/breaker.c: OPEN, the way out of it, and what outlives a change of state. */
#include "tests/programs/engine_breaker.h"

static void test_zero(void) {
    memset(&breaker, 0, sizeof breaker);
    CHECK(state() == STATE_CLOSED && !connect_only());
    rule =
        (struct thresholds){.buckets = 10, .window_ms = 10000, .min_calls = 1, .error_ratio = 1, .probes = 1};
    enforce = true;
    CHECK(ask(ASK_CONNECT, 0).ticket.standing == STANDING_COUNTED);
    CHECK(ask(ASK_REQUEST, UINT64_MAX / 2).ticket.standing == STANDING_COUNTED);
    struct breaker_view view = breaker_view(&breaker, START);
    CHECK(view.sums.calls == 0 && view.since_ns == 0 && view.generation == 0 && view.retry_ns == 0);
}

static void test_rejects(void) {
    fresh();
    trip(ended_reset, START);
    CHECK(!connect_only());
    for (unsigned i = 0; i < 100; i++) {
        check_rejected(i % 2 ? ASK_CONNECT : ASK_REQUEST, START + i * 99 * MS);
    }
    CHECK(total(&breaker.totals.calls) == 10 && total(&breaker.totals.would_reject) == 0);
    /* A rejection is no call, even if somebody says that it ended. */
    struct ticket ticket = ask(ASK_CONNECT, START).ticket;
    CHECK(!finish(ticket, ended_reset, START, START).happened && total(&breaker.totals.calls) == 10);
}

static void test_open_for(void) {
    static const uint64_t lengths[] = {100 * MS, SECOND, 10 * SECOND, HOUR, DAY};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (unsigned request = 0; request < 2; request++) {
            fresh();
            rule.open_for_ns = lengths[i];
            trip(ended_reset, START);
            enum breaker_ask what = request ? ASK_REQUEST : ASK_CONNECT;
            CHECK(breaker_view(&breaker, START + lengths[i] - US).retry_ns == US);
            CHECK(breaker_view(&breaker, START + lengths[i]).retry_ns == 0);
            check_rejected(what, START + lengths[i] - US);
            /* That very call is the first probe. */
            struct admission admission = ask(what, START + lengths[i]);
            check_transition(admission.transition, STATE_OPEN, STATE_HALF_OPEN, CAUSE_OPEN_FOR);
            CHECK(admission.ticket.standing == STANDING_COUNTED && admission.ticket.permit == 1);
            CHECK(admission.transition.at_ns == START + lengths[i]);
        }
    }
    /* Nothing happens between calls: what was due long ago is done at the next one, and dated then. */
    fresh();
    trip(ended_reset, START);
    struct admission admission = ask(ASK_CONNECT, START + 40 * DAY);
    check_transition(admission.transition, STATE_OPEN, STATE_HALF_OPEN, CAUSE_OPEN_FOR);
    CHECK(admission.transition.at_ns == START + 40 * DAY);
}

/* The deadline is kept in 42 bits of microseconds, which are 51 days. */
static void test_deadline_wraps(void) {
    const uint64_t turn = (UINT64_C(1) << 42) * US;
    for (uint64_t before = 0; before <= 12 * SECOND; before += 3 * SECOND) {
        fresh();
        uint64_t opened = 3 * turn - before;
        trip(ended_reset, opened);
        check_rejected(ASK_CONNECT, opened);
        check_rejected(ASK_CONNECT, opened + 10 * SECOND - US);
        CHECK(ask(ASK_CONNECT, opened + 10 * SECOND).transition.to == STATE_HALF_OPEN);
    }
    /* Whole turns later it is due. */
    for (unsigned turns = 1; turns < 20; turns++) {
        fresh();
        trip(ended_reset, START);
        CHECK(breaker_view(&breaker, START + turns * turn + 10 * SECOND).retry_ns == 0);
        CHECK(ask(ASK_CONNECT, START + turns * turn + 10 * SECOND).transition.to == STATE_HALF_OPEN);
    }
    /* A deadline that no rule can have set is a scribble: due. */
    fresh();
    atomic64_store_relaxed(&breaker.control, control_make(STATE_OPEN, false, 1, 1, (START + 3 * DAY) / US));
    CHECK(ask(ASK_CONNECT, START).transition.to == STATE_HALF_OPEN);
}

static void test_opens_in_a_row(void) {
    fresh();
    trip(ended_reset, START);
    uint64_t now = START;
    for (unsigned n = 1; n < 100; n++) {
        CHECK(control_opens(total(&breaker.control)) == (n < 63 ? n : 63));
        CHECK(total(&breaker.totals.opened) == n);
        now += 10 * SECOND;
        check_transition(finish(probe(now), ended_reset, now, now), STATE_HALF_OPEN, STATE_OPEN,
                         CAUSE_PROBE_FAILED);
    }
    now += 10 * SECOND;
    for (unsigned i = 0; i < 3; i++) {
        finish(probe(now), ended_well, now, now);
    }
    CHECK(state() == STATE_CLOSED && control_opens(total(&breaker.control)) == 0);
    trip(ended_reset, now);
    CHECK(control_opens(total(&breaker.control)) == 1);
}

/* A result is judged only in the generation that admitted its call. */
static void test_late(void) {
    fresh();
    struct ticket early[64];
    for (unsigned i = 0; i < 64; i++) {
        early[i] = ask(i % 2 ? ASK_CONNECT : ASK_REQUEST, START - SECOND).ticket;
    }
    trip(ended_reset, START);
    uint64_t opened = total(&breaker.control);
    for (unsigned i = 0; i < 16; i++) {
        CHECK(!finish(early[i], i % 2 ? ended_reset : ended_well, START - SECOND, START + SECOND).happened);
    }
    CHECK(total(&breaker.control) == opened && total(&breaker.totals.calls) == 26);
    struct ticket ticket = probe(START + 10 * SECOND);
    uint64_t half_open = total(&breaker.control);
    for (unsigned i = 16; i < 32; i++) {
        CHECK(!finish(early[i], i % 2 ? ended_reset : ended_well, START - SECOND, START + 10 * SECOND)
                   .happened);
    }
    CHECK(total(&breaker.control) == half_open);
    uint64_t now = START + 11 * SECOND;
    finish(ticket, ended_well, now, now);
    finish(probe(now), ended_well, now, now);
    check_transition(finish(probe(now), ended_well, now, now), STATE_HALF_OPEN, STATE_CLOSED,
                     CAUSE_PROBES_PASSED);
    for (unsigned i = 32; i < 64; i++) {
        CHECK(!finish(early[i], ended_reset, START - SECOND, now).happened);
    }
    CHECK(breaker_view(&breaker, now).sums.calls == 0 && breaker_row(&breaker) == 0);
    CHECK(total(&breaker.totals.calls) == 10 + 64 + 3 && total(&breaker.totals.errors) == 10 + 16 + 32);
}

static void test_observe(void) {
    fresh();
    enforce = false;
    trip(ended_reset, START);
    struct ticket ticket = ask(ASK_CONNECT, START + SECOND).ticket;
    CHECK(ticket.standing == STANDING_WOULD_REJECT && total(&breaker.totals.would_reject) == 1);
    CHECK(total(&breaker.totals.rejected) == 0);
    /* In the lifetime totals, judged by nothing. */
    uint64_t control = total(&breaker.control);
    CHECK(!finish(ticket, ended_reset, START + SECOND, START + SECOND).happened);
    CHECK(total(&breaker.totals.calls) == 11 && total(&breaker.control) == control);
    /* The same machine: the same first probe, the same number of probes, judged as always. */
    uint64_t now = START + 10 * SECOND;
    CHECK(ask(ASK_CONNECT, now - US).ticket.standing == STANDING_WOULD_REJECT);
    struct ticket probes[3] = {probe(now), probe(now), probe(now)};
    CHECK(ask(ASK_CONNECT, now).ticket.standing == STANDING_WOULD_REJECT);
    CHECK(ask(ASK_REQUEST, now).ticket.standing == STANDING_WOULD_REJECT);
    finish(probes[0], ended_well, now, now);
    finish(probes[1], ended_well, now, now);
    check_transition(finish(probes[2], ended_reset, now, now), STATE_HALF_OPEN, STATE_OPEN,
                     CAUSE_PROBE_FAILED);
    now += 10 * SECOND;
    for (unsigned i = 0; i < 3; i++) {
        finish(probe(now), ended_well, now, now);
    }
    CHECK(state() == STATE_CLOSED);
    /* A canary: one process observes, one enforces, on one breaker. */
    trip(ended_reset, now);
    CHECK(ask(ASK_CONNECT, now).ticket.standing == STANDING_WOULD_REJECT);
    enforce = true;
    CHECK(ask(ASK_CONNECT, now).ticket.standing == STANDING_REJECTED);
    CHECK(total(&breaker.totals.rejected) == 1 && total(&breaker.totals.would_reject) == 5);
}

/* Whether the destination has ever answered outlives everything. */
static void test_answered(void) {
    fresh();
    struct call_end silent = ended_well;
    silent.exchange = false;
    calls_quiet(3, silent, START);
    calls_quiet(3, ended_refused, START);
    CHECK(total(&breaker.answered) == 0);
    calls_quiet(1, ended_well, START);
    CHECK(total(&breaker.answered) != 0);
    calls_quiet(3, silent, START);
    CHECK(total(&breaker.answered) != 0);
    /* Calls that are only let through tell it too. */
    fresh();
    trip(ended_refused, START);
    struct ticket ticket = ask(ASK_REQUEST, START).ticket;
    CHECK(ticket.standing == STANDING_PASSED && !finish(ticket, ended_well, START, START).happened);
    CHECK(total(&breaker.answered) != 0);
}

static void test_generation_wraps(void) {
    fresh();
    uint64_t now = START;
    for (unsigned i = 0; i < 4096 + 10; i++) {
        CHECK(breaker_view(&breaker, now).generation == (3 * i & 4095));
        CHECK(breaker_view(&breaker, now).sums.calls == 0 && breaker_row(&breaker) == 0);
        trip(i % 2 ? ended_reset : ended_refused, now);
        CHECK(connect_only() == (i % 2 == 0));
        now += 10 * SECOND;
        for (unsigned probes = 0; probes < 3; probes++) {
            finish(probe(now), ended_well, now, now);
        }
        CHECK(state() == STATE_CLOSED);
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"zero", test_zero},
                                             {"rejects", test_rejects},
                                             {"open_for", test_open_for},
                                             {"deadline_wraps", test_deadline_wraps},
                                             {"opens_in_a_row", test_opens_in_a_row},
                                             {"late", test_late},
                                             {"observe", test_observe},
                                             {"answered", test_answered},
                                             {"generation_wraps", test_generation_wraps}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
