/* Cases of what is said of a bad rules file: every message with its place. */
#include "tests/programs/rules_reading.h"

static const struct message_case LINES[] = {
    {"", ""},
    {"\n\r\n \t\n# only this\n#[x", ""},
    {"\xef\xbb\xbf[r]\r\nmatch = *\r\nprobes = 4", ""},
    {"[ r ]# comment\nmatch=*", ""},
    {"[r\n", "t:1:1: found '[r', expected a ']' behind the section's name\n"},
    {"[r] x # y\n", "t:1:5: found 'x', expected nothing more behind [NAME]\n"},
    {"[]\n", "t:1:2: found nothing, expected a section's name\n"},
    {"[  ]\nmatch = *", "t:1:4: found nothing, expected a section's name\n"},
    {"[a\tb]", "t:1:2: found 'a\\x09b', expected a name in UTF-8 without control characters\n"},
    {"[a\x80]", "t:1:2: found 'a\\x80', expected a name in UTF-8 without control characters\n"},
    {"[z\xc3\xbcrich\\1]", ""},
    {"[123456789012345678901234567890123456789012345678901234567890123]", ""},
    {"[1234567890123456789012345678901234567890123456789012345678901234]",
     "t:1:2: found '1234567890123456789012345678901234567890...', expected a name of at most 63 bytes\n"},
    {"[r]\n  window 10s # c\n", "t:2:3: found 'window 10s', expected [NAME], KEY = VALUE or include FILE\n"},
    {"[r]\nwindow: 10s", "t:2:1: found 'window: 10s', expected [NAME], KEY = VALUE or include FILE\n"},
    {"[r]\n = 10s", "t:2:2: found '= 10s', expected [NAME], KEY = VALUE or include FILE\n"},
    {"[r]\nwindow =  # c\n", "t:2:11: found nothing, expected a duration from 1s to 1h\n"},
    {"window = 10s\nprobez = 1\n[r]\nmatch = *",
     "t:1:1: found 'window', expected a section [NAME] above it\n"
     "t:2:1: found 'probez', expected a key of cutout (did you mean 'probes'?)\n"},
    {"[r]\r\nprobes = 1\rwindow = 2s\n", "t:2:11: found '\\x0d', expected lines that end in a line feed\n"},
    {"\xff\xfe[\x01]", "t:1:1: found '\\xff\\xfe', expected UTF-8 (the file begins like UTF-16)\n"},
};

static void test_lines(void) {
    CHECK_MESSAGES(LINES);
    const char bytes[] = "[r]\nmatch = *\nprobes = \0"
                         "4\nwindow = 9s\n";
    CHECK(!read_bytes(bytes, sizeof bytes - 1) && notes.errors == 1);
    CHECK(notes.note[0].line == 3 && notes.note[0].column == 10);
    check_text(notes.note[0].text, "found '\\x00', expected text (the file holds a NUL byte)");
}

