#include "lib/lane.h"

#include "lib/control.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)

struct replay_lane replay_lane(struct breaker *breaker, const struct thresholds *thresholds,
                               struct replay_rule *rule, bool enforce) {
    struct replay_lane lane = {
        .breaker = breaker, .thresholds = thresholds, .rule = rule, .enforce = enforce};
    breaker_adopt(breaker, thresholds);
    if (thresholds->slow_written && thresholds->slow_ratio != 0) {
        lane.overdue_ns = thresholds->slow_call_ns;
    }
    return lane;
}

/* --- the calls that hang --- */

static void link_last(struct replay *replay, struct replay_lane *lane, uint32_t index) {
    struct replay_call *call = &replay->calls[index];
    call->listed = true;
    call->before = lane->last;
    call->after = 0;
    if (lane->last != 0) {
        replay->calls[lane->last - 1].after = index + 1;
    } else {
        lane->first = index + 1;
    }
    lane->last = index + 1;
    if (lane->frontier == 0) {
        lane->frontier = index + 1;
    }
}

static void unlink_call(struct replay *replay, struct replay_lane *lane, uint32_t index) {
    struct replay_call *call = &replay->calls[index];
    if (call->before != 0) {
        replay->calls[call->before - 1].after = call->after;
    } else {
        lane->first = call->after;
    }
    if (call->after != 0) {
        replay->calls[call->after - 1].before = call->before;
    } else {
        lane->last = call->before;
    }
    if (lane->frontier == index + 1) {
        lane->frontier = call->after;
    }
    call->listed = false;
}

/* The breaker's generation is over: what was outstanding in it is judged no more. */
static void forget_calls(struct replay *replay, struct replay_lane *lane) {
    while (lane->first != 0) {
        uint32_t index = lane->first - 1;
        unlink_call(replay, lane, index);
        replay->calls[index].overdue = false;
        if (!replay->calls[index].ends) {
            replay_free(replay, index);
        }
    }
    lane->overdue = lane->past = 0;
    lane->stale = false;
}

/* Moves the frontier to now_ns, and tells the breaker how many calls are overdue, where the destination has answered. */
static void count_overdue(struct replay *replay, struct replay_lane *lane, uint64_t now_ns, bool answers) {
    while (lane->frontier != 0) {
        uint32_t index = lane->frontier - 1;
        struct replay_call *call = &replay->calls[index];
        if (now_ns - call->start_ns <= lane->overdue_ns) {
            break;
        }
        lane->overdue++;
        lane->past += !call->connect;
        lane->stale = true;
        call->overdue = true;
        lane->frontier = call->after;
        if (!call->ends) {
            /* Overdue until the generation ends: nothing more to remember of it. */
            unlink_call(replay, lane, index);
            replay_free(replay, index);
        }
    }
    if (lane->stale && (answers || atomic64_load_relaxed(&lane->breaker->answered) != 0)) {
        uint64_t control = atomic64_load_relaxed(&lane->breaker->control);
        breaker_note_overdue(lane->breaker, control_generation(control), lane->overdue, lane->past);
        lane->stale = false;
    }
}

/* --- what the breaker must know before it answers --- */

static void look_at_day(struct replay_lane *lane, uint64_t now_ns) {
    if (lane->thresholds->exempt_spans == 0 || now_ns < lane->next_minute) {
        return;
    }
    bool exempt = thresholds_exempt(lane->thresholds, now_ns / SECOND_NS);
    atomic64_store_relaxed(&lane->breaker->exempt, exempt);
    lane->next_minute = (now_ns / MINUTE_NS + 1) * MINUTE_NS;
}

static void prepare(struct replay *replay, struct replay_lane *lane, uint64_t now_ns, bool answers) {
    look_at_day(lane, now_ns);
    if (lane->frontier != 0 || lane->stale) {
        count_overdue(replay, lane, now_ns, answers);
    }
}

/* --- what follows from its answer --- */

/* True when one more of the rule's destinations may open. */
static bool may_open(const struct replay_lane *lane) {
    uint64_t most = (uint64_t)lane->rule->known * lane->thresholds->max_open / 10000;
    return lane->rule->shut < (most > 0 ? most : 1);
}

