#include "lib/conversation.h"

#include "lib/exchange.h"
#include "lib/protocol.h"
#include "lib/talk.h"
#include "lib/tls_records.h"

/* A connection idle for that long may have been closed by the server meanwhile (semantics, section 3). */
#define IDLE_NS UINT64_C(1000000000)
/* What is looked at of the first bytes out. With fewer than RECOGNISED_SURE nothing is said yet, unless they are clear:
 * a program may send them one by one. */
#define RECOGNISED_BYTES 16
#define RECOGNISED_SURE  8

/* --- connect --- */

void conversation_connect(struct conversation *conversation, uint8_t era, enum rule_judge judge,
                          enum rule_protocol protocol, struct ticket ticket, uint64_t now_ns) {
    bool every = judge == JUDGE_EVERY || (judge == JUDGE_AUTO && protocol > PROTOCOL_NONE);
    uint64_t sequence = (atomic64_load_relaxed(&conversation->talk) >> TALK_SEQUENCE) + 1;
    uint64_t talk = sequence << TALK_SEQUENCE | (uint64_t)era << 16 | (uint64_t)judge << TALK_JUDGE |
                    (uint64_t)protocol << TALK_PROTOCOL | TALK_FOLDED | (every ? TALK_EVERY : 0);
    atomic64_store_relaxed(&conversation->started_ns, now_ns);
    atomic64_store_relaxed(&conversation->wait_ns, now_ns);
    atomic64_store_relaxed(&conversation->waited_ns, 0);
    atomic64_store_relaxed(&conversation->longest_ns, 0);
    atomic64_store_relaxed(&conversation->idle_ns, now_ns);
    atomic64_store_relaxed(&conversation->sent_bytes, 0);
    atomic64_store_relaxed(&conversation->records, 0);
    /* Released last: who sees the new phase sees the times of the new connection. */
    atomic64_store_release(&conversation->talk,
                           talk_with_phase(talk_with_ticket(talk, ticket), PHASE_CONNECTING));
}

struct conversation_step conversation_established(struct conversation *conversation, uint8_t era,
                                                  uint64_t now_ns) {
    struct conversation_step step = exchange_no_step;
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        if (talk_phase(talk) != PHASE_CONNECTING) {
            return step;
        }
        uint64_t waited_ns = exchange_wait_ns(conversation, now_ns);
        if (talk_judge(talk) == JUDGE_CONNECT) {
            struct call_end end =
                exchange_result(conversation, talk, OUTCOME_SUCCESS, REASON_NONE, waited_ns);
            if (exchange_end(conversation, &seen, talk, PHASE_LEFT_OUT, TALK_EXCHANGED, &step, end)) {
                return step;
            }
        } else if (atomic64_swap_acq_rel(&conversation->talk, &seen, talk_with_phase(talk, PHASE_FRESH))) {
            atomic64_store_relaxed(&conversation->waited_ns, waited_ns);
            atomic64_store_relaxed(&conversation->wait_ns, 0);
            return step;
        }
    }
}

/* --- what the connection is in --- */

bool conversation_is_connecting(const struct conversation *conversation, uint8_t era) {
    return talk_phase(talk_in_era(atomic64_load_acquire(&conversation->talk), era)) == PHASE_CONNECTING;
}

bool conversation_is_outstanding(const struct conversation *conversation, uint8_t era) {
    uint64_t talk = talk_in_era(atomic64_load_acquire(&conversation->talk), era);
    enum conversation_phase phase = talk_phase(talk);
    return phase == PHASE_CONNECTING || phase == PHASE_FRESH || phase == PHASE_REQUEST;
}

bool conversation_is_over(const struct conversation *conversation, uint8_t era) {
    return talk_phase(talk_in_era(atomic64_load_relaxed(&conversation->talk), era)) == PHASE_NONE;
}

bool conversation_is_left_out(const struct conversation *conversation, uint8_t era) {
    enum conversation_phase phase = talk_phase(talk_in_era(atomic64_load_relaxed(&conversation->talk), era));
    return phase == PHASE_NONE || phase == PHASE_LEFT_OUT;
}

