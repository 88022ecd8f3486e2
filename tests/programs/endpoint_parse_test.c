/* Cases of destinations read back from the text in which they are shown. */
#include "lib/endpoint.h"
#include "tests/programs/check.h"

static struct endpoint endpoint;
static char name[ENDPOINT_NAME_MAX + 1];

/* Read from a buffer of its exact size, so that a sanitizer sees one byte too many. */
static bool parse(const char *text) {
    size_t size = strlen(text);
    char *copy = malloc(size + !size);
    memcpy(copy, text, size);
    bool good = endpoint_parse(copy, size, &endpoint, name);
    free(copy);
    return good;
}

/* What is written, how it is shown again, and its name. */
static const char *const GOOD[][3] = {
    {"tcp://10.0.0.5:443", "tcp://10.0.0.5:443", ""},
    {"tcp://0.0.0.0:0", "tcp://0.0.0.0:0", ""},
    {"tcp://255.255.255.255:65535", "tcp://255.255.255.255:65535", ""},
    {"udp://10.0.0.5:53", "udp://10.0.0.5:53", ""},
    {"tcp://[::1]:80", "tcp://[::1]:80", ""},
    {"tcp://[2001:DB8::0:5]:80", "tcp://[2001:db8::5]:80", ""},
    {"tcp://[fe80::1%3]:80", "tcp://[fe80::1%3]:80", ""},
    {"tcp://[::ffff:10.0.0.5]:80", "tcp://10.0.0.5:80", ""},
    {"tcp://db.internal:5432", "tcp://db.internal:5432", "db.internal"},
    {"tcp://DB.Internal.:5432", "tcp://db.internal:5432", "db.internal"},
    {"tcp://10a:1", NULL, NULL},
    {"tcp://a10:1", "tcp://a10:1", "a10"},
    {"udp://time.internal:123", "udp://time.internal:123", "time.internal"},
    {"unix:///run/db.sock", "unix:///run/db.sock", "/run/db.sock"},
    {"unix:///run/a:b c", "unix:///run/a:b c", "/run/a:b c"},
    {"unix://@abstract", "unix://@abstract", "@abstract"},
    {"unix:///run/\\x07\\\\x", "unix:///run/\\x07\\\\x", "/run/\x07\\x"},
    {"unix:///Upper", "unix:///Upper", "/Upper"},
    {"dns://Name.Internal.", "dns://name.internal", "name.internal"},
    {"dns://a\\x20b", "dns://a b", "a b"},
};

static void test_good(void) {
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        char text[ENDPOINT_TEXT_MAX];
        bool good = parse(GOOD[i][0]);
        if (good != (GOOD[i][1] != NULL)) {
            fprintf(stderr, "%s: %d\n", GOOD[i][0], good);
            exit(1);
        }
        if (good) {
            endpoint_format(&endpoint, name, text, sizeof text);
            check_text(text, GOOD[i][1]);
            check_text(name, GOOD[i][2]);
            /* The same destination again. */
            struct endpoint first = endpoint;
            CHECK(parse(text) && endpoint_equal(&first, &endpoint));
        }
    }
    CHECK(parse("tcp://db:1") && endpoint.ipv6 == ENDPOINT_BY_NAME && endpoint.port == 1);
    struct endpoint by_name = endpoint_by_name(SCHEME_TCP, "db", 2, 1);
    CHECK(endpoint_equal(&endpoint, &by_name));
    CHECK(parse("tcp://[::ffff:10.0.0.5]:80") && endpoint.ipv6 == 0 && endpoint.bytes[3] == 5);
}

static const char *const NONE[] = {
    "",
    "*",
    "tcp",
    "tcp://",
    "tcp://:",
    "tcp://:80",
    "tcp://10.0.0.5",
    "tcp://10.0.0.5:",
    "tcp://10.0.0.5:65536",
    "tcp://10.0.0.5:99999999999999999999",
    "tcp://10.0.0.5:-1",
    "tcp://10.0.0.5:8x",
    "tcp://10.0.0.5: 80",
    "tcp://10.0.0.256:80",
    "tcp://10.0.0:80",
    "tcp://::1:80",
    "tcp://[::1]",
    "tcp://[::1:80",
    "tcp://[::1]x:80",
    "tcp://[10.0.0.5]:80",
    "tcp://[::1%]:80",
    "tcp://[::1%x]:80",
    "tcp://[::1%4294967296]:80",
    "tcp://[]:80",
    "tcp://.:80",
    "tcp://a..:80",
    "tcp://\\:80",
    "tcp://\\x00:80",
    "TCP://10.0.0.5:80",
    "http://a:80",
    "10.0.0.5:80",
    "unix://",
    "unix://\\x0",
    "dns://",
    "dns://\\x00",
};

static void test_none(void) {
    for (size_t i = 0; i < sizeof NONE / sizeof NONE[0]; i++) {
        if (parse(NONE[i])) {
            fprintf(stderr, "%s is taken\n", NONE[i]);
            exit(1);
        }
    }
}

/* As long as there is room for, and one byte more. */
static void test_long(void) {
    char text[600] = "unix:///";
    memset(text + strlen("unix:///"), 'a', ENDPOINT_NAME_MAX - 1);
    CHECK(parse(text) && strlen(name) == ENDPOINT_NAME_MAX);
    strcat(text, "a");
    CHECK(!parse(text));
    memset(text, 0, sizeof text);
    memcpy(text, "tcp://", 6);
    memset(text + 6, 'a', ENDPOINT_NAME_MAX);
    strcat(text, ":80");
    CHECK(parse(text) && strlen(name) == ENDPOINT_NAME_MAX && endpoint.port == 80);
    memcpy(text + 6 + ENDPOINT_NAME_MAX, "a:80", 5);
    CHECK(!parse(text));
}

static const struct test_case CASES[] = {{"good", test_good}, {"none", test_none}, {"long", test_long}};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
