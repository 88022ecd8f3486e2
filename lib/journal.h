/* The ring of the last events of a panel.
 *
 * Writers from any process take a number and fill the entry that it selects; the entry's own number is stored
 * last, so a reader knows a whole entry from one that is being written or whose writer was killed. Nothing
 * blocks. */
#ifndef CUTOUT_LIB_JOURNAL_H
#define CUTOUT_LIB_JOURNAL_H

#include "lib/atomic64.h"
#include "lib/breaker.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_ENTRIES 4096

enum event_kind {
    EVENT_TRANSITION = 1,
    EVENT_ATTACHED = 2,
    EVENT_RULES_LOADED = 3,
    EVENT_RULES_REFUSED = 4,
    EVENT_TABLE_FULL = 5
};

struct event {
    uint64_t unix_ns; /* wall clock when written */
    uint64_t at_ns;   /* monotonic */
    uint32_t kind;    /* enum event_kind */
    uint32_t breaker; /* index in the panel, of a transition */
    uint32_t pid;
    uint8_t from, to, cause, connect_only; /* of a transition */
    uint32_t value, threshold;             /* of a trip, as in struct transition */
    uint32_t window_ms;
    uint32_t overdue; /* of a trip: calls outstanding for too long */
    uint32_t reserved, unused;
    uint64_t retry_ns;
    uint64_t calls, errors, slow;
    uint32_t reasons[REASON_COUNT];
};

struct journal_entry {
    struct atomic64 number; /* 1 + the event's number once whole; 0 while it is written */
    struct event event;
};

struct journal {
    struct atomic64 next; /* number of the next event */
    struct journal_entry entries[JOURNAL_ENTRIES];
};

/* Appends a copy of *event. Lock-free, at most once overtaken by a writer 4,096 events later. */
void journal_append(struct journal *journal, const struct event *event);

/* Number of the oldest event that may still be there, and one past the newest. */
uint64_t journal_first(const struct journal *journal);
uint64_t journal_end(const struct journal *journal);

/* Copies event `number`. False when it is overwritten, being written, or its writer died. */
bool journal_read(const struct journal *journal, uint64_t number, struct event *event);

/* Fills in what a transition's event says; the caller adds unix_ns and pid. */
struct event event_of_transition(const struct transition *transition, uint32_t breaker, uint32_t window_ms);

#endif
