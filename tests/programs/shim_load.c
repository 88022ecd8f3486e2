/* Cases of shim/load.c and shim/refresh.c. Files are made in the working directory. */
#include "shim/clock.h"
#include "shim/load.h"
#include "tests/programs/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define GOOD "[payments]\nmatch = 10.0.0.5:443\nmin_calls = 7\n"
#define BAD  "[payments]\nmatch = 10.0.0.5:443\nmin_cals = 7\n"

static struct environment environment;

static struct panel *panel_new(void) {
    void *memory = mmap(NULL, sizeof(struct panel), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void file_write(const char *path, const char *content, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && write(fd, content, size) == (ssize_t)size && close(fd) == 0);
}

/* Replaces the file by another one, as an editor does: a new inode shows the change whatever the clock's
 * grain. */
static void file_put(const char *path, const char *content) {
    file_write("new", content, strlen(content));
    CHECK(rename("new", path) == 0);
}

static void name_file(const char *file) {
    size_t length = strlen(getcwd(environment.rules, sizeof environment.rules));
    snprintf(environment.rules + length, sizeof environment.rules - length, "/%s", file);
    environment.rules_named = true;
}

static void refresh(struct panel *panel) {
    load_refresh(panel, &environment, 42);
}

static uint64_t version_of(const struct panel *panel) {
    uint64_t version;
    CHECK(load_rules_in_force(panel, &version) != NULL);
    return version;
}

/* min_calls of the rule that covers 10.0.0.5:443. */
static uint32_t min_calls(const struct panel *panel) {
    uint64_t version;
    const struct ruleset *rules = load_rules_in_force(panel, &version);
    struct endpoint endpoint = endpoint_ipv4(SCHEME_TCP, (const uint8_t[]){10, 0, 0, 5}, 443);
    return ruleset_rule(rules, ruleset_match(rules, &endpoint, NULL, NULL))->thresholds.min_calls;
}

static unsigned events(const struct panel *panel, enum event_kind kind) {
    unsigned count = 0;
    for (uint64_t i = journal_first(&panel->journal); i < journal_end(&panel->journal); i++) {
        struct event event;
        CHECK(journal_read(&panel->journal, i, &event) && event.pid == 42 && event.unix_ns != 0);
        count += event.kind == (uint32_t)kind;
    }
    return count;
}

static bool is_bad(const struct panel *panel) {
    return atomic64_load_relaxed(&panel->rules.bad) != 0;
}

static bool is_withheld(const struct panel *panel) {
    return atomic64_load_relaxed(&panel->rules.withheld) != 0;
}

/* What is told of a bad file. */
static void check_error(const struct panel *panel, const char *part) {
    if (strstr(panel->rules.error, part) == NULL) {
        fprintf(stderr, "'%s' does not say '%s'\n", panel->rules.error, part);
        exit(1);
    }
}

static void test_none(void) {
    struct panel *panel = panel_new();
    refresh(panel);
    CHECK(version_of(panel) == 0 && min_calls(panel) == 10 && !is_bad(panel) && !is_withheld(panel));
    CHECK(journal_end(&panel->journal) == 0 && panel->rules.file[0] == '\0');
    load_refresh(NULL, &environment, 42);
}

static void test_changes(void) {
    struct panel *panel = panel_new();
    file_put("my.rules", GOOD);
    name_file("my.rules");
    refresh(panel);
    CHECK(version_of(panel) == 1 && min_calls(panel) == 7 && !is_bad(panel) && !is_withheld(panel));
    CHECK(atomic64_load_relaxed(&panel->rules.loaded_unix_ns) != 0);
    check_text(panel->rules.file, environment.rules);
    refresh(panel);
    CHECK(version_of(panel) == 1 && events(panel, EVENT_RULES_LOADED) == 1);
    file_put("my.rules", "[payments]\nmatch = 10.0.0.5\nmin_calls = 8\n");
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 8 && events(panel, EVENT_RULES_LOADED) == 2);
    /* Bad: noted once, and nothing else happens. */
    file_put("my.rules", BAD);
    refresh(panel);
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 8 && is_bad(panel) && !is_withheld(panel));
    CHECK(events(panel, EVENT_RULES_REFUSED) == 1);
    check_error(panel, "/my.rules:3:1: ");
    check_error(panel, "min_calls");
    /* Another bad one; then none at all; then a good one again. */
    file_put("my.rules", BAD "\n");
    refresh(panel);
    CHECK(events(panel, EVENT_RULES_REFUSED) == 2);
    CHECK(unlink("my.rules") == 0);
    refresh(panel);
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 8 && events(panel, EVENT_RULES_REFUSED) == 3);
    check_error(panel, "/my.rules: No such file or directory");
    file_put("my.rules", GOOD);
    refresh(panel);
    CHECK(version_of(panel) == 3 && min_calls(panel) == 7 && !is_bad(panel));
    check_text(panel->rules.error, "");
}

