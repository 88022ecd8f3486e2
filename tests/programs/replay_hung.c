/* Cases of lib/lane.c: hung calls to the nanosecond, limits that reach over breakers, and that nothing is kept of a call
 * longer than it matters. */
#include "lib/replay.h"
#include "tests/programs/check.h"

#include <stdint.h>

#define MS        UINT64_C(1000000)
#define CALLS_MAX 64
#define LANES     4

static struct thresholds thresholds;
static struct breaker breakers[LANES];
static struct replay_lane lanes[LANES];
static struct replay_rule rule;
static struct replay replay;
static struct transition last; /* the last change */
static unsigned changes;       /* how many there were */

/* A rule that trips on five slow calls of eight, and on nothing else. */
static void begin(void) {
    static struct replay_call calls[CALLS_MAX];
    static struct replay_due due[CALLS_MAX];
    thresholds = (struct thresholds){.buckets = 10,
                                     .probes = 1,
                                     .slow_written = 1,
                                     .slow_ratio = 6250,
                                     .window_ms = 10000,
                                     .min_calls = 5,
                                     .min_slow_calls = 1,
                                     .slow_call_ns = 100 * MS,
                                     .open_for_ns = 1000 * MS,
                                     .probe_timeout_ns = 5000 * MS};
    replay.lanes = lanes;
    replay_give_room(&replay, calls, due, CALLS_MAX);
}

static void make_lanes(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        lanes[i] = replay_lane(&breakers[i], &thresholds, &rule, true);
    }
}

static void note(const struct replay_change *change, bool happened) {
    if (happened) {
        last = change->transition;
        changes++;
    }
}

static void end_until(uint64_t now_ns) {
    struct replay_change change;
    while (replay_end_due(&replay, now_ns, &change)) {
        note(&change, change.transition.happened);
    }
}

static void call(unsigned lane, uint64_t start_ns, uint64_t response_ns, struct trace_record record) {
    struct replay_change change[2];
    record.start_ns = start_ns;
    record.response_ns = response_ns;
    end_until(start_ns);
    CHECK(!replay_is_full(&replay));
    unsigned count = replay_start(&replay, lane, &record, change);
    for (unsigned i = 0; i < count; i++) {
        note(&change[i], true);
    }
}

static const struct trace_record success = {.outcome = OUTCOME_SUCCESS};
static const struct trace_record failed_connect = {
    .outcome = OUTCOME_FAILURE, .reason = REASON_REFUSED, .connect = true};

/* Three quick answers at 0, then five calls that hang from 1 ms on. */
static void hang_five(unsigned lane, struct trace_record kind) {
    for (unsigned i = 0; i < 3; i++) {
        call(lane, 0, 0, success);
    }
    for (unsigned i = 0; i < 5; i++) {
        call(lane, MS, TRACE_NEVER, kind);
    }
}

static void test_edge(void) {
    begin();
    make_lanes(1);
    hang_five(0, success);
    call(0, 101 * MS, TRACE_NEVER, success); /* exactly slow_call: not overdue */
    CHECK(changes == 0);
    call(0, 101 * MS + 1, TRACE_NEVER, success); /* and a nanosecond later: this one asks, and is rejected */
    CHECK(changes == 1 && last.to == STATE_OPEN && last.cause == CAUSE_SLOW_RATIO);
    CHECK(last.sums.calls == 3 && last.sums.slow == 0 && last.sums.overdue == 5 && last.value == 6250);
    CHECK(!last.connect_only);
    CHECK(lanes[0].admitted == 9 && lanes[0].rejected == 1);
}

static void test_result(void) {
    begin();
    make_lanes(1);
    hang_five(0, success);
    /* A result trips as an admission does; as it ends it is no hung call any more. */
    thresholds.slow_ratio = 5555; /* 5 of 9 */
    call(0, 2 * MS, 100 * MS, success);
    end_until(UINT64_MAX);
    CHECK(changes == 1 && last.at_ns == 102 * MS && last.sums.calls == 4 && last.sums.overdue == 5);
}

static void test_unanswered(void) {
    begin();
    make_lanes(1);
    for (unsigned i = 0; i < 10; i++) {
        call(0, i * MS, TRACE_NEVER, success);
    }
    call(0, 1000 * MS, 0, failed_connect);
    CHECK(changes == 0); /* nothing hangs at a destination that has never answered */
    call(0, 1001 * MS, 0, success);
    end_until(1001 * MS); /* the answer that makes it one that has: at once */
    CHECK(changes == 1 && last.cause == CAUSE_SLOW_RATIO && last.sums.overdue == 10);
}