enum rule_protocol conversation_protocol(const struct conversation *conversation) {
    uint64_t talk = atomic64_load_relaxed(&conversation->talk);
    return talk_has(talk, TALK_SENT) ? talk_protocol(talk) : PROTOCOL_AUTO;
}

uint64_t conversation_response_ns(const struct conversation *conversation, uint64_t now_ns) {
    return atomic64_load_relaxed(&conversation->waited_ns) + exchange_wait_ns(conversation, now_ns);
}

uint64_t conversation_wait_ns(const struct conversation *conversation, uint64_t now_ns) {
    return exchange_wait_ns(conversation, now_ns);
}

bool conversation_is_fresh(const struct conversation *conversation, uint8_t era) {
    return talk_phase(talk_in_era(atomic64_load_relaxed(&conversation->talk), era)) == PHASE_FRESH;
}

bool conversation_is_heard(const struct conversation *conversation, uint8_t era) {
    uint64_t talk = talk_in_era(atomic64_load_acquire(&conversation->talk), era);
    return talk_has(talk, TALK_EXCHANGED | TALK_TLS);
}

bool conversation_is_probe(const struct conversation *conversation, uint8_t era) {
    uint64_t talk = talk_in_era(atomic64_load_acquire(&conversation->talk), era);
    return talk_ticket(talk).permit != 0 && conversation_is_outstanding(conversation, era);
}

bool conversation_is_long(const struct conversation *conversation, size_t size) {
    return size > CONVERSATION_LONG_REQUEST ||
           atomic64_load_relaxed(&conversation->sent_bytes) + size > CONVERSATION_LONG_REQUEST;
}

/* --- sending --- */

/* True when a send now begins a call of its own. */
static bool begins_call(uint64_t talk) {
    return talk_phase(talk) == PHASE_IDLE &&
           (talk_has(talk, TALK_EVERY) ||
            (!talk_has(talk, TALK_EXCHANGED) && talk_judge(talk) != JUDGE_CONNECT));
}

struct conversation_step conversation_sending(struct conversation *conversation, uint8_t era, uint64_t now_ns,
                                              bool *asks) {
    struct conversation_step step = exchange_no_step;
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    *asks = false;
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        if (exchange_is_answered(talk)) {
            if (exchange_end(conversation, &seen, talk, exchange_phase_after(talk), TALK_EXCHANGED, &step,
                             exchange_answered_result(conversation, talk))) {
                *asks = talk_has(talk, TALK_EVERY);
                return step;
            }
        } else if (talk_phase(talk) == PHASE_FRESH) {
            /* The request is noted before it is made: the program may never come back from the send. */
            atomic64_store_relaxed(&conversation->wait_ns, now_ns);
            if (atomic64_swap_acq_rel(&conversation->talk, &seen,
                                      talk_with_phase(talk | TALK_UNSENT, PHASE_REQUEST))) {
                return step;
            }
        } else {
            *asks = begins_call(talk);
            return step;
        }
    }
}

bool conversation_request(struct conversation *conversation, uint8_t era, struct ticket ticket,
                          uint64_t now_ns) {
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    uint64_t talk = talk_in_era(seen, era);
    while (begins_call(talk)) {
        bool was_idle = talk_has(talk, TALK_EXCHANGED) &&
                        now_ns >= atomic64_load_relaxed(&conversation->idle_ns) + IDLE_NS;
        uint64_t next = (talk & ~TALK_CALL_FLAGS) | TALK_UNSENT | (was_idle ? TALK_WAS_IDLE : 0);
        next =
            talk_with_phase(talk_with_ticket(next, ticket), PHASE_REQUEST) + (UINT64_C(1) << TALK_SEQUENCE);
        atomic64_store_relaxed(&conversation->started_ns, now_ns);
        atomic64_store_relaxed(&conversation->wait_ns, now_ns);
        atomic64_store_relaxed(&conversation->waited_ns, 0);
        atomic64_store_relaxed(&conversation->longest_ns, 0);
        atomic64_store_relaxed(&conversation->sent_bytes, 0);
        /* The swap releases the times above to whoever receives the answer in another thread. */
        if (atomic64_swap_acq_rel(&conversation->talk, &seen, next)) {
            return true;
        }
        talk = talk_in_era(seen, era);
    }
    return false;
}

