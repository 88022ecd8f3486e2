/* Cases of the patterns of `match`: what each covers, how it is written, and in which order they decide. */
#include "rules/pattern.h"
#include "tests/programs/rules_reading.h"

/* One destination: scheme, address or text, port, and the host name that led there. */
struct destination {
    enum endpoint_scheme scheme;
    const char *where;
    uint16_t port;
    const char *host;
};

static uint32_t match(const struct destination *to) {
    uint8_t bytes[16];
    bool ipv6 = false;
    if (to->scheme == SCHEME_UNIX || to->scheme == SCHEME_DNS) {
        struct endpoint named = endpoint_named(to->scheme, to->where, strlen(to->where));
        return ruleset_match(&ruleset, &named, to->where, NULL);
    }
    CHECK(endpoint_parse_address(to->where, strlen(to->where), bytes, &ipv6));
    struct endpoint inet =
        ipv6 ? endpoint_ipv6(to->scheme, bytes, to->port, 0) : endpoint_ipv4(to->scheme, bytes, to->port);
    return ruleset_match(&ruleset, &inet, NULL, to->host);
}

#define TCP(where, port)                                                                                     \
    { SCHEME_TCP, where, port, NULL }
#define NAMED(host, port)                                                                                    \
    { SCHEME_TCP, "192.0.2.1", port, host }
#define UDP(where, port)                                                                                     \
    { SCHEME_UDP, where, port, NULL }
#define UNIX(path)                                                                                           \
    { SCHEME_UNIX, path, 0, NULL }
#define DNS(name)                                                                                            \
    { SCHEME_DNS, name, 0, NULL }

/* A pattern, how it is printed, what it matches and what not. */
struct pattern_case {
    const char *pattern;
    const char *printed; /* NULL: as it is written */
    struct destination yes[4];
    struct destination no[5];
};

