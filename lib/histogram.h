/* Response times of one destination, since its breaker was made: counts in cells of equal ratio.
 *
 * 8 cells an octave, so a cell is 9 % wide and a quantile read from its middle at most 4.5 % off, from 10 us to 100 s; what
 * lies outside is in the first or last cell. One addition a call; nothing is ever reset. The sum of all cells is the number
 * of calls that ended in success or failure. */
#ifndef CUTOUT_LIB_HISTOGRAM_H
#define CUTOUT_LIB_HISTOGRAM_H

#include "lib/atomic64.h"

#include <stdint.h>

#define HISTOGRAM_OCTAVE  8
#define HISTOGRAM_LOW_NS  UINT64_C(8192) /* 2^13 ns: the first cell ends a little above */
#define HISTOGRAM_OCTAVES 24             /* to 2^37 ns, 137 s */
#define HISTOGRAM_CELLS   (HISTOGRAM_OCTAVE * HISTOGRAM_OCTAVES)

struct histogram {
    struct atomic64 cells[HISTOGRAM_CELLS];
    struct atomic64 longest_ns;
};

/* Counts one response time. */
void histogram_add(struct histogram *histogram, uint64_t response_ns);

/* How many have been counted. */
uint64_t histogram_count(const struct histogram *histogram);

/* The response time below which that share (0..1,000,000 millionths) of the calls lies, in ns; 0 when there are none. */
uint64_t histogram_quantile_ns(const struct histogram *histogram, uint32_t millionths);

/* The longest response time, exact. */
uint64_t histogram_longest_ns(const struct histogram *histogram);

#endif
