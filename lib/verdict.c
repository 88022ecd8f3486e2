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

/* --- slow and overdue --- */

#define OVERDUE_BITS 26
#define OVERDUE_MASK ((UINT64_C(1) << OVERDUE_BITS) - 1)

void breaker_note_overdue(struct breaker *breaker, uint16_t generation, uint32_t calls,
                          uint32_t past_connect) {
    uint64_t next = (uint64_t)(generation & CONTROL_GENERATION_MASK) << 52 |
                    (past_connect & OVERDUE_MASK) << OVERDUE_BITS | (calls & OVERDUE_MASK);
    atomic64_store_release(&breaker->overdue, calls != 0 ? next : 0);
}

/* Calls overdue in that generation; *past of them are past their connect. */
static uint64_t overdue_in(const struct breaker *breaker, uint16_t generation, uint64_t *past) {
    uint64_t word = atomic64_load_acquire(&breaker->overdue);
    bool current = word >> 52 == generation;
    *past = current ? word >> OVERDUE_BITS & OVERDUE_MASK : 0;
    return current ? word & OVERDUE_MASK : 0;
}

uint64_t verdict_overdue(const struct breaker *breaker, uint16_t generation) {
    uint64_t past;
    return overdue_in(breaker, generation, &past);
}

/* A call that the last count of overdue ones has is over: from now on it is an ended one. */
static void overdue_ended(struct breaker *breaker, uint16_t generation, bool past) {
    uint64_t seen = atomic64_load_acquire(&breaker->overdue);
    while (seen >> 52 == generation && (seen & OVERDUE_MASK) != 0) {
        bool counted_past = past && (seen >> OVERDUE_BITS & OVERDUE_MASK) != 0;
        uint64_t next = seen - 1 - (counted_past ? UINT64_C(1) << OVERDUE_BITS : 0);
        if (atomic64_swap_acq_rel(&breaker->overdue, &seen, next)) {
            return;
        }
    }
}

bool verdict_judges_slow(const struct breaker *breaker, const struct thresholds *thresholds,
                         uint64_t now_ns) {
    if (!thresholds->slow_written || atomic64_load_relaxed(&breaker->exempt) != 0) {
        return false;
    }
    uint64_t warm_ns = atomic64_load_relaxed(&breaker->warm_ns);
    return thresholds->warmup_ns == 0 || warm_ns == 0 || now_ns + 1 >= warm_ns + thresholds->warmup_ns;
}

/* --- the verdict --- */

struct verdict {
    enum breaker_cause cause; /* CAUSE_NONE: stay CLOSED */
    uint32_t value;
    uint32_t threshold;
    bool by_overdue; /* it rests on calls that are still outstanding */
};

static uint32_t ratio_of(uint64_t part, uint64_t calls) {
    return calls ? (uint32_t)(part * 10000 / calls) : 0;
}

/* row is the length of the row that this result raised or met, 0 for a success. */
static struct verdict judge_errors(const struct thresholds *thresholds, const struct window_sums *sums,
                                   unsigned row) {
    struct verdict verdict = {CAUSE_NONE, 0, 0, false};
    bool enough = sums->calls >= thresholds->min_calls;
    if (thresholds->consecutive_errors != 0 && row >= thresholds->consecutive_errors &&
        (!enough || thresholds->error_ratio == 0)) {
        verdict = (struct verdict){CAUSE_CONSECUTIVE_ERRORS, row, thresholds->consecutive_errors, false};
    } else if (enough && thresholds->error_ratio != 0 &&
               sums->errors * 10000 >= thresholds->error_ratio * sums->calls) {
        verdict = (struct verdict){CAUSE_ERROR_RATIO, ratio_of(sums->errors, sums->calls),
                                   thresholds->error_ratio, false};
    } else if (enough && thresholds->error_count != 0 && sums->errors >= thresholds->error_count) {
        verdict = (struct verdict){CAUSE_ERROR_COUNT, (uint32_t)sums->errors, thresholds->error_count, false};
    }
    return verdict;
}

static bool is_slow_enough(const struct thresholds *thresholds, uint64_t calls, uint64_t slow) {
    return calls >= thresholds->min_calls && slow > 0 && slow >= thresholds->min_slow_calls &&
           slow * 10000 >= thresholds->slow_ratio * calls;
}

