#include "shim/overdue.h"

#include "lib/control.h"
#include "lib/flight.h"
#include "shim/guest.h"
#include "shim/panel.h"

/* A count is at most that fresh (semantics, section 5: a quarter of slow_call, at least 10 ms). */
#define COUNT_MIN_NS UINT64_C(10000000)
#define NUMBER_SHIFT 40
#define PAST_SHIFT   20
#define COUNT_MASK   ((UINT64_C(1) << PAST_SHIFT) - 1)
#define NUMBER_MASK  ((UINT64_C(1) << 24) - 1)

static unsigned mark_of(uint64_t number) {
    return (unsigned)(number % 7) + 1;
}

/* --- this process's calls --- */

void overdue_enter(struct panel *panel, uint32_t slot) {
    if (panel == NULL || slot >= PANEL_PROCESSES) {
        return;
    }
    struct flights *flights = &panel->flights[slot];
    uint64_t end = atomic64_load_relaxed(&flights->end);
    for (uint64_t i = 0; i < end && i < FLIGHT_WORDS; i++) {
        atomic64_store_relaxed(&flights->words[i], 0);
    }
    atomic64_store_relaxed(&flights->end, 0);
}

/* The word at that index of this process's flights; NULL without a slot or beyond the table. */
static struct atomic64 *own_word(uint32_t index) {
    uint64_t slot = atomic64_load_relaxed(&guest.badge.slot) - 1; /* none: beyond the last */
    if (slot >= PANEL_PROCESSES || index >= FLIGHT_WORDS) {
        return NULL;
    }
    struct panel *panel = guest.attachment.panel;
    struct flights *flights = &panel->flights[slot];
    uint64_t end = atomic64_load_relaxed(&flights->end);
    if (end == 0) {
        atomic64_set_bits_release(&panel->overdue.flying[slot / 64], UINT64_C(1) << slot % 64);
    }
    while (end <= index && !atomic64_swap_acq_rel(&flights->end, &end, (uint64_t)index + 1)) {
    }
    return &flights->words[index];
}

/* Turns taken to show what a connection is in while other threads change it. */
#define SHOW_TURNS 4

void overdue_show(const struct connection *connection) {
    struct atomic64 *word = own_word(descriptor_index(connection));
    if (word == NULL) {
        return;
    }
    for (unsigned turn = 0; turn < SHOW_TURNS; turn++) {
        uint64_t talk = atomic64_load_acquire(&connection->conversation.talk);
        struct conversation_flight seen = conversation_flight(&connection->conversation, guest_era());
        /* What a stream hears passes unseen: nobody can say that it hangs. */
        bool waits = seen.waits && atomic64_load_relaxed(&connection->streamed) == 0;
        struct flight flight = {route_breaker_in(atomic64_load_relaxed(&connection->place)),
                                seen.ticket.generation, seen.past_connect,
                                waits && seen.ticket.standing == STANDING_COUNTED, seen.since_ns};
        uint64_t next = seen.outstanding ? flight_word(flight) : 0;
        if (next != 0 || atomic64_load_relaxed(word) != 0) {
            atomic64_store_release(word, next);
        }
        /* Another thread may have ended the call and taken the word down before it was put up: look again. */
        if (atomic64_load_acquire(&connection->conversation.talk) == talk) {
            return;
        }
    }
}

/* What the last whole count says of a word that is taken down. */
static void note_counted(uint64_t word, struct call_end *end) {
    uint64_t number = atomic64_load_acquire(&guest.attachment.panel->overdue.number);
    end->was_overdue = flight_mark(word) == mark_of(number);
    end->overdue_past = flight_is_past_connect(word);
}

void overdue_hide(const struct connection *connection, struct call_end *end) {
    struct atomic64 *word = own_word(descriptor_index(connection));
    if (word != NULL) {
        note_counted(atomic64_exchange_acq_rel(word, 0), end);
    }
}

