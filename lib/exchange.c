#include "lib/exchange.h"

#include "lib/talk.h"
#include "lib/tls_records.h"

const struct conversation_step exchange_no_step = {
    false, {0, 0, STANDING_NONE}, {.outcome = OUTCOME_IGNORED}};

/* --- what both halves share --- */

uint64_t exchange_wait_ns(const struct conversation *conversation, uint64_t now_ns) {
    uint64_t wait_ns = atomic64_load_relaxed(&conversation->wait_ns);
    return wait_ns != 0 && now_ns > wait_ns ? now_ns - wait_ns : 0;
}

bool exchange_is_answered(uint64_t talk) {
    return talk_phase(talk) == PHASE_REQUEST && talk_has(talk, TALK_ANSWERED);
}

enum conversation_phase exchange_phase_after(uint64_t talk) {
    return talk_has(talk, TALK_EVERY) ? PHASE_IDLE : PHASE_LEFT_OUT;
}

static bool is_in_connect(uint64_t talk) {
    return talk_phase(talk) == PHASE_CONNECTING || talk_has(talk, TALK_HANDSHAKE);
}

struct call_end exchange_result(const struct conversation *conversation, uint64_t talk, enum outcome outcome,
                                enum failure_reason reason, uint64_t last_ns) {
    uint64_t longest_ns = talk_has(talk, TALK_TLS) ? atomic64_load_relaxed(&conversation->longest_ns) : 0;
    uint64_t exchange_ns = last_ns > longest_ns ? last_ns : longest_ns;
    struct call_end end = {.outcome = outcome, .reason = reason, .past_connect = !is_in_connect(talk)};
    end.response_ns = atomic64_load_relaxed(&conversation->waited_ns) + exchange_ns;
    end.exchange_ns = is_in_connect(talk) ? 0 : exchange_ns;
    return end;
}

struct call_end exchange_answered_result(const struct conversation *conversation, uint64_t talk) {
    struct call_end end = exchange_result(conversation, talk, OUTCOME_SUCCESS, REASON_NONE, 0);
    end.exchange = true;
    end.answered = true;
    return end;
}

bool exchange_end(struct conversation *conversation, uint64_t *seen, uint64_t talk,
                  enum conversation_phase phase, uint64_t set, struct conversation_step *step,
                  struct call_end end) {
    uint64_t next = talk_with_phase((talk & ~TALK_CALL_FLAGS) | set, phase);
    next = talk_with_ticket(next, (struct ticket){0, 0, STANDING_NONE});
    end.started_ns = atomic64_load_relaxed(&conversation->started_ns);
    end.kept = !talk_has(talk, TALK_FOLDED);
    if (!atomic64_swap_acq_rel(&conversation->talk, seen, next)) {
        return false;
    }
    step->ended = true;
    step->ticket = talk_ticket(talk);
    step->end = end;
    return true;
}

struct conversation_flight conversation_flight(const struct conversation *conversation, uint8_t era) {
    struct conversation_flight flight = {0};
    uint64_t talk = talk_in_era(atomic64_load_acquire(&conversation->talk), era);
    enum conversation_phase phase = talk_phase(talk);
    if ((phase != PHASE_CONNECTING && phase != PHASE_FRESH && phase != PHASE_REQUEST) ||
        exchange_is_answered(talk)) {
        return flight;
    }
    uint64_t wait_ns = atomic64_load_relaxed(&conversation->wait_ns);
    uint64_t waited_ns = atomic64_load_relaxed(&conversation->waited_ns);
    flight.outstanding = true;
    flight.waits = wait_ns != 0;
    flight.past_connect = !is_in_connect(talk);
    flight.ticket = talk_ticket(talk);
    flight.since_ns = wait_ns > waited_ns ? wait_ns - waited_ns : 0;
    return flight;
}

/* --- receiving --- */

void conversation_receiving(struct conversation *conversation, uint8_t era, uint64_t now_ns) {
    uint64_t talk = talk_in_era(atomic64_load_acquire(&conversation->talk), era);
    if (talk_phase(talk) == PHASE_FRESH && atomic64_load_relaxed(&conversation->wait_ns) == 0) {
        atomic64_store_relaxed(&conversation->wait_ns, now_ns);
    }
}

/* A TLS record came in: one wait is over, the next begins. */
static void received_record(struct conversation *conversation, uint64_t now_ns, uint64_t arrived_ns) {
    uint64_t wait_ns = exchange_wait_ns(conversation, arrived_ns);
    if (wait_ns > atomic64_load_relaxed(&conversation->longest_ns)) {
        atomic64_store_relaxed(&conversation->longest_ns, wait_ns);
    }
    atomic64_store_relaxed(&conversation->wait_ns, now_ns);
    atomic64_store_relaxed(&conversation->idle_ns, now_ns); /* unless more follows */
}

