#include "lib/breaker.h"

#include "lib/change.h"
#include "lib/control.h"
#include "lib/permit.h"

#include <string.h>

/* See TURNS_MAX in window.c: only a panel that is being scribbled over makes a loop this long. */
#define TURNS_MAX (1u << 16)

/* --- changes of state --- */

/* Changes state, generation and deadline in one swap. False when *seen was not current any more (it is then).
 */
bool change_state(struct breaker *breaker, uint64_t *seen, struct change change, uint64_t now_ns,
                  struct transition *transition) {
    uint64_t was = *seen;
    uint64_t deadline_us = change.to == STATE_OPEN ? (now_ns + change.open_ns + 999) / 1000 : 0;
    uint64_t next = control_make(change.to, change.connect_only, change.opens,
                                 (uint16_t)(control_generation(was) + 1), deadline_us);
    if (change.to == STATE_HALF_OPEN) {
        /* Before the swap, so that no one can find the permits out and the last of them given long ago. */
        admission_note_permit(breaker, now_ns);
        permit_forget(breaker->permits, &breaker->control, was);
    }
    if (!atomic64_swap_acq_rel(&breaker->control, seen, next)) {
        return false;
    }
    *seen = next;
    atomic64_store_relaxed(&breaker->since_ns, now_ns);
    if (change.to == STATE_OPEN) {
        atomic64_add_relaxed(&breaker->totals.opened, 1);
        atomic64_store_relaxed(&breaker->asked_ns, now_ns);
    } else if (change.to == STATE_CLOSED) {
        atomic64_store_relaxed(&breaker->warm_ns, now_ns + 1);
    }
    transition->happened = true;
    transition->connect_only = change.connect_only;
    transition->from = (enum breaker_state)control_state(was);
    transition->to = change.to;
    transition->cause = change.cause;
    transition->retry_ns = change.to == STATE_OPEN ? change.open_ns : 0;
    transition->at_ns = now_ns;
    return true;
}

/* 64 well-mixed bits (the finalizer of splitmix64, Steele, Lea and Flood 2014). */
static uint64_t mixed(uint64_t bits) {
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* How long the n-th OPEN in a row lasts, without jitter. */
static uint64_t open_time_ns(const struct thresholds *thresholds, unsigned n) {
    uint64_t open_ns = thresholds->open_for_ns;
    uint64_t max_ns = thresholds->open_max_ns ? thresholds->open_max_ns : UINT64_MAX / 1000;
    if (thresholds->open_backoff > 100) {
        for (unsigned i = 1; i < n && open_ns < max_ns; i++) {
            open_ns =
                open_ns / 100 * thresholds->open_backoff + open_ns % 100 * thresholds->open_backoff / 100;
        }
    }
    return open_ns < max_ns ? open_ns : max_ns;
}

struct change change_to_open(const struct breaker *breaker, const struct thresholds *thresholds,
                             uint64_t control, enum breaker_cause cause, bool connect_only, uint64_t now_ns) {
    unsigned opens = control_state(control) == STATE_CLOSED ? 0 : control_opens(control);
    opens = opens < CONTROL_OPENS_MAX ? opens + 1 : opens;
    uint64_t open_ns = open_time_ns(thresholds, opens);
    if (thresholds->open_jitter != 0) {
        uint64_t drawn = mixed(thresholds->seed ^ now_ns ^ mixed(control ^ breaker->rule_key) ^
                               endpoint_hash(&breaker->endpoint, 0));
        open_ns += open_ns / 10000 * (drawn % ((uint64_t)thresholds->open_jitter + 1));
    }
    struct change change = {STATE_OPEN, cause, connect_only, opens, open_ns};
    return change;
}

const struct change change_to_closed = {STATE_CLOSED, CAUSE_PROBES_PASSED, false, 0, 0};

struct transition breaker_force(struct breaker *breaker, enum breaker_state state, uint64_t now_ns) {
    struct transition transition = {0};
    uint64_t seen = atomic64_load_acquire(&breaker->control);
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        bool forced = control_state(seen) == STATE_FORCED_OPEN || control_state(seen) == STATE_DISABLED;
        bool lifts = state == STATE_CLOSED;
        if (control_state(seen) == state || (lifts && !forced)) {
            break;
        }
        struct change change = {state, CAUSE_OPERATOR, false, 0, 0};
        if (change_state(breaker, &seen, change, now_ns, &transition)) {
            break;
        }
    }
    return transition;
}

