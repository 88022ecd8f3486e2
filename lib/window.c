#include "lib/window.h"

#include "lib/control.h"

#define COUNT_BITS       26
#define TAG_MASK         (~WINDOW_COUNT_MAX)
#define LAP_MASK         ((UINT64_C(1) << 26) - 1)
#define REASON_BITS      21
#define REASON_MAX       ((UINT64_C(1) << REASON_BITS) - 1)
#define REASONS_PER_WORD 3
#define SCRIBBLE_US      UINT64_C(1000000) /* semantics, section 4: more than a second ahead of now */
/* A compare-and-swap fails only when another one has succeeded, so this many in a row mean a panel that is
 * being scribbled over; then the count is given up, not the host's thread. */
#define TURNS_MAX (1u << 20)

/* The shape, checked: a scribbled one has no buckets. */
struct shape {
    uint32_t bucket_us;
    uint32_t buckets;
};

static struct shape shape_of(const struct window *window) {
    uint64_t word = atomic64_load_acquire(&window->shape); /* pairs with the release in breaker_adopt */
    struct shape shape = {(uint32_t)(word >> 32), (uint32_t)(word & 0xff)};
    if (shape.bucket_us == 0 || shape.buckets > WINDOW_BUCKETS_MAX) {
        shape.buckets = 0;
    }
    return shape;
}

uint64_t window_shape(uint32_t window_ms, uint8_t buckets) {
    uint64_t bucket_us = (uint64_t)window_ms * 1000 / (buckets ? buckets : 1);
    return bucket_us << 32 | buckets;
}

static uint64_t tag_of_lap(uint16_t generation, uint64_t lap) {
    return (uint64_t)(generation & CONTROL_GENERATION_MASK) << 52 | (lap & LAP_MASK) << COUNT_BITS;
}

static uint64_t tag_of_bucket(struct shape shape, uint16_t generation, uint64_t number) {
    return tag_of_lap(generation, number / shape.buckets);
}

static uint64_t count_under(uint64_t word, uint64_t tag) {
    return (word & TAG_MASK) == tag ? word & WINDOW_COUNT_MAX : 0;
}

/* True when the pace cannot be a time that anybody has seen. */
static bool pace_is_scribbled(struct shape shape, uint64_t pace, uint64_t now_us) {
    return pace > (now_us + SCRIBBLE_US) / shape.bucket_us;
}

static uint64_t number_at(const struct window *window, struct shape shape, uint64_t now_ns) {
    uint64_t now_us = now_ns / 1000;
    uint64_t number = now_us / shape.bucket_us;
    uint64_t pace = atomic64_load_acquire(&window->pace);
    return pace > number && !pace_is_scribbled(shape, pace, now_us) ? pace : number;
}

uint64_t window_bucket_number(const struct window *window, uint64_t now_ns) {
    struct shape shape = shape_of(window);
    return shape.buckets ? number_at(window, shape, now_ns) : 0;
}

bool window_is_idle(const struct window *window, uint64_t now_ns, uint64_t idle_ns) {
    struct shape shape = shape_of(window);
    uint64_t end_us = (atomic64_load_relaxed(&window->pace) + 1) * (uint64_t)shape.bucket_us;
    return !shape.buckets || end_us + idle_ns / 1000 <= now_ns / 1000;
}

bool window_covers(const struct window *window, uint64_t bucket, uint64_t now_ns) {
    struct shape shape = shape_of(window);
    if (!shape.buckets) {
        return false;
    }
    uint64_t number = number_at(window, shape, now_ns);
    return bucket <= number && number - bucket < shape.buckets;
}

enum step { STEP_DONE, STEP_AGAIN, STEP_LATE, STEP_FULL };

/* Adds one call to bucket `number`. A word with another tag is replaced only when, after it was read, the
 * generation and the newest bucket still are ours: whoever wrote a newer tag had read the newer pace (or
 * generation) before, so seeing his tag (acquire) we see it too; and if the word changes in between, the swap
 * fails. So a newer word is never evicted by a late writer, and what a swap drops is out of the window. */
static enum step add_call(struct window *window, const struct atomic64 *control, uint16_t generation,
                          struct atomic64 *word, uint64_t tag, uint64_t number) {
    uint64_t seen = atomic64_load_acquire(word); /* pairs with the swap of whoever wrote the tag */
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        uint64_t next = seen + 1;
        if ((seen & TAG_MASK) != tag) {
            if (control_generation(atomic64_load_acquire(control)) != generation) {
                return STEP_LATE;
            }
            if (atomic64_load_acquire(&window->pace) != number) {
                return STEP_AGAIN;
            }
            next = tag | 1;
        } else if ((seen & WINDOW_COUNT_MAX) == WINDOW_COUNT_MAX) {
            return STEP_FULL;
        }
        if (atomic64_swap_acq_rel(word, &seen, next)) {
            return STEP_DONE;
        }
    }
    return STEP_LATE;
}