static void test_includes(void) {
    struct panel *panel = panel_new();
    CHECK(mkdir("sub", 0755) == 0);
    file_put("my.rules", "include sub/a.rules\n[payments]\nlike = base\nmatch = 10.0.0.5\n");
    file_put("sub/a.rules", "include b.rules\n");
    file_put("sub/b.rules", "[base]\nmin_calls = 11\n");
    name_file("my.rules");
    refresh(panel);
    check_text(panel->rules.error, "");
    CHECK(version_of(panel) == 1 && min_calls(panel) == 11);
    refresh(panel);
    CHECK(version_of(panel) == 1);
    file_put("sub/b.rules", "[base]\nmin_calls = 12\n");
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 12);
    CHECK(unlink("sub/b.rules") == 0);
    refresh(panel);
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 12 && events(panel, EVENT_RULES_REFUSED) == 1);
    check_error(panel, "sub/b.rules: No such file or directory, included by ");
    check_error(panel, "sub/a.rules");
    file_put("sub/b.rules", "[base]\nmin_calls = 13\n");
    refresh(panel);
    CHECK(version_of(panel) == 3 && min_calls(panel) == 13);
    /* A file no longer included is no longer looked at. */
    file_put("my.rules", GOOD);
    refresh(panel);
    file_put("sub/b.rules", "[base]\nmin_calls = 14\n");
    refresh(panel);
    CHECK(version_of(panel) == 4 && min_calls(panel) == 7);
    /* One too many; and one that includes itself does not hang. */
    char content[1024] = "";
    for (unsigned i = 0; i < 17; i++) {
        char name[32];
        snprintf(name, sizeof name, "many%u", i);
        file_put(name, "");
        snprintf(content + strlen(content), sizeof content - strlen(content), "include %s\n", name);
    }
    file_put("my.rules", content);
    refresh(panel);
    CHECK(is_bad(panel) && version_of(panel) == 4);
    file_put("my.rules", "include my.rules\n");
    refresh(panel);
    refresh(panel);
    CHECK(version_of(panel) <= 5);
}

static void test_withheld(void) {
    struct panel *panel = panel_new();
    name_file("missing.rules");
    refresh(panel);
    CHECK(version_of(panel) == 0 && min_calls(panel) == 10 && is_bad(panel) && is_withheld(panel));
    file_put("missing.rules", BAD);
    refresh(panel);
    CHECK(version_of(panel) == 0 && is_withheld(panel) && events(panel, EVENT_RULES_REFUSED) == 2);
    file_put("missing.rules", GOOD);
    refresh(panel);
    CHECK(version_of(panel) == 1 && !is_withheld(panel));
    /* With good rules once in force, nothing is withheld any more. */
    CHECK(unlink("missing.rules") == 0);
    refresh(panel);
    CHECK(is_bad(panel) && !is_withheld(panel) && min_calls(panel) == 7);
}

static void refused(const char *file, const char *why) {
    struct panel *panel = panel_new();
    strcpy(environment.rules, file);
    refresh(panel);
    CHECK(version_of(panel) == 0 && is_bad(panel) && is_withheld(panel));
    check_error(panel, why);
    CHECK(strncmp(panel->rules.error, file, strlen(file)) == 0);
}

static void test_odd_files(void) {
    alarm(20);
    CHECK(mkfifo("fifo", 0644) == 0 && symlink("loop", "loop") == 0);
    char path[PANEL_PATH_MAX];
    CHECK(getcwd(path, 2048) != NULL);
    size_t length = strlen(path);
    strcpy(path + length, "/fifo");
    refused(path, ": not a regular file");
    strcpy(path + length, "/loop");
    refused(path, ": Too many levels of symbolic links");
    path[length] = '\0';
    refused(path, ": Is a directory");
    refused("/dev/zero", ": not a regular file");
    refused("/dev/null/x", ": Not a directory");
    static char large[LOAD_FILE_MAX + 1];
    memset(large, '\n', sizeof large);
    strcpy(path + length, "/large");
    file_write("large", large, sizeof large);
    refused(path, ": larger than 1 MiB");
    file_write("large", large, sizeof large - 1);
    struct panel *panel = panel_new();
    refresh(panel);
    CHECK(version_of(panel) == 1 && min_calls(panel) == 10);
    file_write("large", "", 0);
    refresh(panel);
    CHECK(version_of(panel) == 2);
}

static void step_unreadable(struct panel *panel) {
    CHECK(setuid(65534) == 0);
    refresh(panel);
    refresh(panel);
    CHECK(is_bad(panel) && is_withheld(panel) && events(panel, EVENT_RULES_REFUSED) == 1);
    check_error(panel, ": Permission denied");
    _exit(0);
}

/* What one process may not read, the next one may. */
static void test_unreadable(void) {
    struct panel *panel = panel_new();
    file_put("my.rules", GOOD);
    CHECK(chmod("my.rules", 0600) == 0 && chmod(".", 0755) == 0);
    strcpy(environment.rules, "my.rules");
    int status;
    if (fork() == 0) {
        step_unreadable(panel);
    }
    CHECK(wait(&status) > 0 && status == 0);
    refresh(panel);
    CHECK(version_of(panel) == 1 && !is_bad(panel) && !is_withheld(panel));
}

