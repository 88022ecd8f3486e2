/* cutout events: what the journals of the panels hold, oldest first. */
#include "shim/tool/event_print.h"
#include "shim/tool/output.h"
#include "shim/tool/tool.h"

#include <stdlib.h>

static const char help[] =
    "Usage: cutout events [-p PANEL] [--json]\n"
    "\n"
    "Shows what has happened, oldest first: changes of state with their causes, processes attached,\n"
    "rules loaded or refused. A panel keeps its last 4096 events.\n"
    "\n"
    "  -p PANEL   only this panel: NAME or USER/NAME\n"
    "  --json     one JSON object a line\n"
    "\n"
    "Exit status: 0 shown, 1 there is no panel, 2 usage.\n";

/* An event and where it is from. */
struct line {
    struct event event;
    uint64_t number;
    size_t panel;
};

struct lines {
    struct line *line;
    size_t count, room;
};

/* False without memory. */
static bool add_line(struct lines *lines, const struct event *event, uint64_t number, size_t panel) {
    if (lines->count == lines->room) {
        size_t room = lines->room * 2 + 256;
        struct line *more = realloc(lines->line, room * sizeof *more);
        if (!more) {
            return false;
        }
        lines->line = more;
        lines->room = room;
    }
    lines->line[lines->count++] = (struct line){*event, number, panel};
    return true;
}

/* By the time that a breaker's change is dated with: the wall clock may have been set back, and a writer held
 * up between a change and its note. */
static int compare_lines(const void *left, const void *right) {
    const struct line *a = left, *b = right;
    if (a->event.at_ns != b->event.at_ns) {
        return a->event.at_ns < b->event.at_ns ? -1 : 1;
    }
    if (a->panel != b->panel) {
        return a->panel < b->panel ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool read_journal(struct lines *lines, const struct found *found, size_t panel) {
    const struct journal *journal = &found->panels[panel].attachment.panel->journal;
    uint64_t end = journal_end(journal), first = journal_first(journal);
    if (end - first > JOURNAL_ENTRIES) { /* scribbled over */
        first = end - JOURNAL_ENTRIES;
    }
    for (uint64_t number = first; number != end; number++) {
        struct event event;
        if (journal_read(journal, number, &event) && !add_line(lines, &event, number, panel)) {
            return false;
        }
    }
    return true;
}

static int show(const struct found *found, const char *selector, bool json) {
    struct lines lines = {0};
    if (found->count == 0) {
        return found_nothing(selector);
    }
    for (size_t i = 0; i < found->count; i++) {
        if (!read_journal(&lines, found, i)) {
            tool_error("out of memory");
            free(lines.line);
            return TOOL_NO;
        }
    }
    if (lines.count > 1) {
        qsort(lines.line, lines.count, sizeof *lines.line, compare_lines);
    }
    for (size_t i = 0; i < lines.count; i++) {
        const struct found_panel *panel = &found->panels[lines.line[i].panel];
        if (json) {
            event_print_json(&lines.line[i].event, panel);
        } else {
            event_print_text(&lines.line[i].event, panel, found->count > 1);
        }
    }
    free(lines.line);
    return TOOL_YES;
}

enum { OPTION_PANEL = 1, OPTION_JSON };

int command_events(int count, char **words) {
    static const struct tool_option options[] = {{"-p", OPTION_PANEL, true}, {"--json", OPTION_JSON, false}};
    struct arguments arguments = {.command = "events",
                                  .help = help,
                                  .options = options,
                                  .option_count = 2,
                                  .count = count,
                                  .words = words};
    const char *selector = NULL;
    bool json = false;
    for (int id = arguments_next(&arguments); id != ARGUMENT_END; id = arguments_next(&arguments)) {
        if (id == OPTION_PANEL) {
            selector = arguments.value;
        } else if (id == OPTION_JSON) {
            json = true;
        } else if (id == ARGUMENT_WORD) {
            return tool_usage("events", "events: unexpected %s", shown(arguments.value));
        } else {
            return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    struct found found;
    if (!found_open(&found, selector)) {
        return TOOL_NO;
    }
    int status = show(&found, selector, json);
    found_close(&found);
    return status;
}
