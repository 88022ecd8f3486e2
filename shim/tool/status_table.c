/* The table of `cutout status`: 80 columns, whatever the names. */
#include "shim/tool/output.h"
#include "shim/tool/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DESTINATION_COLUMNS 21 /* "tcp://127.0.0.1:45123" */

const char *status_state(const struct breaker_facts *facts) {
    if (facts->view.state == STATE_OPEN && facts->view.connect_only) {
        return "open (connect)";
    }
    return breaker_state_name(facts->view.state);
}

const char *status_next_probe(const struct breaker_facts *facts) {
    if (facts->view.state != STATE_OPEN) {
        return "-";
    }
    return facts->view.retry_ns == 0 ? "due" : shown_span(facts->view.retry_ns);
}

/* A count in six columns: "123456", "1.2M". */
static const char *short_count(uint64_t count, char text[24]) {
    if (count < 1000000) {
        snprintf(text, 24, "%" PRIu64, count);
    } else if (count < 1000000000) {
        snprintf(text, 24, "%" PRIu64 ".%" PRIu64 "M", count / 1000000, count / 100000 % 10);
    } else {
        snprintf(text, 24, "%" PRIu64 "G", count / 1000000000);
    }
    return text;
}

/* A share in five columns: "8.3%", "75.0%", "100%". */
static const char *short_share(uint64_t part, uint64_t whole) {
    return whole > 0 && part >= whole ? "100%" : shown_share(part, whole);
}

static const char *colour_of(enum breaker_state state) {
    switch (state) {
    case STATE_CLOSED:
        return "\033[32m";
    case STATE_HALF_OPEN:
    case STATE_DISABLED:
        return "\033[33m";
    default:
        return "\033[31m";
    }
}

/* Puts two blanks before the first of a line's remarks, a comma before the others. */
static const char *comma(bool *begun) {
    const char *before = *begun ? ", " : "  ";
    *begun = true;
    return before;
}

/* Who the breaker is beside its destination, and what the columns have no room for. */
static void print_remarks(const struct breaker_facts *facts) {
    const struct window_sums *sums = &facts->view.sums;
    bool begun = false;
    if (facts->name[0]) {
        printf("%s%s", comma(&begun), shown(facts->name));
    }
    if (strcmp(facts->rule, "default") != 0) {
        printf("%srule %s%s", comma(&begun), shown(facts->rule),
               facts->in_force ? "" : ", which is not in force any more");
    }
    if (facts->in_force && strcmp(facts->mode, "enforce") != 0) {
        printf("%smode %s", comma(&begun), facts->mode);
    }
    if (facts->would_reject > 0) {
        printf("%swould have rejected %" PRIu64, comma(&begun), facts->would_reject);
    }
    if (begun) {
        putchar('\n');
    }
    uint64_t slow = sums->slow + sums->overdue;
    if (facts->in_force && !facts_slow_is_judged(facts) && slow > 0) {
        printf("  %" PRIu64 " of %" PRIu64 " calls slow (over %s), not judged: %s\n", slow,
               sums->calls + sums->overdue, shown_duration(facts->thresholds.slow_call_ns),
               facts->thresholds.slow_written ? "slow_ratio is off" : "no rule writes slow_call");
    }
    if (facts->in_force && sums->overdue > 0) {
        bool past = facts->view.state == STATE_OPEN, one = sums->overdue == 1;
        printf("  %" PRIu64 " call%s %s: no answer for more than %s\n", sums->overdue, one ? "" : "s",
               past  ? "hung when it opened"
               : one ? "hangs"
                     : "hang",
               shown_duration(facts->thresholds.slow_call_ns));
    }
}

static void print_row(const struct breaker_facts *facts, const struct moment *moment) {
    char calls[24], rejected[24];
    const struct window_sums *sums = &facts->view.sums;
    const char *destination = facts->destination;
    if (columns_of(destination) > DESTINATION_COLUMNS) {
        puts(destination);
        destination = "";
    }
    bool colour = output_wants_colour();
    printf("%-*s %s%-14s%s %4s %6s %5s %10s %8s %5s\n", DESTINATION_COLUMNS, destination,
           colour ? colour_of(facts->view.state) : "", status_state(facts), colour ? "\033[0m" : "",
           facts->since_unix_ns ? shown_span(moment->unix_ns - facts->since_unix_ns) : "-",
           short_count(sums->calls, calls), short_share(sums->errors, sums->calls),
           facts_slow_is_judged(facts) ? short_share(sums->slow + sums->overdue, sums->calls + sums->overdue)
                                       : "not judged",
           short_count(facts->rejected, rejected), status_next_probe(facts));
    print_remarks(facts);
}