uint32_t overdue_lookup_begun(const struct route *route, struct ticket ticket, uint64_t now_ns) {
    struct flight flight = {route_breaker_in(route->place), ticket.generation, true,
                            ticket.standing == STANDING_COUNTED, now_ns};
    for (uint32_t i = FLIGHT_CONNECTIONS; i < FLIGHT_WORDS; i++) {
        struct atomic64 *word = own_word(i);
        uint64_t free = 0;
        if (word == NULL) {
            return 0;
        }
        if (atomic64_swap_acq_rel(word, &free, flight_word(flight))) {
            return i;
        }
    }
    return 0;
}

void overdue_lookup_ended(uint32_t shown, struct call_end *end) {
    struct atomic64 *word = shown != 0 ? own_word(shown) : NULL;
    if (word != NULL) {
        note_counted(atomic64_exchange_acq_rel(word, 0), end);
    }
}

/* --- counting --- */

/* The breaker that a word counts against at now_ns, in the generation that is judged; NULL when it does not. */
static struct breaker *overdue_breaker(struct panel *panel, uint64_t word, uint64_t now_ns) {
    struct breaker *breaker = word != 0 ? panel_breaker(panel, flight_breaker(word)) : NULL;
    if (breaker == NULL) {
        return NULL;
    }
    uint64_t slow_call_us = atomic64_load_relaxed(&breaker->slow_call_us);
    uint64_t control = atomic64_load_acquire(&breaker->control);
    bool counts = slow_call_us != 0 && flight_is_overdue(word, slow_call_us, now_ns) &&
                  control_state(control) == STATE_CLOSED &&
                  control_generation(control) == flight_generation(word) &&
                  atomic64_load_relaxed(&breaker->answered) != 0;
    return counts ? breaker : NULL;
}

static void count_word(struct panel *panel, struct atomic64 *word, uint64_t number, uint64_t now_ns) {
    uint64_t seen = atomic64_load_acquire(word);
    if (overdue_breaker(panel, seen, now_ns) == NULL) {
        return;
    }
    /* Marked by swap: a call that ends or begins meanwhile is not touched. */
    if (!atomic64_swap_acq_rel(word, &seen, flight_with_mark(seen, mark_of(number)))) {
        return;
    }
    struct atomic64 *count = &panel->overdue.counts[flight_breaker(seen)];
    uint64_t old = atomic64_load_relaxed(count);
    uint64_t fresh = (number & NUMBER_MASK) << NUMBER_SHIFT;
    old = old >> NUMBER_SHIFT == (number & NUMBER_MASK) ? old : fresh;
    uint64_t past = flight_is_past_connect(seen) ? UINT64_C(1) << PAST_SHIFT : 0;
    atomic64_store_relaxed(count, old + 1 + past);
}

static void count_slot(struct panel *panel, uint32_t slot, uint64_t number, uint64_t now_ns) {
    struct flights *flights = &panel->flights[slot];
    uint64_t end = atomic64_load_acquire(&flights->end);
    for (uint64_t i = 0; i < end && i < FLIGHT_WORDS; i++) {
        count_word(panel, &flights->words[i], number, now_ns);
    }
}

/* Gives each breaker its new number; only those are touched that have one, or had one. */
static void publish(struct panel *panel, uint64_t number) {
    uint32_t used = panel_breakers_used(panel);
    for (uint32_t i = 0; i < used; i++) {
        uint64_t count = atomic64_load_relaxed(&panel->overdue.counts[i]);
        if (count == 0) {
            continue;
        }
        struct breaker *breaker = panel_breaker(panel, i);
        bool fresh = count >> NUMBER_SHIFT == (number & NUMBER_MASK);
        if (!fresh) {
            atomic64_store_relaxed(&panel->overdue.counts[i], 0);
        }
        if (breaker != NULL) {
            uint16_t generation = control_generation(atomic64_load_acquire(&breaker->control));
            breaker_note_overdue(breaker, generation, fresh ? (uint32_t)(count & COUNT_MASK) : 0,
                                 fresh ? (uint32_t)(count >> PAST_SHIFT & COUNT_MASK) : 0);
        }
    }
    atomic64_store_release(&panel->overdue.number, number);
}

