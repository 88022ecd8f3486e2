#include "lib/permit.h"

#include "lib/breaker.h"
#include "lib/control.h"

#define HOLDER_BITS 50

enum permit_state { PERMIT_FREE = 0, PERMIT_OUT = 1, PERMIT_PASSED = 2, PERMIT_ANSWERED = 3 };

static uint64_t permit_word(uint16_t generation, enum permit_state state, uint64_t holder) {
    return (uint64_t)(generation & CONTROL_GENERATION_MASK) << 52 | (uint64_t)state << HOLDER_BITS |
           (holder & PERMIT_HOLDER_MAX);
}

static enum permit_state state_in(uint64_t word, uint16_t generation) {
    return word >> 52 == generation ? (enum permit_state)(word >> HOLDER_BITS & 3) : PERMIT_FREE;
}

/* A word of another generation is only replaced when control, read after it, still is of ours: whoever wrote a newer
 * one had seen the newer control before, so seeing his word (acquire) we see it too; and if the word changes in
 * between, the swap fails. So an asker that was held up never takes back a permit of a later generation. */
unsigned permit_take(struct atomic64 *permits, unsigned probes, const struct atomic64 *control,
                     uint16_t generation, uint64_t holder) {
    for (unsigned i = 0; i < probes && i < PROBES_MAX; i++) {
        uint64_t seen = atomic64_load_acquire(&permits[i]);
        while (state_in(seen, generation) == PERMIT_FREE) {
            if (control_generation(atomic64_load_acquire(control)) != generation) {
                return 0;
            }
            if (atomic64_swap_acq_rel(&permits[i], &seen, permit_word(generation, PERMIT_OUT, holder))) {
                return i + 1;
            }
        }
    }
    return 0;
}

void permit_forget(struct atomic64 *permits, const struct atomic64 *control, uint64_t seen) {
    uint16_t next = (uint16_t)((control_generation(seen) + 1) & CONTROL_GENERATION_MASK);
    for (unsigned i = 0; i < PROBES_MAX; i++) {
        uint64_t word = atomic64_load_acquire(&permits[i]);
        if (state_in(word, next) == PERMIT_FREE) {
            continue;
        }
        /* After the word, for the same reason as above: a permit given since means that control has moved. */
        if (atomic64_load_acquire(control) != seen) {
            return;
        }
        atomic64_swap_acq_rel(&permits[i], &word, 0);
    }
}

/* Moves a permit that is out to another state; nothing happens when it is revoked or taken back already. */
static void permit_move(struct atomic64 *permits, unsigned number, uint16_t generation,
                        enum permit_state to) {
    if (number == 0 || number > PROBES_MAX) {
        return;
    }
    struct atomic64 *permit = &permits[number - 1];
    uint64_t seen = atomic64_load_acquire(permit);
    for (;;) {
        enum permit_state state = state_in(seen, generation);
        if ((state != PERMIT_OUT && state != PERMIT_ANSWERED) ||
            atomic64_swap_acq_rel(permit, &seen, permit_word(generation, to, seen))) {
            return;
        }
    }
}

void permit_pass(struct atomic64 *permits, unsigned number, uint16_t generation) {
    permit_move(permits, number, generation, PERMIT_PASSED);
}

void permit_answered(struct atomic64 *permits, unsigned number, uint16_t generation) {
    permit_move(permits, number, generation, PERMIT_ANSWERED);
}

void permit_give_back(struct atomic64 *permits, unsigned number, uint16_t generation) {
    permit_move(permits, number, generation, PERMIT_FREE);
}

bool permit_all_passed(const struct atomic64 *permits, unsigned probes, uint16_t generation,
                       bool count_answered) {
    for (unsigned i = 0; i < probes && i < PROBES_MAX; i++) {
        enum permit_state state = state_in(atomic64_load_acquire(&permits[i]), generation);
        if (state != PERMIT_PASSED && !(count_answered && state == PERMIT_ANSWERED)) {
            return false;
        }
    }
    return true;
}

bool permit_any_free(const struct atomic64 *permits, unsigned probes, uint16_t generation) {
    for (unsigned i = 0; i < probes && i < PROBES_MAX; i++) {
        if (state_in(atomic64_load_acquire(&permits[i]), generation) == PERMIT_FREE) {
            return true;
        }
    }
    return false;
}

uint64_t permit_holder(const struct atomic64 *permit, uint16_t generation, uint64_t *word) {
    *word = atomic64_load_acquire(permit);
    enum permit_state state = state_in(*word, generation);
    return state == PERMIT_OUT || state == PERMIT_ANSWERED ? *word & PERMIT_HOLDER_MAX : 0;
}

bool permit_free(struct atomic64 *permit, uint64_t word) {
    return atomic64_swap_acq_rel(permit, &word, word & ~(UINT64_C(3) << HOLDER_BITS));
}