bool conversation_unsent(struct conversation *conversation, uint8_t era, struct ticket *ticket) {
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        if (talk_phase(talk) != PHASE_REQUEST || !talk_has(talk, TALK_UNSENT)) {
            return false;
        }
        bool folded = talk_has(talk, TALK_FOLDED);
        uint64_t next = talk_with_phase(talk & ~TALK_UNSENT, folded ? PHASE_FRESH : PHASE_IDLE);
        if (!folded) {
            next = talk_with_ticket(next, (struct ticket){0, 0, STANDING_NONE});
        }
        if (atomic64_swap_acq_rel(&conversation->talk, &seen, next)) {
            *ticket = talk_ticket(talk);
            atomic64_store_relaxed(&conversation->wait_ns, 0);
            return !folded;
        }
    }
}

/* The flags that the first bytes out set: TLS, the protocol, whether each exchange is a call. */
static uint64_t recognise(uint64_t talk, const unsigned char *bytes, size_t size) {
    talk |= TALK_SENT;
    if (protocol_is_client_hello(bytes, size)) {
        talk |= TALK_TLS | TALK_HANDSHAKE;
    }
    enum rule_protocol protocol = talk_protocol(talk);
    if (protocol == PROTOCOL_AUTO) {
        protocol = protocol_recognise(bytes, size);
        talk |= (uint64_t)protocol << TALK_PROTOCOL;
    }
    if (talk_judge(talk) == JUDGE_AUTO && protocol != PROTOCOL_NONE) {
        talk |= TALK_EVERY;
        if (talk_phase(talk) == PHASE_LEFT_OUT) {
            talk = talk_with_phase(talk, PHASE_IDLE); /* the answer was faster than this thread */
        }
    }
    return talk;
}

/* The first bytes out: those kept from earlier sends, and of these pieces. */
static size_t first_bytes(uint64_t kept, const struct sent_piece *pieces, size_t count, size_t size,
                          unsigned char first[RECOGNISED_BYTES]) {
    size_t length = 0;
    for (; length < (kept >> 56) % RECOGNISED_SURE; length++) {
        first[length] = (unsigned char)(kept >> 8 * length);
    }
    size_t end = length + size < RECOGNISED_BYTES ? length + size : RECOGNISED_BYTES;
    for (size_t i = 0; i < count && length < end; i++) {
        for (size_t at = 0; at < pieces[i].size && length < end; at++) {
            first[length++] = pieces[i].bytes[at];
        }
    }
    return length;
}

static bool is_clear(const unsigned char *first, size_t size) {
    return size >= RECOGNISED_SURE || protocol_is_client_hello(first, size) ||
           protocol_recognise(first, size) != PROTOCOL_NONE;
}

/* What `records` is to hold while the first bytes (fewer than RECOGNISED_SURE) tell nothing yet. */
static uint64_t keep(const unsigned char *first, size_t size) {
    uint64_t kept = (uint64_t)size << 56;
    for (size_t i = 0; i < size; i++) {
        kept |= (uint64_t)first[i] << 8 * i;
    }
    return kept;
}

/* Feeds the TLS stream that stands at `state`; true when an application data record began. */
static bool feed_records(struct conversation *conversation, uint64_t state, const struct sent_piece *pieces,
                         size_t count, size_t size) {
    bool data = false;
    for (size_t i = 0; i < count && size > 0; i++) {
        size_t step = pieces[i].size < size ? pieces[i].size : size;
        state = tls_records_feed(state, pieces[i].bytes, step, &data);
        size -= step;
    }
    atomic64_store_relaxed(&conversation->records, state);
    return data;
}

/* True when the first bytes out tell what is spoken; a TLS stream among them is then fed from its beginning. Else they
 * are kept for the next send. */