/* Makes a pending trip or caps it. Whoever is outstanding in a trace is alive, so needs_living always holds. */
static struct transition settle(struct replay_lane *lane, const struct transition *pending, uint64_t now_ns) {
    if (pending->needs_share && !may_open(lane)) {
        return breaker_capped(lane->breaker, lane->thresholds, pending, now_ns);
    }
    return breaker_trip(lane->breaker, lane->thresholds, pending, now_ns);
}

static bool is_shut(enum breaker_state state) {
    return state == STATE_OPEN || state == STATE_HALF_OPEN;
}

/* Keeps the books of a change; true when there was one. */
static bool note_change(struct replay *replay, struct replay_lane *lane,
                        const struct transition *transition) {
    if (!transition->happened) {
        return false;
    }
    if (transition->from != transition->to) {
        lane->rule->shut += is_shut(transition->to);
        lane->rule->shut -= is_shut(transition->from);
        forget_calls(replay, lane);
    }
    return true;
}

/* --- asking and telling --- */

static void count_answer(struct replay_lane *lane, enum standing standing) {
    lane->admitted += standing != STANDING_REJECTED;
    lane->rejected += standing == STANDING_REJECTED;
    lane->would_reject += standing == STANDING_WOULD_REJECT;
}

unsigned lane_ask(struct replay *replay, uint32_t index, enum breaker_ask ask,
                  struct replay_change changes[2]) {
    struct replay_call *call = &replay->calls[index];
    struct replay_lane *lane = &replay->lanes[call->lane];
    uint64_t now_ns = call->start_ns;
    unsigned count = 0;
    if (!lane->asked) {
        lane->asked = true;
        lane->rule->known++;
    }
    prepare(replay, lane, now_ns, false);
    struct admission admission =
        breaker_admit(lane->breaker, lane->thresholds, ask, lane->enforce, 0, now_ns);
    if (admission.transition.pending) {
        struct transition trip = settle(lane, &admission.transition, now_ns);
        admission.transition.happened = false;
        if (note_change(replay, lane, &trip)) {
            changes[count++] = (struct replay_change){call->lane, now_ns, trip};
        }
        if (trip.happened && trip.to == STATE_OPEN && admission.ticket.standing == STANDING_COUNTED) {
            breaker_release(lane->breaker, lane->thresholds, admission.ticket);
            admission = breaker_admit(lane->breaker, lane->thresholds, ask, lane->enforce, 0, now_ns);
        }
    }
    if (note_change(replay, lane, &admission.transition)) {
        changes[count++] = (struct replay_change){call->lane, now_ns, admission.transition};
    }
    call->ticket = admission.ticket;
    count_answer(lane, (enum standing)call->ticket.standing);
    if (lane->overdue_ns != 0 && call->ticket.standing == STANDING_COUNTED && call->ticket.permit == 0) {
        link_last(replay, lane, index);
    }
    return count;
}

bool lane_keeps(const struct replay *replay, uint32_t index) {
    const struct replay_call *call = &replay->calls[index];
    return call->listed || (call->ends && call->ticket.standing != STANDING_REJECTED);
}

struct transition lane_end(struct replay *replay, uint32_t index, uint64_t now_ns) {
    struct replay_call *call = &replay->calls[index];
    struct replay_lane *lane = &replay->lanes[call->lane];
    bool answers = (call->outcome == OUTCOME_SUCCESS && !call->connect) || call->reason == REASON_STATUS;
    prepare(replay, lane, now_ns, answers);
    struct call_end end = {.outcome = (enum outcome)call->outcome,
                           .reason = (enum failure_reason)call->reason,
                           .past_connect = !call->connect,
                           .exchange = answers,
                           .was_overdue = call->overdue,
                           .overdue_past = !call->connect,
                           .started_ns = call->start_ns,
                           .response_ns = call->response_ns,
                           .exchange_ns = call->connect ? 0 : call->response_ns};
    if (call->listed) {
        unlink_call(replay, lane, index);
    }
    if (call->overdue) {
        lane->overdue--;
        lane->past -= !call->connect;
    }
    struct transition transition =
        breaker_finish(lane->breaker, lane->thresholds, call->ticket, &end, now_ns);
    if (transition.pending) {
        transition = settle(lane, &transition, now_ns);
    }
    note_change(replay, lane, &transition);
    replay_free(replay, index);
    return transition;
}
