/* The breaker at the end of a route: asked, told, and what it needs to know from outside before it trips. */
#include "lib/panel.h"
#include "shim/clock.h"
#include "shim/guest.h"
#include "shim/overdue.h"
#include "shim/route.h"

/* Permit holders are asked whether they live at most this often a breaker. */
#define ASK_HOLDERS_NS UINT64_C(100000000)
/* The share of a rule's destinations that are not CLOSED, once found to be at max_open, holds that long. */
#define SHARE_NS UINT64_C(100000000)

static uint32_t index_in(const struct route *route) {
    return route_breaker_in(route->place);
}

static void note_transition(const struct route *route, const struct transition *transition) {
    if (!transition->happened) {
        return;
    }
    struct event event = event_of_transition(transition, index_in(route), route->thresholds->window_ms);
    event.unix_ns = clock_unix_ns();
    event.pid = (uint32_t)atomic64_load_relaxed(guest_pid);
    journal_append(&guest.attachment.panel->journal, &event);
}

/* True when the holders of a breaker's permits and places have not been asked for a while: the caller asks now. */
static bool may_ask(struct breaker *breaker, uint64_t now_ns) {
    uint64_t asked_ns = atomic64_load_relaxed(&breaker->holders_asked_ns);
    bool recent = now_ns >= asked_ns && now_ns - asked_ns < ASK_HOLDERS_NS;
    return !recent && atomic64_swap_acq_rel(&breaker->holders_asked_ns, &asked_ns, now_ns);
}

/* Gives out again the permits of processes that are gone, before the breaker answers: asked at most every
 * ASK_HOLDERS_NS, and always when the breaker would open again for want of an answer. */
static void free_permits_of_the_dead(const struct route *route, uint64_t now_ns) {
    struct breaker *breaker = route->breaker;
    enum breaker_permits permits = breaker_permits(breaker, route->thresholds, now_ns);
    if (permits == PERMITS_LEFT || guest_is_sandboxed()) {
        return;
    }
    if (permits == PERMITS_OUT && !may_ask(breaker, now_ns)) {
        return;
    }
    for (unsigned i = 0; i < route->thresholds->probes && i < PROBES_MAX; i++) {
        uint64_t word;
        uint64_t holder = breaker_permit_holder(breaker, i, &word);
        if (holder != 0 && !panel_holder_lives(&guest.attachment, holder)) {
            breaker_free_permit(breaker, i, word);
        }
    }
}

/* --- what a pending trip needs --- */

/* True when one more of the rule's destinations may open: max_open of those known, at least one. Looks at every breaker
 * of the panel, so only where a trip depends on it. */
static bool may_open(const struct route *route) {
    struct panel *panel = guest.attachment.panel;
    uint32_t used = panel_breakers_used(panel);
    uint64_t known = 0, not_closed = 0;
    for (uint32_t i = 0; i < used; i++) {
        const struct breaker *breaker = panel_breaker(panel, i);
        if (breaker != NULL && breaker->rule_key == route->breaker->rule_key) {
            known++;
            not_closed += breaker_is_shut(breaker);
        }
    }
    uint64_t most = known * route->thresholds->max_open / 10000;
    return not_closed < (most > 0 ? most : 1);
}

/* The rule last found to be at its limit, and when: a hint of this process. */
static struct atomic64 limited_rule, limited_ns;

static bool was_at_limit(const struct route *route, uint64_t now_ns) {
    uint64_t found_ns = atomic64_load_relaxed(&limited_ns);
    return atomic64_load_relaxed(&limited_rule) == route->breaker->rule_key && now_ns >= found_ns &&
           now_ns - found_ns < SHARE_NS;
}

static void note_at_limit(const struct route *route, uint64_t now_ns) {
    if (!was_at_limit(route, now_ns)) {
        atomic64_store_relaxed(&limited_rule, route->breaker->rule_key);
        atomic64_store_relaxed(&limited_ns, now_ns);
    }
}

