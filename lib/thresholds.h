/* How one rule judges: the values of its keys, ready for use. Written by the rules language, read by the
 * engine. Fixed layout: it lies in the panel inside a compiled ruleset, shared by 32- and 64-bit processes.
 * Ratios are in hundredths of a percent (5000 = 50 %), times in nanoseconds. */
#ifndef CUTOUT_LIB_THRESHOLDS_H
#define CUTOUT_LIB_THRESHOLDS_H

#include <stdint.h>

enum rule_mode { MODE_ENFORCE = 0, MODE_OBSERVE = 1, MODE_OFF = 2 };
enum rule_judge { JUDGE_AUTO = 0, JUDGE_CONNECT = 1, JUDGE_FIRST = 2, JUDGE_EVERY = 3 };
enum rule_gate { GATE_REQUEST = 0 /* connect, request */, GATE_CONNECT = 1 };
enum rule_protocol { PROTOCOL_AUTO = 0, PROTOCOL_NONE = 1, PROTOCOL_HTTP = 2, PROTOCOL_REDIS = 3 };

#define WINDOW_BUCKETS_MAX 60
#define PROBES_MAX         32

struct thresholds {
    uint8_t mode;         /* enum rule_mode */
    uint8_t judge;        /* enum rule_judge */
    uint8_t gate;         /* enum rule_gate */
    uint8_t protocol;     /* enum rule_protocol */
    uint8_t buckets;      /* 1..WINDOW_BUCKETS_MAX */
    uint8_t probes;       /* 1..PROBES_MAX */
    uint8_t slow_written; /* 1: a person wrote slow_call, so slow_ratio may trip; 0: counted and shown only */
    uint8_t reserved;
    uint16_t error_ratio;        /* 1..10000; 0 = off */
    uint16_t slow_ratio;         /* 1..10000; 0 = off */
    uint16_t consecutive_errors; /* 1..1000; 0 = off */
    uint16_t refuse_errno;       /* the errno of a rejected call */
    uint32_t window_ms;
    uint32_t min_calls;
    uint32_t min_slow_calls;
    uint32_t reserved2;
    uint64_t slow_call_ns; /* a response time above it is slow; 0 = off */
    uint64_t open_for_ns;
    uint64_t probe_timeout_ns;
};

#endif
