/* Cases of OPEN for connects: the door is shut, the guests inside stay. */
#include "tests/programs/engine_breaker.h"

#define DUE (START + 10 * SECOND)

/* A slow call whose connect took that long, and what came after it that long. */
static struct call_end slow_by(uint64_t connect_ns, uint64_t exchange_ns) {
    return ended_after(connect_ns, exchange_ns);
}

/* A request passes, and whatever it brings changes nothing but the lifetime totals. */
static void check_passes(struct call_end end, uint64_t now_ns) {
    uint64_t control = total(&breaker.control), calls = total(&breaker.totals.calls);
    struct admission admission = ask(ASK_REQUEST, now_ns);
    CHECK(admission.ticket.standing == STANDING_PASSED && !admission.transition.happened);
    CHECK(!finish(admission.ticket, end, now_ns, now_ns).happened);
    CHECK(total(&breaker.control) == control && total(&breaker.totals.calls) == calls + 1);
}

static void test_refused(void) {
    fresh();
    trip(ended_refused, START);
    CHECK(connect_only());
    for (unsigned i = 0; i < 10; i++) {
        check_rejected(ASK_CONNECT, START + SECOND);
        check_passes(i % 2 ? ended_reset : ended_well, START + SECOND);
    }
    /* A request is no probe, even when one is due. */
    check_passes(ended_well, DUE + HOUR);
    CHECK(state() == STATE_OPEN);
    struct admission admission = ask(ASK_CONNECT, DUE + HOUR);
    check_transition(admission.transition, STATE_OPEN, STATE_HALF_OPEN, CAUSE_OPEN_FOR);
    CHECK(admission.transition.connect_only && connect_only());
    /* In the HALF_OPEN after it requests pass too: they take no permit and fail none. */
    for (unsigned i = 0; i < 10; i++) {
        check_passes(i % 2 ? ended_reset : slow_by(0, HOUR), DUE + HOUR);
    }
    CHECK(!finish(admission.ticket, ended_well, DUE, DUE).happened);
    CHECK(!finish(probe(DUE + HOUR), ended_well, DUE, DUE).happened);
    struct transition transition = finish(probe(DUE + HOUR), ended_well, DUE, DUE);
    check_transition(transition, STATE_HALF_OPEN, STATE_CLOSED, CAUSE_PROBES_PASSED);
    CHECK(!connect_only());
}

/* In every order, one failure past its connect in the window shuts the guests out too. */
static void test_one_past(void) {
    for (unsigned at = 0; at < 10; at++) {
        fresh();
        struct transition transition;
        for (unsigned i = 0; i < 10; i++) {
            transition = call(i == at ? ended_reset : ended_refused, START);
        }
        check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
        CHECK(!transition.connect_only && !connect_only());
        check_rejected(ASK_REQUEST, START);
    }
    /* Successes past their connect say nothing. */
    fresh();
    calls_quiet(9, ended_well, START);
    calls_quiet(8, ended_refused, START);
    CHECK(call(ended_refused, START).connect_only);
}

/* Only what the window still holds counts, to the microsecond. */
static void test_window(void) {
    uint64_t edge = START / SECOND * SECOND;
    for (unsigned late = 0; late < 2; late++) {
        fresh();
        calls_quiet(1, ended_reset, edge);
        uint64_t now = edge + 10 * SECOND - (late ? 0 : US);
        calls_quiet(8 + late, ended_refused, now);
        CHECK(call(ended_refused, now).happened && connect_only() == (late != 0));
    }
    /* What tripped it before it last closed is forgotten. */
    fresh();
    trip(ended_reset, START);
    for (unsigned i = 0; i < 3; i++) {
        finish(probe(DUE), ended_well, DUE, DUE);
    }
    trip(ended_refused, DUE);
    CHECK(connect_only());
    /* Even where its bucket lies in the window still. */
    fresh();
    rule.open_for_ns = SECOND;
    trip(ended_reset, START);
    for (unsigned i = 0; i < 3; i++) {
        finish(probe(START + SECOND), ended_well, START, START);
    }
    trip(ended_refused, START + SECOND);
    CHECK(connect_only());
}

