#include "lib/flight.h"

#define MS_NS     UINT64_C(1000000)
#define PAST      (UINT64_C(1) << 36)
#define WAITS     (UINT64_C(1) << 35)
#define MARK_MASK (UINT64_C(7) << 32)

uint64_t flight_word(struct flight flight) {
    uint64_t since_ms = (flight.since_ns + MS_NS - 1) / MS_NS;
    return ((uint64_t)flight.breaker + 1) << 49 | (uint64_t)(flight.generation & 0xfff) << 37 |
           (flight.past_connect ? PAST : 0) | (flight.waits ? WAITS : 0) | (since_ms & UINT32_MAX);
}

uint32_t flight_breaker(uint64_t word) {
    return (uint32_t)(word >> 49) - 1;
}

uint16_t flight_generation(uint64_t word) {
    return (uint16_t)(word >> 37 & 0xfff);
}

bool flight_is_past_connect(uint64_t word) {
    return (word & PAST) != 0;
}

unsigned flight_mark(uint64_t word) {
    return (unsigned)(word >> 32 & 7);
}

uint64_t flight_with_mark(uint64_t word, unsigned mark) {
    return (word & ~MARK_MASK) | (uint64_t)(mark & 7) << 32;
}

bool flight_is_overdue(uint64_t word, uint64_t slow_call_us, uint64_t now_ns) {
    uint32_t age_ms = (uint32_t)(now_ns / MS_NS) - (uint32_t)word;
    return (word & WAITS) != 0 && age_ms <= UINT32_MAX / 2 && (uint64_t)age_ms * 1000 > slow_call_us;
}