static bool look_at_first(struct conversation *conversation, const unsigned char *first, size_t first_size,
                          const struct sent_piece *pieces, size_t count, size_t size) {
    if (!is_clear(first, first_size)) {
        atomic64_store_relaxed(&conversation->records, keep(first, first_size));
        return false;
    }
    if (protocol_is_client_hello(first, first_size)) {
        bool data = false;
        size_t kept = (size_t)(atomic64_load_relaxed(&conversation->records) >> 56) % RECOGNISED_SURE;
        feed_records(conversation, tls_records_feed(0, first, kept, &data), pieces, count, size);
    }
    return true;
}

/* The times that a TLS send changes: the waits before it are over. */
static void sent_tls(struct conversation *conversation, uint64_t talk, uint64_t before_ns) {
    if (talk_has(talk, TALK_HANDSHAKE)) {
        uint64_t longest_ns = atomic64_load_relaxed(&conversation->longest_ns);
        atomic64_store_relaxed(&conversation->waited_ns,
                               atomic64_load_relaxed(&conversation->waited_ns) + longest_ns);
        atomic64_store_relaxed(&conversation->longest_ns, 0);
    }
    atomic64_store_relaxed(&conversation->wait_ns, before_ns);
}

bool conversation_sent(struct conversation *conversation, uint8_t era, const struct sent_piece *pieces,
                       size_t count, size_t size, uint64_t before_ns, uint64_t after_ns,
                       struct ticket *ticket) {
    uint64_t seen = atomic64_load_acquire(&conversation->talk);
    bool data = false, alerts = false;
    if (talk_has(seen, TALK_TLS)) {
        uint64_t records = atomic64_load_relaxed(&conversation->records);
        data = feed_records(conversation, records, pieces, count, size);
        uint64_t now = atomic64_load_relaxed(&conversation->records);
        alerts = !data && !tls_records_alerted(records) && tls_records_alerted(now);
        data = data || tls_records_undecided(now);
        if (!data && !talk_has(seen, TALK_HANDSHAKE) && talk_has(seen, TALK_UNSENT)) {
            return conversation_unsent(conversation, era,
                                       ticket); /* an alert or a key update is no request */
        }
    }
    unsigned char first[RECOGNISED_BYTES];
    size_t first_size = 0;
    bool clear = false;
    if (!talk_has(seen, TALK_SENT)) {
        uint64_t kept = atomic64_load_relaxed(&conversation->records);
        first_size = first_bytes(kept, pieces, count, size, first);
        clear = look_at_first(conversation, first, first_size, pieces, count, size);
    }
    for (;;) {
        uint64_t talk = talk_in_era(seen, era);
        enum conversation_phase phase = talk_phase(talk);
        bool was_tls = talk_has(talk, TALK_TLS);
        uint64_t next = clear && !talk_has(talk, TALK_SENT) ? recognise(talk, first, first_size) : talk;
        if (phase == PHASE_CONNECTING || phase == PHASE_REQUEST) {
            next = talk_with_phase(next & ~TALK_UNSENT, PHASE_REQUEST);
        }
        if (was_tls && tls_records_request_begun(atomic64_load_relaxed(&conversation->records))) {
            next &= ~TALK_HANDSHAKE;
        }
        if (alerts) {
            next |= TALK_HALF_CLOSED;
        }
        if (!atomic64_swap_acq_rel(&conversation->talk, &seen, next)) {
            continue;
        }
        if (phase == PHASE_CONNECTING) {
            atomic64_store_relaxed(&conversation->waited_ns, exchange_wait_ns(conversation, before_ns));
            atomic64_store_relaxed(&conversation->wait_ns, before_ns);
        }
        if (phase == PHASE_CONNECTING || phase == PHASE_REQUEST) {
            if (was_tls && !alerts) {
                sent_tls(conversation, talk, before_ns);
            }
            if (atomic64_add_relaxed(&conversation->sent_bytes, size) + size > CONVERSATION_LONG_REQUEST) {
                atomic64_store_relaxed(&conversation->wait_ns, after_ns);
            }
        }
        return false;
    }
}