void overdue_count(const struct thresholds *thresholds, uint64_t now_ns) {
    if (!thresholds->slow_written || thresholds->slow_ratio == 0 || thresholds->slow_call_ns == 0) {
        return;
    }
    struct panel *panel = guest.attachment.panel;
    uint64_t every_ns =
        thresholds->slow_call_ns / 4 > COUNT_MIN_NS ? thresholds->slow_call_ns / 4 : COUNT_MIN_NS;
    uint64_t counted_ns = atomic64_load_relaxed(&panel->overdue.counted_ns);
    /* A time ahead of now is a scribble. */
    if ((now_ns >= counted_ns && now_ns - counted_ns < every_ns) ||
        !atomic64_swap_acq_rel(&panel->overdue.counted_ns, &counted_ns, now_ns)) {
        return;
    }
    uint64_t number = atomic64_load_acquire(&panel->overdue.number) + 1;
    for (uint32_t i = 0; i < PANEL_PROCESSES / 64; i++) {
        uint64_t bits = atomic64_load_acquire(&panel->overdue.flying[i]);
        for (; bits != 0; bits &= bits - 1) {
            count_slot(panel, i * 64 + (uint32_t)__builtin_ctzll(bits), number, now_ns);
        }
    }
    publish(panel, number);
}

/* --- the living --- */

/* What a slot's flights hold for one breaker. */
struct tally {
    uint32_t calls;   /* outstanding */
    uint32_t overdue; /* of them, for too long */
    uint32_t past;    /* of those, past their connect */
};

static struct tally tally_of_slot(struct panel *panel, uint32_t slot, const struct breaker *breaker,
                                  uint64_t now_ns) {
    struct flights *flights = &panel->flights[slot];
    struct tally tally = {0, 0, 0};
    uint64_t end = atomic64_load_acquire(&flights->end);
    for (uint64_t i = 0; i < end && i < FLIGHT_WORDS; i++) {
        uint64_t word = atomic64_load_acquire(&flights->words[i]);
        if (word == 0 || panel_breaker(panel, flight_breaker(word)) != breaker) {
            continue;
        }
        tally.calls++;
        if (overdue_breaker(panel, word, now_ns) == breaker) {
            tally.overdue++;
            tally.past += flight_is_past_connect(word);
        }
    }
    return tally;
}

/* The flights of all living processes for one breaker; what the dead have left is cleared. */
static struct tally tally_of_living(const struct breaker *breaker, uint64_t now_ns) {
    struct panel *panel = guest.attachment.panel;
    struct tally sum = {0, 0, 0};
    for (uint32_t i = 0; i < PANEL_PROCESSES / 64; i++) {
        uint64_t bits = atomic64_load_acquire(&panel->overdue.flying[i]);
        for (; bits != 0; bits &= bits - 1) {
            uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(bits);
            struct tally tally = tally_of_slot(panel, slot, breaker, now_ns);
            if (tally.calls == 0) {
                continue;
            }
            if (!guest_is_sandboxed() && !panel_slot_lives(&guest.attachment, slot)) {
                overdue_enter(panel, slot);
                continue;
            }
            sum.calls += tally.calls;
            sum.overdue += tally.overdue;
            sum.past += tally.past;
        }
    }
    return sum;
}

void overdue_count_living(const struct route *route, uint64_t now_ns) {
    uint16_t generation = control_generation(atomic64_load_acquire(&route->breaker->control));
    struct tally tally = tally_of_living(route->breaker, now_ns);
    breaker_note_overdue(route->breaker, generation, tally.overdue, tally.past);
}

void overdue_recount(const struct route *route, uint64_t now_ns) {
    uint64_t seen = atomic64_load_relaxed(&route->breaker->in_flight);
    struct tally tally = tally_of_living(route->breaker, now_ns);
    /* Not when calls have begun or ended meanwhile: the next one to find it full counts again. */
    atomic64_swap_acq_rel(&route->breaker->in_flight, &seen, tally.calls);
}
