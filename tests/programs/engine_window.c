/* Cases of lib/window.c in virtual time, each at the edge and one microsecond to either side of it. */
#include "lib/control.h"
#include "lib/window.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_time.h"

#include <stdint.h>

static struct window window;
static struct atomic64 control;

static const uint32_t lengths_ms[] = {1000, 1001, 2500, 10000, 59999, 60000, 3600000};
#define LENGTHS (sizeof lengths_ms / sizeof *lengths_ms)
/* Any time will do; this one is months after boot and on no edge. */
#define LATER (100 * DAY + 12345 * US)

static void generation_is(uint16_t generation) {
    atomic64_store_relaxed(&control, control_make(0, false, 0, generation, 0));
}

/* An empty window; returns the length of its buckets in ns. */
static uint64_t fresh(uint32_t window_ms, unsigned buckets) {
    memset(&window, 0, sizeof window);
    atomic64_store_relaxed(&window.shape, window_shape(window_ms, (uint8_t)buckets));
    generation_is(7);
    return window_ms * UINT64_C(1000) / buckets * US;
}

static enum window_added add(uint64_t now_ns) {
    return window_add(&window, &control, 7, now_ns, REASON_NONE, false);
}

static uint64_t calls(uint64_t now_ns) {
    return window_sums(&window, 7, now_ns).calls;
}

/* The start of a bucket that begins after LATER, for buckets of that length. */
static uint64_t some_edge(uint64_t bucket_ns) {
    return (LATER / bucket_ns + 1) * bucket_ns;
}

static void test_aligned(void) {
    for (unsigned length = 0; length < LENGTHS; length++) {
        for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
            uint64_t bucket_ns = fresh(lengths_ms[length], buckets);
            uint64_t edge = some_edge(bucket_ns), number = edge / bucket_ns;
            CHECK(window_bucket_number(&window, 0) == 0);
            CHECK(window_bucket_number(&window, bucket_ns - US) == 0);
            CHECK(window_bucket_number(&window, bucket_ns) == 1);
            CHECK(window_bucket_number(&window, edge - US) == number - 1);
            CHECK(window_bucket_number(&window, edge) == number);
            CHECK(window_bucket_number(&window, edge + bucket_ns - US) == number);
            CHECK(window_bucket_number(&window, edge + bucket_ns) == number + 1);
        }
    }
}

/* One call made anywhere in a bucket counts until the last microsecond of the (buckets - 1)th bucket after it. */
static void test_span(void) {
    for (unsigned length = 0; length < LENGTHS; length++) {
        for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
            for (unsigned last = 0; last < 2; last++) {
                uint64_t bucket_ns = fresh(lengths_ms[length], buckets);
                uint64_t edge = some_edge(bucket_ns), end = edge + buckets * bucket_ns;
                uint64_t made = last ? edge + bucket_ns - US : edge;
                CHECK(add(made) == WINDOW_ADDED);
                CHECK(calls(made) == 1 && calls(edge + bucket_ns - US) == 1);
                CHECK(calls(end - US) == 1 && window_covers(&window, edge / bucket_ns, end - US));
                CHECK(calls(end) == 0 && !window_covers(&window, edge / bucket_ns, end));
                CHECK(calls(end + US) == 0);
                CHECK(window_covers(&window, edge / bucket_ns, made));
                CHECK(!window_covers(&window, edge / bucket_ns + 1, made));
            }
        }
    }
}

static void test_idle_gap(void) {
    for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
        uint64_t bucket_ns = fresh(10000, buckets);
        uint64_t window_ns = buckets * bucket_ns, edge = some_edge(bucket_ns);
        for (unsigned i = 0; i < buckets; i++) {
            CHECK(add(edge + i * bucket_ns) == WINDOW_ADDED);
        }
        uint64_t now = edge + window_ns - US;
        CHECK(calls(now) == buckets);
        /* Whole laps of the ring fall on the very same slots. */
        for (uint64_t gap = window_ns; gap < 1000 * DAY; gap = gap * 3 / window_ns * window_ns) {
            CHECK(calls(now + window_ns - bucket_ns) == 1 && calls(now + window_ns) == 0);
            CHECK(calls(now + gap) == 0 && calls(now + gap + US) == 0);
            now += gap;
            CHECK(add(now) == WINDOW_ADDED && calls(now) == 1);
        }
    }
}

