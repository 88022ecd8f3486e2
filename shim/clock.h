/* The two clocks, read through the vDSO: but where another preload has put its own time before them, which would drive
 * the breakers of every other process mad, the kernel is asked each time. */
#ifndef CUTOUT_SHIM_CLOCK_H
#define CUTOUT_SHIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds: what the engine is given as its time. */
uint64_t clock_monotonic_ns(void);

/* CLOCK_REALTIME in nanoseconds since 1970, for what people read. */
uint64_t clock_unix_ns(void);

/* Finds out whether libc's clock is the kernel's. Once, at start. */
void clock_check(void);

/* The kernel may not be asked any more (a sandbox), or may again. */
void clock_allow_kernel(bool allowed);

#endif
