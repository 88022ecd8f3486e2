#include "rules/keys.h"

#include "lib/window.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S  (1000 * MS)
#define M  (60 * S)
#define H  (60 * M)

#define MIN_CALLS_MAX 1000000

/* So no min_calls is more than a bucket can count to. */
_Static_assert(MIN_CALLS_MAX <= WINDOW_COUNT_MAX, "a bucket must hold min_calls");

static const struct key_word MODES[] = {
    {"enforce", MODE_ENFORCE}, {"observe", MODE_OBSERVE}, {"off", MODE_OFF}, {NULL, 0}};
static const struct key_word SCOPES[] = {
    {"destination", SCOPE_DESTINATION}, {"name", SCOPE_NAME}, {"rule", SCOPE_RULE}, {NULL, 0}};
static const struct key_word JUDGES[] = {{"auto", JUDGE_AUTO},
                                         {"connect", JUDGE_CONNECT},
                                         {"first", JUDGE_FIRST},
                                         {"every", JUDGE_EVERY},
                                         {NULL, 0}};
static const struct key_word PROTOCOLS[] = {{"auto", PROTOCOL_AUTO},
                                            {"none", PROTOCOL_NONE},
                                            {"http", PROTOCOL_HTTP},
                                            {"redis", PROTOCOL_REDIS},
                                            {NULL, 0}};

/* What a connect may fail with that says "not reachable" to a program, or "not now". Left out is what would
 * tell it that the connection is under way (EINPROGRESS, EALREADY, EINTR, EAGAIN), that it is made (EISCONN),
 * or that the program itself is at fault (EBADF, EFAULT, EINVAL, ENOTSOCK …). */
static const struct key_word REFUSALS[] = {{"ECONNREFUSED", ECONNREFUSED},
                                           {"ETIMEDOUT", ETIMEDOUT},
                                           {"EHOSTUNREACH", EHOSTUNREACH},
                                           {"ENETUNREACH", ENETUNREACH},
                                           {"EHOSTDOWN", EHOSTDOWN},
                                           {"ENETDOWN", ENETDOWN},
                                           {"ECONNRESET", ECONNRESET},
                                           {"ECONNABORTED", ECONNABORTED},
                                           {"EADDRNOTAVAIL", EADDRNOTAVAIL},
                                           {"EADDRINUSE", EADDRINUSE},
                                           {"EAFNOSUPPORT", EAFNOSUPPORT},
                                           {"ENOBUFS", ENOBUFS},
                                           {"ENOENT", ENOENT},
                                           {"EACCES", EACCES},
                                           {"EPERM", EPERM},
                                           {NULL, 0}};

#define REFUSAL_EXPECTED "an errno name that says no destination answers, as ECONNREFUSED or ETIMEDOUT"

#define FIELD(member, per)                                                                                   \
    .offset = offsetof(struct thresholds, member), .width = sizeof(((struct thresholds *)0)->member),        \
    .unit = per

