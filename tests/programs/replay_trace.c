/* Cases of lib/trace.c: what a line means, which column is blamed, and that what is written is read again. */
#include "lib/trace.h"
#include "tests/programs/check.h"

#include <stdint.h>

#define MS UINT64_C(1000000)

static struct trace_record record;
static struct trace_error error;

static enum trace_line read_line(const char *line) {
    size_t size = strlen(line);
    char *copy = malloc(size + 1); /* ends where the line ends: a look beyond is seen by sanitizers */
    memcpy(copy + 1, line, size);
    enum trace_line what = trace_read(copy + 1, size, &record, &error);
    /* The pieces must outlive the copy. */
    record.destination.bytes = line + (record.destination.bytes - (copy + 1));
    record.name.bytes = record.name.size > 0 ? line + (record.name.bytes - (copy + 1)) : NULL;
    record.rule.bytes = record.rule.size > 0 ? line + (record.rule.bytes - (copy + 1)) : NULL;
    error.found.bytes = what == TRACE_BAD ? line + (error.found.bytes - (copy + 1)) : NULL;
    free(copy);
    return what;
}

static void reads(const char *line, uint64_t start_ns, uint64_t response_ns) {
    CHECK(read_line(line) == TRACE_CALL);
    CHECK(record.start_ns == start_ns);
    CHECK(record.response_ns == response_ns);
}

/* The message is COLUMN: TEXT. */
static void refuses(const char *line, const char *message) {
    char text[TRACE_ERROR_MAX], whole[TRACE_ERROR_MAX + 16];
    struct trace_target target;
    enum trace_line what = read_line(line);
    CHECK(what == TRACE_BAD || (what == TRACE_CALL && !trace_target(&record, &target, &error)));
    trace_error_format(&error, text, sizeof text);
    snprintf(whole, sizeof whole, "%u: %s", error.found.column, text);
    check_text(whole, message);
}

static void test_numbers(void) {
    reads("0 tcp://10.0.0.5:443 success 0ms", 0, 0);
    reads("0.000000001 tcp://10.0.0.5:443 success 12ms", 1, 12 * MS);
    reads("9999999999.999999999 tcp://10.0.0.5:443 success 1.5s", UINT64_C(9999999999999999999), 1500 * MS);
    reads("12.5 tcp://10.0.0.5:443 success 2m", 12500 * MS, 120000 * MS);
    reads("12.500000000000 tcp://10.0.0.5:443 success 1h", 12500 * MS, 3600000 * MS);
    reads("7 tcp://10.0.0.5:443 success -", 7000 * MS, TRACE_NEVER);
    reads("7 tcp://10.0.0.5:443 success 0.000001ms", 7000 * MS, 1);
    reads("7 tcp://10.0.0.5:443 success 0.000000001h", 7000 * MS, 3600);
    reads("7 tcp://10.0.0.5:443 success 31622400s", 7000 * MS, UINT64_C(31622400000000000));
    reads("\t 1 \t tcp://10.0.0.5:443   ignored\t3ms  \r", 1000 * MS, 3 * MS);
}

static void test_words(void) {
    reads("0 tcp://10.0.0.5:443 failure:timeout 1s", 0, 1000 * MS);
    CHECK(record.outcome == OUTCOME_FAILURE && record.reason == REASON_TIMEOUT);
    CHECK(!record.kept && !record.connect && record.name.size == 0);
    reads("0 tcp://10.0.0.5:443 failure:refused 1ms", 0, MS);
    CHECK(record.connect);
    reads("0 tcp://10.0.0.5:443 failure:unreachable 1ms kept", 0, MS);
    CHECK(record.kept && !record.connect);
    reads("0 tcp://10.0.0.5:443 failure:timeout 1ms connect name=api.internal # so it was", 0, MS);
    CHECK(record.connect && record.name.size == 12);
    reads("0 tcp://10.0.0.5:443 ignored 1ms #", 0, MS);
    CHECK(record.outcome == OUTCOME_IGNORED && record.reason == REASON_NONE);
    CHECK(read_line("") == TRACE_BLANK);
    CHECK(read_line(" \t\r") == TRACE_BLANK);
    CHECK(read_line("# cutout trace 1") == TRACE_BLANK);
    CHECK(read_line("  # start_s destination") == TRACE_BLANK);
    CHECK(read_line("#lost 3") == TRACE_BLANK);
    CHECK(read_line("# lost none") == TRACE_BLANK);
    CHECK(read_line("# lost 42") == TRACE_LOST && record.lost == 42);
}