struct conversation_step conversation_received(struct conversation *conversation, uint8_t era,
                                               uint64_t now_ns, uint64_t arrived_ns, bool *tls_answered) {
    struct conversation_step step = exchange_no_step;
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    *tls_answered = false;
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        enum conversation_phase phase = talk_phase(talk);
        if (phase == PHASE_IDLE) {
            atomic64_store_relaxed(&conversation->idle_ns, now_ns);
        }
        if (phase != PHASE_CONNECTING && phase != PHASE_FRESH && phase != PHASE_REQUEST) {
            return step;
        }
        if (talk_has(talk, TALK_TLS)) {
            uint64_t next = talk_has(talk, TALK_HANDSHAKE) ? talk : talk | TALK_ANSWERED;
            if (next != talk && !atomic64_swap_acq_rel(&conversation->talk, &seen, next)) {
                continue;
            }
            received_record(conversation, now_ns, arrived_ns);
            *tls_answered = next != talk;
            step.ticket = talk_ticket(talk);
            return step;
        }
        struct call_end end = exchange_result(conversation, talk, OUTCOME_SUCCESS, REASON_NONE,
                                              exchange_wait_ns(conversation, arrived_ns));
        end.exchange = true;
        if (phase == PHASE_CONNECTING) {
            end.exchange_ns = 0;
        }
        if (exchange_end(conversation, &seen, talk, exchange_phase_after(talk), TALK_EXCHANGED, &step, end)) {
            atomic64_store_relaxed(&conversation->idle_ns, now_ns);
            return step;
        }
    }
}

/* --- ends that nobody wished for --- */

/* True when the server has most likely closed an idle connection just as the request went out. */
static bool is_stale(uint64_t talk, enum failure_reason reason) {
    return talk_has(talk, TALK_WAS_IDLE) && (reason == REASON_RESET || reason == REASON_CLOSED);
}

/* Ends what is outstanding as failed with reason (ignored for REASON_NONE, or where the failure says nothing of the
 * destination). The connection goes to `phase` (PHASE_NONE: it is over). */
static struct conversation_step fail(struct conversation *conversation, uint8_t era,
                                     enum failure_reason reason, bool over, uint64_t now_ns) {
    struct conversation_step step = exchange_no_step;
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        enum conversation_phase phase = talk_phase(talk);
        if (phase != PHASE_CONNECTING && phase != PHASE_FRESH && phase != PHASE_REQUEST) {
            return step;
        }
        if (exchange_is_answered(talk)) {
            if (!over) {
                return step;
            }
            if (exchange_end(conversation, &seen, talk, PHASE_NONE, TALK_EXCHANGED, &step,
                             exchange_answered_result(conversation, talk))) {
                return step;
            }
            continue;
        }
        bool ignored = reason == REASON_NONE || is_stale(talk, reason) ||
                       (reason == REASON_CLOSED && talk_has(talk, TALK_HALF_CLOSED));
        struct call_end end =
            exchange_result(conversation, talk, ignored ? OUTCOME_IGNORED : OUTCOME_FAILURE,
                            ignored ? REASON_NONE : reason, exchange_wait_ns(conversation, now_ns));
        enum conversation_phase next = over ? PHASE_NONE : exchange_phase_after(talk);
        if (exchange_end(conversation, &seen, talk, next, 0, &step, end)) {
            atomic64_store_relaxed(&conversation->idle_ns, now_ns);
            return step;
        }
    }
}

struct conversation_step conversation_failed(struct conversation *conversation, uint8_t era,
                                             enum failure_reason reason, uint64_t now_ns) {
    return fail(conversation, era, reason, true, now_ns);
}

struct conversation_step conversation_end_of_stream(struct conversation *conversation, uint8_t era,
                                                    uint64_t now_ns) {
    return fail(conversation, era, REASON_CLOSED, true, now_ns);
}

struct conversation_step conversation_timed_out(struct conversation *conversation, uint8_t era,
                                                uint64_t now_ns) {
    return fail(conversation, era, REASON_TIMEOUT, false, now_ns);
}

void conversation_half_closed(struct conversation *conversation, uint8_t era) {
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    uint64_t talk = talk_in_era(seen, era);
    while (talk_phase(talk) != PHASE_NONE &&
           !atomic64_swap_acq_rel(&conversation->talk, &seen, talk | TALK_HALF_CLOSED)) {
        talk = talk_in_era(seen, era);
    }
}

/* --- the program leaves --- */

/* True when nothing has been asked of the destination yet: the connect is done, and where TLS is spoken the handshake
 * too, but no request went out and no word of the server is waited for. */
static bool is_spare(const struct conversation *conversation, uint64_t talk) {
    if (talk_phase(talk) == PHASE_FRESH) {
        return atomic64_load_relaxed(&conversation->wait_ns) == 0;
    }
    return talk_phase(talk) == PHASE_REQUEST && talk_has(talk, TALK_HANDSHAKE) &&
           tls_records_set_up(atomic64_load_relaxed(&conversation->records),
                              atomic64_load_relaxed(&conversation->longest_ns) != 0);
}