static void test_one_file(void) {
    struct panel *panel = panel_new();
    /* A panel made without a file gets that of the first process which names one. */
    refresh(panel);
    file_put("one.rules", GOOD);
    name_file("one.rules");
    refresh(panel);
    CHECK(min_calls(panel) == 7);
    char one[PANEL_PATH_MAX];
    strcpy(one, environment.rules);
    file_put("two.rules", "[default]\nmin_calls = 20\n");
    name_file("two.rules");
    refresh(panel);
    CHECK(version_of(panel) == 1 && min_calls(panel) == 7);
    check_text(panel->rules.file, one);
    /* A process that names none is under it too; a set-user-ID one looks at nothing. */
    environment.rules[0] = '\0';
    file_put("one.rules", "[default]\nmin_calls = 21\n");
    environment.secure = true;
    refresh(panel);
    CHECK(version_of(panel) == 1);
    environment.secure = false;
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 21);
}

static void test_claim(void) {
    struct panel *panel = panel_new();
    file_put("my.rules", GOOD);
    name_file("my.rules");
    refresh(panel);
    file_put("my.rules", "[default]\nmin_calls = 22\n");
    /* Another process is at it. */
    uint64_t now = clock_monotonic_ns();
    atomic64_store_relaxed(&panel->rules.claim, now);
    refresh(panel);
    CHECK(version_of(panel) == 1 && min_calls(panel) == 7);
    CHECK(clock_monotonic_ns() - now < 10000000);
    /* It was killed: its right lapses. So does one from the future, a scribble. */
    atomic64_store_relaxed(&panel->rules.claim, now - UINT64_C(5100000000));
    refresh(panel);
    CHECK(version_of(panel) == 2 && min_calls(panel) == 22);
    CHECK(atomic64_load_relaxed(&panel->rules.claim) == 0);
    file_put("my.rules", GOOD);
    atomic64_store_relaxed(&panel->rules.claim, UINT64_MAX);
    refresh(panel);
    CHECK(version_of(panel) == 3 && min_calls(panel) == 7);
    /* Before the first rules it is worth a moment, and no more. */
    struct panel *fresh = panel_new();
    now = clock_monotonic_ns();
    atomic64_store_relaxed(&fresh->rules.claim, now);
    refresh(fresh);
    CHECK(version_of(fresh) == 0 && clock_monotonic_ns() - now < 1000000000);
}

static void test_parallel(void) {
    file_put("my.rules", GOOD);
    name_file("my.rules");
    for (unsigned round = 0; round < 10; round++) {
        struct panel *panel = panel_new();
        for (unsigned i = 0; i < 8; i++) {
            if (fork() == 0) {
                refresh(panel);
                _exit(version_of(panel) != 1 || min_calls(panel) != 7);
            }
        }
        for (unsigned i = 0; i < 8; i++) {
            int status;
            CHECK(wait(&status) > 0 && status == 0);
        }
        CHECK(events(panel, EVENT_RULES_LOADED) == 1 && version_of(panel) == 1);
        munmap(panel, sizeof *panel);
    }
}

static void test_scribbled(void) {
    struct panel *panel = panel_new();
    refresh(panel);
    for (uint64_t buffer = PANEL_RULESETS + 1; buffer < 256; buffer++) {
        atomic64_store_relaxed(&panel->rules.current, UINT64_C(5) << 8 | buffer);
        CHECK(min_calls(panel) == 10 && version_of(panel) == 5);
    }
    memset(&panel->rules, 0xff, sizeof panel->rules);
    CHECK(min_calls(panel) == 10);
    refresh(panel);
    CHECK(min_calls(panel) == 10);
}

/* Two refreshes without a change between two writes that a tracer can see. */
static void test_quiet(void) {
    struct panel *panel = panel_new();
    file_put("my.rules", "include a.rules\n" GOOD);
    file_put("a.rules", "");
    name_file("my.rules");
    refresh(panel);
    CHECK(write(STDOUT_FILENO, "begin\n", 6) == 6);
    refresh(panel);
    CHECK(write(STDOUT_FILENO, "end\n", 4) == 4);
    CHECK(version_of(panel) == 1);
}

static void test_own_faults(void) {
    struct panel *panel = panel_new();
    file_put("my.rules", GOOD);
    name_file("my.rules");
    struct rlimit limit = {0}, before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    limit.rlim_max = before.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    refresh(panel);
    CHECK(version_of(panel) == 0 && is_withheld(panel));
    check_error(panel, ": Too many open files");
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    refresh(panel);
    CHECK(version_of(panel) == 1 && !is_withheld(panel));
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"none", test_none},           {"changes", test_changes},     {"includes", test_includes},
        {"withheld", test_withheld},   {"odd_files", test_odd_files}, {"unreadable", test_unreadable},
        {"one_file", test_one_file},   {"claim", test_claim},         {"parallel", test_parallel},
        {"scribbled", test_scribbled}, {"quiet", test_quiet},         {"own_faults", test_own_faults}};
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