#define DESTINATION "expected a destination, as tcp://10.0.0.5:443"
#define OUTCOME     "expected success, failure:REASON or ignored"
#define REASON      "expected failure:refused, timeout, reset, closed, unreachable, dns or status"
#define RESPONSE    "expected the response time, as 700ms, 1.5s, 2m or 1h, or '-' for a call that never returned"
#define OPTION      "expected kept or connect, name=HOST (each once), or a comment"
#define TARGET      "expected tcp://ADDRESS:PORT, udp://ADDRESS:PORT, unix:///PATH or dns://NAME"

static void test_refusals(void) {
    refuses("x", "1: found 'x', expected the call's start in seconds, as 12.5");
    refuses("  -1 a", "3: found '-1', expected the call's start in seconds, as 12.5");
    refuses("1. tcp://10.0.0.5:443", "1: found '1.', expected the call's start in seconds, as 12.5");
    refuses("10000000000 a",
            "1: found '10000000000', expected seconds from 0 to 9999999999 with at most 9 decimals");
    refuses("0.0000000001 a",
            "1: found '0.0000000001', expected seconds from 0 to 9999999999 with at most 9 decimals");
    refuses("99999999999999999999999999 a",
            "1: found '99999999999999999999999999', expected seconds from 0 to "
            "9999999999 with at most 9 decimals");
    refuses("1", "2: found nothing, " DESTINATION);
    refuses("1 # what", "3: found '#', " DESTINATION);
    refuses("1 tcp://10.0.0.5:443", "21: found nothing, " OUTCOME);
    refuses("1 tcp://10.0.0.5:443 ok 1ms", "22: found 'ok', " OUTCOME);
    refuses("1 tcp://10.0.0.5:443 failure 1ms", "22: found 'failure', " REASON);
    refuses("1 tcp://10.0.0.5:443 failure:none 1ms", "22: found 'failure:none', " REASON);
    refuses("1 tcp://10.0.0.5:443 success", "29: found nothing, " RESPONSE);
    refuses("1 tcp://10.0.0.5:443 success 12", "30: found '12', " RESPONSE);
    refuses("1 tcp://10.0.0.5:443 success 12us", "30: found '12us', " RESPONSE);
    refuses("1 tcp://10.0.0.5:443 success 1d", "30: found '1d', " RESPONSE);
    refuses("1 tcp://10.0.0.5:443 success 0.0000001ms",
            "30: found '0.0000001ms', expected a response time of at most a year, to the nanosecond");
    refuses("1 tcp://10.0.0.5:443 success 8785h",
            "30: found '8785h', expected a response time of at most a year, to the nanosecond");
    refuses("1 tcp://10.0.0.5:443 success 1ms keep", "34: found 'keep', " OPTION);
    refuses("1 tcp://10.0.0.5:443 success 1ms kept kept", "39: found 'kept', " OPTION);
    refuses("1 tcp://10.0.0.5:443 success 1ms kept connect", "39: found 'connect', " OPTION);
    refuses("1 tcp://10.0.0.5:443 success 1ms name=", "34: found 'name=', " OPTION);
    refuses("1 tcp://10.0.0.5:443 success 1ms name=a name=b", "41: found 'name=b', " OPTION);
    refuses("# cutout trace 2", "16: found '2', expected a trace of version 1");
    refuses("1 \x01\x02 success 1ms", "3: found '\\x01\\x02', " TARGET);
}

