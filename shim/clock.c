#include "shim/clock.h"

#include <time.h>

static uint64_t clock_read(clockid_t clock) {
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void) {
    return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_unix_ns(void) {
    return clock_read(CLOCK_REALTIME);
}