static const struct message_case KEYS[] = {
    {"[r]\nwindoww = 10s", "t:2:1: found 'windoww', expected a key of cutout (did you mean 'window'?)\n"},
    {"[r]\n min-calls = 10",
     "t:2:2: found 'min-calls', expected a key of cutout (did you mean 'min_calls'?)\n"},
    {"[r]\nErrorRatio = 1%",
     "t:2:1: found 'ErrorRatio', expected a key of cutout (did you mean 'error_ratio'?)\n"},
    {"[r]\nzzz = 1%", "t:2:1: found 'zzz', expected a key of cutout\n"},
    {"[r]\ninclude = a", "t:2:1: found 'include' as a key, expected include FILE without '='\n"},
    {"[r]\nfallback = name",
     "t:2:1: found 'fallback', expected a key that this version of cutout knows: this one it "
     "does not know yet\n"},
    {"[r]\nhttp_errors = 5", "t:2:1: found 'http_errors', expected a key that this version of cutout knows: "
                             "this one it does not know yet\n"},
    {"[r]\nfailureRateThreshold = 50",
     "t:2:1: found 'failureRateThreshold', a key of Resilience4j, expected 'error_ratio'\n"},
    {"[r]\nslow-call-duration-threshold = 1s",
     "t:2:1: found 'slow-call-duration-threshold', a key of Resilience4j, expected 'slow_call'\n"},
    {"[r]\npermittedNumberOfCallsInHalfOpenState = 3",
     "t:2:1: found 'permittedNumberOfCallsInHalfOpenState', a "
     "key of Resilience4j, expected 'probes'\n"},
    {"[r]\nminRequestAmount = 3",
     "t:2:1: found 'minRequestAmount', a key of Sentinel, expected 'min_calls'\n"},
    {"[r]\nstatIntervalMs = 3", "t:2:1: found 'statIntervalMs', a key of Sentinel, expected 'window'\n"},
    {"[r]\ntimeWindow = 3", "t:2:1: found 'timeWindow', a key of Sentinel, expected 'open_for'\n"},
    {"[r]\nbase_ejection_time = 3s",
     "t:2:1: found 'base_ejection_time', a key of Envoy, expected 'open_for'\n"},
    {"[r]\nmaxEjectionPercent = 3",
     "t:2:1: found 'maxEjectionPercent', a key of Envoy, expected 'max_open'\n"},
    {"[r]\nmin-health-percent = 3",
     "t:2:1: found 'min-health-percent', a key of Istio, expected 'max_open' (100% less it)\n"},
    {"[r]\nmaxEjectionTime = 300s", "t:2:1: found 'maxEjectionTime', a key of Envoy, expected 'open_max'\n"},
    {"[r]\nexponential_backoff_multiplier = 2",
     "t:2:1: found 'exponential_backoff_multiplier', a key of Resilience4j, expected 'open_backoff'\n"},
    {"[r]\nrandomizedWaitFactor = 0.5",
     "t:2:1: found 'randomizedWaitFactor', a key of Resilience4j, expected 'open_jitter'\n"},
    {"[r]\nmaxConcurrentCalls = 25",
     "t:2:1: found 'maxConcurrentCalls', a key of Resilience4j, expected 'max_in_flight'\n"},
    {"[r]\nmaxconn = 25", "t:2:1: found 'maxconn', a key of HAProxy, expected 'max_in_flight'\n"},
    {"[r]\ncount = 25",
     "t:2:1: found 'count', a key of Sentinel, expected 'error_ratio', 'error_count', or 'slow_call'\n"},
    {"[r]\nwarm_up = 25s", "t:2:1: found 'warm_up', expected a key of cutout (did you mean 'warmup'?)\n"},
    {"[r]\nsuccess_ratio = 50%",
     "t:2:1: found 'success_ratio', a key of another product, expected 'error_ratio' "
     "(100% less it)\n"},
    {"[r]\nmatch = *\nprobes = 4\nprobes = 5",
     "t:4:1: found 'probes' again, expected each key once a section (the "
     "first: line 3)\n"},
    {"[r]\nmatch = a\nmatch = b", "t:3:1: found 'match' again, expected one 'match' a section, its patterns "
                                  "separated by commas (the first: line 2)\n"},
    {"[r]\nlike = x\nlike = x\n[x]",
     "t:3:1: found 'like' again, expected each key once a section (the first: line "
     "2)\n"},
    {"[default]\nmatch = *\nlike = x\n[x]",
     "t:2:1: found 'match', expected neither 'match' nor 'like' in "
     "[default]\nt:3:1: found 'like', expected neither 'match' nor 'like' in "
     "[default]\n"},
};

static void test_keys(void) {
    CHECK_MESSAGES(KEYS);
}