static const struct pattern_case PATTERNS[] = {
    {"payments.internal",
     NULL,
     {NAMED("payments.internal", 1), NAMED("payments.internal", 65535)},
     {TCP("192.0.2.1", 1), NAMED("xpayments.internal", 1), NAMED("payments.internal.x", 1),
      DNS("payments.internal")}},
    {"Payments.INTERNAL.:443",
     "payments.internal:443",
     {NAMED("payments.internal", 443)},
     {NAMED("payments.internal", 80), TCP("192.0.2.1", 443)}},
    {"tcp://h_1-a:443-445",
     "h_1-a:443-445",
     {NAMED("h_1-a", 443), NAMED("h_1-a", 444), NAMED("h_1-a", 445)},
     {NAMED("h_1-a", 442), NAMED("h_1-a", 446)}},
    {"localhost", NULL, {NAMED("localhost", 1)}, {TCP("127.0.0.1", 1)}},
    {"*.svc.local:443",
     NULL,
     {NAMED("a.svc.local", 443), NAMED("b.a.svc.local", 443)},
     {NAMED("svc.local", 443), NAMED("asvc.local", 443), NAMED("a.svc.local", 80), TCP("192.0.2.1", 443)}},
    {"*.Com.", "*.com", {NAMED("a.com", 1)}, {NAMED("com", 1), NAMED("a.com.x", 1)}},
    {"10.0.0.0/8",
     NULL,
     {TCP("10.0.0.0", 1), TCP("10.255.255.255", 9), {SCHEME_TCP, "10.1.2.3", 5, "x"}},
     {TCP("11.0.0.0", 1), TCP("9.255.255.255", 1), UDP("10.0.0.1", 1), TCP("a00::1", 1)}},
    {"10.0.0.5:443",
     NULL,
     {TCP("10.0.0.5", 443), TCP("::ffff:10.0.0.5", 443)},
     {TCP("10.0.0.5", 444), TCP("10.0.0.4", 443), TCP("10.0.1.5", 443)}},
    {"10.0.0.5/32", "10.0.0.5", {TCP("10.0.0.5", 1)}, {TCP("10.0.0.4", 1)}},
    {"10.1.0.0/17:80-90", NULL, {TCP("10.1.127.255", 85)}, {TCP("10.1.128.0", 85), TCP("10.1.0.0", 91)}},
    {"0.0.0.0/0", NULL, {TCP("0.0.0.0", 1), TCP("255.255.255.255", 1)}, {TCP("::", 1)}},
    {"[2001:db8::]/32:5432",
     NULL,
     {TCP("2001:db8::1", 5432), TCP("2001:db8:ffff::", 5432)},
     {TCP("2001:db9::1", 5432), TCP("2001:db8::1", 5433), TCP("32.1.13.184", 5432)}},
    {"[::1]", NULL, {TCP("::1", 1)}, {TCP("::2", 1), TCP("127.0.0.1", 1)}},
    {"[::]/0:80", NULL, {TCP("::", 80), TCP("ffff::1", 80)}, {TCP("1.2.3.4", 80), TCP("::1", 81)}},
    {"[::FFFF:10.0.0.5]:1", "10.0.0.5:1", {TCP("10.0.0.5", 1)}, {TCP("10.0.0.6", 1)}},
    {"[::ffff:10.0.0.0]/104", "10.0.0.0/8", {TCP("10.9.0.5", 1)}, {TCP("11.0.0.6", 1)}},
    {"[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]", {TCP("1:0:0:2::3", 1)}, {TCP("1::3", 1)}},
    {"[1:2:3:4:5:6:0:8]", NULL, {TCP("1:2:3:4:5:6:0:8", 1)}, {TCP("1:2:3:4:5:6:7:8", 1)}},
    {"[fe80::]/10", NULL, {TCP("febf::1", 1)}, {TCP("fec0::1", 1)}},
    {"[1::]", NULL, {TCP("1::", 1)}, {TCP("::", 1)}},
    {":6379",
     NULL,
     {TCP("1.2.3.4", 6379), TCP("::1", 6379), NAMED("x", 6379)},
     {TCP("1.2.3.4", 6380), UDP("1.2.3.4", 6379), UNIX("/6379"), DNS("x")}},
    {":8000-8099",
     NULL,
     {TCP("1.2.3.4", 8000), TCP("1.2.3.4", 8099)},
     {TCP("1.2.3.4", 7999), TCP("1.2.3.4", 8100)}},
    {"*:1-65535", ":1-65535", {TCP("1.2.3.4", 1), TCP("::1", 65535)}, {UDP("1.2.3.4", 1)}},
    {"*",
     NULL,
     {TCP("1.2.3.4", 1), TCP("::1", 65535), NAMED("x", 5)},
     {UDP("1.2.3.4", 1), UNIX("/x"), DNS("x")}},
    {"tcp://*", "*", {TCP("1.2.3.4", 1)}, {UDP("1.2.3.4", 1)}},
    {"udp://*", NULL, {UDP("1.2.3.4", 1), UDP("::1", 2)}, {TCP("1.2.3.4", 1)}},
    {"udp://:53", NULL, {UDP("1.2.3.4", 53)}, {UDP("1.2.3.4", 54), TCP("1.2.3.4", 53)}},
    {"udp://10.0.0.0/8:53", NULL, {UDP("10.2.3.4", 53)}, {TCP("10.2.3.4", 53)}},
    {"udp://stats.local", NULL, {{SCHEME_UDP, "1.1.1.1", 1, "stats.local"}}, {NAMED("stats.local", 1)}},
    {"unix:///run/db.sock",
     NULL,
     {UNIX("/run/db.sock")},
     {UNIX("/run/db.sock2"), UNIX("/run/DB.sock"), UNIX("run/db.sock"), TCP("1.2.3.4", 1)}},
    {"unix:///run/mysqld/*.sock",
     NULL,
     {UNIX("/run/mysqld/a.sock"), UNIX("/run/mysqld/.sock")},
     {UNIX("/run/mysqld/a/b.sock"), UNIX("/run/mysqld/a.sock.lock"), UNIX("/run/mysqld/sock")}},
    {"unix:///run/*/a*b*.s",
     NULL,
     {UNIX("/run/x/ab.s"), UNIX("/run/x/aabb.s.s"), UNIX("/run/x/axbxb.s")},
     {UNIX("/run/x/y/ab.s"), UNIX("/run/x/ba.s"), UNIX("/run//x/ab.s"), UNIX("/run/x/ab.")}},
    {"unix:///run/my app#1 \\.sock", NULL, {UNIX("/run/my app#1 \\.sock")}, {UNIX("/run/my")}},
    {"unix://@cutout-*", NULL, {UNIX("@cutout-1")}, {UNIX("/cutout-1")}},
    {"unix://*", NULL, {UNIX("/x"), UNIX("@x"), UNIX("x/y")}, {TCP("1.2.3.4", 1), DNS("x")}},
    {"dns://*.internal",
     NULL,
     {DNS("a.internal"), DNS("b.a.internal")},
     {DNS("internal"), NAMED("a.internal", 1)}},
    {"dns://Db.internal", "dns://db.internal", {DNS("db.internal")}, {DNS("xdb.internal")}},
    {"dns://*", NULL, {DNS("x"), DNS("a.b")}, {TCP("1.2.3.4", 1), UNIX("x")}},
};

