#include "lib/histogram.h"

#define LOW_BIT 13 /* of HISTOGRAM_LOW_NS */

/* Where the cells of an octave begin: 2^(i/8) in 1/65536, the last one the next octave's first. */
static const uint32_t begins[HISTOGRAM_OCTAVE + 1] = {65536,  71468,  77936,  84990, 92682,
                                                      101070, 110218, 120194, 131072};

static unsigned cell_of(uint64_t response_ns) {
    if (response_ns < HISTOGRAM_LOW_NS) {
        return 0;
    }
    unsigned bit = 63 - (unsigned)__builtin_clzll(response_ns);
    if (bit >= LOW_BIT + HISTOGRAM_OCTAVES) {
        return HISTOGRAM_CELLS - 1;
    }
    uint32_t fraction = (uint32_t)(bit >= 16 ? response_ns >> (bit - 16) : response_ns << (16 - bit));
    unsigned cell = 0;
    for (unsigned step = HISTOGRAM_OCTAVE / 2; step > 0; step /= 2) {
        if (fraction >= begins[cell + step]) {
            cell += step;
        }
    }
    return (bit - LOW_BIT) * HISTOGRAM_OCTAVE + cell;
}

void histogram_add(struct histogram *histogram, uint64_t response_ns) {
    atomic64_add_relaxed(&histogram->cells[cell_of(response_ns)], 1);
    uint64_t longest_ns = atomic64_load_relaxed(&histogram->longest_ns);
    while (longest_ns < response_ns &&
           !atomic64_swap_acq_rel(&histogram->longest_ns, &longest_ns, response_ns)) {
    }
}

uint64_t histogram_count(const struct histogram *histogram) {
    uint64_t count = 0;
    for (unsigned i = 0; i < HISTOGRAM_CELLS; i++) {
        count += atomic64_load_relaxed(&histogram->cells[i]);
    }
    return count;
}

/* The middle of a cell. */
static uint64_t middle_ns(unsigned cell) {
    unsigned octave = cell / HISTOGRAM_OCTAVE, within = cell % HISTOGRAM_OCTAVE;
    uint64_t sum = (uint64_t)begins[within] + begins[within + 1];
    return (HISTOGRAM_LOW_NS << octave) / 65536 * sum / 2 +
           ((HISTOGRAM_LOW_NS << octave) % 65536) * sum / 65536 / 2;
}

uint64_t histogram_quantile_ns(const struct histogram *histogram, uint32_t millionths) {
    uint64_t count = histogram_count(histogram), below = 0;
    uint64_t longest_ns = histogram_longest_ns(histogram);
    if (count == 0) {
        return 0;
    }
    /* The rank of the call asked for, from 1, computed so that it cannot overflow. */
    uint64_t rank = count / 1000000 * millionths + (count % 1000000 * millionths + 999999) / 1000000;
    for (unsigned i = 0; i < HISTOGRAM_CELLS; i++) {
        below += atomic64_load_relaxed(&histogram->cells[i]);
        if (below >= rank && below > 0) {
            uint64_t value_ns = middle_ns(i);
            return value_ns < longest_ns ? value_ns : longest_ns;
        }
    }
    return longest_ns;
}

uint64_t histogram_longest_ns(const struct histogram *histogram) {
    return atomic64_load_relaxed(&histogram->longest_ns);
}