/* Makes a pending trip, or not; true when it was made. */
static bool decide_pending(const struct route *route, const struct transition *pending, uint64_t now_ns) {
    if (pending->needs_living) {
        overdue_count_living(route, now_ns);
    }
    struct transition transition;
    if (pending->needs_share) {
        if (was_at_limit(route, now_ns) || !may_open(route)) {
            note_at_limit(route, now_ns);
            transition = breaker_capped(route->breaker, route->thresholds, pending, now_ns);
            note_transition(route, &transition);
            return false;
        }
    }
    transition = breaker_trip(route->breaker, route->thresholds, pending, now_ns);
    note_transition(route, &transition);
    return transition.happened;
}

/* --- asking and telling --- */

/* What the breaker cannot know by itself: the time of day, and who hangs. */
static void prepare(const struct route *route, uint64_t now_ns) {
    const struct thresholds *thresholds = route->thresholds;
    if (thresholds->exempt_spans != 0) {
        uint64_t exempt = thresholds_exempt(thresholds, clock_unix_ns() / UINT64_C(1000000000));
        if (atomic64_load_relaxed(&route->breaker->exempt) != exempt) {
            atomic64_store_relaxed(&route->breaker->exempt, exempt);
        }
    }
    overdue_count(thresholds, now_ns);
}

/* Puts an operator's word into force on this breaker, or takes back one that is lifted. Returns whether to enforce. */
static bool obey(const struct route *route, uint64_t now_ns) {
    static const enum breaker_state state_of[] = {[OVERRIDE_NONE] = STATE_CLOSED,
                                                  [OVERRIDE_OPEN] = STATE_FORCED_OPEN,
                                                  [OVERRIDE_OFF] = STATE_DISABLED,
                                                  [OVERRIDE_OBSERVE] = STATE_CLOSED,
                                                  [OVERRIDE_ENFORCE] = STATE_CLOSED};
    struct breaker *breaker = route->breaker;
    enum override says =
        override_effective(&guest.attachment.panel->overrides, breaker->rule_key, &breaker->override, now_ns);
    bool forced = breaker_is_forced(breaker);
    if (says != OVERRIDE_NONE || forced) {
        struct transition transition = breaker_force(breaker, state_of[says], now_ns);
        note_transition(route, &transition);
    }
    if (says == OVERRIDE_OBSERVE || says == OVERRIDE_OFF) {
        return false;
    }
    return route->enforce || says == OVERRIDE_ENFORCE || says == OVERRIDE_OPEN;
}

struct ticket route_admit(const struct route *route, enum breaker_ask ask, uint64_t now_ns) {
    prepare(route, now_ns);
    bool enforce = obey(route, now_ns) && !route->withheld;
    free_permits_of_the_dead(route, now_ns);
    uint32_t most = route->thresholds->max_in_flight;
    if (most != 0 && atomic64_load_relaxed(&route->breaker->in_flight) >= most &&
        may_ask(route->breaker, now_ns)) {
        overdue_recount(route, now_ns);
    }
    uint64_t holder = atomic64_load_relaxed(&guest.holder);
    struct admission admission =
        breaker_admit(route->breaker, route->thresholds, ask, enforce, holder, now_ns);
    note_transition(route, &admission.transition);
    bool tripped = admission.transition.pending && decide_pending(route, &admission.transition, now_ns);
    if (tripped &&
        admission.ticket.standing == STANDING_COUNTED) { /* else it is rejected, and counted so, already */
        /* It has tripped by calls that hang: this one asks again, and is the first to be rejected. */
        breaker_release(route->breaker, route->thresholds, admission.ticket);
        admission = breaker_admit(route->breaker, route->thresholds, ask, enforce, holder, now_ns);
        note_transition(route, &admission.transition);
    }
    return admission.ticket;
}

void route_finish(const struct route *route, struct ticket ticket, const struct call_end *end,
                  uint64_t now_ns) {
    prepare(route, now_ns);
    struct transition transition = breaker_finish(route->breaker, route->thresholds, ticket, end, now_ns);
    note_transition(route, &transition);
    if (transition.pending) {
        decide_pending(route, &transition, now_ns);
    }
    struct recording *recording = &guest.attachment.panel->recording;
    if (recording_is_on(recording, now_ns)) {
        recording_append(recording, index_in(route), end, now_ns);
    }
}