static const struct message_case VALUES[] = {
    {"[r]\nwindow = 10",
     "t:2:10: found '10', expected a unit (ms, s, m, h) behind the number, from 1s to 1h\n"},
    {"[r]\nslow_call = 2h", "t:2:13: found '2h', expected a duration from 1ms to 1h, or 'off'\n"},
    {"[r]\nwindow = 1.0005s", "t:2:10: found '1.0005s', expected whole milliseconds\n"},
    {"[r]\nopen_for = 1.00000001s", "t:2:12: found '1.00000001s', expected whole microseconds (0.001ms)\n"},
    {"[r]\nerror_ratio = 50",
     "t:2:15: found '50', expected a ratio above 0 to 100%, as 50% or 0.5, or 'off'\n"},
    {"[r]\nslow_ratio = 0.001%", "t:2:14: found '0.001%', expected whole hundredths of a percent (0.01%)\n"},
    {"[r]\nprobes = 33", "t:2:10: found '33', expected a whole number from 1 to 32\n"},
    {"[r]\nconsecutive_errors = 0", "t:2:22: found '0', expected a whole number from 1 to 1000, or 'off'\n"},
    {"[r]\nmode = observed", "t:2:8: found 'observed', expected enforce, observe or off (did you mean "
                             "'observe'?)\n"},
    {"[r]\nprotocol = mysql", "t:2:12: found 'mysql', expected auto, none, http or redis\n"},
    {"[r]\ngate = request", "t:2:8: found 'request', expected 'connect' or 'connect, request'\n"},
    {"[r]\nrefuse_with = ETIMEOUT",
     "t:2:15: found 'ETIMEOUT', expected an errno name that says no destination "
     "answers, as ECONNREFUSED or ETIMEDOUT (did you mean 'ETIMEDOUT'?)\n"},
    {"[r]\nmode = \x1b[2J", "t:2:8: found '\\x1b[2J', expected enforce, observe or off\n"},
    {"[r]\nmode = 0123456789012345678901234567890123456789\xc3\xbc",
     "t:2:8: found '0123456789012345678901234567890123456789...', expected enforce, observe or off\n"},
    {"[r]\nmode = 012345678901234567890123456789012345678\xc3\xbc",
     "t:2:8: found '012345678901234567890123456789012345678...', expected enforce, observe or off\n"},
    {"[r]\nwarmup = 25h", "t:2:10: found '25h', expected a duration from 0s to 24h\n"},
    {"[r]\nopen_jitter = 10", "t:2:15: found '10', expected a ratio from 0 to 100%, as 10% or 0.1\n"},
    {"[r]\nmax_open = 50", "t:2:12: found '50', expected a ratio above 0 to 100%, as 50% or 0.5\n"},
    {"[r]\nopen_backoff = 11", "t:2:16: found '11', expected a number from 1 to 10\n"},
    {"[r]\nopen_backoff = 1.005", "t:2:16: found '1.005', expected whole hundredths (0.01)\n"},
    {"[r]\nforget_after = 1s", "t:2:16: found '1s', expected a duration from 1m to 720h\n"},
    {"[r]\nmax_in_flight = 0", "t:2:17: found '0', expected a whole number from 1 to 100000, or 'off'\n"},
    {"[r]\nscope = names",
     "t:2:9: found 'names', expected destination, name or rule (did you mean 'name'?)\n"},
    {"[r]\nslow_exempt = 02:00-02:10, 5m , Mon",
     "t:2:28: found '5m', expected a span of the day, as 02:00-02:10 or Mon-Fri 14:00-14:10 +08:00\n"
     "t:2:33: found 'Mon', expected a span of the day, as 02:00-02:10 or Mon-Fri 14:00-14:10 +08:00\n"},
    {"[r]\nslow_exempt = Mo-Fr 14:00-14:10",
     "t:2:15: found 'Mo-Fr', expected Mon, Tue, Wed, Thu, Fri, Sat, Sun, or a range of them as Mon-Fri\n"},
    {"[r]\nslow_exempt = Mon,Wed 02:00-02:10",
     "t:2:15: found 'Mon', expected a span of the day, as 02:00-02:10 or Mon-Fri 14:00-14:10 +08:00\n"},
    {"[r]\nslow_exempt = 02:00-25:00",
     "t:2:15: found '02:00-25:00', expected times from 00:00 to 23:59, the end to 24:00\n"},
    {"[r]\nslow_exempt = Mon 02:00-2:00",
     "t:2:19: found '02:00-2:00', expected an end that is not the beginning; all day is 00:00-24:00\n"},
    {"[r]\nslow_exempt = 02:00-02:10 +14:01",
     "t:2:27: found '+14:01', expected an offset from UTC from -12:00 to +14:00, as +08:00\n"},
    {"[r]\nslow_exempt = 02:00-02:10 -12:01",
     "t:2:27: found '-12:01', expected an offset from UTC from -12:00 to +14:00, as +08:00\n"},
    {"[r]\nslow_exempt = 02:00-02:10 CET",
     "t:2:27: found 'CET', expected an offset from UTC from -12:00 to +14:00, as +08:00\n"},
    {"[r]\nslow_exempt = 02:00-02:10 +08:00 x",
     "t:2:27: found '+08:00 x', expected an offset from UTC from -12:00 to +14:00, as +08:00\n"},
    {"[r]\nslow_exempt = "
     "1:00-1:01,2:00-2:01,3:00-3:01,4:00-4:01,5:00-5:01,6:00-6:01,7:00-7:01,8:00-8:01,9:00-9:01",
     "t:2:95: found '9:00-9:01', expected at most 8 times of day\n"},
    {"[r]\nslow_exempt = 1:00-1:01,",
     "t:2:25: found nothing, expected a span of the day, as 02:00-02:10 or Mon-Fri 14:00-14:10 +08:00\n"},
};

