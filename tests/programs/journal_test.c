/* Cases of lib/journal.c: many writers in many processes, readers beside them. */
#include "lib/journal.h"
#include "tests/programs/check.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 3
#define EVENTS  200000
#define KILLED  20

static struct journal *journal_new(void) {
    void *memory =
        mmap(NULL, sizeof(struct journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* An event all of whose parts follow from one number, so that a mixture of two is seen. */
static struct event event_of(uint64_t number) {
    struct event event = {
        .unix_ns = number, .at_ns = number * 3, .kind = EVENT_TRANSITION, .pid = (uint32_t)number};
    event.calls = number * 5;
    event.errors = number * 7;
    event.slow = number * 11;
    event.retry_ns = ~number;
    for (unsigned i = 0; i < REASON_COUNT; i++) {
        event.reasons[i] = (uint32_t)number + i;
    }
    return event;
}

static bool is_whole(const struct event *event) {
    struct event wanted = event_of(event->unix_ns);
    return memcmp(&wanted, event, sizeof wanted) == 0;
}

static void write_events(struct journal *journal, uint64_t writer, uint64_t events) {
    for (uint64_t i = 0; i < events; i++) {
        struct event event = event_of(writer << 32 | i);
        journal_append(journal, &event);
    }
}

static unsigned count_whole(const struct journal *journal) {
    unsigned whole = 0;
    for (uint64_t number = journal_first(journal); number < journal_end(journal); number++) {
        struct event event;
        if (journal_read(journal, number, &event)) {
            CHECK(is_whole(&event));
            whole++;
        }
    }
    return whole;
}

static void test_order(void) {
    struct journal *journal = journal_new();
    struct event event;
    CHECK(journal_first(journal) == 0 && journal_end(journal) == 0);
    CHECK(!journal_read(journal, 0, &event));
    write_events(journal, 1, 10);
    CHECK(journal_first(journal) == 0 && journal_end(journal) == 10);
    CHECK(count_whole(journal) == 10);
    write_events(journal, 2, JOURNAL_ENTRIES);
    CHECK(journal_first(journal) == 10 && journal_end(journal) == JOURNAL_ENTRIES + 10);
    CHECK(count_whole(journal) == JOURNAL_ENTRIES);
    CHECK(!journal_read(journal, 9, &event));
    CHECK(journal_read(journal, 10, &event) && event.unix_ns == UINT64_C(2) << 32);
    CHECK(!journal_read(journal, JOURNAL_ENTRIES + 10, &event));
}

static void test_writers(void) {
    struct journal *journal = journal_new();
    pid_t children[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            write_events(journal, i + 1, EVENTS);
            _exit(0);
        }
    }
    while (journal_end(journal) < (uint64_t)WRITERS * EVENTS) {
        count_whole(journal);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    CHECK(journal_end(journal) == (uint64_t)WRITERS * EVENTS);
    count_whole(journal);
}

/* Killed writers cost their own entries at most. */
static void test_killed(void) {
    struct journal *journal = journal_new();
    for (unsigned i = 0; i < KILLED; i++) {
        pid_t child = fork();
        if (child == 0) {
            write_events(journal, i + 1, UINT64_MAX);
        }
        while (journal_end(journal) < (i + 1) * UINT64_C(1000)) {
            sched_yield();
        }
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
    }
    write_events(journal, KILLED + 1, 10);
    CHECK(journal_end(journal) > JOURNAL_ENTRIES);
    CHECK(count_whole(journal) >= JOURNAL_ENTRIES - KILLED);
}

/* A writer that was stopped while 4,096 others passed it, and then goes on into an entry that is whole. */
static void test_overtaken(void) {
    struct journal *journal = journal_new();
    write_events(journal, 1, 100);
    struct event event, late = event_of(77);
    CHECK(journal_read(journal, 50, &event));
    memcpy(&journal->entries[50].event, &late, 40);
    CHECK(!journal_read(journal, 50, &event));
    /* Whole again, but of another number. */
    memcpy(&journal->entries[50].event, &journal->entries[49].event, sizeof late);
    CHECK(!journal_read(journal, 50, &event));
    CHECK(journal_read(journal, 49, &event) && journal_read(journal, 51, &event));
}

static void test_transition(void) {
    struct transition transition = {.happened = true,
                                    .connect_only = true,
                                    .from = STATE_CLOSED,
                                    .to = STATE_OPEN,
                                    .cause = CAUSE_ERROR_RATIO,
                                    .value = 7500,
                                    .threshold = 5000,
                                    .retry_ns = 10,
                                    .at_ns = 20};
    transition.sums.calls = 12;
    transition.sums.errors = 9;
    transition.sums.slow = 1;
    transition.sums.reasons[REASON_TIMEOUT] = 9;
    struct event event = event_of_transition(&transition, 3, 10000);
    CHECK(event.kind == EVENT_TRANSITION && event.breaker == 3 && event.window_ms == 10000);
    CHECK(event.from == STATE_CLOSED && event.to == STATE_OPEN && event.cause == CAUSE_ERROR_RATIO);
    CHECK(event.connect_only == 1 && event.value == 7500 && event.threshold == 5000);
    CHECK(event.retry_ns == 10 && event.at_ns == 20 && event.calls == 12 && event.errors == 9);
    CHECK(event.slow == 1 && event.reasons[REASON_TIMEOUT] == 9);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"order", test_order},
                                             {"writers", test_writers},
                                             {"killed", test_killed},
                                             {"overtaken", test_overtaken},
                                             {"transition", test_transition}};
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
