/* What the end of a call changes: the second half of lib/breaker.h. */
#include "lib/breaker.h"
#include "lib/change.h"
#include "lib/control.h"
#include "lib/permit.h"

#define TURNS_MAX (1u << 16) /* see window.c */

/* Failures that began less than this after the call that last raised the row are one burst (semantics,
 * section 5). */
#define BURST_US UINT64_C(100000)

#define ROW_START_BITS 46
#define ROW_START_MASK ((UINT64_C(1) << ROW_START_BITS) - 1)
#define ROW_COUNT_MAX  1023u

#define PAST_NUMBER_BITS 52
#define PAST_NUMBER_MASK ((UINT64_C(1) << PAST_NUMBER_BITS) - 1)

/* True when the breaker has moved on from that generation. Asked after a word of another generation was read and before
 * it is replaced: whoever wrote a newer one had seen the newer control before, so seeing his word (acquire) we see it
 * too; and if the word changes in between, the swap fails. So a call that was held up spoils nothing of a later era. */
static bool is_over(const struct breaker *breaker, uint16_t generation) {
    return control_generation(atomic64_load_acquire(&breaker->control)) != generation;
}

/* Raises the row of failures; returns its length. */
static unsigned row_raise(struct breaker *breaker, uint16_t generation, uint64_t started_ns) {
    uint64_t era = (uint64_t)(generation & 0xff) << 56;
    uint64_t start_us = started_ns / 1000 & ROW_START_MASK;
    uint64_t seen = atomic64_load_acquire(&breaker->row);
    unsigned length = 0;
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        length = seen >> 56 == era >> 56 ? (unsigned)(seen >> ROW_START_BITS & ROW_COUNT_MAX) : 0;
        if (length == 0 && is_over(breaker, generation)) {
            return 0;
        }
        if (length > 0) {
            uint64_t later_us = (start_us - seen) & ROW_START_MASK;
            if (later_us < BURST_US || later_us > ROW_START_MASK / 2 || length == ROW_COUNT_MAX) {
                return length;
            }
        }
        if (atomic64_swap_acq_rel(&breaker->row, &seen,
                                  era | (uint64_t)(length + 1) << ROW_START_BITS | start_us)) {
            return length + 1;
        }
    }
    return length;
}

/* A success ends the row, and one of an older generation whose number might come again. */
static void row_end(struct breaker *breaker, uint16_t generation) {
    uint64_t seen = atomic64_load_acquire(&breaker->row);
    while (seen != 0 && (seen >> 56 == (generation & 0xff) || !is_over(breaker, generation)) &&
           !atomic64_swap_acq_rel(&breaker->row, &seen, 0)) {
    }
}

unsigned breaker_row(const struct breaker *breaker) {
    uint64_t control = atomic64_load_acquire(&breaker->control);
    uint64_t row = atomic64_load_relaxed(&breaker->row);
    bool tripped = control_state(control) == STATE_OPEN && control_opens(control) == 1;
    unsigned era = (control_generation(control) - (tripped ? 1u : 0u)) & 0xff;
    return row >> 56 == era ? (unsigned)(row >> ROW_START_BITS & ROW_COUNT_MAX) : 0;
}

/* Remembers the newest bucket that holds a failed or slow call past its connect. */
static void note_past_connect(struct breaker *breaker, uint16_t generation, uint64_t now_ns) {
    uint64_t number = window_bucket_number(&breaker->window, now_ns);
    uint64_t next = (uint64_t)generation << PAST_NUMBER_BITS | ((number + 1) & PAST_NUMBER_MASK);
    uint64_t seen = atomic64_load_acquire(&breaker->past_connect);
    while (seen >> PAST_NUMBER_BITS != generation ? !is_over(breaker, generation) : seen < next) {
        if (atomic64_swap_acq_rel(&breaker->past_connect, &seen, next)) {
            return;
        }
    }
}

static bool all_in_connect(const struct breaker *breaker, uint16_t generation, uint64_t now_ns) {
    uint64_t past = atomic64_load_acquire(&breaker->past_connect);
    uint64_t number = past & PAST_NUMBER_MASK;
    return number == 0 || past >> PAST_NUMBER_BITS != generation ||
           !window_covers(&breaker->window, number - 1, now_ns);
}

struct verdict {
    enum breaker_cause cause; /* CAUSE_NONE: stay CLOSED */
    uint32_t value;
    uint32_t threshold;
};

static uint32_t ratio_of(uint64_t part, uint64_t calls) {
    return calls ? (uint32_t)(part * 10000 / calls) : 0;
}

/* row is the length of the row that this result raised or met, 0 for a success. */
static struct verdict judge(const struct thresholds *thresholds, const struct window_sums *sums,
                            unsigned row) {
    struct verdict verdict = {CAUSE_NONE, 0, 0};
    bool enough = sums->calls >= thresholds->min_calls;
    if (thresholds->consecutive_errors != 0 && row >= thresholds->consecutive_errors &&
        (!enough || thresholds->error_ratio == 0)) {
        verdict = (struct verdict){CAUSE_CONSECUTIVE_ERRORS, row, thresholds->consecutive_errors};
    } else if (enough && thresholds->error_ratio != 0 &&
               sums->errors * 10000 >= thresholds->error_ratio * sums->calls) {
        verdict =
            (struct verdict){CAUSE_ERROR_RATIO, ratio_of(sums->errors, sums->calls), thresholds->error_ratio};
    } else if (enough && thresholds->slow_written && thresholds->slow_ratio != 0 && sums->slow > 0 &&
               sums->slow >= thresholds->min_slow_calls &&
               sums->slow * 10000 >= thresholds->slow_ratio * sums->calls) {
        verdict =
            (struct verdict){CAUSE_SLOW_RATIO, ratio_of(sums->slow, sums->calls), thresholds->slow_ratio};
    }
    return verdict;
}

