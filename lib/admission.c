/* Leave to make one call: what a breaker in each state answers. */
#include "lib/breaker.h"
#include "lib/change.h"
#include "lib/control.h"
#include "lib/permit.h"

#define TURNS_MAX (1u << 16) /* see window.c */

/* No open time is longer than a day and its jitter, so a deadline further ahead is one that lies so far back
 * that its 42 bits have wrapped (or a scribble): it is due. */
#define DEADLINE_AHEAD_MAX_US (UINT64_C(2) * 24 * 3600 * 1000000)

#define SCRIBBLE_NS UINT64_C(1000000000)

uint64_t admission_left_us(uint64_t control, uint64_t now_ns) {
    uint64_t left = (control_deadline_us(control) - now_ns / 1000) & CONTROL_DEADLINE_MASK;
    return left > DEADLINE_AHEAD_MAX_US ? 0 : left;
}

bool admission_probe_overdue(uint64_t last_permit_ns, const struct thresholds *thresholds, uint64_t now_ns) {
    /* A time in the future is a scribble: due, or HALF_OPEN would be stuck. */
    return now_ns >= last_permit_ns + thresholds->probe_timeout_ns || last_permit_ns > now_ns + SCRIBBLE_NS;
}

/* Who asks, and for what. */
struct asker {
    enum breaker_ask ask;
    bool enforce;
    uint64_t holder;
    uint64_t now_ns;
};

static struct ticket ticket_of(uint16_t generation, uint8_t permit, enum standing standing) {
    struct ticket ticket = {generation, permit, (uint8_t)standing};
    return ticket;
}

static struct ticket refuse(struct breaker *breaker, bool enforce) {
    atomic64_add_relaxed(enforce ? &breaker->totals.rejected : &breaker->totals.would_reject, 1);
    return ticket_of(0, 0, enforce ? STANDING_REJECTED : STANDING_WOULD_REJECT);
}

/* --- HALF_OPEN --- */

/* When the last permit was given: never moved back by an older clock, unless it lies so far ahead that it is a
 * scribble. */
void admission_note_permit(struct breaker *breaker, uint64_t now_ns) {
    uint64_t last_ns = atomic64_load_relaxed(&breaker->last_permit_ns);
    if (now_ns > last_ns || last_ns > now_ns + SCRIBBLE_NS) {
        atomic64_store_relaxed(&breaker->last_permit_ns, now_ns);
    }
}

/* One turn in HALF_OPEN. True when the admission is decided; else *seen is to be looked at again. */
static bool admit_half_open(struct breaker *breaker, const struct thresholds *thresholds, struct asker asker,
                            uint64_t *seen, struct admission *admission) {
    uint16_t generation = control_generation(*seen);
    if (permit_any_free(breaker->permits, thresholds->probes, generation)) {
        /* Before the permit is taken, so that no one can find the permits out and the last of them given long ago. */
        admission_note_permit(breaker, asker.now_ns);
    }
    unsigned taken =
        permit_take(breaker->permits, thresholds->probes, &breaker->control, generation, asker.holder);
    if (taken != 0) {
        uint64_t now = atomic64_load_acquire(&breaker->control);
        if (now != *seen) {
            *seen = now; /* HALF_OPEN is over: the permit is void with its generation */
            return false;
        }
        admission->ticket = ticket_of(generation, (uint8_t)taken, STANDING_COUNTED);
        return true;
    }
    bool due =
        admission_probe_overdue(atomic64_load_relaxed(&breaker->last_permit_ns), thresholds, asker.now_ns);
    /* One admission reports one change: who has just opened HALF_OPEN leaves the next one to the next asker. */
    bool may_change = !admission->transition.happened;
    if (may_change && permit_all_passed(breaker->permits, thresholds->probes, generation, due)) {
        change_state(breaker, seen, change_to_closed, asker.now_ns, &admission->transition);
        return false;
    }
    if (may_change && due) {
        struct change change = change_to_open(breaker, thresholds, *seen, CAUSE_PROBE_TIMEOUT,
                                              control_connect_only(*seen), asker.now_ns);
        if (!change_state(breaker, seen, change, asker.now_ns, &admission->transition)) {
            return false;
        }
    }
    admission->ticket = refuse(breaker, asker.enforce);
    return true;
}

/* --- OPEN --- */

/* True when nobody has asked an OPEN or HALF_OPEN breaker for forget_after, counted from its deadline at the earliest. */
static bool is_forgotten(const struct breaker *breaker, const struct thresholds *thresholds, uint64_t control,
                         uint64_t now_ns) {
    uint64_t asked_ns = atomic64_load_relaxed(&breaker->asked_ns);
    if (thresholds->forget_after_ns == 0 || now_ns < asked_ns ||
        now_ns - asked_ns < thresholds->forget_after_ns) {
        return false;
    }
    if (control_state(control) == STATE_HALF_OPEN) {
        return true;
    }
    uint64_t past_us = (now_ns / 1000 - control_deadline_us(control)) & CONTROL_DEADLINE_MASK;
    return admission_left_us(control, now_ns) == 0 && past_us >= thresholds->forget_after_ns / 1000;
}