static void test_values(void) {
    CHECK_MESSAGES(VALUES);
}

/* What stands behind "[r]\nmatch = ", and what is said of it. */
static const struct message_case PATTERNS[] = {
    {"", "8: found nothing, expected a pattern, as payments.internal:443, 10.0.0.0/8 or *"},
    {"a,, b", "11: found nothing, expected a pattern, as payments.internal:443, 10.0.0.0/8 or *"},
    {"a, ", "11: found nothing, expected a pattern, as payments.internal:443, 10.0.0.0/8 or *"},
    {"http://a", "9: found 'http', expected tcp, udp, unix or dns in front of '://'"},
    {"a, TCP://b", "12: found 'TCP', expected tcp, udp, unix or dns in front of '://'"},
    {"tcp://", "15: found nothing, expected a host, an address, a ':PORT' or '*'"},
    {"a:0", "11: found '0', expected a port from 1 to 65535"},
    {"a:65536", "11: found '65536', expected a port from 1 to 65535"},
    {"a:http", "11: found 'http', expected a port from 1 to 65535"},
    {"a:", "11: found nothing, expected a port from 1 to 65535"},
    {"a:80-", "14: found nothing, expected a port from 1 to 65535"},
    {":80-70", "10: found '80-70', expected a range of ports from the lower to the higher"},
    {"10.0.0.0/33", "18: found '33', expected a prefix from 0 to 32"},
    {"[::1]/129", "15: found '129', expected a prefix from 0 to 128"},
    {"[::ffff:1.2.3.4]/95", "26: found '95', expected a prefix from 96 to 128"},
    {"10.0.0.0/", "18: found nothing, expected a prefix from 0 to 32"},
    {"host/8", "9: found 'host', expected an address, as 10.0.0.5 or [2001:db8::1]"},
    {"[::1", "9: found '[::1', expected an address, as 10.0.0.5 or [2001:db8::1]"},
    {"[::1]x:80", "9: found '[::1]x', expected an address, as 10.0.0.5 or [2001:db8::1]"},
    {"[fe80::1%eth0]", "9: found '[fe80::1%eth0]', expected an address, as 10.0.0.5 or [2001:db8::1]"},
    {"::1", "9: found '::1', expected an IPv6 address in brackets, as [2001:db8::1] or [2001:db8::]/32:443"},
    {"10.0.0.256",
     "9: found '10.0.0.256', expected an IPv4 address of four numbers up to 255, as 10.0.0.5 or "
     "10.0.0.0/8"},
    {"10.0.1",
     "9: found '10.0.1', expected an IPv4 address of four numbers up to 255, as 10.0.0.5 or 10.0.0.0/8"},
    {"10.0.0.*", "9: found '10.0.0.*', expected a '*' only as a whole host or in front, as *.svc.local"},
    {"*svc.local", "9: found '*svc.local', expected a '*' only as a whole host or in front, as *.svc.local"},
    {"*.", "10: found '.', expected a host name"},
    {"a..b", "9: found 'a..b', expected a host name without empty parts"},
    {"a..", "9: found 'a.', expected a host name without empty parts"},
    {"a b", "10: found ' b', expected a comma between patterns"},
    {"a@b", "10: found '@b', expected letters, digits, '-', '_' and '.' in a host name"},
    {"z\xc3\xbcrich.ch", "9: found 'z\xc3\xbcrich.ch', expected a host name in ASCII (its xn-- form)"},
    {"unix://run/x",
     "16: found 'run/x', expected an absolute path, as unix:///run/db.sock, an abstract @name or "
     "'*'"},
    {"unix:///run/\x01",
     "16: found '/run/\\x01', expected a path of at most 107 bytes of UTF-8 without control "
     "characters"},
    {"dns://a:53", "16: found ':53', expected no port: a look-up has none"},
    {"dns://10.0.0.1", "15: found '10.0.0.1', expected a host name: an address is never looked up"},
};

