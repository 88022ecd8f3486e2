/* Calls that are outstanding, seen from outside the process that makes them.
 *
 * A word a call, in the panel, in the part that belongs to the process's slot: written by that process alone with plain
 * stores, read by whoever counts. What a killed process leaves behind is told by its slot. Approximate by design: one
 * count lives until the next.
 *
 *   flight   63..49 breaker + 1; 0 = no call | 48..37 generation of its ticket | 36 past its connect
 *            35 waits for the destination now | 34..32 mark of the count that found it overdue (1..7)
 *            31..0 start of the wait in ms, rounded up (wraps after 49 days)
 */
#ifndef CUTOUT_LIB_FLIGHT_H
#define CUTOUT_LIB_FLIGHT_H

#include "lib/atomic64.h"

#include <stdbool.h>
#include <stdint.h>

#define FLIGHT_CONNECTIONS 2048 /* a connection beyond is not seen by hung-call counts */
#define FLIGHT_LOOKUPS     64   /* look-ups at one time, likewise */
#define FLIGHT_WORDS       (FLIGHT_CONNECTIONS + FLIGHT_LOOKUPS)

/* The outstanding calls of one process. */
struct flights {
    struct atomic64 end; /* one more than the highest word ever used */
    struct atomic64 words[FLIGHT_WORDS];
};

struct flight {
    uint32_t breaker;
    uint16_t generation;
    bool past_connect;
    bool waits;
    uint64_t since_ns; /* when its wait began, earlier waits of the call added on */
};

/* The word of a flight, without a mark. */
uint64_t flight_word(struct flight flight);

/* The breaker of a word; UINT32_MAX when there is no call. */
uint32_t flight_breaker(uint64_t word);

uint16_t flight_generation(uint64_t word);
bool flight_is_past_connect(uint64_t word);

/* Which count found it overdue; 0 = none. */
unsigned flight_mark(uint64_t word);
uint64_t flight_with_mark(uint64_t word, unsigned mark);

/* True when it has waited for longer than slow_call_us at now_ns: never too early, at most a millisecond late. */
bool flight_is_overdue(uint64_t word, uint64_t slow_call_us, uint64_t now_ns);

#endif
