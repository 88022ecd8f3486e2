/* Cases of lib/panel.c: breakers are found and made by many at once, in memory that may be scribbled over. */
#include "lib/panel.h"
#include "tests/programs/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 16

static struct panel *panel_new(void) {
    void *memory = mmap(NULL, sizeof(struct panel), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static struct endpoint destination(unsigned i) {
    return endpoint_ipv4(SCHEME_TCP, (const uint8_t[]){10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i},
                         443);
}

static uint32_t make(struct panel *panel, unsigned i) {
    struct endpoint endpoint = destination(i);
    return panel_find_or_make(panel, &endpoint, NULL, "payments", 99);
}

static uint32_t find(const struct panel *panel, unsigned i) {
    struct endpoint endpoint = destination(i);
    return panel_find(panel, &endpoint, 99);
}

static void test_make(void) {
    struct panel *panel = panel_new();
    CHECK(find(panel, 1) == PANEL_NO_BREAKER);
    CHECK(panel_breaker(panel, 0) == NULL && panel_breakers_used(panel) == 0);
    uint32_t first = make(panel, 1), second = make(panel, 2);
    CHECK(first != second && make(panel, 1) == first && find(panel, 1) == first && find(panel, 2) == second);
    struct endpoint endpoint = destination(1);
    uint32_t other_rule = panel_find_or_make(panel, &endpoint, "", "other", 100);
    CHECK(other_rule != first && panel_breakers_used(panel) == 3);
    struct breaker *breaker = panel_breaker(panel, first);
    CHECK(breaker != NULL && endpoint_equal(&breaker->endpoint, &endpoint) && breaker->rule_key == 99);
    check_text(breaker->rule, "payments");
    check_text(breaker->endpoint_name, "");
    struct endpoint name = endpoint_named(SCHEME_DNS, "db.internal", 11);
    breaker = panel_breaker(panel, panel_find_or_make(panel, &name, "db.internal", "default", 1));
    check_text(breaker->endpoint_name, "db.internal");
    CHECK(panel_breaker(panel, PANEL_BREAKERS) == NULL && panel_breaker(panel, PANEL_NO_BREAKER) == NULL);
    CHECK(panel_breaker(panel, 4) == NULL);
    CHECK(atomic64_load_relaxed(&panel->unprotected) == 0);
}

/* --- racing ------------------------------------------------------------------------------------------ */

static struct panel *raced;
static unsigned destinations;
static pthread_barrier_t *start;

static void *race_thread(void *argument) {
    unsigned begin = *(const unsigned *)argument;
    pthread_barrier_wait(start);
    for (unsigned i = 0; i < destinations; i++) {
        unsigned wanted = (begin + i) % destinations;
        uint32_t made = make(raced, wanted);
        CHECK(made != PANEL_NO_BREAKER && find(raced, wanted) == made);
    }
    return NULL;
}

static void race_process(unsigned count) {
    pthread_t threads[THREADS_MAX];
    /* Two by two they race for the very same one, the others come from elsewhere. */
    unsigned begins[2] = {0, destinations / 2};
    for (unsigned i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, race_thread, &begins[i / 2 % 2]) == 0);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void race(unsigned processes, unsigned threads, unsigned wanted) {
    destinations = wanted;
    raced = panel_new();
    start = mmap(NULL, sizeof *start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(start, &shared, processes * threads);
    for (unsigned i = 0; i < processes; i++) {
        if (fork() == 0) {
            race_process(threads);
            exit(0);
        }
    }
    for (unsigned i = 0; i < processes; i++) {
        int status;
        CHECK(wait(&status) > 0 && status == 0);
    }
    unsigned cells = 0, made = 0;
    static bool seen[PANEL_BREAKERS];
    for (unsigned i = 0; i < PANEL_INDEX_CELLS; i++) {
        uint64_t cell = atomic64_load_relaxed(&raced->index[i]);
        if (cell != 0) {
            uint32_t index = (uint32_t)cell - 1;
            CHECK(index < PANEL_BREAKERS && !seen[index]);
            seen[index] = true;
            cells++;
        }
    }
    for (uint32_t i = 0; i < panel_breakers_used(raced); i++) {
        made += panel_breaker(raced, i) != NULL;
    }
    CHECK(cells == destinations && made == destinations);
    /* The places of those who lost a race were used again. */
    CHECK(panel_breakers_used(raced) <= destinations + processes * threads + PANEL_SPARES);
    CHECK(atomic64_load_relaxed(&raced->unprotected) == 0);
}

static void test_race(void) {
    race(4, 4, 2000);
}

/* More losers than the table has places, were they wasted. */
static void test_losers(void) {
    race(2, THREADS_MAX, 14000);
}

/* In one process, where a thread sanitizer sees all that happens. */
static void test_threads(void) {
    race(1, THREADS_MAX, 2000);
}

/* --- a table that is full, or not what it should be -------------------------------------------------- */

static void test_full(void) {
    struct panel *panel = panel_new();
    for (unsigned i = 0; i < PANEL_BREAKERS; i++) {
        CHECK(make(panel, i) != PANEL_NO_BREAKER);
    }
    CHECK(atomic64_load_relaxed(&panel->unprotected) == 0);
    CHECK(make(panel, PANEL_BREAKERS) == PANEL_NO_BREAKER &&
          make(panel, PANEL_BREAKERS + 1) == PANEL_NO_BREAKER);
    CHECK(atomic64_load_relaxed(&panel->unprotected) == 2);
    CHECK(panel_breakers_used(panel) == PANEL_BREAKERS);
    for (unsigned i = 0; i < PANEL_BREAKERS; i++) {
        CHECK(find(panel, i) != PANEL_NO_BREAKER && make(panel, i) == find(panel, i));
    }
}

static void test_killed(void) {
    struct panel *panel = panel_new();
    /* Killed after taking a place: one unused place. */
    atomic64_store_relaxed(&panel->breakers_used, 1);
    uint32_t made = make(panel, 1);
    CHECK(made == 1 && panel_breaker(panel, 0) == NULL);
    /* Killed after publishing it and before saying so: the next one says so. */
    atomic64_store_relaxed(&panel->breakers[made].made, 0);
    CHECK(find(panel, 1) == PANEL_NO_BREAKER && panel_breaker(panel, made) == NULL);
    CHECK(make(panel, 1) == made && find(panel, 1) == made && panel_breaker(panel, made) != NULL);
}

#define MINUTE UINT64_C(60000000000)

/* Only idle, CLOSED breakers without failures give up their places; whoever held one finds that it is gone. */
static void test_recycle(void) {
    struct panel *panel = panel_new();
    struct thresholds rule = {.buckets = 10,
                              .probes = 3,
                              .window_ms = 10000,
                              .min_calls = 1,
                              .error_ratio = 5000,
                              .open_for_ns = MINUTE};
    for (unsigned i = 0; i < PANEL_BREAKERS; i++) {
        struct breaker *breaker = panel_breaker(panel, make(panel, i));
        breaker_adopt(breaker, &rule);
        struct ticket ticket = breaker_admit(breaker, &rule, ASK_CONNECT, true, 0, MINUTE).ticket;
        struct call_end end = {.outcome = i % 2 ? OUTCOME_FAILURE : OUTCOME_SUCCESS,
                               .reason = i % 2 ? REASON_RESET : 0,
                               .exchange = true,
                               .started_ns = MINUTE};
        breaker_finish(breaker, &rule, ticket, &end, MINUTE);
    }
    CHECK(make(panel, 1000000) == PANEL_NO_BREAKER);
    CHECK(!panel_recycle(panel, MINUTE + MINUTE)); /* the bucket of the last call ends a second later */
    uint64_t now = MINUTE + MINUTE + MINUTE / 60;
    CHECK(panel_recycle(panel, now));
    uint32_t place = make(panel, 1000000);
    CHECK(place < PANEL_BREAKERS && place % 2 == 0 && find(panel, 1000000) == place);
    CHECK(find(panel, place) == PANEL_NO_BREAKER); /* it was that number's */
    struct breaker *breaker = panel_breaker(panel, place);
    CHECK(atomic64_load_relaxed(&breaker->made) == 3 && atomic64_load_relaxed(&breaker->totals.calls) == 0);
    CHECK(histogram_count(&breaker->histogram) == 0);
    breaker_adopt(breaker, &rule);
    /* Its former destination's call ends: nothing of it is seen here. */
    struct call_end late = {.outcome = OUTCOME_FAILURE, .reason = REASON_RESET, .started_ns = MINUTE};
    breaker_finish(breaker, &rule, (struct ticket){0, 0, STANDING_COUNTED}, &late, now);
    CHECK(breaker_view(breaker, now).state == STATE_CLOSED && breaker_view(breaker, now).sums.calls == 0);
    /* The failed ones are OPEN, and stay. All others can be had, each once, and found again. */
    unsigned had = 1;
    for (unsigned i = 1; i < PANEL_BREAKERS * 2; i++) {
        if (panel_recycle(panel, now)) {
            uint32_t given = make(panel, 1000000 + i);
            CHECK(given % 2 == 0 && find(panel, 1000000 + i) == given);
            struct breaker *taken = panel_breaker(panel, given);
            breaker_adopt(taken, &rule);
            struct ticket ticket = breaker_admit(taken, &rule, ASK_CONNECT, true, 0, now).ticket;
            struct call_end end = {.outcome = OUTCOME_SUCCESS, .exchange = true, .started_ns = now};
            breaker_finish(taken, &rule, ticket, &end, now);
            had++;
        }
    }
    CHECK(had == PANEL_BREAKERS / 2 || had == PANEL_BREAKERS / 2 + 1);
}

static void test_scribbled(void) {
    struct panel *panel = panel_new();
    uint32_t random = 1;
    for (unsigned i = 0; i < PANEL_INDEX_CELLS; i++) {
        random = random * 1664525 + 1013904223;
        atomic64_store_relaxed(&panel->index[i], (uint64_t)random << 32 | (random ^ 0x5a5a5a5a));
    }
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(find(panel, i) == PANEL_NO_BREAKER);
        uint32_t made = make(panel, i); /* a cell that names no place at all is free again */
        CHECK(made == find(panel, i));
    }
    /* A counter that says too much, and one that says too little. */
    panel = panel_new();
    atomic64_store_relaxed(&panel->breakers_used, UINT64_MAX);
    CHECK(make(panel, 1) == PANEL_NO_BREAKER && panel_breakers_used(panel) == PANEL_BREAKERS);
    CHECK(atomic64_load_relaxed(&panel->breakers_used) == UINT64_MAX);
    panel = panel_new();
    for (unsigned i = 0; i < 100; i++) {
        make(panel, i);
    }
    atomic64_store_relaxed(&panel->breakers_used, 0);
    atomic64_store_relaxed(&panel->spares[0], 51);
    atomic64_store_relaxed(&panel->spares[1], UINT64_MAX);
    CHECK(make(panel, 200) == 100 && find(panel, 50) == 50);
    /* Names without an end stay within their bounds for whoever makes the next one. */
    memset(panel->breakers[100].rule, 'x', sizeof panel->breakers[100].rule);
    CHECK(make(panel, 200) == 100);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"make", test_make},           {"race", test_race},
                                             {"threads", test_threads},     {"losers", test_losers},
                                             {"full", test_full},           {"killed", test_killed},
                                             {"scribbled", test_scribbled}, {"recycle", test_recycle}};
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
