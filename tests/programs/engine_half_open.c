/* Cases of lib/breaker.c and lib/permit.c: HALF_OPEN, its permits and how each of them ends. */
#include "lib/permit.h"
#include "tests/programs/engine_breaker.h"

/* When the first probe of these tests is due. */
#define DUE (START + 10 * SECOND)

static void fresh_open(unsigned probes) {
    fresh();
    rule.probes = (uint8_t)probes;
    trip(ended_reset, START);
}

static void test_probes(void) {
    for (unsigned probes = 1; probes <= PROBES_MAX; probes++) {
        struct ticket tickets[PROBES_MAX];
        fresh_open(probes);
        for (unsigned i = 0; i < probes; i++) {
            tickets[i] = probe(DUE);
        }
        /* At most so many in all, however many of them have passed. */
        for (unsigned i = 0; i < probes; i++) {
            check_rejected(ASK_CONNECT, DUE);
            check_rejected(ASK_REQUEST, DUE + SECOND);
            CHECK(state() == STATE_HALF_OPEN);
            struct transition transition = finish(tickets[i], ended_well, DUE, DUE + SECOND);
            CHECK(transition.happened == (i == probes - 1));
        }
        CHECK(state() == STATE_CLOSED && breaker_view(&breaker, DUE + SECOND).sums.calls == 0);
        calls_quiet(9, ended_reset, DUE + SECOND); /* nothing is left of what tripped it */
        CHECK(call(ended_reset, DUE + SECOND).happened);
    }
}

static void test_one_by_one(void) {
    fresh_open(3);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t now = DUE + i * HOUR; /* nothing is due by time while a permit is left */
        struct ticket ticket = probe(now);
        CHECK(ticket.permit == i + 1);
        struct transition transition = finish(ticket, ended_well, now, now);
        CHECK(transition.happened == (i == 2) && (i < 2 || transition.cause == CAUSE_PROBES_PASSED));
    }
}

static void test_failed(void) {
    for (unsigned passed = 0; passed < 3; passed++) {
        fresh_open(3);
        struct ticket tickets[3] = {probe(DUE), probe(DUE), probe(DUE)};
        for (unsigned i = 0; i < passed; i++) {
            CHECK(!finish(tickets[i], ended_well, DUE, DUE).happened);
        }
        struct transition transition = finish(tickets[passed], ended_reset, DUE, DUE + SECOND);
        check_transition(transition, STATE_HALF_OPEN, STATE_OPEN, CAUSE_PROBE_FAILED);
        CHECK(transition.retry_ns == 10 * SECOND && transition.sums.calls == 0);
        /* What the others bring is too late. */
        for (unsigned i = passed + 1; i < 3; i++) {
            CHECK(!finish(tickets[i], ended_well, DUE, DUE + SECOND).happened);
        }
        check_rejected(ASK_CONNECT, DUE + 11 * SECOND - US);
        for (unsigned i = 0; i < 3; i++) {
            finish(probe(DUE + 11 * SECOND), ended_well, DUE, DUE);
        }
        CHECK(state() == STATE_CLOSED);
    }
}

static void test_slow(void) {
    fresh_open(1);
    CHECK(finish(probe(DUE), ended_after(0, SECOND), DUE, DUE).cause == CAUSE_PROBES_PASSED);
    fresh_open(1);
    check_transition(finish(probe(DUE), ended_after(0, SECOND + 1), DUE, DUE), STATE_HALF_OPEN, STATE_OPEN,
                     CAUSE_PROBE_SLOW);
    /* Failed and slow: failed. */
    fresh_open(1);
    struct call_end end = ended_reset;
    end.response_ns = HOUR;
    CHECK(finish(probe(DUE), end, DUE, DUE).cause == CAUSE_PROBE_FAILED);
    /* A threshold that no person wrote fails no probe. */
    fresh_open(1);
    rule.slow_written = 0;
    CHECK(finish(probe(DUE), ended_after(0, HOUR), DUE, DUE).cause == CAUSE_PROBES_PASSED);
    CHECK(total(&breaker.totals.slow) == 1);
}

static void test_ignored(void) {
    for (unsigned released = 0; released < 2; released++) {
        fresh_open(2);
        struct ticket first = probe(DUE), second = probe(DUE);
        check_rejected(ASK_CONNECT, DUE);
        if (released) {
            breaker_release(&breaker, &rule, second); /* the call was never made */
        } else {
            CHECK(!finish(second, ended_ignored, DUE, DUE).happened);
        }
        CHECK(total(&breaker.totals.ignored) == !released && total(&breaker.totals.calls) == 10);
        struct ticket again = probe(DUE);
        CHECK(again.permit == second.permit && again.generation == second.generation);
        check_rejected(ASK_CONNECT, DUE);
        CHECK(!finish(first, ended_well, DUE, DUE).happened);
        CHECK(finish(again, ended_well, DUE, DUE).cause == CAUSE_PROBES_PASSED);
    }
    /* Too late, it gives nothing back. */
    fresh_open(1);
    struct ticket late = probe(DUE);
    CHECK(ask(ASK_CONNECT, DUE + 5 * SECOND).transition.cause == CAUSE_PROBE_TIMEOUT);
    struct ticket held = probe(DUE + 15 * SECOND);
    CHECK(held.permit == late.permit && !finish(late, ended_ignored, DUE, DUE).happened);
    check_rejected(ASK_CONNECT, DUE + 15 * SECOND);
    CHECK(!finish(late, ended_reset, DUE, DUE).happened && !finish(late, ended_well, DUE, DUE).happened);
    CHECK(state() == STATE_HALF_OPEN);
}

