/* Cases of breaker_adopt: other rules over a breaker that is at work. */
#include "tests/programs/engine_breaker.h"

#define DUE (START + 10 * SECOND)

static void adopt(uint32_t window_ms, unsigned buckets) {
    rule.window_ms = window_ms;
    rule.buckets = (uint8_t)buckets;
    breaker_adopt(&breaker, &rule);
}

/* A change of rules keeps state, deadlines and counts. */
static void test_keeps(void) {
    fresh();
    calls_quiet(9, ended_reset, START);
    uint64_t control = total(&breaker.control);
    rule.error_ratio = 9000;
    rule.min_calls = 5;
    rule.open_for_ns = HOUR;
    adopt(10000, 10);
    CHECK(total(&breaker.control) == control && breaker_view(&breaker, START).sums.calls == 9);
    /* The new thresholds judge the very next result, over the old counts. */
    struct transition transition = call(ended_well, START);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_ERROR_RATIO);
    CHECK(transition.sums.calls == 10 && transition.retry_ns == HOUR);
    /* The open deadline stays what it was. */
    rule.open_for_ns = SECOND;
    breaker_adopt(&breaker, &rule);
    check_rejected(ASK_CONNECT, START + HOUR - US);
    CHECK(ask(ASK_CONNECT, START + HOUR).transition.to == STATE_HALF_OPEN);
}

/* Only a changed shape empties the window; calls in flight then count for the lifetime only. */
static void test_shape(void) {
    static const struct {
        uint32_t window_ms;
        unsigned buckets;
    } shapes[] = {{10000, 9}, {10000, 20}, {9999, 10}, {20000, 10}, {20000, 20}, {1000, 60}, {3600000, 1}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fresh();
        calls_quiet(9, ended_reset, START);
        struct ticket before = ask(ASK_CONNECT, START).ticket;
        adopt(shapes[i].window_ms, shapes[i].buckets);
        CHECK(state() == STATE_CLOSED && breaker_view(&breaker, START).sums.calls == 0);
        CHECK(breaker_row(&breaker) == 0);
        CHECK(!finish(before, ended_reset, START, START).happened);
        CHECK(breaker_view(&breaker, START).sums.calls == 0 && total(&breaker.totals.calls) == 10);
        calls_quiet(9, ended_reset, START);
        CHECK(call(ended_reset, START).happened);
    }
}

/* State, deadline, number of opens and OPEN for connects outlive a changed shape. */
static void test_open(void) {
    for (unsigned shut = 0; shut < 2; shut++) {
        fresh();
        trip(shut ? ended_refused : ended_reset, START);
        finish(probe(DUE), shut ? ended_refused : ended_reset, DUE, DUE);
        uint64_t before = total(&breaker.control);
        adopt(20000, 20);
        uint64_t after = total(&breaker.control);
        CHECK(control_state(after) == STATE_OPEN && control_opens(after) == 2);
        CHECK(control_deadline_us(after) == control_deadline_us(before));
        CHECK(connect_only() == (shut != 0));
        check_rejected(ASK_CONNECT, DUE + 10 * SECOND - US);
        CHECK(ask(ASK_CONNECT, DUE + 10 * SECOND).transition.to == STATE_HALF_OPEN);
    }
}

/* A change of generation revokes the permits, so HALF_OPEN begins again. */
static void test_half_open(void) {
    fresh();
    trip(ended_reset, START);
    struct ticket before[3] = {probe(DUE), probe(DUE), probe(DUE)};
    adopt(20000, 20);
    CHECK(state() == STATE_HALF_OPEN);
    struct ticket after[3] = {probe(DUE), probe(DUE), probe(DUE)};
    check_rejected(ASK_CONNECT, DUE);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(!finish(before[i], ended_reset, DUE, DUE).happened && state() == STATE_HALF_OPEN);
        CHECK(finish(after[i], ended_well, DUE, DUE).happened == (i == 2));
    }
}

/* There and back again: what was counted before is of another generation. */
static void test_back(void) {
    fresh();
    calls_quiet(9, ended_reset, START);
    adopt(1000, 1);
    calls_quiet(9, ended_reset, START);
    adopt(10000, 10);
    CHECK(breaker_view(&breaker, START).sums.calls == 0);
    calls_quiet(9, ended_reset, START);
    CHECK(breaker_view(&breaker, START).sums.calls == 9);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"keeps", test_keeps},
                                             {"shape", test_shape},
                                             {"open", test_open},
                                             {"half_open", test_half_open},
                                             {"back", test_back}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
