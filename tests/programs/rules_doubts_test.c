/* Cases of what is said of a doubtful rules file: what can never act, or is known to misfire. */
#include "tests/programs/rules_reading.h"

static const struct message_case DOUBTS[] = {
    {"[r]\nmatch = 10.1.2.3/8", "t:2:9: warning: found '10.1.2.3/8', an address with bits beyond its prefix, "
                                "expected 10.0.0.0/8\n"},
    {"[r]\nmatch = *\nwindow = 4.999s",
     "t:3:1: warning: found 'window = 4.999s', expected 5s or more: in a shorter "
     "one a bunch of errors trips a healthy destination\n"},
    {"[r]\nmatch = *\nwindow = 5s", ""},
    {"[r]\nmatch = *\nmin_calls = 4",
     "t:3:1: warning: found 'min_calls = 4', expected 5 or more: a ratio of fewer "
     "calls is chance\n"},
    {"[r]\nmatch = *\nmin_calls = 5", ""},
    {"[r]\nmatch = *\nerror_ratio = 9.99%",
     "t:3:1: warning: found 'error_ratio = 9.99%', expected 10% or more: "
     "healthy destinations fail that often for a moment\n"},
    {"[r]\nmatch = *\nerror_ratio = 10%", ""},
    {"[r]\nmatch = *\nprobes = 1",
     "t:3:1: warning: found 'probes = 1', expected 2 or more: one lucky call closes "
     "the breaker, one unlucky reopens it\n"},
    {"[r]\nmatch = *\nprobes = 1\nopen_for = 1m", ""},
    {"[r]\nmatch = *\nslow_ratio = 50%",
     "t:3:1: warning: found 'slow_ratio = 50%', expected a 'slow_call' beside "
     "it: without one slow calls never trip\n"},
    {"[r]\nmatch = *\nslow_ratio = off", ""},
    {"[default]\nslow_ratio = 50%\nslow_call = 1s\n[r]\nmatch = *\nslow_call = off", ""},
    {"[r]\nmatch = *\nslow_call = off\nslow_ratio = 50%",
     "t:4:1: warning: found 'slow_ratio = 50%', expected a 'slow_call' beside it: without one slow calls "
     "never "
     "trip\n"},
    {"[r]\nmatch = *\nslow_ratio = 50%\n[default]\nslow_call = off",
     "t:3:1: warning: found 'slow_ratio = 50%', expected a 'slow_call' beside it: without one slow calls "
     "never "
     "trip\n"},
    {"[r]\nmatch = *\nslow_call = 3s\nprobe_timeout = 2999ms",
     "t:4:1: warning: found 'probe_timeout = 2.999s', expected 3s or more, the 'slow_call': a shorter one "
     "ends "
     "probes before they are slow\n"},
    {"[r]\nmatch = *\nslow_call = 3s\nprobe_timeout = 3s", ""},
    {"[r]\nmatch = *\nprobe_timeout = 100ms", ""},
    {"[r]\nmatch = *\nerror_ratio = off\nconsecutive_errors = off",
     "t:3:1: warning: found 'error_ratio = off', expected it, 'error_count', 'consecutive_errors' or "
     "'slow_ratio' to be on: otherwise the breaker never opens\n"},
    {"[r]\nmatch = *\nerror_ratio = off\nconsecutive_errors = off\nerror_count = 5", ""},
    {"[r]\nmatch = *\nerror_ratio = off\nconsecutive_errors = off\nslow_call = 1s", ""},
    {"[r]\nmatch = *\nerror_ratio = off\nconsecutive_errors = off\nwindow = 1s\nprobes = 1\nmode = off", ""},
    {"[r]\nmatch = *\nmin_calls = 1000000\nwindow = 9.999s",
     "t:3:1: warning: found 'min_calls = 1000000', expected what a window can hold: no destination is called "
     "100000 "
     "times a second\n"},
    {"[r]\nmatch = *\nmin_calls = 1000000\nwindow = 10s", ""},
    {"[r]\nmatch = *\nerror_count = 1000000\nwindow = 9.999s",
     "t:3:1: warning: found 'error_count = 1000000', expected what a window can hold: no destination is "
     "called 100000 "
     "times a second\n"},
    {"[r]\nmatch = *\nerror_count = 1000000\nwindow = 10s", ""},
    {"[default]\nmode = off\n[r]\nmatch = a\n[s]\nmatch = b\nmode = off\n[t]\nmatch = c\nmode = observe",
     "t:3:2: warning: found 'r' switched off by the 'mode = off' of [default] (line 2), expected a 'mode' of "
     "its "
     "own\n"},
    /* A template's value is said once, and one that nobody takes not at all. */
    {"[t]\nprobes = 1\n[a]\nmatch = a\nlike = t\n[b]\nmatch = b\nlike = t\n[c]\nwindow = 1s",
     "t:2:1: warning: found 'probes = 1', expected 2 or more: one lucky call closes the breaker, one unlucky "
     "reopens it\n"},
    /* What was refused is not doubted as well. */
    {"[r]\nmatch = *\nslow_ratio = 50%\nslow_call = 1\n",
     "t:4:13: found '1', expected a unit (ms, s, m, h) behind the number, from 1ms to 1h, or 'off'\n"},
};

