/* Cases of lib/verdict.c: when a breaker that is CLOSED trips by its ratios, and what it says then. */
#include "tests/programs/engine_breaker.h"

static void test_min_calls(void) {
    for (unsigned min_calls = 1; min_calls <= 100; min_calls++) {
        fresh();
        rule.min_calls = min_calls;
        calls_quiet(min_calls - 1, ended_reset, START);
        check_transition(call(ended_reset, START), STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
    }
    /* A success brings the total up to min_calls as well. */
    fresh();
    calls_quiet(9, ended_reset, START);
    struct transition transition = call(ended_well, START);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
    CHECK(transition.sums.calls == 10 && transition.sums.errors == 9);
    fresh();
    rule.min_calls = 1000000;
    rule.error_ratio = 1;
    calls_quiet(999000, ended_well, START);
    calls_quiet(999, ended_reset, START); /* ten times the ratio, one call too few */
    check_transition(call(ended_reset, START), STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
}

/* So many successes, then failures until it trips: at the first that makes the exact ratio, not one before. */
static void check_ratio(uint16_t ratio, unsigned successes) {
    fresh();
    rule.error_ratio = ratio;
    calls_quiet(successes, ended_well, START);
    for (uint64_t failures = 1;; failures++) {
        uint64_t calls = successes + failures;
        bool reached = calls >= rule.min_calls && failures * 10000 >= ratio * calls;
        struct transition transition = call(ended_reset, START);
        CHECK(transition.happened == reached);
        if (reached) {
            CHECK(transition.sums.calls == calls && transition.sums.errors == failures);
            CHECK(transition.value == failures * 10000 / calls && transition.threshold == ratio);
            return;
        }
        if (failures > 2000) {
            CHECK(ratio > 9000); /* 100 % is out of reach after one success */
            return;
        }
    }
}

static void test_error_ratio(void) {
    static const uint16_t ratios[] = {1, 100, 3333, 3334, 5000, 5699, 5700, 5701, 6666, 6667, 9999, 10000};
    for (unsigned i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        for (unsigned successes = 0; successes < 120; successes++) {
            check_ratio(ratios[i], successes);
        }
    }
    /* 57 % of 100 calls is exact: floating point would say 56.99999…. */
    fresh();
    rule.error_ratio = 5700;
    rule.min_calls = 100;
    calls_quiet(43, ended_well, START);
    calls_quiet(56, ended_reset, START);
    check_transition(call(ended_reset, START), STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
    fresh();
    rule.error_ratio = 5700;
    rule.min_calls = 100;
    calls_quiet(44, ended_well, START);
    calls_quiet(56, ended_reset, START);
    fresh();
    rule.error_ratio = 0;
    calls_quiet(1000, ended_reset, START);
}

static void test_ignored(void) {
    fresh();
    calls_quiet(9, ended_reset, START);
    calls_quiet(100, ended_ignored, START);
    CHECK(breaker_view(&breaker, START).sums.calls == 9);
    CHECK(total(&breaker.totals.calls) == 9 && total(&breaker.totals.ignored) == 100);
    CHECK(call(ended_reset, START).happened);
}

/* Slow is longer than slow_call, to the nanosecond. */
static void test_slow_call(void) {
    struct call_end just = ended_after(0, SECOND), over = ended_after(0, SECOND + 1);
    fresh();
    calls_quiet(1000, just, START);
    CHECK(breaker_view(&breaker, START).sums.slow == 0 && total(&breaker.totals.slow) == 0);
    fresh();
    calls_quiet(9, over, START);
    CHECK(breaker_view(&breaker, START).sums.slow == 9);
    check_transition(call(over, START), STATE_CLOSED, STATE_OPEN, CAUSE_SLOW_RATIO);
    /* Nothing is slow where slow_call is off. */
    fresh();
    rule.slow_call_ns = 0;
    calls_quiet(100, ended_after(HOUR, HOUR), START);
    CHECK(total(&breaker.totals.slow) == 0);
    /* A failed call can be slow too: it counts on both sides. */
    fresh();
    struct call_end failed = ended_reset;
    failed.response_ns = failed.exchange_ns = 2 * SECOND;
    calls_quiet(4, failed, START);
    struct window_sums sums = breaker_view(&breaker, START).sums;
    CHECK(sums.calls == 4 && sums.errors == 4 && sums.slow == 4);
}

static void test_slow_ratio(void) {
    struct call_end slow = ended_after(0, 2 * SECOND);
    for (unsigned quick = 0; quick < 60; quick++) {
        fresh();
        rule.slow_ratio = 5700;
        calls_quiet(quick, ended_well, START);
        for (uint64_t count = 1;; count++) {
            uint64_t calls = quick + count;
            bool reached = calls >= 10 && count * 10000 >= 5700 * calls;
            struct transition transition = call(slow, START);
            CHECK(transition.happened == reached);
            if (reached) {
                CHECK(transition.cause == CAUSE_SLOW_RATIO && transition.threshold == 5700);
                CHECK(transition.value == count * 10000 / calls);
                CHECK(transition.sums.calls == calls && transition.sums.slow == count);
                break;
            }
        }
    }
    fresh();
    rule.slow_ratio = 0;
    calls_quiet(100, slow, START);
}

static void test_min_slow_calls(void) {
    fresh();
    rule.min_slow_calls = 15;
    calls_quiet(14, ended_after(0, 2 * SECOND), START);
    calls_quiet(1, ended_well, START); /* 14 of 15 are enough for the ratio, not for min_slow_calls */
    check_transition(call(ended_after(0, 2 * SECOND), START), STATE_CLOSED, STATE_OPEN, CAUSE_SLOW_RATIO);
    /* A success that is not slow may be what brings the total to min_calls. */
    fresh();
    calls_quiet(9, ended_after(0, 2 * SECOND), START);
    check_transition(call(ended_well, START), STATE_CLOSED, STATE_OPEN, CAUSE_SLOW_RATIO);
}

static void test_unwritten(void) {
    fresh();
    rule.slow_written = 0;
    calls_quiet(1000, ended_after(0, HOUR), START);
    CHECK(breaker_view(&breaker, START).sums.slow == 1000 && total(&breaker.totals.slow) == 1000);
    /* A failure still trips, and slowness does not say where. */
    fresh();
    rule.slow_written = 0;
    struct call_end refused = ended_refused;
    refused.response_ns = HOUR;
    trip(refused, START);
    CHECK(connect_only());
}

static void test_order(void) {
    struct call_end slow_failure = ended_reset;
    slow_failure.response_ns = slow_failure.exchange_ns = 2 * SECOND;
    fresh();
    calls_quiet(9, slow_failure, START);
    check_transition(call(slow_failure, START), STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
    fresh();
    rule.error_ratio = 0;
    rule.consecutive_errors = 10;
    for (unsigned i = 0; i < 9; i++) {
        CHECK(!call(slow_failure, START + i * 100 * MS).happened);
    }
    struct transition transition = call(slow_failure, START + SECOND);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_CONSECUTIVE_ERRORS);
    CHECK(transition.value == 10 && transition.threshold == 10 && transition.sums.slow == 10);
    /* One failure in a row too few, and slow_ratio is next. */
    fresh();
    rule.error_ratio = 0;
    rule.consecutive_errors = 11;
    calls_quiet(9, slow_failure, START);
    check_transition(call(slow_failure, START), STATE_CLOSED, STATE_OPEN, CAUSE_SLOW_RATIO);
}

static void test_counts(void) {
    fresh();
    calls_quiet(10, ended_well, START);
    calls_quiet(3, ended_refused, START);
    struct call_end end = ended_reset;
    for (unsigned i = 0; i < 6; i++) {
        end.reason = i < 4 ? REASON_TIMEOUT : REASON_CLOSED;
        end.response_ns = i == 0 ? 2 * SECOND : MS;
        CHECK(!call(end, START).happened);
    }
    end.reason = REASON_STATUS;
    struct transition transition = call(end, START);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
    CHECK(transition.sums.calls == 20 && transition.sums.errors == 10 && transition.sums.slow == 1);
    CHECK(transition.sums.reasons[REASON_REFUSED] == 3 && transition.sums.reasons[REASON_TIMEOUT] == 4);
    CHECK(transition.sums.reasons[REASON_CLOSED] == 2 && transition.sums.reasons[REASON_STATUS] == 1);
    CHECK(transition.value == 5000 && transition.threshold == 5000);
    CHECK(transition.retry_ns == 10 * SECOND && transition.at_ns == START);
    CHECK(total(&breaker.totals.calls) == 20 && total(&breaker.totals.errors) == 10);
    CHECK(total(&breaker.totals.reasons[REASON_REFUSED]) == 3 && total(&breaker.totals.opened) == 1);
    /* While it is OPEN for the first time, that is what is shown. */
    struct breaker_view view = breaker_view(&breaker, START + 9 * SECOND);
    CHECK(view.sums.calls == 20 && view.sums.errors == 10 && view.since_ns == START);
    /* Any other change of state counts nothing. */
    transition = ask(ASK_CONNECT, START + 10 * SECOND).transition;
    check_transition(transition, STATE_OPEN, STATE_HALF_OPEN, CAUSE_OPEN_FOR);
    CHECK(transition.sums.calls == 0 && transition.sums.errors == 0 && transition.value == 0);
}

/* The verdict is over the window: what has rolled out of it is forgotten, to the microsecond. */
static void test_window(void) {
    uint64_t edge = START / SECOND * SECOND;
    for (unsigned late = 0; late < 2; late++) {
        fresh();
        calls_quiet(20, ended_well, edge);
        uint64_t now = edge + 10 * SECOND - (late ? 0 : US);
        calls_quiet(9, ended_reset, now);
        CHECK(call(ended_reset, now).happened == (late != 0));
    }
    /* Old successes roll out, and the next result, a success at that, finds the ratio reached. */
    fresh();
    calls_quiet(11, ended_well, edge);
    calls_quiet(10, ended_reset, edge + 5 * SECOND);
    calls_quiet(1, ended_well, edge + 10 * SECOND - US);
    check_transition(call(ended_well, edge + 10 * SECOND), STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
}

static void test_scribbled(void) {
    fresh();
    calls_quiet(9, ended_reset, START);
    atomic64_store_relaxed(&breaker.window.pace, (START + SECOND) / SECOND + 1);
    CHECK(!call(ended_reset, START).happened && state() == STATE_CLOSED && !connect_only());
    CHECK(breaker_view(&breaker, START).sums.calls == 0);
    calls_quiet(9, ended_reset, START);
    CHECK(call(ended_reset, START).happened);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"min_calls", test_min_calls},   {"error_ratio", test_error_ratio},
        {"ignored", test_ignored},       {"slow_call", test_slow_call},
        {"slow_ratio", test_slow_ratio}, {"min_slow_calls", test_min_slow_calls},
        {"unwritten", test_unwritten},   {"order", test_order},
        {"counts", test_counts},         {"window", test_window},
        {"scribbled", test_scribbled}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