/* Adds one to `errors` or `slow` of a bucket whose call is counted. A word with another tag is stale as long
 * as `calls` bears ours: calls is always the first word of a bucket to get a new tag. True when this was the
 * tag's first count. */
static bool add_beside(struct atomic64 *word, const struct atomic64 *calls, uint64_t tag) {
    uint64_t seen = atomic64_load_acquire(word);
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        if ((seen & TAG_MASK) == tag) {
            if ((seen & WINDOW_COUNT_MAX) == WINDOW_COUNT_MAX ||
                atomic64_swap_acq_rel(word, &seen, seen + 1)) {
                return false;
            }
        } else {
            if ((atomic64_load_acquire(calls) & TAG_MASK) != tag) {
                return false; /* the bucket has been recycled, and this call with it */
            }
            if (atomic64_swap_acq_rel(word, &seen, tag | 1)) {
                return true;
            }
        }
    }
    return false;
}

static void add_reason(struct window_bucket *bucket, enum failure_reason reason, bool first) {
    if (first) {
        for (unsigned i = 0; i < 3; i++) {
            atomic64_store_relaxed(&bucket->reasons[i], 0);
        }
    }
    unsigned index = (unsigned)reason - 1;
    if (index >= REASON_COUNT - 1) {
        return;
    }
    unsigned shift = index % REASONS_PER_WORD * REASON_BITS;
    struct atomic64 *word = &bucket->reasons[index / REASONS_PER_WORD];
    uint64_t seen = atomic64_load_relaxed(word);
    while ((seen >> shift & REASON_MAX) != REASON_MAX) {
        if (atomic64_swap_acq_rel(word, &seen, seen + (UINT64_C(1) << shift))) {
            return;
        }
    }
}

enum window_added window_add(struct window *window, const struct atomic64 *control, uint16_t generation,
                             uint64_t now_ns, enum failure_reason reason, bool slow) {
    struct shape shape = shape_of(window);
    if (!shape.buckets) {
        return WINDOW_LATE;
    }
    uint64_t now_us = now_ns / 1000;
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        uint64_t number = now_us / shape.bucket_us;
        uint64_t pace =
            atomic64_load_acquire(&window->pace); /* pairs with the swap below in another thread */
        if (pace > number) {
            if (pace_is_scribbled(shape, pace, now_us)) {
                return WINDOW_SCRIBBLED;
            }
            number = pace;
        } else if (pace < number && !atomic64_swap_acq_rel(&window->pace, &pace, number)) {
            continue;
        }
        struct window_bucket *bucket = &window->buckets[number % shape.buckets];
        uint64_t tag = tag_of_bucket(shape, generation, number);
        enum step step = add_call(window, control, generation, &bucket->calls, tag, number);
        if (step == STEP_AGAIN) {
            continue;
        }
        if (step != STEP_DONE) {
            return step == STEP_FULL ? WINDOW_SATURATED : WINDOW_LATE;
        }
        if (reason != REASON_NONE) {
            add_reason(bucket, reason, add_beside(&bucket->errors, &bucket->calls, tag));
        }
        if (slow) {
            add_beside(&bucket->slow, &bucket->calls, tag);
        }
        return WINDOW_ADDED;
    }
    return WINDOW_LATE;
}

static void sum_bucket(struct window_sums *sums, const struct window_bucket *bucket, uint64_t tag) {
    /* slow and errors first, calls last, each an acquire: a call that is in `errors` is in `calls` too. */
    uint64_t slow = count_under(atomic64_load_acquire(&bucket->slow), tag);
    uint64_t errors = count_under(atomic64_load_acquire(&bucket->errors), tag);
    uint64_t calls = count_under(atomic64_load_acquire(&bucket->calls), tag);
    if (errors > calls) {
        errors = calls; /* calls was recycled in between */
    }
    sums->calls += calls;
    sums->errors += errors;
    sums->slow += slow < calls ? slow : calls;
    if (errors == 0) {
        return;
    }
    for (unsigned reason = 1; reason < REASON_COUNT; reason++) {
        unsigned shift = (reason - 1) % REASONS_PER_WORD * REASON_BITS;
        uint64_t word = atomic64_load_relaxed(&bucket->reasons[(reason - 1) / REASONS_PER_WORD]);
        sums->reasons[reason] += (uint32_t)(word >> shift & REASON_MAX);
    }
}

struct window_sums window_sums(const struct window *window, uint16_t generation, uint64_t now_ns) {
    struct window_sums sums = {0};
    struct shape shape = shape_of(window);
    if (!shape.buckets) {
        return sums;
    }
    uint64_t number = number_at(window, shape, now_ns);
    uint64_t lap = number / shape.buckets, newest_slot = number % shape.buckets;
    for (uint64_t slot = 0; slot < shape.buckets; slot++) {
        /* Slots behind the newest one were last filled a lap ago. */
        bool this_lap = slot <= newest_slot;
        if (this_lap || lap > 0) {
            sum_bucket(&sums, &window->buckets[slot], tag_of_lap(generation, this_lap ? lap : lap - 1));
        }
    }
    return sums;
}
