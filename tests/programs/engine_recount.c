/* Random sequences of calls into lib/window.c, compared with a recount of the list of all calls.
 * ENGINE_ROUNDS sequences, the first with the seed ENGINE_SEED, each further one with the next seed. */
#include "lib/control.h"
#include "lib/window.h"
#include "tests/programs/check.h"
#include "tests/programs/engine_time.h"

#include <stdint.h>

#define STEPS 300

/* A call as a person would note it down: in which slice of time it falls, and how it went. */
struct noted {
    uint64_t slice;
    uint16_t generation;
    bool slow;
    enum failure_reason reason;
};

static struct {
    struct window window;
    struct atomic64 control;
    uint64_t slice_ns;
    unsigned slices;
    uint16_t generation;
    uint64_t newest; /* the newest slice any call was made in */
    struct noted calls[STEPS];
    unsigned count;
} round_of;

static void generation_is(uint16_t generation) {
    round_of.generation = generation;
    atomic64_store_relaxed(&round_of.control, control_make(0, false, 0, generation, 0));
}

static void round_begin(uint64_t *random) {
    static const uint32_t lengths_ms[] = {1000, 1500, 5000, 10000, 60000, 3600000};
    uint32_t window_ms = lengths_ms[random_below(random, 6)];
    memset(&round_of, 0, sizeof round_of);
    round_of.slices = 1 + (unsigned)random_below(random, WINDOW_BUCKETS_MAX);
    round_of.slice_ns = window_ms * UINT64_C(1000) / round_of.slices * US;
    atomic64_store_relaxed(&round_of.window.shape, window_shape(window_ms, (uint8_t)round_of.slices));
    generation_is((uint16_t)random_below(random, 4096));
}

/* Steps of every size, often right to an edge of a slice or one microsecond beside it. */
static uint64_t next_time(uint64_t now_ns, uint64_t *random) {
    uint64_t slice_ns = round_of.slice_ns;
    uint64_t edge = (now_ns / slice_ns + 1 + random_below(random, 3)) * slice_ns;
    switch (random_below(random, 12)) {
    case 0:
        return edge;
    case 1:
        return edge - US;
    case 2:
        return edge + US;
    case 3:
        return now_ns + random_below(random, slice_ns * round_of.slices * 3);
    case 4:
        return now_ns + slice_ns * round_of.slices * (1 + random_below(random, 1000));
    case 5:
        return now_ns - random_below(random, SECOND) % (now_ns + 1);
    case 6:
        return now_ns > 3 * SECOND ? now_ns - SECOND - random_below(random, SECOND) : now_ns;
    case 7:
        return now_ns;
    default:
        return now_ns + random_below(random, slice_ns);
    }
}

/* The slice that a call at now_ns belongs to; false when the newest is more than a second ahead. */
static bool slice_at(uint64_t now_ns, uint64_t *slice) {
    uint64_t own = now_ns / round_of.slice_ns;
    bool ahead = round_of.newest * round_of.slice_ns > now_ns + SECOND;
    *slice = round_of.newest > own && !ahead ? round_of.newest : own;
    return !ahead;
}

static struct window_sums recount(uint64_t now_ns, uint16_t generation) {
    struct window_sums sums = {0};
    uint64_t newest;
    slice_at(now_ns, &newest);
    for (unsigned i = 0; i < round_of.count; i++) {
        const struct noted *call = &round_of.calls[i];
        if (call->generation == generation && call->slice <= newest &&
            newest - call->slice < round_of.slices) {
            sums.calls++;
            sums.slow += call->slow;
            sums.errors += call->reason != REASON_NONE;
            sums.reasons[call->reason] += call->reason != REASON_NONE;
        }
    }
    return sums;
}

/* True when it was counted; else the breaker would begin a new generation. */
static bool make_call(uint64_t seed, uint64_t now_ns, uint64_t *random) {
    struct noted *call = &round_of.calls[round_of.count];
    call->generation = round_of.generation;
    call->slow = random_below(random, 3) == 0;
    call->reason = random_below(random, 2) ? (enum failure_reason)random_below(random, REASON_COUNT) : 0;
    bool counts = slice_at(now_ns, &call->slice);
    enum window_added added = window_add(&round_of.window, &round_of.control, round_of.generation, now_ns,
                                         call->reason, call->slow);
    CHECK_SEED(seed, added == (counts ? WINDOW_ADDED : WINDOW_SCRIBBLED));
    if (counts) {
        round_of.newest = call->slice;
        round_of.count++;
    }
    return counts;
}

static void next_generation(void) {
    generation_is((round_of.generation + 1) & CONTROL_GENERATION_MASK);
}

static void test_round(uint64_t seed) {
    uint64_t random = seed, slice;
    round_begin(&random);
    uint64_t now_ns = random_below(&random, 400 * DAY);
    for (unsigned step = 0; step < STEPS; step++) {
        now_ns = next_time(now_ns, &random);
        if (!make_call(seed, now_ns, &random)) {
            atomic64_store_relaxed(&round_of.window.pace, 0);
            round_of.newest = 0;
            next_generation();
        }
        uint64_t then_ns = random_below(&random, 4) ? now_ns : next_time(now_ns, &random);
        if (!slice_at(then_ns, &slice)) {
            then_ns = now_ns; /* what once was the window is not kept */
        }
        struct window_sums wanted = recount(then_ns, round_of.generation);
        struct window_sums sums = window_sums(&round_of.window, round_of.generation, then_ns);
        CHECK_SEED(seed, memcmp(&sums, &wanted, sizeof sums) == 0);
        if (random_below(&random, 50) == 0) {
            next_generation();
            CHECK_SEED(seed, window_sums(&round_of.window, round_of.generation, now_ns).calls == 0);
        }
    }
}

int main(void) {
    uint64_t seed = number_from("ENGINE_SEED", 1), rounds = number_from("ENGINE_ROUNDS", 4000);
    for (uint64_t i = 0; i < rounds; i++) {
        test_round(seed + i);
    }
    return 0;
}
