/* How one rule judges: the values of its keys, ready for use. Written by the rules language, read by the
 * engine. Fixed layout: it lies in the panel inside a compiled ruleset, shared by 32- and 64-bit processes.
 * Ratios are in hundredths of a percent (5000 = 50 %), times in nanoseconds. */
#ifndef CUTOUT_LIB_THRESHOLDS_H
#define CUTOUT_LIB_THRESHOLDS_H

#include <stdbool.h>
#include <stdint.h>

enum rule_mode { MODE_ENFORCE = 0, MODE_OBSERVE = 1, MODE_OFF = 2 };
enum rule_judge { JUDGE_AUTO = 0, JUDGE_CONNECT = 1, JUDGE_FIRST = 2, JUDGE_EVERY = 3 };
enum rule_gate { GATE_REQUEST = 0 /* connect, request */, GATE_CONNECT = 1 };
enum rule_scope { SCOPE_DESTINATION = 0, SCOPE_NAME = 1, SCOPE_RULE = 2 };
enum rule_protocol { PROTOCOL_AUTO = 0, PROTOCOL_NONE = 1, PROTOCOL_HTTP = 2, PROTOCOL_REDIS = 3 };

#define WINDOW_BUCKETS_MAX 60
#define PROBES_MAX         32
#define EXEMPT_MAX         8
#define DAY_MINUTES        1440

/* One span of slow_exempt. begin and end are minutes of the day at that offset from UTC; where end is not after begin
 * the span passes midnight and belongs to the day it begins on. */
struct exempt_span {
    uint8_t days; /* bit 0 = Monday … bit 6 = Sunday */
    uint8_t reserved;
    uint16_t begin_minute;  /* 0..1439 */
    uint16_t end_minute;    /* 0..1439; first minute after the span */
    int16_t offset_minutes; /* east of UTC */
};

struct thresholds {
    uint8_t mode;         /* enum rule_mode */
    uint8_t judge;        /* enum rule_judge */
    uint8_t gate;         /* enum rule_gate */
    uint8_t protocol;     /* enum rule_protocol */
    uint8_t buckets;      /* 1..WINDOW_BUCKETS_MAX */
    uint8_t probes;       /* 1..PROBES_MAX */
    uint8_t slow_written; /* 1: a person wrote slow_call, so slow_ratio may trip; 0: counted and shown only */
    uint8_t scope;        /* enum rule_scope */
    uint16_t error_ratio; /* 1..10000; 0 = off */
    uint16_t slow_ratio;  /* 1..10000; 0 = off */
    uint16_t consecutive_errors; /* 1..1000; 0 = off */
    uint16_t refuse_errno;       /* the errno of a rejected call */
    uint32_t window_ms;
    uint32_t min_calls;
    uint32_t min_slow_calls;
    uint32_t error_count;   /* 1..1,000,000; 0 = off */
    uint32_t max_in_flight; /* 1..100,000; 0 = off */
    uint16_t max_open;      /* share of the rule's destinations, 1..10000; 0 = no limit */
    uint16_t open_backoff;  /* hundredths, 100..1000; 0 = 100 */
    uint16_t open_jitter;   /* 0..10000 */
    uint8_t exempt_spans;   /* used ones of exempt[] */
    uint8_t reserved;
    uint32_t unused;       /* so that the words below lie alike in 32- and 64-bit processes */
    uint64_t slow_call_ns; /* a response time above it is slow; 0 = off */
    uint64_t open_for_ns;
    uint64_t probe_timeout_ns;
    uint64_t warmup_ns;       /* 0 = none */
    uint64_t open_max_ns;     /* 0 = no limit */
    uint64_t forget_after_ns; /* 0 = never */
    uint64_t seed;            /* of the jitter: 0 in a running program, where time itself is chance enough */
    struct exempt_span exempt[EXEMPT_MAX];
};

/* True when that second since 1970 (UTC) lies in one of the rule's slow_exempt spans. */
bool thresholds_exempt(const struct thresholds *thresholds, uint64_t unix_s);

#endif
