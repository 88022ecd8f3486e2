/* Cases of lib/endpoint.c. */
#include "lib/endpoint.h"
#include "lib/panel.h"
#include "tests/programs/check.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>

static char bytes[ENDPOINT_TEXT_MAX];

static struct endpoint tcp(const char *address, uint16_t port, uint32_t zone) {
    uint8_t raw[16];
    if (inet_pton(AF_INET, address, raw) == 1) {
        return endpoint_ipv4(SCHEME_TCP, raw, port);
    }
    CHECK(inet_pton(AF_INET6, address, raw) == 1);
    return endpoint_ipv6(SCHEME_TCP, raw, port, zone);
}

static const char *shown(struct endpoint endpoint, const char *name) {
    size_t length = endpoint_format(&endpoint, name, bytes, sizeof bytes);
    CHECK(length == strlen(bytes));
    return bytes;
}

static void test_format(void) {
    check_text(shown(tcp("10.0.0.5", 443, 0), NULL), "tcp://10.0.0.5:443");
    check_text(shown(tcp("255.255.255.255", 65535, 0), NULL), "tcp://255.255.255.255:65535");
    check_text(shown(tcp("::1", 80, 0), NULL), "tcp://[::1]:80");
    /* RFC 5952: lower case, no leading zeros, one "::" for the first of the longest runs, none for one group. */
    check_text(shown(tcp("2001:DB8::ABCD", 1, 0), NULL), "tcp://[2001:db8::abcd]:1");
    check_text(shown(tcp("2001:db8:0:0:1:0:0:1", 1, 0), NULL), "tcp://[2001:db8::1:0:0:1]:1");
    check_text(shown(tcp("2001:0:0:1:0:0:0:1", 1, 0), NULL), "tcp://[2001:0:0:1::1]:1");
    check_text(shown(tcp("2001:db8:0:1:1:1:1:1", 1, 0), NULL), "tcp://[2001:db8:0:1:1:1:1:1]:1");
    check_text(shown(tcp("::", 1, 0), NULL), "tcp://[::]:1");
    check_text(shown(tcp("1::", 1, 0), NULL), "tcp://[1::]:1");
    check_text(shown(tcp("fe80::1", 1, 3), NULL), "tcp://[fe80::1%3]:1");
    check_text(shown(tcp("2001:db8::1", 1, 3), NULL), "tcp://[2001:db8::1]:1");
    check_text(shown(endpoint_ipv4(SCHEME_UDP, (const uint8_t[]){9, 9, 9, 9}, 53), NULL), "udp://9.9.9.9:53");
    check_text(shown(endpoint_named(SCHEME_UNIX, "/run/db.sock", 12), "/run/db.sock"), "unix:///run/db.sock");
    check_text(shown(endpoint_named(SCHEME_UNIX, "\0bus", 4), "@bus"), "unix://@bus");
    check_text(shown(endpoint_named(SCHEME_DNS, "db.internal", 11), "db.internal"), "dns://db.internal");
    check_text(shown(endpoint_named(SCHEME_DNS, "a\nb", 3), "a\nb"), "dns://a\\x0ab");
    struct endpoint endpoint = tcp("10.0.0.5", 443, 0);
    CHECK(endpoint_format(&endpoint, NULL, bytes, 8) == 7);
    check_text(bytes, "tcp://1");
}

static void test_same(void) {
    struct endpoint plain = tcp("10.0.0.5", 443, 0), mapped = tcp("::ffff:10.0.0.5", 443, 0);
    CHECK(endpoint_equal(&plain, &mapped));
    CHECK(endpoint_hash(&plain, 7) == endpoint_hash(&mapped, 7));
    struct endpoint other = tcp("10.0.0.5", 444, 0);
    CHECK(!endpoint_equal(&plain, &other));
    struct endpoint zone1 = tcp("fe80::1", 443, 1), zone2 = tcp("fe80::1", 443, 2);
    CHECK(!endpoint_equal(&zone1, &zone2));
    struct endpoint global1 = tcp("2001:db8::1", 443, 1), global2 = tcp("2001:db8::1", 443, 2);
    CHECK(endpoint_equal(&global1, &global2));
    struct endpoint name = endpoint_named(SCHEME_DNS, "a", 1), path = endpoint_named(SCHEME_UNIX, "a", 1);
    CHECK(!endpoint_equal(&name, &path));
    struct endpoint empty = endpoint_named(SCHEME_DNS, "a\0", 2);
    CHECK(!endpoint_equal(&name, &empty));
    char lower[8];
    CHECK(endpoint_canonical_name("Db.EXAMPLE.", lower, sizeof lower) == 7);
    check_text(lower, "db.exam");
    CHECK(endpoint_canonical_name("Db.Com.", lower, sizeof lower) == 6);
    check_text(lower, "db.com");
    CHECK(endpoint_canonical_name(".", lower, sizeof lower) == 1);
}

static bool parses(const char *text, const char *as) {
    uint8_t raw[16];
    bool ipv6 = false;
    if (!endpoint_parse_address(text, strlen(text), raw, &ipv6)) {
        return as == NULL;
    }
    char again[64];
    CHECK(inet_ntop(ipv6 ? AF_INET6 : AF_INET, raw, again, sizeof again) != NULL);
    if (as == NULL || strcmp(again, as) != 0) {
        fprintf(stderr, "'%s' read as '%s'\n", text, again);
        return false;
    }
    return true;
}