static void test_once(void) {
    begin();
    make_lanes(1);
    thresholds.slow_ratio = 10000;
    call(0, 0, 0, success);
    for (unsigned i = 0; i < 6; i++) {
        call(0, MS, 200 * MS, success); /* overdue from 101 ms on, ended at 201 ms */
    }
    call(0, 150 * MS, 0, success);
    call(0, 300 * MS, 0, success);
    end_until(300 * MS);
    struct window_sums sums = breaker_view(&breakers[0], 300 * MS).sums;
    CHECK(changes == 0 && sums.calls == 9 && sums.slow == 6 && sums.overdue == 0);
}

static void test_connect_phase(void) {
    begin();
    make_lanes(1);
    hang_five(0, failed_connect);
    call(0, 200 * MS, 0, success);
    CHECK(changes == 1 && last.sums.overdue == 5 && last.connect_only); /* all hang in their connects */
    struct trace_record kept = {.outcome = OUTCOME_SUCCESS, .kept = true};
    call(0, 201 * MS, 0, kept);
    CHECK(lanes[0].rejected == 1 && lanes[0].admitted == 9); /* the guests inside stay */
}

static void test_other_generation(void) {
    begin();
    make_lanes(1);
    hang_five(0, success);
    call(0, 200 * MS, 0, success); /* trips */
    call(0, 1200 * MS, 0, success);
    end_until(1200 * MS);
    CHECK(changes == 3 && last.to == STATE_CLOSED);
    for (unsigned i = 0; i < 8; i++) {
        call(0, 2000 * MS, 0, success); /* those that hang since then are judged no more */
    }
    CHECK(changes == 3);
}

static void test_memory(void) {
    begin();
    make_lanes(1);
    thresholds.slow_ratio = 10000;
    for (uint64_t i = 0; i < 1000; i++) {
        call(0, i * 10 * MS, i % 2 ? TRACE_NEVER : 0, success);
    }
    CHECK(replay.used < 16); /* what never returns is forgotten once it is overdue */
    CHECK(lanes[0].overdue > 480);
}

static void test_capped(void) {
    begin();
    thresholds.max_open = 3400;   /* of four: one */
    thresholds.slow_ratio = 5000; /* five of six, and with answers five of ten */
    make_lanes(4);
    for (unsigned lane = 0; lane < 4; lane++) {
        call(lane, 0, 0, success);
    }
    CHECK(rule.known == 4 && rule.shut == 0);
    for (unsigned i = 0; i < 5; i++) {
        call(1, MS, TRACE_NEVER, success);
        call(2, MS, TRACE_NEVER, success);
    }
    call(1, 200 * MS, 0, success);
    CHECK(changes == 1 && last.to == STATE_OPEN && rule.shut == 1);
    call(2, 201 * MS, 0, success);
    CHECK(changes == 2 && last.cause == CAUSE_CAPPED && last.to == STATE_CLOSED && rule.shut == 1);
    CHECK(last.sums.calls == 0 && last.sums.overdue == 0); /* counts are those of trips */
    call(2, 202 * MS, 0, success);
    CHECK(changes == 2); /* said once in open_for */
    call(2, 1201 * MS, 0, success);
    CHECK(changes == 3 && last.cause == CAUSE_CAPPED);
    call(1, 1300 * MS, 0, success);
    end_until(1300 * MS);
    CHECK(changes == 5 && last.to == STATE_CLOSED && rule.shut == 0);
    call(2, 1301 * MS, 0, success);
    CHECK(changes == 6 && last.to == STATE_OPEN && lanes[2].rejected == 1);
}

static void test_in_flight(void) {
    begin();
    thresholds.max_in_flight = 2;
    make_lanes(1);
    call(0, 0, 10 * MS, success);
    call(0, 0, 20 * MS, success);
    call(0, 9 * MS, 0, success);
    CHECK(lanes[0].rejected == 1);
    call(0, 10 * MS, TRACE_NEVER, success); /* the first has just ended */
    call(0, 11 * MS, 0, success);
    CHECK(lanes[0].rejected == 2 && lanes[0].admitted == 3);
    CHECK(atomic64_load_relaxed(&breakers[0].totals.busy) == 2);
}

static void test_exempt(void) {
    begin();
    /* 1 January 1970 was a Thursday; the first minute of each day is exempt. */
    thresholds.exempt_spans = 1;
    thresholds.exempt[0] = (struct exempt_span){.days = 0x7f, .begin_minute = 0, .end_minute = 1};
    make_lanes(1);
    hang_five(0, success);
    call(0, 59999 * MS, 0, success);
    CHECK(changes == 0);
    call(0, 60000 * MS, 0, success);
    CHECK(changes == 1 && last.cause == CAUSE_SLOW_RATIO);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"edge", test_edge},
                                             {"result", test_result},
                                             {"unanswered", test_unanswered},
                                             {"once", test_once},
                                             {"connect-phase", test_connect_phase},
                                             {"other-generation", test_other_generation},
                                             {"memory", test_memory},
                                             {"capped", test_capped},
                                             {"in-flight", test_in_flight},
                                             {"exempt", test_exempt}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
