/* Cases of the rules language: what values each key takes, and what it is where nobody writes it. */
#include "tests/programs/rules_reading.h"

#include <errno.h>

#define MS UINT64_C(1000000)
#define S  (1000 * MS)
#define H  (3600 * S)

/* The thresholds of a rule whose section holds these lines. */
static const struct thresholds *judged_by(const char *lines) {
    char text[512];
    snprintf(text, sizeof text, "[r]\nmatch = *\n%s\n", lines);
    read_good(text);
    CHECK(ruleset.rules == 2);
    return &ruleset.rule[1].thresholds;
}

/* --- values --- */

#define AT(member) offsetof(struct thresholds, member), sizeof(((struct thresholds *)0)->member)

struct value_case {
    const char *written; /* "key = value" */
    size_t offset, size;
    uint64_t value;
};

static const struct value_case VALUES[] = {
    {"mode = enforce", AT(mode), MODE_ENFORCE},
    {"mode = observe", AT(mode), MODE_OBSERVE},
    {"mode = off", AT(mode), MODE_OFF},
    {"scope = destination", AT(scope), SCOPE_DESTINATION},
    {"scope = name", AT(scope), SCOPE_NAME},
    {"scope = rule", AT(scope), SCOPE_RULE},
    {"judge = auto", AT(judge), JUDGE_AUTO},
    {"judge = connect", AT(judge), JUDGE_CONNECT},
    {"judge = first", AT(judge), JUDGE_FIRST},
    {"judge = every", AT(judge), JUDGE_EVERY},
    {"gate = connect", AT(gate), GATE_CONNECT},
    {"gate = connect, request", AT(gate), GATE_REQUEST},
    {"gate = request,connect", AT(gate), GATE_REQUEST},
    {"protocol = auto", AT(protocol), PROTOCOL_AUTO},
    {"protocol = none", AT(protocol), PROTOCOL_NONE},
    {"protocol = http", AT(protocol), PROTOCOL_HTTP},
    {"protocol = redis", AT(protocol), PROTOCOL_REDIS},
    {"window = 1s", AT(window_ms), 1000},
    {"window = 1000ms", AT(window_ms), 1000},
    {"window = 1h", AT(window_ms), 3600000},
    {"window = 60m", AT(window_ms), 3600000},
    {"window = 7.25s", AT(window_ms), 7250},
    {"buckets = 1", AT(buckets), 1},
    {"buckets = 60", AT(buckets), 60},
    {"min_calls = 1", AT(min_calls), 1},
    {"min_calls = 1000000", AT(min_calls), 1000000},
    {"error_ratio = 0.01%", AT(error_ratio), 1},
    {"error_ratio = 0.0001", AT(error_ratio), 1},
    {"error_ratio = 100%", AT(error_ratio), 10000},
    {"error_ratio = 1", AT(error_ratio), 10000},
    {"error_ratio = 0.5", AT(error_ratio), 5000},
    {"error_ratio = 57.14%", AT(error_ratio), 5714},
    {"error_ratio = 0.57140000000000", AT(error_ratio), 5714},
    {"error_ratio = off", AT(error_ratio), 0},
    {"error_count = 1", AT(error_count), 1},
    {"error_count = 1000000", AT(error_count), 1000000},
    {"error_count = off", AT(error_count), 0},
    {"consecutive_errors = 1", AT(consecutive_errors), 1},
    {"consecutive_errors = 1000", AT(consecutive_errors), 1000},
    {"consecutive_errors = off", AT(consecutive_errors), 0},
    {"slow_call = 1ms", AT(slow_call_ns), MS},
    {"slow_call = 1h", AT(slow_call_ns), H},
    {"slow_call = 12.5ms", AT(slow_call_ns), 12500000},
    {"slow_call = 1.001ms", AT(slow_call_ns), 1001000},
    {"slow_call = 0.001s", AT(slow_call_ns), MS},
    {"slow_call = off", AT(slow_call_ns), 0},
    {"slow_ratio = 0.01%\nslow_call = 1s", AT(slow_ratio), 1},
    {"slow_ratio = 100%\nslow_call = 1s", AT(slow_ratio), 10000},
    {"slow_ratio = off\nslow_call = 1s", AT(slow_ratio), 0},
    {"min_slow_calls = 1", AT(min_slow_calls), 1},
    {"min_slow_calls = 1000000", AT(min_slow_calls), 1000000},
    {"warmup = 0s", AT(warmup_ns), 0},
    {"warmup = 0ms", AT(warmup_ns), 0},
    {"warmup = 0.001ms", AT(warmup_ns), 1000},
    {"warmup = 24h", AT(warmup_ns), 24 * H},
    {"slow_exempt = off", AT(exempt_spans), 0},
    {"slow_exempt = 02:00-02:10", AT(exempt_spans), 1},
    {"max_open = 0.01%", AT(max_open), 1},
    {"max_open = 0.5", AT(max_open), 5000},
    {"max_open = 100%", AT(max_open), 10000},
    {"open_backoff = 1", AT(open_backoff), 100},
    {"open_backoff = 1.01", AT(open_backoff), 101},
    {"open_backoff = 1.5", AT(open_backoff), 150},
    {"open_backoff = 2.0", AT(open_backoff), 200},
    {"open_backoff = 9.99", AT(open_backoff), 999},
    {"open_backoff = 10", AT(open_backoff), 1000},
    {"open_max = 10s", AT(open_max_ns), 10 * S},
    {"open_max = 100ms\nopen_for = 100ms", AT(open_max_ns), 100 * MS},
    {"open_max = 24h", AT(open_max_ns), 24 * H},
    {"open_jitter = 0%", AT(open_jitter), 0},
    {"open_jitter = 0", AT(open_jitter), 0},
    {"open_jitter = 0.01%", AT(open_jitter), 1},
    {"open_jitter = 100%", AT(open_jitter), 10000},
    {"forget_after = 1m", AT(forget_after_ns), 60 * S},
    {"forget_after = 720h", AT(forget_after_ns), 720 * H},
    {"max_in_flight = 1", AT(max_in_flight), 1},
    {"max_in_flight = 100000", AT(max_in_flight), 100000},
    {"max_in_flight = off", AT(max_in_flight), 0},
    {"open_for = 100ms", AT(open_for_ns), 100 * MS},
    {"open_for = 24h", AT(open_for_ns), 24 * H},
    {"probes = 1", AT(probes), 1},
    {"probes = 32", AT(probes), 32},
    {"probe_timeout = 100ms", AT(probe_timeout_ns), 100 * MS},
    {"probe_timeout = 1h", AT(probe_timeout_ns), H},
    {"refuse_with = ECONNREFUSED", AT(refuse_errno), ECONNREFUSED},
    {"refuse_with = ETIMEDOUT", AT(refuse_errno), ETIMEDOUT},
    {"refuse_with = EHOSTUNREACH", AT(refuse_errno), EHOSTUNREACH},
    {"refuse_with = ENETUNREACH", AT(refuse_errno), ENETUNREACH},
    {"refuse_with = ECONNRESET", AT(refuse_errno), ECONNRESET},
    {"\t window\t=  7s \t# a comment", AT(window_ms), 7000},
    {"window=7s#a comment", AT(window_ms), 7000},
    {"window = 7s\r", AT(window_ms), 7000},
};

