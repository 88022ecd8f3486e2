/* What the fuzzers share. */
#ifndef CUTOUT_TESTS_FUZZ_H
#define CUTOUT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What libFuzzer calls with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends the fuzzer, which then keeps the input. */
#define MUST(condition) must((condition), #condition, __LINE__)

static inline void must(bool holds, const char *condition, int line) {
    if (!holds) {
        fprintf(stderr, "line %d: does not hold: %s\n", line, condition);
        abort();
    }
}

#endif
