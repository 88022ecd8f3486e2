#include "lib/breaker.h"

#include "lib/change.h"
#include "lib/control.h"
#include "lib/permit.h"

/* See TURNS_MAX in window.c: only a panel that is being scribbled over makes a loop this long. */
#define TURNS_MAX (1u << 16)

/* No open time is longer than a day and its jitter, so a deadline further ahead is one that lies so far back
 * that its 42 bits have wrapped (or a scribble): it is due. */
#define DEADLINE_AHEAD_MAX_US (UINT64_C(2) * 24 * 3600 * 1000000)

#define SCRIBBLE_NS UINT64_C(1000000000)

static uint64_t deadline_left_us(uint64_t control, uint64_t now_ns) {
    uint64_t left = (control_deadline_us(control) - now_ns / 1000) & CONTROL_DEADLINE_MASK;
    return left > DEADLINE_AHEAD_MAX_US ? 0 : left;
}

static struct ticket ticket_of(uint16_t generation, uint8_t permit, enum standing standing) {
    struct ticket ticket = {generation, permit, (uint8_t)standing};
    return ticket;
}

/* When the last permit was given: never moved back by an older clock, unless it lies so far ahead that it is a
 * scribble. */
static void note_permit(struct breaker *breaker, uint64_t now_ns) {
    uint64_t last_ns = atomic64_load_relaxed(&breaker->last_permit_ns);
    if (now_ns > last_ns || last_ns > now_ns + SCRIBBLE_NS) {
        atomic64_store_relaxed(&breaker->last_permit_ns, now_ns);
    }
}

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
        note_permit(breaker, now_ns);
        permit_forget(breaker->permits, &breaker->control, was);
    }
    if (!atomic64_swap_acq_rel(&breaker->control, seen, next)) {
        return false;
    }
    *seen = next;
    atomic64_store_relaxed(&breaker->since_ns, now_ns);
    if (change.to == STATE_OPEN) {
        atomic64_add_relaxed(&breaker->totals.opened, 1);
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

struct change change_to_open(const struct thresholds *thresholds, uint64_t control, enum breaker_cause cause,
                             bool connect_only) {
    unsigned opens = control_state(control) == STATE_CLOSED ? 0 : control_opens(control);
    struct change change = {STATE_OPEN, cause, connect_only, opens < CONTROL_OPENS_MAX ? opens + 1 : opens,
                            thresholds->open_for_ns};
    return change;
}

const struct change change_to_closed = {STATE_CLOSED, CAUSE_PROBES_PASSED, false, 0, 0};

void breaker_adopt(struct breaker *breaker, const struct thresholds *thresholds) {
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

/* --- admission --- */

static struct ticket refuse(struct breaker *breaker, bool enforce) {
    atomic64_add_relaxed(enforce ? &breaker->totals.rejected : &breaker->totals.would_reject, 1);
    return ticket_of(0, 0, enforce ? STANDING_REJECTED : STANDING_WOULD_REJECT);
}

static bool is_probe_overdue(uint64_t last_permit_ns, const struct thresholds *thresholds, uint64_t now_ns) {
    /* A time in the future is a scribble: due, or HALF_OPEN would be stuck. */
    return now_ns >= last_permit_ns + thresholds->probe_timeout_ns || last_permit_ns > now_ns + SCRIBBLE_NS;
}

/* One turn in HALF_OPEN. True when the admission is decided; else *seen is to be looked at again. */
static bool admit_half_open(struct breaker *breaker, const struct thresholds *thresholds, bool enforce,
                            uint64_t holder, uint64_t now_ns, uint64_t *seen, struct admission *admission) {
    uint16_t generation = control_generation(*seen);
    /* Before the permit is taken, for the same reason as in change_state. Kept when none is free. */
    uint64_t last_permit_ns = atomic64_load_relaxed(&breaker->last_permit_ns);
    unsigned taken = permit_take(breaker->permits, thresholds->probes, &breaker->control, generation, holder);
    if (taken != 0) {
        note_permit(breaker, now_ns);
        uint64_t now = atomic64_load_acquire(&breaker->control);
        if (now != *seen) {
            *seen = now; /* HALF_OPEN is over: the permit is void with its generation */
            return false;
        }
        admission->ticket = ticket_of(generation, (uint8_t)taken, STANDING_COUNTED);
        return true;
    }
    bool due = is_probe_overdue(last_permit_ns, thresholds, now_ns);
    /* One admission reports one change: who has just opened HALF_OPEN leaves the next one to the next asker. */
    bool may_change = !admission->transition.happened;
    if (may_change && permit_all_passed(breaker->permits, thresholds->probes, generation, due)) {
        change_state(breaker, seen, change_to_closed, now_ns, &admission->transition);
        return false;
    }
    if (may_change && due) {
        bool connect_only = control_connect_only(*seen);
        struct change change = change_to_open(thresholds, *seen, CAUSE_PROBE_TIMEOUT, connect_only);
        if (!change_state(breaker, seen, change, now_ns, &admission->transition)) {
            return false;
        }
    }
    admission->ticket = refuse(breaker, enforce);
    return true;
}

struct admission breaker_admit(struct breaker *breaker, const struct thresholds *thresholds,
                               enum breaker_ask ask, bool enforce, uint64_t holder, uint64_t now_ns) {
    struct admission admission = {0};
    uint64_t seen = atomic64_load_acquire(&breaker->control);
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        unsigned state = control_state(seen);
        if (state == STATE_CLOSED) {
            admission.ticket = ticket_of(control_generation(seen), 0, STANDING_COUNTED);
            return admission;
        }
        if (state > STATE_HALF_OPEN ||
            (ask == ASK_REQUEST && (control_connect_only(seen) || thresholds->gate == GATE_CONNECT))) {
            break; /* the door is shut, the guests stay; a state that does not exist shuts nobody out */
        }
        if (state == STATE_OPEN) {
            if (deadline_left_us(seen, now_ns) > 0) {
                admission.ticket = refuse(breaker, enforce);
                return admission;
            }
            struct change change = {STATE_HALF_OPEN, CAUSE_OPEN_FOR, control_connect_only(seen),
                                    control_opens(seen), 0};
            change_state(breaker, &seen, change, now_ns, &admission.transition);
        } else if (admit_half_open(breaker, thresholds, enforce, holder, now_ns, &seen, &admission)) {
            return admission;
        }
    }
    admission.ticket = ticket_of(0, 0, STANDING_PASSED);
    return admission;
}

/* --- permits --- */

void breaker_release(struct breaker *breaker, struct ticket ticket) {
    if (ticket.standing == STANDING_COUNTED && ticket.permit != 0) {
        permit_give_back(breaker->permits, ticket.permit, ticket.generation);
    }
}

void breaker_probe_answered(struct breaker *breaker, struct ticket ticket) {
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
    return is_probe_overdue(last_permit_ns, thresholds, now_ns) ? PERMITS_DUE : PERMITS_OUT;
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

struct breaker_view breaker_view(const struct breaker *breaker, uint64_t now_ns) {
    uint64_t control = atomic64_load_acquire(&breaker->control);
    struct breaker_view view = {0};
    view.state =
        control_state(control) <= STATE_HALF_OPEN ? (enum breaker_state)control_state(control) : STATE_CLOSED;
    view.connect_only = control_connect_only(control);
    view.generation = control_generation(control);
    view.since_ns = atomic64_load_relaxed(&breaker->since_ns);
    uint64_t shown_ns = now_ns;
    uint16_t generation = view.generation;
    if (view.state == STATE_OPEN) {
        view.retry_ns = deadline_left_us(control, now_ns) * 1000;
        if (control_opens(control) == 1) {
            /* What it tripped on: nothing has been counted since, so those words still stand. */
            generation = (uint16_t)((generation - 1) & CONTROL_GENERATION_MASK);
            shown_ns = view.since_ns;
        }
    }
    view.sums = window_sums(&breaker->window, generation, shown_ns);
    return view;
}

const char *breaker_state_name(enum breaker_state state) {
    static const char *const names[] = {"closed", "open", "half_open"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

const char *breaker_cause_name(enum breaker_cause cause) {
    static const char *const names[] = {"none",         "consecutive_errors", "error_ratio",
                                        "slow_ratio",   "open_for",           "probes_passed",
                                        "probe_failed", "probe_slow",         "probe_timeout"};
    return (unsigned)cause < sizeof names / sizeof *names ? names[cause] : "unknown";
}
