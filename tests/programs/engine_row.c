/* Cases of consecutive_errors: the verdict of small samples, in lib/verdict.c. */
#include "tests/programs/engine_breaker.h"

/* The rule of these tests: five failures in a row, and ratios that never come first. */
static void fresh_row(void) {
    fresh();
    rule.consecutive_errors = 5;
    rule.min_calls = 1000;
}

static struct transition fail_at(uint64_t started_ns, uint64_t now_ns) {
    struct admission admission = ask(ASK_CONNECT, started_ns);
    CHECK(admission.ticket.standing == STANDING_COUNTED);
    return finish(admission.ticket, ended_reset, started_ns, now_ns);
}

/* So many failures, `apart` after one another from START on, none of which trips. */
static void failures_quiet(unsigned count, uint64_t apart_ns) {
    for (unsigned i = 0; i < count; i++) {
        CHECK(!call(ended_reset, START + i * apart_ns).happened);
    }
}

static void test_number(void) {
    for (unsigned number = 1; number <= 1000; number = number < 10 ? number + 1 : number * 10 / 4) {
        fresh_row();
        rule.min_calls = 1000000;
        rule.consecutive_errors = (uint16_t)number;
        failures_quiet(number - 1, 100 * MS);
        CHECK(breaker_row(&breaker) == number - 1);
        struct transition transition = call(ended_reset, START + (number - 1) * 100 * MS);
        check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_CONSECUTIVE_ERRORS);
        CHECK(transition.value == number && transition.threshold == number);
        CHECK(breaker_row(&breaker) == number); /* shown while it is OPEN for the first time */
    }
    fresh_row();
    rule.consecutive_errors = 1000;
    rule.min_calls = 1000000;
    failures_quiet(999, SECOND);
    CHECK(call(ended_reset, START + 999 * SECOND).happened);
    fresh_row();
    rule.consecutive_errors = 0;
    failures_quiet(900, SECOND);
}

/* However long that takes: a failure a day, five days long. */
static void test_long(void) {
    fresh_row();
    failures_quiet(4, DAY);
    CHECK(call(ended_reset, START + 4 * DAY).happened);
}

static void test_success_between(void) {
    fresh_row();
    failures_quiet(4, SECOND);
    calls_quiet(1, ended_well, START + 4 * SECOND);
    CHECK(breaker_row(&breaker) == 0);
    for (unsigned i = 5; i < 9; i++) {
        CHECK(!call(ended_reset, START + i * SECOND).happened);
    }
    CHECK(call(ended_reset, START + 9 * SECOND).happened);
    /* A slow success is a success. */
    fresh_row();
    rule.slow_ratio = 0;
    failures_quiet(4, SECOND);
    calls_quiet(1, ended_after(0, HOUR), START + 4 * SECOND);
    CHECK(breaker_row(&breaker) == 0 && !call(ended_reset, START + 5 * SECOND).happened);
}

static void test_ignored_between(void) {
    fresh_row();
    failures_quiet(4, SECOND);
    calls_quiet(100, ended_ignored, START + 4 * SECOND);
    CHECK(breaker_row(&breaker) == 4);
    CHECK(call(ended_reset, START + 5 * SECOND).happened);
}

/* A failure that began less than 100 ms after the call that last raised the row does not raise it. */
static void test_burst(void) {
    fresh_row();
    failures_quiet(1, 0);
    CHECK(!fail_at(START + 99999 * US, START + SECOND).happened && breaker_row(&breaker) == 1);
    CHECK(!fail_at(START + 100000 * US, START + SECOND).happened && breaker_row(&breaker) == 2);
    /* From the call that raised it, not from the last one that did not. */
    CHECK(!fail_at(START + 199999 * US, START + SECOND).happened && breaker_row(&breaker) == 2);
    CHECK(!fail_at(START + 200000 * US, START + SECOND).happened && breaker_row(&breaker) == 3);
    /* Nor one that began before it, however long it took. */
    CHECK(!fail_at(START, START + SECOND).happened && breaker_row(&breaker) == 3);
    CHECK(!fail_at(START - DAY, START + SECOND).happened && breaker_row(&breaker) == 3);
    /* By when calls began: those that fail at one moment may have begun apart. */
    CHECK(!fail_at(START + 300 * MS, START + SECOND).happened && breaker_row(&breaker) == 4);
    CHECK(fail_at(START + 400 * MS, START + SECOND).happened);
    /* A hundred at once are one. */
    fresh_row();
    failures_quiet(100, 0);
    CHECK(breaker_row(&breaker) == 1);
}

