/* Cases of shim/names.c. */
#include "shim/names.h"
#include "tests/programs/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static struct endpoint address(unsigned i) {
    return endpoint_ipv4(SCHEME_TCP, (const uint8_t[]){10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i},
                         443);
}

static void note(unsigned i, const char *name) {
    struct endpoint endpoint = address(i);
    names_note(name, endpoint.bytes, false);
}

static const char *found(struct endpoint endpoint) {
    static char name[ENDPOINT_NAME_MAX + 1];
    CHECK(names_find(&endpoint, name, sizeof name) == strlen(name));
    return name;
}

static void test_find(void) {
    check_text(found(address(1)), "");
    note(1, "db.internal");
    note(2, "api.internal");
    check_text(found(address(1)), "db.internal");
    check_text(found(address(2)), "api.internal");
    /* The last name asked for counts, whatever the port. */
    note(1, "replica.internal");
    struct endpoint other_port = address(1);
    other_port.port = 5432;
    check_text(found(other_port), "replica.internal");
    note(1, "db");
    check_text(found(address(1)), "db");
    static const unsigned char mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 9};
    names_note("mapped.internal", mapped, true);
    check_text(found(address(9)), "mapped.internal");
    static const unsigned char local[16] = {0xfe, 0x80, [15] = 1};
    names_note("neighbour", local, true);
    check_text(found(endpoint_ipv6(SCHEME_TCP, local, 80, 3)), "neighbour");
    check_text(found(endpoint_named(SCHEME_DNS, "db.internal", 11)), "");
    /* Longest and longer. */
    char name[300];
    memset(name, 'n', sizeof name);
    name[299] = '\0';
    note(3, name);
    name[ENDPOINT_NAME_MAX] = '\0';
    check_text(found(address(3)), name);
    name[248] = '\0';
    note(3, name);
    check_text(found(address(3)), name);
    note(4, "");
    check_text(found(address(4)), "");
    struct endpoint endpoint = address(1);
    CHECK(names_find(&endpoint, name, 10) == 0);
}

static void test_many(void) {
    char name[32];
    for (unsigned i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "host%u", i);
        note(i, name);
        check_text(found(address(i)), name);
        /* One that is asked for again and again stays however many others there are. */
        if (i % 16 == 0) {
            note(200000, "steady");
        }
    }
    check_text(found(address(200000)), "steady");
    unsigned kept = 0;
    for (unsigned i = 99000; i < 100000; i++) {
        snprintf(name, sizeof name, "host%u", i);
        kept += strcmp(found(address(i)), name) == 0;
    }
    CHECK(kept > 950);
}

/* --- many threads ------------------------------------------------------------------------------------- */

static atomic_bool over;

/* A name all of whose bytes are one letter, and as many as the letter says. */
static void *write_names(void *argument) {
    unsigned random = *(const unsigned *)argument;
    while (!atomic_load(&over)) {
        random = random * 1664525 + 1013904223;
        char name[256];
        unsigned letter = random >> 16 & 15;
        memset(name, (int)('a' + letter), 16 * letter + 15);
        name[16 * letter + 15] = '\0';
        note(random >> 8 & 3, name);
    }
    return NULL;
}

static void test_torn(void) {
    static unsigned seeds[3] = {1, 2, 3};
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, write_names, &seeds[i]) == 0);
    }
    unsigned names = 0;
    for (unsigned i = 0; i < 2000000 && names < 300000; i++) {
        const char *name = found(address(i & 3));
        size_t length = strlen(name);
        if (length > 0) {
            names++;
            CHECK(length == 16u * (unsigned)(name[0] - 'a') + 15 &&
                  strspn(name, (char[]){name[0], '\0'}) == length);
        }
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(names > 0);
    note(1, "last");
    check_text(found(address(1)), "last");
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"find", test_find}, {"many", test_many}, {"torn", test_torn}};
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