struct transition breaker_reset(struct breaker *breaker, uint64_t now_ns) {
    static const struct change anew = {STATE_CLOSED, CAUSE_OPERATOR, false, 0, 0};
    struct transition transition = {0};
    uint64_t seen = atomic64_load_acquire(&breaker->control);
    for (unsigned turn = 0; turn < TURNS_MAX && !change_state(breaker, &seen, anew, now_ns, &transition);
         turn++) {
    }
    return transition;
}

void breaker_adopt(struct breaker *breaker, const struct thresholds *thresholds) {
    bool judged = thresholds->slow_written && thresholds->slow_ratio != 0;
    atomic64_store_relaxed(&breaker->slow_call_us, judged ? thresholds->slow_call_ns / 1000 : 0);
    uint64_t shape = window_shape(thresholds->window_ms, thresholds->buckets);
    uint64_t old = atomic64_load_acquire(&breaker->window.shape);
    if (old == shape) {
        return;
    }
    if (old != 0) {
        atomic64_store_relaxed(&breaker->window.pace, 0);
    }
    /* The shape first, the generation after it: who counts in the new generation has seen the new shape. */
    if (!atomic64_swap_acq_rel(&breaker->window.shape, &old, shape) || old == 0) {
        return;
    }
    uint64_t seen = atomic64_load_acquire(&breaker->control);
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        uint64_t next = control_make(control_state(seen), control_connect_only(seen), control_opens(seen),
                                     (uint16_t)(control_generation(seen) + 1), control_deadline_us(seen));
        if (atomic64_swap_acq_rel(&breaker->control, &seen, next)) {
            return;
        }
    }
}

/* --- permits --- */

/* One call fewer outstanding. Never below zero: the number is recounted now and then (see in_flight). */
void breaker_landed(struct breaker *breaker, const struct thresholds *thresholds) {
    if (thresholds->max_in_flight == 0) {
        return;
    }
    uint64_t seen = atomic64_load_relaxed(&breaker->in_flight);
    while (seen != 0 && !atomic64_swap_acq_rel(&breaker->in_flight, &seen, seen - 1)) {
    }
}

void breaker_release(struct breaker *breaker, const struct thresholds *thresholds, struct ticket ticket) {
    if (ticket.standing == STANDING_NONE || ticket.standing == STANDING_REJECTED) {
        return;
    }
    breaker_landed(breaker, thresholds);
    if (ticket.standing == STANDING_COUNTED && ticket.permit != 0) {
        permit_give_back(breaker->permits, ticket.permit, ticket.generation);
    }
}

void breaker_call_answered(struct breaker *breaker, const struct thresholds *thresholds,
                           struct ticket ticket) {
    breaker_landed(breaker, thresholds);
    if (ticket.standing == STANDING_COUNTED && ticket.permit != 0) {
        permit_answered(breaker->permits, ticket.permit, ticket.generation);
    }
}

enum breaker_permits breaker_permits(const struct breaker *breaker, const struct thresholds *thresholds,
                                     uint64_t now_ns) {
    uint64_t control = atomic64_load_acquire(&breaker->control);
    if (control_state(control) != STATE_HALF_OPEN ||
        permit_any_free(breaker->permits, thresholds->probes, control_generation(control))) {
        return PERMITS_LEFT;
    }
    uint64_t last_permit_ns = atomic64_load_relaxed(&breaker->last_permit_ns);
    return admission_probe_overdue(last_permit_ns, thresholds, now_ns) ? PERMITS_DUE : PERMITS_OUT;
}