/* The pattern is good where expected is ""; otherwise that is what the only message says. */
static void check_length(const char *scheme, const char *where, const char *expected) {
    char text[512];
    snprintf(text, sizeof text, "[r]\nmatch = %s%s", scheme, where);
    bool good = read_text(text);
    CHECK(good == (expected[0] == '\0') && notes.errors == !good);
    CHECK(good || strstr(notes.note[0].text, expected) != NULL);
}

static void test_patterns(void) {
    for (size_t i = 0; i < sizeof PATTERNS / sizeof PATTERNS[0]; i++) {
        char text[128], wanted[512];
        snprintf(text, sizeof text, "[r]\nmatch = %s", PATTERNS[i].text);
        snprintf(wanted, sizeof wanted, "t:2:%s\n", PATTERNS[i].notes);
        expect_notes(text, wanted);
    }
    char host[255] = {0};
    memset(host, 'a', 253);
    check_length("", host, "");
    memset(host, 'a', 254);
    check_length("", host, "a host name of at most 253 bytes");
    host[107] = '\0';
    host[0] = '/';
    check_length("unix://", host, "");
    host[107] = 'a';
    host[108] = '\0';
    check_length("unix://", host, "a path of at most 107 bytes of UTF-8 without control characters");
}

static const struct message_case SECTIONS[] = {
    {"[r]\nmatch = *\n[ r ]\nprobes = 99",
     "t:3:3: found 'r' again, expected one section of that name (the first: "
     "line 1)\nt:4:10: found '99', expected a whole number from 1 to 32\n"},
    {"[default]\n[default]",
     "t:2:2: found 'default' again, expected one section of that name (the first: line "
     "1)\n"},
    {"[r]\nlike = rcp\n[rpc]", "t:2:8: found 'rcp', expected the name of a section (did you mean 'rpc'?)\n"},
    {"[r]\nlike = nothing", "t:2:8: found 'nothing', expected the name of a section\n"},
    {"[r]\nlike =", "t:2:7: found nothing, expected a section's name\n"},
    {"[r]\nlike = default", "t:2:8: found 'default', expected a template: every rule starts from [default] "
                            "anyway\n"},
    {"[r]\nlike = r", "t:2:8: found 'r', expected a section that does not itself start from this one\n"},
    {"[z]\nlike = a\n[a]\nlike = b\n[b]\nlike = c\n[c]\nlike = a",
     "t:4:8: found 'b', expected a section that does "
     "not itself start from this one\n"},
};

static void test_sections(void) {
    CHECK_MESSAGES(SECTIONS);
}

