/* Cases of slow_exempt: how times of day are written, and which seconds lie in them. */
#include "tests/programs/rules_reading.h"

/* The thresholds of a rule whose section holds these lines. */
static const struct thresholds *judged_by(const char *lines) {
    char text[512];
    snprintf(text, sizeof text, "[r]\nmatch = *\n%s\n", lines);
    read_good(text);
    CHECK(ruleset.rules == 2);
    return &ruleset.rule[1].thresholds;
}

struct span_case {
    const char *written;
    struct exempt_span span;
    const char *printed;
};

static const struct span_case SPANS[] = {
    {"02:00-02:10", {.days = 0x7f, .begin_minute = 120, .end_minute = 130}, "02:00-02:10"},
    {"2:00-9:59", {.days = 0x7f, .begin_minute = 120, .end_minute = 599}, "02:00-09:59"},
    {"00:00-00:01", {.days = 0x7f, .begin_minute = 0, .end_minute = 1}, "00:00-00:01"},
    {"23:59-24:00", {.days = 0x7f, .begin_minute = 1439, .end_minute = 0}, "23:59-24:00"},
    {"23:59-00:00", {.days = 0x7f, .begin_minute = 1439, .end_minute = 0}, "23:59-24:00"},
    {"00:00-24:00", {.days = 0x7f, .begin_minute = 0, .end_minute = 0}, "00:00-24:00"},
    {"22:00-06:30", {.days = 0x7f, .begin_minute = 1320, .end_minute = 390}, "22:00-06:30"},
    {"Mon 10:00-11:00", {.days = 0x01, .begin_minute = 600, .end_minute = 660}, "Mon 10:00-11:00"},
    {"sun 10:00-11:00", {.days = 0x40, .begin_minute = 600, .end_minute = 660}, "Sun 10:00-11:00"},
    {"Mon-FRI\t10:00-11:00", {.days = 0x1f, .begin_minute = 600, .end_minute = 660}, "Mon-Fri 10:00-11:00"},
    {"Sat-Sun 10:00-11:00", {.days = 0x60, .begin_minute = 600, .end_minute = 660}, "Sat-Sun 10:00-11:00"},
    {"Sat-Mon 10:00-11:00", {.days = 0x61, .begin_minute = 600, .end_minute = 660}, "Sat-Mon 10:00-11:00"},
    {"Sun-Mon 10:00-11:00", {.days = 0x41, .begin_minute = 600, .end_minute = 660}, "Sun-Mon 10:00-11:00"},
    {"Wed-Mon 10:00-11:00", {.days = 0x7d, .begin_minute = 600, .end_minute = 660}, "Wed-Mon 10:00-11:00"},
    {"Tue-Tue 10:00-11:00", {.days = 0x02, .begin_minute = 600, .end_minute = 660}, "Tue 10:00-11:00"},
    {"Mon-Sun 10:00-11:00", {.days = 0x7f, .begin_minute = 600, .end_minute = 660}, "10:00-11:00"},
    {"Thu-Wed 10:00-11:00", {.days = 0x7f, .begin_minute = 600, .end_minute = 660}, "10:00-11:00"},
    {"14:00-14:10   UTC", {.days = 0x7f, .begin_minute = 840, .end_minute = 850}, "14:00-14:10"},
    {"14:00-14:10 -00:00", {.days = 0x7f, .begin_minute = 840, .end_minute = 850}, "14:00-14:10"},
    {"14:00-14:10 +08:00",
     {.days = 0x7f, .begin_minute = 840, .end_minute = 850, .offset_minutes = 480},
     "14:00-14:10 +08:00"},
    {"14:00-14:10 +5:45",
     {.days = 0x7f, .begin_minute = 840, .end_minute = 850, .offset_minutes = 345},
     "14:00-14:10 +05:45"},
    {"14:00-14:10 +14:00",
     {.days = 0x7f, .begin_minute = 840, .end_minute = 850, .offset_minutes = 840},
     "14:00-14:10 +14:00"},
    {"14:00-14:10 -12:00",
     {.days = 0x7f, .begin_minute = 840, .end_minute = 850, .offset_minutes = -720},
     "14:00-14:10 -12:00"},
    {"14:00-14:10 -00:30",
     {.days = 0x7f, .begin_minute = 840, .end_minute = 850, .offset_minutes = -30},
     "14:00-14:10 -00:30"},
};
#define SPAN_CASES (sizeof SPANS / sizeof SPANS[0])

static bool prints(const char *wanted) {
    size_t size;
    return strstr(print_rules(&size), wanted) != NULL;
}