static void test_values(void) {
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        const struct value_case *is = &VALUES[i];
        const unsigned char *at = (const unsigned char *)judged_by(is->written) + is->offset;
        uint64_t value = 0;
        memcpy(&value, at, is->size); /* little-endian, as the machines it runs on */
        if (value != is->value) {
            fprintf(stderr, "%s gives %llu\n", is->written, (unsigned long long)value);
            exit(1);
        }
        check_round_trip();
    }
}

/* One beyond each end of a range, and what is near to a value but none. */
static const char *const REFUSED[] = {"mode = on",
                                      "mode = Enforce",
                                      "mode =",
                                      "scope = process",
                                      "scope = off",
                                      "error_count = 0",
                                      "error_count = 1000001",
                                      "error_count = 5%",
                                      "warmup = 0",
                                      "warmup = off",
                                      "warmup = 86400.000001s",
                                      "slow_exempt =",
                                      "slow_exempt = 02:00",
                                      "slow_exempt = 02:00-",
                                      "slow_exempt = 02:00-02:00",
                                      "slow_exempt = 24:00-02:00",
                                      "slow_exempt = 02:00-24:01",
                                      "slow_exempt = 02:60-03:00",
                                      "slow_exempt = 002:00-03:00",
                                      "slow_exempt = 2-3",
                                      "slow_exempt = 02:0-03:00",
                                      "slow_exempt = :00-03:00",
                                      "slow_exempt = 02.00-03.00",
                                      "slow_exempt = Mo 02:00-03:00",
                                      "slow_exempt = Mon-Fro 02:00-03:00",
                                      "slow_exempt = Mon- 02:00-03:00",
                                      "slow_exempt = Mon-Fri",
                                      "slow_exempt = 02:00-03:00-04:00",
                                      "slow_exempt = OFF",
                                      "slow_exempt = 5m",
                                      "max_open = 0%",
                                      "max_open = 100.01%",
                                      "max_open = off",
                                      "open_backoff = 0.99",
                                      "open_backoff = 10.01",
                                      "open_backoff = 1.001",
                                      "open_backoff = 10.001",
                                      "open_backoff = 2x",
                                      "open_backoff = off",
                                      "open_backoff = 200%",
                                      "open_max = 99ms",
                                      "open_max = 24.001h",
                                      "open_max = off",
                                      "open_jitter = 100.01%",
                                      "open_jitter = 1.0001",
                                      "open_jitter = 0.001%",
                                      "open_jitter = off",
                                      "open_jitter = 10",
                                      "forget_after = 59.999s",
                                      "forget_after = 721h",
                                      "forget_after = off",
                                      "forget_after = 30d",
                                      "max_in_flight = 0",
                                      "max_in_flight = 100001",
                                      "judge = all",
                                      "gate = request",
                                      "gate = connect, connect",
                                      "gate = connect,",
                                      "protocol = mysql",
                                      "window = 999ms",
                                      "window = 3600001ms",
                                      "window = 1.0005s",
                                      "window = 10",
                                      "window = 10 s",
                                      "window = -10s",
                                      "window = +10s",
                                      "window = 1e1s",
                                      "window = .5m",
                                      "window = 5.m",
                                      "window = 10sec",
                                      "window = 10S",
                                      "window = 1m30s",
                                      "window = 10s 20s",
                                      "window = off",
                                      "window = 99999999999999999999999h",
                                      "window = 1h1",
                                      "buckets = 0",
                                      "buckets = 61",
                                      "buckets = 1.0",
                                      "buckets = off",
                                      "buckets = 4294967297",
                                      "min_calls = 0",
                                      "min_calls = 1000001",
                                      "min_calls = 1,000",
                                      "min_calls = ten",
                                      "min_calls = 0x10",
                                      "error_ratio = 0",
                                      "error_ratio = 0%",
                                      "error_ratio = 100.01%",
                                      "error_ratio = 1.0001",
                                      "error_ratio = 50",
                                      "error_ratio = 0.001%",
                                      "error_ratio = 0.00001",
                                      "error_ratio = 50 %",
                                      "error_ratio = 50%%",
                                      "error_ratio = -1%",
                                      "error_ratio = half",
                                      "error_ratio = 18446744073709551616%",
                                      "consecutive_errors = 0",
                                      "consecutive_errors = 1001",
                                      "consecutive_errors = OFF",
                                      "slow_call = 0.999ms",
                                      "slow_call = 1us",
                                      "slow_call = 0s",
                                      "slow_call = 1.0000001s",
                                      "slow_call = 3600.000001s",
                                      "slow_call = 0",
                                      "slow_ratio = 0%",
                                      "slow_ratio = 101%",
                                      "min_slow_calls = 0",
                                      "min_slow_calls = 1000001",
                                      "min_slow_calls = off",
                                      "open_for = 99ms",
                                      "open_for = 24.001h",
                                      "open_for = 1d",
                                      "open_for = off",
                                      "probes = 0",
                                      "probes = 33",
                                      "probe_timeout = 99ms",
                                      "probe_timeout = 61m",
                                      "probe_timeout = off",
                                      "refuse_with = EINPROGRESS",
                                      "refuse_with = EINTR",
                                      "refuse_with = EBADF",
                                      "refuse_with = econnrefused",
                                      "refuse_with = 111",
                                      "refuse_with = off"};