static void test_parse(void) {
    CHECK(parses("10.0.0.5", "10.0.0.5"));
    CHECK(parses("::1", "::1"));
    CHECK(parses("[::1]", "::1"));
    CHECK(parses("::", "::"));
    CHECK(parses("1::", "1::"));
    CHECK(parses("2001:DB8::5", "2001:db8::5"));
    CHECK(parses("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"));
    CHECK(parses("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"));
    CHECK(parses("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"));
    CHECK(parses("64:ff9b::192.0.2.1", "64:ff9b::c000:201"));
    CHECK(parses("1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"));
    CHECK(parses("::ffff:10.0.0.5", "10.0.0.5"));
    CHECK(parses("::ffff:a00:5", "10.0.0.5"));
    static const char *const none[] = {"",
                                       "10.0.0",
                                       "10.0.0.256",
                                       "10.0.0.5.",
                                       "10.0.0.05",
                                       "10.0.0.5 ",
                                       ".1.2.3",
                                       "1..2.3",
                                       "localhost",
                                       ":",
                                       ":::",
                                       ":1",
                                       "1:",
                                       "::1:",
                                       "1::2::3",
                                       "12345::",
                                       "g::",
                                       "[::1",
                                       "::1]",
                                       "[10.0.0.5]",
                                       "[]",
                                       "fe80::1%2",
                                       "1:2:3:4:5:6",
                                       "1:2:3:4:5:6:7:8:9",
                                       "::1:2:3:4:5:6:7:8",
                                       "1.2.3.4::",
                                       "::1.2.3",
                                       "::1.2.3.4.5",
                                       "1:2:3:4:5:6:7:1.2.3.4"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        CHECK(parses(none[i], NULL));
    }
}

/* Whatever inet_pton says of a text, so do we; leading zeros aside, which some systems take for octal. */
static void test_agrees(void) {
    static const char alphabet[] = "0123:::.fA";
    uint32_t random = 1;
    for (unsigned round = 0; round < 400000; round++) {
        char text[40];
        random = random * 1664525 + 1013904223;
        size_t size = random >> 8 & 15;
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525 + 1013904223;
            text[i] = alphabet[(random >> 16) % (sizeof alphabet - 1)];
        }
        text[size] = '\0';
        uint8_t theirs[16], ours[16];
        bool ipv6 = false;
        int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
        bool wanted = inet_pton(family, text, theirs) == 1;
        bool got = endpoint_parse_address(text, size, ours, &ipv6);
        if (wanted != got) {
            fprintf(stderr, "'%s': wanted %d, is %d\n", text, wanted, got);
            exit(1);
        }
        if (got && !(family == AF_INET6 && !ipv6)) {
            CHECK(memcmp(ours, theirs, ipv6 ? 16 : 4) == 0);
        }
    }
}

/* --- spread ------------------------------------------------------------------------------------------ */

#define SPREAD 10000

/* The longest way through the panel's index when these endpoints lie in it. */
static unsigned longest_probe(struct endpoint (*make)(unsigned), uint64_t seed) {
    static bool used[PANEL_INDEX_CELLS];
    memset(used, 0, sizeof used);
    unsigned longest = 0;
    for (unsigned i = 0; i < SPREAD; i++) {
        struct endpoint endpoint = make(i);
        uint64_t cell = endpoint_hash(&endpoint, seed) % PANEL_INDEX_CELLS;
        unsigned probes = 1;
        while (used[cell]) {
            cell = (cell + 1) % PANEL_INDEX_CELLS;
            probes++;
        }
        used[cell] = true;
        longest = probes > longest ? probes : longest;
    }
    return longest;
}

static struct endpoint by_address(unsigned i) {
    return endpoint_ipv4(SCHEME_TCP, (const uint8_t[]){10, 0, (uint8_t)(i >> 8), (uint8_t)i}, 443);
}

static struct endpoint by_network(unsigned i) {
    return endpoint_ipv4(SCHEME_TCP, (const uint8_t[]){10, (uint8_t)(i >> 8), (uint8_t)i, 1}, 443);
}

static struct endpoint by_port(unsigned i) {
    return endpoint_ipv4(SCHEME_TCP, (const uint8_t[]){127, 0, 0, 1}, (uint16_t)(1024 + i));
}

static struct endpoint by_ipv6(unsigned i) {
    uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i};
    return endpoint_ipv6(SCHEME_TCP, address, 443, 0);
}

static struct endpoint by_subnet(unsigned i) {
    uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, (uint8_t)(i >> 8), (uint8_t)i, [15] = 1};
    return endpoint_ipv6(SCHEME_TCP, address, 443, 0);
}

static struct endpoint by_name(unsigned i) {
    char name[32];
    int size = snprintf(name, sizeof name, "host%u.internal", i);
    return endpoint_named(SCHEME_DNS, name, (size_t)size);
}

static void test_spread(void) {
    static struct endpoint (*const makers[])(unsigned) = {by_address, by_network, by_port,
                                                          by_ipv6,    by_subnet,  by_name};
    static const char *const rules[] = {"default", "payments", "a"};
    for (unsigned i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        for (unsigned r = 0; r < 3; r++) {
            unsigned longest = longest_probe(makers[i], text_hash(rules[r], strlen(rules[r])));
            printf("%u %s %u\n", i, rules[r], longest);
            CHECK(longest <= 16);
        }
        CHECK(longest_probe(makers[i], 0) <= 16);
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"format", test_format},
                                             {"same", test_same},
                                             {"parse", test_parse},
                                             {"agrees", test_agrees},
                                             {"spread", test_spread}};
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