static void check_matches(const struct pattern_case *is) {
    for (size_t i = 0; i < 4 && is->yes[i].where != NULL; i++) {
        if (match(&is->yes[i]) != 1) {
            fprintf(stderr, "%s does not match its example %zu\n", is->pattern, i);
            exit(1);
        }
    }
    for (size_t i = 0; i < 5 && is->no[i].where != NULL; i++) {
        if (match(&is->no[i]) != 0) {
            fprintf(stderr, "%s matches its counter-example %zu\n", is->pattern, i);
            exit(1);
        }
    }
}

static void test_patterns(void) {
    for (size_t i = 0; i < sizeof PATTERNS / sizeof PATTERNS[0]; i++) {
        const struct pattern_case *is = &PATTERNS[i];
        char text[256], bytes[256];
        snprintf(text, sizeof text, "[r]\nmatch = %s", is->pattern);
        read_good(text);
        CHECK(ruleset.patterns == 1 && notes.warnings == 0);
        check_matches(is);
        struct text printed = text_in(bytes, sizeof bytes);
        pattern_write(&printed, &ruleset, &ruleset.pattern[0]);
        check_text(bytes, is->printed != NULL ? is->printed : is->pattern);
        check_round_trip();
        check_matches(is);
    }
}

/* File order decides, not the narrower pattern. */
static void test_order(void) {
    read_good("[a]\nmatch = 10.0.0.5:443, b.local\n[c]\nmatch = 10.0.0.0/8, *.local\nmode = off\n"
              "[d]\nmatch = :443\n[e]\nmatch = *\n[f]\nmatch = udp://*\n");
    CHECK(match(&(struct destination)TCP("10.0.0.5", 443)) == 1);
    CHECK(match(&(struct destination)TCP("10.0.0.5", 80)) == 2);
    CHECK(match(&(struct destination)NAMED("b.local", 80)) == 1);
    CHECK(match(&(struct destination)NAMED("c.local", 80)) == 2);
    CHECK(match(&(struct destination){SCHEME_TCP, "10.0.0.9", 80, "b.local"}) == 1);
    CHECK(match(&(struct destination)TCP("11.0.0.5", 443)) == 3);
    CHECK(match(&(struct destination)TCP("11.0.0.5", 80)) == 4);
    CHECK(match(&(struct destination)UDP("11.0.0.5", 80)) == 5);
    CHECK(match(&(struct destination)UNIX("/x")) == 0);
    CHECK(match(&(struct destination)DNS("x")) == 0);
}