/* Times in which slow calls do not trip. */
static const struct message_case QUIET[] = {
    {"[r]\nmatch = *\nslow_call = 1s\nwarmup = 9.999s",
     "t:4:1: warning: found 'warmup = 9.999s', expected 10s or more, the 'window': a shorter one only puts "
     "off the "
     "verdict on its slow calls\n"},
    {"[r]\nmatch = *\nslow_call = 1s\nwarmup = 10s", ""},
    {"[r]\nmatch = *\nslow_call = 1s\nwarmup = 0s", ""},
    {"[r]\nmatch = *\nslow_call = 1s\nwarmup = 1h", ""},
    {"[r]\nmatch = *\nslow_call = 1s\nwarmup = 61m",
     "t:4:1: warning: found 'warmup = 61m', expected 1h or less: so long after each closing no slow call "
     "opens the "
     "breaker\n"},
    {"[r]\nmatch = *\nslow_call = 1s\nslow_exempt = 1:00-2:00, 0:00-24:00 +1:00",
     "t:4:1: warning: found 'slow_exempt = 01:00-02:00, 00:00-24:00 +01:00', expected less than all day: no "
     "slow "
     "call would ever open the breaker\n"},
    {"[r]\nmatch = *\nslow_call = 1s\nslow_exempt = Mon-Sat 0:00-24:00, 0:00-23:59", ""},
};

/* One breaker for many. */
static const struct message_case SHARED[] = {
    {"[r]\nmatch = a, dns://*\nscope = rule", "t:3:1: warning: found 'scope = rule', expected 'destination' "
                                              "with dns://*: one name that fails would have "
                                              "every look-up rejected\n"},
    {"[r]\nmatch = *\nscope = rule",
     "t:3:1: warning: found 'scope = rule', expected 'destination' with *: an ill one would have all others "
     "rejected\n"},
    {"[r]\nmatch = dns://*.a, *.a, :80, unix://*\nscope = rule", ""},
    {"[r]\nmatch = dns://*, *\nscope = name", ""},
    {"[s]\nmatch = a\nscope = rule\n[r]\nmatch = dns://*, *", ""},
    {"[default]\nscope = rule", "t:2:1: warning: found 'scope = rule', expected it in rules alone: here an "
                                "ill destination would have all "
                                "that no rule matches rejected\n"},
    {"[default]\nscope = rule\nmode = off\n[r]\nmatch = a\nmode = enforce", ""},
};