static void test_spans(void) {
    for (size_t i = 0; i < SPAN_CASES; i++) {
        char text[128];
        snprintf(text, sizeof text, "slow_exempt = %s", SPANS[i].written);
        const struct thresholds *is = judged_by(text);
        snprintf(text, sizeof text, "\nslow_exempt        = %s ", SPANS[i].printed);
        if (is->exempt_spans != 1 || memcmp(&is->exempt[0], &SPANS[i].span, sizeof SPANS[i].span) != 0 ||
            !prints(text)) {
            size_t size;
            fprintf(stderr, "%s gives\n%s", SPANS[i].written, print_rules(&size));
            exit(1);
        }
        check_round_trip();
    }
    /* As many as there is room for, and where they come from. */
    char text[512] = "like = t\n[t]\nslow_exempt = Mon-Fri 14:00-14:10 +08:00";
    for (unsigned i = 1; i < EXEMPT_MAX; i++) {
        snprintf(text + strlen(text), 32, ",%u:00-%u:59 -11:30", i, i);
    }
    const struct thresholds *is = judged_by(text);
    CHECK(is->exempt_spans == EXEMPT_MAX && is->exempt[0].days == 0x1f &&
          is->exempt[0].offset_minutes == 480);
    CHECK(is->exempt[EXEMPT_MAX - 1].begin_minute == (EXEMPT_MAX - 1) * 60);
    CHECK(ruleset.rule[0].thresholds.exempt_spans == 0);
    CHECK(prints(", 06:00-06:59 -11:30, 07:00-07:59 -11:30 # template t, t:5\n"));
    check_round_trip();
    /* A rule need not keep its template's times. */
    is = judged_by("slow_exempt = off\n[default]\nslow_exempt = 1:00-2:00, 3:00-4:00");
    CHECK(is->exempt_spans == 0 && is->exempt[0].days == 0 && ruleset.rule[0].thresholds.exempt_spans == 2);
    check_round_trip();
    is = judged_by("slow_exempt = 5:00-6:00\n[default]\nslow_exempt = 1:00-2:00, 3:00-4:00");
    CHECK(is->exempt_spans == 1 && is->exempt[0].begin_minute == 300 && is->exempt[1].days == 0);
}

/* --- which seconds --- */

#define DAY_S  86400
#define MONDAY (UINT64_C(20787) * DAY_S) /* 30 November 2026 */

/* The second of a week that begins on a Monday, 00:00:00 UTC. */
static uint64_t at(unsigned day, unsigned hour, unsigned minute, unsigned second) {
    return MONDAY + day * DAY_S + hour * 3600 + minute * 60 + second;
}

enum { MON, TUE, WED, THU, FRI, SAT, SUN };

/* Exactly the seconds from..to-1 of the week lie in the span: asked at each end, one second to either side, and at
 * every tenth minute of the week. */
static void expect_span(const char *written, uint64_t from, uint64_t to) {
    char text[128];
    snprintf(text, sizeof text, "slow_exempt = %s", written);
    const struct thresholds *is = judged_by(text);
    bool good = !thresholds_exempt(is, from - 1) && thresholds_exempt(is, from) &&
                thresholds_exempt(is, to - 1) && !thresholds_exempt(is, to);
    for (uint64_t second = MONDAY; second < MONDAY + 7 * DAY_S; second += 600) {
        good = good && thresholds_exempt(is, second) == (second >= from && second < to);
    }
    if (!good) {
        fprintf(stderr, "%s covers other seconds\n", written);
        exit(1);
    }
}

/* The same on each of the days that the bits name, from their 00:00 UTC on. */
static void expect_days(const char *written, unsigned days, uint64_t begin_s, uint64_t end_s) {
    char text[128];
    snprintf(text, sizeof text, "slow_exempt = %s", written);
    const struct thresholds *is = judged_by(text);
    for (unsigned day = 0; day < 7; day++) {
        bool covered = (days >> day & 1) != 0;
        uint64_t begin = MONDAY + day * DAY_S + begin_s, end = MONDAY + day * DAY_S + end_s;
        CHECK(!thresholds_exempt(is, begin - 1) && thresholds_exempt(is, begin) == covered);
        CHECK(thresholds_exempt(is, end - 1) == covered && !thresholds_exempt(is, end));
    }
}