static void finish_closed(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                          const struct call_end *end, bool slow, uint64_t now_ns,
                          struct transition *transition) {
    uint16_t generation = control_generation(control);
    bool failed = end->outcome == OUTCOME_FAILURE;
    bool slow_past = slow && thresholds->slow_written && end->exchange_ns > thresholds->slow_call_ns;
    if ((failed && end->past_connect) || slow_past) {
        note_past_connect(breaker, generation, now_ns); /* before it is counted: who trips on it sees it */
    }
    unsigned row = 0;
    if (failed) {
        row = row_raise(breaker, generation, end->started_ns);
    } else {
        row_end(breaker, generation);
    }
    enum window_added added = window_add(&breaker->window, &breaker->control, generation, now_ns,
                                         failed ? end->reason : REASON_NONE, slow);
    if (added == WINDOW_SCRIBBLED) {
        /* The breaker starts anew: an empty window, and the pace of the clock. */
        atomic64_store_relaxed(&breaker->window.pace, 0);
        uint64_t next = control_make(STATE_CLOSED, false, 0, (uint16_t)(generation + 1), 0);
        atomic64_swap_acq_rel(&breaker->control, &control, next);
        return;
    }
    if (added == WINDOW_LATE) {
        return;
    }
    /* In a full bucket the ratios stay what they were; the row goes on. */
    struct window_sums sums = window_sums(&breaker->window, generation, now_ns);
    struct verdict verdict = judge(thresholds, &sums, row);
    if (verdict.cause == CAUSE_NONE) {
        return;
    }
    struct change change =
        change_to_open(thresholds, control, verdict.cause, all_in_connect(breaker, generation, now_ns));
    /* Fails when another result has just tripped it: then that one reports. */
    if (change_state(breaker, &control, change, now_ns, transition)) {
        transition->sums = sums;
        transition->value = verdict.value;
        transition->threshold = verdict.threshold;
    }
}

static void finish_probe(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                         struct ticket ticket, const struct call_end *end, bool slow, uint64_t now_ns,
                         struct transition *transition) {
    bool failed = end->outcome == OUTCOME_FAILURE;
    slow = slow && thresholds->slow_written; /* a threshold that no person wrote never trips */
    if (failed || slow) {
        bool past = (failed && end->past_connect) || (slow && end->exchange_ns > thresholds->slow_call_ns);
        struct change change =
            change_to_open(thresholds, control, failed ? CAUSE_PROBE_FAILED : CAUSE_PROBE_SLOW,
                           control_connect_only(control) && !past);
        change_state(breaker, &control, change, now_ns, transition);
        return;
    }
    permit_pass(breaker->permits, ticket.permit, ticket.generation);
    if (permit_all_passed(breaker->permits, thresholds->probes, ticket.generation, false)) {
        change_state(breaker, &control, change_to_closed, now_ns, transition);
    }
}

static void count_totals(struct breaker_totals *totals, const struct call_end *end, bool slow) {
    atomic64_add_relaxed(&totals->calls, 1);
    if (slow) {
        atomic64_add_relaxed(&totals->slow, 1);
    }
    if (end->outcome == OUTCOME_FAILURE) {
        atomic64_add_relaxed(&totals->errors, 1);
        atomic64_add_relaxed(&totals->reasons[(unsigned)end->reason % REASON_COUNT], 1);
    }
}

struct transition breaker_finish(struct breaker *breaker, const struct thresholds *thresholds,
                                 struct ticket ticket, const struct call_end *end, uint64_t now_ns) {
    struct transition transition = {0};
    if (ticket.standing == STANDING_NONE || ticket.standing == STANDING_REJECTED) {
        return transition;
    }
    uint64_t never = BREAKER_UNANSWERED;
    if (end->exchange && atomic64_load_relaxed(&breaker->answered) == never) {
        atomic64_swap_acq_rel(&breaker->answered, &never, BREAKER_ANSWERED);
    }
    if (end->outcome == OUTCOME_IGNORED) {
        atomic64_add_relaxed(&breaker->totals.ignored, 1);
        breaker_release(breaker, ticket);
        return transition;
    }
    bool slow = thresholds->slow_call_ns != 0 && end->response_ns > thresholds->slow_call_ns;
    count_totals(&breaker->totals, end, slow);
    uint64_t control = atomic64_load_acquire(&breaker->control);
    if (ticket.standing != STANDING_COUNTED || control_generation(control) != ticket.generation) {
        return transition;
    }
    if (control_state(control) == STATE_CLOSED && ticket.permit == 0) {
        finish_closed(breaker, thresholds, control, end, slow, now_ns, &transition);
    } else if (control_state(control) == STATE_HALF_OPEN && ticket.permit != 0) {
        finish_probe(breaker, thresholds, control, ticket, end, slow, now_ns, &transition);
    }
    return transition;
}
