/* cutout rules: checks a rules file, shows what it comes to, and explains which rule covers a destination. */
#include "rules/parse.h"
#include "shim/environment.h"
#include "shim/load.h"
#include "shim/tool/explain.h"
#include "shim/tool/output.h"
#include "shim/tool/parsed.h"
#include "shim/tool/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: cutout rules check FILE\n"
    "       cutout rules show [-r FILE]\n"
    "       cutout rules explain [-r FILE] DESTINATION\n"
    "\n"
    "  check FILE      every error and warning of a rules file, as FILE:LINE:COLUMN: what was found,\n"
    "                  what was expected\n"
    "  show [-r FILE]  the effective rules as a rules file, each value with where it comes from; without\n"
    "                  -r those of CUTOUT_RULES, else of " ENVIRONMENT_RULES_FILE "\n"
    "                  if it exists, else the built-in defaults\n"
    "  explain [-r FILE] DESTINATION\n"
    "                  which rule covers it and why, which were tried before, and how it is judged.\n"
    "                  DESTINATION is HOST:PORT or ADDRESS:PORT, tcp:// or not, udp://ADDRESS:PORT,\n"
    "                  unix:///PATH or dns://NAME\n"
    "\n"
    "The language is described in cutout.rules(5).\n"
    "\n"
    "Exit status: 0 fine, 1 bad, not readable or not judged, 2 usage.\n";

static const char *plural(size_t number) {
    return number == 1 ? "" : "s";
}

static void print_verdict(const char *path, const struct load *load) {
    const struct rules_notes *notes = load->notes;
    printf("%s: ", shown(path));
    if (notes->errors > 0) {
        printf("bad, %zu error%s", notes->errors, plural(notes->errors));
    } else {
        uint32_t rules = load->ruleset->rules - 1;
        printf("fine, %" PRIu32 " rule%s", rules, plural(rules));
    }
    if (notes->warnings > 0) {
        printf(", %zu warning%s", notes->warnings, plural(notes->warnings));
    }
    putchar('\n');
}

static int check(const char *path) {
    struct load load;
    int status = TOOL_NO;
    if (load_open(&load, path) < 0) {
        parsed_report_unreadable(&load);
    } else {
        status = load_compile(&load) ? TOOL_YES : TOOL_NO;
        load_warn(&load);
        parsed_print_notes(&load.sources, load.notes, true);
        print_verdict(path, &load);
    }
    load_close(&load);
    return status;
}

/* path is NULL where no file is named and none exists. */
static int show(const char *path) {
    struct parsed *parsed = parsed_open(path);
    if (!parsed) {
        return TOOL_NO;
    }
    if (!path) {
        puts("# the built-in defaults: no rules file is named, and there is no " ENVIRONMENT_RULES_FILE);
    }
    struct rules_print print = {.ruleset = &parsed->ruleset, .scratch = parsed->scratch};
    parsed_print(&print, UINT32_MAX);
    parsed_close(parsed);
    return TOOL_YES;
}

static int command_check(int count, char **words) {
    struct arguments arguments = {.command = "rules check", .help = help, .count = count, .words = words};
    const char *path = NULL;
    int argument;
    while ((argument = arguments_next(&arguments)) != ARGUMENT_END) {
        if (argument != ARGUMENT_WORD) {
            return argument == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
        if (path) {
            return tool_usage("rules check", "rules check: one FILE at a time");
        }
        path = arguments.value;
    }
    return path ? check(path) : tool_usage("rules check", "rules check: which FILE?");
}

enum { OPTION_RULES = 1 };
static const struct tool_option options[] = {{"-r", OPTION_RULES, true}};

static int command_show(int count, char **words) {
    struct arguments arguments = {.command = "rules show",
                                  .help = help,
                                  .options = options,
                                  .option_count = 1,
                                  .count = count,
                                  .words = words};
    const char *path = NULL;
    int argument;
    while ((argument = arguments_next(&arguments)) != ARGUMENT_END) {
        if (argument == OPTION_RULES) {
            path = arguments.value;
        } else if (argument == ARGUMENT_WORD) {
            return tool_usage("rules show", "rules show: '%s' is one word too many", shown(arguments.value));
        } else {
            return argument == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        }
    }
    return show(path ? path : parsed_file_in_force());
}

static int command_explain(int count, char **words) {
    struct arguments arguments = {.command = "rules explain",
                                  .help = help,
                                  .options = options,
                                  .option_count = 1,
                                  .count = count,
                                  .words = words};
    const char *path = NULL, *destination = NULL;
    int argument;
    while ((argument = arguments_next(&arguments)) != ARGUMENT_END) {
        if (argument == OPTION_RULES) {
            path = arguments.value;
        } else if (argument != ARGUMENT_WORD) {
            return argument == ARGUMENT_HELP ? TOOL_YES : TOOL_USAGE;
        } else if (destination) {
            return tool_usage("rules explain", "rules explain: one DESTINATION at a time");
        } else {
            destination = arguments.value;
        }
    }
    if (!destination) {
        return tool_usage("rules explain", "rules explain: which DESTINATION?");
    }
    return explain(path ? path : parsed_file_in_force(), destination);
}

int command_rules(int count, char **words) {
    const char *action = count > 1 ? words[1] : "";
    if (strcmp(action, "check") == 0) {
        return command_check(count - 1, words + 1);
    }
    if (strcmp(action, "show") == 0) {
        return command_show(count - 1, words + 1);
    }
    if (strcmp(action, "explain") == 0) {
        return command_explain(count - 1, words + 1);
    }
    if (strcmp(action, "--help") == 0) {
        fputs(help, stdout);
        return TOOL_YES;
    }
    if (!action[0]) {
        return tool_usage("rules", "rules: check, show or explain?");
    }
    return tool_usage("rules", "rules: '%s' is none of check, show and explain", shown(action));
}
