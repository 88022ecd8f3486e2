/* One 64-bit word that several threads and processes read and change at once; and one as wide as a pointer.
 *
 * The only header that names a memory order. The word is a struct, so that it cannot be read, copied or
 * assigned by accident; every access says in its name which order it asks for. An acquire pairs with the
 * release it names at the place of use. There is no sequentially consistent operation and no fence: where two
 * facts must change together they live in one word.
 */
#ifndef CUTOUT_LIB_ATOMIC64_H
#define CUTOUT_LIB_ATOMIC64_H

#include <stdbool.h>
#include <stdint.h>

/* Eight bytes, aligned to eight in 32-bit builds too, so that both word sizes share one layout. */
struct atomic64 {
    _Alignas(8) uint64_t value;
};

/* The value, with no promise about any other word. */
static inline uint64_t atomic64_load_relaxed(const struct atomic64 *word) {
    return __atomic_load_n(&word->value, __ATOMIC_RELAXED);
}

/* The value; what its writer wrote before a release of it is visible after this. */
static inline uint64_t atomic64_load_acquire(const struct atomic64 *word) {
    return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}

static inline void atomic64_store_relaxed(struct atomic64 *word, uint64_t value) {
    __atomic_store_n(&word->value, value, __ATOMIC_RELAXED);
}

/* Stores; what this thread wrote before is visible to whoever acquires the value. */
static inline void atomic64_store_release(struct atomic64 *word, uint64_t value) {
    __atomic_store_n(&word->value, value, __ATOMIC_RELEASE);
}

/* Replaces *seen by next if the word still is *seen. True if it did; else *seen is what the word holds now.
 * Acquires on both ways out, releases when it replaces. */
static inline bool atomic64_swap_acq_rel(struct atomic64 *word, uint64_t *seen, uint64_t next) {
    return __atomic_compare_exchange_n(&word->value, seen, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Adds; returns the value before. */
static inline uint64_t atomic64_add_relaxed(struct atomic64 *word, uint64_t amount) {
    return __atomic_fetch_add(&word->value, amount, __ATOMIC_RELAXED);
}

/* Sets bits; returns the value before. */
static inline uint64_t atomic64_set_bits_release(struct atomic64 *word, uint64_t bits) {
    return __atomic_fetch_or(&word->value, bits, __ATOMIC_ACQ_REL);
}

/* Stores value and returns what was there; acquires and releases. */
static inline uint64_t atomic64_exchange_acq_rel(struct atomic64 *word, uint64_t value) {
    return __atomic_exchange_n(&word->value, value, __ATOMIC_ACQ_REL);
}

/* An address, private to a process: threads read and change it at once. */
struct atomic_address {
    uintptr_t value;
};

static inline uintptr_t atomic_address_load_relaxed(const struct atomic_address *word) {
    return __atomic_load_n(&word->value, __ATOMIC_RELAXED);
}

static inline void atomic_address_store_relaxed(struct atomic_address *word, uintptr_t value) {
    __atomic_store_n(&word->value, value, __ATOMIC_RELAXED);
}

#endif
