/* cutout reset: breakers begin anew. */
#include "shim/clock.h"
#include "shim/tool/facts.h"
#include "shim/tool/output.h"
#include "shim/tool/target.h"
#include "shim/tool/tool.h"

#include <stdio.h>
#include <unistd.h>

static const char help[] =
    "Usage: cutout reset NAME|DESTINATION|--all [-p PANEL]\n"
    "\n"
    "Closes breakers and empties their windows; what was counted in all stays. Calls that are under\n"
    "way are counted, but not judged. NAME is a rule, DESTINATION (or a host name) what status shows.\n"
    "What `set` has said stays in force.\n"
    "\n"
    "  -p PANEL   of this panel: NAME or USER/NAME; needed where several know what is named\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 usage.\n";

enum { OPTION_PANEL = 1, OPTION_ALL };

/* True when the breaker exists. */
static bool reset(struct panel *panel, uint32_t index) {
    struct breaker *breaker = panel_breaker(panel, index);
    if (!breaker) {
        return false;
    }
    struct transition transition = breaker_reset(breaker, clock_monotonic_ns());
    if (transition.happened) {
        struct event event = event_of_transition(&transition, index, 0);
        event.unix_ns = clock_unix_ns();
        event.pid = (uint32_t)getpid();
        journal_append(&panel->journal, &event);
    }
    return true;
}

int command_reset(int count, char **words) {
    static const struct tool_option options[] = {{"-p", OPTION_PANEL, true}, {"--all", OPTION_ALL, false}};
    struct arguments arguments = {.command = "reset",
                                  .help = help,
                                  .options = options,
                                  .option_count = 2,
                                  .count = count,
                                  .words = words};
    const char *selector = NULL, *word = NULL;
    bool all = false;
    for (int id = arguments_next(&arguments); id != ARGUMENT_END; id = arguments_next(&arguments)) {
        if (id == OPTION_PANEL) {
            selector = arguments.value;
        } else if (id == OPTION_ALL) {
            all = true;
        } else if (id == ARGUMENT_WORD && word) {
            return tool_usage("reset", "reset: one NAME at a time, found %s after %s", shown(arguments.value),
                              shown(word));
        } else if (id == ARGUMENT_WORD) {
            word = arguments.value;
        } else {
            return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    if (all == (word != NULL)) {
        return tool_usage("reset",
                          all ? "reset: either %s or --all" : "reset: what? A NAME, a DESTINATION or --all%s",
                          word ? shown(word) : "");
    }
    struct target target;
    if (!target_open(&target, "reset", selector, word)) {
        return TOOL_NO;
    }
    size_t done = 0;
    for (size_t i = 0; i < target.count; i++) {
        done += reset(target.attachment.panel, target.breakers[i]);
    }
    printf("%zu breaker%s reset\n", done, done == 1 ? "" : "s");
    target_close(&target);
    return TOOL_YES;
}