static const struct key KEYS[KEY_VALUES] = {
    [KEY_MODE] = {"mode", VALUE_WORD, FIELD(mode, 1), .words = MODES},
    [KEY_SCOPE] = {"scope", VALUE_WORD, FIELD(scope, 1), .words = SCOPES},
    [KEY_JUDGE] = {"judge", VALUE_WORD, FIELD(judge, 1), .words = JUDGES},
    [KEY_GATE] = {"gate", VALUE_GATE, FIELD(gate, 1)},
    [KEY_PROTOCOL] = {"protocol", VALUE_WORD, FIELD(protocol, 1), .words = PROTOCOLS},
    [KEY_WINDOW] = {"window", VALUE_DURATION, FIELD(window_ms, MS), .low = S, .high = H, .step = MS},
    [KEY_BUCKETS] = {"buckets", VALUE_COUNT, FIELD(buckets, 1), .low = 1, .high = WINDOW_BUCKETS_MAX},
    [KEY_MIN_CALLS] = {"min_calls", VALUE_COUNT, FIELD(min_calls, 1), .low = 1, .high = MIN_CALLS_MAX},
    [KEY_ERROR_RATIO] = {"error_ratio", VALUE_RATIO, FIELD(error_ratio, 1), .off = true, .low = 1,
                         .high = 10000},
    [KEY_ERROR_COUNT] = {"error_count", VALUE_COUNT, FIELD(error_count, 1), .off = true, .low = 1,
                         .high = 1000000},
    [KEY_CONSECUTIVE_ERRORS] = {"consecutive_errors", VALUE_COUNT, FIELD(consecutive_errors, 1), .off = true,
                                .low = 1, .high = 1000},
    [KEY_SLOW_CALL] = {"slow_call", VALUE_DURATION, FIELD(slow_call_ns, 1), .off = true, .low = MS, .high = H,
                       .step = US},
    [KEY_SLOW_RATIO] = {"slow_ratio", VALUE_RATIO, FIELD(slow_ratio, 1), .off = true, .low = 1,
                        .high = 10000},
    [KEY_MIN_SLOW_CALLS] = {"min_slow_calls", VALUE_COUNT, FIELD(min_slow_calls, 1), .low = 1,
                            .high = 1000000},
    [KEY_WARMUP] = {"warmup", VALUE_DURATION, FIELD(warmup_ns, 1), .low = 0, .high = 24 * H, .step = US},
    [KEY_SLOW_EXEMPT] = {"slow_exempt", VALUE_TIMES, FIELD(exempt_spans, 1), .off = true, .low = 1,
                         .high = EXEMPT_MAX},
    [KEY_MAX_OPEN] = {"max_open", VALUE_RATIO, FIELD(max_open, 1), .low = 1, .high = 10000},
    [KEY_OPEN_FOR] = {"open_for", VALUE_DURATION, FIELD(open_for_ns, 1), .low = 100 * MS, .high = 24 * H,
                      .step = US},
    [KEY_OPEN_BACKOFF] = {"open_backoff", VALUE_FACTOR, FIELD(open_backoff, 1), .low = 100, .high = 1000},
    [KEY_OPEN_MAX] = {"open_max", VALUE_DURATION, FIELD(open_max_ns, 1), .low = 100 * MS, .high = 24 * H,
                      .step = US},
    [KEY_OPEN_JITTER] = {"open_jitter", VALUE_RATIO, FIELD(open_jitter, 1), .low = 0, .high = 10000},
    [KEY_PROBES] = {"probes", VALUE_COUNT, FIELD(probes, 1), .low = 1, .high = PROBES_MAX},
    [KEY_PROBE_TIMEOUT] = {"probe_timeout", VALUE_DURATION, FIELD(probe_timeout_ns, 1), .low = 100 * MS,
                           .high = H, .step = US},
    [KEY_FORGET_AFTER] = {"forget_after", VALUE_DURATION, FIELD(forget_after_ns, 1), .low = M,
                          .high = 720 * H, .step = US},
    [KEY_MAX_IN_FLIGHT] = {"max_in_flight", VALUE_COUNT, FIELD(max_in_flight, 1), .off = true, .low = 1,
                           .high = 100000},
    [KEY_REFUSE_WITH] = {"refuse_with", VALUE_WORD, FIELD(refuse_errno, 1), .words = REFUSALS,
                         .expected = REFUSAL_EXPECTED},
};

const struct key *key_of(enum rules_key key) {
    return &KEYS[key];
}

const char *key_name(enum rules_key key) {
    if (key < KEY_VALUES) {
        return KEYS[key].name;
    }
    return key == KEY_MATCH ? "match" : key == KEY_LIKE ? "like" : "";
}

enum rules_key key_find(struct piece name) {
    enum rules_key key = KEY_MODE;
    while (key < KEY_NONE && !piece_is(name, key_name(key))) {
        key++;
    }
    return key;
}

uint64_t key_value(const struct thresholds *thresholds, enum rules_key key) {
    const struct key *is = &KEYS[key];
    const unsigned char *at = (const unsigned char *)thresholds + is->offset;
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    uint64_t value;
    switch (is->width) {
    case 1:
        memcpy(&byte, at, sizeof byte);
        return byte;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    case 4:
        memcpy(&word, at, sizeof word);
        return word * is->unit;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

void key_store(struct thresholds *thresholds, enum rules_key key, uint64_t value) {
    const struct key *is = &KEYS[key];
    unsigned char *at = (unsigned char *)thresholds + is->offset;
    const uint8_t byte = (uint8_t)value;
    const uint16_t half = (uint16_t)value;
    const uint32_t word = (uint32_t)(value / is->unit);
    const void *from = is->width == 1   ? (const void *)&byte
                       : is->width == 2 ? (const void *)&half
                                        : (const void *)&word;
    memcpy(at, is->width == 8 ? &value : from, is->width);
}