static void test_refused_values(void) {
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "[r]\nmatch = *\n  %s\n", REFUSED[i]);
        const char *value = strchr(REFUSED[i], '=') + 1;
        value += *value == ' ';
        bool good = read_text(text);
        if (good || notes.errors != 1 || notes.note[0].line != 3 ||
            notes.note[0].column != (uint32_t)(value - REFUSED[i]) + 3) {
            fprintf(stderr, "%s: %zu errors\n", REFUSED[i], notes.errors);
            print_notes();
            exit(1);
        }
    }
}

static void test_defaults(void) {
    struct thresholds built_in = thresholds_defaults();
    CHECK(built_in.mode == MODE_ENFORCE && built_in.judge == JUDGE_AUTO && built_in.gate == GATE_REQUEST);
    CHECK(built_in.protocol == PROTOCOL_AUTO && built_in.window_ms == 10000 && built_in.buckets == 10);
    CHECK(built_in.min_calls == 10 && built_in.error_ratio == 5000 && built_in.consecutive_errors == 5);
    CHECK(built_in.slow_call_ns == S && built_in.slow_written == 0 && built_in.slow_ratio == 0);
    CHECK(built_in.min_slow_calls == 1 && built_in.open_for_ns == 10 * S && built_in.probes == 3);
    CHECK(built_in.probe_timeout_ns == 5 * S && built_in.refuse_errno == ECONNREFUSED);
    CHECK(built_in.scope == SCOPE_DESTINATION && built_in.error_count == 0 && built_in.warmup_ns == 0);
    CHECK(built_in.exempt_spans == 0 && built_in.max_open == 10000 && built_in.open_backoff == 100);
    CHECK(built_in.open_max_ns == 300 * S && built_in.open_jitter == 1000 && built_in.max_in_flight == 0);
    CHECK(built_in.forget_after_ns == H && built_in.seed == 0);
    CHECK(memcmp(judged_by(""), &built_in, sizeof built_in) == 0);
    read_good("");
    CHECK(ruleset.rules == 1 && ruleset.patterns == 0 && notes.warnings == 0);
    ruleset_defaults(&again);
    CHECK(same_rules(&ruleset, &again));
    check_text(ruleset_rule(&ruleset, 0)->name, "default");
    CHECK(ruleset.rule[0].line == 0);
    sources.count = 0;
    CHECK(rules_parse(&sources, &ruleset, &notes, scratch) && same_rules(&ruleset, &again));
}