/* Values that contradict one another: said where the nearer of them stands. */
static const struct message_case TOGETHER[] = {
    {"[r]\nmatch = *\nopen_for = 20s\nopen_max = 19.999s",
     "t:4:1: found 'open_max = 19.999s', expected at least the 'open_for', 20s (line 3)\n"},
    {"[r]\nmatch = *\nopen_for = 20s\nopen_max = 20s\nopen_backoff = 1", ""},
    {"[r]\nmatch = *\nopen_max = 9s",
     "t:3:1: found 'open_max = 9s', expected at least the 'open_for', 10s\n"},
    {"[default]\nopen_max = 9s", "t:2:1: found 'open_max = 9s', expected at least the 'open_for', 10s\n"},
    {"[r]\nmatch = *\nopen_for = 2m\n[default]\nopen_max = 1m",
     "t:3:1: found 'open_for = 2m', expected at most the 'open_max', 1m (line 5)\n"},
    {"[r]\nmatch = *\nlike = t\nopen_for = 2m\n[t]\nopen_max = 1m",
     "t:4:1: found 'open_for = 2m', expected at most the 'open_max', 1m (line 6)\n"},
    {"[r]\nmatch = *\nlike = t\nopen_max = 1m\n[t]\nopen_for = 2m",
     "t:4:1: found 'open_max = 1m', expected at least the 'open_for', 2m (line 6)\n"},
    /* A template's is said once, however many rules take it; one that nobody takes may yet be completed. */
    {"[t]\nopen_max = 9s\n[a]\nmatch = a\nlike = t\n[b]\nmatch = b\nlike = t\n[c]\nmatch = c\nlike = "
     "t\nopen_for = 5s\n",
     "t:2:1: found 'open_max = 9s', expected at least the 'open_for', 10s\n"},
    {"[t]\nopen_max = 9s\n[u]\nopen_for = 1h\nopen_max = 1s", ""},
    /* What was refused is not held against another value. */
    {"[r]\nmatch = *\nopen_max = 9s\nopen_for = 5",
     "t:4:12: found '5', expected a unit (ms, s, m, h) behind the number, from 100ms to 24h\n"},
};

static void test_together(void) {
    CHECK_MESSAGES(TOGETHER);
}

static void add_source(const char *path, const char *text) {
    sources.source[sources.count++] = (struct rules_source){path, text, text != NULL ? strlen(text) : 0};
}

static void test_files(void) {
    sources.count = 0;
    add_source("e/main",
               "include a\ninclude gone\ninclude\ninclude unread\n[t]\n[r]\nmatch = *\nwidow = 2s\n");
    add_source("e/a", "[t]\ninclude main\n[d]\nprobes = 0\n");
    add_source("e/unread", NULL);
    CHECK(!rules_parse(&sources, &ruleset, &notes, scratch));
    rules_warn(scratch);
    const char *wanted[] = {
        "e/main:2:9: found 'gone', expected a file that can be read",
        "e/main:3:8: found nothing, expected the path of a file",
        "e/main:4:9: found 'unread', expected a file that can be read",
        "e/main:5:2: found 't' again, expected one section of that name (the first: e/a line 1)",
        "e/main:8:1: found 'widow', expected a key of cutout (did you mean 'window'?)",
        "e/a:2:9: found 'main', expected a file that does not include this one",
        "e/a:4:10: found '0', expected a whole number from 1 to 32",
    };
    CHECK(notes.count == sizeof wanted / sizeof wanted[0] && notes.errors == notes.count);
    for (size_t i = 0; i < notes.count; i++) {
        char line[512];
        rules_note_format(&sources, &notes.note[i], line, sizeof line);
        check_text(line, wanted[i]);
    }
}

/* More messages than are kept: all are counted, and no error is lost for a warning. */
static void test_flood(void) {
    static char text[65536];
    size_t at = (size_t)sprintf(text, "[r]\nmatch = 10.1.1.1/8");
    for (unsigned i = 1; i < 100; i++) {
        at += (size_t)sprintf(text + at, ", 10.1.1.1/%u", i % 8 + 8);
    }
    sprintf(text + at, "\nprobes = 0\n");
    CHECK(!read_text(text) && notes.count == RULES_NOTES && notes.warnings == 100 && notes.errors == 1);
    CHECK(!notes.note[RULES_NOTES - 1].warning && notes.note[RULES_NOTES - 1].line == 3);
    at = (size_t)sprintf(text, "[r]\n");
    for (unsigned i = 0; i < 500; i++) {
        at += (size_t)sprintf(text + at, "x%u = 1\n", i);
    }
    CHECK(!read_text(text) && notes.count == RULES_NOTES && notes.errors == 500);
    CHECK(notes.note[0].line == 2 && notes.note[RULES_NOTES - 1].line == RULES_NOTES + 1);
}

static const struct test_case CASES[] = {
    {"lines", test_lines},       {"keys", test_keys},         {"values", test_values},
    {"patterns", test_patterns}, {"sections", test_sections}, {"together", test_together},
    {"files", test_files},       {"flood", test_flood},
};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