static void test_older_time(void) {
    for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
        uint64_t bucket_ns = fresh(60000, buckets); /* a second or more each */
        uint64_t edge = some_edge(bucket_ns), number = edge / bucket_ns;
        CHECK(add(edge) == WINDOW_ADDED);
        CHECK(add(edge - US) == WINDOW_ADDED && add(edge - SECOND / 2) == WINDOW_ADDED);
        CHECK(add(edge - SECOND) == WINDOW_ADDED);
        CHECK(window_bucket_number(&window, edge - SECOND) == number);
        CHECK(calls(edge - SECOND) == 4 && calls(edge) == 4);
        /* All four are the newest bucket's, and go with it. */
        CHECK(calls(edge + buckets * bucket_ns - US) == 4 && calls(edge + buckets * bucket_ns) == 0);
    }
}

static void test_scribbled_pace(void) {
    for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
        uint64_t bucket_ns = fresh(60000, buckets);
        uint64_t edge = some_edge(bucket_ns), number = edge / bucket_ns;
        CHECK(add(edge) == WINDOW_ADDED);
        CHECK(add(edge - SECOND) == WINDOW_ADDED && calls(edge - SECOND) == 2);
        CHECK(add(edge - SECOND - US) == WINDOW_SCRIBBLED && calls(edge) == 2);
        uint64_t own = (edge - SECOND - US) / bucket_ns;
        CHECK(own < number && window_bucket_number(&window, edge - SECOND - US) == own);
        CHECK(calls(edge - SECOND - US) == 0);
        atomic64_store_relaxed(&window.pace, UINT64_MAX);
        CHECK(add(edge) == WINDOW_SCRIBBLED && window_bucket_number(&window, edge) == number);
        CHECK(calls(edge) == 2);
    }
}

static void test_saturated(void) {
    uint64_t bucket_ns = fresh(10000, 10), now = some_edge(bucket_ns);
    struct window_bucket *bucket = &window.buckets[now / bucket_ns % 10];
    CHECK(WINDOW_COUNT_MAX >= 4000000);
    CHECK(window_add(&window, &control, 7, now, REASON_RESET, true) == WINDOW_ADDED);
    /* Some millions of calls later, one in two of them failed and slow. */
    atomic64_add_relaxed(&bucket->calls, WINDOW_COUNT_MAX - 2);
    atomic64_add_relaxed(&bucket->errors, WINDOW_COUNT_MAX / 2 - 1);
    atomic64_add_relaxed(&bucket->slow, WINDOW_COUNT_MAX / 2 - 1);
    CHECK(calls(now) == WINDOW_COUNT_MAX - 1);
    CHECK(window_add(&window, &control, 7, now, REASON_RESET, true) == WINDOW_ADDED);
    struct window_sums full = window_sums(&window, 7, now);
    CHECK(full.calls == WINDOW_COUNT_MAX && full.errors == WINDOW_COUNT_MAX / 2 + 1);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(window_add(&window, &control, 7, now, REASON_RESET, true) == WINDOW_SATURATED);
        CHECK(add(now + bucket_ns - US) == WINDOW_SATURATED);
    }
    struct window_sums sums = window_sums(&window, 7, now);
    CHECK(memcmp(&sums, &full, sizeof sums) == 0);
    /* Only that bucket, and only that era. */
    CHECK(add(now + bucket_ns) == WINDOW_ADDED && calls(now + bucket_ns) == WINDOW_COUNT_MAX + 1);
    generation_is(8);
    CHECK(window_add(&window, &control, 8, now, REASON_NONE, false) == WINDOW_ADDED);
    CHECK(window_sums(&window, 8, now).calls == 1);
}