/* Only where slow calls are judged now. */
static struct verdict judge_slow(const struct thresholds *thresholds, const struct window_sums *sums) {
    struct verdict verdict = {CAUSE_NONE, 0, 0, false};
    uint64_t calls = sums->calls + sums->overdue;
    uint64_t slow = sums->slow + sums->overdue;
    if (thresholds->slow_ratio != 0 && is_slow_enough(thresholds, calls, slow)) {
        verdict =
            (struct verdict){CAUSE_SLOW_RATIO, ratio_of(slow, calls), thresholds->slow_ratio,
                             sums->overdue != 0 && !is_slow_enough(thresholds, sums->calls, sums->slow)};
    }
    return verdict;
}

/* Trips the breaker, or leaves the trip to its caller where something has to be made sure of first. */
static void trip_or_leave(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                          struct verdict verdict, const struct window_sums *sums, uint64_t now_ns,
                          struct transition *transition) {
    transition->sums = *sums;
    transition->value = verdict.value;
    transition->threshold = verdict.threshold;
    transition->generation = control_generation(control);
    if (verdict.by_overdue || (thresholds->max_open != 0 && thresholds->max_open < 10000)) {
        transition->pending = true;
        transition->needs_living = verdict.by_overdue;
        transition->needs_share = thresholds->max_open != 0 && thresholds->max_open < 10000;
        transition->cause = verdict.cause;
        transition->at_ns = now_ns;
        return;
    }
    uint64_t past = 0;
    overdue_in(breaker, control_generation(control), &past);
    bool connect_only = past == 0 && all_in_connect(breaker, control_generation(control), now_ns);
    struct change change = change_to_open(breaker, thresholds, control, verdict.cause, connect_only, now_ns);
    /* Fails when another result has just tripped it: then that one reports. */
    if (!change_state(breaker, &control, change, now_ns, transition)) {
        *transition = (struct transition){0};
    }
}

void verdict_of_overdue(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                        uint64_t now_ns, struct transition *transition) {
    uint64_t past;
    uint16_t generation = control_generation(control);
    if (atomic64_load_relaxed(&breaker->overdue) == 0 || overdue_in(breaker, generation, &past) == 0 ||
        !verdict_judges_slow(breaker, thresholds, now_ns)) {
        return;
    }
    struct window_sums sums = window_sums(&breaker->window, generation, now_ns);
    sums.overdue = overdue_in(breaker, generation, &past);
    struct verdict verdict = judge_slow(thresholds, &sums);
    if (verdict.cause != CAUSE_NONE) {
        verdict.by_overdue = true; /* always left to the caller: the call that asks is not made first */
        trip_or_leave(breaker, thresholds, control, verdict, &sums, now_ns, transition);
    }
}

struct transition breaker_trip(struct breaker *breaker, const struct thresholds *thresholds,
                               const struct transition *pending, uint64_t now_ns) {
    struct transition transition = {0};
    uint64_t control = atomic64_load_acquire(&breaker->control);
    uint16_t generation = control_generation(control);
    if (!pending->pending || control_state(control) != STATE_CLOSED || generation != pending->generation) {
        return transition;
    }
    uint64_t past;
    struct window_sums sums = pending->sums;
    struct verdict verdict = {pending->cause, pending->value, pending->threshold, false};
    uint64_t overdue = overdue_in(breaker, generation, &past);
    if (pending->cause == CAUSE_SLOW_RATIO) {
        sums.overdue = overdue;
        verdict = judge_slow(thresholds, &sums);
    }
    if (verdict.cause == CAUSE_NONE) {
        return transition;
    }
    transition.sums = sums;
    transition.value = verdict.value;
    transition.threshold = verdict.threshold;
    bool connect_only = past == 0 && all_in_connect(breaker, generation, now_ns);
    struct change change = change_to_open(breaker, thresholds, control, verdict.cause, connect_only, now_ns);
    if (!change_state(breaker, &control, change, now_ns, &transition)) {
        transition = (struct transition){0};
    }
    return transition;
}

struct transition breaker_capped(struct breaker *breaker, const struct thresholds *thresholds,
                                 const struct transition *pending, uint64_t now_ns) {
    struct transition transition = *pending;
    uint64_t seen = atomic64_load_relaxed(&breaker->capped_ns);
    bool recent = seen != 0 && now_ns + 1 >= seen && now_ns + 1 - seen < thresholds->open_for_ns;
    transition.pending = false;
    if (recent || !atomic64_swap_acq_rel(&breaker->capped_ns, &seen, now_ns + 1)) {
        return transition;
    }
    transition.happened = true;
    transition.from = transition.to = STATE_CLOSED;
    transition.cause = CAUSE_CAPPED;
    transition.sums = (struct window_sums){0}; /* only an event of a trip tells what it saw */
    return transition;
}

