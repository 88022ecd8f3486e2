/* Cases of the rules language: where values come from, files, printing. */
#include "tests/programs/rules_reading.h"

#define S UINT64_C(1000000000)

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
    {"inheritance", test_inheritance},     {"origins", test_origins},
    {"includes", test_includes},           {"include-lines", test_include_lines},
    {"include-paths", test_include_paths},
};

int main(int argc, char **argv) {
    return run_case(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