uint64_t breaker_permit_holder(const struct breaker *breaker, unsigned index, uint64_t *word) {
    uint64_t control = atomic64_load_acquire(&breaker->control);
    if (control_state(control) != STATE_HALF_OPEN || index >= PROBES_MAX) {
        return 0;
    }
    return permit_holder(&breaker->permits[index], control_generation(control), word);
}

bool breaker_free_permit(struct breaker *breaker, unsigned index, uint64_t word) {
    return index < PROBES_MAX && permit_free(&breaker->permits[index], word);
}

/* --- what people see --- */

void breaker_wipe(struct breaker *breaker) {
    uint64_t control = atomic64_load_relaxed(&breaker->control);
    uint16_t generation = (uint16_t)(control_generation(control) + 1);
    atomic64_store_release(&breaker->control, control_make(STATE_CLOSED, false, 0, generation, 0));
    struct atomic64 *const words[] = {
        &breaker->row,           &breaker->past_connect, &breaker->since_ns,     &breaker->last_permit_ns,
        &breaker->overdue,       &breaker->in_flight,    &breaker->asked_ns,     &breaker->admitted_ns,
        &breaker->warm_ns,       &breaker->exempt,       &breaker->override,     &breaker->capped_ns,
        &breaker->answered,      &breaker->rule_ref,     &breaker->slow_call_us, &breaker->holders_asked_ns,
        &breaker->protocol_seen, &breaker->window.shape, &breaker->window.pace};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        atomic64_store_relaxed(words[i], 0);
    }
    memset(&breaker->totals, 0, sizeof breaker->totals);
    memset(&breaker->histogram, 0, sizeof breaker->histogram);
    memset(breaker->name, 0, sizeof breaker->name);
}

bool breaker_is_forced(const struct breaker *breaker) {
    unsigned state = control_state(atomic64_load_relaxed(&breaker->control));
    return state == STATE_FORCED_OPEN || state == STATE_DISABLED;
}

bool breaker_is_shut(const struct breaker *breaker) {
    unsigned state = control_state(atomic64_load_relaxed(&breaker->control));
    return state == STATE_OPEN || state == STATE_HALF_OPEN;
}

struct breaker_view breaker_view(const struct breaker *breaker, uint64_t now_ns) {
    uint64_t control = atomic64_load_acquire(&breaker->control);
    struct breaker_view view = {0};
    view.state =
        control_state(control) <= STATE_DISABLED ? (enum breaker_state)control_state(control) : STATE_CLOSED;
    view.connect_only = control_connect_only(control);
    view.generation = control_generation(control);
    view.since_ns = atomic64_load_relaxed(&breaker->since_ns);
    uint64_t shown_ns = now_ns;
    uint16_t generation = view.generation;
    if (view.state == STATE_OPEN) {
        view.retry_ns = admission_left_us(control, now_ns) * 1000;
        if (control_opens(control) == 1) {
            /* What it tripped on: nothing has been counted since, so those words still stand. */
            generation = (uint16_t)((generation - 1) & CONTROL_GENERATION_MASK);
            shown_ns = view.since_ns;
        }
    }
    view.sums = window_sums(&breaker->window, generation, shown_ns);
    view.sums.overdue = verdict_overdue(breaker, generation);
    return view;
}

const char *breaker_state_name(enum breaker_state state) {
    static const char *const names[] = {"closed", "open", "half_open", "forced_open", "disabled"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

const char *breaker_cause_name(enum breaker_cause cause) {
    static const char *const names[] = {"none",       "consecutive_errors", "error_ratio",   "error_count",
                                        "slow_ratio", "open_for",           "probes_passed", "probe_failed",
                                        "probe_slow", "probe_timeout",      "forgotten",     "capped",
                                        "operator"};
    return (unsigned)cause < sizeof names / sizeof *names ? names[cause] : "unknown";
}
