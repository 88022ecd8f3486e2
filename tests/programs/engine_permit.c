/* Cases of lib/permit.c: who holds a permit, and which words an asker leaves alone. */
#include "lib/permit.h"
#include "tests/programs/engine_breaker.h"

#define DUE (START + 10 * SECOND)

static struct ticket probe_of(uint64_t holder, uint64_t now_ns) {
    struct admission admission = breaker_admit(&breaker, &rule, ASK_CONNECT, enforce, holder, now_ns);
    CHECK(admission.ticket.standing == STANDING_COUNTED && admission.ticket.permit != 0);
    return admission.ticket;
}

static void test_holder(void) {
    uint64_t word;
    fresh();
    trip(ended_reset, START);
    CHECK(breaker_permit_holder(&breaker, 0, &word) == 0);
    probe_of(PERMIT_HOLDER_MAX, DUE);
    struct ticket answered = probe_of(42, DUE), passed = probe_of(43, DUE);
    CHECK(breaker_permit_holder(&breaker, 0, &word) == PERMIT_HOLDER_MAX);
    breaker_call_answered(&breaker, &rule, answered);
    CHECK(breaker_permit_holder(&breaker, 1, &word) == 42);
    finish(passed, ended_well, DUE, DUE);
    CHECK(breaker_permit_holder(&breaker, 2, &word) == 0);
    CHECK(breaker_permit_holder(&breaker, PROBES_MAX, &word) == 0);
    /* A holder too long for its bits does no harm to the others. */
    finish(answered, ended_ignored, DUE, DUE);
    CHECK(probe_of(UINT64_MAX, DUE).permit == 2);
    CHECK(breaker_permit_holder(&breaker, 1, &word) == PERMIT_HOLDER_MAX);
}

/* The permits of processes that are gone are given out again, and only theirs. */
static void test_gone(void) {
    uint64_t words[3];
    fresh();
    trip(ended_reset, START);
    struct ticket tickets[3];
    for (unsigned i = 0; i < 3; i++) {
        tickets[i] = probe_of(100 + i, DUE);
        CHECK(breaker_permit_holder(&breaker, i, &words[i]) == 100 + i);
    }
    breaker_call_answered(&breaker, &rule, tickets[2]);
    CHECK(!breaker_free_permit(&breaker, 2, words[2])); /* the word is not the one seen any more */
    CHECK(breaker_permit_holder(&breaker, 2, &words[2]) == 102);
    CHECK(breaker_permits(&breaker, &rule, DUE) == PERMITS_OUT);
    CHECK(breaker_free_permit(&breaker, 1, words[1]) && !breaker_free_permit(&breaker, 1, words[1]));
    CHECK(breaker_permits(&breaker, &rule, DUE + HOUR) == PERMITS_LEFT);
    CHECK(probe_of(200, DUE).permit == 2);
    check_rejected(ASK_CONNECT, DUE);
    /* Another process holds it now. */
    CHECK(!breaker_free_permit(&breaker, 1, words[1]));
    CHECK(breaker_free_permit(&breaker, 2, words[2]) && probe_of(201, DUE + HOUR).permit == 3);
    CHECK(!breaker_free_permit(&breaker, PROBES_MAX, words[0]));
}

/* An asker that was held up for a whole era must not take back a permit of the next one. */
static void test_overtaken(void) {
    struct atomic64 control = {control_make(STATE_HALF_OPEN, false, 1, 9, 0)};
    struct atomic64 permits[PROBES_MAX] = {{0}};
    CHECK(permit_take(permits, 2, &control, 9, 5) == 1);
    uint64_t word = total(&permits[0]);
    atomic64_store_relaxed(&permits[1], total(&permits[0]) - (UINT64_C(2) << 52)); /* two eras ago */
    CHECK(permit_take(permits, 2, &control, 7, 6) == 0);
    CHECK(total(&permits[0]) == word);
    CHECK(permit_take(permits, 2, &control, 9, 7) == 2 && permit_take(permits, 2, &control, 9, 8) == 0);
}

/* 4,096 changes of state later a generation's number comes again: its old permits do not. */
static void test_generation_comes_again(void) {
    for (unsigned passed = 0; passed < 2; passed++) {
        fresh();
        trip(ended_reset, START);
        uint64_t now = DUE;
        struct ticket first = probe_of(1, now), second = probe_of(2, now), third = probe_of(3, now);
        if (passed) {
            finish(third, ended_well, now, now);
            finish(second, ended_well, now, now);
        }
        finish(first, ended_reset, now, now);
        for (unsigned i = 1; i < 2048; i++) {
            now += 10 * SECOND;
            finish(probe_of(4, now), ended_reset, now, now);
        }
        now += 10 * SECOND;
        struct ticket tickets[3];
        for (unsigned i = 0; i < 3; i++) {
            tickets[i] = probe_of(5 + i, now);
            CHECK(tickets[i].generation == first.generation);
        }
        check_rejected(ASK_CONNECT, now);
        for (unsigned i = 0; i < 3; i++) {
            CHECK(finish(tickets[i], ended_well, now, now).happened == (i == 2));
        }
    }
}

/* Another number of probes while they are under way, by other rules. */
static void test_other_number(void) {
    fresh();
    trip(ended_reset, START);
    struct ticket first = probe_of(1, DUE), second = probe_of(2, DUE);
    rule.probes = 1;
    check_rejected(ASK_CONNECT, DUE);
    CHECK(!finish(second, ended_well, DUE, DUE).happened);
    CHECK(finish(first, ended_well, DUE, DUE).cause == CAUSE_PROBES_PASSED);
    fresh();
    rule.probes = 1;
    trip(ended_reset, START);
    first = probe_of(1, DUE);
    rule.probes = 2;
    second = probe_of(2, DUE);
    check_rejected(ASK_CONNECT, DUE);
    CHECK(!finish(first, ended_well, DUE, DUE).happened);
    CHECK(finish(second, ended_well, DUE, DUE).cause == CAUSE_PROBES_PASSED);
}

/* Whatever the words hold, HALF_OPEN is not stuck. */
static void test_scribbled(void) {
    uint64_t seed = 1;
    for (unsigned i = 0; i < 10000; i++) {
        fresh();
        rule.probes = (uint8_t)random_below(&seed, 256);
        atomic64_store_relaxed(&breaker.control, random_next(&seed));
        atomic64_store_relaxed(&breaker.last_permit_ns, random_next(&seed));
        for (unsigned permit = 0; permit < PROBES_MAX; permit++) {
            atomic64_store_relaxed(&breaker.permits[permit], random_next(&seed));
        }
        if ((atomic64_load_relaxed(&breaker.control) & 7) == STATE_FORCED_OPEN) {
            continue; /* an operator's word holds until he lifts it */
        }
        unsigned asked = 0;
        uint64_t now = START;
        struct admission admission = ask(ASK_CONNECT, now);
        while (admission.ticket.standing == STANDING_REJECTED) {
            CHECK(++asked < 1000);
            now += HOUR;
            admission = ask(ASK_CONNECT, now);
        }
        CHECK(admission.ticket.permit <= PROBES_MAX);
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"holder", test_holder},
                                             {"gone", test_gone},
                                             {"overtaken", test_overtaken},
                                             {"generation_comes_again", test_generation_comes_again},
                                             {"other_number", test_other_number},
                                             {"scribbled", test_scribbled}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
