/* Random rules and random traces, the same for the same seed whatever the compiler. */
#ifndef CUTOUT_TESTS_REPLAY_TRIAL_H
#define CUTOUT_TESTS_REPLAY_TRIAL_H

#include "lib/thresholds.h"
#include "lib/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define LANES     3
#define CALLS_MAX 48
#define MS        UINT64_C(1000000)

/* --- chance --- */

static uint64_t chance_state;

static inline uint64_t chance(void) {
    uint64_t bits = chance_state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

static inline uint64_t below(uint64_t limit) {
    return chance() % limit;
}

static inline uint64_t one_of(const uint64_t *values, size_t count) {
    return values[below(count)];
}
#define ONE_OF(...)                                                                                          \
    one_of((const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

struct trial {
    struct thresholds thresholds;
    unsigned lanes, calls;
    uint32_t lane[CALLS_MAX];
    struct trace_record record[CALLS_MAX];
};

static inline struct thresholds random_thresholds(void) {
    /* One after the other: in an initializer the order would be the compiler's. */
    struct thresholds thresholds = {0};
    thresholds.window_ms = (uint32_t)ONE_OF(1000, 1500, 5000, 10000);
    thresholds.buckets = (uint8_t)ONE_OF(1, 2, 10, 10, 7, 60);
    thresholds.probes = (uint8_t)(1 + below(4));
    thresholds.gate = (uint8_t)(below(8) == 0);
    thresholds.min_calls = (uint32_t)(1 + below(8));
    thresholds.min_slow_calls = (uint32_t)(1 + below(3));
    thresholds.slow_call_ns = ONE_OF(10, 100, 1000) * MS;
    thresholds.open_for_ns = ONE_OF(100, 1000, 5000) * MS;
    thresholds.probe_timeout_ns = ONE_OF(100, 2000, 10000) * MS;
    thresholds.error_ratio = (uint16_t)ONE_OF(0, 1, 3333, 5000, 5000, 6000, 10000);
    thresholds.error_count = (uint32_t)(below(3) ? 0 : 1 + below(5));
    thresholds.consecutive_errors = (uint16_t)(below(2) ? 0 : 1 + below(5));
    thresholds.slow_written = below(4) != 0;
    thresholds.slow_ratio = (uint16_t)ONE_OF(0, 2500, 5000, 8000, 10000);
    thresholds.warmup_ns = ONE_OF(0, 0, 0, 500, 3000) * MS;
    thresholds.open_backoff = (uint16_t)ONE_OF(0, 100, 125, 200, 1000);
    thresholds.open_max_ns = thresholds.open_for_ns * ONE_OF(1, 2, 3, 100);
    thresholds.open_jitter = (uint16_t)ONE_OF(0, 0, 1000, 10000);
    thresholds.seed = chance();
    thresholds.forget_after_ns = ONE_OF(0, 60, 3600) * 1000 * MS;
    thresholds.max_open = (uint16_t)ONE_OF(0, 10000, 10000, 5000, 3400, 1);
    thresholds.max_in_flight = (uint32_t)(below(6) ? 0 : 1 + below(4));
    return thresholds;
}

/* Times like to fall on edges: of buckets, of open_for, of slow_call. */
static inline uint64_t random_gap_ns(const struct thresholds *thresholds) {
    switch (below(8)) {
    case 0:
    case 1:
        return 0;
    case 2:
    case 3:
        return below(50) * MS;
    case 4:
        return 100 * MS - below(2);
    case 5:
        return (uint64_t)thresholds->window_ms * MS / thresholds->buckets + below(3) - 1;
    case 6:
        return thresholds->open_for_ns + below(3) * 1000 - 1000;
    default:
        return below(12) ? below(3000) * MS : ONE_OF(20, 61, 4000) * 1000 * MS;
    }
}

static inline uint64_t random_response_ns(const struct thresholds *thresholds) {
    switch (below(8)) {
    case 0:
        return thresholds->slow_call_ns + below(3) - 1;
    case 1:
        return thresholds->slow_call_ns + below(2000) * MS;
    case 2:
        return below(16) ? thresholds->probe_timeout_ns : TRACE_NEVER;
    case 3:
        return below(4) ? 0 : TRACE_NEVER;
    case 4:
        return 0;
    default:
        return below(100) * MS;
    }
}

static inline void random_outcome(struct trace_record *record, unsigned ill) {
    record->outcome = OUTCOME_SUCCESS;
    record->reason = REASON_NONE;
    if (below(100) < ill) {
        record->outcome = OUTCOME_FAILURE;
        record->reason = (enum failure_reason)(1 + below(REASON_COUNT - 1));
    } else if (below(12) == 0) {
        record->outcome = OUTCOME_IGNORED;
    }
    bool refused = record->reason == REASON_REFUSED || record->reason == REASON_UNREACHABLE;
    record->kept = below(4) == 0;
    record->connect = !record->kept && (refused || below(16) == 0);
}

static inline void random_trial(struct trial *trial) {
    static const unsigned illness[] = {2, 30, 60, 95};
    uint64_t now_ns = ONE_OF(0, 1, 1000000000, 12345678901234567);
    unsigned ill = illness[below(4)];
    trial->thresholds = random_thresholds();
    trial->lanes = 1 + (unsigned)(below(3) ? 0 : below(LANES));
    trial->calls = 4 + (unsigned)below(below(4) ? 16 : CALLS_MAX - 4);
    for (unsigned i = 0; i < trial->calls; i++) {
        struct trace_record *record = &trial->record[i];
        if (below(8) == 0) {
            ill = illness[below(4)];
        }
        now_ns += random_gap_ns(&trial->thresholds);
        *record = (struct trace_record){.start_ns = now_ns};
        record->response_ns = random_response_ns(&trial->thresholds);
        random_outcome(record, ill);
        trial->lane[i] = (uint32_t)below(trial->lanes);
    }
}

#endif
