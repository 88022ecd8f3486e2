/* The bits of a breaker's control word; its layout is described in lib/breaker.h. */
#ifndef CUTOUT_LIB_CONTROL_H
#define CUTOUT_LIB_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_GENERATION_MASK 0xfffu
#define CONTROL_OPENS_MAX       63u
#define CONTROL_DEADLINE_MASK   ((UINT64_C(1) << 42) - 1)

static inline unsigned control_state(uint64_t control) {
    return (unsigned)(control & 7);
}

static inline bool control_connect_only(uint64_t control) {
    return (control >> 3 & 1) != 0;
}

static inline unsigned control_opens(uint64_t control) {
    return (unsigned)(control >> 4 & CONTROL_OPENS_MAX);
}

static inline uint16_t control_generation(uint64_t control) {
    return (uint16_t)(control >> 10 & CONTROL_GENERATION_MASK);
}

static inline uint64_t control_deadline_us(uint64_t control) {
    return control >> 22;
}

static inline uint64_t control_make(unsigned state, bool connect_only, unsigned opens, uint16_t generation,
                                    uint64_t deadline_us) {
    return (deadline_us & CONTROL_DEADLINE_MASK) << 22 |
           (uint64_t)(generation & CONTROL_GENERATION_MASK) << 10 | (uint64_t)opens << 4 |
           (uint64_t)connect_only << 3 | state;
}

#endif
