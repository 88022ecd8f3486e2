#include "lib/override.h"

#include <stddef.h>

#define SAYS_MASK UINT64_C(0xff)
#define MS_NS     UINT64_C(1000000)

uint64_t override_word(enum override says, uint64_t for_ns, uint64_t now_ns) {
    uint64_t until_ms = for_ns ? (now_ns + for_ns + MS_NS - 1) / MS_NS : 0;
    return says == OVERRIDE_NONE ? 0 : until_ms << 8 | (uint64_t)says;
}

enum override override_in(uint64_t word, uint64_t now_ns) {
    uint64_t says = word & SAYS_MASK, until_ms = word >> 8;
    if (says > OVERRIDE_ENFORCE || (until_ms != 0 && now_ns / MS_NS >= until_ms)) {
        return OVERRIDE_NONE;
    }
    return (enum override)says;
}

uint64_t override_left_ns(uint64_t word, uint64_t now_ns) {
    if (override_in(word, now_ns) == OVERRIDE_NONE) {
        return 0;
    }
    return word >> 8 != 0 ? (word >> 8) * MS_NS - now_ns : UINT64_MAX;
}

/* The place of a rule's override; NULL when it has none. */
static const struct atomic64 *word_of_rule(const struct overrides *overrides, uint64_t rule_key) {
    for (size_t i = 0; i < OVERRIDE_RULES; i++) {
        uint64_t key = atomic64_load_acquire(
            &overrides->rules[i].rule_key); /* pairs with the swap in override_set_rule */
        if (key == rule_key) {
            return &overrides->rules[i].word;
        }
        if (key == 0) {
            break;
        }
    }
    return NULL;
}

enum override override_effective(const struct overrides *overrides, uint64_t rule_key,
                                 const struct atomic64 *own, uint64_t now_ns) {
    if (atomic64_load_relaxed(&overrides->any) == 0) {
        return OVERRIDE_NONE;
    }
    enum override says = override_in(atomic64_load_relaxed(&overrides->all), now_ns);
    if (says == OVERRIDE_NONE) {
        const struct atomic64 *word = word_of_rule(overrides, rule_key);
        says = word != NULL ? override_in(atomic64_load_relaxed(word), now_ns) : OVERRIDE_NONE;
    }
    if (says == OVERRIDE_NONE && own != NULL) {
        says = override_in(atomic64_load_relaxed(own), now_ns);
    }
    return says;
}

void override_set_one(struct overrides *overrides, struct atomic64 *own, uint64_t word) {
    atomic64_store_release(own, word);
    if (word != 0) {
        atomic64_store_release(&overrides->any, 1);
    }
}

void override_set_all(struct overrides *overrides, uint64_t word) {
    override_set_one(overrides, &overrides->all, word);
}

bool override_set_rule(struct overrides *overrides, uint64_t rule_key, uint64_t word) {
    for (size_t i = 0; i < OVERRIDE_RULES; i++) {
        struct override_of_rule *place = &overrides->rules[i];
        uint64_t key = atomic64_load_acquire(&place->rule_key);
        if (key == 0 && word == 0) {
            return true; /* nothing to lift */
        }
        if (key == 0 && atomic64_swap_acq_rel(&place->rule_key, &key, rule_key)) {
            key = rule_key;
        }
        if (key == rule_key) {
            override_set_one(overrides, &place->word, word);
            return true;
        }
    }
    return false;
}

const char *override_name(enum override says) {
    static const char *const names[] = {"auto", "open", "off", "observe", "enforce"};
    return (unsigned)says < sizeof names / sizeof *names ? names[says] : "auto";
}
