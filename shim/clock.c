#include "shim/clock.h"

#include "lib/atomic64.h"
#include "shim/raw.h"

#include <time.h>

/* With 64 bits for the seconds, under whichever name the architecture has it. */
#if defined(__i386__)
#define RAW_CLOCK_GETTIME 403 /* SYS_clock_gettime64, since Linux 5.1 */
#else
#define RAW_CLOCK_GETTIME SYS_clock_gettime
#endif

/* libc's clock may differ so much from the kernel's by how they are read. */
#define NEAR_NS UINT64_C(1000000)

static struct atomic64 faked;     /* 1: libc's clock is not the kernel's */
static struct atomic64 forbidden; /* 1: the kernel may not be asked */

struct kernel_time {
    int64_t s, ns;
};

static bool ask_kernel(clockid_t clock, uint64_t *ns) {
    struct kernel_time now = {0, 0};
    if (raw_failed(raw_call3(RAW_CLOCK_GETTIME, clock, (long)&now, 0))) {
        return false;
    }
    *ns = (uint64_t)now.s * UINT64_C(1000000000) + (uint64_t)now.ns;
    return true;
}

static uint64_t ask_libc(clockid_t clock) {
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t clock_read(clockid_t clock) {
    uint64_t ns;
    if (atomic64_load_relaxed(&faked) != 0 && atomic64_load_relaxed(&forbidden) == 0 &&
        ask_kernel(clock, &ns)) {
        return ns;
    }
    return ask_libc(clock);
}

static bool is_faked(clockid_t clock) {
    uint64_t before_ns, after_ns;
    if (!ask_kernel(clock, &before_ns)) {
        return false;
    }
    uint64_t libc_ns = ask_libc(clock);
    return !ask_kernel(clock, &after_ns) || libc_ns + NEAR_NS < before_ns || libc_ns > after_ns + NEAR_NS;
}

void clock_check(void) {
    atomic64_store_relaxed(&faked, is_faked(CLOCK_MONOTONIC));
}

void clock_allow_kernel(bool allowed) {
    atomic64_store_relaxed(&forbidden, !allowed);
}

uint64_t clock_monotonic_ns(void) {
    return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_unix_ns(void) {
    return clock_read(CLOCK_REALTIME);
}
