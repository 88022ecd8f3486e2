#include "lib/thresholds.h"

#define DAY_S 86400

/* 1 January 1970 was a Thursday. */
#define FIRST_WEEKDAY 3

static bool span_covers(const struct exempt_span *span, uint64_t unix_s) {
    int64_t local_s = (int64_t)unix_s + (int64_t)span->offset_minutes * 60;
    if (local_s < 0) {
        return false;
    }
    unsigned minute = (unsigned)(local_s % DAY_S / 60);
    unsigned day = (unsigned)(local_s / DAY_S + FIRST_WEEKDAY) % 7;
    unsigned day_before = (day + 6) % 7;
    bool past_midnight = span->end_minute <= span->begin_minute;
    if (minute >= span->begin_minute && (past_midnight || minute < span->end_minute)) {
        return (span->days >> day & 1) != 0;
    }
    return past_midnight && minute < span->end_minute && (span->days >> day_before & 1) != 0;
}

bool thresholds_exempt(const struct thresholds *thresholds, uint64_t unix_s) {
    for (unsigned i = 0; i < thresholds->exempt_spans && i < EXEMPT_MAX; i++) {
        if (span_covers(&thresholds->exempt[i], unix_s)) {
            return true;
        }
    }
    return false;
}