static void test_seconds(void) {
    /* Days: none is all, one, ranges, past the end of the week. */
    expect_days("02:00-02:10", 0x7f, 7200, 7800);
    expect_days("00:00-00:01", 0x7f, 0, 60);
    expect_days("23:59-24:00", 0x7f, DAY_S - 60, DAY_S);
    expect_days("Mon-Fri 14:00-14:10", 0x1f, 50400, 51000);
    expect_days("Sat-Mon 14:00-14:10", 0x61, 50400, 51000);
    expect_span("Wed 00:00-24:00", at(WED, 0, 0, 0), at(THU, 0, 0, 0));
    expect_span("Thu 10:30-10:31", at(THU, 10, 30, 0), at(THU, 10, 31, 0));
    /* Past midnight: the span belongs to the day it begins on. */
    expect_span("Tue 23:00-01:00", at(TUE, 23, 0, 0), at(WED, 1, 0, 0));
    expect_span("Tue 23:59-00:01", at(TUE, 23, 59, 0), at(WED, 0, 1, 0));
    expect_span("Tue 12:00-11:59", at(TUE, 12, 0, 0), at(WED, 11, 59, 0));
    expect_days("22:00-02:00", 0x7f, 22 * 3600, 26 * 3600);
    expect_days("Sun 22:00-02:00", 0x40, 22 * 3600, 26 * 3600);
    CHECK(thresholds_exempt(judged_by("slow_exempt = Sun 22:00-02:00"), at(MON, 1, 59, 59)));
    CHECK(!thresholds_exempt(judged_by("slow_exempt = Mon-Sat 22:00-02:00"), at(MON, 1, 59, 59)));
    /* Offsets: the days and times are those of a clock there. */
    expect_span("Wed 14:00-14:10 +08:00", at(WED, 6, 0, 0), at(WED, 6, 10, 0));
    expect_span("Wed 02:00-02:10 +08:00", at(TUE, 18, 0, 0), at(TUE, 18, 10, 0));
    expect_span("Wed 07:50-08:10 +08:00", at(TUE, 23, 50, 0), at(WED, 0, 10, 0));
    expect_span("Wed 22:00-22:10 -05:00", at(THU, 3, 0, 0), at(THU, 3, 10, 0));
    expect_span("Wed 12:00-13:00 +14:00", at(TUE, 22, 0, 0), at(TUE, 23, 0, 0));
    expect_span("Wed 12:00-13:00 -12:00", at(THU, 0, 0, 0), at(THU, 1, 0, 0));
    expect_span("Wed 23:30-00:30 +05:45", at(WED, 17, 45, 0), at(WED, 18, 45, 0));
    expect_span("Wed 22:00-04:00 -03:30", at(THU, 1, 30, 0), at(THU, 7, 30, 0));
    /* No span, and any of several. */
    CHECK(!thresholds_exempt(judged_by(""), MONDAY));
    const struct thresholds *is = judged_by("slow_exempt = Mon 1:00-2:00, Tue 1:00-2:00, 5:00-6:00");
    CHECK(thresholds_exempt(is, at(MON, 1, 0, 0)) && thresholds_exempt(is, at(TUE, 1, 59, 59)));
    CHECK(!thresholds_exempt(is, at(WED, 1, 0, 0)) && thresholds_exempt(is, at(WED, 5, 0, 0)));
    is = judged_by("slow_exempt = 00:00-24:00");
    CHECK(thresholds_exempt(is, at(SUN, 23, 59, 59)) && thresholds_exempt(is, at(MON, 0, 0, 0)));
}

/* The first days of all time, at which a clock in the west still shows 1969, and more spans than there are. */
static void test_odd_clocks(void) {
    struct thresholds odd = *judged_by("slow_exempt = Thu 00:00-24:00");
    CHECK(thresholds_exempt(&odd, 0) && thresholds_exempt(&odd, DAY_S - 1) &&
          !thresholds_exempt(&odd, DAY_S));
    odd = *judged_by("slow_exempt = 00:00-24:00 -12:00");
    CHECK(!thresholds_exempt(&odd, 12 * 3600 - 1) && thresholds_exempt(&odd, 12 * 3600));
    odd = *judged_by("slow_exempt = Thu 14:00-15:00 +14:00");
    CHECK(thresholds_exempt(&odd, 0) && !thresholds_exempt(&odd, 3600));
    /* Other processes can have scribbled over it. */
    odd.exempt_spans = 255;
    thresholds_exempt(&odd, MONDAY);
    memset(&odd, 0xff, sizeof odd);
    thresholds_exempt(&odd, UINT64_MAX);
    thresholds_exempt(&odd, 0);
}

static const struct test_case CASES[] = {
    {"spans", test_spans},
    {"seconds", test_seconds},
    {"odd-clocks", test_odd_clocks},
};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