/* Which rules judge, and whether the file is well. */
static void print_rules(const struct panel *panel) {
    struct rules_facts rules = facts_of_rules(panel);
    if (!rules.file[0]) {
        puts("rules: none named, the built-in defaults");
        return;
    }
    printf("rules %s: ", shown(rules.file));
    if (rules.ok) {
        printf("in force since %s\n", rules.loaded_unix_ns ? shown_time(rules.loaded_unix_ns) : "the start");
    } else if (rules.withheld) {
        printf("refused, nothing is rejected until it is put right\n  %s\n", shown(rules.error));
    } else {
        printf("refused, the last good ones of %s stay in force\n  %s\n", shown_time(rules.loaded_unix_ns),
               shown(rules.error));
    }
}

/* Processes that do not run as the panel's rules say. */
static void print_processes(const struct found_panel *found) {
    const struct panel *panel = found->attachment.panel;
    for (uint32_t slot = 0; slot < PANEL_PROCESSES; slot++) {
        char program[PANEL_PROGRAM_MAX], named[sizeof panel->processes->rules_named];
        if (!panel_slot_lives(&found->attachment, slot)) {
            continue;
        }
        const struct process *process = &panel->processes[slot];
        uint64_t pid = atomic64_load_relaxed(&process->pid), mode = atomic64_load_relaxed(&process->mode);
        copy_bounded(program, sizeof program, process->program, sizeof process->program);
        copy_bounded(named, sizeof named, process->rules_named, sizeof process->rules_named);
        if (named[0]) {
            printf("pid %" PRIu64 " (%s) names other rules, %s: the panel's hold for it\n", pid,
                   shown(program), shown(named));
        }
        if (mode > 1 + MODE_ENFORCE) {
            printf("pid %" PRIu64 " (%s) runs in mode %s\n", pid, shown(program),
                   facts_mode_name((unsigned)mode - 1));
        }
    }
}

static void print_heading(const struct found_panel *found, const struct moment *moment) {
    const struct panel *panel = found->attachment.panel;
    uint32_t processes = found_processes(found);
    printf("panel %s of %s, shared, %" PRIu32 " process%s attached\n", shown(found->name),
           shown(found_whose(found)), processes, processes == 1 ? "" : "es");
    overridden_print(found, moment->monotonic_ns);
    print_rules(panel);
    print_processes(found);
    size_t others = found_other_layouts(found);
    if (others > 0) {
        printf("%zu panel%s of this name made by another version of cutout: its own command shows and steers "
               "%s\n",
               others, others == 1 ? "" : "s", others == 1 ? "it" : "them");
    }
    uint64_t unprotected = atomic64_load_relaxed(&panel->unprotected);
    uint64_t no_slot = atomic64_load_relaxed(&panel->no_slot);
    if (unprotected > 0) {
        printf("the table of breakers is full: calls to further destinations went unprotected %" PRIu64
               " times\n",
               unprotected);
    }
    if (no_slot > 0) {
        printf("%" PRIu64 " processes found no free slot: their probes end by probe_timeout alone\n",
               no_slot);
    }
}

void status_print_table(const struct status_panel *selected, const struct moment *moment) {
    print_heading(selected->panel, moment);
    if (selected->count == 0) {
        puts("no destination has been called yet");
        return;
    }
    printf("\n%-*s %-14s %4s %6s %5s %10s %8s %5s\n", DESTINATION_COLUMNS, "DESTINATION", "STATE", "FOR",
           "CALLS", "ERR", "SLOW", "REJECTED", "PROBE");
    for (size_t i = 0; i < selected->count; i++) {
        struct breaker_facts facts;
        if (facts_gather(&facts, selected->panel, selected->breakers[i], moment)) {
            print_row(&facts, moment);
        }
    }
}
