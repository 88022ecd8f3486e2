/* An operator's word, which goes before rules and environment: over everything, over a rule's breakers, over one
 * destination. Each is kept apart, so that lifting one uncovers the next. Written by the command, read at each admission;
 * while there is none, that is one load.
 *
 *   override   63..8 monotonic ms when it ends (0: never) | 7..0 what it says; 0 = nothing
 */
#ifndef CUTOUT_LIB_OVERRIDE_H
#define CUTOUT_LIB_OVERRIDE_H

#include "lib/atomic64.h"

#include <stdbool.h>
#include <stdint.h>

enum override {
    OVERRIDE_NONE = 0,
    OVERRIDE_OPEN = 1,    /* reject everything */
    OVERRIDE_OFF = 2,     /* admit everything, judge nothing */
    OVERRIDE_OBSERVE = 3, /* judge, reject nothing */
    OVERRIDE_ENFORCE = 4  /* reject, whatever the mode */
};

#define OVERRIDE_RULES 256 /* rules that can have one at a time */

struct override_of_rule {
    struct atomic64 rule_key; /* 0 = free; never given back, so that readers need no lock */
    struct atomic64 word;
};

/* The overrides of a panel but for those of single destinations, which lie in their breakers. */
struct overrides {
    struct atomic64 any; /* not 0: one was set since the panel was made */
    struct atomic64 all;
    struct override_of_rule rules[OVERRIDE_RULES];
};

/* An override's word. for_ns 0: without end. */
uint64_t override_word(enum override says, uint64_t for_ns, uint64_t now_ns);

/* What a word says at now_ns: OVERRIDE_NONE once it has ended. */
enum override override_in(uint64_t word, uint64_t now_ns);

/* How long it will say so; 0 when it has ended or says nothing, UINT64_MAX when it has no end. */
uint64_t override_left_ns(uint64_t word, uint64_t now_ns);

/* What holds for a breaker of that rule whose own override is *own: all before rule before destination. */
enum override override_effective(const struct overrides *overrides, uint64_t rule_key,
                                 const struct atomic64 *own, uint64_t now_ns);

/* Sets the override of all, or of a rule; OVERRIDE_NONE lifts it. False when there is no room for another rule. */
void override_set_all(struct overrides *overrides, uint64_t word);
bool override_set_rule(struct overrides *overrides, uint64_t rule_key, uint64_t word);

/* Sets that of one destination. */
void override_set_one(struct overrides *overrides, struct atomic64 *own, uint64_t word);

/* "open", "off", "observe", "enforce"; "auto" for OVERRIDE_NONE. Never NULL. */
const char *override_name(enum override says);

#endif