/* --- results --- */

static void finish_closed(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                          const struct call_end *end, bool slow, uint64_t now_ns,
                          struct transition *transition) {
    uint16_t generation = control_generation(control);
    bool failed = end->outcome == OUTCOME_FAILURE;
    bool slow_past = slow && thresholds->slow_written && end->exchange_ns > thresholds->slow_call_ns;
    if ((failed && end->past_connect) || slow_past) {
        note_past_connect(breaker, generation, now_ns); /* before it is counted: who trips on it sees it */
    }
    if (end->was_overdue) {
        overdue_ended(breaker, generation, end->overdue_past);
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
    if (control_state(control) == STATE_DISABLED) {
        return; /* counted and not judged */
    }
    uint64_t past;
    struct window_sums sums = window_sums(&breaker->window, generation, now_ns);
    sums.overdue = overdue_in(breaker, generation, &past);
    struct verdict verdict = judge_errors(thresholds, &sums, row);
    if (verdict.cause == CAUSE_NONE && verdict_judges_slow(breaker, thresholds, now_ns)) {
        verdict = judge_slow(thresholds, &sums);
    }
    if (verdict.cause != CAUSE_NONE) {
        trip_or_leave(breaker, thresholds, control, verdict, &sums, now_ns, transition);
    }
}

static void finish_probe(struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                         struct ticket ticket, const struct call_end *end, bool slow, uint64_t now_ns,
                         struct transition *transition) {
    bool failed = end->outcome == OUTCOME_FAILURE;
    slow = slow && verdict_judges_slow(breaker, thresholds, now_ns);
    if (failed || slow) {
        bool past = (failed && end->past_connect) || (slow && end->exchange_ns > thresholds->slow_call_ns);
        struct change change =
            change_to_open(breaker, thresholds, control, failed ? CAUSE_PROBE_FAILED : CAUSE_PROBE_SLOW,
                           control_connect_only(control) && !past, now_ns);
        change_state(breaker, &control, change, now_ns, transition);
        return;
    }
    permit_pass(breaker->permits, ticket.permit, ticket.generation);
    if (permit_all_passed(breaker->permits, thresholds->probes, ticket.generation, false)) {
        change_state(breaker, &control, change_to_closed, now_ns, transition);
    }
}

static void count_totals(struct breaker *breaker, const struct call_end *end, bool slow) {
    struct breaker_totals *totals = &breaker->totals;
    atomic64_add_relaxed(&totals->calls, 1);
    histogram_add(&breaker->histogram, end->response_ns);
    if (slow) {
        atomic64_add_relaxed(&totals->slow, 1);
    }
    if (end->outcome == OUTCOME_FAILURE) {
        atomic64_add_relaxed(&totals->errors, 1);
        atomic64_add_relaxed(&totals->reasons[(unsigned)end->reason % REASON_COUNT], 1);
    }
}

/* An ignored call: as if it had never been made. */
static void give_back(struct breaker *breaker, const struct thresholds *thresholds, struct ticket ticket,
                      const struct call_end *end) {
    if (end->was_overdue) {
        overdue_ended(breaker, ticket.generation, end->overdue_past);
    }
    if (!end->answered) {
        breaker_landed(breaker, thresholds);
    }
    if (ticket.standing == STANDING_COUNTED && ticket.permit != 0) {
        permit_give_back(breaker->permits, ticket.permit, ticket.generation);
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
        give_back(breaker, thresholds, ticket, end);
        return transition;
    }
    if (!end->answered) {
        breaker_landed(breaker, thresholds);
    }
    bool slow = thresholds->slow_call_ns != 0 && end->response_ns > thresholds->slow_call_ns;
    count_totals(breaker, end, slow);
    uint64_t control = atomic64_load_acquire(&breaker->control);
    if (ticket.standing != STANDING_COUNTED || control_generation(control) != ticket.generation) {
        return transition;
    }
    bool counts = control_state(control) == STATE_CLOSED || control_state(control) == STATE_DISABLED;
    if (counts && ticket.permit == 0) {
        finish_closed(breaker, thresholds, control, end, slow, now_ns, &transition);
    } else if (control_state(control) == STATE_HALF_OPEN && ticket.permit != 0) {
        finish_probe(breaker, thresholds, control, ticket, end, slow, now_ns, &transition);
    }
    return transition;
}