static void test_generation(void) {
    for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
        uint64_t bucket_ns = fresh(10000, buckets), now = some_edge(bucket_ns);
        CHECK(window_add(&window, &control, 7, now, REASON_REFUSED, true) == WINDOW_ADDED);
        generation_is(8);
        struct window_sums sums = window_sums(&window, 8, now);
        CHECK(sums.calls == 0 && sums.errors == 0 && sums.slow == 0 && sums.reasons[REASON_REFUSED] == 0);
        CHECK(window_add(&window, &control, 8, now, REASON_CLOSED, false) == WINDOW_ADDED);
        /* A call of the era that is over is counted nowhere. */
        CHECK(window_add(&window, &control, 7, now, REASON_REFUSED, true) == WINDOW_LATE);
        CHECK(window_add(&window, &control, 7, now + bucket_ns, REASON_REFUSED, true) == WINDOW_LATE);
        sums = window_sums(&window, 8, now);
        CHECK(sums.calls == 1 && sums.errors == 1 && sums.slow == 0);
        CHECK(sums.reasons[REASON_CLOSED] == 1 && sums.reasons[REASON_REFUSED] == 0);
        CHECK(window_sums(&window, 7, now).calls == 0);
        /* 4095 and 0 are neighbours. */
        generation_is(4095);
        now += bucket_ns;
        CHECK(window_add(&window, &control, 4095, now, REASON_NONE, false) == WINDOW_ADDED);
        generation_is(0);
        CHECK(window_sums(&window, 0, now).calls == 0 && window_sums(&window, 4095, now).calls == 1);
    }
}

static void test_scribbled_shape(void) {
    static const uint64_t bad[] = {0, 10, UINT64_C(1000000) << 32, UINT64_C(1000000) << 32 | 61, UINT64_MAX};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&window, 0xff, sizeof window);
        atomic64_store_relaxed(&window.shape, bad[i]);
        CHECK(add(LATER) == WINDOW_LATE && calls(LATER) == 0);
        CHECK(window_bucket_number(&window, LATER) == 0 && !window_covers(&window, 0, LATER));
    }
    /* Whatever the words hold, there are never more errors or slow calls than calls. */
    uint64_t seed = 1;
    for (unsigned i = 0; i < 10000; i++) {
        fresh(10000, 1 + i % WINDOW_BUCKETS_MAX);
        for (unsigned slot = 0; slot < WINDOW_BUCKETS_MAX; slot++) {
            atomic64_store_relaxed(&window.buckets[slot].calls, random_below(&seed, 20));
            atomic64_store_relaxed(&window.buckets[slot].errors, random_below(&seed, 20));
            atomic64_store_relaxed(&window.buckets[slot].slow, random_below(&seed, 20));
        }
        struct window_sums sums = window_sums(&window, 0, random_below(&seed, 20 * SECOND));
        CHECK(sums.errors <= sums.calls && sums.slow <= sums.calls);
    }
}

static void test_extremes(void) {
    for (unsigned buckets = 1; buckets <= WINDOW_BUCKETS_MAX; buckets++) {
        uint64_t bucket_ns = fresh(1000, buckets);
        CHECK(add(0) == WINDOW_ADDED && calls(0) == 1);
        CHECK(calls(buckets * bucket_ns - US) == 1 && calls(buckets * bucket_ns) == 0);
        uint64_t end = (UINT64_MAX - 2 * SECOND) / bucket_ns * bucket_ns;
        CHECK(add(end) == WINDOW_ADDED && calls(end) == 1 && calls(end - US) == 1);
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"aligned", test_aligned},          {"span", test_span},
        {"idle_gap", test_idle_gap},        {"older_time", test_older_time},
        {"scribbled", test_scribbled_pace}, {"saturated", test_saturated},
        {"generation", test_generation},    {"scribbled_shape", test_scribbled_shape},
        {"extremes", test_extremes}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