/* slow_ratio acts only where a person wrote slow_call, wherever that was. */
static void test_slow_call(void) {
    const struct thresholds *is = judged_by("slow_ratio = 50%");
    CHECK(is->slow_written == 0 && is->slow_ratio == 0 && is->slow_call_ns == S);
    is = judged_by("slow_call = 2s");
    CHECK(is->slow_written == 1 && is->slow_ratio == 8000 && is->slow_call_ns == 2 * S);
    is = judged_by("slow_call = off");
    CHECK(is->slow_written == 0 && is->slow_ratio == 0 && is->slow_call_ns == 0);
    is = judged_by("slow_call = off\nslow_ratio = 50%");
    CHECK(is->slow_written == 0 && is->slow_ratio == 0);
    is = judged_by("[default]\nslow_call = 300ms");
    CHECK(is->slow_written == 1 && is->slow_ratio == 8000 && is->slow_call_ns == 300 * MS);
    CHECK(ruleset.rule[0].thresholds.slow_written == 1);
    is = judged_by("like = t\n[t]\nslow_call = 300ms\n[default]\nslow_ratio = 40%");
    CHECK(is->slow_written == 1 && is->slow_ratio == 4000);
    CHECK(ruleset.rule[0].thresholds.slow_written == 0 && ruleset.rule[0].thresholds.slow_ratio == 0);
}

static void test_probe_timeout(void) {
    CHECK(judged_by("slow_call = 2.5s")->probe_timeout_ns == 5 * S);
    CHECK(judged_by("slow_call = 2.501s")->probe_timeout_ns == 5002 * MS);
    CHECK(judged_by("slow_call = 10m")->probe_timeout_ns == 1200 * S);
    CHECK(judged_by("slow_call = 31m")->probe_timeout_ns == H);
    CHECK(judged_by("slow_call = off")->probe_timeout_ns == 5 * S);
    CHECK(judged_by("slow_call = 10s\nprobe_timeout = 15s")->probe_timeout_ns == 15 * S);
}

/* Not written, it is the larger of 5m and open_for; written below open_for it is an error (see the messages). */
static void test_open_max(void) {
    CHECK(judged_by("open_for = 299s")->open_max_ns == 300 * S);
    CHECK(judged_by("open_for = 5m")->open_max_ns == 300 * S);
    CHECK(judged_by("open_for = 301s")->open_max_ns == 301 * S);
    CHECK(judged_by("open_for = 20s\nopen_max = 20s")->open_max_ns == 20 * S);
    CHECK(judged_by("open_for = 1h\n[default]\nopen_max = 1h")->open_max_ns == H);
    CHECK(ruleset.rule[0].thresholds.open_max_ns == H);
    check_round_trip();
}

static const struct test_case CASES[] = {
    {"values", test_values},       {"refused-values", test_refused_values}, {"defaults", test_defaults},
    {"slow-call", test_slow_call}, {"probe-timeout", test_probe_timeout},   {"open-max", test_open_max},
};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
