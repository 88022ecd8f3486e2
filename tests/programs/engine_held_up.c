/* A thread that is held up in the middle of lib/verdict.c for a whole era: what it goes on to do must not touch the next
 * one. For that the file is built into this program with its loads watched; at the one that a test names, everything else
 * happens. */
#include "lib/atomic64.h"
#include "lib/breaker.h"

#include <stdbool.h>

static uint64_t held_load(const struct atomic64 *word);

/* The engine that every test program is linked with has functions of these names too. */
#define breaker_finish        held_breaker_finish
#define breaker_row           held_breaker_row
#define breaker_note_overdue  held_breaker_note_overdue
#define breaker_trip          held_breaker_trip
#define breaker_capped        held_breaker_capped
#define verdict_overdue       held_verdict_overdue
#define verdict_judges_slow   held_verdict_judges_slow
#define verdict_of_overdue    held_verdict_of_overdue
#define atomic64_load_acquire held_load
#define atomic64_load_relaxed held_load
struct transition held_breaker_finish(struct breaker *breaker, const struct thresholds *thresholds,
                                      struct ticket ticket, const struct call_end *end, uint64_t now_ns);
unsigned held_breaker_row(const struct breaker *breaker);
void held_breaker_note_overdue(struct breaker *breaker, uint16_t generation, uint32_t calls, uint32_t past);
struct transition held_breaker_trip(struct breaker *breaker, const struct thresholds *thresholds,
                                    const struct transition *pending, uint64_t now_ns);
struct transition held_breaker_capped(struct breaker *breaker, const struct thresholds *thresholds,
                                      const struct transition *pending, uint64_t now_ns);
#include "lib/verdict.c" /* NOLINT(bugprone-suspicious-include) */
#undef breaker_finish
#undef breaker_row
#undef breaker_note_overdue
#undef breaker_trip
#undef breaker_capped
#undef verdict_overdue
#undef verdict_judges_slow
#undef verdict_of_overdue
#undef atomic64_load_acquire
#undef atomic64_load_relaxed

#include "tests/programs/engine_breaker.h"

static const struct atomic64
    *held_at; /* the word whose next load is where the thread is held up; NULL: nowhere */

/* Meanwhile the breaker trips, is probed and closes, and four calls fail, the last of them past its connect. */
static void meanwhile(void) {
    uint64_t now = START + SECOND;
    while (state() == STATE_CLOSED) {
        call(ended_refused, START);
    }
    for (unsigned i = 0; i < 3; i++) {
        finish(probe(now), ended_well, now, now);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK(!call(i < 3 ? ended_refused : ended_reset, now + i * 100 * MS).happened);
    }
}

static uint64_t held_load(const struct atomic64 *word) {
    uint64_t value = atomic64_load_acquire(word);
    if (word == held_at) {
        held_at = NULL;
        meanwhile();
    }
    return value;
}

/* A call that was admitted in the first era ends, and is held up where it reads that word. */
static void end_held_up(struct call_end end, const struct atomic64 *word) {
    fresh();
    rule.open_for_ns = SECOND;
    rule.consecutive_errors = 5;
    calls_quiet(1, ended_refused, START - SECOND);
    struct ticket ticket = ask(ASK_CONNECT, START).ticket;
    end.started_ns = START;
    held_at = word;
    CHECK(!held_breaker_finish(&breaker, &rule, ticket, &end, START).happened);
    CHECK(held_at == NULL && state() == STATE_CLOSED);
    CHECK(breaker_view(&breaker, START + 2 * SECOND).sums.calls == 4 && breaker_row(&breaker) == 4);
}

/* The fifth failure in a row of the new era trips, whatever the old one brought; one of them was past its connect. */
static void check_trips(void) {
    struct transition transition = call(ended_refused, START + 2 * SECOND);
    check_transition(transition, STATE_CLOSED, STATE_OPEN, CAUSE_CONSECUTIVE_ERRORS);
    CHECK(!transition.connect_only);
}

static void test_failure(void) {
    end_held_up(ended_refused, &breaker.row);
    check_trips();
}

static void test_success(void) {
    end_held_up(ended_well, &breaker.row);
    check_trips();
}

static void test_past_connect(void) {
    end_held_up(ended_reset, &breaker.past_connect);
    check_trips();
}

/* Held up before anything else. */
static void test_control(void) {
    end_held_up(ended_reset, &breaker.control);
    check_trips();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"failure", test_failure},
                                             {"success", test_success},
                                             {"past_connect", test_past_connect},
                                             {"control", test_control}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
