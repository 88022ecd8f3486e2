/* The two clocks, read through the vDSO. */
#ifndef CUTOUT_SHIM_CLOCK_H
#define CUTOUT_SHIM_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds: what the engine is given as its time. */
uint64_t clock_monotonic_ns(void);

/* CLOCK_REALTIME in nanoseconds since 1970, for what people read. */
uint64_t clock_unix_ns(void);

#endif
