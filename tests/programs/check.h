/* What the test programs written in C share: a check that says where it failed, and a choice of cases. */
#ifndef CUTOUT_TESTS_CHECK_H
#define CUTOUT_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with status 1 and the text of the condition that does not hold. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

static inline void check(int holds, const char *condition, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
        exit(1);
    }
}

static inline void check_text(const char *is, const char *wanted) {
    if (strcmp(is, wanted) != 0) {
        fprintf(stderr, "is '%s', wanted '%s'\n", is, wanted);
        exit(1);
    }
}

struct test_case {
    const char *name;
    void (*run)(void);
};

/* Runs the case that the first argument names, all of them without one. */
static inline int run_case(const struct test_case *cases, size_t count, int argc, char **argv) {
    for (size_t i = 0; i < count; i++) {
        if (argc < 2 || strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            if (argc > 1) {
                return 0;
            }
        }
    }
    if (argc < 2) {
        return 0;
    }
    fprintf(stderr, "no such case\n");
    return 2;
}

#endif