/* True when the kernel knows that the connect of this call is done, whatever the program was seen to learn. */
static bool is_known_connected(const struct conversation_facts *facts) {
    return facts->exchanged || facts->asked || facts->ended != REASON_NONE;
}

/* The kernel's wait, in its own coarse ticks, is never longer than the call after its connect. */
static uint64_t known_wait_ns(const struct conversation *conversation, const struct conversation_facts *facts,
                              uint64_t now_ns) {
    uint64_t begun_ns =
        atomic64_load_relaxed(&conversation->started_ns) + atomic64_load_relaxed(&conversation->waited_ns);
    uint64_t most_ns = now_ns > begun_ns ? now_ns - begun_ns : 0;
    return facts->wait_ns < most_ns ? facts->wait_ns : most_ns;
}

/* The end of a call whose answer was taken in unseen: good, and as quick as is known. */
static struct call_end unseen_result(const struct conversation *conversation, uint64_t talk,
                                     uint64_t known_ns) {
    struct call_end end = exchange_result(conversation, talk, OUTCOME_SUCCESS, REASON_NONE, known_ns);
    end.exchange = true;
    return end;
}

/* True when a call that the peer has ended without a word has failed by it. */
static bool is_ended(uint64_t talk, const struct conversation_facts *facts) {
    return facts->ended != REASON_NONE && !is_stale(talk, facts->ended) && !talk_has(talk, TALK_HALF_CLOSED);
}

/* How a call ends whose program leaves it at now_ns (semantics, section 3, "the program gives up"). */
static struct call_end left_result(const struct conversation *conversation, uint64_t talk,
                                   const struct conversation_leave *leave, uint64_t now_ns) {
    const struct conversation_facts *facts = &leave->facts;
    uint64_t wait_ns = exchange_wait_ns(conversation, now_ns);
    uint64_t known_ns = known_wait_ns(conversation, facts, now_ns);
    if (talk_phase(talk) == PHASE_CONNECTING && is_known_connected(facts)) {
        talk = talk_with_phase(talk, PHASE_FRESH); /* how long the connect took is not known */
        wait_ns = 0;
    }
    /* With TLS, bytes that came in are not yet an answer. */
    if (facts->exchanged && !talk_has(talk, TALK_TLS)) {
        return unseen_result(conversation, talk, known_ns);
    }
    if (facts->asked && talk_phase(talk) == PHASE_FRESH && known_ns > wait_ns) {
        wait_ns = known_ns;
    }
    bool connecting = talk_phase(talk) == PHASE_CONNECTING || facts->unconnected;
    bool spare = !connecting && !facts->asked && is_spare(conversation, talk);
    bool waits = !spare || leave->waited_here;
    uint64_t lasted_ns = atomic64_load_relaxed(&conversation->waited_ns) + wait_ns;
    bool is_long = !spare && leave->answered && wait_ns != 0 && lasted_ns > leave->give_up_ns;
    bool arrived = facts->arrived || facts->exchanged;
    bool gives_up = waits && !arrived && (leave->timed_out || is_long);
    bool ended = !connecting && is_ended(talk, facts);
    struct call_end end =
        exchange_result(conversation, talk, OUTCOME_IGNORED, REASON_NONE, spare && !gives_up ? 0 : wait_ns);
    if (ended || gives_up) {
        end.outcome = OUTCOME_FAILURE;
        end.reason = ended ? facts->ended : REASON_TIMEOUT;
        end.past_connect = end.past_connect && !connecting;
        end.exchange_ns = end.past_connect ? end.exchange_ns : 0;
    } else if (spare && !leave->answered) {
        end.outcome = OUTCOME_SUCCESS; /* no exchange ever: there the connect is the call */
    }
    return end;
}

struct conversation_step conversation_left(struct conversation *conversation, uint8_t era,
                                           const struct conversation_leave *leave, uint64_t now_ns) {
    struct conversation_step step = exchange_no_step;
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        enum conversation_phase phase = talk_phase(talk);
        if (phase == PHASE_NONE) {
            return step;
        }
        if (phase != PHASE_CONNECTING && phase != PHASE_FRESH && phase != PHASE_REQUEST) {
            /* Nothing is outstanding, and a sender in another thread must not begin anything any more. */
            if (atomic64_swap_acq_rel(&conversation->talk, &seen, talk_with_phase(talk, PHASE_NONE))) {
                return step;
            }
            continue;
        }
        struct call_end end = exchange_is_answered(talk) ? exchange_answered_result(conversation, talk)
                                                         : left_result(conversation, talk, leave, now_ns);
        if (exchange_end(conversation, &seen, talk, PHASE_NONE, 0, &step, end)) {
            return step;
        }
    }
}
