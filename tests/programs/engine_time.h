/* What the tests of the engine share: units of time, all in nanoseconds, and numbers that look random. */
#ifndef CUTOUT_TESTS_ENGINE_TIME_H
#define CUTOUT_TESTS_ENGINE_TIME_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define US     UINT64_C(1000)
#define MS     (1000 * US)
#define SECOND (1000 * MS)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

/* splitmix64: small, and good enough to shuffle test cases. The state is the seed. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 <= result < limit. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit) {
    return random_next(state) % limit;
}

/* The number that the environment asks for, or the usual one: how long a test runs, or with which seed. */
static inline uint64_t number_from(const char *variable, uint64_t usual) {
    const char *text = getenv(variable);
    return text != NULL && *text != 0 ? strtoull(text, NULL, 10) : usual;
}

/* Checks in a test with random input: says how to run it again. */
#define CHECK_SEED(seed, condition) check_seed((condition), (seed), #condition, __FILE__, __LINE__)

static inline void check_seed(int holds, uint64_t seed, const char *condition, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: does not hold: %s; again with ENGINE_SEED=%llu ENGINE_ROUNDS=1\n", file, line,
                condition, (unsigned long long)seed);
        exit(1);
    }
}

#endif
