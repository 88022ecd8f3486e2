#include "shim/tool/explain.h"

#include "rules/explain.h"
#include "shim/tool/output.h"
#include "shim/tool/parsed.h"
#include "shim/tool/tool.h"

#include <stdio.h>
#include <string.h>

#define WRITTEN_ROOM                                                                                         \
    (ENDPOINT_TEXT_MAX + 64) /* a pattern, or a place with a path of usual length; longer is cut */

/* What is asked about, and the answer. */
struct question {
    struct explain begin;             /* before any rule was tried */
    char name[ENDPOINT_NAME_MAX + 1]; /* path or host name, "" of an address */
    char destination[ENDPOINT_TEXT_MAX];
    uint32_t rule;    /* that covers it; 0 where none matches */
    uint32_t pattern; /* of the rule, that matches */
    uint32_t first;   /* the rule's first pattern */
};

/* "tcp://" may be left out. False when it is no destination. */
static bool read_destination(struct question *question, const char *written) {
    char text[2 * ENDPOINT_TEXT_MAX];
    int size = snprintf(text, sizeof text, "%s%s", strstr(written, "://") ? "" : "tcp://", written);
    if (size < 0 || (size_t)size >= sizeof text ||
        !endpoint_parse(text, (size_t)size, &question->begin.endpoint, question->name)) {
        return false;
    }
    question->begin.text = question->name;
    endpoint_format(&question->begin.endpoint, question->name, question->destination,
                    sizeof question->destination);
    return true;
}

static void answer(struct question *question) {
    struct explain explain = question->begin;
    struct explain_trial trial;
    while (explain_next(&explain, &trial)) {
        if (trial.miss == EXPLAIN_MATCHES) {
            question->rule = trial.rule;
            question->pattern = trial.pattern;
            question->first = trial.first;
        }
    }
}

static const struct thresholds *judged_by(const struct question *question) {
    return &ruleset_rule(question->begin.ruleset, question->rule)->thresholds;
}

/* What getaddrinfo takes as an address in some spelling: a host name's last label never begins with a digit. */
static bool is_numeric(const char *name) {
    const char *label = strrchr(name, '.');
    label = label ? label + 1 : name;
    return strchr(name, ':') || (*label >= '0' && *label <= '9');
}

/* Why nothing judges the destination; NULL where something does. */
static const char *why_not_judged(const struct question *question) {
    uint8_t scheme = question->begin.endpoint.scheme;
    if (scheme == SCHEME_DNS && strcmp(question->name, "localhost") == 0) {
        return "localhost is never looked up";
    }
    if (scheme == SCHEME_DNS && is_numeric(question->name)) {
        return "an address is never looked up";
    }
    if (question->rule == 0 && (scheme == SCHEME_UDP || scheme == SCHEME_UNIX)) {
        return "no rule matches it, and without one only tcp:// and dns:// are judged";
    }
    if (judged_by(question)->mode == MODE_OFF) {
        return question->rule > 0 ? "its rule says mode = off"
                                  : "no rule matches it, and [default] says mode = off";
    }
    return NULL;
}

/* " (FILE:LINE)", of where the rule's match stands or its mode; nothing where that was not written. */
static void print_place(const struct question *question, uint32_t rule,
                        void (*write)(struct text *, const struct explain *, uint32_t)) {
    char bytes[WRITTEN_ROOM];
    struct text place = text_in(bytes, sizeof bytes);
    write(&place, &question->begin, rule);
    if (place.length > 0) {
        printf(" (%s)", bytes);
    }
}

static void print_pattern(const struct question *question, uint32_t pattern) {
    char bytes[WRITTEN_ROOM];
    struct text written = text_in(bytes, sizeof bytes);
    explain_write_pattern(&written, &question->begin, pattern);
    fputs(bytes, stdout);
}

