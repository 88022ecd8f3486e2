#include "lib/journal.h"

#include "lib/endpoint.h"

#include <stddef.h>
#include <string.h>

#define EVENT_WORDS (sizeof(struct event) / sizeof(uint64_t))
_Static_assert(sizeof(struct event) == 120, "the event is shared between word sizes and has no padding");

/* The entry's event as words: it is written while others read it. */
static struct atomic64 *entry_words(const struct journal_entry *entry) {
    return (struct atomic64 *)(uintptr_t)&entry->event;
}

/* What `reserved` holds while the event lies in the ring. A sum over number and content tells a mixture of two
 * events from a whole one: the next writer of the entry may come while it is read, and a writer that was held
 * up for 4,096 events writes into an entry that is whole again, whatever its number says. */
static uint32_t event_checksum(struct event event, uint64_t number) {
    event.reserved = 0;
    uint64_t sum = text_hash((const char *)&event, sizeof event) ^ number * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(sum >> 32);
}

void journal_append(struct journal *journal, const struct event *event) {
    uint64_t number = atomic64_add_relaxed(&journal->next, 1);
    struct journal_entry *entry = &journal->entries[number % JOURNAL_ENTRIES];
    struct event copy = *event;
    copy.reserved = event_checksum(copy, number);
    uint64_t words[EVENT_WORDS];
    memcpy(words, &copy, sizeof words);
    atomic64_store_relaxed(&entry->number, 0);
    struct atomic64 *to = entry_words(entry);
    for (size_t i = 0; i < EVENT_WORDS; i++) {
        atomic64_store_relaxed(&to[i], words[i]);
    }
    /* Release: whoever sees the number sees the whole event (acquired in journal_read). */
    atomic64_store_release(&entry->number, number + 1);
}

uint64_t journal_end(const struct journal *journal) {
    return atomic64_load_relaxed(&journal->next);
}

uint64_t journal_first(const struct journal *journal) {
    uint64_t end = journal_end(journal);
    return end > JOURNAL_ENTRIES ? end - JOURNAL_ENTRIES : 0;
}

bool journal_read(const struct journal *journal, uint64_t number, struct event *event) {
    const struct journal_entry *entry = &journal->entries[number % JOURNAL_ENTRIES];
    /* Acquires the release that ends journal_append. */
    if (atomic64_load_acquire(&entry->number) != number + 1) {
        return false;
    }
    uint64_t words[EVENT_WORDS];
    const struct atomic64 *from = entry_words(entry);
    for (size_t i = 0; i < EVENT_WORDS; i++) {
        words[i] = atomic64_load_relaxed(&from[i]);
    }
    struct event copy;
    memcpy(&copy, words, sizeof copy);
    if (copy.reserved != event_checksum(copy, number)) {
        return false;
    }
    copy.reserved = 0;
    *event = copy;
    return true;
}

struct event event_of_transition(const struct transition *transition, uint32_t breaker, uint32_t window_ms) {
    struct event event = {
        .at_ns = transition->at_ns,
        .kind = EVENT_TRANSITION,
        .breaker = breaker,
        .from = (uint8_t)transition->from,
        .to = (uint8_t)transition->to,
        .cause = (uint8_t)transition->cause,
        .connect_only = transition->connect_only,
        .value = transition->value,
        .threshold = transition->threshold,
        .window_ms = window_ms,
        .retry_ns = transition->retry_ns,
        .calls = transition->sums.calls,
        .errors = transition->sums.errors,
        .slow = transition->sums.slow,
        .overdue = (uint32_t)transition->sums.overdue,
    };
    memcpy(event.reasons, transition->sums.reasons, sizeof event.reasons);
    return event;
}
