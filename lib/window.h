/* The rolling span that is judged: counts of calls, errors and slow calls in equal slices of time.
 *
 * A bucket is several words. Each counting word carries the tag of the bucket it belongs to, so "this count,
 * in this era" is one compare-and-swap, and nothing has to be emptied: a word with another tag counts as
 * zero.
 *
 *   counting word   63..52 generation (low 12 bits) | 51..26 lap (low 26 bits) | 25..0 count
 *   shape           63..32 bucket length in us | 7..0 buckets; 0 = not set yet
 *   pace            number of the newest bucket ever counted in (time / bucket length)
 *
 * lap = bucket number / buckets; the slot in the ring is the remainder. Writers: every process that counts. A
 * call is added to `calls` first and only then to `errors` and `slow`, and these are read first and `calls`
 * last, so no reader ever sees more errors than calls.
 */
#ifndef CUTOUT_LIB_WINDOW_H
#define CUTOUT_LIB_WINDOW_H

#include "lib/atomic64.h"
#include "lib/outcome.h"
#include "lib/thresholds.h"

#include <stdbool.h>
#include <stdint.h>

/* What one bucket holds before it saturates: from then on a call is counted in none of its words, which keeps
 * the ratios those of the calls before. */
#define WINDOW_COUNT_MAX ((UINT64_C(1) << 26) - 1)

struct window_bucket {
    struct atomic64 calls;
    struct atomic64 errors;
    struct atomic64 slow;
    /* Failures by reason, for people: three counts of 21 bits each, REASON_REFUSED.. in the first word,
     * REASON_CLOSED.. in the second, REASON_STATUS in the third. Cleared by whoever first writes `errors`
     * under a new tag. Never judged. */
    struct atomic64 reasons[3];
};

struct window {
    struct atomic64 shape;
    struct atomic64 pace;
    struct window_bucket buckets[WINDOW_BUCKETS_MAX];
};

struct window_sums {
    uint64_t calls;
    uint64_t errors;
    uint64_t slow;
    uint64_t
        overdue; /* outstanding calls longer than slow_call; not in the words of the window: the breaker adds it */
    uint32_t reasons[REASON_COUNT];
};

enum window_added {
    WINDOW_ADDED,     /* counted in the generation asked for */
    WINDOW_LATE,      /* the generation is over: counted nowhere */
    WINDOW_SATURATED, /* the bucket is full: counted nowhere */
    WINDOW_SCRIBBLED  /* the newest time lies more than a second ahead of now_ns: counted nowhere */
};

/* The shape word of a window of window_ms in that many buckets. */
uint64_t window_shape(uint32_t window_ms, uint8_t buckets);

/* Number of the bucket that now_ns falls in, or that of the newest time seen if now_ns is older. */
uint64_t window_bucket_number(const struct window *window, uint64_t now_ns);

/* Counts one call at now_ns. control is the breaker's control word, whose generation decides whether
 * `generation` is still the era that counts. reason is REASON_NONE for a success. Lock-free; exact between
 * any number of threads and processes. */
enum window_added window_add(struct window *window, const struct atomic64 *control, uint16_t generation,
                             uint64_t now_ns, enum failure_reason reason, bool slow);

/* The sums of the window at now_ns in that generation. Never shows more errors or slow calls than calls. */
struct window_sums window_sums(const struct window *window, uint16_t generation, uint64_t now_ns);

/* True when nothing has been counted for idle_ns before now_ns. */
bool window_is_idle(const struct window *window, uint64_t now_ns, uint64_t idle_ns);

/* True when bucket number `bucket` lies in the window at now_ns. */
bool window_covers(const struct window *window, uint64_t bucket, uint64_t now_ns);

#endif