/* The rule and its pattern, or that there is none, and what comes of it. */
static void print_answer(const struct question *question, const char *why_not) {
    if (why_not) {
        printf("%s is not judged: %s", question->destination, why_not);
        print_place(question, question->rule, explain_write_mode);
        putchar('\n');
    } else if (question->rule == 0) {
        printf("%s is judged by [default]: no rule matches it\n", question->destination);
    }
    if (question->rule > 0) {
        const char *name = shown(ruleset_rule(question->begin.ruleset, question->rule)->name);
        if (why_not) {
            printf("  [%s]: ", name);
        } else {
            printf("%s is judged by [%s]: ", question->destination, name);
        }
        print_pattern(question, question->pattern);
        fputs(" matches", stdout);
        print_place(question, question->rule, explain_write_match);
        putchar('\n');
    }
}

/* The rules that were tried in vain. Returns what kept some of them from matching that only look-ups can tell:
 * EXPLAIN_ADDRESS, EXPLAIN_NAME, or EXPLAIN_OTHER_HOST where all of them are sure. */
static enum explain_miss print_trials(const struct question *question) {
    struct explain explain = question->begin;
    struct explain_trial trial;
    enum explain_miss unsure = EXPLAIN_OTHER_HOST;
    const char *before = question->rule > 0 ? "tried before it, in this order:\n" : "tried, in this order:\n";
    while (explain_next(&explain, &trial) && trial.miss != EXPLAIN_MATCHES) {
        printf("%s  [%s]: ", before, shown(ruleset_rule(question->begin.ruleset, trial.rule)->name));
        print_pattern(question, trial.pattern);
        printf(" wants %s", explain_miss_text(&explain, trial.miss));
        print_place(question, trial.rule, explain_write_match);
        putchar('\n');
        unsure = trial.miss == EXPLAIN_ADDRESS || trial.miss == EXPLAIN_NAME ? trial.miss : unsure;
        before = "";
    }
    return unsure;
}

/* What cannot be seen from the destination alone. */
static void print_remarks(const struct question *question, enum explain_miss unsure) {
    const struct thresholds *is = judged_by(question);
    const struct endpoint *endpoint = &question->begin.endpoint;
    if (unsure == EXPLAIN_ADDRESS) {
        puts("A rule tried before that wants an address matches if the name leads to one of its: ask for "
             "ADDRESS:PORT too.");
    } else if (unsure == EXPLAIN_NAME) {
        puts("A rule tried before that wants a name matches if the program found the address under it: ask "
             "for NAME:PORT too.");
    }
    if (endpoint->scheme == SCHEME_DNS && question->rule == 0) {
        puts("Look-ups are observed and never rejected unless a rule names dns://.");
    }
    if (is->scope == SCOPE_RULE) {
        puts("It shares one breaker with all that the rule covers (scope = rule).");
    } else if (is->scope == SCOPE_NAME && endpoint->ipv6 == ENDPOINT_BY_NAME) {
        puts("All addresses of the name share its breaker (scope = name).");
    } else if (endpoint->ipv6 == ENDPOINT_BY_NAME) {
        puts("Each address of the name has a breaker of its own (scope = destination).");
    }
}

static int explain_question(struct question *question, const struct parsed *parsed) {
    question->begin.ruleset = &parsed->ruleset;
    question->begin.scratch = parsed->scratch;
    answer(question);
    const char *why_not = why_not_judged(question);
    print_answer(question, why_not);
    enum explain_miss unsure = print_trials(question);
    if (why_not) {
        return TOOL_NO;
    }
    print_remarks(question, unsure);
    if (question->rule == 0) {
        putchar('\n');
    }
    struct rules_print print = {.ruleset = &parsed->ruleset,
                                .scratch = parsed->scratch,
                                .rule = question->rule,
                                .pattern = question->first};
    parsed_print(&print, question->rule);
    return TOOL_YES;
}

int explain(const char *path, const char *destination) {
    struct question question = {0};
    if (!read_destination(&question, destination)) {
        return tool_usage("rules explain",
                          "rules explain: %s is no destination; expected HOST:PORT, ADDRESS:PORT, "
                          "udp://ADDRESS:PORT, unix:///PATH or dns://NAME",
                          shown(destination));
    }
    struct parsed *parsed = parsed_open(path);
    if (!parsed) {
        return TOOL_NO;
    }
    int status = explain_question(&question, parsed);
    parsed_close(parsed);
    return status;
}
