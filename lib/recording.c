#include "lib/recording.h"

void recording_append(struct recording *recording, uint32_t breaker, const struct call_end *end,
                      uint64_t now_ns) {
    uint64_t number = atomic64_add_relaxed(&recording->next, 1);
    struct recording_entry *entry = &recording->entries[number % RECORDING_ENTRIES];
    uint64_t what = breaker | (uint64_t)end->outcome << 32 | (uint64_t)end->reason << 40 |
                    (uint64_t)end->kept << 48 |
                    (uint64_t)(!end->past_connect && end->outcome == OUTCOME_FAILURE) << 49;
    uint64_t response_ns = end->response_ns < now_ns ? end->response_ns : now_ns;
    /* Exchanged, not stored: nothing below may be seen before the old number is gone. */
    atomic64_exchange_acq_rel(&entry->number, 0);
    atomic64_store_relaxed(&entry->started_ns, now_ns - response_ns);
    atomic64_store_relaxed(&entry->response_ns, response_ns);
    atomic64_store_relaxed(&entry->what, what);
    atomic64_store_release(&entry->number, number + 1);
}

uint64_t recording_end(const struct recording *recording) {
    return atomic64_load_acquire(&recording->next);
}

int recording_read(const struct recording *recording, uint64_t number, struct record *record) {
    const struct recording_entry *entry = &recording->entries[number % RECORDING_ENTRIES];
    uint64_t before = atomic64_load_acquire(&entry->number); /* pairs with the release in recording_append */
    if (before != number + 1) {
        return before > number + 1 || recording_end(recording) > number + RECORDING_ENTRIES ? -1 : 0;
    }
    record->started_ns = atomic64_load_acquire(&entry->started_ns);
    record->response_ns = atomic64_load_acquire(&entry->response_ns);
    uint64_t what = atomic64_load_acquire(&entry->what);
    record->breaker = (uint32_t)what;
    record->outcome = (enum outcome)(what >> 32 & 0xff);
    record->reason = (enum failure_reason)(what >> 40 & 0xff);
    record->kept = (what >> 48 & 1) != 0;
    record->connect = (what >> 49 & 1) != 0;
    return atomic64_load_relaxed(&entry->number) == before ? 1 : -1;
}
