/* Cases of the rules language: values, where they come from, files, printing. */
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

/* --- where values come from --- */

static void test_inheritance(void) {
    read_good("[late]\nmatch = late\nlike = b\n"
              "[default]\nprobes = 5\nmin_calls = 20\nbuckets = 20\n"
              "[a]\nmin_calls = 30\nwindow = 30s\nopen_for = 30s\n"
              "[b]\nlike = a\nwindow = 40s\n"
              "[r]\nmatch = r\nlike = b\nopen_for = 50s\n"
              "[s]\nlike = r\nmatch = s\n");
    for (uint32_t i = 1; i < 4; i++) {
        const struct thresholds *is = &ruleset.rule[i].thresholds;
        CHECK(is->probes == 5 && is->min_calls == 30 && is->window_ms == 40000 && is->buckets == 20);
        CHECK(is->open_for_ns == (i == 1 ? 30 : 50) * S);
    }
    CHECK(ruleset.rules == 4 && ruleset.patterns == 3);
    check_text(ruleset.rule[1].name, "late");
    check_text(ruleset.rule[3].name, "s");
    CHECK(ruleset.rule[0].line == 4 && ruleset.rule[1].line == 1 && ruleset.rule[3].line == 19);
    CHECK(ruleset.rule[0].thresholds.min_calls == 20);
    CHECK(ruleset_find(&ruleset, "r") == 2 && ruleset_find(&ruleset, "default") == 0);
    CHECK(ruleset_find(&ruleset, "a") == RULESET_RULES && ruleset_find(&ruleset, "") == RULESET_RULES);
    check_round_trip();
}

static bool prints(const char *wanted) {
    size_t size;
    return strstr(print_rules(&size), wanted) != NULL;
}

static void test_origins(void) {
    read_good("[default]\nprobes = 5\n[t]\nwindow = 20s\n"
              "[r]\nmatch = *:443, unix:///run/*.sock, [::1]\nlike = t\nmin_calls = 12\n");
    CHECK(prints("\nprobes             = 5                    # [default], t:2\n"));
    CHECK(prints("\nwindow             = 20s                  # template t, t:4\n"));
    CHECK(prints("\nmin_calls          = 12                   # rule, t:8\n"));
    CHECK(prints("\nbuckets            = 10                   # built-in\n"));
    CHECK(prints("\nmatch              = :443, unix:///run/*.sock, [::1]\n"));
    CHECK(prints(
        "\n# slow_call        = 1s                   # built-in: shown only, slow calls never trip\n"));
    CHECK(prints("\n[r]                                       # t:5\n"));
    read_good("[r]\nmatch = *\nslow_ratio = 40%\n");
    CHECK(
        prints("\nslow_ratio         = off                  # rule, t:3 says 40%, off without slow_call\n"));
}

/* --- several files --- */

static void add_source(const char *path, const char *text) {
    sources.source[sources.count++] = (struct rules_source){path, text, strlen(text)};
}

static void test_includes(void) {
    sources.count = 0;
    add_source("/e/main", "include sub/a.rules   # here\n[r]\nmatch = x\nlike = ta\n"
                          "include ../b#1.rules\ninclude /e/sub/a.rules\n[z]\nmatch = z");
    add_source("/e/sub/a.rules", "[ta]\nprobes = 7\n include c.rules\n[ra]\nmatch = ra\n");
    add_source("/b#1.rules", "[rb]\nmatch = rb\nlike = tc\n");
    add_source("/e/sub/c.rules", "[tc]\nprobes = 8\n");
    CHECK(rules_parse(&sources, &ruleset, &notes, scratch) && notes.warnings == 0);
    CHECK(ruleset.rules == 5);
    check_text(ruleset.rule[1].name, "ra");
    check_text(ruleset.rule[2].name, "r");
    check_text(ruleset.rule[3].name, "rb");
    check_text(ruleset.rule[4].name, "z");
    CHECK(ruleset.rule[2].thresholds.probes == 7 && ruleset.rule[3].thresholds.probes == 8);
    CHECK(prints("# template tc, /e/sub/c.rules:2\n"));
    check_round_trip();
}

static void test_include_lines(void) {
    const char *text = "\xef\xbb\xbfinclude a\r\n#include b\ninclude\nincluded = 1\ninclude = c\n"
                       "\tinclude\td e \t # f\n[include g]\ninclude \0h\ninclude i";
    struct rules_source source = {"t", text, strlen(text) + strlen("h\ninclude i") + 1};
    const char *wanted[] = {"a", "d e", "i"};
    size_t offset = 0, size, found = 0;
    const char *path;
    while (rules_next_include(&source, &offset, &path, &size)) {
        CHECK(found < 3 && size == strlen(wanted[found]) && memcmp(path, wanted[found], size) == 0);
        found++;
    }
    CHECK(found == 3 && offset == source.size);
}

/* Including file, path as written, and the path that comes out; NULL: none. */
static const char *const INCLUDES[][3] = {
    {"/a/b", "cd", "/a/cd"},
    {"b", "cd", "cd"},
    {"/a/b", "/cd", "/cd"},
    {"/a/b", "12345678901", "/a/12345678901"},
    {"/a/b", "123456789012", NULL},
    {"/a/b", "", NULL},
    {"a/b", "./c", "a/c"},
    {"a/b", "../c", "c"},
    {"a/b", "../../c", "../c"},
    {"../b", "../c", "../../c"},
    {"/a/b", "../../../c", "/c"},
    {"/a//b", "./c/d/..", "/a/c"},
    {"./b", "c", "c"},
    {"b", ".c/..d", ".c/..d"},
    {"a/b", "..", NULL},
    {"/a/b", "..", "/"},
    {"b", "c d#", "c d#"},
};

static void test_include_paths(void) {
    for (size_t i = 0; i < sizeof INCLUDES / sizeof INCLUDES[0]; i++) {
        char result[15];
        const char *const *is = INCLUDES[i];
        bool made = rules_include_path(is[0], is[1], strlen(is[1]), result, sizeof result);
        check_text(made ? result : "none", is[2] != NULL ? is[2] : "none");
    }
}

static const struct test_case CASES[] = {
    {"values", test_values},
    {"refused-values", test_refused_values},
    {"defaults", test_defaults},
    {"slow-call", test_slow_call},
    {"probe-timeout", test_probe_timeout},
    {"inheritance", test_inheritance},
    {"origins", test_origins},
    {"includes", test_includes},
    {"include-lines", test_include_lines},
    {"include-paths", test_include_paths},
};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