/* One turn in OPEN or HALF_OPEN; returns as admit_half_open does. */
static bool admit_unclosed(struct breaker *breaker, const struct thresholds *thresholds, struct asker asker,
                           uint64_t *seen, struct admission *admission) {
    if (is_forgotten(breaker, thresholds, *seen, asker.now_ns)) {
        struct change change = {STATE_CLOSED, CAUSE_FORGOTTEN, false, 0, 0};
        atomic64_store_relaxed(&breaker->admitted_ns, 0);
        change_state(breaker, seen, change, asker.now_ns, &admission->transition);
        return false;
    }
    if (asker.ask == ASK_REQUEST && (control_connect_only(*seen) || thresholds->gate == GATE_CONNECT)) {
        admission->ticket = ticket_of(0, 0, STANDING_PASSED); /* the door is shut, the guests stay */
        return true;
    }
    atomic64_store_relaxed(&breaker->asked_ns, asker.now_ns);
    if (control_state(*seen) == STATE_HALF_OPEN) {
        return admit_half_open(breaker, thresholds, asker, seen, admission);
    }
    if (admission_left_us(*seen, asker.now_ns) > 0) {
        admission->ticket = refuse(breaker, asker.enforce);
        return true;
    }
    struct change change = {STATE_HALF_OPEN, CAUSE_OPEN_FOR, control_connect_only(*seen),
                            control_opens(*seen), 0};
    change_state(breaker, seen, change, asker.now_ns, &admission->transition);
    return false;
}

/* --- all states --- */

/* A warm-up begins with the first admission, and with the first after a gap as long as itself. */
static void note_admitted(struct breaker *breaker, const struct thresholds *thresholds, uint64_t now_ns) {
    if (thresholds->warmup_ns == 0) {
        return;
    }
    uint64_t last = atomic64_load_relaxed(&breaker->admitted_ns);
    if (last == 0 || (now_ns + 1 > last && now_ns + 1 - last >= thresholds->warmup_ns)) {
        atomic64_store_relaxed(&breaker->warm_ns, now_ns + 1);
    }
    atomic64_store_relaxed(&breaker->admitted_ns, now_ns + 1);
}

static void decide(struct breaker *breaker, const struct thresholds *thresholds, struct asker asker,
                   struct admission *admission) {
    uint64_t seen = atomic64_load_acquire(&breaker->control);
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        switch (control_state(seen)) {
        case STATE_CLOSED:
            verdict_of_overdue(breaker, thresholds, seen, asker.now_ns, &admission->transition);
            admission->ticket = ticket_of(control_generation(seen), 0, STANDING_COUNTED);
            return;
        case STATE_OPEN:
        case STATE_HALF_OPEN:
            if (admit_unclosed(breaker, thresholds, asker, &seen, admission)) {
                return;
            }
            break;
        case STATE_FORCED_OPEN:
            admission->ticket = asker.ask == ASK_REQUEST && thresholds->gate == GATE_CONNECT
                                    ? ticket_of(0, 0, STANDING_PASSED)
                                    : refuse(breaker, asker.enforce);
            return;
        case STATE_DISABLED:
            admission->ticket = ticket_of(control_generation(seen), 0, STANDING_COUNTED);
            return;
        default:
            turn = TURNS_MAX; /* a state that does not exist shuts nobody out */
        }
    }
    admission->ticket = ticket_of(0, 0, STANDING_PASSED);
}

/* Counts the call as outstanding, or rejects it where there are too many. */
static void take_off(struct breaker *breaker, const struct thresholds *thresholds, struct asker asker,
                     struct ticket *ticket) {
    if (thresholds->max_in_flight == 0) {
        return;
    }
    if (atomic64_add_relaxed(&breaker->in_flight, 1) < thresholds->max_in_flight) {
        return;
    }
    if (ticket->standing == STANDING_WOULD_REJECT) {
        return;
    }
    struct ticket refused = refuse(breaker, asker.enforce);
    if (refused.standing == STANDING_REJECTED) {
        atomic64_add_relaxed(&breaker->totals.busy, 1);
        breaker_release(breaker, thresholds, *ticket);
    } else if (ticket->permit != 0) {
        breaker_release(breaker, thresholds, *ticket);
        atomic64_add_relaxed(&breaker->in_flight, 1);
    }
    *ticket = refused;
}

struct admission breaker_admit(struct breaker *breaker, const struct thresholds *thresholds,
                               enum breaker_ask ask, bool enforce, uint64_t holder, uint64_t now_ns) {
    struct admission admission = {0};
    struct asker asker = {ask, enforce, holder, now_ns};
    decide(breaker, thresholds, asker, &admission);
    if (admission.ticket.standing != STANDING_REJECTED) {
        take_off(breaker, thresholds, asker, &admission.ticket);
    }
    if (admission.ticket.standing == STANDING_COUNTED) {
        note_admitted(breaker, thresholds, now_ns);
    }
    return admission;
}