/* A slow call was past its connect when its wait after the connect alone exceeded slow_call. */
static void test_slow(void) {
    fresh();
    trip(slow_by(SECOND + 1, 0), START);
    CHECK(connect_only());
    fresh();
    trip(slow_by(HOUR, SECOND), START);
    CHECK(connect_only());
    fresh();
    calls_quiet(9, slow_by(HOUR, SECOND), START);
    CHECK(call(slow_by(0, SECOND + 1), START).happened && !connect_only());
    /* Failed in the connect, after a long time: still only the connect. */
    fresh();
    struct call_end timed_out = ended_refused;
    timed_out.reason = REASON_TIMEOUT;
    timed_out.response_ns = HOUR;
    trip(timed_out, START);
    CHECK(connect_only());
    /* Failures of the connect beside calls that were slow past it: both illnesses are there. */
    fresh();
    calls_quiet(4, slow_by(0, 2 * SECOND), START);
    calls_quiet(5, ended_refused, START);
    CHECK(call(ended_refused, START).happened && !connect_only());
    /* A slowness that no person asked about shuts nobody out. */
    fresh();
    rule.slow_written = 0;
    calls_quiet(4, slow_by(0, 2 * SECOND), START);
    calls_quiet(5, ended_refused, START);
    CHECK(call(ended_refused, START).happened && connect_only());
}

/* Reopening keeps it, unless the probe failed or was slow past its connect. */
static void test_reopening(void) {
    struct call_end slow_inside = slow_by(0, SECOND + 1);
    const struct {
        struct call_end end;
        bool shut, keeps;
    } cases[] = {{ended_refused, true, true},          {ended_reset, true, false},
                 {slow_by(HOUR, SECOND), true, true},  {slow_inside, true, false},
                 {ended_refused, false, false},        {ended_reset, false, false},
                 {slow_by(HOUR, SECOND), false, false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh();
        trip(cases[i].shut ? ended_refused : ended_reset, START);
        struct transition transition = finish(probe(DUE), cases[i].end, DUE, DUE);
        CHECK(transition.happened && transition.to == STATE_OPEN && state() == STATE_OPEN);
        CHECK(transition.connect_only == cases[i].keeps && connect_only() == cases[i].keeps);
    }
    /* No answer at all keeps it. */
    for (unsigned shut = 0; shut < 2; shut++) {
        fresh();
        rule.probes = 1;
        trip(shut ? ended_refused : ended_reset, START);
        probe(DUE);
        struct transition transition = ask(ASK_CONNECT, DUE + 5 * SECOND).transition;
        CHECK(transition.cause == CAUSE_PROBE_TIMEOUT && transition.connect_only == (shut != 0));
        CHECK(connect_only() == (shut != 0));
    }
}

/* gate = connect leaves established connections alone in every case; while CLOSED they are judged. */
static void test_gate(void) {
    fresh();
    rule.gate = GATE_CONNECT;
    for (unsigned i = 0; i < 10; i++) {
        struct admission admission = ask(ASK_REQUEST, START);
        CHECK(admission.ticket.standing == STANDING_COUNTED);
        CHECK(finish(admission.ticket, ended_reset, START, START).happened == (i == 9));
    }
    CHECK(state() == STATE_OPEN && !connect_only());
    check_rejected(ASK_CONNECT, START);
    check_passes(ended_reset, START);
    check_passes(ended_reset, DUE);
    struct ticket ticket = probe(DUE);
    check_passes(ended_reset, DUE);
    CHECK(finish(ticket, ended_reset, DUE, DUE).cause == CAUSE_PROBE_FAILED);
}

/* A breaker that observes lets the guests pass in the same way: they are no would_reject. */
static void test_observe(void) {
    fresh();
    enforce = false;
    trip(ended_refused, START);
    CHECK(ask(ASK_CONNECT, START).ticket.standing == STANDING_WOULD_REJECT);
    check_passes(ended_reset, START);
    CHECK(total(&breaker.totals.would_reject) == 1);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"refused", test_refused},     {"one_past", test_one_past},
                                             {"window", test_window},       {"slow", test_slow},
                                             {"reopening", test_reopening}, {"gate", test_gate},
                                             {"observe", test_observe}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