/* Values that do nothing without another. */
static const struct message_case IDLE[] = {
    {"[r]\nmatch = *\nwarmup = 1m", "t:3:1: warning: found 'warmup = 1m', expected a 'slow_call' beside it: "
                                    "without one slow calls never trip\n"},
    {"[r]\nmatch = *\nslow_exempt = Fri 1:00-2:00", "t:3:1: warning: found 'slow_exempt = Fri 01:00-02:00', "
                                                    "expected a 'slow_call' beside it: without one slow "
                                                    "calls never trip\n"},
    {"[r]\nmatch = *\nwarmup = 0s\nslow_exempt = off\nmax_open = 100%\nopen_backoff = 1", ""},
    {"[r]\nmatch = a\nscope = rule\nmax_open = 50%",
     "t:4:1: warning: found 'max_open = 50%', expected another 'scope' than rule: that has one breaker for "
     "all, "
     "and one may always open\n"},
    {"[r]\nmatch = a\nscope = name\nmax_open = 50%", ""},
    {"[r]\nmatch = *\nopen_backoff = 2\nopen_for = 5m",
     "t:3:1: warning: found 'open_backoff = 2', expected an 'open_max' above the 'open_for': this one caps "
     "the "
     "first step\n"},
    {"[r]\nmatch = *\nopen_backoff = 2\nopen_max = 10s",
     "t:3:1: warning: found 'open_backoff = 2', expected an 'open_max' above the 'open_for': this one caps "
     "the "
     "first step\n"},
    {"[r]\nmatch = *\nopen_backoff = 2\nopen_max = 10.001s", ""},
    {"[r]\nmatch = *\nopen_backoff = 2\nopen_for = 299s", ""},
    {"[r]\nmatch = *\nopen_max = 1m", "t:3:1: warning: found 'open_max = 1m', expected an 'open_backoff' "
                                      "above 1 beside it: without one nothing "
                                      "grows\n"},
    {"[r]\nmatch = *\nopen_max = 1m\nopen_backoff = 1", ""},
    /* It is enough that one rule can use it … */
    {"[default]\nwarmup = 1m\nmax_open = 50%\nopen_max = 1m\n[r]\nmatch = a\nslow_call = 1s\nopen_backoff = "
     "2\n[s]\nmatch = b\nscope = rule",
     ""},
    {"[t]\nwarmup = 1m\n[r]\nmatch = a\nlike = t\nslow_call = 1s\n[s]\nmatch = b\nlike = t", ""},
    /* … but one that is switched off uses nothing. */
    {"[default]\nwarmup = 1m\n[r]\nmatch = a\nslow_call = 1s\nmode = off",
     "t:2:1: warning: found 'warmup = 1m', expected a 'slow_call' beside it: without one slow calls never "
     "trip\n"},
    /* Of one with an error it is not known. */
    {"[default]\nwarmup = 1m\n[r]\nmatch = a\nslow_call = 1",
     "t:5:13: found '1', expected a unit (ms, s, m, h) behind the number, from 1ms to 1h, or 'off'\n"},
};

static void test_quiet(void) {
    CHECK_MESSAGES(QUIET);
}

static void test_shared(void) {
    CHECK_MESSAGES(SHARED);
}

static void test_idle(void) {
    CHECK_MESSAGES(IDLE);
}

static void test_doubts(void) {
    CHECK_MESSAGES(DOUBTS);
}

/* An earlier rule's pattern, a later one's, and whether the later rule is said to be hidden. */
static const struct {
    const char *wide, *narrow;
    bool hidden;
} HIDDEN[] = {
    {"*", "10.0.0.0/8:80, a.b, [::1]", true},
    {"*", "a, udp://a", false},
    {":80", "a:80", true},
    {":80", "a:80-81", false},
    {":80-90", "*.x:82-90", true},
    {"10.0.0.0/8", "10.1.0.0/16", true},
    {"10.1.0.0/16", "10.0.0.0/8", false},
    {"10.0.0.0/8", "host", false},
    {"10.0.0.5", "10.0.0.5:80", true},
    {"[2001:db8::]/33", "[2001:db8:8000::]/33", false},
    {"[::]/0", "[::1]:1", true},
    {"[::]/0", "10.0.0.0/8", false},
    {"*.b", "*.a.b, x.b", true},
    {"*.b", "b", false},
    {"*.a.b", "*.b", false},
    {"a", "A.", true},
    {"a:1, a:2", "a:2, a:1", true},
    {"a", "*", false},
    {"unix:///run/*", "unix:///run/x, unix:///run/*", true},
    {"unix:///run/*", "unix:///run/x/y", false},
    {"unix:///run/*", "unix:///run/*.s", false},
    {"dns://*", "dns://*.a", true},
};

static void test_hidden(void) {
    for (size_t i = 0; i < sizeof HIDDEN / sizeof HIDDEN[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "[a]\nmatch = %s\n[b]\nmatch = %s\n", HIDDEN[i].wide, HIDDEN[i].narrow);
        expect_notes(text, HIDDEN[i].hidden
                               ? "t:3:2: warning: found 'b' behind 'a' (line 1), which matches all "
                                 "that it matches, expected it above\n"
                               : "");
    }
    expect_notes(
        "[a]\nmatch = a\n[b]\nmatch = b\n[c]\nmatch = a, b",
        "t:5:2: warning: found 'c' behind 'a' (line 1), which matches all that it matches, expected it "
        "above\n");
}

static const struct test_case CASES[] = {
    {"doubts", test_doubts}, {"quiet", test_quiet},   {"shared", test_shared},
    {"idle", test_idle},     {"hidden", test_hidden},
};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
