/* cutout status: breakers, their states and windows. */
#include "shim/tool/status.h"

#include "shim/clock.h"
#include "shim/tool/output.h"
#include "shim/tool/outstanding.h"
#include "shim/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: cutout status [NAME] [-p PANEL] [--json]\n"
    "\n"
    "Shows the breakers of the running and past programs of this user (root: of every user).\n"
    "NAME is a rule, a destination or a host name; one breaker that it names is shown in full.\n"
    "\n"
    "  -p PANEL   only this panel: NAME or USER/NAME\n"
    "  --json     one JSON object\n"
    "\n"
    "Exit status: 0 shown, 1 there is nothing to show, 2 usage.\n";

struct request {
    const char *name; /* NULL: every breaker */
    const char *panel;
    bool json;
};

enum { OPTION_PANEL = 1, OPTION_JSON };

static int read_request(int count, char **words, struct request *request) {
    static const struct tool_option options[] = {{"-p", OPTION_PANEL, true}, {"--json", OPTION_JSON, false}};
    struct arguments arguments = {.command = "status",
                                  .help = help,
                                  .options = options,
                                  .option_count = 2,
                                  .count = count,
                                  .words = words};
    for (;;) {
        int id = arguments_next(&arguments);
        if (id == OPTION_PANEL) {
            request->panel = arguments.value;
        } else if (id == OPTION_JSON) {
            request->json = true;
        } else if (id != ARGUMENT_WORD) {
            return id;
        } else if (request->name) {
            return tool_usage("status", "status: one NAME at a time, found %s after %s",
                              shown(arguments.value), shown(request->name)),
                   ARGUMENT_WRONG;
        } else {
            request->name = arguments.value;
        }
    }
}

/* Fills in which of the panel's breakers were asked for, those that are not closed first. False without
 * memory. */
static bool select_breakers(struct status_panel *selected, const char *name, const struct moment *moment) {
    uint32_t used = panel_breakers_used(selected->panel->attachment.panel);
    uint32_t *breakers = malloc((used + 1) * sizeof *breakers);
    if (!breakers) {
        return false;
    }
    size_t count = 0;
    for (int closed = 0; closed <= 1; closed++) {
        for (uint32_t index = 0; index < used; index++) {
            struct breaker_facts facts;
            if (facts_gather(&facts, selected->panel, index, moment) &&
                (facts.view.state == STATE_CLOSED) == closed && (!name || facts_answer_to(&facts, name))) {
                breakers[count++] = index;
            }
        }
    }
    selected->breakers = breakers;
    selected->count = count;
    return true;
}

static void print_panels(const struct status_panel *panels, size_t count, const struct request *request,
                         const struct moment *moment) {
    if (request->json) {
        status_print_json(panels, count, moment);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            putchar('\n');
        }
        if (request->name && panels[i].count == 1) {
            status_print_breaker(panels[i].panel, panels[i].breakers[0], moment);
        } else {
            status_print_table(&panels[i], moment);
        }
    }
}

static int show(const struct found *found, const struct request *request) {
    struct moment moment = moment_now();
    struct status_panel *panels = calloc(found->count + 1, sizeof *panels);
    size_t count = 0;
    bool whole = panels != NULL;
    for (size_t i = 0; whole && i < found->count; i++) {
        panels[count].panel = &found->panels[i];
        whole = select_breakers(&panels[count], request->name, &moment);
        /* A panel in which nothing has the name asked for is not shown. */
        if (panels[count].count > 0 || !request->name) {
            count++;
        } else {
            free(panels[count].breakers);
            panels[count].breakers = NULL;
        }
    }
    if (whole) {
        print_panels(panels, count, request, &moment);
    } else {
        tool_error("out of memory");
    }
    for (size_t i = 0; panels && i < count; i++) {
        free(panels[i].breakers);
    }
    free(panels);
    if (!whole) {
        return TOOL_NO;
    }
    if (found->count == 0) {
        return found_nothing(request->panel);
    }
    if (count > 0) {
        return TOOL_YES;
    }
    tool_error("no rule, destination or host name is %s", shown(request->name));
    return TOOL_NO;
}

int command_status(int count, char **words) {
    struct request request = {0};
    int id = read_request(count, words, &request);
    if (id != ARGUMENT_END) {
        return id == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
    }
    struct found found;
    if (!found_open(&found, request.panel)) {
        return TOOL_NO;
    }
    for (size_t i = 0; i < found.count; i++) {
        found.panels[i].outstanding = outstanding_count(&found.panels[i].attachment, clock_monotonic_ns());
    }
    int status = show(&found, &request);
    found_close(&found);
    return status;
}