static void test_probe_timeout(void) {
    fresh_open(2);
    uint64_t last = DUE + HOUR;
    CHECK(!finish(probe(DUE), ended_well, DUE, DUE).happened);
    struct ticket hanging = probe(last);
    check_rejected(ASK_CONNECT, last + 5 * SECOND - US);
    CHECK(breaker_permits(&breaker, &rule, last + 5 * SECOND - US) == PERMITS_OUT);
    CHECK(breaker_permits(&breaker, &rule, last + 5 * SECOND) == PERMITS_DUE);
    uint64_t rejected = total(&breaker.totals.rejected);
    struct admission admission = ask(ASK_CONNECT, last + 5 * SECOND);
    check_transition(admission.transition, STATE_HALF_OPEN, STATE_OPEN, CAUSE_PROBE_TIMEOUT);
    CHECK(admission.transition.retry_ns == 10 * SECOND);
    CHECK(admission.ticket.standing == STANDING_REJECTED);
    CHECK(total(&breaker.totals.rejected) == rejected + 1);
    CHECK(!finish(hanging, ended_well, last, last + 6 * SECOND).happened && state() == STATE_OPEN);
    /* While a permit is left, the next asker gets it, however long ago the last one was given. */
    fresh_open(2);
    probe(DUE);
    CHECK(breaker_permits(&breaker, &rule, DUE + HOUR) == PERMITS_LEFT);
    CHECK(probe(DUE + HOUR).permit == 2);
}

/* Times that older clocks bring do not make the last permit older than it is. */
static void test_older_time(void) {
    fresh_open(2);
    probe(DUE);
    probe(DUE - 3 * MS);
    check_rejected(ASK_CONNECT, DUE + 5 * SECOND - US);
    CHECK(ask(ASK_CONNECT, DUE + 5 * SECOND).transition.cause == CAUSE_PROBE_TIMEOUT);
    /* A time far ahead of the clock is a scribble: HALF_OPEN must not be stuck. */
    fresh_open(2);
    probe(DUE);
    probe(DUE);
    atomic64_store_relaxed(&breaker.last_permit_ns, DUE + SECOND + US);
    CHECK(ask(ASK_CONNECT, DUE).transition.cause == CAUSE_PROBE_TIMEOUT);
    fresh_open(2);
    probe(DUE);
    atomic64_store_relaxed(&breaker.last_permit_ns, UINT64_MAX);
    probe(DUE);
    check_rejected(ASK_CONNECT, DUE + 5 * SECOND - US);
    CHECK(ask(ASK_CONNECT, DUE + 5 * SECOND).transition.cause == CAUSE_PROBE_TIMEOUT);
}

/* TLS: a probe that was answered but goes on has passed when probe_timeout is due, and not before. */
static void test_answered(void) {
    fresh_open(2);
    struct ticket first = probe(DUE), second = probe(DUE);
    breaker_call_answered(&breaker, &rule, first);
    breaker_call_answered(&breaker, &rule, second);
    check_rejected(ASK_CONNECT, DUE + 5 * SECOND - US);
    struct admission admission = ask(ASK_CONNECT, DUE + 5 * SECOND);
    check_transition(admission.transition, STATE_HALF_OPEN, STATE_CLOSED, CAUSE_PROBES_PASSED);
    CHECK(admission.ticket.standing == STANDING_COUNTED && admission.ticket.permit == 0);
    CHECK(!finish(first, ended_reset, DUE, DUE).happened && state() == STATE_CLOSED);
    /* One answered, one silent. */
    fresh_open(2);
    breaker_call_answered(&breaker, &rule, probe(DUE));
    probe(DUE);
    CHECK(ask(ASK_CONNECT, DUE + 5 * SECOND).transition.cause == CAUSE_PROBE_TIMEOUT);
    /* One answered, one passed: the answered one may still fail. */
    fresh_open(2);
    first = probe(DUE);
    breaker_call_answered(&breaker, &rule, first);
    CHECK(!finish(probe(DUE), ended_well, DUE, DUE).happened);
    CHECK(finish(first, ended_reset, DUE, DUE).cause == CAUSE_PROBE_FAILED);
    /* Answered, and then it ends in any way. */
    fresh_open(1);
    first = probe(DUE);
    breaker_call_answered(&breaker, &rule, first);
    CHECK(finish(first, ended_well, DUE, DUE).cause == CAUSE_PROBES_PASSED);
    fresh_open(1);
    first = probe(DUE);
    breaker_call_answered(&breaker, &rule, first);
    CHECK(finish(first, ended_after(0, HOUR), DUE, DUE).cause == CAUSE_PROBE_SLOW);
    fresh_open(1);
    first = probe(DUE);
    breaker_call_answered(&breaker, &rule, first);
    CHECK(!finish(first, ended_ignored, DUE, DUE).happened && probe(DUE).permit == 1);
    /* Of another generation: nothing. */
    breaker_call_answered(&breaker, &rule, (struct ticket){1, 1, STANDING_COUNTED});
    CHECK(ask(ASK_CONNECT, DUE + 5 * SECOND).transition.cause == CAUSE_PROBE_TIMEOUT);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"probes", test_probes},         {"one_by_one", test_one_by_one},
        {"failed", test_failed},         {"slow", test_slow},
        {"ignored", test_ignored},       {"probe_timeout", test_probe_timeout},
        {"older_time", test_older_time}, {"answered", test_answered}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