/* The ratio decides where the window holds min_calls calls, the tripping one included. */
static void test_min_calls(void) {
    for (unsigned before = 0; before < 3; before++) {
        fresh_row();
        rule.min_calls = 20;
        calls_quiet(13 + before, ended_well, START - SECOND);
        for (unsigned i = 0; i < 4; i++) {
            CHECK(!call(ended_reset, START + i * 100 * MS).happened);
        }
        /* 18, 19 or 20 calls with the fifth failure; a quarter of them failed. */
        CHECK(call(ended_reset, START + 400 * MS).happened == (13 + before + 5 < 20));
    }
    /* The row goes on meanwhile, and decides again once the window has emptied. */
    fresh_row();
    rule.min_calls = 20;
    calls_quiet(40, ended_well, START - SECOND);
    failures_quiet(9, 100 * MS);
    CHECK(breaker_row(&breaker) == 9);
    struct transition transition = call(ended_reset, START + 11 * SECOND);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_CONSECUTIVE_ERRORS);
    CHECK(transition.value == 10 && transition.threshold == 5 && transition.sums.calls == 1);
}

static void test_ratio_off(void) {
    fresh_row();
    rule.min_calls = 1;
    rule.error_ratio = 0;
    calls_quiet(1000, ended_well, START - MS);
    failures_quiet(4, 100 * MS);
    struct transition transition = call(ended_reset, START + 400 * MS);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_CONSECUTIVE_ERRORS);
    CHECK(transition.sums.calls == 1005);
}

/* Also where the bucket is full and counts no more. */
static void test_saturated(void) {
    fresh_row();
    rule.error_ratio = 0;
    rule.window_ms = 3600000;
    rule.buckets = 1;
    breaker_adopt(&breaker, &rule);
    calls_quiet(1, ended_well, START);
    atomic64_add_relaxed(&breaker.window.buckets[0].calls, WINDOW_COUNT_MAX - 1);
    calls_quiet(10, ended_well, START);
    CHECK(breaker_view(&breaker, START).sums.calls == WINDOW_COUNT_MAX);
    failures_quiet(4, 100 * MS);
    check_transition(call(ended_reset, START + 400 * MS), STATE_CLOSED, STATE_OPEN, CAUSE_CONSECUTIVE_ERRORS);
}

/* The row is of one era: it begins again when the breaker has closed. */
static void test_closing(void) {
    fresh_row();
    failures_quiet(4, SECOND);
    CHECK(call(ended_reset, START + 4 * SECOND).happened);
    uint64_t now = START + 14 * SECOND;
    for (unsigned i = 0; i < 3; i++) {
        struct transition transition = finish(probe(now), ended_well, now, now);
        CHECK(transition.happened == (i == 2));
    }
    CHECK(state() == STATE_CLOSED && breaker_row(&breaker) == 0);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(!call(ended_reset, now + i * SECOND).happened);
    }
    CHECK(call(ended_reset, now + 4 * SECOND).happened);
    /* Also when all that takes less than the time of a burst. */
    fresh_row();
    rule.open_for_ns = 10 * MS;
    rule.consecutive_errors = 1;
    CHECK(call(ended_reset, START).happened);
    for (unsigned i = 0; i < 3; i++) {
        finish(probe(START + 10 * MS), ended_well, START, START);
    }
    CHECK(call(ended_reset, START + 20 * MS).cause == CAUSE_CONSECUTIVE_ERRORS);
}

/* A generation's number that comes again in the row's few bits does not bring its row along. */
static void test_generation_comes_again(void) {
    fresh_row();
    failures_quiet(4, SECOND);
    CHECK(call(ended_reset, START + 4 * SECOND).happened);
    uint64_t now = START + 14 * SECOND;
    for (unsigned i = 0; i < 256; i++) {
        for (unsigned probes = 0; probes < 3; probes++) {
            finish(probe(now), ended_well, now, now);
        }
        CHECK(state() == STATE_CLOSED);
        if (i == 255) {
            break;
        }
        rule.min_calls = 10;
        trip(ended_after(0, 2 * SECOND), now + 20 * SECOND);
        rule.min_calls = 1000;
        now += 30 * SECOND;
    }
    CHECK(breaker_view(&breaker, now).generation % 256 == 0 && breaker_row(&breaker) == 0);
    CHECK(!call(ended_reset, now).happened && breaker_row(&breaker) == 1);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"number", test_number},
                                             {"long", test_long},
                                             {"success_between", test_success_between},
                                             {"ignored_between", test_ignored_between},
                                             {"burst", test_burst},
                                             {"min_calls", test_min_calls},
                                             {"ratio_off", test_ratio_off},
                                             {"saturated", test_saturated},
                                             {"closing", test_closing},
                                             {"generation_comes_again", test_generation_comes_again}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