static void test_targets(void) {
    refuses("1 10.0.0.5:443 success 1ms", "3: found '10.0.0.5:443', " TARGET);
    refuses("1 tcp://10.0.0.5 success 1ms", "3: found 'tcp://10.0.0.5', " TARGET);
    refuses("1 tcp://10.0.0.256:443 success 1ms", "3: found 'tcp://10.0.0.256:443', " TARGET);
    refuses("1 tcp://10.0.0.5:65536 success 1ms", "3: found 'tcp://10.0.0.5:65536', " TARGET);
    refuses("1 tcp://[19].:80 success 1ms", "3: found 'tcp://[19].:80', " TARGET);
    refuses("1 tcp://::1:80 success 1ms", "3: found 'tcp://::1:80', " TARGET);
    refuses("1 * success 1ms",
            "3: found '*', expected rule=NAME behind the columns, where the destination is '*'");
    refuses("1 * success 1ms rule=a\\x", "22: found 'a\\\\x', expected the name of a rule");
    refuses("1 * success 1ms name=a rule=a",
            "22: found 'a', expected a name only for tcp:// and udp:// destinations");
    refuses("1 tcp://10.0.0.5:443 success 1ms rule=a",
            "39: found 'a', expected a rule only where the destination is '*'");
    refuses("1 unix:///a\\x success 1ms", "3: found 'unix:///a\\\\x', " TARGET);
    refuses("1 dns:// success 1ms", "3: found 'dns://', " TARGET);
    refuses("1 dns://db success 1ms name=db",
            "29: found 'db', expected a name only for tcp:// and udp:// destinations");
    refuses("1 tcp://10.0.0.5:443 success 1ms name=a\\x00",
            "39: found 'a\\\\x00', expected a host name of at most 255 bytes");
}

/* Reads the line, and writes it. */
static void writes(const char *line, const char *written) {
    char bytes[TRACE_LINE_MAX], destination[ENDPOINT_TEXT_MAX];
    struct trace_target target;
    CHECK(read_line(line) == TRACE_CALL && trace_target(&record, &target, &error));
    struct trace_record plain = record;
    plain.destination.bytes = destination;
    plain.destination.size = endpoint_format(&target.endpoint, target.text, destination, sizeof destination);
    plain.name.bytes = target.host;
    plain.name.size = record.name.size > 0 ? strlen(target.host) : 0;
    plain.rule.bytes = target.rule;
    plain.rule.size = strlen(target.rule);
    CHECK(trace_write(&plain, bytes, sizeof bytes) == strlen(bytes));
    check_text(bytes, written);
}

static void test_writing(void) {
    writes("0 tcp://10.0.0.5:443 success 12ms", "0.000 tcp://10.0.0.5:443 success 12ms\n");
    writes("1.25 tcp://[::FFFF:10.0.0.5]:443 failure:refused 0.5ms",
           "1.250 tcp://10.0.0.5:443 failure:refused 0.5ms\n");
    writes("12345.123456789 tcp://[0:0::1]:80 failure:timeout 1s connect",
           "12345.123456789 tcp://[::1]:80 failure:timeout 1000ms connect\n");
    writes("3 tcp://[fe80::1%3]:80 ignored - kept", "3.000 tcp://[fe80::1%3]:80 ignored - kept\n");
    writes("3 tcp://10.0.0.5:1 success 0.000001ms name=Api.Internal.",
           "3.000 tcp://10.0.0.5:1 success 0.000001ms name=api.internal\n");
    writes("3 tcp://Api.Internal.:1 success 1ms", "3.000 tcp://api.internal:1 success 1ms\n");
    writes("3 udp://9.9.9.9:53 failure:unreachable 1ms kept",
           "3.000 udp://9.9.9.9:53 failure:unreachable 1ms kept\n");
    writes("3 unix:///run/a\\x20b\\x0a success 1ms", "3.000 unix:///run/a\\x20b\\x0a success 1ms\n");
    writes("3 unix://@bus success 1ms", "3.000 unix://@bus success 1ms\n");
    writes("3 * success 1ms rule=orders", "3.000 * success 1ms rule=orders\n");
    writes("3 dns://DB.internal failure:dns 5s", "3.000 dns://db.internal failure:dns 5000ms\n");
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"numbers", test_numbers},
                                             {"words", test_words},
                                             {"refusals", test_refusals},
                                             {"targets", test_targets},
                                             {"writing", test_writing}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