/* Many rules: the last one is found, and what is full says so. */
static void test_many(void) {
    static char text[4u << 20];
    size_t at = 0;
    for (unsigned i = 0; i < 1023; i++) {
        at += (size_t)sprintf(text + at, "[r%u]\nmatch = host-%u.internal:%u, 10.%u.%u.0/24\n", i, i, i + 1,
                              i / 256, i % 256);
    }
    read_good(text);
    CHECK(ruleset.rules == 1024 && ruleset.patterns == 2046);
    CHECK(match(&(struct destination)NAMED("host-1022.internal", 1023)) == 1023);
    CHECK(match(&(struct destination)TCP("10.3.254.7", 5)) == 1023);
    CHECK(match(&(struct destination)NAMED("host-1023.internal", 1023)) == 0);
    check_round_trip();
    for (unsigned i = 1023; i < 5000; i++) {
        at += (size_t)sprintf(text + at, "[r%u]\nmatch = host-%u\n", i, i);
    }
    expect_notes(text, "t:2047:2: found 'host-1023', expected at most 1023 rules\n"
                       "t:4093:2: found 'r2046', expected at most 2046 sections\n");
    at = (size_t)sprintf(text, "[r]\nmatch = a0");
    for (unsigned i = 1; i < 8192; i++) {
        at += (size_t)sprintf(text + at, ",a%u", i);
    }
    read_good(text);
    CHECK(ruleset.patterns == 8192 && match(&(struct destination)NAMED("a8191", 1)) == 1);
    check_round_trip();
    sprintf(text + at, ", b, c");
    char wanted[128];
    snprintf(wanted, sizeof wanted,
             "t:2:%zu: found 'b', expected at most 8192 patterns and 384 KiB of names\n",
             at + 2 - strlen("[r]\n") + 1);
    expect_notes(text, wanted);
}

/* Whatever another process writes over a ruleset: no step outside of it, and an end. */
static void test_scribbled(void) {
    static uint8_t bytes[sizeof(struct ruleset)];
    struct destination to[] = {TCP("10.0.0.5", 443), NAMED("a.b", 1), UNIX("/run/a"), DNS("a.b"),
                               TCP("::1", 9)};
    uint64_t random = 1;
    for (unsigned round = 0; round < 12; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[i] = (uint8_t)(round < 8 ? random >> 56 : round % 2 == 0 ? 0xff : i % 7 == 0 ? '*' : 4);
        }
        memcpy(&ruleset, bytes, sizeof ruleset);
        if (round % 2 == 1) {
            ruleset.patterns = ruleset.rules = 1000;
            for (size_t i = 0; i < RULESET_PATTERNS; i++) {
                ruleset.pattern[i].scheme = (uint8_t)(1 + i % 4);
                ruleset.pattern[i].kind = (uint8_t)(i % 6);
                ruleset.pattern[i].port_low = 0;
                ruleset.pattern[i].length = (uint16_t)(i % 3 == 0 ? 100 : 65535);
            }
        }
        for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
            uint32_t rule = match(&to[i]);
            CHECK(rule < RULESET_RULES && (rule == 0 || rule < ruleset.rules));
        }
        CHECK(ruleset_rule(&ruleset, UINT32_MAX) == &ruleset.rule[0]);
        CHECK(ruleset_find(&ruleset, "default") <= RULESET_RULES);
        ruleset_copy(&again, &ruleset);
        CHECK(again.rules <= RULESET_RULES && again.patterns <= RULESET_PATTERNS);
        CHECK(again.text_bytes <= RULESET_TEXT);
    }
}

/* A text that would reach over the ruleset's end, where the very bytes follow that are looked for. */
static void test_beyond(void) {
    static struct {
        struct ruleset inside;
        char after[64];
    } memory;
    struct pattern *pattern = &memory.inside.pattern[0];
    struct endpoint to = endpoint_ipv4(SCHEME_TCP, (const uint8_t[4]){10, 0, 0, 1}, 80);
    memset(memory.inside.text + RULESET_TEXT - 8, 'a', 8);
    memset(memory.after, 'a', sizeof memory.after);
    memory.inside.rules = 2;
    memory.inside.patterns = 1;
    *pattern = (struct pattern){
        .rule = 1, .scheme = SCHEME_TCP, .kind = PATTERN_NAME, .port_high = 65535, .length = 8};
    pattern->text = RULESET_TEXT - 8;
    CHECK(ruleset_match(&memory.inside, &to, NULL, "aaaaaaaa") == 1);
    pattern->text++;
    CHECK(ruleset_match(&memory.inside, &to, NULL, "aaaaaaaa") == 0);
    pattern->rule = 2;
    pattern->text--;
    CHECK(ruleset_match(&memory.inside, &to, NULL, "aaaaaaaa") == 0);
}

static const struct test_case CASES[] = {{"patterns", test_patterns},
                                         {"order", test_order},
                                         {"many", test_many},
                                         {"scribbled", test_scribbled},
                                         {"beyond", test_beyond}};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
